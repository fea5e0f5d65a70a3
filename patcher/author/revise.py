"""A patchset again, after further edits.

The hunks that still hold stay as they are written, what they lack is added.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Mapping, Sequence, Tuple

from patcher.author.changed import InstalledFile
from patcher.author.folder import with_modules
from patcher.author.hunks.generalise import generalise
from patcher.author.manifest import with_version
from patcher.author.pristine import EditedFile, Original
from patcher.author.same_code import same_code
from patcher.author.spatch_draft import (
    Draft,
    DraftFile,
    DraftHunk,
    FileEdit,
    added_file,
    added_section,
)
from patcher.engine.engine import rewrite
from patcher.engine.explain import explain
from patcher.engine.spatch.hunk import parse_spatch
from patcher.engine.tree import Tree
from patcher.errors import Location, PatchError, SitepatchError, UsageError
from patcher.facts import Assignment, Wanted
from patcher.installed.interpreter import Environment
from patcher.message import Message
from patcher.model import (
    Explanation,
    FilePatch,
    HunkText,
    OptionValue,
    PatchsetSource,
    Requested,
    State,
)
from patcher.patchset.layers import layers_of
from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import MANIFEST
from patcher.patchset.variants import resolve_options
from patcher.planner.rewriter import REWRITER
from patcher.planner.survey import make_plan, read_facts
from patcher.record import Record
from patcher.store.status import read_installed, statuses
from patcher.store.store import Store
from patcher.text.diffs import diff_texts

_MARK = b"# sitepatch:"
_HEAD = "this hunk is missing here: change the code below, lines that begin so are taken out again"
_SECTION = ("--- ", "+++ ")  # with which the header of a section begins

_FileKey = Tuple[str, str]
"""A site directory, and a path below it."""


class Revision(Record):
    """What becomes of a patchset.

    Attributes:
        draft: its new hunks.
        gone: how many of its old ones go.
        texts: the texts of its folder that change: {} where nothing changes, and where only parts
            that cannot be captured are left of a `.spatch`.
    """

    draft: Draft
    gone: int
    texts: dict[str, str]


class RevisedFile(Record):
    """The hunks of a patchset for one file that do not hold any more, and those that are new."""

    gone: tuple[HunkText, ...]
    draft: DraftFile


class SpatchChange(Record):
    """What changes in a `.spatch`.

    Attributes:
        gone: the lines (1-based) on which the hunks begin that go.
        added: the hunks that come for a file, by path: for its last section, or a new one where it
            has none; or whole sections, with their headers.
    """

    gone: set[int]
    added: dict[str, str]


class WrittenPatchset(Record):
    """A patchset that is to be revised, with its options.

    Attributes:
        folder: its folder.
        requested: the patchset.
        assignments: its hunks for each file.
        without: of each file in which it is applied the text without it, and the pristine one.
    """

    folder: Path
    requested: Requested
    assignments: Mapping[_FileKey, Assignment]
    without: Mapping[_FileKey, tuple[bytes, bytes]]

    @property
    def paths(self) -> list[str]:
        """The installed files that it changes."""
        return [path for site, path in self.assignments if Path(site, path).is_file()]

    @property
    def added(self) -> list[str]:
        """The files that it adds."""
        return [assignment.path for assignment in self.assignments.values() if assignment.adds]

    @property
    def files(self) -> Mapping[str, str]:
        """Its texts by file name."""
        return self.requested.patchset.folder.files

    def with_patched(self, files: Sequence[EditedFile], copies: str) -> tuple[EditedFile, ...]:
        """The edited files, and the others that the patchset is for.

        Each as it is without the patchset, and as it is now.

        Args:
            files: the edited files.
            copies: a directory, from which what is now is taken where that has it, "" for none.
        """
        edits = {edited.key: edited for edited in files}
        for key, assignment in self.assignments.items():
            current = _current_text(key, copies)
            if current is None:
                continue
            file = InstalledFile(assignment.located, assignment.path, data=current)
            if key in edits:
                file = edits[key].file

            if key in self.without:
                data, pristine = self.without[key]
                where = Message("what is there without {name}", name=self.requested.patchset.name)
                edits[key] = EditedFile(file, Original(data, where, pristine=pristine))
            elif key not in edits:
                original = Original(current, Message("the installed file"), pristine=current)
                edits[key] = EditedFile(file, original)
        return tuple(edits.values())

    def revision(
        self, files: Sequence[EditedFile], others: Sequence[Mapping[str, bytes]]
    ) -> Revision:
        """What becomes of the patchset with these edits.

        Args:
            files: the edited files.
            others: as `generalise` takes them.

        Raises:
            SitepatchError: it is not for the package of a file, or nothing is left of it or of one
                of its `.spatch` files.
        """
        results: list[tuple[EditedFile, RevisedFile]] = []
        drafts: list[DraftFile] = []
        fresh: list[str] = []
        gone = 0
        for edited in files:
            assignment = self.assignments.get(edited.key)
            if assignment is None:
                fresh.append(edited.file.path)
            edit, last = edited.edit, assignment
            if assignment is not None:
                edit, last = _of_last_patch(edit, assignment)
            result = revise(edit, last, others=others)
            results.append((edited, result))
            gone += len(result.gone)
            drafts.append(result.draft)
        draft = Draft(tuple(drafts))
        if not gone and not draft.has_hunks:
            return Revision(draft, gone, texts={})

        texts: dict[str, str] = {}
        empty: list[Path] = []
        for name, change in self._changes(results).items():
            texts[name] = revised_spatch(self.files[name], name, change=change)
            if not texts[name]:
                empty.append(self.folder / name)
        if empty and not draft.complete:
            return Revision(draft, gone, texts={})
        if empty:
            raise self._nothing_left(empty)

        patchset = self.requested.patchset
        manifest = with_modules(self.files[MANIFEST], patchset, paths=fresh)
        texts[MANIFEST] = with_version(manifest, raised(patchset.version))
        return Revision(draft, gone, texts=texts)

    def _changes(
        self, results: Sequence[tuple[EditedFile, RevisedFile]]
    ) -> dict[str, SpatchChange]:
        """What changes in each `.spatch`: first those of which hunks go."""
        changes: dict[str, SpatchChange] = {}
        for _, result in results:
            for hunk in result.gone:
                change = changes.setdefault(self._name(hunk), SpatchChange(set(), {}))
                change.gone.add(hunk.line)
        for edited, result in results:
            home = self._home(edited.file)
            draft = result.draft
            if not draft.hunks:
                continue
            change = changes.setdefault(home, SpatchChange(set(), {}))
            path = edited.file.path
            hunks = draft.text if draft.has_moves else draft.hunks_text
            if draft.adds:  # only a file that the patchset adds already: its section keeps its flag
                flags = self.assignments[edited.key].hunks[0].flags
                hunks = added_section(path, hunks, when_present=flags.when_present)
            change.added[path] = hunks
        return changes

    def _nothing_left(self, empty: Sequence[Path]) -> SitepatchError:
        """The error where no hunk is left in these `.spatch` files."""
        number = sum(name.endswith(".spatch") for name in self.files)
        problem = "{name}: nothing is left of it"
        if len(empty) == number:
            name, hint = self.requested.patchset.name, "remove {folder}"
            return SitepatchError(problem, hint, name=name, folder=self.folder)
        hint = Message("remove it, and what names it in {manifest}", manifest=MANIFEST)
        return SitepatchError(problem, hint, name=empty[0])

    def _name(self, hunk: HunkText) -> str:
        """The `.spatch` of a hunk."""
        return Path(hunk.origin).relative_to(self.folder).as_posix()

    def _home(self, file: InstalledFile) -> str:
        """The `.spatch` in which the hunks of a file are, or come.

        That is the one of the first file of its package.
        """
        if file.key in self.assignments:
            return self._name(self.assignments[file.key].hunks[-1])
        for assignment in self.assignments.values():
            if assignment.located.package == file.located.package:
                return self._name(assignment.hunks[-1])
        problem = "{path}: was edited too, and {name} has no hunk for {release}"
        hint = Message("name the files that are meant, or capture it under another name")
        name = self.requested.patchset.name
        raise SitepatchError(problem, hint, path=file.path, name=name, release=file.release)


def written_patchset(env: Environment, name: str, folder: Path | None) -> WrittenPatchset | None:
    """The patchset in a folder, with what it is and does here; None where there is none.

    Raises:
        UsageError: another one of that name is applied.
    """
    digests: dict[_FileKey, str] = {}  # of the pristine text of each file in which it is applied
    options: Mapping[str, OptionValue] | None = None
    for item in statuses(env):
        for _, step in item.patchsets:
            if step.patchset != name:
                continue
            digests[item.site, item.receipt.path] = item.receipt.pristine.sha256
            if options is None:
                options = step.options
    if folder is None:
        if digests:
            problem = "{name}: a patchset of this name is applied here"
            raise UsageError(problem, Message("choose another name"), name=name)
        return None

    patchset = load_patchset(folder, PatchsetSource(str(folder)))
    if options is None:
        options = resolve_options(patchset, {})
    requested = Requested(patchset, options)
    return WrittenPatchset(
        folder,
        requested,
        assignments=_assignments(env, requested),
        without=_texts_without(env, name, digests=digests),
    )


def _assignments(env: Environment, requested: Requested) -> dict[_FileKey, Assignment]:
    """The hunks of a patchset for each file."""
    facts = read_facts(env, Wanted((requested,), fresh=True))
    return {key: assignment for key, (assignment,) in facts.assignments.items()}


def _texts_without(
    env: Environment, name: str, *, digests: Mapping[_FileKey, str]
) -> dict[_FileKey, tuple[bytes, bytes]]:
    """Of each file in which a patchset is applied the text without it, and the pristine one."""
    texts: dict[_FileKey, tuple[bytes, bytes]] = {}
    for file in make_plan(env, Wanted((), (name,), force=True)).files:
        key = (file.site, file.path)
        if key in digests:
            pristine = Store(file.site).pristine(digests[key])
            texts[key] = (file.after, pristine)
    return texts


def _current_text(key: _FileKey, copies: str) -> bytes | None:
    """The text of a file: that in the directory `copies` if there is one, else the installed one.

    None where it is not installed either.
    """
    site, path = key
    if copies:
        data = read_installed(copies, path)
        if data is not None:
            return data
    return read_installed(site, path)


# the hunks for one file -------------------------------------------------------------------------
def _of_last_patch(edit: FileEdit, assignment: Assignment) -> tuple[FileEdit, Assignment]:
    """The part of an edit that the last patch for its file makes, and the hunks that this has.

    The patches before it stay as they are.

    Raises:
        SitepatchError: one of them does not fit.
    """
    last = layers_of(assignment.hunks)[-1]
    earlier = assignment.hunks[: -len(last)]
    if not earlier:
        return edit, assignment
    below = REWRITER.rewrite(edit.before, assignment._replace(hunks=earlier))
    failed = next((answer for answer in below.answers if answer.presumed.failed), None)
    if failed is not None:
        problem = "does not fit, and is below what was edited: {why}"
        where = Location(failed.hunk.origin, failed.hunk.line)
        hint = Message("sitepatch check {name} --explain", name=assignment.requested.patchset.name)
        raise SitepatchError.at(where, problem, hint, why=failed.problem)
    edit = edit._replace(before=below.data)
    return edit, assignment._replace(hunks=last)


def revise(
    edit: FileEdit, assignment: Assignment | None, others: Sequence[Mapping[str, bytes]] = ()
) -> RevisedFile:
    """The hunks for a file after an edit.

    A hunk stays where all that it changes is a part of the edit, and the hunks that stay make the
    same code as new ones together with what is added; else all of them go.

    Args:
        edit: the file without the patchset, and as it is to make it.
        assignment: the hunks that the patchset has for it, None for none.
        others: of each further release the texts, as `generalise` takes them.
    """
    if assignment and assignment.adds:
        return _revised_addition(edit, assignment)
    (draft,) = generalise([edit], others).files
    fresh: list[HunkText] = []
    if draft.hunks:
        for patch in parse_spatch(Draft((draft,)).spatch(), edit.path)[1]:
            fresh += patch.hunks

    text = _PatchedText(edit.before, assignment)
    hunks = assignment.hunks if assignment else ()
    after = text.with_hunks(fresh)
    kept = [hunk for hunk in hunks if text.is_part(hunk, after)]
    reached = text.with_hunks(kept)
    added: list[DraftHunk] = []
    together = list(kept)
    for hunk, drafted in zip(fresh, draft.hunks):
        if not text.is_part(hunk, reached):
            added.append(drafted)
            together.append(hunk)
    if not kept or not same_code(text.with_hunks(together), after, anywhere=True):
        return RevisedFile(tuple(hunks), draft)
    gone = tuple(hunk for hunk in hunks if hunk not in kept)
    return RevisedFile(gone, draft._replace(hunks=tuple(added)))


def _revised_addition(edit: FileEdit, assignment: Assignment) -> RevisedFile:
    """The hunk for a file that is added."""
    draft = added_file(edit.path, edit.after)
    old = "".join(f"+{line}\n" for _, line, _ in assignment.hunks[0].lines)
    if [hunk.text for hunk in draft.hunks] == [old]:
        return RevisedFile((), DraftFile((edit.path,), ()))
    return RevisedFile(tuple(assignment.hunks), draft)


class _PatchedText:
    """A file before an edit, and what hunks make of it."""

    def __init__(self, before: bytes, assignment: Assignment | None) -> None:
        self.before = before
        self.options = assignment.requested.options if assignment else {}
        self.names = assignment.names if assignment else ()

    def with_hunks(self, hunks: Sequence[HunkText]) -> bytes:
        """The text with hunks; b"" where not all can be applied."""
        if not hunks:
            return self.before
        try:
            rewritten = rewrite(self.before, hunks, options=self.options, injected=self.names)
        except PatchError:  # two hunks insert at one place
            return b""
        if any(answer.state.failed for answer in rewritten.answers):
            return b""
        return rewritten.data

    def is_part(self, hunk: HunkText, after: bytes) -> bool:
        """Whether all that a hunk changes is a part of what leads to another text."""
        between = self.with_hunks([hunk])
        if not between:
            return False
        detour = _distance(self.before, between) + _distance(between, after)
        return detour == _distance(self.before, after)


def _distance(before: bytes, after: bytes) -> int:
    """How many lines differ."""
    diff = diff_texts("", "", before=before, after=after)
    return diff.added + diff.removed


# the text of a `.spatch` ------------------------------------------------------------------------
def revised_spatch(text: str, origin: str, change: SpatchChange) -> str:
    """The text of a `.spatch` without some hunks, and with further ones.

    Args:
        text: the text; what does not change stays as it is written.
        origin: its name.
        change: what goes and comes.

    Returns:
        the text, "" where no hunk is left.
    """
    lines = text.split("\n")
    _, patches = parse_spatch(text, origin)
    last: dict[str, int] = {}  # the last section for each file
    ends: list[int] = []
    for number, patch in enumerate(patches):
        last.update(dict.fromkeys(patch.paths, number))
        if number > 0:
            ends.append(patch.line - 1)
    ends.append(len(lines))

    sections: list[str] = []
    for number, (patch, end) in enumerate(zip(patches, ends)):
        more: list[str] = []
        for path, hunks in change.added.items():
            if last.get(path) == number and not hunks.startswith(_SECTION):
                more.append(hunks)
        section = _revised_section(lines[:end], patch, gone=change.gone, more=more)
        if section:
            sections.append(section)
    for path, hunks in change.added.items():
        section = hunks.strip("\n")
        if hunks.startswith(_SECTION):
            sections.append(section)
        elif path not in last:
            sections.append(f"--- {path}\n{section}")
    if not sections:
        return ""

    prose = "\n".join(lines[: patches[0].line - 1]).strip("\n")
    if prose:
        sections.insert(0, prose)
    return "\n\n".join(sections) + "\n"


def _revised_section(
    lines: Sequence[str], patch: FilePatch, *, gone: set[int], more: Sequence[str]
) -> str:
    """The section of a `.spatch` for one file, "" where no hunk is left.

    Args:
        lines: the lines of the `.spatch` up to its end.
        patch: what is in it.
        gone: the lines (1-based) on which the hunks begin that go.
        more: the hunks that come.
    """
    starts = [hunk.line for hunk in patch.hunks]
    if not more and gone.isdisjoint(starts):
        return "\n".join(lines[patch.line - 1 :]).strip("\n")

    blocks: list[str] = []
    ends = [*starts[1:], len(lines) + 1]
    for start, end in zip(starts, ends):
        if start not in gone:
            hunk = "\n".join(lines[start - 1 : end - 1])
            blocks.append(hunk.strip("\n"))
    for hunks in more:
        blocks.append(hunks.strip("\n"))
    if not blocks:
        return ""
    header = "\n".join(lines[patch.line - 1 : starts[0] - 1])
    body = "\n\n".join(blocks)
    return f"{header}\n{body}" if header else body


def raised(version: str) -> str:
    """A version, its last number raised by one."""

    def next_number(number: re.Match[str]) -> str:
        return str(int(number[0]) + 1)

    return re.sub(r"\d+(?=\D*$)", next_number, version)


# a release that it does not fit -----------------------------------------------------------------
def with_marks(text: bytes, hunks: Sequence[HunkText], options: Mapping[str, OptionValue]) -> bytes:
    """A file with each hunk that fits by itself.

    The others are comments at the closest code.
    """
    fitting: list[HunkText] = []
    missing: list[HunkText] = []
    for hunk, state in zip(hunks, _states(text, hunks, options=options)):
        if state is State.APPLICABLE:
            fitting.append(hunk)
        elif state.failed:
            missing.append(hunk)
    data = text
    if fitting:
        data = rewrite(text, fitting, options=options).data

    marks: list[tuple[int, HunkText]] = []
    for hunk in missing:
        (explanation,) = explain(data, [hunk], options=options)
        marks.append((_closest_line(explanation), explanation.hunk))
    marks.sort(
        key=lambda mark: -mark[0]
    )  # from the end, so that the lines above keep their numbers

    lines = data.split(b"\n")
    for line, hunk in marks:
        below = lines[line - 1]
        indent = below[: len(below) - len(below.lstrip())]
        comments: list[bytes] = []
        for row in _written(hunk):
            comments.append(indent + _MARK + b" " + row.encode("utf-8"))
        lines[line - 1 : line - 1] = comments
    return b"\n".join(lines)


def _states(
    text: bytes, hunks: Sequence[HunkText], *, options: Mapping[str, OptionValue]
) -> list[State]:
    """What each hunk is by itself."""
    states: list[State] = []
    if any(hunk.plain for hunk in hunks):
        for hunk in hunks:
            answer = rewrite(text, [hunk], options=options).answers[0]
            states.append(answer.state)
        return states

    tree = Tree(text)
    for hunk in hunks:
        states.append(tree.answer(hunk, options).state)
    return states


def without_marks(data: bytes) -> bytes:
    """A file without the marks."""
    lines: list[bytes] = []
    for line in data.split(b"\n"):
        if not line.lstrip().startswith(_MARK):
            lines.append(line)
    return b"\n".join(lines)


def _closest_line(explanation: Explanation) -> int:
    """The line (1-based) above which a hunk is marked.

    That is its code in another scope, else the closest code, else its scope, else the first of the
    file.
    """
    if explanation.elsewhere:
        return explanation.elsewhere[0].line
    if explanation.closest:
        return explanation.closest.line
    if explanation.scopes:
        return explanation.scopes[0].first
    return 1


def _written(hunk: HunkText) -> list[str]:
    return [_HEAD, f"@@ {hunk.scope} @@", *hunk.written]

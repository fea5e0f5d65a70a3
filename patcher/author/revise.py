"""A patchset again, after further edits: the hunks that still hold stay as they are written, what they lack is added."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Mapping, NamedTuple, Sequence, Tuple

from patcher.author.changed import InstalledFile
from patcher.author.draft import Draft, DraftFile, FileEdit, added_file
from patcher.author.folder import with_modules
from patcher.author.hunks.generalise import generalise
from patcher.author.hunks.trial import same_code
from patcher.author.manifest import with_version
from patcher.author.pristine import EditedFile, Original
from patcher.engine.engine import explain, rewrite
from patcher.engine.spatch.hunk import parse_spatch
from patcher.engine.tree import Tree
from patcher.errors import PatchError, SitepatchError, UsageError
from patcher.facts import Assignment, Wanted
from patcher.installed.interpreter import Environment
from patcher.message import Message
from patcher.model import HunkText, OptionValue, PatchsetSource, Requested, State
from patcher.patchset.layers import layers_of
from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import MANIFEST
from patcher.patchset.variants import resolve_options
from patcher.planner.survey import make_plan, read_facts
from patcher.store.status import read_installed, statuses
from patcher.store.store import Store
from patcher.text.diffs import diff_texts

if TYPE_CHECKING:
    from patcher.engine.explain import Explanation

_MARK = b"# sitepatch:"
_HEAD = "this hunk is missing here: change the code below, lines that begin so are taken out again"
_FileKey = Tuple[str, str]
"""A site directory, and a path below it."""


class Revision(NamedTuple):
    """The new hunks of a patchset, how many of its old ones go, and the texts of its folder that change.

    These are {} where nothing changes, and where only parts that cannot be captured are left of a `.spatch`.
    """

    draft: Draft
    gone: int
    texts: dict[str, str]


class WrittenPatchset(NamedTuple):
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
        """The edited files, and the others that the patchset is for: each as it is without the patchset, and as it is now.

        What is now is taken from the directory of `copies` where that has it, "" for none.
        """
        edits = {edited.key: edited for edited in files}
        for (site, path), assignment in self.assignments.items():
            current = read_installed(copies, path) if copies else None
            current = read_installed(site, path) if current is None else current
            edited = edits.get((site, path))
            if current is None:
                continue
            file = edited.file if edited else InstalledFile(assignment.located, path, (), current)
            if (site, path) in self.without:
                data, pristine = self.without[site, path]
                where = Message("what is there without {name}", name=self.requested.patchset.name)
                edits[site, path] = EditedFile(file, Original(data, where, pristine))
            elif edited is None:
                edits[site, path] = EditedFile(
                    file, Original(current, Message("the installed file"), current)
                )
        return tuple(edits.values())

    def revision(
        self, files: Sequence[EditedFile], others: Sequence[Mapping[str, bytes]]
    ) -> Revision:
        """What becomes of the patchset with these edits; `others` as `generalise` takes them.

        Raises:
            SitepatchError: it is not for the package of a file, or nothing is left of it or of one of its `.spatch` files.
        """
        results = [
            (edited, revise(edited.edit, self.assignments.get(edited.key), others))
            for edited in files
        ]
        revision = Revision(
            Draft(tuple(result.draft for _, result in results)),
            sum(len(result.gone) for _, result in results),
            {},
        )
        if not (revision.gone or any(file.hunks for file in revision.draft.files)):
            return revision
        gone: dict[str, set[int]] = {}  # by `.spatch`, as is what comes
        added: dict[str, dict[str, str]] = {}
        for edited, result in results:
            home, path, hunks = (
                self._home(edited.file),
                edited.file.path,
                "\n".join(hunk.text for hunk in result.draft.hunks),
            )
            for hunk in result.gone:
                gone.setdefault(self._name(hunk), set()).add(hunk.line)
            if hunks:
                added.setdefault(home, {})[path] = (
                    f"+++ {path}\n{hunks}" if result.draft.adds else hunks
                )
        texts = {
            name: revised_spatch(self.files[name], name, gone.get(name, set()), added.get(name, {}))
            for name in dict.fromkeys((*gone, *added))
        }
        patchset = self.requested.patchset
        empty = [self.folder / name for name, text in texts.items() if not text]
        if empty and not revision.draft.complete:
            return revision
        if empty and len(empty) == sum(name.endswith(".spatch") for name in self.files):
            raise SitepatchError(
                "{name}: nothing is left of it",
                "remove {folder}",
                name=patchset.name,
                folder=self.folder,
            )
        if empty:
            hint = Message("remove it, and what names it in {manifest}", manifest=MANIFEST)
            raise SitepatchError("{name}: nothing is left of it", hint, name=empty[0])
        fresh = [edited.file.path for edited in files if edited.key not in self.assignments]
        manifest = with_version(
            with_modules(self.files[MANIFEST], patchset, fresh), raised(patchset.version)
        )
        return revision._replace(texts={**texts, MANIFEST: manifest})

    def _name(self, hunk: HunkText) -> str:
        return Path(hunk.origin).relative_to(self.folder).as_posix()

    def _home(self, file: InstalledFile) -> str:
        """The `.spatch` in which the hunks of a file are, or come: that of the first file of its package."""
        own = self.assignments.get((file.site, file.path))
        package = (
            entry
            for entry in self.assignments.values()
            if entry.located.package == file.located.package
        )
        home = own or next(package, None)
        if home is None:
            template = "{path}: was edited too, and {name} has no hunk for {release}"
            hint = Message("name the files that are meant, or capture it under another name")
            name = self.requested.patchset.name
            raise SitepatchError(template, hint, path=file.path, name=name, release=file.release)
        return self._name(home.hunks[-1])


def written_patchset(env: Environment, name: str, folder: Path | None) -> WrittenPatchset | None:
    """The patchset in a folder, with what it is and does here; None where there is none.

    Raises:
        UsageError: another one of that name is applied.
        SitepatchError: several of its patches change one file.
    """
    applied = [
        (item, step)
        for item in statuses(env)
        for _, step in item.patchsets
        if step.patchset == name
    ]
    if folder is None:
        if applied:
            raise UsageError(
                "{name}: a patchset of this name is applied here",
                Message("choose another name"),
                name=name,
            )
        return None
    patchset = load_patchset(folder, PatchsetSource(str(folder)))
    requested = Requested(
        patchset, applied[0][1].options if applied else resolve_options(patchset, {})
    )
    assignments = {
        key: first
        for key, (first,) in read_facts(env, Wanted((requested,), fresh=True)).assignments.items()
    }
    for assignment in assignments.values():
        if len(layers_of(assignment.hunks)) > 1:
            template = (
                "{name}: several of its patches change {path}, and they are not edited together"
            )
            hint = Message("capture the edit under another name")
            raise SitepatchError(template, hint, name=name, path=assignment.path)
    after = {
        (file.site, file.path): file.after
        for file in make_plan(env, Wanted((), (name,), force=True)).files
    }
    texts: dict[_FileKey, tuple[bytes, bytes]] = {}
    for item, _ in applied:
        key = item.site, item.receipt.path
        if key in after:
            texts[key] = after[key], Store(item.site).pristine(item.receipt.pristine.sha256)
    return WrittenPatchset(folder, requested, assignments, texts)


class RevisedFile(NamedTuple):
    """The hunks of a patchset for one file that do not hold any more (`gone`), and those that are new."""

    gone: tuple[HunkText, ...]
    draft: DraftFile


def revise(
    edit: FileEdit, assignment: Assignment | None, others: Sequence[Mapping[str, bytes]] = ()
) -> RevisedFile:
    """The hunks for a file after an edit.

    A hunk stays where all that it changes is a part of the edit, and the hunks that stay make the same code as new ones
    together with what is added; else all of them go.

    Args:
        edit: the file without the patchset, and as it is to make it.
        assignment: the hunks that the patchset has for it, None for none.
        others: of each further release the texts, as `generalise` takes them.
    """
    hunks = assignment.hunks if assignment else ()
    if assignment and assignment.adds:
        draft = added_file(edit.path, edit.after)
        same = [hunk.text for hunk in draft.hunks] == [
            "".join(f"+{line}\n" for _, line, _ in hunks[0].lines)
        ]
        return RevisedFile((), DraftFile((edit.path,), ())) if same else RevisedFile(hunks, draft)
    (draft,) = generalise([edit], others).files
    text = Draft((draft,)).spatch()
    fresh = [
        hunk
        for patch in (parse_spatch(text, edit.path)[1] if draft.hunks else ())
        for hunk in patch.hunks
    ]

    def result(some: Sequence[HunkText]) -> bytes:
        try:
            options, names = (
                (assignment.requested.options, assignment.names) if assignment else ({}, ())
            )
            rewritten = rewrite(edit.before, some, options, names)
        except PatchError:  # two hunks insert at one place
            return b""
        return b"" if any(answer.state.failed for answer in rewritten.answers) else rewritten.data

    def within(hunk: HunkText, after: bytes) -> bool:
        between = result([hunk])
        return bool(between) and _distance(edit.before, between) + _distance(
            between, after
        ) == _distance(edit.before, after)

    wanted = result(fresh) if fresh else edit.before
    kept = [hunk for hunk in hunks if within(hunk, wanted)]
    reached = result(kept) if kept else edit.before
    added = [not within(hunk, reached) for hunk in fresh]
    together = [*kept, *(hunk for hunk, new in zip(fresh, added) if new)]
    if kept and same_code(result(together) if together else edit.before, wanted, anywhere=True):
        new = tuple(hunk for hunk, is_new in zip(draft.hunks, added) if is_new)
        return RevisedFile(
            tuple(hunk for hunk in hunks if hunk not in kept), draft._replace(hunks=new)
        )
    return RevisedFile(tuple(hunks), draft)


def _distance(before: bytes, after: bytes) -> int:
    """How many lines differ."""
    diff = diff_texts("", "", before, after)
    return diff.added + diff.removed


def revised_spatch(text: str, origin: str, gone: set[int], added: Mapping[str, str]) -> str:
    """The text of a `.spatch` without the hunks that begin on some lines (1-based), and with further ones.

    Args:
        text: the text; what does not change stays as it is written.
        origin: its name.
        gone: the lines.
        added: the hunks for a file, by path; in a section of their own where it has none.

    Returns:
        the text, "" where no hunk is left.
    """
    lines = text.split("\n")
    _, patches = parse_spatch(text, origin)
    ends = [*(patch.line - 1 for patch in patches[1:]), len(lines)]
    last = {path: number for number, patch in enumerate(patches) for path in patch.paths}
    sections: list[str] = []
    for number, (patch, end) in enumerate(zip(patches, ends)):
        more = [hunks for path, hunks in added.items() if last.get(path) == number]
        if not more and not gone & {hunk.line for hunk in patch.hunks}:
            sections.append("\n".join(lines[patch.line - 1 : end]).strip("\n"))
            continue
        starts = [hunk.line - 1 for hunk in patch.hunks]
        blocks = [
            "\n".join(lines[start:stop]).strip("\n")
            for start, stop in zip(starts, [*starts[1:], end])
        ]
        blocks = [block for block, hunk in zip(blocks, patch.hunks) if hunk.line not in gone]
        header = "\n".join(lines[patch.line - 1 : starts[0]])
        blocks += [hunks.strip("\n") for hunks in more]
        sections += ["\n".join(filter(None, (header, "\n\n".join(blocks))))] if blocks else []
    fresh = ((path, hunks.strip("\n")) for path, hunks in added.items() if path not in last)
    sections += [
        hunks if hunks.startswith("+++ ") else f"--- {path}\n{hunks}" for path, hunks in fresh
    ]
    prose = "\n".join(lines[: patches[0].line - 1]).strip("\n")
    return "\n\n".join(filter(None, (prose, *sections))) + "\n" if sections else ""


def raised(version: str) -> str:
    """A version, its last number raised by one."""
    return re.sub(r"\d+(?=\D*$)", lambda number: str(int(number[0]) + 1), version)


# a release that it does not fit ---------------------------------------------------------------------------------------
def begun(text: bytes, hunks: Sequence[HunkText], options: Mapping[str, OptionValue]) -> bytes:
    """A file with each hunk that fits by itself, and the others as comments at the closest code."""
    if any(hunk.plain for hunk in hunks):
        states = [(hunk, rewrite(text, [hunk], options).answers[0].state) for hunk in hunks]
    else:
        tree = Tree(text)
        states = [(hunk, tree.answer(hunk, options).state) for hunk in hunks]
    fitting = [hunk for hunk, state in states if state is State.APPLICABLE]
    data = rewrite(text, fitting, options).data if fitting else text
    missing = [hunk for hunk, state in states if state.failed]
    marks = [_mark_place(*explain(data, [hunk], options)) for hunk in missing]
    lines = data.split(b"\n")
    for line, hunk in sorted(marks, key=lambda mark: -mark[0]):
        below = lines[line - 1]
        indent = below[: len(below) - len(below.lstrip())]
        lines[line - 1 : line - 1] = [
            indent + _MARK + b" " + written.encode("utf-8") for written in _written(hunk)
        ]
    return b"\n".join(lines)


def without_marks(data: bytes) -> bytes:
    """A file without the marks."""
    return b"\n".join(line for line in data.split(b"\n") if not line.lstrip().startswith(_MARK))


def _mark_place(explanation: Explanation) -> tuple[int, HunkText]:
    """The 1-based line above which a hunk is marked: the closest code, else its scope, else the first of the file."""
    if explanation.closest:
        return explanation.closest.line, explanation.hunk
    return (explanation.scopes[0].first if explanation.scopes else 1), explanation.hunk


def _written(hunk: HunkText) -> list[str]:
    return [_HEAD, f"@@ {hunk.scope} @@", *(f"{tag}{line}".rstrip() for tag, line, _ in hunk.lines)]

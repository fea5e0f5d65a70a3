"""`import`: a diff -> a patchset for what is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from patcher.author.diffs.apply import FUZZ, apply_hunks
from patcher.author.diffs.locate import FileMatch, InstalledSources
from patcher.author.diffs.patchfile import Patch, merge_patches, read_patches, read_series
from patcher.author.diffs.unified import DiffProblem
from patcher.author.draft import Draft, FileEdit, LeftOut
from patcher.author.folder import Head, output_folder, write_folder
from patcher.author.hunks.generalise import generalise
from patcher.errors import Location, UsageError
from patcher.model import Located, Patchset
from patcher.ops.authoring.proving import Release, by_package, check_also, further_releases, made_here, prove
from patcher.ops.events import SILENT, Events
from patcher.ops.place import Place
from patcher.ops.releases.outcome import ReleaseOutcome
from patcher.store.retry import settled
from patcher.system.reading import read_file
from patcher.target.interpreter import Environment
from patcher.target.versions import says_nothing
from patcher.text.diffs import FileDiff, diff_texts

SERIES = "series"


class ImportRequest(NamedTuple):
    """Which diff becomes which patchset.

    `patch` is a file, a quilt `series` or a directory that has one; with `data` (standard input) only its name. `also` are
    releases (`1.2`, `NAME==1.2`) and directories of packages that the hunks should hold for as well. `leave_out` names the
    parts that cannot be put into a hunk and need not be (`PATH:LINE`, or the path of a whole file); `fuzz` is how many lines
    of context may differ.
    """

    place: Place
    patch: str
    name: str
    data: Optional[bytes] = None
    output: Optional[str] = None
    also: Tuple[str, ...] = ()
    leave_out: Tuple[str, ...] = ()
    fuzz: int = FUZZ


class ImportOutcome(NamedTuple):
    """The outcome of an import.

    Attributes:
        folder: the folder of the patchset.
        draft: the hunks.
        patchset: what was written to `folder`; None where nothing was, for `problems` or `missing`.
        problems: the sections of the diff that cannot be applied.
        left_out: the parts of the diff that are in no hunk and that nothing needs.
        missing: those that the rest may need, which stop it.
        files: what the patchset makes of the installed files.
        releases: what it does to the further releases.
        notes: remarks for the user.
    """

    folder: Path
    draft: Draft
    patchset: Optional[Patchset] = None
    problems: Tuple[FileMatch, ...] = ()
    left_out: Tuple[LeftOut, ...] = ()
    missing: Tuple[LeftOut, ...] = ()
    files: Tuple[FileDiff, ...] = ()
    releases: Tuple[ReleaseOutcome, ...] = ()
    notes: Tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the patchset was written."""
        return self.patchset is not None


def import_(request: ImportRequest, events: Events = SILENT) -> ImportOutcome:
    """Make a patchset of a diff.

    Raises:
        UsageError: the diff cannot be read or is malformed; the name or the folder cannot be used.
        SitepatchError: the environment or a release cannot be read.
    """
    folder = output_folder(request.name, request.output)
    check_also(request.also)
    patch = merge_patches(_read(request))
    env = request.place.environment()
    events.started(env)
    matches = settled(env, lambda: _matches(env, patch, request.fuzz))
    releases, unread = further_releases(request.also, _packages(matches), events)
    left = [
        LeftOut(one.section.path, 0, "", why, one.shipped)
        for one in matches
        for why in [one.left_out or one.section.refused]
        if why
    ]
    problems = tuple(_with_releases(one, releases) for one in matches if one.problem)
    taken = [one for one in matches if one.located and not one.problem]
    outcome = ImportOutcome(folder, Draft(()), None, problems, notes=(*_notes(taken), *unread))
    if problems or not taken:
        return _with_left_out(outcome, left, request.leave_out)
    edits = _edits(taken)
    draft = generalise(edits, [release.texts for release in releases])
    other = [f"{file.paths[0]}: it is not byte for byte as with the diff: {file.difference}" for file in draft.unlike]
    outcome = outcome._replace(draft=draft, notes=(*outcome.notes, *other))
    outcome = _with_left_out(outcome, [*left, *draft.left_out], request.leave_out)
    written = {file.paths[0] for file in draft.files if file.hunks}
    homes = list(_packages(one for one in taken if one.path in written))
    if not homes:
        return outcome
    head = Head(request.name, patch.subject or _summary(request, homes), patch.prose, patch.provenance)
    proof = prove(folder, head, draft, homes, ((each, _expected(each, taken)) for each in releases))
    made = [made_here(edit, draft, proof.trial) for edit in edits]
    files = [diff_texts("", edit.path, edit.before, after, [request.name]) for edit, after in zip(edits, made)]
    outcome = outcome._replace(files=tuple(diff for diff in files if diff.text), releases=proof.releases)
    return outcome if outcome.missing else outcome._replace(patchset=write_folder(folder, proof.texts))


def _with_left_out(outcome: ImportOutcome, left: Sequence[LeftOut], names: Sequence[str]) -> ImportOutcome:
    """Sort the parts that are in no hunk by whether they stop the import.

    Raises:
        UsageError: one of `names` is no such part.
    """
    missing = tuple(one for one in left if one.code and one.name not in names)
    unknown = [name for name in names if not outcome.problems and name not in {one.name for one in left}]
    if unknown:
        parts = ", ".join(one.name for one in missing)
        hint = f"what stops it is: {parts}" if missing else "nothing stops it"
        raise UsageError(f"--leave-out {unknown[0]}: no such part is left out", hint)
    return outcome._replace(left_out=tuple(one for one in left if one not in missing), missing=missing)


# what is read ---------------------------------------------------------------------------------------------------------
def _read(request: ImportRequest) -> List[Patch]:
    """The patches of a file, or of all files of a quilt series."""
    if request.data is not None:
        return _parsed({request.patch: request.data})
    path = Path(request.patch)
    if path.is_dir():
        homes = [path / each / SERIES for each in ("", "patches", "debian/patches")]
        if not any(each.is_file() for each in homes):
            hint = "mails of git format-patch are read in a row: cat DIR/*.patch | sitepatch import - --name NAME"
            raise UsageError.at(Location(str(path)), "found no quilt series in this directory", hint)
        path = next(each for each in homes if each.is_file())
    if path.name != SERIES:
        return _parsed({str(path): _bytes(path)})
    names, problems = read_series(_bytes(path).decode("utf-8", "replace"))
    if not names:
        raise UsageError.at(Location(str(path)), "it lists no patch")
    texts: Dict[str, bytes] = {}
    wrong = [_error(str(path), each) for each in problems]
    for name in names:
        try:
            texts[str(path.parent / name)] = _bytes(path.parent / name)
        except UsageError as error:
            wrong.append(error)
    _check(wrong)
    return _parsed(texts)


def _bytes(path: Path) -> bytes:
    try:
        return read_file(path)
    except OSError as error:
        raise UsageError.at(Location(str(path)), f"found no readable file ({error.strerror}), expected a diff") from None


def _parsed(texts: Mapping[str, bytes]) -> List[Patch]:
    found: List[Patch] = []
    wrong: List[UsageError] = []
    for name, data in texts.items():
        some, problems = read_patches(data)
        found += some
        wrong += [_error(name, each) for each in problems]
        if not problems and not any(each.sections for each in some):
            wrong.append(UsageError.at(Location(name), "found no unified diff in it"))
    _check(wrong)
    return found


def _error(name: str, problem: DiffProblem) -> UsageError:
    return UsageError.at(Location(name, problem.line), problem.text)


def _check(wrong: Sequence[UsageError]) -> None:
    if wrong:
        hint = "expected what diff -u, git diff and git format-patch write"
        raise UsageError.joined(wrong, hint)


# where it belongs -----------------------------------------------------------------------------------------------------
def _matches(env: Environment, patch: Patch, fuzz: int) -> List[FileMatch]:
    installed = InstalledSources(env, fuzz)
    return [installed.find(section) for section in patch.sections]


def _packages(matches: Iterable[FileMatch]) -> Dict[Located, Set[str]]:
    return by_package((one.located, one.path) for one in matches if one.located)


def _notes(taken: Sequence[FileMatch]) -> Iterator[str]:
    for one in taken:
        same = one.section.path == one.path
        yield from (f"{one.path}: {note}" for note in one.notes)
        if not same and not one.section.path.endswith(f"/{one.path}"):
            yield f"{one.section.path} is taken for {one.path}"
    for located in _packages(taken):
        yield from located.notes
        if says_nothing(located.version):
            yield f"nothing tells the version of {located.package}: the patchset is for any"


def _edits(taken: Sequence[FileMatch]) -> List[FileEdit]:
    """Each file before the first section for it, and after the last."""
    edits: Dict[str, FileEdit] = {}
    for one in taken:
        before = edits[one.path].before if one.path in edits else one.before
        edits[one.path] = FileEdit(one.path, before, one.after)
    return list(edits.values())


def _with_releases(one: FileMatch, releases: Sequence[Release]) -> FileMatch:
    """A problem whose hint names the releases to which the section can be applied."""
    fits = [each.located.version for each in releases if one.path in each.texts and _applied(each.texts[one.path], [one])]
    name = one.located.distribution if one.located else ""
    hints = [one.hint] if one.hint else []
    return one._replace(hint="\n".join([*hints, f"it applies to {name} {' and '.join(fits)}"])) if fits else one


def _expected(release: Release, taken: Sequence[FileMatch]) -> Dict[str, bytes]:
    """The files of a release with the diff itself, those to which it can be applied."""
    paths = {one.path for one in taken} & set(release.texts)
    made = {path: _applied(release.texts[path], [one for one in taken if one.path == path]) for path in paths}
    return {path: text for path, text in made.items() if text}


def _applied(text: bytes, sections: Sequence[FileMatch]) -> bytes:
    """A file with the hunks of these sections; b"" where not all can be applied."""
    for one in sections:
        made = apply_hunks(text, one.section.hunks)
        text = b"" if made.problems else made.after
    return text


def _summary(request: ImportRequest, homes: Sequence[Located]) -> str:
    source = "" if request.data is not None else f", from {Path(request.patch).name}"
    return f"Changes {' and '.join(home.package for home in homes)}{source}"

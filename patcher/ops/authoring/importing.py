"""What `import` is asked and answers, and what the sections of diffs are that were found installed files."""

from __future__ import annotations

from pathlib import Path
from typing import Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from patcher.author.diffs.apply import FUZZ, apply_hunks
from patcher.author.diffs.locate import FileMatch
from patcher.author.draft import Draft, FileEdit, LeftOut
from patcher.installed.versions import says_nothing
from patcher.message import Message, joined
from patcher.model import Located, Patchset
from patcher.ops.authoring.proving import Release, by_package
from patcher.text.diffs import FileDiff
from patcher.text.listed import listed
from patcher.verbs.place import Place
from patcher.verbs.releases.outcome import ReleaseOutcome

IMPORTED, IN_PLACE, LEFT_OUT, NOT_IMPORTED = "imported", Message("in place"), Message("left out"), Message("not imported")


class ImportRequest(NamedTuple):
    """Which patches become which patchset.

    `patches` are files, quilt `series`, directories and URLs; with `data` (standard input) only its name; `digest` is the
    hash of the one URL, `sha256:HEX`. `also` are releases (`1.2`, `NAME==1.2`) and directories of packages that the hunks
    should hold for as well. `leave_out` names the parts that cannot be put into a hunk and need not be (`PATH:LINE`, or the
    path of a whole file); `fuzz` is how many lines of context may differ.
    """

    place: Place
    patches: Tuple[str, ...]
    name: str
    data: Optional[bytes] = None
    output: Optional[str] = None
    also: Tuple[str, ...] = ()
    leave_out: Tuple[str, ...] = ()
    fuzz: int = FUZZ
    digest: str = ""


class PatchResult(NamedTuple):
    """What came of one patch; `problem` says why it is not imported, and `hint` what to do.

    Attributes:
        name: that of its `.spatch`, without the suffix.
        subject: its subject.
        state: `IMPORTED`, `IN_PLACE` (it is in the folder already), `LEFT_OUT` (nothing of it is installed) or `NOT_IMPORTED`.
        draft: the hunks.
        problems: the sections of the diff that cannot be applied.
        left_out: the parts that are in no hunk and that nothing needs.
        missing: those that the rest may need, which stop it.
        problem: see above.
        hint: see above.
    """

    name: str
    subject: str
    state: str
    draft: Draft = Draft(())
    problems: Tuple[FileMatch, ...] = ()
    left_out: Tuple[LeftOut, ...] = ()
    missing: Tuple[LeftOut, ...] = ()
    problem: str = ""
    hint: str = ""

    @property
    def failed(self) -> bool:
        """Whether the series lacks it."""
        return self.state == NOT_IMPORTED


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
        patches: what came of each patch of a series.
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
    patches: Tuple[PatchResult, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the patchset was written, with all patches."""
        return self.patchset is not None and not any(result.failed for result in self.patches)


def left_of(matches: Iterable[FileMatch]) -> List[LeftOut]:
    """The sections that are no change of an installed Python file, and why."""
    return [
        LeftOut(match.section.path, 0, "", why, match.shipped)
        for match in matches
        for why in [match.left_out or match.section.refused]
        if why
    ]


def packages_of(matches: Iterable[FileMatch]) -> Dict[Located, Set[str]]:
    """The packages of the files that were found, and which files of each."""
    return by_package((one.located, one.path) for one in matches if one.located)


def notes_on(taken: Sequence[FileMatch]) -> Iterator[str]:
    """What is to be said of files that were found."""
    for one in taken:
        same = one.section.path == one.path
        yield from (Message("{path}: {note}", path=one.path, note=note) for note in one.notes)
        if not same and not one.section.path.endswith(f"/{one.path}"):
            yield Message("{one.section.path} is taken for {one.path}", one=one)
    for located in packages_of(taken):
        yield from located.notes
        if says_nothing(located.version):
            yield Message("nothing tells the version of {package}: the patchset is for any", package=located.package)


def edits_of(taken: Sequence[FileMatch]) -> List[FileEdit]:
    """Each file before the first section for it, and after the last."""
    edits: Dict[str, FileEdit] = {}
    for one in taken:
        before = edits[one.path].before if one.path in edits else one.before
        edits[one.path] = FileEdit(one.path, before, one.after)
    return list(edits.values())


def with_releases(one: FileMatch, releases: Sequence[Release]) -> FileMatch:
    """A problem whose hint names the releases to which the section can be applied."""
    fits = [each.located.version for each in releases if one.path in each.texts and with_sections(each.texts[one.path], [one])]
    name = one.located.distribution if one.located else ""
    hints = [one.hint] if one.hint else []
    return (
        one._replace(hint=joined("\n", [*hints, Message("it applies to {name} {names}", name=name, names=listed(fits))]))
        if fits
        else one
    )


def with_sections(text: bytes, sections: Sequence[FileMatch]) -> bytes:
    """A file with the hunks of these sections; b"" where not all can be applied."""
    for one in sections:
        made = apply_hunks(text, one.section.hunks)
        text = b"" if made.problems else made.after
    return text

"""The immutable types that travel between modules. No I/O, no third-party import."""

from __future__ import annotations

import re
from enum import Enum
from typing import Callable, Mapping, NamedTuple, Optional, Tuple, Union

OptionValue = Union[int, float, bool, str]
Progress = Callable[[int, int, str], None]
"""Takes how much is done, of how much (0: nobody knows), and what: `3, 43, "releases fetched"`."""


class Splice(NamedTuple):
    """Replace the bytes `[start, end)` of a file by `new`. Offsets are byte offsets into the text before any splice."""

    start: int
    end: int
    new: bytes


class State(str, Enum):
    """The answer for one hunk (design: "The answer for every hunk")."""

    APPLICABLE = "applicable"
    APPLIED = "applied"
    UPSTREAM = "upstream"
    NOT_NEEDED = "not needed"
    NOT_FOUND = "not found"
    AMBIGUOUS = "ambiguous"
    CONFLICT = "conflict"

    @property
    def failed(self) -> bool:
        """Whether this answer makes a command end with exit code 1."""
        return self in (State.NOT_FOUND, State.AMBIGUOUS, State.CONFLICT)


class HunkText(NamedTuple):
    """One hunk as written: checked for form, its sides not parsed yet.

    `expected` is the number of places, 0 for `count=all`. `lines` holds (tag, text, line number in the .spatch), tag being
    `" "`, `"-"`, `"+"`. With `in_string` they are no code but a part of a string. `inside` are the keywords of the statements
    that must stand around the place within the scope, the outermost first; None where any may.
    """

    origin: str
    line: int
    scope: str
    expected: int
    when_present: bool
    lines: Tuple[Tuple[str, str, int], ...]
    in_string: bool = False
    inside: Optional[Tuple[str, ...]] = None


class FilePatch(NamedTuple):
    """The hunks for one file; `paths` are alternative places of it, `/`-separated, relative to the site directory."""

    paths: Tuple[str, ...]
    line: int
    hunks: Tuple[HunkText, ...]


class HunkAnswer(NamedTuple):
    """What was found for one hunk in one text.

    `places` are 1-based line numbers of the text before the change. `problem` explains a failed state, `hint` says
    what to do about it. `gone` is whether it is not found because it only deletes, and that code alone is not there.
    """

    hunk: HunkText
    state: State
    places: Tuple[int, ...] = ()
    splices: Tuple[Splice, ...] = ()
    problem: str = ""
    hint: str = ""
    gone: bool = False


class Rewrite(NamedTuple):
    """A text after all hunks of one patchset: `splices` are sorted and lead from the text before to `data`."""

    data: bytes
    splices: Tuple[Splice, ...]
    answers: Tuple[HunkAnswer, ...]


class Option(NamedTuple):
    """One `[options.NAME]` of a patchset. `type` is `int`, `float`, `bool` or `str`; `choices` is empty for any value."""

    name: str
    type: str
    default: OptionValue
    help: str
    choices: Tuple[OptionValue, ...] = ()


class Variant(NamedTuple):
    """The patches for a range of releases of one import package. `versions` is a PEP 440 specifier set.

    `distributions` are those that provide the package, the package's own name where none is listed.
    """

    package: str
    versions: str
    patches: Tuple[FilePatch, ...]
    names: Tuple[str, ...] = ()
    distributions: Tuple[str, ...] = ()


class Verify(NamedTuple):
    """`[verify]`: modules to import and a probe script to run in the target interpreter."""

    imports: Tuple[str, ...] = ()
    probe: str = ""


class Symptom(NamedTuple):
    """A trouble as it shows in a log: how its lines read, what it means and what helps.

    `patterns` and `needs` are lines: literal text in which `*` stands for any text. One of `patterns` has to be there, and
    one of `needs` somewhere in the logs. `options` are values to suggest for the patchset that cures it. It counts only where
    one of the import packages `installed` is there. `follows` is whether it mostly is the consequence of another trouble.
    """

    name: str
    patterns: Tuple[str, ...]
    meaning: str
    advice: str = ""
    options: Mapping[str, OptionValue] = {}
    needs: Tuple[str, ...] = ()
    installed: Tuple[str, ...] = ()
    follows: bool = False


class Patchset(NamedTuple):
    """A loaded patchset folder.

    `digest` is the sha256 (hex) over all of `files`, `files` maps each file's name to its text, `source` says where
    the folder was found, `prose` is the text above the first `---` line of its .spatch files.
    """

    name: str
    version: str
    kind: str
    summary: str
    prose: str
    provenance: Mapping[str, str]
    options: Tuple[Option, ...]
    variants: Tuple[Variant, ...]
    verify: Verify
    digest: str
    source: str
    files: Mapping[str, str]
    symptoms: Tuple[Symptom, ...] = ()


class Requested(NamedTuple):
    """A patchset to apply, with the value of each of its options; where `optional`, its packages may be absent."""

    patchset: Patchset
    options: Mapping[str, OptionValue]
    optional: bool = False


def patchset_digest(files: Mapping[str, str]) -> str:
    """The sha256 (hex) over the sorted (name, text) pairs; lengths keep two different sets from looking alike."""
    import hashlib

    digest = hashlib.sha256()
    for name, text in sorted(files.items()):
        for part in (name.encode("utf-8"), text.encode("utf-8")):
            digest.update(b"%d:" % len(part) + part)
    return digest.hexdigest()


class Located(NamedTuple):
    """An import package as the target interpreter would find it.

    `site` is the absolute site directory that holds it, `dist_info` the metadata folder's absolute path ("" if there is
    none), `version` "" when nothing tells it, `notes` what is unusual and worth saying aloud.
    """

    package: str
    site: str
    distribution: str
    version: str
    dist_info: str
    notes: Tuple[str, ...] = ()


class Step(NamedTuple):
    """One patchset in a file's history: what was applied, with which options, and the splices it made.

    `splices` lead from the text before this step to the text after it. `states` are those of the patchset's hunks for
    the file, in their order, when it was applied.
    """

    patchset: str
    version: str
    digest: str
    kind: str
    options: Mapping[str, OptionValue]
    splices: Tuple[Splice, ...]
    places: Tuple[int, ...] = ()
    states: Tuple[str, ...] = ()


class Receipt(NamedTuple):
    """What stands in one target file, and how to restore it.

    Hashes are sha256 in hex. `path` is `/`-separated and relative to the site directory. `mode` is the permission bits,
    `mtime_ns` nanoseconds since the epoch, both of the pristine file; `link` is the target of a symbolic link that stood
    there, "" for a regular file. `origin` says what proves the pristine bytes: `recorded` (RECORD has their sha256),
    `unrecorded` (nothing does), `edited` (RECORD has another one: somebody edited the file before it was patched).
    """

    path: str
    package: str
    distribution: str
    version: str
    pristine: str
    current: str
    mode: int
    mtime_ns: int
    link: str
    steps: Tuple[Step, ...]
    origin: str = "recorded"


class Change(NamedTuple):
    """One file of a commit. `old` is the sha256 (hex) the file must still have.

    `data` and `receipt` are the new bytes and the receipt that goes with them; both None puts the pristine file back.
    `forget` drops the receipt and leaves the file alone (a reinstall already took our change away). `merged` says that
    edits by hand are in `data`, so that the receipt is for other bytes. `pristine` are the pristine bytes where neither the
    file nor the store has them: the file was edited by hand before a patchset took the place of the edit. `mtime_ns` is what
    goes with `data` that was installed as it is (nanoseconds), None for a new one.
    """

    path: str
    old: str
    data: Optional[bytes]
    receipt: Optional[Receipt]
    forget: bool = False
    merged: bool = False
    pristine: Optional[bytes] = None
    mtime_ns: Optional[int] = None


class Answer(NamedTuple):
    """The state of one hunk of one patchset in one file, as a command reports it; `gone` is that of `HunkAnswer`.

    `written` is the file and the 1-based line where the hunk is written, ("", 0) where it is about no hunk.
    """

    patchset: str
    path: str
    scope: str
    state: State
    places: Tuple[int, ...] = ()
    problem: str = ""
    hint: str = ""
    when_present: bool = False
    gone: bool = False
    written: Tuple[str, int] = ("", 0)


def answered(patchset: str, path: str, one: HunkAnswer) -> Answer:
    """What a command reports of a hunk's answer."""
    words = one.problem, one.hint, one.hunk.when_present, one.gone, (one.hunk.origin, one.hunk.line)
    return Answer(patchset, path, one.hunk.scope, one.state, one.places, *words)


class FilePlan(NamedTuple):
    """What would become of one file. `before` are the bytes on disk now, `after` the bytes to be; equal if nothing changes.

    `aside` is an edited text that would be lost: a copy of it is kept first, b"" if there is none.
    """

    site: str
    path: str
    before: bytes
    after: bytes
    change: Optional[Change]
    steps: Tuple[Step, ...]
    aside: bytes = b""


class Plan(NamedTuple):
    """Everything a command would do. Made without writing; `answers` with a failed state forbid the commit."""

    files: Tuple[FilePlan, ...]
    answers: Tuple[Answer, ...]
    notes: Tuple[str, ...] = ()

    @property
    def failed(self) -> Tuple[Answer, ...]:
        """The answers that stop the commit."""
        return tuple(answer for answer in self.answers if answer.state.failed)


class LockedFile(NamedTuple):
    """A file of an installed release that patchsets are for: the sha256 (hex) of its pristine bytes and of what they make."""

    package: str
    distribution: str
    version: str
    path: str
    before: str
    after: str


def untagged(version: str) -> bool:
    """Whether a version is one of a build that was given none: "", `0.0.0`, `0+untagged`, or nothing like a version."""
    return not re.match(r"v?[\d.]*[1-9]", version)


def release_name(package: str, distribution: str, version: str) -> str:
    """A release as a message names it: the distribution, where one is known, and the version."""
    return f"{distribution or package} {version}".rstrip()


def normalized(name: str) -> str:
    """The name of a distribution as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()

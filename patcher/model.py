"""The immutable types that several packages share. No I/O, no third-party import."""

# without `from __future__ import annotations`: NamedTuple compiles each annotation that is text,
# which takes 2 ms at every start
from enum import Enum
from keyword import iskeyword
from typing import Callable, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

# of patchsets, in the order of application: debug shows the code with the fixes
KINDS = (
    "fix",
    "default",
    "debug",
)
OptionValue = Union[int, float, bool, str]
SOURCE = (".py", ".pyi")
"""The suffixes of the files that are matched by syntax; what else there is is lines of text."""
TEXT, ADDED = "<text>", "<new file>"
"""The scopes of hunks that are no syntax: lines of a text file, and the text of an added file."""
Progress = Callable[[int, int, str], None]
"""Called with how much is done, of how much (0: not known), and what: `3, 43, "fetched"`."""


class Splice(NamedTuple):
    """Replace the bytes `[start, end)` of a file by `new`.

    Offsets are byte offsets into the text before any splice.
    """

    start: int
    end: int
    new: bytes


def apply_splices(data: bytes, splices: Sequence[Splice]) -> bytes:
    """`data` with every splice applied.

    They have to be sorted by position; at one position their order counts.

    Raises:
        ValueError: two splices overlap.
    """
    parts: List[bytes] = []
    position = 0
    for splice in splices:
        if splice.start < position:
            raise ValueError("overlapping splices")
        parts += [data[position : splice.start], splice.new]
        position = splice.end
    return b"".join([*parts, data[position:]])


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


class HunkFlags(NamedTuple):
    """The flags behind the scope of a hunk.

    `expected` is the number of places, 0 for `count=all`. `when_present` says that the code may be
    absent. `inside` are the keywords of the statements around the place within the scope, the
    outermost first; None for any.
    """

    expected: int = 1
    when_present: bool = False
    inside: Optional[Tuple[str, ...]] = None


class HunkText(NamedTuple):
    """One hunk as written: its form is checked, its sides are not parsed yet.

    `origin` is its .spatch, `line` that of its header there. `lines` are (tag, text, line number in
    the .spatch), the tag being `" "`, `"-"` or `"+"`. `others` are its further forms, which are
    tried in order where no side of it is found, and have its `when_present`.
    """

    origin: str
    line: int
    scope: str
    lines: Tuple[Tuple[str, str, int], ...]
    flags: HunkFlags = HunkFlags()
    others: Tuple["HunkText", ...] = ()

    @property
    def plain(self) -> bool:
        """Whether its lines are no syntax."""
        return self.scope in (TEXT, ADDED)

    @property
    def only_imports(self) -> bool:
        """Whether imports are all that it changes.

        Where they stand already, other code may have need of them.
        """
        in_parentheses = False
        for form in self.forms:
            for tag, text, _ in form.lines:
                if tag == "-":
                    return False
                code = text.partition("#")[0].strip() if tag == "+" else ""
                if ";" in code:
                    return False
                if code and not in_parentheses and not code.startswith(("import ", "from ")):
                    return False
                in_parentheses = (in_parentheses or "(" in code) and ")" not in code
        return True

    @property
    def forms(self) -> Tuple["HunkText", ...]:
        """The forms of the hunk, in the order in which they are tried."""
        return (self._replace(others=()), *self.others)


class FilePatch(NamedTuple):
    """The hunks for one file.

    `paths` are alternative places of it, `/`-separated, relative to the site directory.
    """

    paths: Tuple[str, ...]
    line: int
    hunks: Tuple[HunkText, ...]

    @property
    def adds(self) -> bool:
        """Whether the file is added."""
        return self.hunks[0].scope == ADDED


class HunkAnswer(NamedTuple):
    """The state of one hunk in one text.

    `places` are 1-based line numbers of the text before the change. `problem` explains a failed
    state, `hint` says what to do about it. `gone` is whether the hunk only deletes, and that code
    is not there, but all that it keeps is.
    """

    hunk: HunkText
    state: State
    places: Tuple[int, ...] = ()
    splices: Tuple[Splice, ...] = ()
    problem: str = ""
    hint: str = ""
    gone: bool = False


class Rewrite(NamedTuple):
    """A text after all hunks of one patchset.

    `splices` are sorted and lead from the text before to `data`.
    """

    data: bytes
    splices: Tuple[Splice, ...]
    answers: Tuple[HunkAnswer, ...]


class Option(NamedTuple):
    """One `[options.NAME]` of a patchset.

    `type` is `int`, `float`, `bool` or `str`; `choices` is empty for any value.
    """

    name: str
    type: str
    default: OptionValue
    help: str
    choices: Tuple[OptionValue, ...] = ()


class Variant(NamedTuple):
    """The patches for the releases `versions` (PEP 440) of `package`.

    `distributions` provide it, () for the one of its name.

    `patches` are in the order of their `.spatch` files: each of these is matched against what those
    before it have made.
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


class Signs(NamedTuple):
    """How a symptom shows.

    A log has one of `patterns`, and the logs have one of `needs` (if any) and none of `unless`.

    Each is literal text of one line in which `*` stands for any text. With `accelerator`, one has
    to be installed as well, or the logs have a tensor on one.
    """

    patterns: Tuple[str, ...]
    needs: Tuple[str, ...] = ()
    unless: Tuple[str, ...] = ()
    accelerator: bool = False


class Symptom(NamedTuple):
    """A known problem as it shows in a log: its signs, what they mean and what to do.

    `options` are values to suggest for the patchset that cures it; `follows` is whether it usually
    follows from another.
    """

    name: str
    signs: Signs
    meaning: str
    advice: str = ""
    options: Mapping[str, OptionValue] = {}
    follows: bool = False


class PatchsetSource(NamedTuple):
    """Where a patchset was found: a `kind` of `patcher.patchset.places`, and what it names.

    `name` is a directory or an entry point.

    That of one that was not searched for is of another kind, as `the store`.
    """

    kind: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.name}" if self.name else self.kind  # which may be a message


class About(NamedTuple):
    """What a patchset is for: its `kind`, one of KINDS, and what people read about it.

    `prose` is the text above the first `---` line of its .spatch files, `provenance` where its
    changes come from.
    """

    kind: str
    summary: str
    prose: str = ""
    provenance: Mapping[str, str] = {}
    symptoms: Tuple[Symptom, ...] = ()


class PatchsetFolder(NamedTuple):
    """The folder of a patchset: the texts by file name, and the sha256 (hex) over all of them."""

    source: PatchsetSource
    files: Mapping[str, str]
    digest: str


class Patchset(NamedTuple):
    """A patchset, loaded from its folder."""

    name: str
    version: str
    about: About
    options: Tuple[Option, ...]
    variants: Tuple[Variant, ...]
    verify: Verify
    folder: PatchsetFolder


class Requested(NamedTuple):
    """A patchset to apply, with the value of each of its options.

    Where it is `optional`, its packages may be absent.
    """

    patchset: Patchset
    options: Mapping[str, OptionValue]
    optional: bool = False

    @property
    def identity(self) -> Tuple[str, Mapping[str, OptionValue]]:
        """What its result depends on, apart from the text.

        That of a `Step` is the same where it is applied as requested.
        """
        return self.patchset.folder.digest, dict(self.options)


class Located(NamedTuple):
    """An import package as the target interpreter would find it.

    `site` is the absolute site directory that holds it, `dist_info` the absolute path of the
    metadata folder ("" for none), `version` is "" where it is not known, `notes` are remarks for
    the user. `recorded` is whether the RECORD there lists the package.
    """

    package: str
    site: str
    distribution: str
    version: str
    dist_info: str
    notes: Tuple[str, ...] = ()
    recorded: bool = True


class AppliedHunks(NamedTuple):
    """What was found when a patchset was applied to a file.

    `places` are 1-based lines of the text before, `states` those of all hunks for the file, in
    their order.
    """

    places: Tuple[int, ...] = ()
    states: Tuple[str, ...] = ()


class Step(NamedTuple):
    """One patchset in a file's history: what was applied, how, and the splices it made.

    `splices` lead from the text before this step to the text after it.
    """

    patchset: str
    version: str
    digest: str
    kind: str
    options: Mapping[str, OptionValue]
    splices: Tuple[Splice, ...]
    hunks: AppliedHunks = AppliedHunks()

    @property
    def identity(self) -> Tuple[str, Mapping[str, OptionValue]]:
        """The digest of the patchset, and the options."""
        return self.digest, dict(self.options)


class LostStep(NamedTuple):
    """A patchset that is in a file no more: another file has taken its place.

    `step` is what was applied, without its splices, and `version` the release it was applied to. It
    is kept until a command names the patchset or removes it.
    """

    step: Step
    version: str


class PatchedRelease(NamedTuple):
    """The release of a package that was patched.

    `distribution` and `version` are "" where they are not known.
    """

    package: str
    distribution: str
    version: str

    @property
    def name(self) -> str:
        """What a message calls it."""
        return self.distribution or self.package


class PristineFile(NamedTuple):
    """A file as it was before it was patched.

    `sha256` is in hex, `mode` the permission bits, `mtime_ns` nanoseconds since the epoch; `link`
    is the target of a symbolic link, "" for a regular file. `origin` says what proves the bytes:
    `recorded` (RECORD has their sha256), `unrecorded` (nothing does), `edited` (RECORD has another
    one: the file was edited by hand before it was patched), `added` (no file stood there: there are
    no bytes, and to restore it is to remove it).
    """

    sha256: str
    mode: int
    mtime_ns: int
    link: str = ""
    origin: str = "recorded"


class Receipt(NamedTuple):
    """What is applied in one target file, and how to restore it.

    `path` is `/`-separated and relative to the site directory, `current` the sha256 (hex) of what
    `steps` make. `folder` is the topmost directory above an added file that was made for it or for
    another one, "" where there is none. `lost` are the patchsets that a reinstall took out of the
    file before the present `steps` were applied; without steps nothing but them is recorded, and
    the hashes mean nothing.
    """

    path: str
    release: PatchedRelease
    pristine: PristineFile
    current: str
    steps: Tuple[Step, ...]
    folder: str = ""
    lost: Tuple[LostStep, ...] = ()


class NewBytes(NamedTuple):
    """What is to be written to a file.

    `merged` is whether `data` has edits by hand, so that the receipt is for other bytes. `mtime_ns`
    is the modification time of `data` that was installed as it is, None to set a new one.
    """

    data: bytes
    merged: bool = False
    mtime_ns: Optional[int] = None


class Change(NamedTuple):
    """One file of a commit. `old` is the sha256 (hex) that the file must still have.

    `new` and `receipt` are the new bytes and their receipt. Without `new` the pristine file is
    restored, or, with `forget`, the file is left alone; the receipt is dropped then, or replaced by
    one that has lost steps alone. `pristine` are the pristine bytes where neither the file nor the
    store has them (a patchset replaces an edit by hand), and `aside` are edited bytes of which a
    copy is kept (see `patcher.store.folder.edited_copy`), b"" for none.
    """

    path: str
    old: str
    new: Optional[NewBytes]
    receipt: Optional[Receipt]
    forget: bool = False
    pristine: Optional[bytes] = None
    aside: bytes = b""


class ReportedHunk(NamedTuple):
    """The hunk that an answer is about.

    Without `scope` the answer is about a whole package or file.

    `origin` is its .spatch and `line` the 1-based line there. `gone` is that of `HunkAnswer`.
    """

    scope: str = ""
    origin: str = ""
    line: int = 0
    when_present: bool = False
    gone: bool = False


class Answer(NamedTuple):
    """The state of a hunk as a command reports it."""

    patchset: str
    path: str
    hunk: ReportedHunk
    state: State
    places: Tuple[int, ...] = ()
    problem: str = ""
    hint: str = ""


class FileRelease(NamedTuple):
    """The installed release that a file belongs to; the version is "" where it is not known."""

    distribution: str
    version: str


def module_of(path: str) -> str:
    """The module of a `/`-separated path that ends in `.py`.

    It is "" for one that cannot be imported by a name.
    """
    parts = path[: -len(".py")].split("/")
    if parts[-1] == "__init__":
        parts.pop()
    for part in parts:
        if not part.isidentifier() or iskeyword(part) or part == "__main__":
            return ""
    return ".".join(parts)


class FilePlan(NamedTuple):
    """The plan for one file, and the bytes `before` and `after`.

    `release` is the one that it belongs to, None where none of the requested patchsets is for the
    file.
    """

    site: str
    path: str
    before: bytes
    after: bytes
    change: Optional[Change]
    steps: Tuple[Step, ...]
    release: Optional[FileRelease] = None

    @property
    def module(self) -> str:
        """The name by which a file that ends in `.py` is imported."""
        parts = self.path[: -len(".py")].split("/")
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


class Plan(NamedTuple):
    """Everything a command would do; `answers` with a failed state forbid the commit."""

    files: Tuple[FilePlan, ...]
    answers: Tuple[Answer, ...]
    notes: Tuple[str, ...] = ()

    @property
    def failed(self) -> Tuple[Answer, ...]:
        """The answers that stop the commit."""
        return tuple(answer for answer in self.answers if answer.state.failed)

"""The immutable types that several packages share. No I/O, no third-party import."""

from __future__ import annotations

from enum import Enum
from hashlib import sha256
from keyword import iskeyword
from typing import Any, Callable, Mapping, Sequence, Union

from patcher.record import Record, reported

KINDS = ("fix", "default", "debug")
"""The kinds of patchsets in the order in which they are applied.

`debug` is last: what it shows includes the effect of the fixes.
"""
OptionValue = Union[int, float, bool, str]
SOURCE = (".py", ".pyi")
"""The suffixes of files that are matched by syntax; any other file is lines of text."""
_PACKAGE = "/__init__.py"
TEXT, ADDED, DELETED = "<text>", "<new file>", "<deleted file>"
"""The scopes of hunks that are not syntax: lines of a text file, and the text of a whole file."""
Progress = Callable[[int, int, str], None]
"""Called with the number done, the total (0 if unknown), and the step: `3, 43, "fetched"`."""


class Splice(Record):
    """Replace the bytes `[start, end)` of a file by `new`.

    Offsets are byte offsets into the text before any splice.
    """

    start: int
    end: int
    new: bytes


def apply_splices(data: bytes, splices: Sequence[Splice]) -> bytes:
    """Apply splices to a text.

    Args:
        data: the text.
        splices: sorted by position; those at one position are applied in their order.

    Raises:
        ValueError: two splices overlap.
    """
    parts: list[bytes] = []
    position = 0
    for splice in splices:
        if splice.start < position:
            raise ValueError("overlapping splices")
        parts += [data[position : splice.start], splice.new]
        position = splice.end
    return b"".join([*parts, data[position:]])


class State(str, Enum):
    """The answer for one hunk."""

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


class HunkFlags(Record):
    """The flags behind the scope of a hunk.

    `expected` is the number of places, 0 for `count=all`. `when_present` says that the code may be
    absent. `inside` are the keywords of the statements around the place within the scope, the
    outermost first; None for any.
    """

    expected: int = 1
    when_present: bool = False
    inside: tuple[str, ...] | None = None


class HunkText(Record):
    """One hunk as written; its two sides are not parsed yet.

    `origin` is its .spatch, and `line` the line of its header there. `lines` are (tag, text, line
    number in the .spatch); a tag is `" "`, `"-"` or `"+"`. `further_forms` are tried in their order
    if neither side of this one is found; its `when_present` is theirs, too.
    """

    origin: str
    line: int
    scope: str
    lines: tuple[tuple[str, str, int], ...]
    flags: HunkFlags = HunkFlags()
    further_forms: tuple[HunkText, ...] = ()

    @property
    def plain(self) -> bool:
        """Whether its lines are text, not syntax."""
        return self.scope in (TEXT, ADDED, DELETED)

    @property
    def written(self) -> list[str]:
        """Its lines, below the header, as a .spatch has them."""
        return [f"{tag}{text}".rstrip() for tag, text, _ in self.lines]

    @property
    def only_imports(self) -> bool:
        """Whether it inserts imports and changes nothing else.

        A file may have them already, for other code that needs them.
        """
        return all(_inserts_only_imports(form) for form in self.forms)

    @property
    def forms(self) -> tuple[HunkText, ...]:
        """The forms of the hunk, in the order in which they are tried."""
        return (self._replace(further_forms=()), *self.further_forms)


def _inserts_only_imports(form: HunkText) -> bool:
    """Whether a form of a hunk deletes nothing, and each statement it inserts is an import."""
    is_continued = False  # in parentheses that an import has opened
    for tag, text, _ in form.lines:
        if tag == "-":
            return False
        if tag == " ":
            continue
        code = text.partition("#")[0].strip()
        if not code:
            continue
        if ";" in code:
            return False
        if not is_continued and not code.startswith(("import ", "from ")):
            return False
        if "(" in code:
            is_continued = True
        if ")" in code:
            is_continued = False
    return True


@reported("paths adds")
class FilePatch(Record):
    """The hunks for one file.

    Attributes:
        paths: where the file may be, `/`-separated, relative to the site directory.
        line: the line of its heading in the `.spatch`, from 1.
        hunks: the hunks.
    """

    paths: tuple[str, ...]
    line: int
    hunks: tuple[HunkText, ...]

    @property
    def places(self) -> tuple[str, ...]:
        """The paths, and behind them the same modules in their other form (format rule 1).

        Of releases one may have the module `demo.core` in `demo/core.py`, another one in
        `demo/core/__init__.py`. A file that is added or deleted has its path alone.
        """
        if self.adds or self.deletes:
            return self.paths
        others: list[str] = []
        for path in self.paths:
            if path.endswith(_PACKAGE):
                others.append(f"{path[: -len(_PACKAGE)]}.py")
            elif path.endswith(".py"):
                others.append(f"{path[: -len('.py')]}{_PACKAGE}")
        return tuple(dict.fromkeys([*self.paths, *others]))

    @property
    def adds(self) -> bool:
        """Whether the file is added."""
        return self.hunks[0].scope == ADDED

    @property
    def deletes(self) -> bool:
        """Whether the file is deleted."""
        return self.hunks[0].scope == DELETED


class HunkAnswer(Record):
    """What the engine says of one hunk in one text.

    Attributes:
        hunk: the hunk.
        state: its state.
        places: 1-based line numbers of the text before the change.
        splices: what it changes.
        problem: the reason for the state, "" where there is nothing to explain.
        hint: what to do about it, "" for nothing.
        gone: whether the hunk only deletes code, which is missing while its context is there.
    """

    hunk: HunkText
    state: State
    places: tuple[int, ...] = ()
    splices: tuple[Splice, ...] = ()
    problem: str = ""
    hint: str = ""
    gone: bool = False

    @property
    def presumed(self) -> State:
        """Its state as far as one file tells: a deletion of code that is gone may be upstream.

        It is upstream if all other hunks of its `.spatch` are (format rule 26). That is decided
        when all files are planned (`patcher.planner.reconcile`).
        """
        return State.UPSTREAM if self.gone else self.state


class Rewrite(Record):
    """A text after all hunks of one patchset.

    `splices` are sorted and lead from the text before to `data`; with `gone` the file is deleted.
    """

    data: bytes
    splices: tuple[Splice, ...]
    answers: tuple[HunkAnswer, ...]
    gone: bool = False

    @property
    def finds_code(self) -> bool:
        """Whether the text before has the code of these hunks, on one of its sides (rule 1)."""
        states = {answer.state for answer in self.answers}
        return not any(state.failed for state in states) and states != {State.NOT_NEEDED}


class Option(Record):
    """One `[options.NAME]` of a patchset.

    Attributes:
        name: its name.
        type: `int`, `float`, `bool` or `str`.
        default: its default.
        help: what it is for.
        choices: the values that it takes, empty for any value.
    """

    name: str
    type: str
    default: OptionValue
    help: str
    choices: tuple[OptionValue, ...] = ()


@reported("package versions distributions patches")
class Variant(Record):
    """The patches for some releases of a package.

    Attributes:
        package: the import package.
        versions: the releases (PEP 440).
        patches: the files that change, in the order of their `.spatch` files; each `.spatch` is
            matched against the result of those before it.
        names: names that exist at run time without being bound in the files.
        distributions: those that provide the package; empty if it is the one of the same name.
    """

    package: str
    versions: str
    patches: tuple[FilePatch, ...]
    names: tuple[str, ...] = ()
    distributions: tuple[str, ...] = ()


class Verify(Record):
    """The `[verify]` of a patchset: what is checked besides what is checked for every patchset.

    Attributes:
        imports: modules to import in the target interpreter.
        probe: a script to run there, "" for none.
    """

    imports: tuple[str, ...] = ()
    probe: str = ""


@reported("patterns")
class Signs(Record):
    """How a symptom shows.

    Each is literal text of one line in which `*` stands for any text.

    Attributes:
        patterns: a log has the symptom if it has one of these.
        needs: the logs must have one of these, too; empty if they need not.
        unless: the logs must have none of these.
        accelerator: whether an accelerator must be installed, or the logs have a tensor on one.
    """

    patterns: tuple[str, ...]
    needs: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    accelerator: bool = False


@reported("name *signs meaning advice options")
class Symptom(Record):
    """A known problem as it shows in a log.

    Attributes:
        name: its name.
        signs: how it shows.
        meaning: what it means.
        advice: what to do.
        options: values to suggest for the patchset that cures it.
        follows: whether it usually follows from another one.
    """

    name: str
    signs: Signs
    meaning: str
    advice: str = ""
    options: Mapping[str, OptionValue] = {}
    follows: bool = False


class PatchsetSource(Record):
    """Where a patchset was found.

    Attributes:
        kind: one of `patcher.patchset.places`, or, if the patchset was not found by searching those
            places, a word for where it was read, such as `the store`.
        name: the directory or entry point, "" if the place has no name.
    """

    kind: str
    name: str = ""

    def __str__(self) -> str:
        if not self.name:
            return self.kind  # not formatted: a message can be translated
        return f"{self.kind} {self.name}"


@reported("kind summary prose provenance")
class About(Record):
    """What a patchset is for.

    Attributes:
        kind: `fix`, `default` or `debug`.
        summary: what it does, in a sentence.
        prose: the text above the first `---` line of its `.spatch` files.
        provenance: where its changes come from.
        symptoms: the problems that it cures.
    """

    kind: str
    summary: str
    prose: str = ""
    provenance: Mapping[str, str] = {}
    symptoms: tuple[Symptom, ...] = ()


class PatchsetFolder(Record):
    """The folder of a patchset.

    Attributes:
        source: where it was found.
        files: the texts by file name.
        digest: the sha256 (hex) over all of them.
    """

    source: PatchsetSource
    files: Mapping[str, str]
    digest: str


@reported("name version *about options variants verify *folder")
class Patchset(Record):
    """A patchset, loaded from its folder.

    Attributes:
        name: its name.
        version: its version.
        about: what it is for.
        options: its options.
        variants: its patches, by packages and releases.
        verify: how it is verified.
        folder: its folder.
    """

    name: str
    version: str
    about: About
    options: tuple[Option, ...]
    variants: tuple[Variant, ...]
    verify: Verify
    folder: PatchsetFolder


class Requested(Record):
    """A patchset to apply, with the value of each of its options.

    Where it is `optional`, its packages may be absent.
    """

    patchset: Patchset
    options: Mapping[str, OptionValue]
    optional: bool = False

    @property
    def identity(self) -> tuple[str, Mapping[str, OptionValue]]:
        """What its result depends on, apart from the text: the digest and the options.

        If a `Step` has the same identity, the patchset is applied as requested.
        """
        return self.patchset.folder.digest, dict(self.options)


@reported("package site distribution version")
class Located(Record):
    """An import package as the target interpreter would find it.

    Attributes:
        package: its name.
        site: the absolute site directory that holds it.
        distribution: the distribution, "" where that is not known.
        version: the version, "" where that is not known.
        dist_info: the absolute path of the metadata folder, "" for none.
        notes: remarks for the user.
        recorded: whether the RECORD there lists the package.
    """

    package: str
    site: str
    distribution: str
    version: str
    dist_info: str
    notes: tuple[str, ...] = ()
    recorded: bool = True


class AppliedHunks(Record):
    """How the hunks of a patchset were applied to a file.

    `places` are 1-based lines of the text before them. `states` are the states of the hunks for the
    file, in their order. `gone` is whether they have deleted the file.
    """

    places: tuple[int, ...] = ()
    states: tuple[str, ...] = ()
    gone: bool = False


class Step(Record):
    """One patchset in a file's history: what was applied, how, and the splices it made.

    `splices` lead from the text before this step to the text after it.
    """

    patchset: str
    version: str
    digest: str
    kind: str
    options: Mapping[str, OptionValue]
    splices: tuple[Splice, ...]
    hunks: AppliedHunks = AppliedHunks()

    @property
    def identity(self) -> tuple[str, Mapping[str, OptionValue]]:
        """The digest of the patchset, and the options."""
        return self.digest, dict(self.options)

    @property
    def gone(self) -> bool:
        """Whether there is no file after this step: it is deleted."""
        return self.hunks.gone


class LostStep(Record):
    """A patchset that is gone from a file because the file was replaced, as by a reinstall.

    `step` is what was applied, without its splices, and `version` the release it was applied to.
    The record is kept until a command names the patchset or removes it.
    """

    step: Step
    version: str


class PatchedRelease(Record):
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


class PristineFile(Record):
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


class Receipt(Record):
    """What is applied in one target file, and how to restore it.

    `path` is `/`-separated and relative to the site directory. `current` is the sha256 (hex) of the
    result of `steps`, "" if they delete the file. `folder` is the topmost directory that was
    created for this added file or another one, "" if there is none. `lost` are the patchsets that a
    reinstall took out of the file before `steps` were applied. A receipt without steps records only
    `lost`; its hashes mean nothing.
    """

    path: str
    release: PatchedRelease
    pristine: PristineFile
    current: str
    steps: tuple[Step, ...]
    folder: str = ""
    lost: tuple[LostStep, ...] = ()

    @property
    def deletes(self) -> bool:
        """Whether the file is deleted."""
        return bool(self.steps) and self.steps[-1].gone


class NewBytes(Record):
    """The new content of a file.

    `merged` is whether edits by hand are merged into `data`: the receipt is for the bytes without
    them. `mtime_ns` is the modification time to give the file, where `data` was installed as it is;
    None for a new one. With `gone` the file is deleted.
    """

    data: bytes
    merged: bool = False
    mtime_ns: int | None = None
    gone: bool = False


class Change(Record):
    """One file of a commit.

    Attributes:
        path: the file, below its site directory.
        old: the sha256 (hex) that it must still have, "" if there must be no file.
        new: what to write; without it the pristine file is restored, or, with `forget`, the file is
            left alone.
        receipt: the receipt of the new bytes; without those it is dropped, or replaced by this one,
            which has lost steps alone.
        forget: see `new`.
        pristine: the pristine bytes where neither the file nor the store has them: a patchset
            replaces an edit by hand.
        aside: edited bytes of which a copy is kept (see `patcher.store.folder.edited_copy`), b""
            for none.
    """

    path: str
    old: str
    new: NewBytes | None
    receipt: Receipt | None
    forget: bool = False
    pristine: bytes | None = None
    aside: bytes = b""


class Scope(Record):
    """A definition that a hunk's scope names.

    Attributes:
        name: its qualified name.
        first: the number of its first line, from 1.
        last: the number of its last line.
    """

    name: str
    first: int
    last: int


class MatchedPlace(Record):
    """A place that one side of a hunk matches.

    Attributes:
        line: the number of its first line, from 1.
        text: the code of that line.
        scope: the innermost definition around it, "" for none.
        names: the code that each metavariable is bound to, on one line.
    """

    line: int
    text: str
    scope: str
    names: Mapping[str, str]


class Mark(Record):
    """A part of a line to point at.

    Attributes:
        line: the number of the line, from 1.
        text: the line, without indentation and cut to what fits on a screen.
        start: the first column to mark, from 0.
        end: the column behind the last one.
    """

    line: int
    text: str
    start: int
    end: int


class Closest(Record):
    """The code that is closest to what a hunk looks for.

    Attributes:
        line: the number of its first line, from 1.
        text: the code of that line.
        likeness: how much of the pattern is there, from 0 to 1.
        code: the first difference, in the code.
        pattern: the first difference, in the `.spatch`.
        words: the difference in words.
        hint: what to write.
    """

    line: int
    text: str
    likeness: float
    code: Mark
    pattern: Mark
    words: str
    hint: str


class Elsewhere(Record):
    """Another file of the package where the code of a hunk may have gone.

    Attributes:
        path: the file.
        line: the line at which it defines the scope, 0 where only its name is the same.
        scope: that in which it has the code, "" for that of the hunk.
    """

    path: str
    line: int
    scope: str = ""


@reported("scope line state problem hint scopes near matches elsewhere closest forms")
class Explanation(Record):
    """Why a hunk does or does not match a text.

    Attributes:
        answer: the answer to explain; of a hunk with several forms, that of the decisive form.
        scopes: the definitions that its scope names.
        near: the names of other definitions that may be meant.
        matches: the places that match; of the after side where the state is *upstream*.
        elsewhere: places outside of the scope that match.
        closest: the closest code where none matches, null where nothing is close.
        forms: an explanation of each form of a hunk that has several.
    """

    answer: HunkAnswer
    scopes: tuple[Scope, ...] = ()
    near: tuple[str, ...] = ()
    matches: tuple[MatchedPlace, ...] = ()
    elsewhere: tuple[MatchedPlace, ...] = ()
    closest: Closest | None = None
    forms: tuple[Explanation, ...] = ()

    @property
    def hunk(self) -> HunkText:
        """The hunk, or its decisive form."""
        return self.answer.hunk

    @property
    def scope(self) -> str:
        """The scope that it names."""
        return self.answer.hunk.scope

    @property
    def line(self) -> int:
        """The line of its `@@` in the `.spatch`."""
        return self.answer.hunk.line

    @property
    def state(self) -> State:
        """Its state."""
        return self.answer.state

    @property
    def problem(self) -> str:
        """The reason for the state."""
        return self.answer.problem

    @property
    def hint(self) -> str:
        """What to do about it."""
        return self.answer.hint


@reported(
    "patchset site path scope origin line state places problem hint when_present "
    "diff elsewhere explanation"
)
class Answer(Record):
    """What a command reports of a hunk, or of a whole file or package that is refused.

    Attributes:
        patchset: the name of the patchset.
        path: the file, below its site directory; the package where the answer is about all of it.
        result: what the engine says of the hunk; of `NO_HUNK` where the answer is about a whole
            file or package.
        site: the site directory, "" where the package is not there.
        explanation: why it does or does not match, null where no explanation was requested.
        diff: where it is explained, the unified diff of what this hunk alone changes or has
            changed.
        elsewhere: where it is explained, other files to which its code may have gone.
    """

    patchset: str
    path: str
    result: HunkAnswer
    site: str = ""
    explanation: Explanation | None = None
    diff: bytes = b""
    elsewhere: tuple[Elsewhere, ...] = ()

    @property
    def hunk(self) -> HunkText:
        """The hunk, `NO_HUNK` where the answer is about a whole file or package."""
        return self.result.hunk

    @property
    def scope(self) -> str:
        """The scope of the hunk, "" where the answer is about a whole file or package."""
        return self.result.hunk.scope

    @property
    def origin(self) -> str:
        """The `.spatch` of the hunk, "" where the answer is about a whole file or package."""
        return self.result.hunk.origin

    @property
    def line(self) -> int:
        """The line of the hunk in its `.spatch`, from 1.

        0 where the answer is about a whole file or package.
        """
        return self.result.hunk.line

    @property
    def state(self) -> State:
        """Its state."""
        return self.result.state

    @property
    def places(self) -> tuple[int, ...]:
        """The numbers of the lines that it changes, before the change.

        Where it is applied and explained, in the file as it is now.
        """
        return self.result.places

    @property
    def problem(self) -> str:
        """The reason for the state, "" where there is nothing to explain."""
        return self.result.problem

    @property
    def hint(self) -> str:
        """What to do about it."""
        return self.result.hint

    @property
    def is_absent(self) -> bool:
        """Whether a whole package is missing or cannot be patched here."""
        names_a_file = "/" in self.path or self.path.endswith(".py")
        return self.state.failed and not self.scope and not names_a_file

    @property
    def when_present(self) -> bool:
        """Whether the hunk may be skipped.

        Its code may be absent, or upstream has the imports that it would insert.
        """
        hunk = self.result.hunk
        return hunk.flags.when_present or (self.state is State.UPSTREAM and hunk.only_imports)

    def with_result(self, **fields: Any) -> Answer:
        """This answer, with some fields of its result replaced."""
        return self._replace(result=self.result._replace(**fields))


NO_HUNK = HunkText(origin="", line=0, scope="", lines=())
"""The hunk of an answer about a whole file or package."""


def refusal(
    patchset: str, path: str, state: State, problem: str, hint: str = "", site: str = ""
) -> Answer:
    """An answer that refuses a whole file or package, with the reason."""
    result = HunkAnswer(NO_HUNK, state, problem=problem, hint=hint)
    return Answer(patchset, path, result, site=site)


class FileRelease(Record):
    """The installed release that a file belongs to; the version is "" where it is not known."""

    distribution: str
    version: str


def module_of(path: str) -> str:
    """The dotted name by which a `/`-separated path that ends in `.py` is imported.

    "" if it cannot be imported by a name (see also `FilePlan.module`).
    """
    parts = path[: -len(".py")].split("/")
    if parts[-1] == "__init__":
        parts.pop()
    for part in parts:
        if not part.isidentifier() or iskeyword(part) or part == "__main__":
            return ""
    return ".".join(parts)


@reported("site path changes sha256_before sha256_after patchsets")
class FilePlan(Record):
    """The plan for one file.

    Attributes:
        site: the site directory.
        path: the path below it.
        before: the bytes as they are.
        after: the bytes as they will be.
        to_commit: what a commit does with the file, None where it leaves the file alone.
        steps: the patchsets that are applied in it after the commit.
        release: the release that it belongs to, None where no requested patchset is for the file.
    """

    site: str
    path: str
    before: bytes
    after: bytes
    to_commit: Change | None
    steps: tuple[Step, ...]
    release: FileRelease | None = None

    @property
    def changes(self) -> bool:
        """Whether the bytes of the file change, or it is deleted now."""
        is_deleted = self.gone and self.to_commit is not None and bool(self.to_commit.old)
        return self.before != self.after or is_deleted

    @property
    def gone(self) -> bool:
        """Whether a patchset deletes the file."""
        return bool(self.steps) and self.steps[-1].gone

    @property
    def sha256_before(self) -> str:
        """The sha256 (hex) of the file as it is."""
        return sha256(self.before).hexdigest()

    @property
    def sha256_after(self) -> str:
        """The sha256 (hex) of the file as it will be."""
        return sha256(self.after).hexdigest()

    @property
    def patchsets(self) -> tuple[str, ...]:
        """The names of the patchsets that are applied in it after the commit."""
        return tuple(step.patchset for step in self.steps)

    @property
    def module(self) -> str:
        """The dotted name of a file that ends in `.py`, even one that cannot be imported by it."""
        parts = self.path[: -len(".py")].split("/")
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


class Plan(Record):
    """Everything a command would do; `answers` with a failed state forbid the commit."""

    files: tuple[FilePlan, ...]
    answers: tuple[Answer, ...]
    notes: tuple[str, ...] = ()

    @property
    def failed(self) -> tuple[Answer, ...]:
        """The answers that stop the commit."""
        return tuple(answer for answer in self.answers if answer.state.failed)

"""Cases of a patchset: small texts, and what is expected of each.

They are no part of the patchset's digest.

    cases/NAME.before.py and cases/NAME.after.py    becomes that, byte for byte
    cases/NAME.upstream.py                          is changed upstream already
    cases/NAME.not-needed.py                        has none of the code
    cases/NAME.refused.py                           does not fit: `apply` would write nothing

The first line of each but `.after.py` says which file it stands for, and is no part of the text:

    # case: PATH [RELEASE] [OPTION=VALUE]...
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Sequence

from patcher.errors import Location, PatchError, SitepatchError
from patcher.installed.versions import is_version
from patcher.message import Message, joined
from patcher.model import Answer, HunkText, Patchset, Requested, State, Variant
from patcher.patchset.results import request_of, rewrite_by_engine
from patcher.patchset.variants import matching_variants, resolve_options
from patcher.planner.reconcile import reconciled
from patcher.record import Record, reported
from patcher.system.reading import TEXT, read_file
from patcher.text.diffs import diff_texts

FOLDER = "cases"
AFTER, UPSTREAM, NOT_NEEDED, REFUSED = "after", "upstream", "not-needed", "refused"
SUFFIXES = {
    ".before.py": AFTER,
    f".{UPSTREAM}.py": UPSTREAM,
    f".{NOT_NEEDED}.py": NOT_NEEDED,
    f".{REFUSED}.py": REFUSED,
}
"""How the name of a case ends, and what is expected of it."""
_HEAD = b"# case:"
_FORM = Message("expected as the first line: # case: PATH [RELEASE] [OPTION=VALUE]...")


class Case(Record):
    """A text and what is expected of it.

    Attributes:
        origin: its file.
        expected: one of `SUFFIXES`.
        head: the words of the first line.
        text: what is below that.
        result: the expected text.
    """

    origin: Path
    expected: str
    head: tuple[str, ...]
    text: bytes
    result: bytes = b""

    @property
    def name(self) -> str:
        """The name of the case, with what is expected."""
        return self.origin.name.replace(".before.py", "").replace(".py", "")


@reported("name path ok problem diff")
class CaseResult(Record):
    """The result of a case.

    Attributes:
        case: the case.
        path: the file that it is a text of.
        problem: what is not as expected, "" where all is.
        diff: a unified diff that leads from the expected text to the actual one.
    """

    case: Case
    path: str = ""
    problem: str = ""
    diff: bytes = b""

    @property
    def name(self) -> str:
        """The name of the case."""
        return self.case.name

    @property
    def ok(self) -> bool:
        """Whether all is as expected."""
        return not self.problem


# reading them -----------------------------------------------------------------------------------
def find_cases(folder: Path) -> list[Path]:
    """The files of the cases in a patchset's folder, sorted.

    Raises:
        PatchError: a file in the folder of cases belongs to no case.
    """
    names = {path.name for path in (folder / FOLDER).glob("*.py")}
    cases: list[str] = []
    for name in sorted(names):
        if name.endswith(tuple(SUFFIXES)):
            cases.append(name)
    stray = names - {*cases, *map(_after_name, cases)}
    if stray:
        where = Location(str(folder / FOLDER / min(stray)))
        ends = ", ".join(f"NAME{suffix}" for suffix in SUFFIXES)
        raise PatchError.at(where, "belongs to no case", "cases are called {ends}", ends=ends)
    return [folder / FOLDER / name for name in cases]


def _after_name(name: str) -> str:
    """The name of the file with the expected text."""
    return name.replace(".before.py", ".after.py")


def read_case(path: Path) -> Case:
    """Read a case.

    Raises:
        PatchError: its first line is invalid, or the file with the expected text is missing.
        OSError: it cannot be read.
        SitepatchError: it is too large, or not a regular file.
    """
    expected = next(expected for suffix, expected in SUFFIXES.items() if path.name.endswith(suffix))
    head, text = _split(read_file(path, TEXT))
    if not head:
        raise PatchError.at(Location(str(path), 1), "found no path, {form}", form=_FORM)
    if expected != AFTER:
        return Case(path, expected, head=head, text=text)

    other = path.with_name(_after_name(path.name))
    if not other.exists():
        problem = "found no {name} beside it, expected the text after the patch"
        raise PatchError.at(Location(str(path)), problem, name=other.name)
    _, result = _split(read_file(other, TEXT))
    return Case(path, expected, head=head, text=text, result=result)


def _split(data: bytes) -> tuple[tuple[str, ...], bytes]:
    """The words of the `# case:` line, () without one, and the text below it."""
    if not data.startswith(_HEAD):
        return (), data
    line, _, text = data.partition(b"\n")
    try:
        return tuple(shlex.split(line[len(_HEAD) :].decode("utf-8", "replace"))), text
    except ValueError:  # a quote that is not closed
        return (), text


# running them -----------------------------------------------------------------------------------
def run_cases(patchset: Patchset, folder: Path) -> tuple[CaseResult, ...]:
    """Try the cases in a patchset's folder; raises what `find_cases` and `read_case` do."""
    return tuple(run_case(patchset, read_case(path)) for path in find_cases(folder))


def run_case(patchset: Patchset, case: Case) -> CaseResult:
    """Apply a patchset to the text of a case, as `apply` would to the file of a release.

    Known results are not used.
    """
    path, *words = case.head
    releases: list[str] = []
    settings: dict[str, str] = {}
    for word in words:
        name, sign, value = word.partition("=")
        if sign:
            settings[name] = value
        else:
            releases.append(word)
    try:
        variant = _variant(patchset, path, releases=releases)
        options = resolve_options(patchset, settings)
    except SitepatchError as error:
        return CaseResult(case, path, problem=f"{case.origin}:1: {error.message}")

    hunks: list[HunkText] = []
    for patch in variant.patches:
        if path in patch.paths:
            hunks += patch.hunks
    request = request_of(Requested(patchset, options), tuple(hunks), names=variant.names)
    rewritten = rewrite_by_engine(case.text, request)
    answers = reconciled([Answer(patchset.name, path, each) for each in rewritten.answers])

    problem = _problem(case, answers)
    if not problem and case.expected == AFTER and rewritten.data != case.result:
        diff = diff_texts("", path, before=case.result, after=rewritten.data)
        problem = Message("it becomes another text than expected")
        return CaseResult(case, path, problem=problem, diff=diff.text)
    return CaseResult(case, path, problem=problem)


def _variant(patchset: Patchset, path: str, releases: Sequence[str]) -> Variant:
    """The variant that a case is for.

    Raises:
        PatchError: no variant is for the file, or several are and no release is named.
    """
    wrong = next((release for release in releases if not is_version(release)), "")
    if wrong or len(releases) > 1:
        raise PatchError("found {words}, {form}", words=wrong or " ".join(releases), form=_FORM)

    naming: list[Variant] = []
    known: dict[str, None] = {}
    for variant in patchset.variants:
        paths: dict[str, None] = {}
        for patch in variant.patches:
            paths.update(dict.fromkeys(patch.paths))
        known.update(paths)
        if path in paths:
            naming.append(variant)

    found = matching_variants(naming, releases[0]) if releases else naming
    if len(found) == 1:
        return found[0]
    if not naming:
        raise PatchError("found {path}, expected one of {names}", path=path, names=", ".join(known))
    ranges = joined(" and ", (each.versions or Message("any release") for each in naming))
    problem = "{path} is patched in {ranges}: name a release of one of them"
    raise PatchError(problem, path=path, ranges=ranges)


def _problem(case: Case, answers: Sequence[Answer]) -> str:
    """How the answers differ from what is expected, "" where they do not."""
    failed: Answer | None = None
    states: dict[State, str] = {}
    for answer in answers:
        states[answer.state] = Message(answer.state.value)
        if answer.state.failed and failed is None:
            failed = answer
    named = joined(", ", states.values())
    if case.expected == REFUSED:
        if failed:
            return ""
        return Message("expected to be refused, and it is {states}", states=named)
    if failed:
        return joined(": ", (failed.hunk.scope, Message(failed.state.value), failed.problem))
    if _is_expected(case.expected, set(states)):
        return ""
    expected = case.expected.replace("-", " ")
    if case.expected == AFTER:
        expected = State.APPLICABLE.value
    text = "expected {wanted}, and it is {states}"
    return Message(text, wanted=Message(expected), states=named)


def _is_expected(expected: str, states: set[State]) -> bool:
    """Whether hunks in these states do what a case expects."""
    if expected == AFTER:
        return State.APPLICABLE in states
    if expected == UPSTREAM:
        return State.UPSTREAM in states and states <= {State.UPSTREAM, State.NOT_NEEDED}
    return states <= {State.NOT_NEEDED}

"""Cases of a patchset: small texts, and what is expected of each. They are no part of the patchset's digest.

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
from typing import NamedTuple, Sequence

from patcher.errors import Location, PatchError, SitepatchError
from patcher.installed.versions import is_version
from patcher.message import Message, joined
from patcher.model import Answer, Patchset, Requested, State, Variant
from patcher.patchset.results import request_of, rewrite_uncached
from patcher.patchset.variants import matching_variants, resolve_options
from patcher.planner.plan import answer_of, reconciled
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


class Case(NamedTuple):
    """A text and what is expected of it; `result` is the expected text, `head` has the words of the first line."""

    origin: Path
    expected: str
    head: tuple[str, ...]
    text: bytes
    result: bytes = b""

    @property
    def name(self) -> str:
        """The name of the case, with what is expected."""
        return self.origin.name.replace(".before.py", "").replace(".py", "")


class CaseResult(NamedTuple):
    """The result of a case; `problem` is "" where it is as expected, `diff` leads from the expected text to the actual one."""

    case: Case
    path: str = ""
    problem: str = ""
    diff: bytes = b""


def find_cases(folder: Path) -> list[Path]:
    """The files of the cases in a patchset's folder, sorted.

    Raises:
        PatchError: a file in the folder of cases belongs to no case.
    """
    names = {path.name for path in (folder / FOLDER).glob("*.py")}
    cases = sorted(name for name in names if name.endswith(tuple(SUFFIXES)))
    known = {*cases, *(name.replace(".before.py", ".after.py") for name in cases)}
    if names - known:
        ends = ", ".join(f"NAME{suffix}" for suffix in SUFFIXES)
        stray = Location(str(folder / FOLDER / min(names - known)))
        raise PatchError.at(stray, "belongs to no case", "cases are called {ends}", ends=ends)
    return [folder / FOLDER / name for name in cases]


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
    other = path.with_name(path.name.replace(".before.py", ".after.py"))
    if expected == AFTER and not other.exists():
        where = Location(str(path))
        raise PatchError.at(
            where, "found no {name} beside it, expected the text after the patch", name=other.name
        )
    return Case(
        path, expected, head, text, _split(read_file(other, TEXT))[1] if expected == AFTER else b""
    )


def _split(data: bytes) -> tuple[tuple[str, ...], bytes]:
    """The words of the `# case:` line, () without one, and the text below it."""
    if not data.startswith(_HEAD):
        return (), data
    line, _, text = data.partition(b"\n")
    try:
        return tuple(shlex.split(line[len(_HEAD) :].decode("utf-8", "replace"))), text
    except ValueError:  # a quote that is not closed
        return (), text


def run_cases(patchset: Patchset, folder: Path) -> tuple[CaseResult, ...]:
    """Try the cases in a patchset's folder; raises what `find_cases` and `read_case` do."""
    return tuple(run_case(patchset, read_case(path)) for path in find_cases(folder))


def run_case(patchset: Patchset, case: Case) -> CaseResult:
    """Apply a patchset to the text of a case, as `apply` would to the file of a release, without known results."""
    path, *words = case.head
    try:
        variant = _variant(patchset, path, [word for word in words if "=" not in word])
        options = resolve_options(
            patchset, dict(setting.split("=", 1) for setting in words if "=" in setting)
        )
    except SitepatchError as error:
        return CaseResult(case, path, f"{case.origin}:1: {error.message}")
    hunks = tuple(hunk for patch in variant.patches if path in patch.paths for hunk in patch.hunks)
    made = rewrite_uncached(
        case.text, request_of(Requested(patchset, options), hunks, variant.names)
    )
    answers = reconciled([answer_of(patchset.name, path, each) for each in made.answers])
    problem = _problem(case, answers)
    if not problem and case.expected == AFTER and made.data != case.result:
        diff = diff_texts("", path, case.result, made.data).text
        return CaseResult(case, path, Message("it becomes another text than expected"), diff)
    return CaseResult(case, path, problem)


def _variant(patchset: Patchset, path: str, releases: Sequence[str]) -> Variant:
    """The variant that a case is for.

    Raises:
        PatchError: no variant is for the file, or several are and no release is named.
    """
    wrong = next((release for release in releases if not is_version(release)), "")
    if wrong or len(releases) > 1:
        raise PatchError("found {words}, {form}", words=wrong or " ".join(releases), form=_FORM)
    named = [
        each for each in patchset.variants if any(path in patch.paths for patch in each.patches)
    ]
    found = matching_variants(named, releases[0]) if releases else named
    if len(found) != 1:
        known: dict[str, None] = {
            path: None
            for each in patchset.variants
            for patch in each.patches
            for path in patch.paths
        }
        ranges = joined(" and ", (each.versions or Message("any release") for each in named))
        if named:
            raise PatchError(
                "{path} is patched in {ranges}: name a release of one of them",
                path=path,
                ranges=ranges,
            )
        raise PatchError("found {path}, expected one of {names}", path=path, names=", ".join(known))
    return found[0]


def _problem(case: Case, answers: Sequence[Answer]) -> str:
    """How the answers differ from what is expected, "" where they do not."""
    failed: Answer | None = next((answer for answer in answers if answer.state.failed), None)
    states = joined(", ", dict.fromkeys(Message(answer.state.value) for answer in answers))
    if case.expected == REFUSED:
        return (
            "" if failed else Message("expected to be refused, and it is {states}", states=states)
        )
    if failed:
        return joined(": ", (failed.hunk.scope, Message(failed.state.value), failed.problem))
    good = {
        AFTER: any(answer.state is State.APPLICABLE for answer in answers),
        UPSTREAM: {State.UPSTREAM}
        <= {answer.state for answer in answers}
        <= {State.UPSTREAM, State.NOT_NEEDED},
        NOT_NEEDED: all(answer.state is State.NOT_NEEDED for answer in answers),
    }[case.expected]
    wanted = Message(
        State.APPLICABLE.value if case.expected == AFTER else case.expected.replace("-", " ")
    )
    return (
        ""
        if good
        else Message("expected {wanted}, and it is {states}", wanted=wanted, states=states)
    )

"""What there is to verify, how, and what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterable, List, NamedTuple, Tuple

if TYPE_CHECKING:
    from patcher.model import FilePlan, Progress
    from patcher.target.interpreter import Environment

COMPILE, IMPORT, PROBE = "compile", "import", "probe"


class VerifyOptions(NamedTuple):
    """What a command line says: the flags `--no-verify`, `--compile-only` and `--probe`; seconds for each process."""

    timeout: float = 120.0
    no_verify: bool = False
    compile_only: bool = False
    probe: bool = False


class How(NamedTuple):
    """How to verify.

    `imports` and `probes` say which of it beside compiling, `timeout` is in seconds, for each process. With `ahead` the
    directories of `env.search` come before what the interpreter searches by itself, else they are all that it searches.
    `reason` is why modules are not imported though nobody asked for that; `progress` is told how far it is.
    """

    env: Environment
    timeout: float
    ahead: bool = False
    imports: bool = True
    probes: bool = False
    reason: str = ""
    progress: Progress = lambda done, total, what: None


class Text(NamedTuple):
    """A file to verify: `now` are the bytes that it must hold, `before` those without the patchsets in question."""

    site: str
    path: str
    now: bytes
    before: bytes


def texts_of(files: Iterable[FilePlan]) -> List[Text]:
    """What there is to verify of the files of a plan that was carried out."""
    return [Text(file.site, file.path, file.after, file.before) for file in files]


class Check(NamedTuple):
    """What came of one file, module or probe (`name`).

    `what` is COMPILE, IMPORT or PROBE; `problem` one line, "" if it is good; `output` the last lines of the traceback or of
    what was written; `before` whether it fails without the patch too.
    """

    what: str
    name: str
    problem: str = ""
    output: str = ""
    seconds: float = 0.0
    before: bool = False

    @property
    def state(self) -> str:
        """`ok`, `failed` or `broken before`."""
        return "ok" if not self.problem else "broken before" if self.before else "failed"


class Verified(NamedTuple):
    """What came of everything; `seconds` from before the first process to after the last.

    `left_out` are modules that were not imported, `reason` is why, "" where that was asked for.
    """

    checks: Tuple[Check, ...]
    seconds: float
    left_out: Tuple[str, ...] = ()
    reason: str = ""

    @property
    def failed(self) -> Tuple[Check, ...]:
        """What is wrong and was not before."""
        return tuple(check for check in self.checks if check.state == "failed")

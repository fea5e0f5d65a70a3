"""The data of a verification: the files, the settings, the results."""

# without `from __future__ import annotations`, as `patcher.model`
from typing import Iterable, List, NamedTuple, Tuple

from patcher.model import FilePlan, Progress
from patcher.target.interpreter import Environment

COMPILE, IMPORT, PROBE = "compile", "import", "probe"


class VerifyOptions(NamedTuple):
    """What `--verify none|compile|import|probe` asks for, and `timeout` in seconds for each process."""

    timeout: float = 120.0
    no_verify: bool = False
    compile_only: bool = False
    probe: bool = False


class VerifySettings(NamedTuple):
    """How to verify.

    `imports` and `probes` are whether to import modules and run probes, beside compiling; `timeout` is in seconds, for each
    process. With `ahead` the directories of `env.search` come before the interpreter's own `sys.path`, else they replace it.
    `reason` is why modules are not imported though the user did not ask for that; `progress` is called as it goes on.
    """

    env: Environment
    timeout: float
    ahead: bool = False
    imports: bool = True
    probes: bool = False
    reason: str = ""
    progress: Progress = lambda done, total, what: None


class FileToVerify(NamedTuple):
    """A file to verify: `now` are the bytes with the patchsets in question, `before` those without them."""

    site: str
    path: str
    now: bytes
    before: bytes


def files_to_verify(files: Iterable[FilePlan]) -> List[FileToVerify]:
    """The files of a plan that are to be verified."""
    return [FileToVerify(file.site, file.path, file.after, file.before) for file in files]


class CheckResult(NamedTuple):
    """The result for one file, module or probe (`name`).

    `what` is COMPILE, IMPORT or PROBE; `problem` one line, "" for none; `output` the last lines of the traceback or of the
    output; `before` whether it fails without the patch too.
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
    """All results; `seconds` is the whole time that it took.

    `left_out` are modules that were not imported, `reason` is why, "" where the user asked for that. `unseen` has a sentence
    for each check that looked past the planned text, at the installed file, and so is worth nothing before it is written.
    """

    checks: Tuple[CheckResult, ...]
    seconds: float
    left_out: Tuple[str, ...] = ()
    reason: str = ""
    unseen: Tuple[str, ...] = ()

    @property
    def failed(self) -> Tuple[CheckResult, ...]:
        """The checks that fail with the patch only."""
        return tuple(check for check in self.checks if check.state == "failed")

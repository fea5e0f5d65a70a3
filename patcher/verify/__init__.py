"""Files with a patch are compiled, imported and probed before they are written.

Here are the settings and the results.
"""

from __future__ import annotations

from patcher.installed.interpreter import Environment
from patcher.message import Message
from patcher.model import Progress
from patcher.record import Record, reported

NONE, COMPILE, IMPORT, PROBE = "none", "compile", "import", "probe"
"""What `--verify` takes: each does what the one before does, too."""


class VerifySettings(Record):
    """How to verify: `how` is COMPILE, IMPORT or PROBE, `timeout` in seconds for each process.

    With `ahead` the directories of `env.search` come before the interpreter's own `sys.path`, else
    they replace it. `reason` is why modules cannot be imported, "" where they can; `progress` is
    called as it goes on.
    """

    env: Environment
    timeout: float
    how: str = IMPORT
    ahead: bool = False
    reason: str = ""
    progress: Progress = lambda done, total, work: None

    @property
    def imports(self) -> bool:
        """Whether modules are imported."""
        return self.how != COMPILE and not self.reason


@reported("what name state problem output seconds")
class CheckResult(Record):
    """The result for one file, module or probe.

    Attributes:
        what: `compile`, `import` or `probe`.
        name: the file, module or probe.
        problem: what is wrong in one line, "" for nothing.
        output: the last lines of the traceback or of the output.
        seconds: the time that it took.
        before: whether it fails without the patch too.
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
        if not self.problem:
            return "ok"
        return Message("broken before") if self.before else "failed"


@reported("ok checks seconds left_out reason unseen nameless")
class Verified(Record):
    """The result of verifying files.

    Attributes:
        checks: the result for each file, module and probe.
        seconds: the whole time that it took.
        left_out: modules that were not imported.
        reason: why they were not, "" where the user asked for that.
        unseen: a sentence for each check that looked past the planned text, at the installed file,
            and so is worth nothing before it is written.
        nameless: files to import that no import can name.
    """

    checks: tuple[CheckResult, ...]
    seconds: float
    left_out: tuple[str, ...] = ()
    reason: str = ""
    unseen: tuple[str, ...] = ()
    nameless: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing fails with the patch only."""
        return not self.failed

    @property
    def failed(self) -> tuple[CheckResult, ...]:
        """The checks that fail with the patch only."""
        return tuple(check for check in self.checks if check.state == "failed")

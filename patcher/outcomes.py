"""What all verbs that write return: the plan, and what came of it. Frozen data.

The fields that `--json` shows are those that `patcher.record.reported` names.
"""

from __future__ import annotations

from patcher.installed.interpreter import Environment
from patcher.model import Answer, FilePlan, Plan, Requested
from patcher.record import ExtensibleRecord, Record, reported
from patcher.text.diffs import FileDiff, plan_diffs
from patcher.verify import Verified


class Task(Record):
    """What a verb was asked for.

    Attributes:
        patch_dirs: every directory of patchsets.
        env: the environment.
        names: the patchsets that are meant.
        requested: those to apply, with their options.
        dry_run: whether to write nothing.
    """

    patch_dirs: tuple[str, ...]
    env: Environment
    names: tuple[str, ...]
    requested: tuple[Requested, ...] = ()
    dry_run: bool = False


@reported("written patchsets answers files notes recovered verified diff")
class PlanOutcome(ExtensibleRecord):
    """A plan, and what came of it.

    Attributes:
        task: what was asked for.
        plan: what was to be done.
        recovered: a sentence for each interrupted run that was finished or undone first.
        verified: what came of verifying, null where nothing was verified.
        written: whether files were changed.
        fresh: whether nothing was patched there before.
    """

    task: Task
    plan: Plan
    recovered: tuple[str, ...] = ()
    verified: Verified | None = None
    written: bool = False
    fresh: bool = False

    @property
    def ok(self) -> bool:
        """Whether all is as requested."""
        return not (self.plan.failed or (self.verified and self.verified.failed))

    @property
    def changed(self) -> list[FilePlan]:
        """The files of which something changes: the text, or what is recorded about it."""
        return [file for file in self.plan.files if file.to_commit]

    @property
    def patchsets(self) -> tuple[str, ...]:
        """The patchsets that are meant; once written, those that are applied in what changed."""
        if not self.written:
            return self.task.names
        return self.affected

    @property
    def affected(self) -> tuple[str, ...]:
        """Those of the patchsets that are applied in what changes; all where none is."""
        applied = {step.patchset for file in self.changed for step in file.steps}
        affected = tuple(name for name in self.task.names if name in applied)
        return affected or self.task.names

    @property
    def answers(self) -> tuple[Answer, ...]:
        """The answer for each hunk."""
        return self.plan.answers

    @property
    def files(self) -> tuple[FilePlan, ...]:
        """The files that were looked at."""
        return self.plan.files

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks."""
        return self.plan.notes

    @property
    def diffs(self) -> list[FileDiff]:
        """What a dry run would change."""
        return plan_diffs(self.plan) if self.task.dry_run else []

    @property
    def diff(self) -> bytes:
        """With --dry-run what would change, as a unified diff."""
        return b"".join(diff.text for diff in self.diffs)

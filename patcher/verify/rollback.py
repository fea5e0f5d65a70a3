"""Verifies what a commit has written, and undoes that commit where it fails, cannot be done, or is interrupted.

A process that is killed (SIGKILL) meanwhile can undo nothing: the patchsets are applied then, unverified.
"""

from __future__ import annotations

from typing import NamedTuple, Optional, Sequence

from patcher.errors import SitepatchError, StoreError
from patcher.model import Patchset
from patcher.store.commit import Rollback, roll_back
from patcher.system.signals import ignored, stoppable
from patcher.verify.checks import How, Text, Verified


class Verdict(NamedTuple):
    """What came of verifying; `verified` is None where it was interrupted.

    `rolled_back` tells whether the commit was undone, `problem` why it could not be though it should.
    """

    verified: Optional[Verified]
    rolled_back: bool = False
    problem: Optional[StoreError] = None

    @property
    def bad(self) -> bool:
        """Whether anything fails that did not before, or it was interrupted."""
        return self.verified is None or bool(self.verified.failed)


def verify_or_roll_back(way: Rollback, texts: Sequence[Text], patchsets: Sequence[Patchset], how: How) -> Verdict:
    """Verify what was written; undo it unless nothing fails but what failed before.

    Args:
        way: how to undo it.
        texts: the files that were written.
        patchsets: those whose modules are imported and whose probes are run.
        how: see there.

    Raises:
        SitepatchError: the target interpreter cannot be run; the commit is undone, or the message says why not.
    """
    try:
        with stoppable():
            from patcher.verify.run import verify  # with subprocess: only where something was written

            verified = verify(texts, patchsets, how)
    except KeyboardInterrupt:
        return _undone(way, None)
    except BaseException as error:
        problem = _undone(way, None).problem
        if not isinstance(error, OSError):
            raise
        after = f"and not undone: {problem.message}" if problem else "and undone"
        raise SitepatchError(f"what was written could not be verified ({error}), {after}", "see --no-verify") from error
    return _undone(way, verified) if verified.failed else Verdict(verified)


def _undone(way: Rollback, verified: Optional[Verified]) -> Verdict:
    try:
        with ignored():
            roll_back(way)
    except StoreError as error:
        return Verdict(verified, problem=error)
    return Verdict(verified, rolled_back=True)

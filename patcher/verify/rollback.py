"""Verifies the files of a commit, and rolls it back where that fails, cannot be done, or is interrupted.

A process that is killed (SIGKILL) meanwhile cannot roll back: the patchsets stay applied, unverified.
"""

from __future__ import annotations

from typing import Optional, Sequence

from patcher.errors import SitepatchError, StoreError
from patcher.model import Patchset
from patcher.store.commit import Rollback, roll_back
from patcher.system.signals import ignored, stoppable
from patcher.verify.checks import FileToVerify, Verified, VerifiedCommit, VerifySettings


def verify_or_roll_back(
    rollback: Rollback, files: Sequence[FileToVerify], patchsets: Sequence[Patchset], how: VerifySettings
) -> VerifiedCommit:
    """Verify the files of a commit, and roll it back if anything fails that did not fail before.

    Args:
        rollback: what undoes the commit.
        files: the files that were written.
        patchsets: those whose modules are imported and whose probes are run.
        how: how to verify.

    Raises:
        SitepatchError: the target interpreter cannot be run; the commit is undone, or the message says why not.
    """
    try:
        with stoppable():
            from patcher.verify.run import verify_files  # with subprocess: only where something was written

            verified = verify_files(files, patchsets, how)
    except KeyboardInterrupt:
        return _rolled_back(rollback, None)
    except BaseException as error:
        problem = _rolled_back(rollback, None).problem
        if not isinstance(error, OSError):
            raise
        after = f"and not undone: {problem.message}" if problem else "and undone"
        raise SitepatchError(f"what was written could not be verified ({error}), {after}", "see --verify none") from error
    return _rolled_back(rollback, verified) if verified.failed else VerifiedCommit(verified)


def _rolled_back(rollback: Rollback, verified: Optional[Verified]) -> VerifiedCommit:
    try:
        with ignored():
            roll_back(rollback)
    except StoreError as error:
        return VerifiedCommit(verified, problem=error)
    return VerifiedCommit(verified, rolled_back=True)

"""What `--verify` means for an environment."""

from __future__ import annotations

from typing import Sequence

from patcher.errors import UsageError
from patcher.installed.interpreter import Environment
from patcher.message import Message
from patcher.model import FilePlan, Patchset
from patcher.patchset.selection import check_probes
from patcher.place import Events, Place
from patcher.system import seconds_of
from patcher.verify import COMPILE, NONE, PROBE, Verified, VerifySettings


def verify_settings(
    place: Place, env: Environment, verification: str, patchsets: Sequence[Patchset], events: Events
) -> VerifySettings | None:
    """The settings that `--verify` means for an environment, None for not to verify.

    A directory given as `target` is no environment of its own: without `python` nobody knows which
    packages its modules run with, so its files are compiled only.

    Raises:
        UsageError: a probe is requested that cannot be run there or is not trusted; see
            `seconds_of`.
    """
    if verification == NONE:
        return None
    alone = place.target is not None and place.python is None
    if verification == PROBE:
        if alone:
            problem = "--verify probe and --target: found no interpreter to run a probe in"
            raise UsageError(problem, "name it with --python")
        check_probes(patchsets, place.patch_dirs)
        for patchset in patchsets:
            if not patchset.verify.probe:
                events.note(Message("{name} has no probe", name=patchset.name))
    reason = ""
    if alone and verification != COMPILE:
        reason = Message("--target names no interpreter to import them with; add --python")
    return VerifySettings(
        env,
        timeout=seconds_of("SITEPATCH_VERIFY_TIMEOUT", 120),
        how=verification,
        ahead=place.target is not None,
        reason=reason,
        progress=events.progress,
    )


def run_verification(
    files: Sequence[FilePlan],
    patchsets: Sequence[Patchset],
    settings: VerifySettings,
    *,
    written: bool = False,
    in_memory: bool = False,
) -> Verified:
    """What `patcher.verify.run.verify_files` finds; it is imported where something is verified."""
    from patcher.verify.run import verify_files  # with subprocess and tempfile

    return verify_files(files, patchsets, settings, written=written, in_memory=in_memory)

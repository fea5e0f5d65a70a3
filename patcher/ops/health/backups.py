"""`restore --from-backup`: files that were edited by hand are put back from the backups beside them that RECORD proves."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import List, Sequence

from patcher.errors import Location, SitepatchError
from patcher.message import Message
from patcher.model import Change, FilePlan, Plan
from patcher.ops.change import carry_out
from patcher.ops.events import SILENT, Events
from patcher.ops.outcome import BackupRequest, Outcome
from patcher.store.status import statuses
from patcher.target.backups import Backup, proven_backups


def restore_backups(request: BackupRequest, events: Events = SILENT) -> Outcome:
    """Put files back: bytes and mtime of the backup, mode and owner of the file. The edited texts are kept in the store.

    Raises:
        SitepatchError: a word names no such file; or what keeps it from writing.
    """
    place = request.place
    env = place.environment()
    events.started(env)

    def look() -> Outcome:
        patched = {(item.site, item.receipt.path) for item in statuses(env)}
        files = _meant(proven_backups(env.own, patched), request.words)
        plan = Plan(tuple(map(_plan, files)), (), tuple(one.message for one in files))
        return Outcome(place, env, plan, (), (), request.dry_run)

    return carry_out(look, env, None, events, dry_run=request.dry_run)


def _meant(found: Sequence[Backup], words: Sequence[str]) -> List[Backup]:
    meant = {word: [one for one in found if not word or _above(Path(word), one)] for word in words or ("",)}
    problem = Message("found no backup beside an edited file of it that RECORD proves")
    problems = [SitepatchError.at(Location(word), problem) for word in words if not meant[word]]
    if problems:
        hint = Message(
            "what patchsets changed is restored without --from-backup; anything else by an install of the same release"
        )
        raise SitepatchError.joined(problems, hint)
    return [one for one in found if any(one in each for each in meant.values())]


def _above(word: Path, one: Backup) -> bool:
    file = Path(one.site, one.path)
    return any(path in (each, *each.parents) for path, each in ((word, Path(one.path)), (Path.cwd() / word, file)))


def _plan(one: Backup) -> FilePlan:
    change = Change(one.path, sha256(one.edited).hexdigest(), one.data, None, mtime_ns=one.mtime_ns)
    return FilePlan(one.site, one.path, one.edited, one.data, change, (), one.edited)

"""What `status` does."""

from __future__ import annotations

import time
from typing import List, Tuple

from patcher.cli import report
from patcher.cli.console import Console
from patcher.errors import StoreError
from patcher.ops.place import Place
from patcher.project.selection import outdated
from patcher.store.retry import settled
from patcher.store.status import FileStatus, damaged, recover, statuses, stores, unclaimed
from patcher.target.backups import proven
from patcher.text.table import Row

_NEWS = 24 * 60 * 60  # seconds for which `status` tells of an edited text that was set aside; after that `doctor` does


def show_status(console: Console, place: Place, check: bool) -> int:
    """Show which patchsets are applied, and the state of their files."""
    env = place.environment()
    console.about(env)
    recovered: List[str] = []

    def look() -> Tuple[List[Tuple[str, str, str]], List[FileStatus], List[Tuple[str, str]], bool]:
        said, stopped = recover(env)
        recovered.extend(said)
        bad: List[StoreError] = []
        items = statuses(env, bad)
        return stopped, items, [*damaged(items), *unclaimed(env, bad)], bool(bad)

    stopped, items, broken, unknown = settled(env, look)
    for sentence in recovered:
        console.note(sentence, "recovered")
    newer, unreadable = outdated(items, place.patch_dirs)
    for error in unreadable.values():
        console.note(error.brief, "broken")
    homes = stores(env)
    kept = [path for store in homes for path in store.kept()]
    rows = [Row(word, (site,), (problem,)) for word, site, problem in stopped]
    rows += [Row("damaged", (), (problem, f"hint: {hint}")) for problem, hint in broken]
    rows += report.status_rows(items, newer)
    console.rows([row for row in rows if not console.quiet or row.word != "applied"])
    if not rows:
        console.say(f"nothing is applied in {', '.join(env.own)}")
    backups = proven(env.own, {(item.site, item.receipt.path) for item in items})
    for one in backups:
        console.note(f"{one.told}; put it back: sitepatch restore --from-backup {one.path}")
    for path in (path for store in homes for path in store.kept(time.time() - _NEWS)):
        console.note(f"{path}, an edited text that was set aside; remove it when it is of no use any more", "kept")
    differs = any(row.word != "applied" for row in rows)
    code = 1 if unknown or (check and differs) else 0  # what a damaged receipt is about cannot be said at all
    waiting = [{"site": site, "problem": problem} for _, site, problem in stopped]
    files = [report.standing_json(item, newer) for item in items]
    more = {"recovered": recovered, "damaged": [{"problem": one, "hint": hint} for one, hint in broken], "kept": kept}
    more["backups"] = [{"site": one.site, "path": one.path, "backup": one.name} for one in backups]
    console.data(not code, {"files": files, "interrupted": waiting, **more})
    return code

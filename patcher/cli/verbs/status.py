"""What `status` does, and `sitepatch` without a command."""

from __future__ import annotations

import time
from typing import Any, Dict, List, Mapping, Tuple

from patcher.cli.console import Console, command
from patcher.cli.styles import Row, hint_lines, style
from patcher.cli.translation import translated
from patcher.errors import SitepatchError, StoreError
from patcher.ops.place import Place
from patcher.ops.statuses import AppliedPatchset, applied_patchsets, step_state
from patcher.patchset.toml import options_text
from patcher.project.selection import outdated
from patcher.store.retry import settled
from patcher.store.status import FileStatus, damaged, interrupted, named, recover, statuses, stores, unclaimed
from patcher.target.backups import proven_backups
from patcher.text.listed import count
from patcher.text.printable import join_styled

_NEWS = 24 * 60 * 60  # seconds for which `status` names an edited text that was set aside; after that `doctor` does
_FIRST = {
    "list": "what there is for this environment, and what is applied",
    "diff NAME": "what a patchset would change",
    "apply NAME": "apply it, and verify it",
    "restore NAME": "put the files back exactly",
}


def show_status(console: Console, place: Place, check: bool) -> int:
    """Show which patchsets are applied, the state of their files, and what to do about it."""
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
    console.notes(recovered, "recovered")
    newer, unreadable = outdated(items, place.patch_dirs)
    console.notes((error.brief for error in unreadable.values()), "broken")
    homes = stores(env)
    kept = [path for store in homes for path in store.edited_copies()]
    standing = applied_patchsets(env, items, newer)
    rows = [Row(word, (site,), (problem,)) for word, site, problem in stopped]
    rows += [Row("damaged", (), (problem, *hint_lines(hint))) for problem, hint in broken]
    rows += [_row(one, verbose=console.verbose) for one in standing]
    console.rows([row for row in rows if not console.quiet or row.word != "applied"])
    if not rows:
        console.info(f"nothing is applied in {', '.join(env.own)}")
    backups = proven_backups(env.own, {(item.site, item.receipt.path) for item in items})
    for one in backups:
        console.note(f"{one.told}; put it back: sitepatch restore --from-backup {one.path}")
    for path in (path for store in homes for path in store.edited_copies(time.time() - _NEWS)):
        console.note(f"{path}, an edited text that was set aside; remove it when it is of no use any more", "kept")
    differs = any(row.word != "applied" for row in rows)
    code = 1 if unknown or (check and differs) else 0  # what a damaged receipt is about is unknown
    fields: Dict[str, Any] = {"patchsets": [_standing_json(one) for one in standing]}
    fields["files"] = [_file_json(item, newer) for item in items]
    fields["interrupted"] = [{"site": site, "problem": problem} for _, site, problem in stopped]
    fields["damaged"] = [{"problem": problem, "hint": hint} for problem, hint in broken]
    fields["backups"] = [{"site": one.site, "path": one.path, "backup": one.name} for one in backups]
    console.data(not code, {**fields, "recovered": recovered, "kept": kept})
    return code


def _row(one: AppliedPatchset, *, verbose: bool) -> Row:
    bad = sum(state != "applied" for _, _, state in one.files)
    files = f"{bad} of {count(len(one.files), 'file')}" if 0 < bad < len(one.files) else count(len(one.files), "file")
    details = [f"{path}:{','.join(map(str, places))}" for path, places, _ in one.files] if verbose else []
    details += [*one.problems, *hint_lines(one.advice)]
    cells = (f"{one.name} {one.version}", ", ".join(one.releases), files, options_text(one.options))
    return Row(one.state, cells, tuple(details))


def _standing_json(one: AppliedPatchset) -> Dict[str, Any]:
    files = [{"path": path, "places": list(places), "state": state} for path, places, state in one.files]
    lists = {"releases": list(one.releases), "problems": list(one.problems), "files": files}
    return {**one._asdict(), **lists, "options": dict(one.options)}


def _file_json(item: FileStatus, newer: Mapping[str, str]) -> Dict[str, Any]:
    receipt = item.receipt
    steps = [
        {
            "name": step.patchset,
            "version": step.version,
            "state": step_state(item, step, newer),
            "options": dict(step.options),
            "places": list(step.places),
        }
        for step in receipt.steps
    ]
    head = {"site": item.site, "path": receipt.path, "package": receipt.package, "distribution": receipt.distribution}
    head.update(installed=item.installed, origin=receipt.origin)
    return {**head, "version": receipt.version, "condition": item.condition.value, "patchsets": steps}


def welcome(console: Console, about: str) -> int:
    """Show the commands to begin with, and what is applied here; nothing is recovered."""
    console.out(f"{about}\n")
    longest = max(map(len, _FIRST))
    for words, text in _FIRST.items():
        console.out(join_styled("  ", style(f"sitepatch {words:<{longest}}", bold=True), f"  {translated(text)}"))
    try:
        console.out(f"\n{_summary(Place())}")
    except (SitepatchError, OSError) as error:
        console.note(str(error))
    console.out("The whole story on a throw-away copy: sitepatch demo. All commands: sitepatch --help")
    return 0


def _summary(place: Place) -> str:
    env = place.environment()
    bad: List[StoreError] = []
    items = statuses(env, bad)
    names, _, _ = named(items, ())
    astray = sum(item.condition.value != "applied" for item in items) + len(bad) + len(interrupted(env))
    what = f"{', '.join(names)} applied, {count(len(items), 'file')}" if names else "nothing is applied"
    return f"{env.name}: {what}" + (f"; not all is as it should be: {command(place, 'status')}" if astray else "")

"""What the commands of `hook` do."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Dict, Optional, Union

from patcher.cli.answers.outcome import ConsoleEvents
from patcher.cli.answers.plan import answer_rows
from patcher.cli.console import Console, command
from patcher.cli.styles import Row
from patcher.cli.verbs.apply import run_restore
from patcher.errors import SitepatchError
from patcher.hook.installed import HookStatus
from patcher.ops import hooks
from patcher.ops.hooks import HookRequest
from patcher.ops.outcome import RestoreRequest
from patcher.ops.place import Place
from patcher.text.listed import count


def init_hook(console: Console, request: HookRequest) -> int:
    """Make or update the directory of a hook."""
    outcome = hooks.init_hook(request, ConsoleEvents(console))
    failed = [answer for answer in outcome.answers if answer.state.failed]
    console.rows(answer_rows(outcome.answers if console.verbose else failed))
    console.notes(outcome.notes)
    content = outcome.content
    if content is None:
        console.note(f"nothing was written: {count(len(failed), 'hunk')} failed", "stopped")
        console.data(False, {"written": []})
        return 1
    hook = content.hook
    patched = len({one.file.path for one in content.precomputed if one.steps})
    without = f"{', '.join(one.name for one in hook.patchsets)}; {count(patched, 'file')} can be patched without sitepatch"
    console.info(f"{hook.name} {hook.version} in {request.directory}: {without}")
    console.info(f"line for requirements.txt: {_line(request.directory)}")
    written = list(outcome.written)
    console.data(True, {"name": hook.name, "version": hook.version, "mode": hook.mode, "written": written})
    return 0


def _line(path: str) -> str:
    return path if path.startswith(("/", ".")) else f"./{path}"


def make_wheel(console: Console, directory: str, out: str) -> int:
    """Make the wheel of a hook."""
    made, digest = hooks.make_wheel(Path(directory), Path(out))
    path = os.path.join(out, made.name)
    console.note(f"line for requirements.txt, with the path from where the installer is run: {path}", "wrote")
    console.out(f"{_line(path)} --hash=sha256:{digest}")
    console.data(True, {"wheel": path, "sha256": digest})
    return 0


def show_hooks(console: Console, place: Place) -> int:
    """Show the hooks, and what the next start of Python would do."""
    outcome = hooks.installed_hooks(place)
    console.rows([_row(folder, found) for folder, found in outcome.hooks])
    if not outcome.hooks:
        console.out(f"there is no hook in {', '.join(outcome.env.sites)}")
    console.data(outcome.ok, {"hooks": [_json(folder, found) for folder, found in outcome.hooks]})
    return 0 if outcome.ok else 1


def _row(folder: str, found: Union[HookStatus, SitepatchError]) -> Row:
    if isinstance(found, SitepatchError):
        return Row("damaged", (folder, found.message))
    hook = found.installed.hook
    names = ", ".join(each.name for each in hook.patchsets)
    return Row("ok" if found.good else "not so", (hook.name, hook.version, found.mode, names), found.messages)


def _json(folder: str, found: Union[HookStatus, SitepatchError]) -> Dict[str, Any]:
    if isinstance(found, SitepatchError):
        return {"folder": folder, "ok": False, "told": [found.message]}
    hook = found.installed.hook
    about = {"folder": folder, "name": hook.name, "version": hook.version, "mode": found.mode, "ok": found.good}
    return {**about, "patchsets": [each.name for each in hook.patchsets], "told": list(found.messages)}


def remove_hook(console: Console, place: Place, name: Optional[str], back: bool) -> int:
    """Take a hook out of an environment."""
    removed = hooks.remove_hook(place, name)
    for each in removed:
        console.info(f"removed {each.hook.name} {each.hook.version} from {each.site}")
    patchsets = tuple(dict.fromkeys(one.name for each in removed for one in each.hook.patchsets))
    if back:
        return run_restore(console, RestoreRequest(place, patchsets))
    console.info(f"its files stay patched; restore them with: {command(place, 'restore', *patchsets)}")
    console.data(True, {"removed": [each.hook.name for each in removed]})
    return 0

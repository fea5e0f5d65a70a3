"""Runs the command sitepatch of the host, and says what its answer means to Ansible."""

from __future__ import annotations

import json
import os
import platform
import sys
from pathlib import Path

PLACE = {
    "python": {"type": "path"},
    "target": {"type": "path"},
    "patch_dirs": {"type": "list", "elements": "path", "default": []},
    "sitepatch": {"type": "path"},
}
"""The options that both modules have."""

_NONE = """found no command sitepatch on this host, expected {0}.
Install it there (ansible.builtin.pip: name=sitepatch), or name it with the option sitepatch. It needs Python 3.8 or newer;
the one that runs this module is {1}, {2}."""


def place(params):
    """The words for the environment and the patchsets that the options name."""
    words = [f"--{name}={params[name]}" for name in ("python", "target") if params[name]]
    return [*words, *(f"--patch-dir={folder}" for folder in params["patch_dirs"])]


def answer(module, words):
    """What `sitepatch WORDS --json` answers; the module fails where there is no such command or no answer."""
    code, out, err = module.run_command([_command(module), words[0], "--json", *words[1:]])
    try:
        return json.loads(out)
    except ValueError:
        module.fail_json(msg=f"sitepatch {words[0]} ended with {code} and without an answer: {err.strip() or out.strip()}")


def problem(said):
    """What is wrong, a line each, with what to do about it; "" where all is as it was asked for."""
    if said["ok"]:
        return ""
    error, verified = said.get("error", {}), said.get("verified") or {}
    found = [(error.get("message"), error.get("hint"))]
    found += [(f"{one['patchset']}: {one['path']}: {one['problem']}", one["hint"]) for one in _wrong(said, "answers")]
    found += [(f"{one['what']} {one['name']} {one['state']}: {one['problem']}", "") for one in _wrong(verified, "checks")]
    found += [("verification failed: nothing was written", "")] if "written" in said and not verified.get("ok", True) else []
    found += [(one["problem"], one["hint"]) for one in _wrong(said, "damaged")]
    lines = [f"{text}\nhint: {hint}" if hint else text for text, hint in found if text]
    return "\n".join(lines) or f"sitepatch {said['command']} did not end well, and does not say why"


def _wrong(said, key):
    return [one for one in said.get(key, []) if one["problem"]]


def _command(module):
    """The path of the command: as named, beside the interpreter of the environment or of the module, on PATH."""
    named, python = module.params["sitepatch"], module.params["python"]
    beside = [Path(python), Path(python) / "bin", Path(python).parent] if python else []
    tried = [Path(named)] if named else [folder / "sitepatch" for folder in (*beside, Path(sys.executable).parent)]
    found = next((str(path) for path in tried if path.is_file() and os.access(path, os.X_OK)), None)
    if not (found or named):
        found = module.get_bin_path("sitepatch")
    return found or module.fail_json(
        msg=_NONE.format(named or "it beside the Python or on PATH", platform.python_version(), sys.executable)
    )

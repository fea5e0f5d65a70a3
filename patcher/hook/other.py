"""Runs the sitepatch that is installed in an environment, where there is one, on a patchset of a hook."""

from __future__ import annotations

import sys
from typing import Any, Dict, NamedTuple, Optional

from patcher.errors import BusyError, SitepatchError
from patcher.hook.content import HookPatchset
from patcher.system.decode import Items, Reader, Table, anything, boolean, decode_json, string

_LIMIT = 120  # seconds
_ABSENT = 77
_CODE = (
    "import sys\nsys.path.append({site!r})\ntry:\n    from patcher.__main__ import main\n"
    f"except ImportError as error:\n    sys.stderr.write(str(error))\n    sys.exit({_ABSENT})\nmain()"
)

_ANSWER = Table(
    {
        "ok": boolean,
        "error": Table({"message": string, "hint": string, "busy": boolean}, optional=("busy",), others=True),
        "files": Items(Table({"path": string, "after": string, "changes": anything}, others=True)),
        "answers": Items(Table({"path": string, "state": string, "problem": string}, others=True)),
    },
    optional=("error", "files", "answers"),
    others=True,
)


class ApplyAnswer(NamedTuple):
    """The result of `sitepatch apply`: `files` has the sha256 (hex) of each file after it, `changed` is their number."""

    ok: bool
    problem: str
    files: Dict[str, str]
    changed: int


def apply_with_sitepatch(site: str, folder: str, one: HookPatchset, *, write: bool) -> Optional[ApplyAnswer]:
    """Apply a patchset, or only try it; None where no sitepatch can be imported.

    Args:
        site: the site directory.
        folder: holds the folder of the patchset.
        one: the patchset.
        write: whether to write.

    Raises:
        BusyError: somebody else is changing the environment; the next start may succeed.
        SitepatchError: sitepatch gave no answer that can be read.
    """
    import subprocess

    words = ["apply", one.name, "--target", site, "--patch-dir", folder, "--json", "--quiet", "--verify", "compile"]
    for name, value in one.options.items():
        words += ["--set", f"{one.name}.{name}={str(value).lower() if isinstance(value, bool) else value}"]
    words += ["--lock-timeout", "5"] if write else ["--dry-run"]
    command = [sys.executable, "-I", "-B", "-c", _CODE.format(site=site), *words]
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=_LIMIT, check=False)
    if done.returncode == _ABSENT:
        return None
    said = done.stderr.decode("utf-8", "replace").strip().split("\n")[-1]
    failed = f"sitepatch could not apply {one.name} (exit code {done.returncode}): {said}"
    reader = Reader(failed)
    try:
        fields = reader.read(decode_json(done.stdout), _ANSWER)
    except ValueError:
        raise SitepatchError(failed) from None
    reader.stop(SitepatchError)
    if fields.get("error", {}).get("busy"):
        raise BusyError(f"{one.name}: {fields['error']['message']}", "the next start of Python looks again")
    files = {each["path"]: each["after"] for each in fields.get("files", ())}
    changed = sum(bool(each["changes"]) for each in fields.get("files", ()))
    return ApplyAnswer(fields["ok"], _problem(fields), files, changed)


def _problem(fields: Dict[str, Any]) -> str:
    if "error" in fields:
        return "; ".join(text for text in (fields["error"]["message"], fields["error"]["hint"]) if text)
    for each in fields.get("answers", ()):
        if each["state"] in ("not found", "ambiguous", "conflict"):
            return f"{each['path']}: {each['state']}: {each['problem']}"
    return "what was written failed to compile and was rolled back"

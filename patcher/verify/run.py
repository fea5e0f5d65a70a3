"""Whether changed files compile, modules import and probes pass in the target interpreter. Writes into no site directory.

Everything is run by `child.py` in new processes of that interpreter. What fails is tried once more with the bytes before the
patch, which the child serves from memory: what fails then too is `broken before`, not by the patch.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from base64 import b64encode
from pathlib import Path
from typing import Any, Dict, List, Mapping, Sequence, Tuple

from patcher.model import Patchset
from patcher.system.process import Ended, alone, ending, last_lines, relevant_lines, run_process
from patcher.verify.checks import COMPILE, IMPORT, PROBE, CheckResult, FileToVerify, Verified, VerifySettings

_AFTER = 0.1  # seconds after the limit at which a child that still runs shows where it is, and ends itself
_GRACE = 1.0  # seconds after which a child is killed that should have ended itself at the limit
_OWN = ("verify/child.py", "importlib/__init__.py")  # frames that are no part of what is verified


def verify_files(
    files: Sequence[FileToVerify], patchsets: Sequence[Patchset], how: VerifySettings, *, served: bool = False
) -> Verified:
    """Compile files, import the modules that patchsets name, and run their probes: all of it, whatever fails.

    Args:
        files: the files to verify.
        patchsets: what changed them.
        how: how to verify.
        served: the bytes of the files are not on the disk; the child gets them from memory.

    Raises:
        OSError: the interpreter cannot be started, or there is no room for temporary files.
    """
    begun = time.monotonic()
    paths = {str(Path(file.site, file.path)): file for file in files}
    tasks = [(COMPILE, path) for path in paths]
    if how.imports:
        tasks += [(IMPORT, name) for name in dict.fromkeys(name for one in patchsets for name in one.verify.imports)]
    checks: List[CheckResult] = []
    probed = [one for one in patchsets if how.probes and one.verify.probe]
    total = len(tasks) + len(probed)
    how.progress(0, total, "files and modules verified")
    with tempfile.TemporaryDirectory(prefix="sitepatch-verify-") as folder:
        now = {path: text.now for path, text in paths.items()}
        serve = now if served else {}
        found = _examine(tasks, how, Path(folder), now, serve)
        bad = [check[:2] for check in found if check.problem]
        broken = set()
        if bad:
            again = _examine(bad, how, Path(folder), now, {path: text.before for path, text in paths.items()})
            broken = {check[:2] for check in again if check.problem}
        checks += [check._replace(before=check[:2] in broken) for check in found]
        for one in probed:
            how.progress(len(checks), total, "files and modules verified")
            checks.append(_probe(one, how, Path(folder), serve))
    how.progress(1, 1, "verified")
    shown = {path: text.path for path, text in paths.items()}
    checks = [check._replace(name=shown.get(check.name, check.name)) for check in checks]
    left_out = () if how.imports else tuple(dict.fromkeys(name for one in patchsets for name in one.verify.imports))
    return Verified(tuple(checks), time.monotonic() - begun, left_out, how.reason)


def _examine(
    tasks: Sequence[Tuple[str, str]], how: VerifySettings, folder: Path, now: Mapping[str, bytes], serve: Mapping[str, bytes]
) -> List[CheckResult]:
    """The result of each task; a new process takes the tasks that the last one left."""
    found: List[CheckResult] = []
    while len(found) < len(tasks):
        left = list(tasks[len(found) :])
        request = {"tasks": left, "texts": _encoded(now), "serve": _encoded(serve)}
        found += _results(left, *_child(request, how, folder), how.timeout)
    return found


def _encoded(texts: Mapping[str, bytes]) -> Dict[str, str]:
    return {path: b64encode(data).decode("ascii") for path, data in texts.items()}


def _results(
    tasks: Sequence[Tuple[str, str]], lines: Sequence[Dict[str, Any]], ended: Ended, limit: float
) -> List[CheckResult]:
    """The results that a child wrote; that of a task which ended the process is how it ended."""
    checks = [
        CheckResult(line["end"][0], line["end"][1], line["problem"], last_lines(line["output"]), line["seconds"])
        for line in lines
        if "end" in line
    ]
    open_tasks = [line["begin"] for line in lines if "begin" in line][len(checks) :]
    problem = _ending(ended, limit)
    if open_tasks:
        what, name = open_tasks[0]
        checks.append(CheckResult(what, name, problem, relevant_lines(ended.output, _OWN), ended.seconds))
    if checks:
        return checks
    return [
        CheckResult(what, name, f"the interpreter did not get so far: {problem}", relevant_lines(ended.output, _OWN))
        for what, name in tasks
    ]


def _probe(one: Patchset, how: VerifySettings, folder: Path, serve: Mapping[str, bytes]) -> CheckResult:
    script = folder / "probe.py"
    script.write_bytes(one.files[one.verify.probe].encode("utf-8"))
    _, ended = _child({"probe": str(script), "serve": _encoded(serve)}, how, folder)
    problem = "" if ended.code == 0 else _ending(ended, how.timeout)
    return CheckResult(PROBE, one.name, problem, relevant_lines(ended.output, _OWN) if problem else "", ended.seconds)


def _child(request: Dict[str, Any], how: VerifySettings, folder: Path) -> Tuple[List[Dict[str, Any]], Ended]:
    """Run the child on a request, in a new and empty working directory; returns its results and how it ended."""
    until = time.monotonic() + how.timeout + _AFTER  # one clock for all processes; the interpreter may take long to start
    fields = {"search": list(how.env.search), "ahead": how.ahead, "until": until, "probe": "", **request}
    (folder / "request").write_text(json.dumps(fields), encoding="ascii")
    results = folder / "results"
    results.write_bytes(b"")
    command = [how.env.python, "-I", "-B"]
    prefix = os.environ.get("PYTHONPYCACHEPREFIX")  # -I does not look at it, the user's runs do
    command += ["-X", f"pycache_prefix={Path(prefix).absolute()}"] if prefix else []
    command += [str(Path(__file__).with_name("child.py")), str(folder / "request"), str(results)]
    ended = run_process(command, tempfile.mkdtemp(prefix="cwd-", dir=str(folder)), alone(), how.timeout + _GRACE)
    lines = []
    for line in results.read_bytes().split(b"\n")[:-1]:  # a line that has no end was being written
        lines.append(json.loads(line.decode("ascii")))
    return lines, ended


def _ending(ended: Ended, limit: float) -> str:
    """How a process ended that did not write all its results, in words."""
    if ended.code is None or ended.seconds >= limit:
        return f"gave no answer in {limit:g} seconds"
    return ending(ended.code)

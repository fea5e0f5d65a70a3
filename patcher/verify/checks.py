"""Does what was changed still compile, import and pass its probe in the target interpreter? Writes into no site directory.

Everything is run by `verify_child` in fresh processes of that interpreter. What fails is tried once more with the bytes of
before the patch, which the child serves from memory: what fails then too is `broken before`, and no fault of the patch.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, NamedTuple, Sequence, Tuple

from patcher.model import FilePlan, Patchset
from patcher.target.interpreter import Environment

if TYPE_CHECKING:
    from patcher.system.process import Ended

COMPILE, IMPORT, PROBE = "compile", "import", "probe"
_LINES = 12  # of a traceback or of output, the last ones
_GRACE = 1.0  # seconds after which a child is killed that should have ended itself at the limit
# what changes imports, and what a launcher tells its ranks: a lone import would wait for the others
_LAUNCHED = (
    "MASTER_ RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE GROUP_RANK GROUP_WORLD_SIZE ROLE_RANK ROLE_WORLD_SIZE NODE_RANK"
)
_DROPPED = ("PYTHON", "SITEPATCH", "_SITEPATCH", "TORCHELASTIC_", *_LAUNCHED.split())


class Asked(NamedTuple):
    """What a command line says: the flags `--no-verify`, `--compile-only` and `--probe`; seconds for each process."""

    timeout: float = 120.0
    no_verify: bool = False
    compile_only: bool = False
    probe: bool = False


class How(NamedTuple):
    """How to verify.

    `imports` and `probes` say which of it beside compiling, `timeout` is in seconds, for each process. With `ahead` the
    directories of `env.search` come before what the interpreter searches by itself, else they are all that it searches.
    `reason` is why modules are not imported though nobody asked for that.
    """

    env: Environment
    timeout: float
    ahead: bool = False
    imports: bool = True
    probes: bool = False
    reason: str = ""


class Text(NamedTuple):
    """A file to verify: `now` are the bytes that it must hold, `before` those without the patchsets in question."""

    site: str
    path: str
    now: bytes
    before: bytes


def texts_of(files: Iterable[FilePlan]) -> List[Text]:
    """What there is to verify of the files of a plan that was carried out."""
    return [Text(file.site, file.path, file.after, file.before) for file in files]


class Check(NamedTuple):
    """What came of one file, module or probe (`name`).

    `what` is COMPILE, IMPORT or PROBE; `problem` one line, "" if it is good; `output` the last lines of the traceback or of
    what was written; `before` whether it fails without the patch too.
    """

    what: str
    name: str
    problem: str = ""
    output: str = ""
    seconds: float = 0.0
    before: bool = False

    @property
    def state(self) -> str:
        """`ok`, `failed` or `broken before`."""
        return "ok" if not self.problem else "broken before" if self.before else "failed"


class Verified(NamedTuple):
    """What came of everything; `seconds` from before the first process to after the last.

    `left_out` are modules that were not imported, `reason` is why, "" where that was asked for.
    """

    checks: Tuple[Check, ...]
    seconds: float
    left_out: Tuple[str, ...] = ()
    reason: str = ""

    @property
    def failed(self) -> Tuple[Check, ...]:
        """What is wrong and was not before."""
        return tuple(check for check in self.checks if check.state == "failed")


def verify(texts: Sequence[Text], patchsets: Sequence[Patchset], how: How, *, served: bool = False) -> Verified:
    """Compile the texts, import what the patchsets name, run their probes: all of it, whatever fails.

    Args:
        texts: what is to be verified.
        patchsets: what changed it.
        how: how to verify.
        served: the texts do not stand on the disk; the child gets them from memory.

    Raises:
        OSError: the interpreter cannot be started, or there is no room for temporary files.
    """
    import tempfile

    begun = time.monotonic()
    paths = {str(Path(text.site, text.path)): text for text in texts}
    tasks = [(COMPILE, path) for path in paths]
    if how.imports:
        tasks += [(IMPORT, name) for name in dict.fromkeys(name for one in patchsets for name in one.verify.imports)]
    checks: List[Check] = []
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
        for one in patchsets if how.probes else ():
            if one.verify.probe:
                checks.append(_probe(one, how, Path(folder), serve))
    shown = {path: text.path for path, text in paths.items()}
    checks = [check._replace(name=shown.get(check.name, check.name)) for check in checks]
    left_out = () if how.imports else tuple(dict.fromkeys(name for one in patchsets for name in one.verify.imports))
    return Verified(tuple(checks), time.monotonic() - begun, left_out, how.reason)


def _examine(
    tasks: Sequence[Tuple[str, str]], how: How, folder: Path, now: Mapping[str, bytes], serve: Mapping[str, bytes]
) -> List[Check]:
    """The answer to each task, in as few processes as it takes: one after which nothing is left."""
    found: List[Check] = []
    while len(found) < len(tasks):
        left = list(tasks[len(found) :])
        request = {"tasks": left, "texts": _encoded(now), "serve": _encoded(serve)}
        found += _answers(left, *_child(request, how, folder), how.timeout)
    return found


def _encoded(texts: Mapping[str, bytes]) -> Dict[str, str]:
    from base64 import b64encode

    return {path: b64encode(data).decode("ascii") for path, data in texts.items()}


def _answers(tasks: Sequence[Tuple[str, str]], lines: Sequence[Dict[str, Any]], ended: Ended, limit: float) -> List[Check]:
    """What a child wrote down; the task in which it ended is answered by how it ended."""
    checks = [
        Check(line["end"][0], line["end"][1], line["problem"], _last(line["output"]), line["seconds"])
        for line in lines
        if "end" in line
    ]
    open_tasks = [line["begin"] for line in lines if "begin" in line][len(checks) :]
    problem = _ending(ended, limit)
    if open_tasks:
        what, name = open_tasks[0]
        checks.append(Check(what, name, problem, _said(ended.output), ended.seconds))
    if checks:
        return checks
    return [Check(what, name, f"the interpreter did not get so far: {problem}", _said(ended.output)) for what, name in tasks]


def _probe(one: Patchset, how: How, folder: Path, serve: Mapping[str, bytes]) -> Check:
    script = folder / "probe.py"
    script.write_bytes(one.files[one.verify.probe].encode("utf-8"))
    _, ended = _child({"probe": str(script), "serve": _encoded(serve)}, how, folder)
    problem = "" if ended.code == 0 else _ending(ended, how.timeout)
    return Check(PROBE, one.name, problem, _said(ended.output) if problem else "", ended.seconds)


def _child(request: Dict[str, Any], how: How, folder: Path) -> Tuple[List[Dict[str, Any]], Ended]:
    """Run the child on a request, in a new and empty working directory; returns what it wrote down and how it ended."""
    import json
    import tempfile

    from patcher.system.process import run

    asked = {"search": list(how.env.search), "ahead": how.ahead, "limit": how.timeout, "probe": "", **request}
    (folder / "request").write_text(json.dumps(asked), encoding="ascii")
    results = folder / "results"
    results.write_bytes(b"")
    command = [how.env.python, "-I", "-B"]
    prefix = os.environ.get("PYTHONPYCACHEPREFIX")  # -I does not look at it, the user's runs do
    command += ["-X", f"pycache_prefix={Path(prefix).absolute()}"] if prefix else []
    command += [str(Path(__file__).with_name("child.py")), str(folder / "request"), str(results)]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_DROPPED)}
    kept["PYTHONDONTWRITEBYTECODE"] = "1"  # for processes that a module starts
    kept["SITEPATCH_HOOK"] = "off"  # a hook would change what is being verified
    ended = run(command, tempfile.mkdtemp(prefix="cwd-", dir=str(folder)), kept, how.timeout + _GRACE)
    lines = []
    for line in results.read_bytes().split(b"\n")[:-1]:  # a line that has no end was being written
        lines.append(json.loads(line.decode("ascii")))
    return lines, ended


def _ending(ended: Ended, limit: float) -> str:
    """How a process ended that should have told more, in words."""
    import signal

    if ended.code is None or ended.seconds >= limit:
        return f"gave no answer in {limit:g} seconds"
    if ended.code < 0:
        names = {int(each): each.name for each in signal.Signals}
        return f"the process was killed by {names.get(-ended.code, f'signal {-ended.code}')}"
    return f"the process ended with exit code {ended.code}"


def _said(output: str) -> str:
    """The last lines of output; of stacks that faulthandler wrote the last one of Python calls, without our own.

    It writes one for each thread, the main thread's last, and from Python 3.14 on one of C calls after them.
    """
    text, *stacks = output.split(" (most recent call first):\n")
    ours = ("<frozen importlib", "verify_child.py", "importlib/__init__.py")
    for stack in reversed(stacks):
        calls = [line for line in stack.split("\n") if line.startswith("  File ") and not any(each in line for each in ours)]
        if calls:
            said = text.rpartition("\n")[0]
            return "\n".join([_last(said), "innermost call first:", *calls[:_LINES]])
    return _last(output)


def _last(text: str) -> str:
    return "\n".join(text.rstrip().split("\n")[-_LINES:])

"""Whether files with a patch compile, modules import and probes pass in the target interpreter. Writes into no site directory.

Everything is run by `child.py` in new processes of that interpreter, which see the files with the patch, whether that is
written yet or not (`patcher.verify.namespace`). What fails is tried once more with the files without it: what fails then too
is `broken before`, not by the patch. Where nothing can be mounted, a process has texts that are not on the disk from memory;
the processes that it starts do not, and nor does what it opens by path: that is reported.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from base64 import b64encode
from pathlib import Path
from typing import Any, Sequence

from patcher.message import Message
from patcher.model import SOURCE, FilePlan, Patchset, module_of
from patcher.system.process import Ended, alone, ending, last_lines, relevant_lines, run_process
from patcher.verify import COMPILE, IMPORT, PROBE, CheckResult, Verified, VerifySettings
from patcher.verify.namespace import Namespace

_AFTER = 0.1  # seconds after the limit at which a child that still runs shows where it is, and ends itself
_GRACE = 1.0  # seconds after which a child is killed that should have ended itself at the limit
_OWN = ("verify/child.py", "importlib/__init__.py")  # frames that are no part of what is verified


def verify_files(
    files: Sequence[FilePlan],
    patchsets: Sequence[Patchset],
    settings: VerifySettings,
    *,
    written: bool = False,
    in_memory: bool = False,
) -> Verified:
    """Compile files, import modules, and run probes: all of it, whatever fails.

    The modules are those that the patchsets name; of one that names none, those of the files that it changes.

    Args:
        files: `after` are the bytes with the patchsets in question, `before` those without them.
        patchsets: what changes them.
        settings: how to verify.
        written: the files on the disk have the patchsets, else they do not.
        in_memory: mount nothing, as an overlay does not.

    Raises:
        OSError: the interpreter cannot be started, or there is no room for temporary files.
    """
    begun = time.monotonic()
    paths = {str(Path(file.site, file.path)): file for file in files}
    after, before = (
        {path: file.after for path, file in paths.items()},
        {path: file.before for path, file in paths.items()},
    )
    texts = (after, before) if written else (before, after)
    modules, nameless = _modules(files, patchsets)
    tasks = [(COMPILE, path) for path in paths if path.endswith(SOURCE)]
    if settings.imports:
        tasks += [(IMPORT, name) for name in modules]
    probed = [patchset for patchset in patchsets if settings.how == PROBE and patchset.verify.probe]
    total = len(tasks) + len(probed)
    settings.progress(0, total, Message("files and modules verified"))
    with tempfile.TemporaryDirectory(prefix="sitepatch-verify-") as folder:
        stage = _Stage(settings, Path(folder), texts, in_memory=in_memory)
        checks = stage.examine(tasks, shown=not written)
        # what was not there was not broken either
        new = {
            *stage.added,
            *(paths[path].module for path in stage.added),
        }
        bad = [check[:2] for check in checks if check.problem and check.name not in new]
        broken = {check[:2] for check in stage.examine(bad, shown=written) if check.problem}
        checks = [check._replace(before=check[:2] in broken) for check in checks]
        for patchset in probed:
            settings.progress(len(checks), total, Message("files and modules verified"))
            checks.append(stage.probe(patchset, shown=not written))
    settings.progress(1, 1, "verified")
    relative = {path: file.path for path, file in paths.items()}
    checks = [check._replace(name=relative.get(check.name, check.name)) for check in checks]
    left_out = () if settings.imports else tuple(modules)
    unseen = () if written else tuple(dict.fromkeys(stage.unseen))
    if not settings.imports:
        nameless = ()
    seconds = time.monotonic() - begun
    return Verified(tuple(checks), seconds, left_out, settings.reason, unseen, nameless)


def _modules(
    files: Sequence[FilePlan], patchsets: Sequence[Patchset]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The modules to import, and the files that were to be imported and have no name for that."""
    modules: dict[str, None] = {}
    nameless: dict[str, None] = {}
    for patchset in patchsets:
        modules.update(dict.fromkeys(patchset.verify.imports))
        if patchset.verify.imports:
            continue
        for file in files:
            is_changed = any(step.patchset == patchset.name for step in file.steps)
            if not is_changed or not file.path.endswith(".py"):
                continue
            name = module_of(file.path)
            if name:
                modules[name] = None
            else:
                nameless[file.path] = None
    return tuple(modules), tuple(nameless)


class _Stage:
    """Runs checks in processes that see the disk as it is, or are shown other texts of files.

    `texts` are both: of the disk, and those that are shown; `added` are the files that only the latter have. `unseen` gets a
    sentence for each check that looked past a text that was served from memory.
    """

    def __init__(
        self,
        settings: VerifySettings,
        folder: Path,
        texts: tuple[dict[str, bytes], dict[str, bytes]],
        *,
        in_memory: bool,
    ) -> None:
        self._settings, self._folder, self._texts = settings, folder, texts
        self.unseen: list[str] = []
        # nothing can be mounted over them
        self.added = [path for path in texts[True] if not os.path.lexists(path)]
        (folder / "shown").mkdir()
        view = Namespace(
            {path: data for path, data in texts[True].items() if path not in self.added},
            folder / "shown",
        )
        self._views = None if in_memory or not view.works() else (Namespace({}, folder), view)
        self._served = self.added if self._views else list(texts[True])

    def examine(self, tasks: Sequence[tuple[str, str]], *, shown: bool) -> list[CheckResult]:
        """The result of each task; a new process takes the tasks that the last one left."""
        checks: list[CheckResult] = []
        while len(checks) < len(tasks):
            left = list(tasks[len(checks) :])
            checks += _results(
                left, *self._child({"tasks": left}, shown=shown), self._settings.timeout
            )
        return checks

    def probe(self, patchset: Patchset, *, shown: bool) -> CheckResult:
        """The result of the probe of a patchset."""
        script = self._folder / "probe.py"
        script.write_bytes(patchset.folder.files[patchset.verify.probe].encode("utf-8"))
        _, ended = self._child({"probe": str(script), "name": patchset.name}, shown=shown)
        problem = "" if ended.code == 0 else _ending(ended, self._settings.timeout)
        return CheckResult(
            PROBE,
            patchset.name,
            problem,
            relevant_lines(ended.output, _OWN) if problem else "",
            ended.seconds,
        )

    def _child(self, request: dict[str, Any], *, shown: bool) -> tuple[list[dict[str, Any]], Ended]:
        """Run the child on a request, in a new and empty working directory; returns its results and how it ended."""
        settings, folder = self._settings, self._folder
        # one clock for all processes; the interpreter may take long to start
        until = time.monotonic() + settings.timeout + _AFTER
        texts = {path: b64encode(data).decode("ascii") for path, data in self._texts[shown].items()}
        fields = {
            "search": list(settings.env.search),
            "ahead": settings.ahead,
            "until": until,
            "probe": "",
        }
        seen = {"texts": texts, "shown": shown, "serve": self._served if shown else []}
        (folder / "request").write_text(json.dumps({**fields, **seen, **request}), encoding="ascii")
        results = folder / "results"
        results.write_bytes(b"")
        command = [settings.env.python, "-I", "-B"]
        prefix = os.environ.get("PYTHONPYCACHEPREFIX")  # -I does not look at it, the user's runs do
        command += ["-X", f"pycache_prefix={Path(prefix).absolute()}"] if prefix else []
        command += [
            str(Path(__file__).with_name("child.py")),
            str(folder / "request"),
            str(results),
        ]
        enter = self._views[shown].enter if self._views else None
        cwd = tempfile.mkdtemp(prefix="cwd-", dir=str(folder))
        ended = run_process(command, cwd, alone(), settings.timeout + _GRACE, enter)
        lines = []
        # a line that has no end was being written
        for line in results.read_bytes().split(b"\n")[:-1]:
            lines.append(json.loads(line.decode("ascii")))
        self.unseen += [
            Message(line["unseen"], **line["fields"]) for line in lines if "unseen" in line
        ]
        return lines, ended


def _results(
    tasks: Sequence[tuple[str, str]], lines: Sequence[dict[str, Any]], ended: Ended, limit: float
) -> list[CheckResult]:
    """The results that a child wrote; that of a task which ended the process is how it ended."""
    checks = [
        CheckResult(
            kind, name, Message.whole(line["problem"]), last_lines(line["output"]), line["seconds"]
        )
        for line in lines
        if "end" in line
        for kind, name in [line["end"]]
    ]
    open_tasks = [line["begin"] for line in lines if "begin" in line][len(checks) :]
    problem, output = _ending(ended, limit), relevant_lines(ended.output, _OWN)
    for kind, name in open_tasks:
        checks.append(CheckResult(kind, name, problem, output, ended.seconds))
    if checks:
        return checks
    problem = Message("the interpreter did not get so far: {problem}", problem=problem)
    return [CheckResult(kind, name, problem, output) for kind, name in tasks]


def _ending(ended: Ended, limit: float) -> str:
    """How a process ended that did not write all its results, in words."""
    if ended.code is None or ended.seconds >= limit:
        return Message("gave no answer in {limit:g} seconds", limit=limit)
    return ending(ended.code)

"""Whether files with a patch compile, modules import and probes pass in the target interpreter.

Nothing is written into a site directory. Everything is run by `child.py` in new processes of that
interpreter, which see the files with the patch, whether that is written yet or not
(`patcher.verify.namespace`). What fails is tried once more with the files without it: what fails
then too is `broken before`, not by the patch. Where nothing can be mounted, a process has texts
that are not on the disk from memory; the processes that it starts do not, and nor does what it
opens by path: that is reported.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING, Any, Mapping, Sequence

from patcher.message import Message
from patcher.model import SOURCE, FilePlan, Patchset, module_of
from patcher.record import Record
from patcher.system.process import Ended, alone, ending, last_lines, relevant_lines, run_process
from patcher.verify import COMPILE, IMPORT, PROBE, CheckResult, Verified, VerifySettings
from patcher.verify.namespace import Namespace

# seconds after the limit at which a child that still runs shows where it is, and ends itself
_AFTER = 0.1
# seconds after the limit at which a child that should have ended itself is killed
_GRACE = 1.0
_OWN = ("verify/child.py", "importlib/__init__.py")  # files whose frames are not verified


def verify_files(
    files: Sequence[FilePlan],
    patchsets: Sequence[Patchset],
    settings: VerifySettings,
    *,
    written: bool = False,
    in_memory: bool = False,
) -> Verified:
    """Compile files, import modules, and run probes: all of it, whatever fails.

    The modules are those that the patchsets name; of one that names none, those of the files that
    it changes.

    Args:
        files: `after` are the bytes with the patchsets in question, `before` those without them.
        patchsets: what changes them.
        settings: how to verify.
        written: the files on the disk have the patchsets, else they do not.
        in_memory: mount nothing, as an overlay does not.

    Raises:
        OSError: the interpreter cannot be started, or there is no room for temporary files.
    """
    start = time.monotonic()
    plans: dict[str, FilePlan] = {}
    for file in files:
        plans[str(Path(file.site, file.path))] = file

    texts = _texts(plans, written=written)
    modules, nameless = _modules(files, patchsets)

    tasks: list[_Task] = []
    for path, file in plans.items():
        if path.endswith(SOURCE) and not file.gone:
            tasks.append((COMPILE, path))

    if settings.imports:
        for name in modules:
            tasks.append((IMPORT, name))

    probed: list[Patchset] = []
    if settings.how == PROBE:
        probed = [patchset for patchset in patchsets if patchset.verify.probe]

    total = len(tasks) + len(probed)
    settings.progress(0, total, Message("files and modules verified"))
    with tempfile.TemporaryDirectory(prefix="sitepatch-verify-") as folder:
        stage = _Stage(settings, Path(folder), texts=texts, in_memory=in_memory)
        checks = stage.examine(tasks, shown=not written)
        broken = _broken_before(stage, checks, plans=plans, shown=written)
        for patchset in probed:
            settings.progress(len(checks), total, Message("files and modules verified"))
            checks.append(stage.probe(patchset, shown=not written))

    settings.progress(1, 1, "verified")

    return Verified(
        checks=_reported(checks, plans=plans, broken=broken),
        seconds=time.monotonic() - start,
        left_out=() if settings.imports else modules,
        reason=settings.reason,
        unseen=() if written else tuple(dict.fromkeys(stage.unseen)),
        nameless=nameless if settings.imports else (),
    )


if TYPE_CHECKING:
    _Task = tuple[str, str]
    """What is done (COMPILE, IMPORT, PROBE), and to which file or module."""


def _broken_before(
    stage: _Stage,
    checks: Sequence[CheckResult],
    plans: Mapping[str, FilePlan],
    *,
    shown: bool,
) -> set[_Task]:
    """The checks that fail without the patch, too; what was not there was not broken."""
    new = set(stage.added)
    for path in stage.added:
        new.add(plans[path].module)

    tasks: list[_Task] = []
    for check in checks:
        if check.problem and check.name not in new:
            tasks.append((check.what, check.name))

    broken: set[_Task] = set()
    for check in stage.examine(tasks, shown=shown):
        if check.problem:
            broken.add((check.what, check.name))

    return broken


def _reported(
    checks: Sequence[CheckResult],
    plans: Mapping[str, FilePlan],
    broken: set[_Task],
) -> tuple[CheckResult, ...]:
    """The results as they are reported: files by their path in the site directory."""
    results: list[CheckResult] = []
    for check in checks:
        is_broken = (check.what, check.name) in broken
        name = plans[check.name].path if check.name in plans else check.name
        results.append(check._replace(name=name, before=is_broken))

    return tuple(results)


class _Texts(Record):
    """The bytes of files by path: as the disk has them, and as what is verified sees them.

    `hidden` are those that this does not see: the patchsets delete them.
    """

    disk: Mapping[str, bytes]
    shown: Mapping[str, bytes]
    hidden: Sequence[str] = ()


def _texts(plans: Mapping[str, FilePlan], *, written: bool) -> _Texts:
    """Both texts of files: with the patchsets, and without."""
    before: dict[str, bytes] = {}
    after: dict[str, bytes] = {}
    hidden: list[str] = []
    for path, file in plans.items():
        before[path] = file.before
        if file.gone:
            hidden.append(path)
        else:
            after[path] = file.after

    if written:
        return _Texts(disk=after, shown=before)
    return _Texts(disk=before, shown=after, hidden=hidden)


def _modules(
    files: Sequence[FilePlan],
    patchsets: Sequence[Patchset],
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The modules to import, and the files that were to be imported and have no name for that."""
    modules: dict[str, None] = {}
    nameless: dict[str, None] = {}
    for patchset in patchsets:
        modules.update(dict.fromkeys(patchset.verify.imports))
        if patchset.verify.imports:
            continue
        for file in files:
            changed_by = [step.patchset for step in file.steps]
            if patchset.name not in changed_by or not file.path.endswith(".py"):
                continue

            path = file.path
            if file.gone:  # what it was a part of has to do without it
                path = f"{path.rpartition('/')[0]}/__init__.py"
            name = module_of(path)
            if name:
                modules[name] = None
            else:
                nameless[file.path] = None

    return tuple(modules), tuple(nameless)


class _Stage:
    """Runs checks in processes that see the disk as it is, or are shown other texts of files.

    `added` are the files that the disk does not have. `unseen` gets a sentence for each check that
    looked past a text that was served from memory.
    """

    def __init__(
        self,
        settings: VerifySettings,
        folder: Path,
        texts: _Texts,
        *,
        in_memory: bool,
    ) -> None:
        self._settings = settings
        self._folder = folder
        self._texts = texts
        self.unseen: list[str] = []
        self.added: list[str] = []
        hidden: dict[str, bytes] = {}
        for path, data in texts.shown.items():
            if os.path.lexists(path):
                hidden[path] = data
            else:  # nothing can be mounted over it
                self.added.append(path)

        self._disk: Namespace | None = None
        self._shown: Namespace | None = None
        self._served = list(texts.shown)
        if in_memory:
            return

        (folder / "shown").mkdir()
        view = Namespace(hidden, folder / "shown")
        if view.works():
            self._disk = Namespace({}, folder)
            self._shown = view
            self._served = self.added

    def examine(self, tasks: Sequence[_Task], *, shown: bool) -> list[CheckResult]:
        """The result of each task; a new process takes the tasks that the last one left."""
        checks: list[CheckResult] = []
        while len(checks) < len(tasks):
            left = list(tasks[len(checks) :])
            lines, ended = self._child({"tasks": left}, shown=shown)
            checks += _results(left, lines, ended=ended, limit=self._settings.timeout)

        return checks

    def probe(self, patchset: Patchset, *, shown: bool) -> CheckResult:
        """The result of the probe of a patchset."""
        text = patchset.folder.files[patchset.verify.probe]
        script = self._folder / "probe.py"
        script.write_bytes(text.encode("utf-8"))
        request = {"probe": str(script), "name": patchset.name}
        _, ended = self._child(request, shown=shown)
        if ended.code == 0:
            return CheckResult(PROBE, patchset.name, seconds=ended.seconds)
        return CheckResult(
            PROBE,
            patchset.name,
            problem=_ending(ended, self._settings.timeout),
            output=relevant_lines(ended.output, _OWN),
            seconds=ended.seconds,
        )

    def _child(
        self,
        request: dict[str, Any],
        *,
        shown: bool,
    ) -> tuple[list[dict[str, Any]], Ended]:
        """Run the child on a request, in a new and empty working directory.

        Returns:
            the lines of its results, and how it ended.
        """
        folder = self._folder
        requested = {**self._request(shown=shown), **request}
        (folder / "request").write_text(json.dumps(requested), encoding="ascii")
        results = folder / "results"
        results.write_bytes(b"")
        view = self._shown if shown else self._disk
        ended = run_process(
            self._command(),
            cwd=tempfile.mkdtemp(prefix="cwd-", dir=str(folder)),
            environ=alone(),
            limit=self._settings.timeout + _GRACE,
            enter=view.enter if view else None,
        )

        lines: list[dict[str, Any]] = []
        *ended_lines, _ = results.read_bytes().split(b"\n")  # the last one was being written
        for text in ended_lines:
            line = json.loads(text.decode("ascii"))
            lines.append(line)
            if "unseen" in line:
                self.unseen.append(Message(line["unseen"], **line["fields"]))

        return lines, ended

    def _request(self, *, shown: bool) -> dict[str, Any]:
        """What each request to the child has in it."""
        texts = self._texts.shown if shown else self._texts.disk
        encoded: dict[str, str] = {}
        for path, data in texts.items():
            encoded[path] = b64encode(data).decode("ascii")

        return {
            "search": list(self._settings.env.search),
            "ahead": self._settings.ahead,
            # one clock for all processes; the interpreter may take long to start
            "until": time.monotonic() + self._settings.timeout + _AFTER,
            "probe": "",
            "texts": encoded,
            "shown": shown,
            "serve": self._served if shown else [],
            "hidden": list(self._texts.hidden) if shown else [],
        }

    def _command(self) -> list[str]:
        """The command that runs the child."""
        command = [self._settings.env.python, "-I", "-B"]
        prefix = os.environ.get("PYTHONPYCACHEPREFIX")  # -I does not look at it, the user's runs do
        if prefix:
            folder = Path(prefix).absolute()
            command += ["-X", f"pycache_prefix={folder}"]

        files = (
            Path(__file__).with_name("child.py"),
            self._folder / "request",
            self._folder / "results",
        )
        return [*command, *map(str, files)]


def _results(
    tasks: Sequence[_Task],
    lines: Sequence[dict[str, Any]],
    *,
    ended: Ended,
    limit: float,
) -> list[CheckResult]:
    """The results that a child wrote; that of a task which ended the process is how it ended."""
    started: list[_Task] = []
    checks: list[CheckResult] = []
    for line in lines:
        if "begin" in line:
            started.append(line["begin"])
        elif "end" in line:
            checks.append(_finished(line))

    problem = _ending(ended, limit)
    output = relevant_lines(ended.output, _OWN)

    for kind, name in started[len(checks) :]:
        check = CheckResult(
            kind,
            name,
            problem=problem,
            output=output,
            seconds=ended.seconds,
        )

        checks.append(check)

    if checks:
        return checks

    problem = Message("the interpreter did not get so far: {problem}", problem=problem)
    for kind, name in tasks:
        checks.append(CheckResult(kind, name, problem=problem, output=output))

    return checks


def _finished(line: Mapping[str, Any]) -> CheckResult:
    """The result that a child wrote at the end of a task."""
    kind, name = line["end"]
    return CheckResult(
        kind,
        name,
        problem=Message.whole(line["problem"]),
        output=last_lines(line["output"]),
        seconds=line["seconds"],
    )


def _ending(ended: Ended, limit: float) -> str:
    """How a process ended that did not write all its results, in words."""
    if ended.code is None or ended.seconds >= limit:
        return Message("gave no answer in {limit:g} seconds", limit=limit)
    return ending(ended.code)

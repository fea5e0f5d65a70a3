"""The whole story on a throw-away directory: `sitepatch demo`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack, redirect_stdout
from hashlib import sha256
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Callable, Dict, List, NamedTuple, Tuple

from patcher.console import Console, style
from patcher.fixture import lay_out

NAME, VERSION = "mmengine-ddp-debug", "0.10.7"
FILES = ("mmengine/dist/utils.py", "mmengine/runner/runner.py", "mmengine/_strategy/distributed.py")

# Run by the interpreter on the patched directory: torch is not needed, so only the patch's own function is executed.
_RUN = r"""
import ast, os, sys
site, *paths = sys.argv[1:]
for path in paths:
    with open(os.path.join(site, path), "rb") as file:
        source = file.read()
    tree = ast.parse(source)
    compile(source, path, "exec")
    print("compiles:", path)
    for node in tree.body:
        if getattr(node, "name", "") == "_sitepatch_ddp_report":
            scope = {}
            exec(compile(ast.Module([node], []), path, "exec"), scope)
class Tensor:
    device, dtype, requires_grad = "cpu", "float32", True
    def __init__(self, *shape):
        self.shape = shape
class Model:
    device = "cpu"
    def named_parameters(self):
        return [("backbone.weight", Tensor(64, 3, 7, 7)), ("head.weight", Tensor(10, 64)), ("head.bias", Tensor(10))]
    def named_buffers(self):
        return [("backbone.running_mean", Tensor(64))]
scope["_sitepatch_ddp_report"]("Runner.wrap_model", Model(), lambda: [1])
"""


class _Entry(NamedTuple):
    """What is proven to be the same afterwards: sha256 (a link's target), mode, mtime in nanoseconds."""

    content: str
    mode: int
    mtime_ns: int


class Story:
    """Tells the story step by step.

    Args:
        console: where to tell it.
        run: runs a command line of sitepatch in this process, returns its exit code.
        offline: use the stand-in, ask no network.
    """

    def __init__(self, console: Console, run: Callable[[List[str]], int], *, offline: bool) -> None:
        self.console = console
        self.run = run
        self.offline = offline
        self.proofs: List[Tuple[str, bool]] = []

    def tell(self, *, keep: bool) -> int:
        """Tell all of it; returns 0 if every proof holds, else 1. The directory is removed unless it is to be kept."""
        folder = tempfile.TemporaryDirectory(prefix="sitepatch-demo-")
        pager = os.environ.get("PAGER")
        os.environ["PAGER"] = "cat"  # the story is read in one piece
        try:
            with ExitStack() as stack:
                if self.console.as_json or self.console.quiet:
                    stack.enter_context(redirect_stdout(TextIOWrapper(BytesIO(), encoding="utf-8")))
                source = self._story(Path(folder.name) / "site")
        finally:
            os.environ.pop("PAGER")
            os.environ.update({"PAGER": pager} if pager is not None else {})
            if keep:
                folder._finalizer.detach()  # type: ignore[attr-defined]
            else:
                folder.cleanup()
        good = all(good for _, good in self.proofs)
        if keep:
            self.console.say(f"\nthe directory is kept: {folder.name}")
        proofs = [{"what": what, "ok": held} for what, held in self.proofs]
        self.console.data(good, {"source": source, "proofs": proofs})
        return 0 if good else 1

    def _story(self, site: Path) -> str:
        source = self._fetch(site)
        here = ["--target", str(site)]
        before = tree(site)
        self._step("What is there to apply?", ["list"])
        self._step("What would change? Nothing is written for this.", ["diff", NAME, *here])
        self._prove("diff left the directory as it was", tree(site) == before)
        self._step("Apply it.", ["apply", NAME, *here])
        now = tree(site)
        changed = [path for path, entry in before.items() if path in now and now[path].content != entry.content]
        self._prove(f"{len(changed)} files changed, those of the patchset", sorted(changed) == sorted(FILES))
        self._step("What stands applied?", ["status", *here])
        self._execute(site)
        between = tree(site)
        self._step("Apply it again.", ["apply", NAME, *here])
        self._prove("applying again wrote nothing", tree(site) == between)
        self._step("Take it back.", ["restore", *here])
        after = tree(site)
        self._title("What is left of it?", f"find {site} -type f -exec sha256sum {{}} + -exec stat -c '%n %a %y' {{}} +")
        for path in FILES:
            entry = after[path]
            shown = f"sha256 {entry.content[:16]}… mode {entry.mode & 0o7777:o} mtime_ns {entry.mtime_ns}"
            self._prove(f"{path}: {shown}, as before", entry == before[path])
        self._prove(f"all {len(before)} files and directories are the same, none more, none less", after == before)
        return source

    def _fetch(self, site: Path) -> str:
        """Put mmengine into `site`; returns where it came from."""
        command = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-compile", "--only-binary", ":all:"]
        command += ["--retries", "1", "--timeout", "15", "--disable-pip-version-check", "--target", str(site)]
        command.append(f"mmengine=={VERSION}")
        if not self.offline:
            self._title("The real MMEngine, in a directory of its own.", " ".join(["python", *command[1:]]))
            quiet = self.console.as_json or self.console.quiet
            stream = subprocess.DEVNULL if quiet else None
            ended = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, check=False)
            if ended.returncode == 0 and (site / FILES[0]).is_file():
                return "pip"
            self.console.note(f"pip could not fetch it (exit code {ended.returncode}); a small stand-in is used")
        self._title("A small stand-in of MMEngine, in a directory of its own.", f"mkdir {site}")
        shutil.rmtree(site, ignore_errors=True)  # what pip may have left
        lay_out(f"mmengine-{VERSION}", site)
        return "stand-in"

    def _execute(self, site: Path) -> None:
        self._title(
            "Run the patched files: they compile, and the report is what a rank prints just before DDP.",
            "RANK=1 LOCAL_RANK=1 WORLD_SIZE=2 python train.py   (here its report alone, on a model without torch)",
        )
        env = {**os.environ, "RANK": "1", "LOCAL_RANK": "1", "WORLD_SIZE": "2", "PYTHONIOENCODING": "utf-8"}
        command = [sys.executable, "-B", "-c", _RUN, str(site), *FILES]
        ended = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.console.out(ended.stdout.decode("utf-8", "replace"))
        warned = b'"verdict": "cpu-with-device-ids"' in ended.stdout
        good = ended.returncode == 0 and warned
        self._prove("the patched files compile, and the report names what makes DDP fail", good)

    def _step(self, title: str, words: List[str]) -> None:
        self._title(title, " ".join(["sitepatch", *words]))
        color = [] if self.console.asked_color is None else ["--color" if self.console.asked_color else "--no-color"]
        code = self.run([*words, *color])
        self._prove(f"exit code of sitepatch {words[0]} is {code}", code == 0)

    def _title(self, title: str, command: str) -> None:
        self.console.out("\n", style(f"# {title}", bold=True))
        self.console.out(style("$", fg="cyan"), f" {command}")

    def _prove(self, what: str, good: bool) -> None:
        self.proofs.append((what, good))
        self.console.out(style("✓" if good else "✗ NOT SO:", fg="green" if good else "red"), f" {what}")


def tree(site: Path) -> Dict[str, _Entry]:
    """Everything below a directory, by its `/`-separated path; of directories only that they are there."""
    found = {}
    for path in sorted(site.rglob("*")):
        stat = path.lstat()
        name = path.relative_to(site).as_posix()
        if path.is_symlink():
            found[name] = _Entry(os.readlink(path), 0, stat.st_mtime_ns)
        elif path.is_dir():
            found[name] = _Entry("", stat.st_mode, 0)
        else:
            found[name] = _Entry(sha256(path.read_bytes()).hexdigest(), stat.st_mode, stat.st_mtime_ns)
    return found

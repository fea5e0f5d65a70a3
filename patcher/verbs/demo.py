"""The whole story on a throw-away directory: `sitepatch demo`."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack, redirect_stdout
from hashlib import sha256
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Callable, Dict, List, NamedTuple, Sequence, Tuple

import click

from patcher.errors import UsageError
from patcher.message import Message
from patcher.patchset.sources import find_patchset
from patcher.text.terminal import printable_lines
from patcher.verbs.console import Console
from patcher.verbs.options import common_options
from patcher.verbs.styles import style
from patcher.verbs.translation import translated

NAME, VERSION, OLDER = "mmengine-ddp-debug", "0.10.7", "0.1.0"
SMALL, RUNNER = "mmengine-unused-parameters", "mmengine/runner/runner.py"
_MANIFEST = f"""\
schema = 1
name = "{SMALL}"
version = "1.0"
kind = "default"
summary = "Let DDP look for unused parameters unless the config says otherwise"
[[variant]]
package = "mmengine"
versions = ">=0.1,<1"
patches = ["unused.spatch"]
"""
_HUNK = f"""\
--- {RUNNER}
@@ Runner.wrap_model @@
-self.cfg.get("find_unused_parameters", False)
+self.cfg.get("find_unused_parameters", True)
"""
_EDIT = "# edited by hand"

# Run by the interpreter on the patched directory: torch is not needed, so only the patch's own functions are executed.
_RUN = r"""
import ast, os, sys
site, *paths = sys.argv[1:]
scope = {"os": os}
for path in paths:
    with open(os.path.join(site, path), "rb") as file:
        source = file.read()
    tree = ast.parse(source)
    compile(source, path, "exec")
    print("compiles:", path)
    for node in tree.body:
        names = [getattr(node, "name", "")] + [getattr(target, "id", "") for target in getattr(node, "targets", ())]
        if any(name.startswith("_sitepatch_ddp_") for name in names):
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
scope["_sitepatch_ddp_report"]("Runner.wrap_model", Model(), ["cpu"] * 3, lambda: {"device_ids": [1]})
"""


@click.command("demo", epilog="\b\nExample:\n  sitepatch demo --offline")
@click.option("--keep", is_flag=True, help="Leave the directory for a look at it.")
@click.option("--offline", is_flag=True, help="Use the small stand-in instead of the real mmengine.")
@common_options(environment=False, sources=False)
def command(console: Console, keep: bool, offline: bool) -> int:
    """Show the whole story on a throw-away copy.

    It fetches two releases of MMEngine, patches both with one small hunk, edits one by hand, restores them, and proves that
    nothing but that edit is left. With -v also what a larger patchset does, and the output of its code.
    """

    def run(words: List[str]) -> int:
        group = click.get_current_context().find_root().command
        code: int = group.main(words, "sitepatch", standalone_mode=False)
        return code

    return Demo(console, run, offline=offline).show(keep=keep)


class _Entry(NamedTuple):
    """What is proven to be the same afterwards: sha256 (a link's target), mode, mtime in nanoseconds."""

    content: str
    mode: int
    mtime_ns: int


class Demo:
    """Runs the demo step by step.

    Args:
        console: where its output goes.
        run: runs a command line of sitepatch in this process, returns its exit code.
        offline: use the stand-in, ask no network.
    """

    def __init__(self, console: Console, run: Callable[[List[str]], int], *, offline: bool) -> None:
        self.console = console
        self.run = run
        self.offline = offline
        self.source = "stand-in" if offline else "pip"
        self.proofs: List[Tuple[str, bool]] = []

    def show(self, *, keep: bool) -> int:
        """Run all of it, more with -v; returns 0 if every check holds, else 1. The directory is removed unless `keep`."""
        folder = tempfile.TemporaryDirectory(prefix="sitepatch-demo-")
        pager, cwd = os.environ.get("PAGER"), Path.cwd()
        os.environ["PAGER"] = "cat"  # the story is read in one piece
        try:
            with ExitStack() as stack:
                if self.console.as_json or self.console.quiet:
                    stack.enter_context(redirect_stdout(TextIOWrapper(BytesIO(), encoding="utf-8")))
                os.chdir(folder.name)
                new, old = self._fetch(VERSION), self._fetch(OLDER)
                self._small(new, old)
                if self.console.verbose:
                    self._whole(new)
        finally:
            os.chdir(cwd)
            os.environ.pop("PAGER")
            os.environ.update({"PAGER": pager} if pager is not None else {})
            if keep:
                folder._finalizer.detach()  # type: ignore[attr-defined]
            else:
                folder.cleanup()
        good = all(good for _, good in self.proofs)
        if keep:
            self.console.info(Message("\nthe directory is kept: {name}", name=folder.name))
        proofs = [{"what": proof, "ok": ok} for proof, ok in self.proofs]
        return self.console.answer(good, {"source": self.source, "proofs": proofs})

    def _small(self, new: Path, old: Path) -> None:
        folder = Path("patchsets", SMALL)
        folder.mkdir(parents=True)
        (folder / "patchset.toml").write_text(_MANIFEST, encoding="utf-8")
        (folder / "unused.spatch").write_text(_HUNK, encoding="utf-8")
        before, file = tree(new), old / RUNNER
        pristine = file.read_bytes()
        self._title(
            Message("A small change, as a diff whose context is matched by syntax."), f"cat {folder / 'unused.spatch'}"
        )
        self.console.out(printable_lines(_HUNK[:-1]))
        self._title(
            Message("The same hunk for {version} and for {older}, two and a half years older.", version=VERSION, older=OLDER)
        )
        self._do("apply", SMALL, "-q", "--target", str(new))
        self._do("apply", SMALL, "-q", "--target", str(old))
        self._do("diff", "--target", str(new))
        self._do("status", "--target", str(old))
        self._title(Message("Who edits a patched file by hand keeps the edit."), f"echo '{_EDIT}' >> {file}")
        with file.open("a", encoding="utf-8") as stream:
            stream.write(f"{_EDIT}\n")
        self._do("restore", "-q", "--target", str(old))
        self._prove(Message("our change is gone, the edit is there"), file.read_bytes() == pristine + f"{_EDIT}\n".encode())
        self._title(Message("Restore, and compare with before: bytes, mode, mtime."))
        self._do("restore", "-q", "--target", str(new))
        template = "all {number} files and directories are the same, none more, none less"
        self._prove(Message(template, number=len(before)), tree(new) == before)

    def _whole(self, site: Path) -> None:
        target = ["--target", str(site)]
        before = tree(site)
        patches = (patch for variant in find_patchset(NAME, (), ".").patchset.variants for patch in variant.patches)
        files = sorted(path for path in {path for patch in patches for path in patch.paths} if path in before)
        self._step(Message("What is there to apply?"), ["list"])
        self._step(Message("What would change? Nothing is written for this."), ["diff", NAME, *target])
        self._prove(Message("diff left the directory as it was"), tree(site) == before)
        self._step(Message("Apply it."), ["apply", NAME, *target])
        applied = tree(site)
        changed = [path for path, entry in before.items() if path in applied and applied[path].content != entry.content]
        self._prove(Message("{number} files changed, those of the patchset", number=len(changed)), sorted(changed) == files)
        self._step(Message("What is applied?"), ["status", *target])
        self._execute(site, files)
        between = tree(site)
        self._step(Message("Apply it again."), ["apply", NAME, *target])
        self._prove(Message("applying again wrote nothing"), tree(site) == between)
        self._step(Message("Restore it."), ["restore", *target])
        after = tree(site)
        self._title(
            Message("What is left of it?"), f"find {site} -type f -exec sha256sum {{}} + -exec stat -c '%n %a %y' {{}} +"
        )
        for path in files:
            entry = after[path]
            shown = f"sha256 {entry.content[:16]}… mode {entry.mode & 0o7777:o} mtime_ns {entry.mtime_ns}"
            self._prove(Message("{path}: {shown}, as before", path=path, shown=shown), entry == before[path])
        template = "all {number} files and directories are the same, none more, none less"
        self._prove(Message(template, number=len(before)), after == before)

    def _fetch(self, version: str) -> Path:
        """Put a release of mmengine into a directory, whose path is returned."""
        site = Path(f"mmengine-{version}")
        if version == VERSION:
            self._title(
                Message("MMEngine {version} and {older}, each in a directory of its own.", version=VERSION, older=OLDER)
            )
        command = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-compile", "--only-binary", ":all:"]
        command += ["--retries", "1", "--timeout", "15", "--disable-pip-version-check", "--target", str(site)]
        command.append(f"mmengine=={version}")
        if not self.offline:
            self._command(" ".join(["python", *command[1:]]))
            stream = None if self.console.verbose and not self.console.as_json else subprocess.DEVNULL
            ended = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, check=False)
            if ended.returncode == 0 and (site / RUNNER).is_file():
                return site
            self.console.note(
                Message("pip could not fetch it (exit code {code}); a small stand-in is used", code=ended.returncode)
            )
            self.source = "stand-in"
        shutil.rmtree(site, ignore_errors=True)  # what pip may have left
        self._command(Message("mkdir {site}  # a small stand-in", site=site))
        lay_out(f"mmengine-{version}", site)
        return site

    def _execute(self, site: Path, files: Sequence[str]) -> None:
        self._title(
            Message("Run the patched files: they compile, and the report is what a rank prints just before DDP."),
            Message("RANK=1 LOCAL_RANK=1 WORLD_SIZE=2 python train.py   (here its report alone, on a model without torch)"),
        )
        env = {**os.environ, "RANK": "1", "LOCAL_RANK": "1", "WORLD_SIZE": "2", "PYTHONIOENCODING": "utf-8"}
        command = [sys.executable, "-B", "-c", _RUN, str(site), *files]
        ended = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.console.out(printable_lines(ended.stdout.decode("utf-8", "replace")))
        stated = b'"devices": {"cpu": 3}' in ended.stdout and b'"device_ids": [1]' in ended.stdout
        good = ended.returncode == 0 and stated
        self._prove(Message("the patched files compile, and the report names what makes DDP fail"), good)

    def _step(self, title: str, words: List[str]) -> None:
        self._title(title)
        self._do(*words)

    def _do(self, *words: str) -> None:
        self._command(" ".join(["sitepatch", *words]))
        color = [] if self.console.color_option is None else ["--color" if self.console.color_option else "--no-color"]
        code = self.run([*words, *color])
        template = "exit code of sitepatch {words} is {code}"
        self._prove(Message(template, words=words[0], code=code), code == 0, show=self.console.verbose or code != 0)

    def _title(self, title: str, command: str = "") -> None:
        self.console.out("\n", style(f"# {translated(title)}", bold=True))
        if command:
            self._command(command)

    def _command(self, command: str) -> None:
        self.console.out(style("$", fg="cyan"), f" {command}")

    def _prove(self, proof: str, good: bool, *, show: bool = True) -> None:
        self.proofs.append((proof, good))
        if show:
            self.console.out(style("✓" if good else translated("✗ NOT SO:"), fg="green" if good else "red"), f" {proof}")


def tree(site: Path) -> Dict[str, _Entry]:
    """Everything below a directory, by its `/`-separated path; of directories only that they are there."""
    entries = {}
    for path in sorted(site.rglob("*")):
        stat = path.lstat()
        name = path.relative_to(site).as_posix()
        if path.is_symlink():
            entries[name] = _Entry(os.readlink(path), 0, stat.st_mtime_ns)
        elif path.is_dir():
            entries[name] = _Entry("", stat.st_mode, 0)
        else:
            entries[name] = _Entry(sha256(path.read_bytes()).hexdigest(), stat.st_mode, stat.st_mtime_ns)
    return entries


def fixtures_dir() -> Path:
    """The directory of the stand-ins: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).parents[1]
    installed = package / "_fixtures"
    return installed if installed.is_dir() else package.parent / "fixtures"


def fixtures() -> List[str]:
    """The names that `lay_out` takes, sorted."""
    return sorted(path.name for path in fixtures_dir().iterdir() if path.is_dir() and "-" in path.name)


def lay_out(name: str, dest: Path) -> None:
    """Put a stand-in into a directory as pip would have installed it.

    Args:
        name: `NAME-VERSION` or `NAME-VERSION-LABEL`; a label tells variants of one release apart and is not installed,
            because a vendor's build may carry the stock version number.
        dest: the site directory; made if it does not exist. Other distributions in it are left alone.

    Raises:
        UsageError: there is no such stand-in.
        FileExistsError: the distribution is in `dest` already.
    """
    names = fixtures()
    if name not in names:
        raise UsageError('there is no fixture "{name}"', "known fixtures: {names}", name=name, names=", ".join(names))
    source = fixtures_dir() / name
    distribution, version = name.split("-")[:2]
    info = f"{distribution}-{version}.dist-info"
    (dest / info).mkdir(parents=True)
    files = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n".encode(),
        f"{info}/INSTALLER": b"pip\n",
    }
    for path in source.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            target = dest / path.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
            files[path.relative_to(source).as_posix()] = path.read_bytes()
    rows: List[Tuple[str, str, str]] = [(path, _sha256(data), str(len(data))) for path, data in sorted(files.items())]
    record = "".join(f"{','.join(row)}\n" for row in [*rows, (f"{info}/RECORD", "", "")])
    files[f"{info}/RECORD"] = record.encode()
    for entry in ("METADATA", "INSTALLER", "RECORD"):
        (dest / info / entry).write_bytes(files[f"{info}/{entry}"])


def _sha256(data: bytes) -> str:
    """A hash as RECORD writes it: urlsafe base64 without padding (PEP 376, PEP 427)."""
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()

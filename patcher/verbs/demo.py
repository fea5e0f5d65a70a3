"""`demo`: the whole story on a throw-away directory."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path

import click

from patcher.display.console import Console
from patcher.display.styles import style, translated
from patcher.errors import UsageError
from patcher.message import Message
from patcher.patchset.places import fixtures_dir
from patcher.record import Record
from patcher.text.terminal import printable_lines
from patcher.verbs.options import common_options

VERSION, OLDER = "0.10.7", "0.1.0"
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
_PIP_OPTIONS = (
    "--no-deps",
    "--no-compile",
    "--only-binary",
    ":all:",
    "--disable-pip-version-check",
    "--retries",
    "1",
    "--timeout",
    "15",
)


@click.command("demo", epilog="\b\nExample:\n  sitepatch demo")
@common_options(environment=False, sources=False)
def command(console: Console) -> int:
    """Show the whole story on a throw-away copy.

    It fetches two releases of MMEngine (a small stand-in where pip cannot), patches both with one
    small hunk, edits one by hand, restores them, and proves that nothing but that edit is left.
    """
    return Demo(console).show()


# the story ----------------------------------------------------------------------------------------
class Proof(Record):
    """Something that the demo proves.

    Attributes:
        what: what it is.
        ok: whether it holds.
    """

    what: str
    ok: bool


class DemoAnswer(Record):
    """What the demo has shown.

    Attributes:
        source: where the releases of MMEngine came from.
        proofs: what it proves.
    """

    source: str
    proofs: tuple[Proof, ...]


class Demo:
    """Runs the demo step by step."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.source = "pip"
        self.proofs: list[Proof] = []

    def show(self) -> int:
        """Run all of it in a directory that is removed; returns 0 if every check holds, else 1."""
        environ = dict(os.environ)
        cwd = Path.cwd()
        os.environ["PAGER"] = "cat"  # the story is read in one piece
        with tempfile.TemporaryDirectory(prefix="sitepatch-demo-") as folder, ExitStack() as stack:
            if self.console.as_json or self.console.quiet:
                nowhere = TextIOWrapper(BytesIO(), encoding="utf-8")
                stack.enter_context(redirect_stdout(nowhere))
            try:
                os.chdir(folder)
                self._run()
            finally:
                os.chdir(cwd)
                os.environ.pop("PAGER")
                os.environ.update(environ)
        ok = all(proof.ok for proof in self.proofs)
        return self.console.answer(ok, DemoAnswer(self.source, tuple(self.proofs)))

    def _run(self) -> None:
        title = "MMEngine {version} and {older}, each in a directory of its own."
        self._title(Message(title, version=VERSION, older=OLDER))
        new = self._fetch(VERSION)
        old = self._fetch(OLDER)
        new_before = tree(new)
        edited_file = old / RUNNER
        pristine = edited_file.read_bytes()

        folder = Path("patchsets", SMALL)
        folder.mkdir(parents=True)
        (folder / "patchset.toml").write_text(_MANIFEST, encoding="utf-8")
        spatch = folder / "unused.spatch"
        spatch.write_text(_HUNK, encoding="utf-8")
        self._title(
            Message("A small change, as a diff whose context is matched by syntax."),
            f"cat {spatch}",
        )
        self.console.out(printable_lines(_HUNK[:-1]))

        title = "The same hunk for {version} and for {older}, two and a half years older."
        self._title(Message(title, version=VERSION, older=OLDER))
        self._do("apply", SMALL, "-q", "--target", str(new))
        self._do("apply", SMALL, "-q", "--target", str(old))
        self._do("diff", "--target", str(new))
        self._do("status", "--target", str(old))

        self._title(
            Message("Who edits a patched file by hand keeps the edit."),
            f"echo '{_EDIT}' >> {edited_file}",
        )
        with edited_file.open("a", encoding="utf-8") as stream:
            stream.write(f"{_EDIT}\n")
        self._do("restore", "-q", "--target", str(old))
        is_kept = edited_file.read_bytes() == pristine + f"{_EDIT}\n".encode()
        self._prove(Message("our change is gone, the edit is there"), is_kept)

        self._title(Message("Restore, and compare with before: bytes, mode, mtime."))
        self._do("restore", "-q", "--target", str(new))
        template = "all {number} files and directories are the same, none more, none less"
        self._prove(Message(template, number=len(new_before)), tree(new) == new_before)

    def _fetch(self, version: str) -> Path:
        """Put a release of mmengine into a directory, whose path is returned."""
        site = Path(f"mmengine-{version}")
        if self.source == "pip":  # not once more where it has failed
            code = self._pip_install(site, f"mmengine=={version}")
            if code == 0 and (site / RUNNER).is_file():
                return site
            template = "pip could not fetch it (exit code {code}); a small stand-in is used"
            self.console.note(Message(template, code=code))
            self.source = "stand-in"
        shutil.rmtree(site, ignore_errors=True)  # what pip may have left
        self._command(Message("mkdir {site}  # a small stand-in", site=site))
        lay_out(f"mmengine-{version}", site)
        return site

    def _pip_install(self, site: Path, release: str) -> int:
        """Have pip install a release into a directory; returns its exit code."""
        words = ["-m", "pip", "install", *_PIP_OPTIONS, "--target", str(site), release]
        self._command(" ".join(["python", *words]))
        child = subprocess.run(
            [sys.executable, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=None if self.console.verbose else subprocess.DEVNULL,
            check=False,
        )
        return child.returncode

    def _do(self, *words: str) -> None:
        """Run a command of sitepatch, which has to succeed."""
        self._command(" ".join(["sitepatch", *words]))
        sitepatch = click.get_current_context().find_root().command
        code: int = sitepatch.main([*words], "sitepatch", standalone_mode=False)
        proof = Message("exit code of sitepatch {verb} is {code}", verb=words[0], code=code)
        self._prove(proof, code == 0, show=code != 0)

    def _title(self, title: str, command: str = "") -> None:
        self.console.out("\n", style(f"# {translated(title)}", bold=True))
        if command:
            self._command(command)

    def _command(self, command: str) -> None:
        self.console.out(style("$", fg="cyan"), f" {command}")

    def _prove(self, proof: str, ok: bool, *, show: bool = True) -> None:
        self.proofs.append(Proof(proof, ok=ok))
        if show:
            mark = style("✓", fg="green") if ok else style(translated("✗ NOT SO:"), fg="red")
            self.console.out(mark, f" {proof}")


def tree(site: Path) -> dict[str, tuple[bytes, int, int]]:
    """The bytes, mode and mtime of each file below a directory; of directories only the mode."""
    entries: dict[str, tuple[bytes, int, int]] = {}
    for path in site.rglob("*"):
        info = path.lstat()
        entry = (b"", info.st_mode, 0)
        if not path.is_dir():
            entry = (path.read_bytes(), info.st_mode, info.st_mtime_ns)
        entries[path.relative_to(site).as_posix()] = entry
    return entries


# stand-ins ----------------------------------------------------------------------------------------
def fixtures() -> list[str]:
    """The names that `lay_out` takes, sorted."""
    folders = [path for path in Path(fixtures_dir()).iterdir() if path.is_dir()]
    return sorted(folder.name for folder in folders if "-" in folder.name)


def lay_out(name: str, dest: Path) -> None:
    """Put a stand-in into a directory as pip would have installed it.

    Args:
        name: `NAME-VERSION` or `NAME-VERSION-LABEL`; a label tells variants of one release apart
            and is not installed, because a vendor's build may carry the stock version number.
        dest: the site directory; made if it does not exist. Other distributions in it are left
            alone.

    Raises:
        UsageError: there is no such stand-in.
        FileExistsError: the distribution is in `dest` already.
    """
    names = fixtures()
    if name not in names:
        problem = 'there is no fixture "{name}"'
        raise UsageError(problem, "known fixtures: {names}", name=name, names=", ".join(names))
    distribution, version = name.split("-")[:2]
    info = f"{distribution}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n"

    files = _files_below(Path(fixtures_dir(), name))
    files[f"{info}/METADATA"] = metadata.encode()
    files[f"{info}/INSTALLER"] = b"pip\n"
    record = [_record_row(path, files[path]) for path in sorted(files)]
    record.append(f"{info}/RECORD,,\n")
    files[f"{info}/RECORD"] = "".join(record).encode()

    (dest / info).mkdir(parents=True)
    for path, data in files.items():
        (dest / path).parent.mkdir(parents=True, exist_ok=True)
        (dest / path).write_bytes(data)


def _files_below(folder: Path) -> dict[str, bytes]:
    """The files of a stand-in, by their paths."""
    files: dict[str, bytes] = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and "__pycache__" not in name:
            files[name] = path.read_bytes()
    return files


def _record_row(path: str, data: bytes) -> str:
    """A row of RECORD, as PEP 376 has it."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
    return f"{path},sha256={digest.decode()},{len(data)}\n"

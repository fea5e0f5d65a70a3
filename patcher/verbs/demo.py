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
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import click

from patcher.display.console import Console
from patcher.display.styles import style, translated
from patcher.errors import UsageError
from patcher.message import Message
from patcher.patchset.places import fixtures_dir
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


@click.command("demo", epilog="\b\nExample:\n  sitepatch demo")
@common_options(environment=False, sources=False)
def command(console: Console) -> int:
    """Show the whole story on a throw-away copy.

    It fetches two releases of MMEngine (a small stand-in where pip cannot), patches both with one small hunk, edits one by
    hand, restores them, and proves that nothing but that edit is left.
    """
    return Demo(console).show()


class Demo:
    """Runs the demo step by step."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.source = "pip"
        self.proofs: list[dict[str, Any]] = []

    def show(self) -> int:
        """Run all of it in a directory that is removed; returns 0 if every check holds, else 1."""
        environ, cwd = dict(os.environ), Path.cwd()
        os.environ["PAGER"] = "cat"  # the story is read in one piece
        with tempfile.TemporaryDirectory(prefix="sitepatch-demo-") as folder, ExitStack() as stack:
            if self.console.as_json or self.console.quiet:
                stack.enter_context(redirect_stdout(TextIOWrapper(BytesIO(), encoding="utf-8")))
            try:
                os.chdir(folder)
                self._tell()
            finally:
                os.chdir(cwd)
                os.environ.pop("PAGER")
                os.environ.update(environ)
        good = all(proof["ok"] for proof in self.proofs)
        return self.console.answer(good, {"source": self.source, "proofs": self.proofs})

    def _tell(self) -> None:
        self._title(
            Message(
                "MMEngine {version} and {older}, each in a directory of its own.",
                version=VERSION,
                older=OLDER,
            )
        )
        new, old = self._fetch(VERSION), self._fetch(OLDER)
        folder = Path("patchsets", SMALL)
        folder.mkdir(parents=True)
        (folder / "patchset.toml").write_text(_MANIFEST, encoding="utf-8")
        (folder / "unused.spatch").write_text(_HUNK, encoding="utf-8")
        before, file = tree(new), old / RUNNER
        pristine = file.read_bytes()
        self._title(
            Message("A small change, as a diff whose context is matched by syntax."),
            f"cat {folder / 'unused.spatch'}",
        )
        self.console.out(printable_lines(_HUNK[:-1]))
        self._title(
            Message(
                "The same hunk for {version} and for {older}, two and a half years older.",
                version=VERSION,
                older=OLDER,
            )
        )
        self._do("apply", SMALL, "-q", "--target", str(new))
        self._do("apply", SMALL, "-q", "--target", str(old))
        self._do("diff", "--target", str(new))
        self._do("status", "--target", str(old))
        self._title(
            Message("Who edits a patched file by hand keeps the edit."), f"echo '{_EDIT}' >> {file}"
        )
        with file.open("a", encoding="utf-8") as stream:
            stream.write(f"{_EDIT}\n")
        self._do("restore", "-q", "--target", str(old))
        self._prove(
            Message("our change is gone, the edit is there"),
            file.read_bytes() == pristine + f"{_EDIT}\n".encode(),
        )
        self._title(Message("Restore, and compare with before: bytes, mode, mtime."))
        self._do("restore", "-q", "--target", str(new))
        template = "all {number} files and directories are the same, none more, none less"
        self._prove(Message(template, number=len(before)), tree(new) == before)

    def _fetch(self, version: str) -> Path:
        """Put a release of mmengine into a directory, whose path is returned."""
        site = Path(f"mmengine-{version}")
        options = [
            "--no-deps",
            "--no-compile",
            "--only-binary",
            ":all:",
            "--disable-pip-version-check",
        ]
        options += ["--retries", "1", "--timeout", "15"]
        words = ["-m", "pip", "install", *options, "--target", str(site), f"mmengine=={version}"]
        if self.source == "pip":  # not once more where it has failed
            self._command(" ".join(["python", *words]))
            none, shown = subprocess.DEVNULL, None if self.console.verbose else subprocess.DEVNULL
            code = subprocess.run(
                [sys.executable, *words], stdin=none, stdout=none, stderr=shown, check=False
            ).returncode
            if code == 0 and (site / RUNNER).is_file():
                return site
            self.console.note(
                Message(
                    "pip could not fetch it (exit code {code}); a small stand-in is used", code=code
                )
            )
            self.source = "stand-in"
        shutil.rmtree(site, ignore_errors=True)  # what pip may have left
        self._command(Message("mkdir {site}  # a small stand-in", site=site))
        lay_out(f"mmengine-{version}", site)
        return site

    def _do(self, *words: str) -> None:
        self._command(" ".join(["sitepatch", *words]))
        code: int = (
            click.get_current_context()
            .find_root()
            .command.main([*words], "sitepatch", standalone_mode=False)
        )
        self._prove(
            Message("exit code of sitepatch {verb} is {code}", verb=words[0], code=code),
            code == 0,
            show=code != 0,
        )

    def _title(self, title: str, command: str = "") -> None:
        self.console.out("\n", style(f"# {translated(title)}", bold=True))
        if command:
            self._command(command)

    def _command(self, command: str) -> None:
        self.console.out(style("$", fg="cyan"), f" {command}")

    def _prove(self, proof: str, good: bool, *, show: bool = True) -> None:
        self.proofs.append({"what": proof, "ok": good})
        if show:
            self.console.out(
                style("✓" if good else translated("✗ NOT SO:"), fg="green" if good else "red"),
                f" {proof}",
            )


def tree(site: Path) -> dict[str, tuple[bytes, int, int]]:
    """The bytes, mode and mtime of each file below a directory, by its path; of directories only the mode."""
    infos = {path: path.lstat() for path in site.rglob("*")}
    return {
        path.relative_to(site).as_posix(): (b"", info.st_mode, 0)
        if path.is_dir()
        else (path.read_bytes(), info.st_mode, info.st_mtime_ns)
        for path, info in infos.items()
    }


def fixtures() -> list[str]:
    """The names that `lay_out` takes, sorted."""
    return sorted(
        path.name for path in Path(fixtures_dir()).iterdir() if path.is_dir() and "-" in path.name
    )


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
        raise UsageError(
            'there is no fixture "{name}"',
            "known fixtures: {names}",
            name=name,
            names=", ".join(names),
        )
    distribution, version = name.split("-")[:2]
    info, source = f"{distribution}-{version}.dist-info", Path(fixtures_dir(), name)
    files = {
        path.relative_to(source).as_posix(): path.read_bytes()
        for path in source.rglob("*")
        if path.is_file()
    }
    files = {path: data for path, data in files.items() if "__pycache__" not in path}
    files[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n".encode()
    )
    files[f"{info}/INSTALLER"] = b"pip\n"
    record = []
    for path, data in sorted(files.items()):
        # as PEP 376 has it
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record.append(f"{path},sha256={digest},{len(data)}\n")
    files[f"{info}/RECORD"] = "".join([*record, f"{info}/RECORD,,\n"]).encode()
    (dest / info).mkdir(parents=True)
    for path, data in files.items():
        (dest / path).parent.mkdir(parents=True, exist_ok=True)
        (dest / path).write_bytes(data)

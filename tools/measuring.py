"""What a command costs: CPU seconds of whole processes, as multiples of a bare start of Python."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Callable, Mapping, NamedTuple, Sequence

ROOT = Path(__file__).resolve().parents[1]
OURS = [sys.executable, "-c", "from patcher.__main__ import main; main()"]
BARE = [sys.executable, "-c", "pass"]


class Row(NamedTuple):
    """One command to measure; `prepare` brings the directory into the state it starts from."""

    name: str
    command: Sequence[str]
    cwd: Path
    prepare: Callable[[], object] = lambda: None


class Workplace(NamedTuple):
    """The directory of a measurement, and its environment variables.

    `offline` is whether neither pip nor npm may be used.
    """

    folder: Path
    environ: Mapping[str, str]
    offline: bool

    def quiet(self, command: Sequence[str], cwd: Path | None = None) -> None:
        """Run a command without its output. Raises CalledProcessError."""
        subprocess.run(
            command,
            cwd=str(cwd or self.folder),
            env=dict(self.environ),
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def succeeds(self, command: Sequence[str], cwd: Path | None = None) -> bool:
        """Whether a command is there and ends with exit code 0."""
        try:
            self.quiet(command, cwd)
        except (OSError, subprocess.CalledProcessError):
            return False
        return True


def clean_environ() -> dict[str, str]:
    """The environment variables for this checkout, without what changes a start of Python."""
    environ = dict(os.environ)
    for name in ("PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV"):
        environ.pop(name, None)
    environ["PYTHONPATH"] = str(ROOT)
    return environ


def cpu_seconds(command: Sequence[str], cwd: Path, environ: Mapping[str, str]) -> float:
    """User and system seconds of a process and its children; ends the program where it fails."""
    process = subprocess.Popen(
        command, cwd=str(cwd), env=dict(environ), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    process.stderr.close()
    if status:
        raise SystemExit(f"{' '.join(command)} failed in {cwd}:\n{errors.decode(errors='replace')}")
    return usage.ru_utime + usage.ru_stime


def copied(source: Path, target: Path) -> Callable[[], object]:
    """What copies a file to its place, before each round."""
    target.parent.mkdir(parents=True, exist_ok=True)
    return lambda: shutil.copyfile(str(source), str(target))

"""What a hook costs at every start of Python when there is nothing to do, as a multiple of a bare start.

    python -m tools.startup [--rounds 100] [PYTHON...]

CPU time (user and system) of `python -c pass` in environments that differ in the hook alone: none, one that watches 2 files,
one that watches 50, and for comparison a .pth file that imports `sys`, and one that imports an empty module. Interleaved, in an
order that is drawn for each round; the figures are medians. Without PYTHON every interpreter of pyenv and on the path is measured,
from 3.8 on. Needs no network. `python -m tools.benchmarks` prints it too.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Sequence

from tests.hooks import packed
from tests.index import wheel
from tools.benchmarks import cpu_seconds, patchset

AIM = 1.06
FILES = (2, 50)
ROOT = Path(__file__).resolve().parents[1]


def interpreters() -> list[str]:
    """One interpreter for each Python version from 3.8 on that is here, the oldest first."""
    found: dict[str, str] = {}
    for minor in range(8, 16):
        pyenv = sorted((Path.home() / ".pyenv" / "versions").glob(f"3.{minor}.*/bin/python"))
        for python in [*map(str, pyenv), shutil.which(f"python3.{minor}")]:
            if python and told(python) == f"3.{minor}":
                found.setdefault(f"3.{minor}", python)
    return list(found.values())


def told(python: str) -> str:
    """The version that an interpreter tells, "" where it does not start."""
    line = [python, "-c", "import sys, venv; print('%d.%d' % sys.version_info[:2])"]
    done = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return done.stdout.decode().strip()


def quiet(command: Sequence[str], folder: Path, environ: dict[str, str]) -> None:
    """Run a command; what it prints is shown only if it fails."""
    done = subprocess.run(
        command, cwd=str(folder), env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout.decode(errors='replace')}")


def sitepatch(folder: Path, *words: str) -> None:
    """Run the command of this checkout."""
    quiet(
        [sys.executable, "-m", "patcher", *words], folder, {**os.environ, "PYTHONPATH": str(ROOT)}
    )


def unpack(data: Path, python: Path) -> None:
    """Install a wheel as uv does: the files as they are, nothing compiled."""
    (site,) = python.parents[1].glob("lib/python3*/site-packages")
    with zipfile.ZipFile(data) as archive:
        archive.extractall(site)


def environment(folder: Path, python: str, wheels: Sequence[Path]) -> Path:
    """A virtual environment with these wheels; returns its interpreter."""
    subprocess.run([python, "-m", "venv", "--without-pip", str(folder)], check=True)
    for each in wheels:
        unpack(each, folder / "bin" / "python")
    return folder / "bin" / "python"


def hook(work: Path, count: int) -> list[Path]:
    """The wheels of a package with so many modules and of a hook that patches them all."""
    name = f"many{count}"
    project = work / name
    project.mkdir()
    files = {
        f"{name}/__init__.py": "",
        **{f"{name}/m{number}.py": "VALUE = 1\n" for number in range(count)},
    }
    target = project / f"{name}-1.0-py3-none-any.whl"
    target.write_bytes(wheel(name, "1.0", files))
    text = "".join(
        f"--- {name}/m{number}.py\n@@ <module> @@\n-VALUE = 1\n+VALUE = 2\n"
        for number in range(count)
    )
    patchset(project / "patchsets", f"patch-{count}", name, f"Change them all.\n\n{text}")
    sitepatch(project, "hook", "init", "patches", f"patch-{count}")
    return [target, packed(project / "patches", project / "dist")]


def environments(
    work: Path, python: str, wheels: dict[int, list[Path]], environ: dict[str, str]
) -> dict[str, Path]:
    """What is measured with one interpreter, by name; every hook has done its work and is found to have done it."""
    here = work / f"python{told(python)}"
    made = {
        "none": environment(here / "none", python, []),
        "a .pth alone": environment(here / "pth", python, []),
    }
    made["an empty module"] = environment(here / "empty", python, [])
    for name, module in (("pth", "sys"), ("empty", "nothing")):
        (site,) = (here / name).glob("lib/python3*/site-packages")
        (site / "nothing.pth").write_text(f"import {module}\n")
    (site / "nothing.py").write_text("")
    for count, both in wheels.items():
        made[f"{count} files"] = prepared = environment(here / str(count), python, both)
        (folder,) = (here / str(count)).glob("lib/python3*/site-packages/_sitepatch_hook_*")
        keep = f"import sys; from patcher.verbs.hook_start import main; sys.exit(main({str(folder)!r}, 'repair'))"  # as its start would
        quiet([sys.executable, "-c", keep], work, {**os.environ, "PYTHONPATH": str(ROOT)})
        look = f"import many{count}.m{count - 1} as m; assert m.VALUE == 2"
        quiet([str(prepared), "-c", look], work, environ)
    for prepared in made.values():
        cpu_seconds([str(prepared), "-c", "pass"], work, environ)
    return made


def main() -> int:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("python", nargs="*", help="interpreters to measure")
    asked = parser.parse_args()
    table(asked.rounds, asked.python or interpreters())
    return 0


def table(rounds: int, pythons: Sequence[str]) -> None:
    """Measure and print a line for each interpreter."""
    environ = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("PYTHON", "VIRTUAL_ENV", "SITEPATCH"))
    }
    with tempfile.TemporaryDirectory(prefix="sitepatch-startup-") as folder:
        work = Path(folder)
        wheels = {count: hook(work, count) for count in FILES}
        all_of_them = {python: environments(work, python, wheels, environ) for python in pythons}
        print(
            f"what a hook with nothing to do adds to a bare start (aim {AIM} x; median of {rounds} rounds)"
        )
        for python, made in all_of_them.items():
            print(line(python, measure(work, made, environ, rounds)), flush=True)


def measure(
    work: Path, made: dict[str, Path], environ: dict[str, str], rounds: int
) -> dict[str, list[float]]:
    """CPU seconds of each start, by name."""
    times: dict[str, list[float]] = {name: [] for name in made}
    chance = random.Random(1)
    for _ in range(rounds):
        for name in chance.sample(sorted(made), len(made)):
            times[name].append(cpu_seconds([str(made[name]), "-c", "pass"], work, environ))
    return times


def line(python: str, times: dict[str, list[float]]) -> str:
    """What was measured with one interpreter."""
    bare = statistics.median(times["none"])
    found = [f"Python {told(python):<5} bare {bare * 1000:5.1f} ms"]
    for name, each in times.items():
        if name != "none":
            median = statistics.median(each)
            found.append(f"{name}: + {(median - bare) * 1000:4.2f} ms, {median / bare:.3f} x")
    return "   ".join(found)


if __name__ == "__main__":
    sys.exit(main())

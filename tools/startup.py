"""What a hook costs at every start of Python when there is nothing to do.

    python -m tools.startup [--rounds 100] [PYTHON...]

CPU time (user and system) of `python -c pass`, as a multiple of a bare start, in environments that
differ in the hook alone: none, one that watches 2 files, one that watches 50, and for comparison a
.pth file that imports `sys`, and one that imports an empty module. Interleaved, in an order that is
drawn for each round; the figures are medians. Without PYTHON every interpreter of pyenv and on the
path is measured, from 3.8 on. Needs no network. `python -m tools.benchmarks` prints it, too.
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
from typing import Iterable, Mapping, Sequence

from tests.hooks import packed
from tests.index import wheel
from tools.measuring import ROOT, cpu_seconds
from tools.samples import patchset

AIM = 1.06
FILES = (2, 50)
NO_HOOK = "none"
KEEP = "import sys; from patcher.verbs.hook_start import main; sys.exit(main({folder!r}, 'repair'))"
"""What a start with a hook runs where something is to be done."""


# interpreters ---------------------------------------------------------------------------------
def interpreters() -> list[str]:
    """One interpreter for each Python version from 3.8 on that is here, the oldest first."""
    found = []
    for minor in range(8, 16):
        versions = Path.home() / ".pyenv" / "versions"
        candidates = [str(path) for path in sorted(versions.glob(f"3.{minor}.*/bin/python"))]
        on_path = shutil.which(f"python3.{minor}")
        if on_path:
            candidates.append(on_path)
        usable = [python for python in candidates if version(python) == f"3.{minor}"]
        found += usable[:1]
    return found


def version(python: str) -> str:
    """The version of an interpreter, empty where it does not start."""
    code = "import sys, venv; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([python, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return done.stdout.decode().strip()


# environments ---------------------------------------------------------------------------------
def quiet(command: Sequence[str], folder: Path, environ: Mapping[str, str]) -> None:
    """Run a command; what it prints is shown only if it fails."""
    done = subprocess.run(
        command,
        cwd=str(folder),
        env=dict(environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout.decode(errors='replace')}")


def our_python(folder: Path, *words: str) -> None:
    """Run Python with this checkout."""
    quiet([sys.executable, *words], folder, {**os.environ, "PYTHONPATH": str(ROOT)})


def environment(folder: Path, python: str, wheels: Iterable[Path] = ()) -> Path:
    """A virtual environment with these wheels, unpacked as uv does; returns its site directory."""
    subprocess.run([python, "-m", "venv", "--without-pip", str(folder)], check=True)
    (site,) = folder.glob("lib/python3*/site-packages")
    for path in wheels:
        with zipfile.ZipFile(path) as archive:
            archive.extractall(site)
    return site


def hook(work: Path, count: int) -> list[Path]:
    """The wheels of a package with so many modules, and of a hook that patches them all."""
    name = f"many{count}"
    project = work / name
    project.mkdir()
    files = {f"{name}/__init__.py": ""}
    text = "Change them all.\n\n"
    for number in range(count):
        path = f"{name}/m{number}.py"
        files[path] = "VALUE = 1\n"
        text += f"--- {path}\n@@ <module> @@\n-VALUE = 1\n+VALUE = 2\n"
    target = project / f"{name}-1.0-py3-none-any.whl"
    target.write_bytes(wheel(name, "1.0", files))
    patchset(project / "patchsets", f"patch-{count}", name, text)
    our_python(project, "-m", "patcher", "hook", "init", "patches", f"patch-{count}")
    return [target, packed(project / "patches", project / "dist")]


def environments(
    work: Path, python: str, hooks: Mapping[int, Sequence[Path]], environ: Mapping[str, str]
) -> dict[str, Path]:
    """The interpreters that are measured, by what their environment has.

    Every hook has done its work, and is found to have done it.
    """
    top = work / f"python{version(python)}"
    folders = {NO_HOOK: top / "none", "a .pth alone": top / "pth", "an empty module": top / "empty"}
    environment(folders[NO_HOOK], python)
    site = environment(folders["a .pth alone"], python)
    (site / "nothing.pth").write_text("import sys\n")
    site = environment(folders["an empty module"], python)
    (site / "nothing.pth").write_text("import nothing\n")
    (site / "nothing.py").write_text("")
    for count, wheels in hooks.items():
        folder = folders[f"{count} files"] = top / str(count)
        site = environment(folder, python, wheels)
        (hook_folder,) = site.glob("_sitepatch_hook_*")
        our_python(work, "-c", KEEP.format(folder=str(hook_folder)))
        look = f"import many{count}.m{count - 1} as m; assert m.VALUE == 2"
        quiet([str(folder / "bin" / "python"), "-c", look], work, environ)

    pythons = {name: folder / "bin" / "python" for name, folder in folders.items()}
    for executable in pythons.values():
        cpu_seconds([str(executable), "-c", "pass"], work, environ)
    return pythons


# measuring ------------------------------------------------------------------------------------
def table(rounds: int, pythons: Sequence[str]) -> None:
    """Measure and print a line for each interpreter."""
    environ = {}
    for name, value in os.environ.items():
        if not name.startswith(("PYTHON", "VIRTUAL_ENV", "SITEPATCH")):
            environ[name] = value
    with tempfile.TemporaryDirectory(prefix="sitepatch-startup-") as folder:
        work = Path(folder)
        hooks = {count: hook(work, count) for count in FILES}
        prepared = {python: environments(work, python, hooks, environ) for python in pythons}
        print(
            "what a hook with nothing to do adds to a bare start "
            f"(aim {AIM} x; median of {rounds} rounds)"
        )
        for python, executables in prepared.items():
            print(line(python, measure(work, executables, environ, rounds)), flush=True)


def measure(
    work: Path, executables: Mapping[str, Path], environ: Mapping[str, str], rounds: int
) -> dict[str, float]:
    """The median of the CPU seconds of a start, by name."""
    times: dict[str, list[float]] = {name: [] for name in executables}
    chance = random.Random(1)
    for _ in range(rounds):
        for name in chance.sample(sorted(executables), len(executables)):
            command = [str(executables[name]), "-c", "pass"]
            times[name].append(cpu_seconds(command, work, environ))
    return {name: statistics.median(seconds) for name, seconds in times.items()}


def line(python: str, medians: Mapping[str, float]) -> str:
    """What was measured with one interpreter."""
    bare = medians[NO_HOOK]
    parts = [f"Python {version(python):<5} bare {bare * 1000:5.1f} ms"]
    for name, median in medians.items():
        if name != NO_HOOK:
            more = (median - bare) * 1000
            parts.append(f"{name}: + {more:4.2f} ms, {median / bare:.3f} x")
    return "   ".join(parts)


def main() -> int:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("python", nargs="*", help="interpreters to measure")
    options = parser.parse_args()
    table(options.rounds, options.python or interpreters())
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""From a saved edit to a patch: `sitepatch capture` beside patch-package, each with one line added to a large file of a real package.

    python -m tools.authoring [--rounds 3]

Wall time of whole commands, interleaved; the figure is the median, the ratio is within one run. Both find out by themselves
what was installed: patch-package asks the npm registry, `capture` the index of pip; no cache of sitepatch is kept between the
rounds. `capture` also proves that the hunk makes the edit and prints it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Sequence

ADDED = "var added_by_hand = true;\n"


def run(line: Sequence[str], cwd: Path, environ: dict[str, str]) -> float:
    """The seconds that a command took; ends the run where it fails."""
    began = time.perf_counter()
    done = subprocess.run(
        line, cwd=str(cwd), env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(line)} failed:\n{done.stdout.decode(errors='replace')}")
    return time.perf_counter() - began


def main() -> int:
    """Measure and print both, and the ratio."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    if shutil.which("npm") is None:
        raise SystemExit("npm is not here: nothing to compare with")
    environ = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith("PYTHON") and key != "VIRTUAL_ENV"
    }
    environ["PYTHONPATH"] = str(Path(__file__).resolve().parents[1])
    times: dict[str, list[float]] = {"sitepatch capture": [], "patch-package": []}
    with tempfile.TemporaryDirectory(prefix="sitepatch-authoring-") as folder:
        work = Path(folder)
        environ["SITEPATCH_CACHE"] = str(work / "cache")
        site = work / "site"
        run(
            [
                sys.executable,
                "-m",
                "pip",
                "install",
                "-q",
                "--no-deps",
                "--target",
                str(site),
                "mmengine==0.10.7",
            ],
            work,
            environ,
        )
        edited = site / "mmengine" / "runner" / "runner.py"
        text = edited.read_text(encoding="utf-8")
        place = text.index("        self.model = self.wrap_model(")
        edited.write_text(
            text[:place] + "        print('before wrapping', self._launcher)\n" + text[place:],
            encoding="utf-8",
        )
        node = work / "node"
        node.mkdir()
        (node / "package.json").write_text(
            '{"name": "bench", "version": "1.0.0", "dependencies": {"lodash": "4.17.21"}}'
        )
        run(
            [
                "npm",
                "install",
                "--silent",
                "--no-audit",
                "--no-fund",
                "patch-package@8",
                "lodash@4.17.21",
            ],
            node,
            environ,
        )
        script = node / "node_modules" / "lodash" / "lodash.js"
        script.write_text(script.read_text(encoding="utf-8") + ADDED, encoding="utf-8")
        for _ in range(rounds):
            shutil.rmtree(str(work / "cache"), ignore_errors=True)
            shutil.rmtree(str(work / "out"), ignore_errors=True)
            line = [
                sys.executable,
                "-m",
                "patcher",
                "capture",
                "mmengine",
                "--name",
                "mine",
                "--target",
                str(site),
            ]
            times["sitepatch capture"].append(
                run([*line, "--output", str(work / "out")], work, environ)
            )
            shutil.rmtree(str(node / "patches"), ignore_errors=True)
            times["patch-package"].append(
                run(
                    [str(node / "node_modules" / ".bin" / "patch-package"), "lodash"], node, environ
                )
            )
    ours, theirs = (statistics.median(each) for each in times.values())
    for name, each in times.items():
        print(f"{name:20} {statistics.median(each):6.2f} s (median of {rounds})")
    print(f"ratio: {ours / theirs:.2f}, at most 2 is the aim")
    return int(ours > 2 * theirs)


if __name__ == "__main__":
    raise SystemExit(main())

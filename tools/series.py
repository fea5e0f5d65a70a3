"""What becomes of a real series: the patches that Debian carries on a Python package, imported and tried in other releases.

    python -m tools.series python-django django 3.2.25 4.2.16 5.2

apt-get fetches the patches (`source --diff-only`, with lists of its own) and pip the release that they are for, into a temporary
directory: nothing of either is kept. Prints a table: a row a patch, what came of its import, and its state in each release.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any, Sequence

_SOURCES = "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian {} main\n"


def fetch_patches(package: str, suite: str, folder: Path) -> Path:
    """The `debian/patches` of a source package."""
    (folder / "sources.list").write_text(_SOURCES.format(suite), encoding="ascii")
    (folder / "lists/partial").mkdir(parents=True)
    apt = [
        "apt-get",
        "-qq",
        "-o",
        f"Dir::Etc::sourcelist={folder}/sources.list",
        "-o",
        "Dir::Etc::sourceparts=/dev/null",
    ]
    apt += [
        "-o",
        f"Dir::State::lists={folder}/lists",
        "-o",
        f"Dir::Cache={folder}/cache",
        "-o",
        "APT::Sandbox::User=root",
    ]
    subprocess.run([*apt, "update"], check=True)
    subprocess.run(
        [*apt, "source", "--download-only", "--diff-only", package], check=True, cwd=folder
    )
    (archive,) = folder.glob("*.debian.tar.*")
    with tarfile.open(archive) as tar:
        for info in tar.getmembers():
            if info.isfile() and info.name.startswith("debian/patches/") and ".." not in info.name:
                tar.extract(info, folder)
    return folder / "debian/patches"


def sitepatch(*words: str, cwd: Path) -> dict[str, Any]:
    """The JSON answer of a command."""
    command = [sys.executable, "-m", "patcher", *words, "--json"]
    root = str(Path(__file__).parents[1])
    ended = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": root},
        stdout=subprocess.PIPE,
        check=False,
    )
    answer: dict[str, Any] = json.loads(ended.stdout)
    return answer


def table(imported: dict[str, Any], checked: dict[str, Any]) -> list[str]:
    """The answers of `import` and `check` as rows of Markdown."""
    releases = checked["releases"][0]["releases"] if checked.get("releases") else []
    states = {
        (row["version"], patch["name"]): patch
        for row in releases
        for patch in row.get("patches", ())
    }
    lines = [
        f"| patch | import | {' | '.join(row['version'] for row in releases)} |",
        "| --- |" + " --- |" * (len(releases) + 1),
    ]
    for patch in imported["patches"]:
        cells = [
            patch["name"],
            " ".join(f"{patch['state']} {_cut(patch.get('problem', ''))}".split()),
        ]
        for row in releases:
            found = states.get((row["version"], patch["name"]), {"state": "", "problem": ""})
            cells.append(" ".join(f"{found['state']} {_cut(found['problem'])}".split()))
        lines.append(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |")
    return lines


def _cut(text: str) -> str:
    line = text.split("\n")[0]
    return f"({line[:120]})" if line else ""


def main(arguments: Sequence[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("package")
    parser.add_argument("distribution")
    parser.add_argument("releases", nargs="+", help="the first is the one that the patches are for")
    parser.add_argument("--suite", default="bookworm")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        patches = fetch_patches(given.package, given.suite, folder)
        pip = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "-q",
            "--no-deps",
            "--target",
            str(folder / "site"),
        ]
        subprocess.run([*pip, f"{given.distribution}=={given.releases[0]}"], check=True)
        imported = sitepatch(
            "import", str(patches), "--name", "series", "--target", str(folder / "site"), cwd=folder
        )
        words = [word for release in given.releases for word in ("--against", release)]
        checked = sitepatch("check", "series", "--patch-dir", "patchsets", *words, cwd=folder)
    print("\n".join(table(imported, checked)))


if __name__ == "__main__":
    main(sys.argv[1:])

"""The pages in a real browser: `python -m tools.browser [FOLDER]`; the screenshots lie in FOLDER (a temporary one) when it ends.

Chromium opens each page at 390, 768 and 1,280 pixels, light and dark: nothing is wider than the page or cut off, no console
message, no request, no finding of axe-core, hostile text in every field runs nothing, the keys lead from change to change. It
needs Debian's `chromium` (or CHROMIUM, its path), `node` and `npm`, which installs playwright-core and axe-core in that folder.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from patcher.place import Place
from patcher.verbs.diff import diff, reasons
from patcher.verbs.pages import review
from tests.command import DDP, GUARD, Site
from tests.verbs import test_pages

PACKAGES = ("playwright-core@1", "axe-core@4")


def pages(folder):
    """The pages by name; `folder` is for an environment to be reviewed."""
    site = Site(folder, "mmengine-0.10.7", "torch-2.7.1-musa")
    site("apply", GUARD, "--verify", "none")
    edited = site.file("torch/multiprocessing/reductions.py")
    edited.write_text(
        edited.read_text().replace("storage.size() == 0", "storage.size() < 1  # by hand")
    )
    place = Place(target=str(site.path))
    ahead, now = (diff(names, place=place) for names in ((DDP, GUARD), ()))
    outcome = ahead._replace(edits=now.edits, notes=now.notes)
    hostile = test_pages.hostile_pages()
    return {
        "review": review.review_page(
            f"sitepatch diff {DDP} {GUARD}", outcome, reasons(outcome, ())
        ),
        "hostile-review": hostile[0],
        "hostile-releases": hostile[1],
        "releases": test_pages.releases_page(),
        "large": test_pages.large_page(),
    }


def main():
    """Make the pages, look at them, and say what is wrong; the exit code is 1 then."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    missing = [name for name in ("node", "npm") if not shutil.which(name)] + (
        [] if chromium else ["chromium"]
    )
    if missing:
        print(
            f"skipped: there is no {' and no '.join(missing)} here (Debian: apt-get install chromium nodejs npm)"
        )
        return 0
    folder = Path(
        sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="sitepatch-pages-")
    ).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(str(Path(__file__).with_suffix(".js")), str(folder))
    subprocess.run(
        [
            "npm",
            "install",
            "--no-audit",
            "--no-fund",
            "--silent",
            "--prefix",
            str(folder),
            *PACKAGES,
        ],
        check=True,
    )
    files = []
    with tempfile.TemporaryDirectory() as site:
        found = pages(Path(site))
    for name, page in found.items():
        files.append(folder / f"{name}.html")
        files[-1].write_bytes(page)
    command = ["node", str(folder / "browser.js"), str(folder), *map(str, files)]
    done = subprocess.run(
        command,
        cwd=str(folder),
        env={**os.environ, "CHROMIUM": str(chromium)},
        stdout=subprocess.PIPE,
    )
    lines = done.stdout.decode().splitlines()
    print("\n".join(lines), f"\nscreenshots: {folder}")
    return 0 if lines == ["looked"] else 1


if __name__ == "__main__":
    sys.exit(main())

"""The pages in a real browser.

    python -m tools.browser [FOLDER]

The screenshots lie in FOLDER (a temporary one) when it ends. Chromium opens each page at 390, 768
and 1,280 pixels, light and dark: nothing is wider than the page or cut off, no console message, no
request, no finding of axe-core, hostile text in every field runs nothing, the keys lead from change
to change. It needs Debian's `chromium` (or CHROMIUM, its path), `node` and `npm`, which installs
playwright-core and axe-core in that folder.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from patcher.display.review_page import review_page as make_page
from patcher.place import Place
from patcher.verbs.diff import diff, reasons
from tests.command import DDP, GUARD, Site
from tests.display import rich_pages

PACKAGES = ("playwright-core@1", "axe-core@4")
NPM = ["npm", "install", "--no-audit", "--no-fund", "--silent"]


def pages(folder):
    """The pages by name; `folder` is for an environment to be reviewed."""
    hostile_review, hostile_releases = rich_pages.hostile_pages()
    return {
        "review": review_page(folder),
        "hostile-review": hostile_review,
        "hostile-releases": hostile_releases,
        "releases": rich_pages.releases_page(),
        "large": rich_pages.large_page(),
    }


def review_page(folder):
    """The page of a file that is patched, would be patched further, and was edited by hand."""
    site = Site(folder, "mmengine-0.10.7", "torch-2.7.1-musa")
    site("apply", GUARD, "--verify", "none")
    edited = site.file("torch/multiprocessing/reductions.py")
    text = edited.read_text().replace("storage.size() == 0", "storage.size() < 1  # by hand")
    edited.write_text(text)
    place = Place(target=str(site.path))
    ahead = diff((DDP, GUARD), place=place)
    now = diff((), place=place)
    outcome = ahead._replace(edits=now.edits, notes=now.notes)
    return make_page(f"sitepatch diff {DDP} {GUARD}", outcome, reasons(outcome, ()))


def look(folder, chromium):
    """Make the pages and open them; returns what is written about them, a line each."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(str(Path(__file__).with_suffix(".js")), str(folder))
    subprocess.run([*NPM, "--prefix", str(folder), *PACKAGES], check=True)
    files = []
    with tempfile.TemporaryDirectory() as site:
        for name, page in pages(Path(site)).items():
            file = folder / f"{name}.html"
            file.write_bytes(page)
            files.append(str(file))
    command = ["node", str(folder / "browser.js"), str(folder), *files]
    environ = {**os.environ, "CHROMIUM": chromium}
    done = subprocess.run(command, cwd=str(folder), env=environ, stdout=subprocess.PIPE)
    return done.stdout.decode().splitlines()


def main():
    """Look at the pages and say what is wrong; the exit code is 1 then."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    missing = [name for name in ("node", "npm") if not shutil.which(name)]
    if not chromium:
        missing.append("chromium")
    if missing:
        names = " and no ".join(missing)
        print(f"skipped: there is no {names} here (Debian: apt-get install chromium nodejs npm)")
        return 0
    folder = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="sitepatch-pages-")
    lines = look(Path(folder).absolute(), str(chromium))
    print("\n".join(lines), f"\nscreenshots: {folder}")
    return 0 if lines == ["looked"] else 1


if __name__ == "__main__":
    sys.exit(main())

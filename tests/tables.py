"""Make `known.json` of the built-in patchsets: what each of them makes, with its default options, of the releases that are here.

    SITEPATCH_CACHE=DIR python -m tests.sources NAME    # where releases have no wheel
    SITEPATCH_CACHE=DIR sitepatch check NAME --against all -v |
        awk -F '  +' 'NR == 1 || $2 ~ /^[A-Za-z]/ && $3 ~ /^[0-9]/' > patchsets/NAME/compatibility.txt
    SITEPATCH_CACHE=DIR python -m tests.tables [NAME...] [--site DIRECTORY...]

The releases are those that `check --against` has kept in the cache, and site directories in which the packages are installed.
"""

import argparse
import re
import sys
from pathlib import Path
from typing import Dict, Iterable, List, Tuple
from unittest import mock

from patcher.installed.interpreter import Environment
from patcher.model import Requested, Rewrite
from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import BUILT_IN, builtin_dir
from patcher.patchset.results import Request, key_of, rewrite_by_engine, write_table
from patcher.patchset.variants import resolve_options
from patcher.system.cache import cache_dir
from tests.plans import plan_apply

TABLE = "known.json"
NAMES = sorted(path.parent.name for path in Path(builtin_dir()).glob("*/patchset.toml"))


def rows_of_releases(report: str) -> str:
    """What `check -v` prints of releases: the first line and a row for each, without what it says of single patches."""
    heading, *lines = report.splitlines(keepends=True)
    rows = [line for line in lines if re.match(r"\S+( \S+)*  +[A-Za-z]\S*  +\d", line)]
    return "".join([heading, *rows])


def releases(cache: Path) -> List[Path]:
    """The releases that are kept in a cache, each a site directory."""
    return sorted(path.parents[1] for path in cache.glob("*/*/*/*.dist-info/METADATA"))


def results(name: str, sites: Iterable[Path]) -> Dict[str, Tuple[bytes, Request, Rewrite]]:
    """What the engine makes of each file of these site directories, with its text and what was asked, by key."""
    patchset = load_patchset(Path(builtin_dir()) / name, BUILT_IN)
    requested, by_key = Requested(patchset, resolve_options(patchset, {})), {}

    def record(data: bytes, request: Request) -> Rewrite:
        key = key_of(data, request)
        if key not in by_key:
            by_key[key] = data, request, rewrite_by_engine(data, request)
        return by_key[key][2]

    # which hunks are asked of which text, layer by layer, only the plan of a site knows; it has no place to listen
    with mock.patch("patcher.patchset.results._known_or_computed", record):
        for site in sites:
            plan_apply(Environment(sys.executable, (str(site),), (str(site),), sys.version_info[:2]), [requested])
    return by_key


def main() -> None:
    """Write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", default=NAMES)
    parser.add_argument("--site", action="append", type=Path, default=[], help="a site directory with packages as released")
    asked = parser.parse_args()
    for name in asked.names:
        by_key = results(name, [*releases(cache_dir()), *asked.site])
        path = Path(builtin_dir()) / name / TABLE
        path.write_bytes(write_table({key: each[2] for key, each in by_key.items()}))
        print(f"{path}: {len(by_key)} texts, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()

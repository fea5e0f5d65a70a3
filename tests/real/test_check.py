"""`sitepatch check --against` on real releases, and the tables that stand beside the built-in patchsets.

A few releases of mmengine by default; every table anew with SITEPATCH_ALL_RELEASES=1 (two gigabytes of wheels the first
time; what matters of them is kept in the cache of these tests).
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import COMMAND_ROOT, child_environ

from patcher.patchset.places import builtin_dir
from patcher.patchset.results import KnownTable
from tests.tables import TABLE, releases, results, rows_of_releases
from tests.verbs.helpers import tutorial

pytestmark = pytest.mark.real

ALL = os.environ.get("SITEPATCH_ALL_RELEASES") == "1"
PATCHSETS = sorted(path.parent.name for path in Path(builtin_dir()).glob("*/patchset.toml"))


@pytest.fixture
def check(real_cache, tmp_path):
    """Run `sitepatch check`; returns (exit code, stdout)."""

    def run(*words):
        command = [sys.executable, "-m", "patcher", "check", "-v", *words]
        variables = child_environ(SITEPATCH_CACHE=str(real_cache / "check"), PYTHONPATH=str(COMMAND_ROOT))
        completed = subprocess.run(command, cwd=str(tmp_path), env=variables, stdout=subprocess.PIPE)
        return completed.returncode, completed.stdout.decode()

    return run


def table(name):
    path = Path(builtin_dir()) / name / "compatibility.txt"
    assert path.exists(), f"make it: sitepatch check {name} --against all -v > patchsets/{name}/compatibility.txt"
    return path.read_text(encoding="utf-8")


def words(text):
    """The lines without the heading; how wide a column is depends on what else is in the table."""
    return [line.split() for line in text.splitlines()[1:]]


def without_local_builds(rows):
    """The rows without builds such as 2.13.0+cpu, which pip may know from this machine's own wheels."""
    return [row for row in rows if not any("+" in word and word[0].isdigit() for word in row[:4])]


FEW = ["0.1.0", "0.7.4", "0.10.7"]
AGAINST_FEW = ["--against", "0.1.0", "--against", "0.7.4", "--against", "0.10.7"]


def test_a_few_releases_are_as_the_table_says(check):
    code, out = check("mmengine-ddp-debug", *AGAINST_FEW)
    assert code == 0
    assert [line[:3] for line in words(out)] == [
        ["applicable", "mmengine", "0.1.0"],
        ["applicable", "mmengine", "0.7.4"],
        ["applicable", "mmengine", "0.10.7"],
        ["applicable", "mmengine-lite", "0.10.7"],
    ]
    expected = words(table("mmengine-ddp-debug"))
    assert [line for line in words(out) if line not in expected] == []


def test_the_tutorial_of_the_readme_applies_to_the_releases_that_it_is_for(check, tmp_path):
    name = tutorial(tmp_path)
    against = ["--against", "all"] if ALL else ["--against", "0.1.0", "--against", "0.10.7"]
    code, out = check(name, *against)
    assert code == 0
    (summary,) = [line for line in out.splitlines() if re.match(r"\S+ \S+, \d+ releases: ", line)]
    assert re.fullmatch(r"\S+ \S+, (\d+) releases: applicable \1", summary), out
    rows = [line for line in words(out) if line[0] == "applicable"]
    assert len(rows) >= (37 if ALL else 2)


def check_known(name, sites):
    """The known results of these releases are those that the engine makes; returns how many are known, and of how many texts."""
    table = KnownTable((Path(builtin_dir()) / name / TABLE).read_bytes())
    by_engine = results(name, sites)
    known = 0
    for key, (data, request, rewrite) in by_engine.items():
        known_rewrite = table.find(key, data, request)
        if known_rewrite is not None:
            assert known_rewrite == rewrite, key
            known += 1
    return known, len(by_engine)


def test_the_known_results_of_a_few_releases_are_those_of_the_engine(check, real_cache):
    code, _ = check("mmengine-ddp-debug", *AGAINST_FEW)
    assert code == 0
    sites = [site for site in releases(real_cache / "check" / "releases") if site.parent.name in FEW]
    for name, files in (("mmengine-ddp-debug", 11), ("mmengine-ddp-device", 7)):
        known, texts = check_known(name, sites)
        assert known == texts == files, "make it anew: python -m tests.tables"


@pytest.mark.skipif(not ALL, reason="set SITEPATCH_ALL_RELEASES=1 for all releases (gigabytes of wheels)")
@pytest.mark.parametrize("name", PATCHSETS)
def test_the_table_made_anew_is_the_one_that_is_kept(check, real_cache, name):
    sources = [sys.executable, "-m", "tests.sources", name]
    subprocess.run(sources, cwd=str(COMMAND_ROOT), env=child_environ(SITEPATCH_CACHE=str(real_cache / "check")), check=True)
    code, out = check(name, "--against", "all")
    kept, made = table(name), rows_of_releases(out)
    assert without_local_builds(words(made)) == words(kept)
    assert len(words(made)) != len(words(kept)) or made == kept
    assert code == 0
    check_known(name, releases(real_cache / "check" / "releases"))

"""`sync` makes an environment equal to what a project asks for: the real command on a real directory, then a look at it."""

import json
import os
import shutil

import pytest

from patcher.fixture import lay_out
from tests.command import DDP, DYNAMO, GUARD, RUNNER, Site, done, tree
from tests.test_imports import loaded

UTILS = "mmengine/dist/utils.py"


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path, "mmengine-0.10.7", "torch-2.7.1-musa")


def asks(site, *wishes, more=""):
    """Write the pyproject.toml of the site's directory: the patchsets, and further lines of the table."""
    text = f"[tool.sitepatch]\n{more}\npatchsets = {json.dumps(list(wishes))}\n"
    (site.cwd / "pyproject.toml").write_text(text, encoding="utf-8")


def standing(site):
    """What `status` tells: the names of patchsets that stand applied, with the options of each."""
    files = json.loads(done(site("status", "--json")).out)["files"]
    return {step["name"]: step["options"] for file in files for step in file["patchsets"]}


def same_as(tmp_path, fixtures, *commands):
    """The bytes of a fresh site on which these commands were run."""
    other = Site(tmp_path / "other", *fixtures)
    for words in commands:
        done(other(*words))
    found = {name: entry[0] for name, entry in other.tree().items() if entry != "directory" and name.endswith(".py")}
    shutil.rmtree(other.cwd)
    return found


def sources(site):
    return {name: entry[0] for name, entry in site.tree().items() if entry != "directory" and name.endswith(".py")}


# the three things that it does ----------------------------------------------------------------------------------------
def test_what_is_missing_is_applied_what_changed_is_updated_and_what_is_not_asked_for_is_taken_back(site, tmp_path):
    before = site.tree()
    asks(site, f"{DDP} params=7", GUARD)
    first = done(site("sync"))
    assert standing(site) == {DDP: {"params": 7, "lang": "en"}, GUARD: {}}
    assert f"applied  {DDP}: 3 files in {site.path}\n" in first.out
    assert f"applied  {GUARD}: 1 file in {site.path}\n" in first.out

    asks(site, f"{DDP} params=8", DYNAMO)
    second = done(site("sync"))
    assert standing(site) == {DDP: {"params": 8, "lang": "en"}, DYNAMO: {}}
    assert f"applied   {DYNAMO}: 1 file in {site.path}\n" in second.out
    assert f"updated   {DDP}: 3 files in {site.path}\n" in second.out
    assert f"restored  {GUARD}: 1 file in {site.path}, not asked for\n" in second.out
    assert f"note: {GUARD} stands applied and is not asked for: it is taken back" in second.err
    fixtures = ("mmengine-0.10.7", "torch-2.7.1-musa")
    assert sources(site) == same_as(tmp_path, fixtures, ("apply", DDP, DYNAMO, "--set", f"{DDP}.params=8"))

    asks(site)
    done(site("sync"))
    assert site.tree() == before


def test_what_was_applied_by_hand_is_taken_back_and_that_is_said_before_it_is_done(site):
    done(site("apply", GUARD))
    between = site.tree()
    asks(site, DDP)
    dry = done(site("sync", "--dry-run"))
    assert f"{GUARD} stands applied and is not asked for: it is taken back" in dry.err
    assert "4 files would be changed" in dry.err
    assert site.tree() == between
    done(site("sync"))
    assert standing(site).keys() == {DDP}


def test_a_second_sync_writes_nothing_and_needs_no_syntax_tree(site):
    asks(site, f"{DDP} params=7", GUARD)
    first = loaded(site, "sync", "--target", site.path)
    assert "libcst" in first  # this test can see what is imported
    assert "pip_requirements_parser" not in first
    between = site.tree()
    again = loaded(site, "sync", "--target", site.path)
    assert again & {"libcst", "packaging", "importlib.metadata", "subprocess", "pip_requirements_parser"} == set()
    assert again - loaded(site, "apply", DDP, GUARD, "--set", f"{DDP}.params=7", "--target", site.path) <= {
        "patcher.sync", "patcher.project", "patcher.commands.syncing", "shlex",
    }  # fmt: skip
    assert f"{DDP}: nothing to do, it is applied already" in done(site("sync")).out
    assert site.tree() == between

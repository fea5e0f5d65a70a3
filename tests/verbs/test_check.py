"""`sitepatch check`: does a patchset fit here, does it fit other releases; the real pip asks an index of our own."""

import contextlib
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import click
import pytest

from patcher.compatibility import Checked
from patcher.display.console import Console
from patcher.display.releases import checked_rows
from patcher.errors import SitepatchError
from patcher.installed.index import Listing
from patcher.installed.interpreter import discover
from patcher.installed.versions import accepts, matching_versions, newest, oldest_first
from patcher.model import Located, Requested, State
from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import builtin_dir
from patcher.patchset.variants import resolve_options
from patcher.verbs.demo import fixtures, lay_out
from patcher.verbs.releases.attempt import try_release
from patcher.verbs.releases.fetched import fetch_all
from tests.answers import answer, release
from tests.command import DDP, DYNAMO, GUARD, ROOT, RUNNER, Ended, Site, environ, sitepatch
from tests.index import Index, sdist
from tests.pages import whole
from tests.plans import plan_apply
from tests.verbs.helpers import INIT, PLAIN, SHARE, files, tutorial, write_patchset

pytestmark = pytest.mark.once

# stand-ins ------------------------------------------------------------------------------------------------------------
LATER = "# a comment\n\n" + PLAIN
FIXED = PLAIN.replace("storage.is_musa", 'getattr(storage, "is_musa", False)')
GONE = "def share(storage):\n    return storage.handle()\n"
TWICE = PLAIN.replace("return 2", "return storage.is_musa")


def documented(folder):
    """Write each patch of the documentation as a patchset below `folder`; returns their names, the complete patchset first."""
    blocks = []
    for page in ("docs/index.md", "docs/howto/change.md"):
        blocks += re.findall(r"```diff\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    hunks = [block for block in blocks if re.search(r"^@@ [A-Za-z<]", block, re.M)]
    names = [tutorial(folder.parent)]
    shown = (folder / names[0] / "unused.spatch").read_text(encoding="utf-8")
    unbound = "--- mmengine/runner/runner.py\n@@ Runner.wrap_model @@\n+_nobody_binds_this($M)\n $MODEL = MMDistributedDataParallel(module=$M, ...)\n"
    for block in [each for each in hunks if each != shown] + [unbound]:
        package = re.search(r"^--- (\w+)/", block, re.M).group(1)
        names.append(f"documented-{len(names)}")
        write_patchset(folder, names[-1], package=package, versions="")
        (folder / names[-1] / "ask.spatch").write_text(block, encoding="utf-8")
    return names


@pytest.fixture(scope="module")
def index():
    """An index with a project that has every kind of release."""
    served = Index()
    served.add("demo", "1.0", files(PLAIN))
    served.add("demo", "1.1", files(GONE))
    served.add("demo", "1.2", files(LATER), attributes='data-yanked="it eats disks &amp; more"')
    served.put("demo", "demo-1.3.tar.gz", sdist("demo", "1.3"))
    served.add("demo", "1.4", {INIT: ""})
    served.add("demo", "1.5", files(PLAIN), spoil=[SHARE])
    served.add("demo", "1.6", files(FIXED))
    served.add("demo", "1.7", {"elsewhere.py": ""})
    served.put("demo", "demo-1.8-py3-none-any.whl", b"no zip file")
    served.add("demo", "2.0rc1", files(PLAIN))
    served.add("demo", "2.0", files(LATER), tag="cp310-cp310-macosx_11_0_arm64")
    served.add("demo", "2.0+cu118", files(PLAIN), tag="cp39-cp39-win_amd64")
    served.add("demo", "2.0+cu121", files(PLAIN), tag="cp312-cp312-manylinux_2_28_x86_64")
    served.add("demo", "2.1", files(PLAIN), attributes='data-requires-python="&lt;3"')
    served.add("demo", "2.2+cu118", files(PLAIN), tag="cp310-cp310-linux_x86_64")
    served.add("demo", "2.2+cu121", files(PLAIN), tag="cp38-cp38-linux_x86_64")
    served.add("demo", "2.10", files(TWICE))
    served.add("demo", "3.0rc1", files(PLAIN))
    served.add("demo", "3.0", files(PLAIN))
    served.add("many", "1.0", {"many/__init__.py": "", "many/share.py": PLAIN})
    served.add("many", "2.0", {"many/__init__.py": "", "many/share.py": PLAIN})
    served.add("many-lite", "2.0", {"many/__init__.py": "", "many/share.py": LATER})
    yield served
    served.close()


@pytest.fixture(scope="module")
def patchsets(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sources")
    write_patchset(folder, "ask")
    write_patchset(folder, "ask-clone", versions=">=2.0rc1,<3", path="demo/other.py", scope="clone")
    more = 'distributions = ["many", "many-lite"]\n'
    write_patchset(folder, "ask-many", package="many", versions=">=1", path="many/share.py", more=more)
    write_patchset(folder, "ask-nobody", package="nobody", versions="", path="nobody/share.py")
    return folder


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def check(index, patchsets, cache, tmp_path_factory):
    """Run `sitepatch check` with the index; the releases stay cached for the tests that follow."""
    cwd = tmp_path_factory.mktemp("cwd")

    def run(*words, **more):
        return sitepatch("check", *words, "-v", "--patch-dir", patchsets, cwd=cwd, **{**index.variables(cache), **more})

    return run


@pytest.fixture(scope="module")
def table(check, index):
    before = len(index.fetched)
    ended = check("ask", "--against", "all")
    ended.fetched = index.fetched[before:]
    return ended


def against(*versions):
    words = []
    for version in versions:
        words += ["--against", version]
    return words


def lines(ended):
    """{version: (state, text)} of a table."""
    rows = {}
    for line in ended.out.splitlines()[1:]:
        state, _, version, *text = re.split(r"  +", line)
        rows[version] = (state, "  ".join(text))
    return rows


# the table ------------------------------------------------------------------------------------------------------------
def test_every_release_in_the_range_has_one_line_oldest_first(table):
    assert list(lines(table)) == [
        "1.0", "1.1", "1.2 (yanked)", "1.3", "1.4", "1.5", "1.6", "1.7", "1.8",
        "2.0rc1", "2.0", "2.0+cu121", "2.1", "2.2+cu118", "2.2+cu121", "2.10",
    ]  # fmt: skip
    assert table.code == 1, "some of them are not as they should be"


# a release before these has the change itself
HAS_IT = r"  1\.6 has the change itself: whether it is meant here is not known"


@pytest.mark.parametrize(
    ("version", "state", "text"),
    [
        ("1.0", "applicable", r"demo/share\.py:2"),
        ("1.1", "not found", r"demo/share\.py: share: `share` is there, but the code to change is not"),
        ("1.2 (yanked)", "applicable", r"demo/share\.py:4"),
        ("1.3", "no wheel", r"it has no wheel for .*, at most a source distribution"),
        ("1.4", "not found", r"demo/share\.py: share: demo 1\.4 has no such file"),
        ("1.5", "not fetched", r"demo-1\.5-py3-none-any\.whl: demo/share\.py is not the file that its RECORD lists \(another sha256\)"),
        ("1.6", "upstream", r"demo/share\.py:2"),
        ("1.7", "not found", r"demo is not installed in the wheel"),
        ("1.8", "not fetched", r".*demo-1\.8-py3-none-any\.whl.*"),
        ("2.0rc1", "applicable", r"demo/share\.py:2" + HAS_IT),
        ("2.0", "applicable", r"demo/share\.py:4" + HAS_IT),
        ("2.0+cu121", "applicable", r"demo/share\.py:2" + HAS_IT),
        ("2.1", "applicable", r"demo/share\.py:2" + HAS_IT),
        ("2.2+cu118", "applicable", r"demo/share\.py:2" + HAS_IT),
        ("2.2+cu121", "applicable", r"demo/share\.py:2" + HAS_IT),
        ("2.10", "ambiguous", r"demo/share\.py: share: found 2 places in `share` \(lines 2, 4\), expected 1"),
    ],
)
def test_each_release_has_its_state_and_reason(table, version, state, text):
    row = lines(table)[version]
    assert row[0] == state
    assert re.fullmatch(text, row[1])


def changing(version, *places, name="demo", yanked=False):
    answers = tuple(answer("ask", path, "f", State.APPLICABLE, (line,)) for path, line in places)
    return release(name, version, "applicable", yanked=yanked, answers=answers)


OUTCOMES = (
    changing("1.0", (SHARE, 2)), changing("1.1", (SHARE, 4), ("demo/other.py", 1), yanked=True),
    release("demo", "1.2", "not found", problem=f"{SHARE}: gone", hint="look\nagain"), release("demo", "1.3", "not found", problem=f"{SHARE}: gone"),
    release("demo", "1.4", "no wheel"), release("demo", "1.5", "upstream"), changing("1.6", (SHARE, 2)), changing("1.6", (SHARE, 2), name="demo-lite"),
)  # fmt: skip


def test_releases_in_a_row_with_one_answer_share_a_line_unless_they_do_not_fit(patchsets):
    checked = Checked(load_patchset(patchsets / "ask", "here"), OUTCOMES)
    assert [(row.word, row.cells[1:]) for row in checked_rows(checked, in_full=False)] == [
        ("applicable", ("1.0 to 1.1 (2 releases, 1 yanked)", f"{SHARE}  demo/other.py")),
        ("not found", ("1.2", f"{SHARE}: gone")), ("not found", ("1.3", f"{SHARE}: gone")), ("no wheel", ("1.4", "")), ("upstream", ("1.5", "")),
        ("applicable", ("1.6", f"{SHARE}:2")), ("applicable", ("1.6", f"{SHARE}:2")),
    ]  # fmt: skip
    assert len(checked_rows(checked, in_full=True)) == len(OUTCOMES)


def test_the_newest_release_is_a_failure_where_no_patchset_is_for_it(check, table):
    ended = check("ask", "ask-many", "--against", "newest")
    assert ended.code == 1
    assert "not found  demo  3.0  the patchset is for demo >=1,<3" in ended.out and "applicable  many       2.0  many/share.py:2" in ended.out
    assert "hint: check whether it fits: sitepatch update ask --to 3.0" in ended.err


def test_the_heading_names_the_patchset_and_counts(table):
    expected = "ask 1.0, 16 releases: applicable 8, not found 3, no wheel 1, not fetched 2, upstream 1, ambiguous 1"
    assert table.out.splitlines()[0] == expected


def test_the_table_is_the_same_from_a_kept_copy_and_no_wheel_is_fetched_again(check, table, index):
    before = len(index.fetched)
    again = check("ask", "--against", "all")
    assert again.out == table.out
    assert [name for name in index.fetched[before:] if not re.search(r"-1\.[58]-", name)] == []  # those that failed are tried again
    assert len(table.fetched) == len(set(table.fetched)), "each wheel is fetched once"


def test_only_the_target_files_and_the_metadata_are_kept(table, cache):
    kept = {path.name for path in (cache / "releases").rglob("*") if path.is_file()}
    assert kept == {"share.py", "other.py", "METADATA", "RECORD", "WHEEL", "yanked"}


def test_another_patchset_of_the_package_needs_no_wheel_again(check, table, index):
    fetched = len(index.fetched)
    ended = check("ask-clone", "--against", ">=2.0rc1")
    assert {version: state for version, (state, _) in lines(ended).items()} == {
        "2.0rc1": "applicable", "2.0": "applicable", "2.0+cu121": "applicable", "2.1": "applicable",
        "2.2+cu118": "applicable", "2.2+cu121": "applicable", "2.10": "applicable",
        "3.0rc1": "out of range", "3.0": "out of range",
    }  # fmt: skip
    again = index.fetched[fetched:]
    assert [name for name in again if not name.startswith("demo-3.0")] == []  # what is out of range was not asked for before


def test_a_release_gets_the_same_answer_as_where_it_is_installed(tmp_path):
    """Of each example of the documentation, at each stand-in of its package."""
    words = {}
    for name in documented(tmp_path / "patchsets"):
        patchset = load_patchset(tmp_path / "patchsets" / name, "here")
        requested = Requested(patchset, resolve_options(patchset, {}))
        package = patchset.variants[0].package
        for fixture in [each for each in fixtures() if each.startswith(f"{package}-")]:
            site, version = tmp_path / fixture, fixture.split("-")[1]
            if not site.exists():
                lay_out(fixture, site)
            there = try_release(requested, Located(package, str(site), package, version, ""))
            here = plan_apply(discover(None, str(site)), [requested])
            states = [answer.state.value for answer in here.answers]
            assert [there.state] == states, there
            places = () if here.failed else tuple((one.path, one.places) for one in here.answers if one.places)
            assert there.places == places
            words.setdefault(name, []).append(there.state)
    basicsr = ["applicable"]
    libcuda = ["applicable", "not found", "not found"]
    mmengine = [["applicable"] * 3] * 2
    assert list(words.values()) == [mmengine[0], basicsr, mmengine[0], libcuda, libcuda, mmengine[0], ["conflict"] * 3]


def test_without_a_variable_the_cache_is_in_the_directory_of_the_system(check, tmp_path):
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "xdg")}
    assert check("ask", "--against", "1.0", **home, SITEPATCH_CACHE="").code == 0
    assert [path.parts[-7:-5] for path in tmp_path.rglob("share.py")] == [("sitepatch", "releases")]


# which releases -------------------------------------------------------------------------------------------------------
def test_a_release_outside_of_the_range_is_reported_and_is_no_failure(check, table, index):
    fetched = len(index.fetched)
    ended = check("ask", "--against", "3.0", "--against", "1.0")
    assert ended.code == 0
    assert lines(ended) == {"1.0": ("applicable", "demo/share.py:2"), "3.0": ("out of range", "the patchset is for demo >=1,<3")}
    assert "hint: check whether it fits: sitepatch update ask --to 3.0" in ended.err
    assert {name.rpartition("-py3")[0] for name in index.fetched[fetched:]} <= {"demo-3.0"}, "the one that was not asked for before"


def test_every_release_in_a_range_is_accounted_for_even_where_no_variant_is_for_it(check, table):
    ended = check("ask", "--against", ">2.0,<4", "--against", "<1.1")
    assert list(lines(ended)) == ["1.0", "2.1", "2.2+cu118", "2.2+cu121", "2.10", "3.0"], "a pre-release is asked for by name"
    assert lines(ended)["3.0"] == ("out of range", "the patchset is for demo >=1,<3")
    assert ended.out.startswith("ask 1.0, 6 releases: applicable")
    assert "out of range 1" in ended.out.splitlines()[0]
    (hint,) = (line for line in ended.err.splitlines() if "update" in line)
    assert hint.startswith("hint: check whether it fits: sitepatch update ask --to 3.0 --patch-dir ")


def test_a_version_that_is_missing_stands_for_its_vendor_builds(check, table):
    ended = check("ask", "--against", "2.0.0", "--against", "2.2")
    assert list(lines(ended)) == ["2.0", "2.2+cu118", "2.2+cu121"]


def test_a_missing_release_has_its_line_and_the_others_theirs(check, table):
    ended = check("ask", "--against", "9.9", "--against", "1.0", "--against", ">=9")
    assert ended.code == 1
    assert lines(ended) == {
        "1.0": ("applicable", "demo/share.py:2"),
        "9.9": ("no release", "the index has no such release for macOS or Linux; the newest is 3.0"),
        ">=9": ("no release", "the index has none in >=9"),
    }
    assert "1 release:" in ended.out


def test_every_distribution_that_provides_the_package_is_checked(check):
    ended = check("ask-many", "--against", "all", "--against", "1.0")
    assert ended.code == 0
    assert ended.out.splitlines()[1:] == [
        "applicable  many       1.0  many/share.py:2",
        "applicable  many       2.0  many/share.py:2",
        "applicable  many-lite  2.0  many/share.py:4",
    ]


def test_several_patchsets_are_several_tables_and_all_without_a_name(check):
    ended = check("ask-clone", "ask-many", "--against", "2.0")
    tables = ended.out.split("\n\n")
    assert [table.split(" ")[0] for table in tables] == ["ask-clone", "ask-many"]


def test_a_constraint_that_pip_is_configured_with_forbids_no_release(check, tmp_path):
    (tmp_path / "constraints.txt").write_text("demo==1.1\n")
    (tmp_path / "pip.conf").write_text(f"[global]\nconstraint = {tmp_path / 'constraints.txt'}\n")
    ended = check("ask", *against("2.1"), PIP_CONFIG_FILE=str(tmp_path / "pip.conf"), SITEPATCH_CACHE=str(tmp_path / "cache"))
    assert lines(ended)["2.1"][0] == "applicable", ended


def test_a_project_that_the_index_does_not_have_is_reported(check):
    ended = check("ask-nobody", "ask", "--against", "1.0")
    assert ended.code == 1
    assert "no release  nobody  1.0  pip found no release at all of that name" in ended.out
    assert "applicable  demo  1.0  demo/share.py:2" in ended.out


def test_wrong_values_are_reported_all_at_once_before_anything_is_done(check, index):
    fetched = len(index.fetched)
    ended = check("ask", "--against", "2..0", "--against", "1.0", "--against", "=>2", "--against", "", "--against", "latest")
    assert (ended.code, ended.out) == (2, "")
    assert [text for text in ("2..0", "=>2", '""', "latest", "1.0") if f'{text}' in ended.err] == ["2..0", "=>2", '""', "latest"]
    assert len(index.fetched) == fetched
    assert check("ask", "--html", "x.html").code == 2


# PEP 440 as a person means it
@pytest.mark.parametrize(
    ("versions", "version", "taken"),
    [
        (">=2.0", "2.0.0.dev20230101", True),
        (">=2.0", "2.0.0a0+git123", True),
        (">=2.0", "2.0.0rc1", True),
        (">=2.0", "1.13.1+cu117", False),
        (">=2.0", "2.0.0+cu118", True),
        (">=2.8", "2.8.0.dev20250601+cu126", True),
        (">=2.8", "2.7.1+cu128", False),
        (">2.7.1", "2.7.1+cu128", False),
        (">2.7.1", "2.8.0.dev20250601+cu126", True),
        ("<=2.7.1", "2.7.1+cu128", True),
        ("<=2.7", "2.7.0rc3", True),
        ("<=2.7", "2.8.0.dev20250601", False),
        ("<2.8", "2.8.0.dev20250601+cu126", False),
        ("<2.8", "2.8.0rc1", False),
        ("<2.8", "2.7.1.post1", True),
        ("<1", "1.0rc1", False),
        (">=0.1,<1", "0.10.7rc1", True),
        (">=0.1,<1", "0.11.0rc3", True),
        (">=0.10.7", "0.10.7rc1", True),
        ("==2.7.1", "2.7.1+cu128", True),
        ("==2.7.*", "2.7.1+cu128", True),
        ("==2.8.*", "2.8.0.dev20250601", True),
        ("~=2.7", "2.9.0.dev1", True),
        ("!=2.7.1", "2.7.1+cu128", False),
        (">=2.8.0rc2", "2.8.0rc1", False),
        ("", "2.8.0.dev20250601+cu126", True),
    ],
)
def test_prereleases_and_vendor_builds_fall_into_the_range_that_a_person_expects(versions, version, taken):
    assert accepts(versions, version) is taken


@pytest.mark.parametrize(
    ("asked", "versions", "expected"),
    [
        ("2.7.1", ["2.7.0", "2.7.1", "2.7.1.post1"], ["2.7.1"]),
        ("2.7", ["2.7.0", "2.7.1"], ["2.7.0"]),
        ("2.7.1", ["2.7.1", "2.7.1+cu128"], ["2.7.1"]),
        ("2.7.1", ["2.7.1+cu126", "2.7.1+cu128"], ["2.7.1+cu126", "2.7.1+cu128"]),
        ("2.7.1+CU128", ["2.7.1+cu126", "2.7.1+cu128"], ["2.7.1+cu128"]),
        ("2.7.1+cu126", ["2.7.1", "2.7.1+cu128"], []),
        ("2.8", ["2.8rc1", "2.8.0.dev1"], []),
        ("2.8.0.dev1", ["2.8.0.dev1+cu126"], ["2.8.0.dev1+cu126"]),
    ],
)
def test_a_version_means_these_releases(asked, versions, expected):
    assert matching_versions(asked, versions) == expected


@pytest.mark.parametrize(
    ("versions", "expected"),
    [(["2.9", "2.10", "3.0rc1"], ["2.10"]), (["2.2+cpu", "2.1", "2.2+cu128"], ["2.2+cpu", "2.2+cu128"]), (["1.0a1", "1.0b1"], ["1.0b1"]), ([], [])],
)
def test_the_newest_release_is_no_prerelease_and_all_builds_of_it(versions, expected):
    assert newest(versions) == expected


def test_releases_are_in_the_order_of_pep_440():
    expected = ["1.9", "2.0.dev1", "2.0rc1", "2.0", "2.0+cu118", "2.0.post1", "2.10", "1!0.1"]
    assert oldest_first(reversed(expected)) == expected


# answers for programs and for a browser
def test_json_has_a_record_for_each_release(check, table):
    ended = check("ask", *against("1.0", "1.1", "1.2", "3.0"), "--json")
    answer = json.loads(ended.out)
    assert (answer["command"], answer["ok"], ended.code) == ("check", False, 1)
    (one,) = answer["releases"]
    by_version = {each["version"]: each for each in one["releases"]}
    assert by_version["1.2"]["yanked"]
    assert not by_version["1.0"]["yanked"]
    assert by_version["3.0"]["ok"]
    assert by_version["1.0"]["places"] == [{"path": SHARE, "lines": [2]}]
    (diff,) = by_version["1.0"]["diffs"]
    assert '+    if getattr(storage, "is_musa", False):' in diff["text"]
    assert [each["version"] for each in one["releases"] if not each["ok"]] == ["1.1"]
    assert str(Path.home()) not in ended.out


def test_the_page_has_a_row_for_each_release_and_its_difference_once(check, table, tmp_path):
    check("ask", *against("1.0", "1.1", "1.2", "1.6", "2.0", "3.0"), "--html", tmp_path / "page.html")
    page = whole((tmp_path / "page.html").read_bytes())
    rows = re.findall(r'<tr id="ask:demo-([^"]+)">(.*?)</tr>', (tmp_path / "page.html").read_text(encoding="utf-8"))
    kinds = {version: re.findall(r'<td class="(good|bad|same|out)"', cells) for version, cells in rows}
    assert list(kinds.items()) == [
        ("1.1", ["bad"]), ("1.0", ["good"]), ("1.2", ["good"]), ("1.6", ["same"]), ("2.0", ["good"]), ("3.0", ["out"]),
    ]  # fmt: skip
    assert "1.2 yanked" in page.text("th") and "Ask <safely>" in page.text("p")
    assert page.text("ins").count('getattr(storage, "is_musa", False)') == page.text("main").count("shown as in") == 1
    assert "the patchset is for demo >=1,<3" in page.text("li")


def test_only_the_needed_parts_of_a_large_wheel_are_fetched(patchsets, tmp_path):
    large = {SHARE: PLAIN, "demo/large.py": "#" * (5 << 20)}
    index = Index()
    index.add("demo", "1.0", large)
    index.parts = []
    try:
        words = ("check", "ask", "--against", "1.0", "--patch-dir", str(patchsets))
        ended = sitepatch(*words, cwd=tmp_path, **index.variables(tmp_path / "cache"))
    finally:
        index.close()
    assert ended.code == 0 and "applicable  demo  1.0  demo/share.py:2" in ended.out
    assert len(index.fetched) == len(index.parts), "what is fetched without a part is the whole wheel"
    size = 0
    for part in index.parts:
        first, last = re.search(r"(\d+)-(\d+)/", part).groups()
        size += 1 + int(last) - int(first)
    assert size < 1 << 20
    assert not list((tmp_path / "cache").rglob(".part-*"))


# its waits of seconds are private: no option shortens them
SOON = "import patcher.display.progress as p, patcher.verbs.main as m; p._FIRST = p._AGAIN = p._LOG = 0.005; m.main()"


@pytest.mark.parametrize(
    ("words", "term", "shown"),
    [((), "xterm", r"\r\x1b\[K\[[-#]{20}\] 0 of 1 releases fetched, \d+ s"), ((), "dumb", r"^0 of 1 releases fetched, \d+ s\r\n"), (("--json",), "xterm", "")],
    ids=["terminal", "dumb", "json"],
)
def test_progress_is_drawn_on_a_terminal_and_removed_and_is_lines_elsewhere(index, patchsets, tmp_path, words, term, shown):
    words = [sys.executable, "-c", SOON, "check", "ask", "--against", "1.0", "--patch-dir", str(patchsets), *words]
    variables = environ(**index.variables(tmp_path / "cache"), TERM=term, COLUMNS="80")
    ours, theirs = pty.openpty()
    index.held.add("demo-1.0-py3-none-any.whl")
    index.release.clear()
    index.asked.clear()
    child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=theirs, env=variables, cwd=str(tmp_path))
    os.close(theirs)
    output = b""
    with contextlib.suppress(OSError):  # as Linux tells the end of a terminal
        if not shown:
            assert index.asked.wait(60)
            index.release.set()
        while part := os.read(ours, 10000):
            output += part
            if b"fetched, " in output:
                index.release.set()
    index.held.clear()
    os.close(ours)
    child.communicate()
    text = output.decode()
    assert child.returncode == 0
    if shown:
        assert re.search(shown, text, re.MULTILINE), text
    else:
        assert not text
    if term == "dumb":
        assert "\x1b" not in text
    else:
        assert text.endswith("\r\x1b[K") == bool(shown), "nothing is left of it"


def test_a_large_download_is_announced_and_confirmed_on_a_terminal(index, tmp_path, monkeypatch, capsys):
    from patcher.verbs.check import (
        _confirm_fetching,  # a command asks only before a hundred megabytes
    )

    events = Console("check", False, False, False)
    events.on_fetching = _confirm_fetching
    assert events.fetching({"torch": 30, "numpy": 1}), "nobody is there to be asked"
    assert "to fetch: numpy (1 release), torch (30 releases); up to 124 MB, or whole wheels of unknown size" in capsys.readouterr().err
    for stream in (sys.stdin, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(click, "confirm", lambda *words, **more: False)
    with pytest.raises(SitepatchError, match="nothing was fetched"):
        fetch_all(None, [("demo", "1.0")], {"demo": Listing()}, {"demo": {SHARE}}, events)


# when things go wrong -------------------------------------------------------------------------------------------------
def test_without_a_network_each_distribution_has_one_line_and_kept_releases_are_still_checked(check, table, tmp_path):
    nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple/"}
    ended = check("ask", "--against", "1.0", "--against", "1.1", **nowhere)
    assert ended.code == 1
    assert "applicable  demo  1.0  demo/share.py:2" in ended.out
    assert "not found   demo  1.1" in ended.out
    assert "Traceback" not in ended.err
    ended = check("ask", "--against", "all", **nowhere, SITEPATCH_CACHE=str(tmp_path))
    assert ended.code == 1
    assert ended.out.splitlines()[0] == "ask 1.0, not fetched 1"
    assert len(ended.out.splitlines()) == 2
    assert re.search(r"not fetched  demo    pip could not list the releases of demo: .*[Cc]onnection", ended.out)
    assert "hint: is there a network" in ended.err


def test_a_kept_file_that_was_damaged_is_fetched_again(check, table, cache, index):
    (kept,) = (cache / "releases" / "demo" / "1.0").glob("*/" + SHARE)
    kept.write_text("def share(storage):\n    return storage.is_musa\n")
    fetched = len(index.fetched)
    assert lines(check("ask", "--against", "1.0")) == {"1.0": ("applicable", "demo/share.py:2")}
    assert index.fetched[fetched:] == ["demo-1.0-py3-none-any.whl"]
    assert kept.read_text() == PLAIN


def test_two_at_once_do_not_disturb_each_other(index, patchsets, tmp_path):
    words = [sys.executable, "-m", "patcher", "check", "ask", *against("1.0", "1.1"), "--patch-dir", str(patchsets)]
    variables = environ(**index.variables(tmp_path / "cache"))
    children = [subprocess.Popen(words, stdout=subprocess.PIPE, env=variables, cwd=str(tmp_path)) for _ in range(2)]
    first, second = (child.communicate()[0] for child in children)
    assert first == second
    assert first.startswith(b"ask 1.0, 2 releases: applicable 1, not found 1\n")
    for version in ("1.0", "1.1"):
        assert len(list((tmp_path / "cache/releases/demo" / version).iterdir())) == 1, "one of the two is kept, nothing else"


def test_an_interrupt_ends_it_with_130_and_leaves_nothing_behind(index, patchsets, tmp_path):
    index.held.add("demo-1.2-py3-none-any.whl")
    index.asked.clear()
    index.release.clear()  # which tests before this one have set
    words = [sys.executable, "-m", "patcher", "check", "ask", *against("1.0", "1.1", "1.2")]
    words += ["--patch-dir", str(patchsets)]
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    variables = environ(**index.variables(tmp_path / "cache"), TMPDIR=str(scratch))
    child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=variables, cwd=str(tmp_path))
    try:
        assert index.asked.wait(60)
        child.send_signal(signal.SIGINT)  # pip gets them from nobody else
        out, err = child.communicate(timeout=120)
    finally:
        child.kill()
        index.held.clear()
        index.release.set()
    assert (child.returncode, out) == (130, b""), err
    assert b"Traceback" not in err
    assert list(scratch.iterdir()) == [], "no half wheel, no pip that still runs in there"
    for folder in (tmp_path / "cache").rglob(".part-*"):
        pytest.fail(f"{folder} is left")
    assert not (tmp_path / "cache/releases/demo/1.2").exists()


def without_pip(folder):
    """All packages of this interpreter but pip, as links in a folder."""
    folder.mkdir()
    for place in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        for path in Path(place).iterdir():
            if not path.name.startswith(("pip", "__pycache__")) and path.suffix != ".pth":
                (folder / path.name).symlink_to(path)
    return folder


def test_an_interpreter_without_pip_says_so(index, patchsets, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    packages = without_pip(tmp_path / "packages")
    variables = {**environ(**index.variables(tmp_path)), "PYTHONPATH": os.pathsep.join([str(ROOT), str(packages)])}
    words = [str(tmp_path / "venv/bin/python"), "-m", "patcher", "check", "ask", "--against", "1.0", "--patch-dir", str(patchsets)]
    ended = Ended(subprocess.run(words, env=variables, capture_output=True, cwd=str(tmp_path)))
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith(f"error: {words[0]} has no pip\nhint: ")
    assert "ensurepip" in ended.err


def checked_with(pip, index, patchsets, cache, *words):
    """`check` in a process of its own, with the pip of a folder."""
    variables = {**environ(**index.variables(cache)), "PYTHONPATH": os.pathsep.join([str(pip), str(ROOT)])}
    words = [sys.executable, "-m", "patcher", "check", *words, "--patch-dir", str(patchsets)]
    return Ended(subprocess.run(words, env=variables, capture_output=True, cwd=str(pip)))


@pytest.mark.parametrize("spoilt", ["commands", "download"])
def test_a_pip_whose_internals_moved_is_reported_once(index, patchsets, tmp_path, spoilt):
    internal = tmp_path / "pip/_internal"
    internal.mkdir(parents=True)
    for path in (tmp_path / "pip/__init__.py", internal / "__init__.py"):
        path.touch()
    (internal / "exceptions.py").write_text("class PipError(Exception): pass\n")
    if spoilt == "download":
        (internal / "commands.py").write_text("def create_command(name): return name\n")
    ended = checked_with(tmp_path, index, patchsets, tmp_path / "cache", "ask", "ask-many", "--against", "1.0")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("error: this pip cannot fetch releases: ") and ended.err.count("error: ") == 1
    assert "hint: expected pip 22.0 to 26.3: " in ended.err


@pytest.mark.real
@pytest.mark.parametrize("version", ["22.0.4", "23.0.1", "24.3.1"])
def test_an_older_pip_lists_and_reads_the_same(table, index, patchsets, tmp_path, version):
    words = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(tmp_path / "old"), f"pip=={version}"]
    subprocess.run(words, check=True)
    ended = checked_with(tmp_path / "old", index, patchsets, tmp_path / "cache", "ask", "--against", "all", "-v")
    assert ended.out == table.out, ended.err


# here -----------------------------------------------------------------------------------------------------------------
def test_check_here_reports_what_apply_would_find_and_writes_nothing(tmp_path):
    site = Site(tmp_path, "mmengine-0.10.7")
    before = site.tree()
    ended = site("check", DDP)
    assert ended.code == 0
    assert ended.out.count("applicable") == 8
    assert site.tree() == before
    site("apply", DDP)
    assert site("check", DDP).out.count("applied") == 8


def test_check_here_without_a_name_reports_an_absent_package_and_succeeds(tmp_path):
    site = Site(tmp_path, "triton-3.5.1")
    ended = site("check")
    assert ended.code == 0
    assert re.search(rf"absent +{GUARD} +torch\n +torch is not installed in ", ended.out)
    assert ended.out.count("applicable") == 3
    named = site("check", GUARD)
    assert (named.code, "not found" in named.out) == (1, True)
    answer = json.loads(site("check", "--json").out)
    assert {each["patchset"] for each in answer["absent"]} >= {GUARD, DYNAMO}


def test_check_here_fails_where_a_patchset_does_not_fit(tmp_path):
    site = Site(tmp_path, "mmengine-0.10.7")
    text = site.file().read_text()
    site.file().write_text(text.replace("MODEL_WRAPPERS.build(", "MODEL_WRAPPERS.make("))
    for words in (["check", DDP], ["check"]):
        ended = site(*words)
        assert ended.code == 1
        assert re.search(rf"conflict +{DDP} +{RUNNER}", ended.out)


def test_a_broken_patchset_is_reported_and_the_others_are_checked(tmp_path):
    site = Site(tmp_path, "mmengine-0.10.7")
    (tmp_path / "patchsets/bad").mkdir(parents=True)
    (tmp_path / "patchsets/bad/patchset.toml").write_text("schema = 2\n")
    ended = site("check")
    assert ended.code == 1
    assert re.search(r"broken +bad\n", ended.out)
    assert "applicable" in ended.out
    assert site("check", DDP).code == 0


# the table in the folder ----------------------------------------------------------------------------------------------
def test_a_compatibility_table_is_no_part_of_the_patchset(patchsets, tmp_path):
    folder = tmp_path / "ask"
    shutil.copytree(patchsets / "ask", folder)
    before = load_patchset(folder, "here")
    (folder / "compatibility.txt").write_text("ask 1.0, 1 release: applicable 1\n")
    assert load_patchset(folder, "here") == before


@pytest.mark.parametrize("folder", [path.parent for path in sorted(Path(builtin_dir()).glob("*/compatibility.txt"))])
def test_a_built_in_patchset_fits_every_release_in_its_table_which_is_of_its_version(folder, tmp_path):
    heading, *rows = (folder / "compatibility.txt").read_text(encoding="utf-8").splitlines()
    patchset = load_patchset(folder, "built in")
    assert heading.startswith(f"{patchset.name} {patchset.version}, {len(rows)} release")
    assert {re.split("  +", row)[0] for row in rows} <= {"applicable", "upstream", "not needed"}
    out = sitepatch("show", folder.name, cwd=tmp_path).out
    shown = re.findall(r"^  ([\w-]+ \S+)(?: to \S+ \((\d+) releases\))?: (applicable|upstream|not needed)$", out, re.M)
    assert sum(int(number or 1) for _, number, _ in shown) == len(rows)
    unchanged = re.search(r"\b[Nn]othing (else )?changes\b|\b(are|stays?) the same\b", " ".join(out.split()))
    assert unchanged, "for whom: tests/real/test_unchanged.py shows it"


def test_the_name_of_a_distribution_is_validated(patchsets, tmp_path):
    write_patchset(tmp_path, "ask", more='distributions = ["demo", "no name"]\n')
    ended = sitepatch("list", "--patch-dir", tmp_path, cwd=tmp_path)
    assert 'variant[0].distributions[1]: found "no name", expected a name that pip installs' in ended.out

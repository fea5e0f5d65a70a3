"""Cases beside patchsets: those of the built-in ones, and the answer of a case that fails."""

import ast
import shutil
from pathlib import Path

import pytest

from patcher.author.cases import REFUSED, UPSTREAM, find_cases, read_case, run_case, run_cases
from patcher.errors import PatchError, UsageError
from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import builtin_dir
from patcher.place import Place
from patcher.verbs.check import check
from tests.command import Site
from tests.records import SIZE, manifest

BUILT_IN = sorted(path.parent.name for path in Path(builtin_dir()).glob("*/patchset.toml"))
SECOND = '[[variant]]\npackage = "demo"\nversions = ">=2"\npatches = ["new.spatch"]\n'
TOML = manifest("mine", "demo", "old.spatch", kind="fix", options=SIZE, versions="<2", more=SECOND)
OLD = "--- demo/m.py\n@@ f @@\n-len(a)\n+max(a, $size)\n--- demo/n.py\n@@ g @@ when-present\n-len(a)\n+max(a)\n"
HEAD = "# case: demo/m.py 1.0\n"
BODY = "def f(a):\n    return len( a )\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine/cases").mkdir(parents=True)
    (tmp_path / "mine/patchset.toml").write_text(TOML)
    (tmp_path / "mine/old.spatch").write_text(OLD)
    (tmp_path / "mine/new.spatch").write_text(OLD.replace("max", "min"))
    return tmp_path / "mine"


def outcome(folder, **files):
    """The outcome of the one case among files whose names have _ for a dot."""
    for name, text in files.items():
        (folder / "cases" / (name.replace("_", ".").replace("not.needed", "not-needed") + ".py")).write_text(text)
    (path,) = find_cases(folder)
    return run_case(load_patchset(folder, "test"), read_case(path))


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_cases_of_the_built_in_patchsets_are_as_expected(name):
    folder = Path(builtin_dir()) / name
    cases = run_cases(load_patchset(folder, "test"), folder)
    assert [case for case in cases if case.problem] == []
    assert len(cases) > 1
    for case in cases:
        for version in ((3, 7), (3, 8)):  # MMEngine and torch 1.13 run on these, too
            ast.parse(case.case.result, str(case.case.origin), feature_version=version)


def test_every_kind_of_expectation_is_met_by_some_built_in_patchset():
    kinds = set()
    for name in BUILT_IN:
        kinds.update(read_case(path).expected for path in find_cases(Path(builtin_dir()) / name))
    assert kinds == {"after", UPSTREAM, "not-needed", REFUSED}


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"a_before": HEAD + BODY, "a_after": BODY.replace("len( a )", "max( a, 2 )")}, ""),
        ({"a_before": "# case: demo/m.py 1.0 size=3\n" + BODY, "a_after": BODY.replace("len( a )", "max( a, 3 )")}, ""),
        ({"a_before": "# case: demo/m.py 2.0\n" + BODY, "a_after": BODY.replace("len( a )", "min( a, 2 )")}, ""),
        ({"a_before": HEAD + BODY, "a_after": HEAD + BODY}, "it becomes another text than expected"),
        ({"a_before": HEAD + "def f(a):\n    pass\n", "a_after": ""}, "f: not found: `f` is there"),
        ({"a_before": "# case: demo/n.py 1\n" + BODY, "a_after": BODY}, "expected applicable, and it is not needed"),
        ({"a_upstream": HEAD + "def f(a):\n    max(a, 2)\n"}, ""),
        ({"a_upstream": "# case: demo/n.py 1\n" + BODY}, "expected upstream, and it is not needed"),
        ({"a_not_needed": "# case: demo/n.py 1\n" + BODY}, ""),
        ({"a_not_needed": "# case: demo/n.py 1\ndef g(a): len(a)\n"}, "expected not needed, and it is applicable"),
        ({"a_refused": HEAD + "def f(a):\n    pass\n"}, ""),
        ({"a_refused": HEAD + BODY}, "expected to be refused, and it is applicable"),
        ({"a_refused": HEAD.replace(" 1.0", "") + BODY}, "demo/m.py is patched in <2 and >=2: name a release of one of them"),
        ({"a_refused": HEAD.replace("/m", "/o") + BODY}, "found demo/o.py, expected one of demo/m.py, demo/n.py"),
        ({"a_refused": HEAD.replace("1.0", "old") + BODY}, "found old, expected as the first line: # case: PATH"),
        ({"a_refused": HEAD.replace("1.0", "1.0 size=x") + BODY}, 'found "x", expected a value of type int'),
    ],
)  # fmt: skip
def test_a_failed_case_names_what_is_not_as_expected(folder, files, problem):
    case = outcome(folder, **files)
    assert problem in case.problem
    assert bool(problem) == bool(case.problem), case.problem
    assert bool(case.diff) == ("another text" in problem)


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"a_before": HEAD + BODY}, "found no a.after.py beside it"),
        ({"a_refused": BODY}, "a.refused.py:1: found no path"),
        ({"a_refused": "# case: 'demo/m.py\n" + BODY}, "a.refused.py:1: found no path"),
        ({"a_after": BODY}, "a.after.py: belongs to no case"),
        ({"a": BODY}, "a.py: belongs to no case"),
    ],
)
def test_a_case_that_cannot_be_read_is_an_error(folder, files, problem):
    with pytest.raises(PatchError, match=problem):
        outcome(folder, **files)


def test_cases_are_no_part_of_the_patchset(folder):
    before = load_patchset(folder, "test")
    outcome(folder, a_refused=HEAD + "def f(a):\n    pass\n")
    assert load_patchset(folder, "test") == before


def test_without_a_name_every_patchset_is_tried_and_a_broken_one_is_named(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    (folder.parent / "patchsets").mkdir()
    shutil.copytree(folder, folder.parent / "patchsets/mine")
    (folder.parent / "patchsets/mine/cases/b.py").touch()
    (folder.parent / "patchsets/bad").mkdir()
    (folder.parent / "patchsets/bad/patchset.toml").touch()
    outcome = check(place=Place(target=str(folder)))
    assert set(outcome.inspection.broken) == {"mine", "bad"} and not outcome.ok
    assert set(outcome.inspection.cases) == {*BUILT_IN}
    with pytest.raises(UsageError):
        check("mien", place=Place(target=str(folder)))


@pytest.mark.once
def test_the_command_shows_what_failed_and_exits_with_1(folder):
    outcome(folder, a_before=HEAD + BODY, a_after=BODY)
    site = Site(folder)
    site.path.mkdir()
    ended = site("check", "--patch-dir", folder.parent)
    assert ended.code == 1 and "failed  mine  a  demo/m.py" in ended.out.splitlines(), ended
    assert "-    return len( a )" in ended.out and "+    return max( a, 2 )" in ended.out
    (folder / "cases/a.after.py").write_text(BODY.replace("len( a )", "max( a, 2 )"))
    ended = site("check", "--patch-dir", folder.parent)
    assert ended.code == 0 and "failed" not in ended.out and " cases as expected\n" in ended.err, ended

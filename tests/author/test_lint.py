"""`lint`: each rule on a patchset that breaks it and on one that does not; the built-in ones are clean."""

from pathlib import Path

import pytest

from patcher.author.lint import lint
from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import builtin_dir
from patcher.place import Place
from patcher.verbs.check import check
from tests.records import SIZE, manifest

TOML = manifest("mine", "demo", kind="fix", versions="<2", options=f'[provenance]\nauthor = "nobody"\n{SIZE}')
FINE = "--- demo/m.py\n@@ f @@\n-len(a)\n+max(a, $size)\n"
CALL = "fetch(url, retries=$R, verify=True, timeout=$T)"


def findings(folder, toml=TOML, spatch=FINE):
    """(rule, file, line) of all findings."""
    mine = folder / "mine"
    mine.mkdir()
    (mine / "patchset.toml").write_text(toml)
    (mine / "p.spatch").write_text(spatch)
    return [(one.rule, one.file, one.line) for one in lint(load_patchset(mine, "test"), mine)]


def test_the_built_in_patchsets_are_clean(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = check(place=Place(target=str(tmp_path)))
    assert outcome.ok
    built_in = [path.parent.name for path in Path(builtin_dir()).glob("*/patchset.toml")]
    assert {name: list(findings) for name, findings in outcome.inspection.findings.items()} == {name: [] for name in built_in}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (("", ""), []),
        (('"<2"', '"<2,>=3"'), ["unreachable"]),
        (("[options.size]", '[options.other]\ntype = "int"\ndefault = 1\nhelp = "x"\n[options.size]'), ["unused-option"]),
    ],
)
def test_these_rules_find_these_manifests(tmp_path, changed, expected):
    assert findings(tmp_path, toml=TOML.replace(*changed)) == [(rule, "patchset.toml", 0) for rule in expected]


@pytest.mark.parametrize(
    ("hunks", "expected"),
    [
        # too general
        ('@@ f @@\n-$A["key"]\n+$A["other"]\n', []),
        ("@@ <module> @@\n ...\n+X = 1  # sitepatch: mine\n", []),
        # too specific
        ("@@ f @@\n a = 1\n b = 2\n c = 3\n+e = 5  # sitepatch: mine\n f = 6\n", []),
        ("@@ f @@\n a = 1\n b = 2\n c = 3\n d = $D\n+e = 5  # sitepatch: mine\n f = 6\n", []),
        ("@@ f @@\n-call(old, one, $TWO, three)\n+call(new, one, $TWO, three)\n", []),
        ("@@ f @@\n-call(one, 'two', three, old)\n+call(one, 'two', three, new)\n", []),
        ("@@ f @@\n-call(one, 'two', three)\n+call(one, 'two', three, new)\n", []),
        ("@@ f @@\n-call(one, two, three, old)\n+other(one, two, three, new)\n", []),
        # needless literal
        (f"@@ f @@\n-{CALL}\n+{CALL.replace('url', 'get(url)')}\n", []),
        (f"@@ f @@\n-{CALL.replace('$R', '3')}\n+{CALL.replace('$R', '4')}\n", []),
        (f'@@ f @@\n-raise Old("{"x " * 9}")\n+raise New("{"x " * 9}")\n', []),
        # marks
        ("@@ f @@\n-def f(a):\n+def f(a, b=1):\n", []),
        # hunks that meet
        ("@@ g @@\n-len(x)\n+min(x)\n@@ g @@\n-len(x)\n+max(x)\n", [("overlap", 6), ("overlap", 9)]),
        ("@@ g @@\n-x = 1\n+x = 2\n@@ g @@\n-x = 1\n+y = 1\n", [("overlap", 6), ("overlap", 9)]),
        ("@@ g @@\n-len(x)\n+min(x)\n@@ g @@\n-return len(x)\n+return max(x)\n", [("overlap", 6)]),
        ("@@ g @@\n-len(x)\n+min(x)\n@@ g @@\n-return f(a, len(x))\n+return g(a, len(x))\n", []),
        ("@@ g @@\n-len(x)\n+min(x)\n@@ h @@\n-len(x)\n+max(x)\n", []),
        ("@@ g @@ when-present\n-len(x)\n+min(x)\n@@ g @@ when-present\n-return len(x)\n+return max(x)\n", []),
        # what is wrong when it is applied
        ("@@ g @@\n-len(x\n+min(x)\n", [("wrong", 5)]),
        ("@@ g @@\n x = g()\n+y = 1\n@@ g @@\n x = g()\n+z = 1\n", [("wrong", 5)]),
    ],
)  # fmt: skip
def test_these_rules_find_these_hunks(tmp_path, hunks, expected):
    # the first hunk uses the option; the file of the others begins in line 5
    assert findings(tmp_path, spatch=f"{FINE}--- demo/n.py\n{hunks}") == [(rule, "p.spatch", line) for rule, line in expected]


def test_an_option_may_stand_on_any_line(tmp_path):
    assert findings(tmp_path, spatch="--- demo/m.py\n@@ f @@\n size = $size\n+x = 1  # sitepatch: mine\n") == []


def test_an_alternative_that_is_named_twice_cannot_be_reached(tmp_path):
    twice = FINE.replace("--- demo/m.py\n", "--- demo/m.py\n--- demo/n.py\n--- demo/m.py\n")
    assert findings(tmp_path, spatch=twice) == [("unreachable", "p.spatch", 1)]


def test_an_error_and_a_broken_patchset_fail_the_check(tmp_path):
    place = Place(target=str(tmp_path), patch_dirs=(str(tmp_path),))
    findings(tmp_path)
    assert check(place=place).ok
    Path(tmp_path, "bad").mkdir()
    Path(tmp_path, "bad/patchset.toml").touch()
    outcome = check(place=place)
    assert not outcome.ok and list(outcome.inspection.broken) == ["bad"]

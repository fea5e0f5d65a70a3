"""`new`: a skeleton loads, fits, has a case that passes, and is said to be a skeleton until it is filled in."""

import zipfile

import pytest

from patcher.author.lint import lint
from patcher.errors import AbsentError, SitepatchError, UsageError
from patcher.ops.authoring.starting import NewRequest, new
from patcher.ops.change import ApplyRequest, apply
from patcher.ops.check import run_cases
from patcher.ops.place import Place
from patcher.patchset.manifest import load_patchset
from tests.places import wheel

HEAD = "def skip(): return 1\n\n\n@decorated\ndef other():\n    pass\n\n\n"
TEXTS = {  # what a package has -> the function that is taken
    "m.py": (f"{HEAD}def _hidden(a):\n    return a\n\n\ndef first(a, *, b=1):\n    return a\n", "demo/m.py", "first"),
    "w.py": ("async def wait():\n    '''Docstring.'''\n    return 1\n", "demo/w.py", "wait"),
    "c.py": ("class Some:\n    def __init__(self):\n        pass\n\n    def go(self):\n        pass\n", "demo/c.py", "Some.go"),
    "p.py": ("class Some:\n    def __init__(self):\n        pass\n", "demo/p.py", "Some.__init__"),
    "twice.py": ("def f():\n    pass\n\n\ndef f():\n    return 1\n\n\ndef g():\n    pass\n", "demo/twice.py", "g"),
}


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install demo 1.0 with these files; returns the environment."""
    def done(files):
        with zipfile.ZipFile(wheel(tmp_path / "wheels", files=files)) as archive:
            archive.extractall(tmp_path / "site")
        return Place(target=str(tmp_path / "site"), patch_dirs=(str(tmp_path / "patchsets"),))

    monkeypatch.chdir(tmp_path)
    return done


@pytest.mark.parametrize("name", TEXTS)
def test_a_skeleton_fits_a_real_function_and_says_that_it_is_one(install, tmp_path, name):
    text, path, scope = TEXTS[name]
    place = install({"demo/__init__.py": "", "demo/_a.py": "def internal():\n    pass\n" * (name != "p.py"), f"demo/{name}": text})
    made = new(NewRequest(place, "my-fix", "demo"))
    assert (made.path, made.scope) == (path, scope)
    patchset = load_patchset(made.folder, "test")
    assert patchset.variants[0].versions == "==1.0" and "sitepatch check my-fix" in patchset.prose
    assert [one.rule for one in lint(patchset, made.folder)] == ["skeleton"]
    assert [(case.case.name, case.problem) for case in run_cases(patchset, made.folder)] == [("first", "")]
    assert apply(ApplyRequest(place, ("my-fix",))).ok
    assert f'print("my-fix: {scope} is called")' in (tmp_path / "site" / path).read_text()


def test_a_file_can_be_named_and_what_cannot_be_patched_is_refused(install, tmp_path):
    place = install({"demo/__init__.py": "def first():\n    pass\n", "demo/m.py": TEXTS["m.py"][0], "demo/bad.py": "def (", "demo/n.py": "A = 1\n"})
    assert new(NewRequest(place, "one", "demo/m.py", "out")).path == "demo/m.py"
    assert (tmp_path / "out/one/patchset.toml").exists()
    assert new(NewRequest(place, "absolute", str(tmp_path / "site/demo/m.py"), "out")).path == "demo/m.py"
    assert new(NewRequest(place, "two", "demo")).path == "demo/m.py"
    for name, package, kind in (
        ("three", "demo/n.py", SitepatchError),
        ("three", "demo/bad.py", SitepatchError),
        ("three", "absent", AbsentError),
        ("three", "demo/absent.py", UsageError),
        ("two", "demo", UsageError),
        ("No Name", "demo", UsageError),
    ):
        with pytest.raises(kind):
            new(NewRequest(place, name, package))
    assert sorted(path.name for path in (tmp_path / "patchsets").iterdir()) == ["two"]

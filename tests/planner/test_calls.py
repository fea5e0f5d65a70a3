"""An inserted call that passes what the called function does not take is a conflict; where that is not known, it is none."""

import ast
import warnings
from pathlib import Path
from typing import Dict

import pytest

from patcher.model import Located
from patcher.planner.calls import unfit_calls
from patcher.planner.own_package import OwnPackage, parsed
from tests.command import Site
from tests.planner.helpers import patchset

BEFORE = '''\
import other
from functools import wraps
from pk import start
from pk.tools import join as joined, opened, cached, Maker
from .tools import grow

def plain(a, b=1, *, c=2): pass
def open_ended(a, *rest, **more): pass
def strict(a, *, c): pass
@wraps(plain)
def wrapped(a): pass
if other:
    def either(a): pass
else:
    def either(a, b): pass
def assigned(a): pass
assigned = other.thing
def here(plain, x):
    pass

class A:
    def method(self, a, b=1): pass
    @staticmethod
    def static(a): pass
    @classmethod
    def build(cls, a): pass
    @property
    def thing(self): pass
    def here(self, x):
        pass

class B(A):
    def here(self, x):
        pass
'''
TOOLS = "def join(a, b): pass\ndef opened(*paths): pass\nfrom functools import lru_cache\n@lru_cache()\ndef cached(a): pass\ndef grow(a): pass\nclass Maker:\n    def __init__(self, a): pass\n"
START = "from .tools import grow as begin\nfrom pk.deeper.more import start\n"
MORE = "def start(a): pass\n"
FITS = {  # what is inserted into A.here -> whether it fits
    "plain(x)": True,
    "plain(x, 2)": True,
    "plain(x, b=2, c=3)": True,
    "plain()": False,
    "plain(x, 2, 3)": False,
    "plain(x, d=2)": False,
    "plain(x, a=2)": False,
    "plain(*x)": True,
    "plain(**x)": True,
    "open_ended(x, 2, 3, z=4)": True,
    "open_ended(z=4)": False,
    "strict(x)": False,
    "strict(x, c=1)": True,
    "wrapped(x, 2)": True,  # a decorator may take anything
    "either(x, 2)": True,
    "assigned(x, 2)": True,
    "joined(x)": False,
    "joined(x, 2)": True,
    "opened(x, 2, 3)": True,
    "cached(x, 2)": True,
    "grow(x, 2)": False,
    "start(x, 2)": False,
    "start(x)": True,
    "Maker(x, 2)": True,  # what a class takes is not looked at
    "other.plain(x, 2, 3)": True,
    "self.method(x)": True,
    "self.method()": False,
    "self.method(x, 2, 3)": False,
    "self.static(x)": True,
    "self.static(self, x)": False,
    "self.build(x)": True,
    "cls.build(x, 2)": False,
    "self.thing(x, 2)": True,
    "self.nothing(x, 2)": True,
    "[plain(x, 2, 3) for y in x]": False,
    "plain(x) if x else plain(x, 2, 3)": True,  # for two releases
    "plain() if x else plain(x, 2, 3)": False,
    "try: plain(x, 2, 3)\n        except TypeError: pass": True,
    "try: pass\n        except TypeError: plain(x, 2, 3)": False,
    "try: plain(x, 2, 3)\n        finally: pass": False,
    "plain = other": True,
    "plain = other; plain(x, 2, 3)": True,
    "lambda plain: plain(x, 2, 3)": True,
}


@pytest.fixture()
def package(tmp_path: Path) -> OwnPackage:
    files: Dict[str, str] = {"pk/__init__.py": START, "pk/tools.py": TOOLS, "pk/deeper/__init__.py": "from .more import *\n", "pk/deeper/more.py": MORE}
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return OwnPackage(Located("pk", str(tmp_path), "pk", "1", ""), {})


@pytest.mark.parametrize("inserted", FITS)
def test_an_inserted_call_fits_what_it_calls(inserted: str, package: OwnPackage) -> None:
    where = "    def here(self, x):\n"
    after = BEFORE.replace(where, f"{where}        {inserted}\n", 1)
    unfit = unfit_calls("pk/m.py", ast.parse(BEFORE), ast.parse(after), package)
    assert bool(unfit) is not FITS[inserted], unfit


def test_what_a_star_import_may_bind_is_not_looked_at(package: OwnPackage) -> None:
    after = BEFORE.replace("    def here(self, x):\n", "    def here(self, x):\n        plain()\n", 1)
    star = "from pk.anything import *\n"
    assert unfit_calls("pk/m.py", ast.parse(BEFORE), ast.parse(after), package)
    assert not unfit_calls("pk/m.py", ast.parse(star + BEFORE), ast.parse(star + after), package)


def test_what_comes_by_a_star_import_alone_is_not_looked_at(package: OwnPackage) -> None:
    for before in ("from pk.tools import *\n", "from pk.deeper import begin\n"):
        assert not unfit_calls("pk/m.py", ast.parse(before), ast.parse(f"{before}begin()\njoin(1)\n"), package)


def test_a_class_with_a_decorator_may_have_other_methods(package: OwnPackage) -> None:
    before = BEFORE.replace("class A:", "@plain\nclass A:")
    after = before.replace("    def here(self, x):\n", "    def here(self, x):\n        self.method()\n", 1)
    assert not unfit_calls("pk/m.py", ast.parse(before), ast.parse(after), package)


def test_an_invalid_escape_in_the_package_is_not_reported() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert parsed(b"x = '\\d'\n") is not None


def test_a_method_of_a_base_class_is_not_looked_at(package: OwnPackage) -> None:
    after = BEFORE + "        self.method(1, 2, 3)\n"
    assert not unfit_calls("pk/m.py", ast.parse(BEFORE), ast.parse(after), package)


def test_a_function_whose_parameter_has_the_name_calls_that(package: OwnPackage) -> None:
    after = BEFORE.replace("def here(plain, x):\n", "def here(plain, x):\n    plain(1, 2, 3)\n")
    assert not unfit_calls("pk/m.py", ast.parse(BEFORE), ast.parse(after), package)


def test_a_call_that_the_file_has_already_is_not_looked_at(package: OwnPackage) -> None:
    before = BEFORE + "        plain()\n"
    assert not unfit_calls("pk/m.py", ast.parse(before), ast.parse(before + "        plain()\n"), package)


def test_what_the_plan_makes_of_another_file_counts(package: OwnPackage, tmp_path: Path) -> None:
    planned = OwnPackage(Located("pk", str(tmp_path), "pk", "1", ""), {"pk/tools.py": TOOLS.replace("join(a, b)", "join(a)").encode()})
    after = BEFORE.replace("    def here(self, x):\n", "    def here(self, x):\n        joined(x)\n", 1)
    assert not unfit_calls("pk/m.py", ast.parse(BEFORE), ast.parse(after), planned)


RUNNER = "--- mmengine/runner/runner.py\n@@ Runner.wrap_model @@\n def wrap_model(...):\n+    get_rank(1, 2)\n     ...\n@@ <module> @@\n+from mmengine.dist.utils import get_rank\n ...\n"


def test_a_hunk_with_a_call_that_does_not_fit_is_a_conflict(tmp_path: Path) -> None:
    site = Site(tmp_path, "mmengine-0.10.7")
    patchset(tmp_path, "calls", RUNNER)
    before = site.tree()
    ended = site("apply", "calls", "--verify", "none", "--patch-dir", "patches")
    assert ended.code == 1
    assert "the inserted code calls `get_rank` with other arguments than it takes: (group)\n" in ended.out
    assert "conflict    calls  mmengine/runner/runner.py" in ended.out
    assert site.tree() == before
    patchset(tmp_path, "calls", RUNNER + "--- mmengine/dist/utils.py\n@@ get_rank @@\n-def get_rank(group=None):\n+def get_rank(group=None, more=1):\n")
    assert site("apply", "calls", "--verify", "none", "--patch-dir", "patches").code == 0

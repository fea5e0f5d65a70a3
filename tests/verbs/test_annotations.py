"""`--format github`: what is told beside the text of a file of the repository."""


import pytest

from patcher.errors import Location, PatchError, SitepatchError
from patcher.patchset.manifest import load_patchset
from patcher.verbs.annotations import ERROR, annotation, of_error
from patcher.verbs.releases.outcome import Checked, ReleaseOutcome
from patcher.verbs.releases.table import github
from tests.command import Site, done

pytestmark = pytest.mark.once
MANIFEST = """schema = 1
name = "ask"
version = "1"
kind = "fix"
summary = "For a test"
[options.size]
type = "int"
default = 2
help = "no hunk writes it"
[[variant]]
package = "mmengine"
versions = ""
patches = ["deep/a,b.spatch"]
"""
SPATCH = """Why.

--- mmengine/runner/runner.py
@@ Runner.wrap_model @@
-nobody_calls_this($M)
+or_that($M)
@@ Runner.train @@
-$A($B)
+g($A, $B)
--- mmengine/gone.py
@@ f @@
-a(1)
+b(1)
"""


@pytest.fixture
def site(tmp_path):
    site = Site(tmp_path, "mmengine-0.10.7")
    folder = writes(site.cwd / "patchsets")
    (folder / "cases").mkdir()
    (folder / "cases/c.upstream.py").write_text("# case: mmengine/gone.py\ndef f():\n    a(1)\n")
    return site


def writes(patchsets):
    """The folder of the patchset `ask`."""
    (patchsets / "ask/deep").mkdir(parents=True)
    (patchsets / "ask/patchset.toml").write_text(MANIFEST)
    (patchsets / "ask/deep/a,b.spatch").write_text(SPATCH)
    return patchsets / "ask"


def placed(ended, root="patchsets/ask/"):
    """The kind, the file below `root` and the line of each annotation that has one."""
    found = [line.split("::")[1] for line in ended.out.splitlines() if line.startswith("::")]
    return [line.replace(f" file={root}", " ").partition(",title=")[0] for line in found if " file=" in line]


def test_what_does_not_fit_is_reported_in_the_line_of_the_hunk(site):
    told = done(site("check", "ask", "--format", "github", GITHUB_WORKSPACE=""), 1)
    errors = [place for place in placed(told) if place.startswith("error ")]
    assert sorted(errors) == ["error cases/c.upstream.py", *(f"error deep/a%2Cb.spatch,line={line}" for line in (10, 4, 7)), "error patchset.toml"]
    assert "title=ask%3A c.upstream::f: conflict: the inserted code reads names that nothing binds there: `b` (line 2 of the result)\n" in told.out
    assert "warning deep/a%2Cb.spatch,line=7" in placed(told)
    assert "::error file=patchsets/ask/patchset.toml,title=ask%3A unused-option::no hunk writes $size%0Aremove [options.size]\n" in told.out
    assert "title=ask does not fit mmengine/runner/runner.py Runner.wrap_model::not found: " in told.out
    told = done(site("check", "ask", "--format", "github", GITHUB_WORKSPACE=str(site.cwd.parent)), 1)
    assert len(placed(told, f"{site.cwd.name}/patchsets/ask/")) == 8 and f"file={site.cwd.name}/patchsets/ask/deep" in told.out
    assert placed(done(site("check", "ask", "--format", "github", GITHUB_WORKSPACE=str(site.path)), 1)) == [], "it is no file of the repository"
    (site.cwd / "patchsets/ask/deep/a,b.spatch").write_text(SPATCH.replace("@@ f @@", "@@ f"))
    for words, code in ((["check"], 1), (["check", "ask"], 2)):
        assert placed(done(site(*words, "--format", "github", GITHUB_WORKSPACE=""), code)) == ["error deep/a%2Cb.spatch,line=11"], "broken"


def test_an_annotation_is_escaped_and_names_no_file_outside_of_the_repository(tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    assert annotation(ERROR, "a:b,c%", "1:2,\r\n3%", tmp_path / "x:y,%.toml", 7) == "::error file=x%3Ay%2C%25.toml,line=7,title=a%3Ab%2Cc%25::1:2,%0D%0A3%25"
    for path in ("/etc/hosts", tmp_path / "../x", tmp_path / ".venv/lib/python3.11/site-packages/p/patchset.toml", ""):
        assert annotation(ERROR, "t", "m", path, 7) == "::error title=t::m"
    broken = {"a": PatchError.at(Location(f"{tmp_path}/a/patchset.toml", 3, 1), "wrong"), "b": SitepatchError("no file")}
    told = [of_error(f"{name} is broken", error).split("::")[1] for name, error in broken.items()]
    assert told == ["error file=a/patchset.toml,line=3,title=a is broken", "error title=b is broken"]
    outside, ask = ReleaseOutcome("demo", "3", "not found", problem="the patchset is for demo <3"), load_patchset(writes(tmp_path), "here")
    (line,) = github([], [Checked(ask, (outside,))], {"ask": f"{tmp_path}/ask/patchset.toml"})
    assert line.startswith("::error file=ask/patchset.toml,title=ask does not fit demo 3::")
    (line,) = github([], [Checked(ask, (outside._replace(word="not fetched"),))], {"ask": f"{tmp_path}/ask/patchset.toml"})
    assert "file=" not in line

"""`export`: what it writes does what `apply` does, with the real tools that take it: git, patch, pip, uv."""

import io
import re
import shutil
import subprocess
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

from patcher.errors import SitepatchError, UsageError
from patcher.patchset.catalogue import Catalogue
from patcher.place import Place
from patcher.verbs.apply import apply
from patcher.verbs.export import export
from patcher.verbs.main import commands
from tests.command import ROOT
from tests.index import Index
from tests.index import wheel as packed
from tests.installers import world
from tests.places import patchset, wheel
from tests.records import digest as recorded_digest
from tests.records import row

pytestmark = pytest.mark.once
TEXTS = {"demo/__init__.py": b"", "demo/m.py": b"A = 0\r\nVALUE = 1\r\nB = '\xe4'\r\n# no line break at the end", "demo/n.py": b"VALUE = 1\n"}
CODING = b"# coding: latin-1\r\n"


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A site directory with demo 1.0, and the patchsets `two` (a fix of demo.m) and `more` (debugging, of both files)."""
    monkeypatch.chdir(tmp_path)
    texts = {**TEXTS, "demo/m.py": CODING + TEXTS["demo/m.py"]}
    with zipfile.ZipFile(wheel(tmp_path / "wheels", files={})) as archive:
        archive.extractall(tmp_path / "site")
    rows = []
    for path, data in texts.items():
        (tmp_path / "site" / path).parent.mkdir(exist_ok=True)
        (tmp_path / "site" / path).write_bytes(data)
        rows.append(row(path, data))
    record = tmp_path / "site/demo-1.0.dist-info/RECORD"
    record.write_text("".join(rows) + record.read_text())
    patchset(tmp_path)
    patchset(tmp_path, name="more")
    (tmp_path / "mine/more/p.spatch").write_text(
        "Prose\n\nof two\n  parts.\n--- demo/m.py\n@@ <module> @@\n $X = $V\n+C = 3\n B = $S\n--- demo/n.py\n@@ <module> @@\n-VALUE = 1\n+VALUE = 3\n"
    )
    toml = tmp_path / "mine/two/patchset.toml"
    toml.write_text(toml.read_text().replace('"debug"', '"fix"') + '[provenance]\nauthor = "A. N.\\nOther"\nlast_update = "2026-01-02"\nremove_when = "never"\n')
    return tmp_path / "site"


def place(site):
    return Place(target=str(site), patch_dirs=(str(site.parent / "mine"),))


def texts(site):
    return {path: (site / path).read_bytes() for path in TEXTS}


def applied(site, *names):
    """The result of `apply` on a copy of the site."""
    copy = site.parent / "applied"
    shutil.copytree(site, copy)
    assert apply(names, place=place(copy)).ok
    return texts(copy)


def run(*words, cwd, code=0):
    completed = subprocess.run([str(word) for word in words], cwd=str(cwd), capture_output=True, timeout=60)
    assert completed.returncode == code, (completed.stdout, completed.stderr)
    return completed.stdout.decode() + completed.stderr.decode()


@pytest.mark.parametrize("tool", [["git", "apply"], ["patch", "--binary", "-p1", "-i"]], ids=["git", "patch"])
def test_git_and_patch_take_an_exported_patch_and_make_what_apply_makes(site, tool):
    expected = applied(site, "more")
    outcome = export("more", place=place(site), output="more.patch")
    data = (site.parent / "more.patch").read_bytes()
    assert outcome.written == (("more.patch", sha256(data).hexdigest()),)
    assert export("more", place=place(site)).text == data
    run(*tool, site.parent / "more.patch", cwd=site)
    assert texts(site) == expected != TEXTS


def test_the_header_is_that_of_dep_3(site):
    head, _, diff = export("two", place=place(site)).text.partition(b"\n\n")
    assert head.decode().split("\n") == [
        "Description: For a test", " Why.", "Author: A. N. Other", "Last-Update: 2026-01-02", "X-Remove-When: never",
        "X-Sitepatch: two 1", "X-Applies-To: demo 1.0",
    ]  # fmt: skip
    assert diff.startswith(b"--- a/demo/m.py\n+++ b/demo/m.py\n")
    more = export("more", place=place(site)).text.decode("latin-1")
    assert more.startswith("Description: For a test\n Prose\n .\n of two\n   parts.\nX-Sitepatch")
    spatch = site.parent / "mine/more/p.spatch"
    spatch.write_text("For a test\n\n" + spatch.read_text())  # an imported patch has its subject as both
    assert export("more", place=place(site)).text.decode("latin-1") == more


def test_an_applied_patchset_is_exported_all_the_same_and_one_that_does_not_fit_is_not(site):
    before = export("more", place=place(site)).text
    assert apply("two", place=place(site)).ok
    assert export("more", place=place(site)).text == before
    spatch = site.parent / "mine/more/p.spatch"
    spatch.write_text(spatch.read_text().replace("VALUE = 1", "VALUE = 9"))
    failed = export("more", place=place(site), output="more.patch")
    assert not failed.ok and failed.written == () and not (site.parent / "more.patch").exists()
    spatch.write_text("--- demo/n.py\n@@ <module> @@ when-present\n-VALUE = 8\n+VALUE = 9\n")
    with pytest.raises(SitepatchError, match=r"nothing to export.*not needed"):
        export("more", place=place(site))


def test_a_patch_holds_one_patchset(site):
    with pytest.raises(UsageError, match="several patchsets"):
        export(["two", "more"], place=place(site))


@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_a_patchset_is_installed_as_a_package_by_its_hash_and_found_beside_sitepatch(site, monkeypatch, installer):
    (site.parent / "mine/two/probe.py").write_text("raise RuntimeError('run')\n")
    with (site.parent / "mine/two/patchset.toml").open("a") as file:
        file.write('[verify]\nprobe = "probe.py"\n')
    options = {"format": "patchset-wheel", "place": place(site)}
    ((path, digest),) = export("two", output="wheels", **options).written
    assert path == "wheels/sitepatch_patchset_two-1-py3-none-any.whl"
    assert export("two", output="again", **options).written[0][1] == digest == sha256(Path(path).read_bytes()).hexdigest()
    env = world.Env(site.parent / installer, {})
    Path("requirements.txt").write_text(f"./{path} --hash=sha256:{digest}\n")
    getattr(env, installer)("install", "--no-index", "--require-hashes", "-r", "requirements.txt", cwd=site.parent)
    monkeypatch.syspath_prepend(str(env.site))
    listed, *_ = Catalogue([]).load()
    (patchset,) = (one.patchset for one in listed if one.patchset.name == "two")
    assert str(patchset.folder.source) == "entry point two"
    files = [path for path in (site.parent / "mine/two").iterdir() if path.is_file()]
    assert dict(patchset.folder.files) == {path.name: path.read_text() for path in files}
    applied = apply("two", place=Place(target=str(site)))
    assert applied.ok and (site / "demo/m.py").read_bytes().count(b"VALUE = 2\r\n") == 1
    yes = ["-y"] if installer == "pip" else []
    getattr(env, installer)("uninstall", *yes, "sitepatch-patchset-two")
    assert "two" not in [one.patchset.name for one in Catalogue([]).load()[0]]
    assert list(env.site.glob("sitepatch*")) == [], "nothing is left of it"


def test_a_patchset_wheel_takes_no_options_and_no_wheel(site):
    for more in ({"settings": ("two.x=1",)}, {"wheels": ("demo.whl",)}):
        with pytest.raises(UsageError, match="takes neither --set nor --wheel"):
            export("two", format="patchset-wheel", place=place(site), **more)
    with pytest.raises(UsageError, match="--format patch: takes no --wheel"):
        export("two", wheels=("demo.whl",), place=place(site))
    assert not Path("dist").exists()


# the wheel ------------------------------------------------------------------------------------------------------------
INFO, DATA = "demo-1.0.dist-info", "demo-1.0.data"
FILES = {
    "demo/__init__.py": "def main():\n    print('ran', VALUE)\n\n\nVALUE = 1\n",
    f"{DATA}/purelib/demo_more.py": "VALUE = 1\n",
    f"{DATA}/scripts/demo-script": "#!python\nimport demo_more\nprint('script', demo_more.VALUE)\n",
    f"{DATA}/data/share/demo.txt": "data\n",
    f"{INFO}/entry_points.txt": "[console_scripts]\ndemo-run = demo:main\n",
    f"{INFO}/RECORD.jws": "a signature of the old RECORD",
    "demo/__pycache__/__init__.cpython-311.pyc": "compiled of the old text",
}


def executable(data):
    """A wheel whose scripts may be run."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for member in old.infolist():
            text = old.read(member)
            member.external_attr = (0o100755 if "/scripts/" in member.filename else 0o100644) << 16
            new.writestr(member, text)
    return out.getvalue()


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """An environment with demo 1.0 from an index, and the patchset `two` for it."""
    monkeypatch.chdir(tmp_path)
    index = Index()
    index.put("demo", "demo-1.0-py3-none-any.whl", executable(packed("demo", "1.0", FILES)))
    settings = world.variables(index, tmp_path / "home")
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    patchset(tmp_path, path="demo/__init__.py")
    patchset(tmp_path, path="demo_more.py", name="more")
    env = world.Env(tmp_path / "env", settings)
    env.uv("install", "demo==1.0")
    yield env
    index.close()


def exported(env, *names, **more):
    there = Place(python=env.python, patch_dirs="mine")
    return export(names or ("two", "more"), format="wheel", place=there, **more)


def test_pip_and_uv_install_the_wheel_with_its_hash_and_nothing_of_it_is_lost(environment, tmp_path):
    ((path, digest),) = exported(environment, output="wheels").written
    version = re.fullmatch(r"wheels/demo-(1\.0\+sitepatch\.h[0-9a-f]{8})-py3-none-any\.whl", path)[1]
    ((other, _),) = exported(environment, "two", output="wheels").written
    assert other != path, "pip installs no wheel over one of the same version"
    ((_, again),) = exported(environment, output="again").written
    assert again == digest == sha256((tmp_path / path).read_bytes()).hexdigest()
    (tmp_path / "requirements.txt").write_text(f"./{path} --hash=sha256:{digest}\n")
    for name in ("pip", "uv"):
        env = world.Env(tmp_path / name, environment.variables)
        getattr(env, name)("install", "--require-hashes", "-r", "requirements.txt", cwd=tmp_path)
        assert env.call("demo-run", cwd=tmp_path).out == "ran 2\n"
        assert env.call("demo-script", cwd=tmp_path).out == "script 2\n"
        assert (env.root / "share/demo.txt").read_text() == "data\n"
        assert env.start("import importlib.metadata as m; print(m.version('demo'))").out == f"{version}\n"
        getattr(env, name)("install", f"./{other}", cwd=tmp_path)
        assert (env.site / "demo_more.py").read_text() == "VALUE = 1\n", "another patch replaces it"
    env.uv("install", "--dry-run", "demo~=1.0", "demo>=1.0,<1.1", "demo==1.0")  # it is still that release


def test_a_patchset_that_changes_nothing_is_left_out(environment, tmp_path):
    (tmp_path / "mine/more/p.spatch").write_text("--- demo_more.py\n@@ <module> @@ when-present\n-VALUE = 8\n+VALUE = 9\n")
    assert "more changes nothing here and is left out" in exported(environment).plan.notes


def test_the_record_lists_each_member_as_it_is(environment, tmp_path):
    ((path, _),) = exported(environment).written
    version = path.split("-")[1]
    info = f"demo-{version}.dist-info"
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    rows = [row.split(",") for row in members[f"{info}/RECORD"].decode().splitlines()]
    assert [row[0] for row in rows] == list(members) and rows[-1] == [f"{info}/RECORD", "", ""]
    for name, digest, size in rows[:-1]:
        assert (digest, size) == (recorded_digest(members[name]), str(len(members[name])))
    dropped = {f"{INFO}/RECORD.jws", "demo/__pycache__/__init__.cpython-311.pyc"}
    kept = {name.replace("demo-1.0.", f"demo-{version}.") for name in FILES if name not in dropped}
    assert set(members) == {*kept, f"{info}/RECORD", f"{info}/METADATA", f"{info}/WHEEL"}
    assert members[f"{info}/METADATA"] == f"Metadata-Version: 2.1\nName: demo\nVersion: {version}\n".encode()


def test_a_named_wheel_has_to_be_that_of_the_release(environment, tmp_path):
    def wheel_of(name, version, files):
        path = tmp_path / f"{name}-{version}-py3-none-any.whl"
        path.write_bytes(packed(name, version, files))
        return path

    assert exported(environment, wheels=wheel_of("demo", "1.0", FILES)).ok
    for path, message in (
        (wheel_of("demo", "1.1", FILES), "found demo 1.1, expected demo 1.0"),
        (wheel_of("demo", "1.0", {**FILES, "demo/__init__.py": "VALUE = 1\n"}), "its demo/__init__.py is not the one that is installed"),
        (wheel_of("other", "1.0", FILES), "other-1.0-py3-none-any.whl, of which nothing changes"),
        (tmp_path / "mine/two/p.spatch", "it is no wheel"),
    ):
        with pytest.raises(SitepatchError, match=message):
            exported(environment, wheels=path, output="refused")
    assert not list(tmp_path.glob("refused/*"))


def test_the_wheel_of_a_vendor_is_fetched_from_its_source_and_keeps_its_label(environment, tmp_path):
    vendor = tmp_path / "demo-1.0+cu1-py3-none-any.whl"
    vendor.write_bytes(packed("demo", "1.0+cu1", {name: text for name, text in FILES.items() if "demo-1.0." not in name}))
    env = world.Env(tmp_path / "vendors", environment.variables)
    env.uv("install", str(vendor))
    ((path, _),) = exported(env, "two").written
    assert path.startswith("dist/demo-1.0+cu1.sitepatch.h")
    vendor.write_bytes(packed("demo", "1.0+cu1", {"demo/__init__.py": FILES["demo/__init__.py"] + "# anew\n"}))
    with pytest.raises(SitepatchError, match=r"is another build .*demo/__init__.py differs"):
        exported(env, "two", output="other")
    (env.site / "demo-1.0+cu1.dist-info/direct_url.json").unlink()
    with pytest.raises(SitepatchError, match=r"demo 1.0\+cu1: the index has no such release") as caught:  # the index has only another build
        exported(env, "two", output="other")
    assert "--wheel" in caught.value.hint


@pytest.mark.parametrize(("name", "number"), [(".pre-commit-hooks.yaml", 1), ("action.yml", 1)])
def test_the_commands_that_other_tools_run_exist(name, number):
    lines = re.findall(r"^ +(?:entry: )?sitepatch (.*)$", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
    assert len(lines) == number
    for line in lines:
        name, *words = line.replace('"$AGAINST"', "newest").replace("$NAMES", "").split()
        commands.get_command(None, name).make_context(name, words)  # raises the error of the command line

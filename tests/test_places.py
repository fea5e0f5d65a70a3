"""The promises about where the files are: each in environments made by real installers, by the command."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.command import UV, tree
from tests.installed.sites import install
from tests.places import (
    FILES,
    base,
    command,
    environ,
    inodes,
    patchset,
    sources,
    value,
    venv,
    wheel,
)

pytestmark = pytest.mark.once




def run(*words, folder):
    """Run an installer that sees only the test's folder."""
    variables = environ(PYTHONPATH="", UV_CACHE_DIR=str(folder / "cache"), UV_NO_CONFIG="1", PIP_CONFIG_FILE=os.devnull)
    completed = subprocess.run([*map(str, words)], env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
    assert completed.returncode == 0, completed.stdout.decode()


def by_uv(mode):
    def install_it(folder, python, site):
        words = ["pip", "install", "-q", "--offline", "--no-index", "--find-links", folder / "wheels", "--link-mode", mode]
        run(UV, *words, "--cache-dir", folder / "cache", "--python", python, "demo", folder=folder)

    return install_it


def by_pip(folder, python, site):
    words = ["--disable-pip-version-check", "install", "-q", "--no-index", "--find-links", folder / "wheels", "demo"]
    run(sys.executable, "-m", "pip", "--python", python, "--cache-dir", folder / "cache", *words, folder=folder)


def by_hard_links(folder, python, site):
    """As conda does it: the package is unpacked, with its bytecode, in a cache, and each of its files is a hard link."""
    cache = folder / "cache" / "pkgs" / "demo-1.0"
    if not cache.exists():
        with zipfile.ZipFile(str(wheel(folder / "wheels"))) as archive:
            archive.extractall(str(cache))
        run(python, "-m", "compileall", "-q", cache, folder=folder)
    for path in cache.rglob("*"):
        there = site / path.relative_to(cache)
        if path.is_dir():
            there.mkdir(exist_ok=True)
        else:
            os.link(str(path), str(there))


def needs_uv(mode):
    return pytest.param(by_uv(mode), mode, id=f"uv-{mode}", marks=pytest.mark.skipif(not UV, reason="uv is not here"))


WAYS = [
    *(needs_uv(mode) for mode in ("hardlink", "symlink", "clone", "copy")),
    pytest.param(by_pip, "pip", id="pip"),
    pytest.param(by_hard_links, "hardlink", id="hard links as of conda"),
]


@pytest.mark.parametrize(("install_it", "mode"), WAYS)
def test_a_cache_and_a_second_environment_stay_as_they_are(tmp_path, install_it, mode):
    wheel(tmp_path / "wheels")
    patchset(tmp_path)
    python, site = venv(tmp_path / "first")
    other, others = venv(tmp_path / "second")
    for each in ((python, site), (other, others)):
        install_it(tmp_path, *each)
    linked = (site / "demo/m.py").lstat().st_nlink == 3  # so does `clone` where the filesystem cannot clone
    assert linked or mode != "hardlink", "the installer links as this test wants it to"
    assert (site / "demo/m.py").is_symlink() is (mode == "symlink")
    assert value(python) == value(other) == 1
    cache, second, first = tree(tmp_path / "cache"), tree(others), sources(site)
    in_cache, in_second = inodes(tmp_path / "cache"), inodes(others)
    assert cache or mode == "pip"

    assert command(tmp_path, "apply", "two", "--python", python).code == 0
    assert (value(python), value(other)) == (2, 1)
    assert site.joinpath("demo/m.py").is_symlink() is False and site.joinpath("demo/m.py").stat().st_nlink == 1
    assert (tree(tmp_path / "cache"), tree(others)) == (cache, second)

    assert command(tmp_path, "restore", "--python", python).code == 0
    assert (value(python), value(other)) == (1, 1)
    assert (tree(tmp_path / "cache"), tree(others)) == (cache, second)
    assert sources(site) == first, "the same bytes, kinds, modes and mtimes; a link leads where it led"
    for before, folder in ((in_cache, tmp_path / "cache"), (in_second, others)):
        for path, (inode, count) in before.items():
            lost = 1 if linked and path.endswith("demo/m.py") else 0
            assert inodes(folder)[path] == (inode, count - lost), path
    back = site.joinpath("demo/m.py").lstat()
    assert back.st_nlink == 1, "a hard link does not come back: the file has the bytes, and a place on the disk, of its own"


# what an environment shares -------------------------------------------------------------------------------------------
class Shared(NamedTuple):
    """A virtual environment (its interpreter and site directory) and the base installation below it."""

    folder: Path
    python: Path
    site: Path
    system: Path
    library: Path


@pytest.fixture
def shared(tmp_path):
    """A base installation with `demo`, and a virtual environment that sees its packages."""
    system, library = base(tmp_path / "base")
    install(library, FILES)
    python, site = venv(tmp_path / "env", "--system-site-packages", python=system)
    patchset(tmp_path)
    return Shared(tmp_path, python, site, system, library)


def test_a_file_of_the_base_installation_is_patched_only_on_request(shared):
    folder, python, site, system, library = shared
    before = tree(folder / "base")
    for words in (["apply", "two"], ["apply", "two", "--dry-run"], ["diff", "two"], ["check", "two", "--explain"]):
        ended = command(folder, *words, "--python", python, PYTHONDONTWRITEBYTECODE="1")
        text = "".join((ended.out + ended.err).split())  # `check --explain` breaks lines
        expected = f"demo/m.py is not of this virtual environment: demo 1.0 lies in {library}, which others share"
        assert ended.code == 1 and expected.replace(" ", "") in text, ended
        assert "patch it there, for all who use it, with --system".replace(" ", "") in text, ended
        assert tree(folder / "base") == before and not (site / ".sitepatch").exists()

    ended = command(folder, "apply", "two", "--system", "--python", python)
    assert ended.code == 0 and f"sitepatch restore two --python {python} --system" in ended.out, ended
    assert value(python) == value(system) == 2
    assert (library / ".sitepatch").is_dir() and not (site / ".sitepatch").exists()

    stands = tree(library / ".sitepatch")
    for words in (["restore"], ["restore", "two"], ["status"], ["status", "--verify", "import"]):
        ended = command(folder, *words, "--python", python)
        assert f"what is patched in {library}, shared with others, is left alone without --system" in ended.err, ended
        assert tree(library / ".sitepatch") == stands and value(python) == 2, ended
    assert "applied" in command(folder, "status", "--system", "--python", python).out
    assert command(folder, "status", "--verify", "import", "--system", "--python", python).code == 0
    assert command(folder, "restore", "--system", "--python", python).code == 0
    assert value(python) == value(system) == 1
    assert sources(folder / "base") == {path: what for path, what in before.items() if "__pycache__" not in path}


def test_what_the_environment_has_itself_is_patched_and_the_base_installation_is_left_alone(shared):
    folder, python, site, system, library = shared
    assert command(folder, "apply", "two", "--python", system).code == 0, "what is the base's own is not shared to it"
    stands = sources(library)
    install(site, {path: text.replace("1", "1 ") for path, text in FILES.items()}, version="2.0")
    ended = command(folder, "apply", "two", "--python", python)
    assert ended.code == 0 and "demo is found twice" in ended.err, ended
    assert (value(python), value(system), (site / "demo/m.py").read_text()) == (2, 2, "VALUE = 2 \n")
    assert command(folder, "restore", "--python", python).code == 0
    assert (value(python), value(system)) == (1, 2)
    assert sources(library) == stands


def test_a_run_that_was_interrupted_in_the_base_installation_waits_there(shared):
    left = shared.library / ".sitepatch" / "journal.json.tmp"
    left.parent.mkdir()
    left.write_text("{")
    assert command(shared.folder, "restore", "--python", shared.python).code == 0
    assert left.exists()
    assert command(shared.folder, "restore", "--system", "--python", shared.python).code == 0
    assert not left.exists()


def test_another_environment_that_a_pth_adds_is_shared_too(shared):
    """So does `uv run --with`: the project's environment lies in a .pth of one that is made for the run."""
    folder, site = shared.folder, shared.site
    outer, _ = venv(folder / "outer")
    (folder / "outer" / site.relative_to(folder / "env") / "below.pth").write_text(f"{site}\n")
    install(site, FILES)
    before = tree(site)
    assert value(outer, PYTHONDONTWRITEBYTECODE="1") == 1
    ended = command(folder, "apply", "two", "--python", outer)
    assert ended.code == 1 and f"is the environment that is meant: --python {folder / 'env'}" in ended.out + ended.err, ended
    assert tree(site) == before
    assert command(folder, "apply", "two", "--python", folder / "env").code == 0
    assert value(outer) == 2


DEBIAN, DIST = "/usr/bin/python3", Path("/usr/lib/python3/dist-packages")
NAMES = sorted(each.parent.name for each in DIST.glob("[a-z]*/__init__.py") if each.parent.name.isidentifier())


@pytest.mark.skipif(not (NAMES and Path(DEBIAN).exists()), reason="no Debian Python with packages here")
def test_a_package_of_debian_is_not_patched_from_a_virtual_environment(tmp_path):
    """Only the refusal: nothing of the system is changed by a test."""
    python, _ = venv(tmp_path / "env", "--system-site-packages", python=DEBIAN)
    path = f"{NAMES[0]}/__init__.py"
    patchset(tmp_path, path=path)
    before = ((DIST / path).read_bytes(), (DIST / path).stat().st_mtime_ns, (DIST / ".sitepatch").exists())
    ended = command(tmp_path, "apply", "two", "--python", python)
    assert ended.code == 1 and f"lies in {DIST}" in ended.out + ended.err and "--system" in ended.out + ended.err, ended
    assert ((DIST / path).read_bytes(), (DIST / path).stat().st_mtime_ns, (DIST / ".sitepatch").exists()) == before


def test_a_conda_environment_is_found_by_its_variable(tmp_path):
    """Its layout: an interpreter of its own in bin/, no pyvenv.cfg, packages linked from a cache."""
    python, site = base(tmp_path / "conda")
    by_hard_links(tmp_path, python, site)
    patchset(tmp_path)
    before, cache = sources(site), tree(tmp_path / "cache")
    ended = command(tmp_path, "apply", "two", CONDA_PREFIX=str(tmp_path / "conda"))
    assert ended.code == 0 and f"1 file in {site}" in ended.out, ended
    assert value(python) == 2
    assert command(tmp_path, "restore", CONDA_PREFIX=str(tmp_path / "conda")).code == 0
    assert (value(python), sources(site), tree(tmp_path / "cache")) == (1, before, cache)


# what would not run, and who owns it -----------------------------------------------------------------------------------
def compiled(site):
    """Only its name is looked at, by the interpreter's finder too."""
    install(site, FILES)
    (site / "demo" / "m.abi3.so").write_bytes(b"")
    return "demo/m.py", "the compiled m.abi3.so beside it comes first", "m.abi3.so"


def frozen(site):
    return "os.py", "os belongs to the standard library", "os.py" if sys.version_info < (3, 11) else "frozen"


def sourceless(site):
    install(site, FILES)
    subprocess.run([sys.executable, "-m", "compileall", "-q", "-b", str(site / "demo" / "m.py")], check=True)
    (site / "demo" / "m.py").unlink()
    return "demo/m.py", "demo 1.0 has no such file", "demo/m.pyc"


def zipped(site):
    shutil.copy(str(wheel(site / "eggs")), str(site / "demo-1.0-py3.egg"))
    shutil.rmtree(str(site / "eggs"))
    (site / "easy-install.pth").write_text("./demo-1.0-py3.egg\n")
    return "demo/m.py", "demo lies inside the archive", "demo-1.0-py3.egg/demo/m.py"


def two_versions(site):
    install(site, FILES, version="1.0")
    install(site, FILES, version="2.0")
    return "demo/m.py", "belongs to several distributions", "site-packages/demo/m.py"


@pytest.mark.parametrize("make", [compiled, frozen, sourceless, zipped, two_versions])
def test_a_file_that_would_not_run_is_refused_with_the_reason(tmp_path, make):
    python, site = venv(tmp_path / "env")
    path, reason, origin = make(site)
    module = path[:-3].replace("/", ".")
    code = f"import importlib.util as u; print(u.find_spec({module!r}).origin)"
    printed = subprocess.run([str(python), "-B", "-c", code], stdout=subprocess.PIPE, check=True).stdout.decode()
    assert printed.strip().endswith(origin), "this is what the interpreter would load"
    patchset(tmp_path, path=path)
    before = tree(tmp_path / "env")
    ended = command(tmp_path, "apply", "two", "--python", python)
    assert ended.code == 1 and reason in ended.out, ended
    assert tree(tmp_path / "env") == before


def test_parts_of_a_namespace_package_are_patched_each_as_its_distribution(tmp_path):
    python, site = venv(tmp_path / "env")
    for name, version in (("one", "1.0"), ("other", "2.0")):
        install(site, {f"demo/{name}/__init__.py": "VALUE = 1\n"}, f"demo-{name}", version)
        patchset(tmp_path, f"demo/{name}/__init__.py", name=name)
    before = sources(site)

    def ran(*words, code=0):
        ended = command(tmp_path, *words, "--python", python)
        assert ended.code == code, ended
        return ended

    ran("apply", "one", "other")
    assert "already" in ran("apply", "one").out
    lines = ran("status").out.splitlines()
    assert ["demo-one 1.0" in lines[0], "demo-other 2.0" in lines[1]] == [True, True], lines
    assert "is a namespace package" not in ran("doctor").out
    ran("restore")
    assert sources(site) == before
    (site / "demo/other/__init__.py").write_text("VALUE = 3\n")
    (tmp_path / "was/demo/other").mkdir(parents=True)
    (tmp_path / "was/demo/other/__init__.py").write_text("VALUE = 1\n")
    ran("capture", "demo-other", "--name", "made", "--pristine", tmp_path / "was")
    assert 'distributions = ["demo-other"]' in (tmp_path / "patchsets/made/patchset.toml").read_text()
    assert (value(python, "demo.one"), value(python, "demo.other")) == (1, 3)


def test_a_package_that_two_distributions_list_is_named(tmp_path):
    """Like mmengine and mmengine-lite: the files are those of the one that was installed last."""
    python, site = venv(tmp_path / "env")
    install(site, FILES, "demo-lite", "1.0")
    install(site, {**FILES, "demo/__init__.py": "last = True\n"}, "demo", "2.0")
    patchset(tmp_path)
    ended = command(tmp_path, "apply", "two", "--python", python)
    assert ended.code == 0, ended
    assert "demo is also listed by demo_lite-1.0.dist-info; its files are those of demo-2.0.dist-info" in ended.err, ended
    assert value(python) == 2

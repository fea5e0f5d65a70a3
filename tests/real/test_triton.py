"""triton-libcuda-path on the function of real releases: patched by the real command, run with directories made here.

Of a release only the file with `libcuda_dirs` is there, not triton: a wheel has 100 to 300 MB. So of the patched file the
function alone is run, with the helper, on real directories; two things stand in:
- `subprocess`, whose check_output is an `ldconfig -p` that says what the test wants it to say (from 2.2.0 on triton calls
  /sbin/ldconfig, which no PATH can replace);
- `knobs`, where triton 3.4.0 and later read TRITON_LIBCUDA_PATH; it reads the variable as theirs does.
"""

import ast
import functools
import os
import shlex
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from wheels import ALL, assert_compiles, files_of, install, sitepatch

pytestmark = pytest.mark.real

NAME = "triton-libcuda-path"
PATHS = ["triton/common/build.py", "triton/backends/nvidia/driver.py"]
RELEASES = [
    "2.1.0", "2.2.0", "2.3.0", "2.3.1", "3.0.0", "3.1.0", "3.2.0", "3.3.0", "3.3.1", "3.4.0", "3.5.0", "3.5.1",
    "3.6.0", "3.7.0", "3.7.1", "3.8.0", "3.9.0",
]  # fmt: skip
# The smallest wheel of each way to link and of each place of the file.
QUICK = ["2.1.0", "3.4.0", "3.6.0"]
LOST = "libcuda.so cannot found!"
COMMAND = "make the link: "


class Release:
    """The file of a release in a site directory of its own, and its `libcuda_dirs`, made anew for every call."""

    def __init__(self, cache, version, root):
        self.number = tuple(map(int, version.split(".")))
        self.site, self.elsewhere = root / "site", root / "elsewhere"
        self.elsewhere.mkdir()
        files = files_of(cache, "triton", version, PATHS)
        install(self.site, "triton", version, files)
        ((path, self.pristine),) = files.items()
        self.file = self.site / path
        self.links_libcuda_so = self.number < (3, 6)

    def apply(self, *more):
        dirs = f"{self.elsewhere}/nothing-here:{self.elsewhere}"
        return sitepatch(self.site, "apply", NAME, "--set", f"dirs={dirs}", *more)

    def libcuda_dirs(self, ldconfig=""):
        tree = ast.parse(self.file.read_bytes())
        tree.body = [node for node in tree.body if getattr(node, "name", "") in ("libcuda_dirs", "_sitepatch_libcuda")]
        nvidia = SimpleNamespace(libcuda_path=os.environ.get("TRITON_LIBCUDA_PATH"))
        names = {
            "functools": functools,
            "os": os,
            "subprocess": SimpleNamespace(check_output=lambda command: ldconfig.encode()),
            "knobs": SimpleNamespace(nvidia=nvidia),
        }
        exec(compile(tree, str(self.file), "exec"), names)
        return names["libcuda_dirs"]()

    def refusal(self, **more):
        with pytest.raises(AssertionError, match=LOST) as caught:
            self.libcuda_dirs(**more)
        return str(caught.value)


@pytest.fixture(params=RELEASES if ALL else QUICK)
def release(request, real_cache, tmp_path, monkeypatch):
    monkeypatch.delenv("TRITON_LIBCUDA_PATH", raising=False)
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Release(real_cache, request.param, tmp_path)


def hold(folder, *names):
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).touch()
    return folder


def test_a_library_that_ldconfig_does_not_know_is_found(release):
    hold(release.elsewhere, "libcuda.so", "libcuda.so.1")
    release.refusal()
    release.apply()
    assert release.libcuda_dirs() == [str(release.elsewhere)]


def test_a_directory_with_libcuda_so_1_alone_is_enough(release, tmp_path, monkeypatch):
    hold(release.elsewhere, "libcuda.so.1")
    release.apply()
    first, *link = release.libcuda_dirs()
    assert first == str(release.elsewhere)
    assert [(Path(each) / "libcuda.so").resolve() for each in link] == [release.elsewhere / "libcuda.so.1"] * release.links_libcuda_so
    if release.links_libcuda_so:
        monkeypatch.setenv("XDG_CACHE_HOME", os.devnull)
        command = release.refusal().partition(COMMAND)[2]
        subprocess.check_call(shlex.split(command))  # as it stands there
        assert release.libcuda_dirs() == [str(release.elsewhere)]


@pytest.mark.skipif(not shutil.which("cc"), reason="there is no compiler here, which links")
def test_a_linker_finds_the_library_that_ldconfig_lists_elsewhere(release):
    """As in a container: ldconfig lists a file that is not there, the library is elsewhere, under its numbered name."""
    release.elsewhere.mkdir(exist_ok=True)
    library, program = release.elsewhere / "libcuda.so.1", release.elsewhere / "program"
    build(b"int cuInit(unsigned flags) { return 0; }", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", library)
    lost = "\tlibcuda.so{} (libc6,x86-64) => /usr/local/cuda/compat/nothing-here/libcuda.so{}\n"
    listed = lost.format(".1", ".1") + lost.format("", "")
    release.refusal(ldconfig=listed)
    release.apply()
    dirs = [f"-L{path}" for path in release.libcuda_dirs(ldconfig=listed)]
    name = "-lcuda" if release.links_libcuda_so else "-l:libcuda.so.1"
    build(b"int cuInit(unsigned); int main(void) { return cuInit(0); }", *dirs, name, "-o", program)
    subprocess.check_call([str(program)], env={"LD_LIBRARY_PATH": str(release.elsewhere)})


def build(source, *words):
    subprocess.run(["cc", "-x", "c", "-", *map(str, words)], input=source, check=True)


def test_where_there_is_none_triton_gives_up_as_before(release):
    before = release.refusal()
    release.apply()
    assert release.refusal() == before


def test_what_triton_finds_itself_is_taken_as_before(release, tmp_path, monkeypatch):
    hold(release.elsewhere, "libcuda.so", "libcuda.so.1")
    known = hold(tmp_path / "known", "libcuda.so", "libcuda.so.1")
    ldconfig = f"\tlibcuda.so.1 (libc6,x86-64) => {known}/libcuda.so.1\n"
    release.apply()
    assert release.libcuda_dirs(ldconfig=ldconfig) == [str(known)]
    if release.number >= (2, 2):
        monkeypatch.setenv("LD_LIBRARY_PATH", str(known))
        assert release.libcuda_dirs() == [str(known)]
        monkeypatch.setenv("TRITON_LIBCUDA_PATH", "/said/so")
        assert release.libcuda_dirs(ldconfig=ldconfig) == ["/said/so"]


def test_a_second_application_changes_nothing_and_restore_gives_the_same_bytes(release):
    release.apply()
    applied = release.file.read_bytes()
    assert applied != release.pristine
    assert_compiles(release.file, release.pristine, applied)
    release.apply()
    assert release.file.read_bytes() == applied
    sitepatch(release.site, "restore", NAME)
    assert release.file.read_bytes() == release.pristine


def test_without_options_the_usual_places_are_looked_into(release):
    sitepatch(release.site, "apply", NAME)
    text = release.file.read_text(encoding="utf-8")
    for place in ("compat/lib:", "compat/lib.real:", "/usr/lib64-nvidia:", "/usr/lib/wsl/lib:", "/usr/lib/x86_64-linux-gnu:", "/usr/lib64'"):
        assert place in text

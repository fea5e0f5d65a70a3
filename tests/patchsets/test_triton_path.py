"""triton-libcuda-path on the stand-ins, with an `ldconfig` of the test's own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from patcher.patchset.places import builtin_dir
from tests.command import Site

pytestmark = pytest.mark.once

NAME = "triton-libcuda-path"
PROBE = Path(builtin_dir()) / NAME / "probe.py"
OLD, MIDDLE, NEW = "triton-2.1.0", "triton-3.5.1", "triton-3.6.0"
ASK = "from {module} import libcuda_dirs; print(libcuda_dirs())"


class Triton:
    """A stand-in, a directory beside it that ldconfig does not know, and what libcuda_dirs answers."""

    def __init__(self, folder, fixture):
        self.module = "triton.common.build" if fixture == OLD else "triton.backends.nvidia.driver"
        self.links_libcuda_so = fixture != NEW
        self.site = Site(folder, fixture)
        self.cache = folder / "cache"
        self.elsewhere = folder / "else where"
        self.elsewhere.mkdir()
        self.ldconfig = folder / "bin" / "ldconfig"
        self.ldconfig.parent.mkdir()
        self.lists()
        self.environ = {"PATH": str(self.ldconfig.parent), "LD_LIBRARY_PATH": "", "XDG_CACHE_HOME": str(self.cache)}

    def lists(self, *paths):
        """What `ldconfig -p` is to list."""
        lines = [f"echo 'libcuda.so.1 (libc6,x86-64) => {path}'" for path in paths]
        self.ldconfig.write_text("\n".join(["#!/bin/sh", *lines, ""]))
        self.ldconfig.chmod(0o755)

    def python(self, code, **more):
        code = f"import sys; sys.path.insert(0, {str(self.site.path)!r})\n{code}"
        kept = {name: value for name, value in os.environ.items() if name.startswith(("LANG", "LC_"))}
        command = [sys.executable, "-I", "-B", "-c", code]
        env = {**kept, **self.environ, **more}
        return subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def ask(self, **more):
        return self.python(ASK.format(module=self.module), **more)

    def apply(self):
        ended = self.site("apply", NAME, "--set", f"dirs=:{self.elsewhere}:")
        assert ended.code == 0, ended

    def hold(self, *names):
        for name in names:
            (self.elsewhere / name).touch()


@pytest.fixture(params=[OLD, MIDDLE, NEW])
def triton(request, tmp_path):
    return Triton(tmp_path, request.param)


def test_the_library_is_found_where_ldconfig_does_not_look(triton):
    triton.hold("libcuda.so", "libcuda.so.1")
    assert "libcuda.so cannot found!" in triton.ask().stdout
    triton.apply()
    assert triton.ask().stdout == f"[{str(triton.elsewhere)!r}]\n"


def test_where_there_is_no_libcuda_so_a_link_of_ones_own_is_linked_with(triton):
    triton.hold("libcuda.so.1")
    triton.apply()
    before = triton.site.tree(), sorted(triton.elsewhere.iterdir())
    folder = Path(f"{triton.cache}/sitepatch/libcuda{triton.elsewhere}")
    expected = [str(triton.elsewhere)]
    if triton.links_libcuda_so:
        expected.append(str(folder))
    for _ in range(2):
        assert triton.ask().stdout == f"{expected}\n"
    if triton.links_libcuda_so:
        assert (folder / "libcuda.so").resolve() == triton.elsewhere / "libcuda.so.1"
        assert folder.stat().st_mode & 0o777 == 0o700
    assert (triton.site.tree(), sorted(triton.elsewhere.iterdir())) == before


def test_a_file_that_ldconfig_lists_and_is_not_there_is_left_out(triton, tmp_path):
    triton.lists(tmp_path / "gone" / "libcuda.so.1")
    triton.hold("libcuda.so", "libcuda.so.1")
    assert "libcuda.so cannot found!" in triton.ask(LD_LIBRARY_PATH=str(triton.elsewhere)).stdout
    triton.apply()
    assert triton.ask().stdout == f"[{str(triton.elsewhere)!r}]\n"
    other = tmp_path / "other"
    other.mkdir()
    (other / "libcuda.so").touch()
    (other / "libcuda.so.1").touch()
    assert triton.ask(LD_LIBRARY_PATH=str(other)).stdout.startswith(f"[{str(other)!r}, ")
    triton.lists(other / "libcuda.so.1")
    assert triton.ask().stdout == f"[{str(other)!r}]\n", "what triton finds itself"


def test_an_image_without_ldconfig_is_searched_all_the_same(triton):
    triton.hold("libcuda.so", "libcuda.so.1")
    triton.ldconfig.unlink()
    assert "FileNotFoundError" in triton.ask().stdout
    triton.apply()
    assert triton.ask().stdout == f"[{str(triton.elsewhere)!r}]\n"


def others_may_write(triton, folder):
    folder.mkdir(parents=True)
    folder.chmod(0o777)


def a_file_in_the_way(triton, folder):
    triton.cache.touch()


@pytest.mark.parametrize("spoil", [others_may_write, a_file_in_the_way])
def test_where_no_link_can_be_made_the_refusal_names_the_command(spoil, tmp_path):
    triton = Triton(tmp_path, OLD)
    triton.hold("libcuda.so.1")
    triton.apply()
    spoil(triton, Path(f"{triton.cache}/sitepatch/libcuda{triton.elsewhere}"))
    answer = triton.ask()
    assert answer.returncode == 1
    command = f"make the link: ln -s libcuda.so.1 '{triton.elsewhere}/libcuda.so'\n"
    assert answer.stdout.endswith(command), answer.stdout


def test_a_link_that_leads_elsewhere_is_made_anew(tmp_path):
    triton = Triton(tmp_path, OLD)
    triton.hold("libcuda.so.1")
    triton.apply()
    folder = Path(f"{triton.cache}/sitepatch/libcuda{triton.elsewhere}")
    folder.mkdir(parents=True)
    (folder / "libcuda.so").symlink_to("/elsewhere")
    assert str(folder) in triton.ask().stdout
    assert (folder / "libcuda.so").resolve() == triton.elsewhere / "libcuda.so.1"
    assert [path.name for path in folder.iterdir()] == ["libcuda.so"]


@pytest.mark.parametrize("cache", ["", "cache"], ids=["without XDG_CACHE_HOME", "with one that is not absolute"])
def test_the_link_is_never_in_the_current_directory(tmp_path, monkeypatch, cache):
    triton = Triton(tmp_path, OLD)
    triton.hold("libcuda.so.1")
    triton.apply()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    folder = Path(tmp_path, "home/.cache", cache, f"sitepatch/libcuda{triton.elsewhere}")
    answer = triton.ask(XDG_CACHE_HOME=cache, HOME=str(tmp_path / "home"))
    assert answer.stdout == f"{[str(triton.elsewhere), str(folder)]}\n"
    assert not list((tmp_path / "here").iterdir())


def test_empty_directories_in_the_option_are_not_the_current_directory(triton, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "libcuda.so").touch()
    (tmp_path / "libcuda.so.1").touch()
    triton.apply()
    assert "libcuda.so cannot found!" in triton.ask().stdout


@pytest.mark.parametrize("fixture", [MIDDLE, NEW])
def test_the_variable_wins(fixture, tmp_path):
    triton = Triton(tmp_path, fixture)
    triton.hold("libcuda.so", "libcuda.so.1")
    triton.apply()
    assert triton.ask(TRITON_LIBCUDA_PATH="/said/so").stdout == "['/said/so']\n"


def test_the_probe_tells_a_cured_triton_from_another(triton):
    probe = PROBE.read_text(encoding="utf-8")
    before = triton.python(probe)
    assert before.returncode == 1
    assert "libcuda.so cannot found!" in before.stdout
    triton.apply()
    after = triton.python(probe)
    assert (after.returncode, after.stdout.count("\n")) == (0, 1), after.stdout
    assert str(triton.elsewhere) in after.stdout

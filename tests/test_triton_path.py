"""triton-libcuda-path on the stand-ins, with an `ldconfig` of the test's own that knows of nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from patcher.patchset.sources import builtin_dir
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
        self.site, self.elsewhere = Site(folder, fixture), folder / "else where"
        self.elsewhere.mkdir()
        ldconfig = folder / "bin" / "ldconfig"
        ldconfig.parent.mkdir()
        ldconfig.write_text("#!/bin/sh\n")
        ldconfig.chmod(0o755)
        self.environ = {"PATH": str(ldconfig.parent), "LD_LIBRARY_PATH": ""}

    def python(self, code, **more):
        code = f"import sys; sys.path.insert(0, {str(self.site.path)!r})\n{code}"
        kept = {name: value for name, value in os.environ.items() if name.startswith(("LANG", "LC_"))}
        command = [sys.executable, "-I", "-B", "-c", code]
        return subprocess.run(
            command, env={**kept, **self.environ, **more}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

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


def test_the_refusal_names_the_command_for_releases_that_link_libcuda_so(triton):
    triton.hold("libcuda.so.1")
    triton.apply()
    answer = triton.ask()
    if triton.links_libcuda_so:
        assert answer.returncode == 1
        command = f"make the link: ln -s libcuda.so.1 '{triton.elsewhere}/libcuda.so'\n"
        assert answer.stdout.endswith(command), answer.stdout
    else:
        assert answer.stdout == f"[{str(triton.elsewhere)!r}]\n"


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

"""The checks of `doctor` for known troubles: each is set up in a directory of stand-ins and found; with its cure it is gone."""

import json
import subprocess

import pytest

from patcher.installed.interpreter import discover
from patcher.verbs.doctor import TROUBLES
from patcher.verbs.health import training
from patcher.verbs.health.checks import NOTE, OK, PROBLEM, examine
from patcher.verbs.health.examination import Examination
from tests.command import GUARD, Site
from tests.failures import fail

pytestmark = pytest.mark.once

DEVICE = "mmengine-device"


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine without a driver whose ldconfig prints the lines `listed`: no test can change what the real machine has."""
    listed, real = [], subprocess.run

    def run(words, **more):
        if words[0] != "/sbin/ldconfig":
            return real(words, **more)
        return subprocess.CompletedProcess(words, 0, "".join(listed).encode("utf-8", "surrogateescape"))

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(training, "_DRIVER", (str(tmp_path / "driver"),))  # this machine may have one
    return listed


def troubles(site):
    rows = examine(Examination(discover(None, str(site.path)), ()), TROUBLES)
    return {one.check: (one.severity, one.what, one.hint) for one in rows if one.severity != OK}


def build(site, **facts):
    """Write what torch/version.py says of a build."""
    text = "".join(f"{name}: Optional[str] = {value!r}\n" for name, value in facts.items())
    site.file("torch/version.py").write_text(f"__version__ = '2.9.0'\n{text}")


def test_code_that_reads_a_missing_is_musa_is_a_problem(tmp_path):
    site = Site(tmp_path, "torch-2.7.1-musa")
    ended = site("doctor", "--json")
    (one,) = [one for one in json.loads(ended.out)["findings"] if one["severity"] == PROBLEM]
    assert ended.code == 1 and one["check"] == "code" and "reads is_musa of a storage" in one["what"]
    assert one["hint"].startswith(f"sitepatch apply {GUARD} --target {site.path}: it fits")
    assert site("apply", GUARD).code == 0 and troubles(site) == {}


def test_a_stock_torch_asks_for_nothing(tmp_path):
    assert troubles(Site(tmp_path, "torch-2.9.0", "mmengine-0.10.7", "triton-3.5.1")) == {}


def test_a_libcuda_that_ldconfig_lists_and_that_does_not_exist_is_a_problem(tmp_path, machine):
    site = Site(tmp_path, "triton-3.5.1")
    assert troubles(site) == {}
    machine.append(f"\tlibcuda.so.1 (libc6,x86-64) => {tmp_path}/libcuda.so.1\n")
    severity, what, hint = troubles(site)["libcuda"]
    assert (severity, hint) == (PROBLEM, "sitepatch apply triton-libcuda-path") and str(tmp_path / "libcuda.so.1") in what
    (tmp_path / "libcuda.so.1").write_bytes(b"")
    assert troubles(site) == {}


def test_a_cuda_build_on_a_machine_without_a_driver_is_noted(tmp_path, machine):
    site = Site(tmp_path, "torch-2.9.0")
    build(site, cuda="12.8", hip=None)
    assert troubles(site)["driver"][0] == NOTE
    (tmp_path / "driver").write_text("")
    assert troubles(site) == {}


def test_a_backend_that_this_torch_lacks_is_noted(tmp_path, machine):
    site = Site(tmp_path, "torch-2.9.0", "mmengine-0.10.7")
    build(site, cuda=None, hip=None)
    assert troubles(site)["backend"][0] == NOTE and "backend='gloo'" in troubles(site)["backend"][2]
    (site.path / "torch_gcu").mkdir()
    assert troubles(site)["backend"][2] == "sitepatch apply mmengine-device takes the backend of the card"
    build(site, cuda=None, hip="6.4")
    assert "backend" not in troubles(site)


def test_listed_libraries_are_those_of_ldconfig(machine, monkeypatch):
    machine += ["\tlibcuda.so.1 (libc6,x86-64) => /usr/lib/libcuda.so.1\n", "\tlibc.so.6 (libc6) => /lib/libc.so.6\n", "\udcff libcuda.so\n"]
    assert training.listed_libraries("libcuda.so") == ["/usr/lib/libcuda.so.1"]
    fail(monkeypatch, subprocess, "run", FileNotFoundError("/sbin/ldconfig"))
    assert training.listed_libraries("libcuda.so") == []

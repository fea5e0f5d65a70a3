"""What people change by hand in torch, and in transformers because of torch: raised, found, cured and restored."""

import sys

import pytest
from conftest import COMMAND_ROOT, run
from cures import assert_cured, cure, cures, pip_install, python
from wheels import PLATFORMS, files_of, install, slow

pytestmark = pytest.mark.real

BOARD, EXTENSION = "torch/utils/tensorboard/__init__.py", "torch/utils/cpp_extension.py"


def restored(site, patchset, pristine):
    """Whether `restore` gives each file of {path: bytes} back."""
    ended = run([sys.executable, "-m", "patcher", "restore", patchset, "--target", site], cwd=COMMAND_ROOT)
    return ended.code == 0 and all((site / path).read_bytes() == data for path, data in pristine.items())


@slow
@cures("distutils-without-version")
@pytest.mark.parametrize("release", ["1.9.0", "1.10.2"])
def test_tensorboard_is_imported_with_a_newer_setuptools(real_cache, tmp_path, monkeypatch, release):
    """The file is the release's own; what it imports beside setuptools is a stand-in."""
    monkeypatch.setitem(PLATFORMS, "torch", ["--platform=macosx_10_9_x86_64", "--python-version=3.8"])
    site = tmp_path / "site"
    files = files_of(real_cache, "torch", release, [BOARD])
    install(site, "torch", release, files)
    writer, records = site / "torch/utils/tensorboard/writer.py", site / "tensorboard/summary/writer/record_writer.py"
    writer.write_text("FileWriter = SummaryWriter = None\n")
    records.parent.mkdir(parents=True)
    records.write_text("RecordWriter = None\n")
    (site / "tensorboard/__init__.py").write_text("__version__ = '2.14.0'\n")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", site, "setuptools==65.5.0"]
    assert run(pip, cwd=tmp_path).code == 0

    def job():
        code = "import sys; sys.path.insert(0, sys.argv[1]); from torch.utils.tensorboard import SummaryWriter; print('imported')"
        return run([sys.executable, "-I", "-c", code, site], cwd=tmp_path)

    failed = job()
    assert failed.code == 1, failed
    assert_cured(["--target", site], "distutils-without-version", failed.out, "torch-tensorboard-distutils")
    assert job().out == "imported\n"
    assert restored(site, "torch-tensorboard-distutils", files)


NVCC = "#!/bin/sh\necho 'Cuda compilation tools, release 12.3, V12.3.107'\n"
CHECK = """
import ast, collections, logging, os, re, subprocess, sys, types, warnings
from packaging.version import Version
import packaging

logging.basicConfig()
tree = ast.parse(open(sys.argv[1]).read())
kept = [node for node in ast.walk(tree) if getattr(node, "name", "") == "_check_cuda_version"]
kept += [node for node in tree.body if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "").startswith("CUDA_MISMATCH")]
space = dict(collections=collections, os=os, re=re, subprocess=subprocess, sys=sys, warnings=warnings, packaging=packaging, Version=Version, TorchVersion=Version)
space.update(CUDA_HOME=sys.argv[2], IS_WINDOWS=False, SUBPROCESS_DECODE_ARGS=(), logger=logging.getLogger("torch"), Optional=None)
space.update(torch=types.SimpleNamespace(version=types.SimpleNamespace(cuda="11.8")), _is_binary_build=lambda: False)
exec(compile("from __future__ import annotations\\n" + "\\n".join(ast.unparse(node) for node in kept), sys.argv[1], "exec"), space)
check = space["_check_cuda_version"]
check(*(("g++", Version("11.0")) if check.__code__.co_argcount == 2 else (None,)))
print("goes on")
"""


@slow
@cures("cuda-toolkit-of-another-version")
@pytest.mark.parametrize("release", ["1.10.0", "2.6.0", "2.13.0"])
def test_an_nvcc_of_another_version_is_a_warning_that_names_both(real_cache, tmp_path, monkeypatch, release):
    """The function is the release's own; nvcc is a script that says 12.3, and torch one that says 11.8."""
    if release.startswith("1."):
        monkeypatch.setitem(PLATFORMS, "torch", ["--platform=macosx_10_9_x86_64", "--python-version=3.8"])
    site, nvcc = tmp_path / "site", tmp_path / "cuda/bin/nvcc"
    files = files_of(real_cache, "torch", release, [EXTENSION])
    install(site, "torch", release, files)
    nvcc.parent.mkdir(parents=True)
    nvcc.write_text(NVCC)
    nvcc.chmod(0o755)

    def job():
        return run([sys.executable, "-c", CHECK, site / EXTENSION, nvcc.parents[1]], cwd=tmp_path)

    failed = job()
    assert failed.code == 1, failed
    assert_cured(["--target", site], "cuda-toolkit-of-another-version", failed.out, "torch-cuda-version-check")
    ended = job()
    assert ended.code == 0 and ended.out.endswith("goes on\n"), ended
    assert "12.3" in ended.out and "11.8" in ended.out, ended
    assert restored(site, "torch-cuda-version-check", files)


LOAD = "from transformers.utils.import_utils import check_torch_load_is_safe; check_torch_load_is_safe(); print('loaded')"
UTILS = "transformers/utils/import_utils.py"


@slow
@cures("torch-load-refused")
@pytest.mark.parametrize("release", ["4.52.1", "4.57.6", "5.24.0"])
def test_transformers_loads_with_an_older_torch_for_who_trusts_the_file(library, release):
    """The torch is said to be 2.5.1, as transformers asks the metadata for its release."""
    requirements = [f"transformers=={release}"]
    if release.startswith("4."):
        tokenizers = "0.21.4" if release < "4.56" else "0.22.1"
        requirements += ["huggingface-hub==0.36.0", f"tokenizers=={tokenizers}"]
        requirements += ["requests", "urllib3", "certifi", "idna", "charset-normalizer"]
    pip_install(library, *requirements)
    info = library.site / "torch-2.5.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.5.1\n")
    assert library.sitepatch("apply", "transformers-torch-load", "--verify", "compile").code == 0
    refused = python(library, LOAD)
    assert "Due to a serious vulnerability issue in `torch.load`" in refused.out, "without trust=true the check stays"
    assert library.sitepatch("restore", "transformers-torch-load").code == 0
    cure(library, "torch-load-refused", "transformers-torch-load", lambda: python(library, LOAD), [UTILS], "loaded")

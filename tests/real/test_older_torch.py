"""torch 2.1.0 with MMEngine 0.10.3, two ranks on the CPU. Its only wheel is for CUDA.

Of NVIDIA's libraries, two gigabytes without which it cannot be imported, stand-ins are compiled here: every function of them answers
that there is no device. So this is also a build for CUDA on a machine that has none.
"""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from conftest import SUPPORT, Environment, alone, linked, make_venv
from test_cures import cured
from test_ddp_report import ranks, told
from test_ranks import trial
from wheels import slow

pytestmark = pytest.mark.real

NEEDS = ["filelock", "typing-extensions", "sympy", "networkx", "jinja2", "fsspec"]
OLD = ["numpy<2", "opencv-python-headless<4.11", *(name for name in SUPPORT if not name.startswith(("numpy", "opencv")))]
NVIDIA = re.compile("lib(cu|nccl|nvTools|nvrtc)")
NO_DEVICE = 100  # cudaErrorNoDevice


@pytest.fixture
def older(real_cache, tmp_path, tell):
    if not shutil.which("cc"):
        pytest.skip("there is no compiler here for the stand-ins of NVIDIA's libraries")
    kept = real_cache / "torch-2.1.0-mmengine-0.10.3-py311"
    with alone(real_cache):
        if not (kept / "complete").exists():
            make_venv(kept, tell, [*NEEDS, *OLD], ["--no-deps", "torch==2.1.0", "mmengine==0.10.3"])
            (folder,) = kept.glob("lib/python3*/site-packages/torch/lib")
            stand_in(folder)
            (kept / "complete").touch()
    with tempfile.TemporaryDirectory(prefix="copy-", dir=str(real_cache)) as folder:
        linked(kept, Path(folder) / "env")
        yield Environment(Path(folder) / "env", tmp_path)


def stand_in(folder):
    """Compile every library that those of a folder need and that is NVIDIA's, with the functions that they ask for."""
    wanted, names = {}, set()
    for library in sorted(folder.glob("*.so*")):
        names |= set(re.findall(r"NEEDED.*\[(.*)\]", said("readelf", "-d", library)))
        for symbol in said("nm", "-D", "--undefined-only", library).split():
            name, _, version = symbol.partition("@")
            wanted.setdefault(version if version else "libnccl.so.2" if name.startswith("nccl") else "", set()).add(name)
    for name in filter(NVIDIA.match, names - {path.name for path in folder.iterdir()}):
        functions = "".join(map(function, sorted(wanted.get(name, ()))))
        (folder / "map").write_text(f"{name} {{ global: *; }};")
        versions = [] if name == "libnccl.so.2" else [f"-Wl,--version-script={folder / 'map'}"]
        compiler = ["cc", "-w", "-shared", "-fPIC", "-x", "c", "-", "-o", folder / name, f"-Wl,-soname,{name}", *versions]
        subprocess.run(list(map(str, compiler)), input=functions.encode(), check=True)


def function(name):
    if name.startswith("__cuda"):  # called while the library is loaded
        return f"void *{name}(void) {{ return 0; }}\n"
    if name.endswith(("ErrorString", "ErrorName")):
        return f'const char *{name}(void) {{ return "a stand-in"; }}\n'
    return f"int {name}(void) {{ return {NO_DEVICE}; }}\n"


def said(*command):
    return subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE).stdout.decode()


@slow
def test_two_ranks_train_after_what_is_told_and_the_reports_name_the_release(older):
    talked, _, code = trial(older)
    assert code == 0 and talked["verdict"].endswith("(torch 2.1.0+cu121)"), talked
    failed = ranks(older, 2, "direct")
    assert "ValueError: DistributedDataParallel device_ids and output_device arguments" in failed.out
    assert len(list(cured(["--python", older.python], {"ddp-refuses-device-ids": failed.out}, "mmengine-ddp-device"))) == 1
    assert older.sitepatch("apply", "mmengine-ddp-debug").code == 0
    for way in ("direct", "config", "flexible"):
        trained = ranks(older, 2, way)
        weights = [line.split()[3] for line in trained.out.splitlines() if line.startswith(f"trained {way} ")]
        assert len(weights) == 2 and weights[0] == weights[1], trained
        answer, code = told(trained.out)
        assert (code, answer["shown"][0]["wraps"][0]["conclusions"]) == (0, []), answer
        assert {row["mmengine"] for row in answer["shown"][0]["wraps"][0]["ranks"]} == {"0.10.3"}
    answer, _ = told(ranks(older, 2, "fsdp").out)
    assert [one["code"] for one in answer["shown"][0]["wraps"][0]["conclusions"]] == ["no-accelerator", "fsdp"]
    assert older.sitepatch("apply", "mmengine-device", "--set", "device=cpu").code == 0
    ended = older.ranks(2, "ddp_train.py", "direct", CUDA_VISIBLE_DEVICES="0,1")  # the CPU on purpose: no refusal
    assert ended.out.count("trained direct ") == 2, ended

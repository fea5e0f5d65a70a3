"""torch 2.1.0 with MMEngine 0.10.3, two ranks on the CPU. Its only wheel is for CUDA.

Of NVIDIA's libraries, two gigabytes without which it cannot be imported, stand-ins are compiled here: every function of them answers
that there is no device. So this is also a build for CUDA on a machine that has none.
"""

import re
import shutil
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

import pytest
from conftest import SUPPORT, Environment, alone, linked, make_venv
from cures import assert_cured, of
from diagnoses import diagnose, only_wrap
from test_ddp_report import ranks
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
    symbols = defaultdict(set)  # by library
    needed = set()
    for library in sorted(folder.glob("*.so*")):
        needed |= set(re.findall(r"NEEDED.*\[(.*)\]", output("readelf", "-d", library)))
        for symbol in output("nm", "-D", "--undefined-only", library).split():
            name, _, version = symbol.partition("@")
            if name.startswith("nccl") and not version:
                version = "libnccl.so.2"
            symbols[version].add(name)
    missing = needed - {path.name for path in folder.iterdir()}
    for library in filter(NVIDIA.match, missing):
        compile_library(folder / library, symbols[library])


def compile_library(path, names):
    """Compile a library with these functions, in a version of its own name."""
    source = "".join(map(function, sorted(names)))
    command = ["cc", "-w", "-shared", "-fPIC", "-x", "c", "-", "-o", path, f"-Wl,-soname,{path.name}"]
    if path.name != "libnccl.so.2":
        version_script = path.with_name("map")
        version_script.write_text(f"{path.name} {{ global: *; }};")
        command.append(f"-Wl,--version-script={version_script}")
    subprocess.run(list(map(str, command)), input=source.encode(), check=True)


def function(name):
    if name.startswith("__cuda"):  # called while the library is loaded
        return f"void *{name}(void) {{ return 0; }}\n"
    if name.endswith(("ErrorString", "ErrorName")):
        return f'const char *{name}(void) {{ return "a stand-in"; }}\n'
    return f"int {name}(void) {{ return {NO_DEVICE}; }}\n"


def output(*command):
    return subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE).stdout.decode()


@slow
def test_two_ranks_train_after_what_is_told_and_the_reports_name_the_release(older):
    result, _, code = trial(older)
    assert code == 0 and result["verdict"].endswith("(torch 2.1.0+cu121)"), result
    failed = ranks(older, 2, "direct")
    assert "ValueError: DistributedDataParallel device_ids and output_device arguments" in failed.out
    assert_cured(of(older), "ddp-refuses-device-ids", failed.out, "mmengine-ddp-device")
    assert older.sitepatch("apply", "mmengine-ddp-debug").code == 0
    for way in ("direct", "config", "flexible"):
        trained = ranks(older, 2, way)
        weights = [line.split()[3] for line in trained.out.splitlines() if line.startswith(f"trained {way} ")]
        assert len(weights) == 2 and weights[0] == weights[1], trained
        answer, code = diagnose(trained.out)
        wrap = only_wrap(answer)
        assert (code, wrap["conclusions"]) == (0, []), answer
        assert {row["mmengine"] for row in wrap["ranks"]} == {"0.10.3"}
    answer, _ = diagnose(ranks(older, 2, "fsdp").out)
    assert [conclusion["code"] for conclusion in only_wrap(answer)["conclusions"]] == ["other-wrapper"]
    assert older.sitepatch("apply", "mmengine-device", "--set", "device=cpu").code == 0
    ended = older.ranks(2, "ddp_train.py", "direct", CUDA_VISIBLE_DEVICES="0,1")  # the CPU on purpose: no refusal
    assert ended.out.count("trained direct ") == 2, ended

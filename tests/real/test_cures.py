"""Every cure is found from its errors: each is raised for real, its log given to `diagnose`, and what that prints is run as it is.

A test has the symptoms of one patchset in one environment; together they have all symptoms of all built-in patchsets.
"""

import re
import shlex
import sys
from pathlib import Path

import pytest
import test_hand_edits
import test_huggingface_edits
import test_openmmlab_edits
import test_torch_edits
from conftest import COMMAND_ROOT, run
from cures import CURED, cured, cures, diagnosed, of
from test_accelerate import NEWEST, OLDEST, free_port, ranks
from test_card import INDEX, INDEXED, assert_trained_on_the_card, carded, musa, train
from test_ddp_report import told
from test_packages import NAME as PACKAGES
from test_packages import setuptools
from test_torch import BEFORE_VENDOR_BRANCH, VENDOR_BRANCH
from test_triton import NAME as TRITON
from test_triton import release
from wheels import slow

from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import BUILT_IN, builtin_dir

pytestmark = pytest.mark.real
__all__ = ["carded", "musa", "ranks", "release", "test_hand_edits", "test_huggingface_edits", "test_openmmlab_edits", "test_torch_edits"]

PATCHSETS = [load_patchset(path.parent, BUILT_IN) for path in sorted(Path(builtin_dir()).glob("*/patchset.toml"))]


def of_way(out, way):
    """What a way of several wrote, which end each with a line of each rank."""
    ended = [found.end() for found in re.finditer(r"^(?:failed|trained) (\S+) .*\n", out, re.MULTILINE)]
    begun = [0, *ended]
    return "".join(out[start:end] for start, end in zip(begun, ended) if re.search(rf"^(?:failed|trained) {re.escape(way)} ", out[start:end], re.MULTILINE))


@slow
@cures("compile-backend-failed", "compile-refused", "compile-of-a-whole-function-failed")
@pytest.mark.parametrize(
    ("patchset", "symptom", "errors"),
    [
        ("torch-dynamo-suppress", "compile-backend-failed", {
            "backend": "torch._dynamo.exc.BackendCompilerFailed: ", "inductor": "torch._inductor.exc.InductorError: ",
            "tracer": "torch._dynamo.exc.InternalTorchDynamoError: ",
            "recompiled": "torch._dynamo.exc.RecompileError: "}),
        ("torch-dynamo-disable", "compile-refused", {
            "branches": "torch._dynamo.exc.Unsupported: ", "too_often": "torch._dynamo.exc.FailOnRecompileLimitHit: ",
            "depends_on_data": "torch._dynamo.exc.UserError: ", "higher_order": "torch._dynamo.exc.UncapturedHigherOrderOpError: "}),
        ("torch-dynamo-disable", "compile-of-a-whole-function-failed", {"whole": "torch._dynamo.exc.BackendCompilerFailed: "}),
    ],
)  # fmt: skip
def test_what_is_not_compiled_computes(environment, patchset, symptom, errors):
    def script(way):
        cache = environment.cwd / f"inductor-{len(list(environment.cwd.glob('inductor-*')))}"  # what was compiled before is not compiled
        return environment.script("compile_errors.py", way, TORCHINDUCTOR_CACHE_DIR=str(cache)).out

    logs = {way: script(way) for way in errors}
    assert all(error in logs[way] and "computed [" not in logs[way] for way, error in errors.items()), logs
    commands = {diagnosed(of(environment), log, symptom, patchset) for log in logs.values()}
    assert len(commands) == 1
    for way in [way for _ in cured(of(environment), {symptom: next(iter(logs.values()))}, patchset) for way in errors]:
        assert script(way).endswith("computed [2.0, 2.0]\n"), way


NOT_CURED = {
    "whole": ("this backend cannot compile", "this backend cannot compile"),
    "shapes": ("got [1, 2] X [3, 3]", "shapes cannot be multiplied (1x2 and 3x3)"),  # the second without the compiler
}


@slow
def test_suppression_cures_neither_a_whole_function_nor_ones_own_shapes(environment):
    """So it is not told: after it was applied the job fails for the same reason."""
    for way, (reason, _) in NOT_CURED.items():
        failed = environment.script("compile_errors.py", way)
        assert failed.code and reason in failed.out, failed
        answer, _ = told(failed.out, *map(str, of(environment)))
        assert "torch-dynamo-suppress" not in answer["cure"], answer
    applied = environment.sitepatch("apply", "torch-dynamo-suppress")
    assert applied.code == 0, applied
    for way, (_, reason) in NOT_CURED.items():
        failed = environment.script("compile_errors.py", way)
        assert failed.code and reason in failed.out, failed


@slow
@cures("is-musa-not-defined")
def test_a_loader_that_hangs_ends(environment):
    branch = VENDOR_BRANCH + BEFORE_VENDOR_BRANCH
    environment.replace_text("torch/multiprocessing/reductions.py", BEFORE_VENDOR_BRANCH, branch)
    hanging = environment.script("loader_script.py", limit=40)
    assert hanging.code is None
    assert len(list(cured(of(environment), {"is-musa-not-defined": hanging.out}, "torch-musa-guard"))) == 1
    assert "total 28.0" in environment.script("loader_script.py").out


ARRAYS = """
import numpy, torch
from mmengine.runner.checkpoint import load_from_local
torch.save({"state_dict": {}, "meta": {"classes": numpy.arange(3)}}, "arrays.pth")
print("loaded", load_from_local("arrays.pth", "cpu")["meta"]["classes"].tolist())
"""
TRITON_JOB = """\
import ast, functools, os, subprocess, sys
from types import SimpleNamespace

ldconfig = open(os.environ["LDCONFIG"], "rb").read()
subprocess.check_output = lambda command: ldconfig
knobs = SimpleNamespace(nvidia=SimpleNamespace(libcuda_path=None))
tree = ast.parse(open(sys.argv[1]).read())
tree.body = [node for node in tree.body if getattr(node, "name", "") in ("libcuda_dirs", "_sitepatch_libcuda")]
exec(compile(tree, sys.argv[1], "exec"))
dirs = libcuda_dirs()
links = subprocess.run(["cc", "-shared", "-o", "linked.so", *("-L" + path for path in dirs), sys.argv[2]])
print("linked" if links.returncode == 0 else "not linked")
"""


@slow
@cures("libcuda-not-found")
@pytest.mark.parametrize("held", ["nowhere", "by its number"])
def test_triton_links_libcuda(release, tmp_path, held):
    """The job calls what triton calls, and links as it does. The library is not where ldconfig says, or has no name without a number."""
    library = release.elsewhere / "libcuda.so.1"
    build = run(["cc", "-shared", "-o", library, "-x", "c", "/dev/null"], cwd=tmp_path)
    assert build.code == 0, build
    place = "/nowhere/libcuda.so.1" if held == "nowhere" else library
    (tmp_path / "ldconfig").write_text(f"\tlibcuda.so.1 (libc6,x86-64) => {place}\n")
    (tmp_path / "job.py").write_text(TRITON_JOB)
    job = [sys.executable, tmp_path / "job.py", release.file, "-lcuda" if release.links_libcuda_so else "-l:libcuda.so.1"]
    variables = {"LDCONFIG": str(tmp_path / "ldconfig"), "LD_LIBRARY_PATH": str(release.elsewhere) if held == "nowhere" else ""}
    failed = run(job, cwd=tmp_path, **variables)
    if held != "nowhere" and not release.links_libcuda_so:
        assert failed.out.endswith("linked\n"), "this release needs no other name"
        return
    assert "libcuda.so cannot found" in failed.out or "cannot find -lcuda" in failed.out, failed
    assert len(list(cured(["--target", release.site], {"libcuda-not-found": failed.out}, TRITON))) == 1
    worked = run(job, cwd=tmp_path, **variables)
    assert worked.out.endswith("linked\n") and "not linked" not in worked.out, worked


@cures("mmengine-checkpoint-refused", "mmengine-checkpoint-with-arrays")
def test_mmengine_resumes(environment, tmp_path):
    assert environment.script("resume_script.py", tmp_path / "work", "1").code == 0
    refused = environment.script("resume_script.py", tmp_path / "work", "2")
    assert refused.code == 1
    assert len(list(cured(of(environment), {"mmengine-checkpoint-refused": refused.out}, "mmengine-checkpoint-load"))) == 1
    assert environment.sitepatch("restore").code == 0
    refused = run([environment.python, "-c", ARRAYS], cwd=environment.cwd)
    assert len(list(cured(of(environment), {"mmengine-checkpoint-with-arrays": refused.out}, "mmengine-checkpoint-load"))) == 1
    loaded = run([environment.python, "-c", ARRAYS], cwd=environment.cwd)
    assert loaded.out.splitlines()[-1] == "loaded [0, 1, 2]", loaded
    assert environment.script("resume_script.py", tmp_path / "work", "2").out.endswith("trained the epochs [1] with losses of 4 steps\n")


@cures("mmengine-without-pkg-resources")
def test_mmengine_finds_packages(environment):
    setuptools(environment, "82.0.1")
    failed = environment.script("packages_script.py")
    assert len(list(cured(of(environment), {"mmengine-without-pkg-resources": failed.out}, PACKAGES))) == 1
    assert "package mmengine True " in environment.script("packages_script.py").out


SLURM = "from mmengine.dist import init_dist\ninit_dist('slurm', backend='gloo')\nprint('started')\n"


@cures("cuda-selected-without-cuda", "ddp-refuses-device-ids", "rank-divided-by-no-gpus")
def test_two_ranks_train_on_the_cpu(environment):
    variables = {"SLURM_PROCID": "0", "SLURM_NTASKS": "1", "SLURM_NODELIST": "here", "MASTER_PORT": free_port(), "MASTER_ADDR": "127.0.0.1"}
    jobs = {
        "cuda-selected-without-cuda": lambda: environment.ranks(2, "ddp_train.py", "direct"),
        "ddp-refuses-device-ids": lambda: environment.ranks(2, "ddp_train.py", "direct", "--group"),
        "rank-divided-by-no-gpus": lambda: run([environment.python, job(environment, SLURM)], cwd=environment.cwd, **variables),
    }
    assert len(list(cured(of(environment), {symptom: job().out for symptom, job in jobs.items()}, "mmengine-ddp-device"))) == 1
    ends = {symptom: job().out for symptom, job in jobs.items()}
    assert ends.pop("rank-divided-by-no-gpus").endswith("started\n")
    assert all(out.count("trained direct ") == 2 for out in ends.values()), ends


@cures("ddp-refuses-a-model-on-several-cards")
def test_a_model_on_several_cards_is_wrapped(carded):
    failed = carded.ranks(1, "debug_script.py", "cards")
    assert len(list(cured(of(carded), {"ddp-refuses-a-model-on-several-cards": failed.out}, "mmengine-ddp-device"))) == 1
    assert "wrapped None\n" in carded.ranks(1, "debug_script.py", "cards").out


@cures("ddp-refuses-several-devices", "ranks-with-different-models")
def test_what_ddp_refuses_is_shown_with_the_parameters(environment):
    """Nothing is cured: the report that comes after says which parameters, and which ranks."""
    jobs = {"ddp-refuses-several-devices": "kinds", "ranks-with-different-models": "differ"}
    logs = {symptom: environment.ranks(2, "debug_script.py", way).out for symptom, way in jobs.items()}
    assert len(list(cured(of(environment), logs, "mmengine-ddp-debug"))) == 1
    for way, code, words in (("kinds", "several-devices", "2 of 4 on cpu (0.weight, 0.bias)"), ("differ", "ranks-differ", "2 on rank 0; 4 on rank 1")):
        answer, _ = told(environment.ranks(2, "debug_script.py", way).out)
        conclusions = {one["code"]: one["text"] for one in answer["shown"][0]["wraps"][0]["conclusions"]}
        assert words in conclusions[code], conclusions


AMP = """
import torch
from mmengine.optim import AmpOptimWrapper
layer = torch.nn.Linear(2, 2).to("gcu")
AmpOptimWrapper(optimizer=torch.optim.SGD(layer.parameters(), lr=0.1))
print("taken")
"""
AUTOCAST = """
import torch
from mmengine.runner.amp import autocast
with autocast(device_type="gcu"):
    print("cast", torch.ones(2, device="gcu").tolist())
"""
FORBIDDEN = INDEX.replace("    except AssertionError:", "    except ZeroDivisionError:").replace(", [0.5]", "")


@slow
@cures("moved-back-to-the-cpu", "reported-on-a-card-before-ddp", "cuda-selected-beside-another-accelerator", "backend-serves-another-device",
       "amp-without-known-device", "instances-indexed-on-a-card")  # fmt: skip
def test_two_ranks_train_on_a_card_that_mmengine_does_not_know(carded):
    ways = {
        "moved-back-to-the-cpu": "direct+both+moved", "cuda-selected-beside-another-accelerator": "direct", "backend-serves-another-device": "direct+eccl",
    }  # fmt: skip
    jobs = {"amp-without-known-device": [AMP, AUTOCAST], "instances-indexed-on-a-card": [FORBIDDEN]}
    _, out = train(carded, *ways.values())
    logs = {symptom: of_way(out, way) for symptom, way in ways.items()}
    assert ">>> 参数设备分布: {'gcu:" in logs["moved-back-to-the-cpu"] and "device_ids [1], output_device None" in logs["moved-back-to-the-cpu"]
    logs["reported-on-a-card-before-ddp"] = "mmengine\n" + next(line for line in out.splitlines() if line.startswith(">>>"))
    for symptom, codes in jobs.items():
        raised = [run([carded.python, job(carded, code)], cwd=carded.cwd) for code in codes]
        assert [ended.code for ended in raised] == [1] * len(codes), raised
        assert len({diagnosed(of(carded), ended.out, symptom, "mmengine-device") for ended in raised}) == 1
        logs[symptom] = raised[0].out
    commands = 0
    for symptoms in cured(of(carded), logs, "mmengine-device"):
        commands += 1
        begun = [ways[symptom] for symptom in symptoms if symptom in ways]
        found = train(carded, *begun)[0] if begun else {}
        assert all(words[1] == f"gcu:{rank}" for (_, rank), words in found.items()), found
        assert_trained_on_the_card(found, *({"direct", "direct+both+moved"} & set(begun)))
        ends = [run([carded.python, job(carded, code)], cwd=carded.cwd).out for symptom in symptoms for code in jobs.get(symptom, ())]
        assert all(out.endswith(("taken\n", "cast [1.0, 1.0]\n", f"{INDEXED[1]}\n")) for out in ends), ends
    assert commands == 2, "with the device where the text or what is installed names it"


@slow
@cures("fsdp-on-a-private-device")
def test_fsdp_takes_a_model_to_a_private_device(carded):
    _, out = train(carded, "fsdp+both")
    assert len(list(cured(of(carded), {"fsdp-on-a-private-device": out}, "mmengine-device"))) == 1
    found, _ = train(carded, "fsdp+both")
    assert [found["fsdp+both", rank][1] for rank in (0, 1)] == ["gcu:0", "gcu:1"]


def job(environment, code):
    """A file for a program: what fails then quotes its lines."""
    path = environment.cwd / f"job{abs(hash(code))}.py"
    path.write_text(code)
    return path


LOGGER = "from mmengine.logging import MMLogger\nMMLogger.get_instance('job').error('logged')\n"


@slow
@cures("more-ranks-than-gpus", "device-by-the-rank-of-the-whole-run")
def test_two_nodes_and_more_ranks_than_cards_of_musa(musa):
    one_card = {"LOCAL_RANK": "1", "MUSA_VISIBLE_DEVICES": "0"}
    _, out = train(musa, "direct+brief", nodes=2, CARD="musa")
    logs = {
        "more-ranks-than-gpus": run([musa.python, job(musa, LOGGER)], cwd=musa.cwd, **one_card).out,
        "device-by-the-rank-of-the-whole-run": out,
    }
    for symptoms in cured(of(musa), logs, "mmengine-device"):
        if "more-ranks-than-gpus" in symptoms:
            assert run([musa.python, job(musa, LOGGER)], cwd=musa.cwd, **one_card).out.endswith(" - logged\n")
        else:
            found, _ = train(musa, "direct", nodes=2, CARD="musa")
            assert len({words[0] for words in found.values()}) == 1 and {words[1] for words in found.values()} == {"musa:0", "musa:1"}


REPORT = "1. GPU设备分配冲突\n2. 进程间死锁\n3. 检查点保存竞争\n4. 内存泄漏导致OOM\n"


@slow
@cures("more-processes-than-devices")
@pytest.mark.parametrize("ranks", [OLDEST], indirect=True)  # accelerate 0.33 lets several processes share a device
def test_no_more_ranks_than_devices_are_started(ranks):
    """Two devices, of which the launcher is told, and four processes, of which the third and fourth raise what CUDA raises."""
    program = ranks.tmp_path / "job.py"
    program.write_text("import os\nif int(os.environ['LOCAL_RANK']) > 1:\n    raise RuntimeError('CUDA error: invalid device ordinal')\n"
                       "os.write(1, 'worked, rank {RANK} of {WORLD_SIZE}\\n'.format(**os.environ).encode())\n")  # fmt: skip
    launch = ["launch", "--multi_gpu", "--num_processes", "4", "--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no"]
    failed = ranks.launcher(2, *launch, "--main_process_port", free_port(), program)
    assert failed.code != 0 and "invalid device ordinal" in failed.out, failed
    assert len(list(cured(of(ranks.environment), {"more-processes-than-devices": failed.out}, "accelerate-ddp-hygiene"))) == 1
    worked = ranks.launcher(2, *launch, "--main_process_port", free_port(), program)
    assert (worked.code, worked.out.count("worked, rank ")) == (0, 2), worked


@slow
@cures("distributed-script-problems", "one-seed-for-all-ranks")
@pytest.mark.parametrize("ranks", [NEWEST], indirect=True)
def test_what_a_report_names_of_distributed_scripts_is_gone(ranks):
    """Such reports name troubles without an error; each is there before, seen in two ranks, and gone after what is printed."""
    def troubles(seconds):
        main, other = ranks.train(seconds)
        return {
            "a rank goes on alone": not main["prepare"]["after"], "two write one file": "scaler.pt" in other["checkpoint"]["written"],
            "memory stays taken": not main["freed"], "one seed": main["seeds"] == other["seeds"],
        }  # fmt: skip

    assert set(troubles(15).values()) == {True}
    assert len(list(cured(of(ranks.environment), {"distributed-script-problems": REPORT}, "accelerate-ddp-hygiene"))) == 1
    assert [name for name, there in troubles(2).items() if there] == ["one seed"]
    command = diagnosed(of(ranks.environment), "随机性不足：所有进程使用同一个随机种子\n", "one-seed-for-all-ranks", "accelerate-ddp-hygiene")
    assert "seeds=true" in command
    assert run([sys.executable, "-m", "patcher", *shlex.split(command)[1:]], cwd=COMMAND_ROOT).code == 0
    assert set(troubles(2).values()) == {False}


def test_every_symptom_of_every_patchset_is_raised_and_cured():
    assert set(CURED) == {symptom.name for patchset in PATCHSETS for symptom in patchset.about.symptoms}

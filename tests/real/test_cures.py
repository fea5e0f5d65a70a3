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
from cards import INDEX, INDEXED, assert_trained_on_the_card, devices_of, train, weights_of
from conftest import COMMAND_ROOT, run
from cures import CURED, assert_cured, cured, cures, diagnosed, of
from diagnoses import diagnose, only_wrap
from test_accelerate import NEWEST, OLDEST, free_port, ranks
from test_packages import NAME as PACKAGES
from test_packages import setuptools
from test_triton import NAME as TRITON
from test_triton import release
from wheels import slow

from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import BUILT_IN, builtin_dir

pytestmark = pytest.mark.real
__all__ = ["ranks", "release", "test_hand_edits", "test_huggingface_edits", "test_openmmlab_edits", "test_torch_edits"]

PATCHSETS = [load_patchset(path.parent, BUILT_IN) for path in sorted(Path(builtin_dir()).glob("*/patchset.toml"))]


def of_way(out, way):
    """What a way of several wrote: each way ends with a line of each rank."""
    parts = []
    start = 0
    for last_line in re.finditer(r"^(?:failed|trained) (\S+) .*\n", out, re.MULTILINE):
        if last_line[1] == way:
            parts.append(out[start : last_line.end()])
        start = last_line.end()
    return "".join(parts)


SUPPRESSED = {  # by way to fail: the error
    "backend": "torch._dynamo.exc.BackendCompilerFailed: ",
    "inductor": "torch._inductor.exc.InductorError: ",
    "tracer": "torch._dynamo.exc.InternalTorchDynamoError: ",
    "recompiled": "torch._dynamo.exc.RecompileError: ",
}
DISABLED = {
    "branches": "torch._dynamo.exc.Unsupported: ",
    "too_often": "torch._dynamo.exc.FailOnRecompileLimitHit: ",
    "depends_on_data": "torch._dynamo.exc.UserError: ",
    "higher_order": "torch._dynamo.exc.UncapturedHigherOrderOpError: ",
}


@slow
@cures("compile-backend-failed", "compile-refused", "compile-of-a-whole-function-failed")
@pytest.mark.parametrize(
    ("patchset", "symptom", "errors"),
    [
        ("torch-dynamo-suppress", "compile-backend-failed", SUPPRESSED),
        ("torch-dynamo-disable", "compile-refused", DISABLED),
        ("torch-dynamo-disable", "compile-of-a-whole-function-failed", {"whole": "torch._dynamo.exc.BackendCompilerFailed: "}),
    ],
)
def test_what_is_not_compiled_computes(environment, patchset, symptom, errors):
    def script(way):
        number = len(list(environment.cwd.glob("inductor-*")))
        cache = environment.cwd / f"inductor-{number}"  # a new one: what was compiled before is not compiled
        return environment.script("compile_errors.py", way, TORCHINDUCTOR_CACHE_DIR=str(cache)).out

    logs = {way: script(way) for way in errors}
    for way, error in errors.items():
        assert error in logs[way] and "computed [" not in logs[way], logs[way]
    commands = {diagnosed(of(environment), log, symptom, patchset) for log in logs.values()}
    assert len(commands) == 1
    assert_cured(of(environment), symptom, next(iter(logs.values())), patchset)
    for way in errors:
        assert script(way).endswith("computed [2.0, 2.0]\n"), way


NOT_CURED = {
    "whole": ("this backend cannot compile", "this backend cannot compile"),
    "shapes": ("got [1, 2] X [3, 3]", "shapes cannot be multiplied (1x2 and 3x3)"),  # the second without the compiler
}


@slow
def test_suppression_cures_neither_a_whole_function_nor_ones_own_shapes(environment):
    """So it is not advised: after it was applied the job fails for the same reason."""
    for way, (reason, _) in NOT_CURED.items():
        failed = environment.script("compile_errors.py", way)
        assert failed.code and reason in failed.out, failed
        answer, _ = diagnose(failed.out, *of(environment))
        assert "torch-dynamo-suppress" not in answer["cure"], answer
    applied = environment.sitepatch("apply", "torch-dynamo-suppress")
    assert applied.code == 0, applied
    for way, (_, reason) in NOT_CURED.items():
        failed = environment.script("compile_errors.py", way)
        assert failed.code and reason in failed.out, failed


@slow
@cures("is-musa-not-defined")
def test_a_loader_that_hangs_ends(environment):
    environment.add_vendors_branch()
    hanging = environment.script("loader_script.py", limit=40)
    assert hanging.code is None
    assert_cured(of(environment), "is-musa-not-defined", hanging.out, "torch-musa-guard")
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
    assert_cured(["--target", release.site], "libcuda-not-found", failed.out, TRITON)
    worked = run(job, cwd=tmp_path, **variables)
    assert worked.out.endswith("linked\n") and "not linked" not in worked.out, worked


@cures("mmengine-checkpoint-refused", "mmengine-checkpoint-with-arrays")
def test_mmengine_resumes(environment, tmp_path):
    assert environment.script("resume_script.py", tmp_path / "work", "1").code == 0
    refused = environment.script("resume_script.py", tmp_path / "work", "2")
    assert refused.code == 1
    assert_cured(of(environment), "mmengine-checkpoint-refused", refused.out, "mmengine-checkpoint-load")
    assert environment.sitepatch("restore").code == 0
    refused = run([environment.python, "-c", ARRAYS], cwd=environment.cwd)
    assert_cured(of(environment), "mmengine-checkpoint-with-arrays", refused.out, "mmengine-checkpoint-load")
    loaded = run([environment.python, "-c", ARRAYS], cwd=environment.cwd)
    assert loaded.out.splitlines()[-1] == "loaded [0, 1, 2]", loaded
    assert environment.script("resume_script.py", tmp_path / "work", "2").out.endswith("trained the epochs [1] with losses of 4 steps\n")


@cures("mmengine-without-pkg-resources")
def test_mmengine_finds_packages(environment):
    setuptools(environment, "82.0.1")
    failed = environment.script("packages_script.py")
    assert_cured(of(environment), "mmengine-without-pkg-resources", failed.out, PACKAGES)
    assert "package mmengine True " in environment.script("packages_script.py").out


SLURM = "from mmengine.dist import init_dist\ninit_dist('slurm', backend='gloo')\nprint('started')\n"


@cures("cuda-selected-without-cuda", "ddp-refuses-device-ids", "rank-divided-by-no-gpus")
def test_two_ranks_train_on_the_cpu(environment):
    slurm = {"SLURM_PROCID": "0", "SLURM_NTASKS": "1", "SLURM_NODELIST": "here"}
    variables = {**slurm, "MASTER_PORT": free_port(), "MASTER_ADDR": "127.0.0.1"}
    jobs = {
        "cuda-selected-without-cuda": lambda: environment.ranks(2, "ddp_train.py", "direct"),
        "ddp-refuses-device-ids": lambda: environment.ranks(2, "ddp_train.py", "direct", "--group"),
        "rank-divided-by-no-gpus": lambda: run_program(environment, SLURM, **variables),
    }
    logs = {symptom: run_job().out for symptom, run_job in jobs.items()}
    assert len(list(cured(of(environment), logs, "mmengine-ddp-device"))) == 1
    for symptom, run_job in jobs.items():
        out = run_job().out
        if symptom == "rank-divided-by-no-gpus":
            assert out.endswith("started\n"), out
        else:
            assert out.count("trained direct ") == 2, out


@cures("ddp-refuses-a-model-on-several-cards")
def test_a_model_on_several_cards_is_wrapped(carded):
    failed = carded.ranks(1, "debug_script.py", "cards")
    assert_cured(of(carded), "ddp-refuses-a-model-on-several-cards", failed.out, "mmengine-ddp-device")
    assert "wrapped None\n" in carded.ranks(1, "debug_script.py", "cards").out


@cures("ddp-refuses-several-devices", "ranks-with-different-models")
def test_what_ddp_refuses_is_shown_with_the_parameters(environment):
    """Nothing is cured: the report that comes after says which parameters, and which ranks."""
    jobs = {"ddp-refuses-several-devices": "kinds", "ranks-with-different-models": "differ"}
    logs = {symptom: environment.ranks(2, "debug_script.py", way).out for symptom, way in jobs.items()}
    assert len(list(cured(of(environment), logs, "mmengine-ddp-debug"))) == 1
    for way, code, words in (("kinds", "several-devices", "2 of 4 on cpu (0.weight, 0.bias)"), ("differ", "ranks-differ", "2 on rank 0; 4 on rank 1")):
        answer, _ = diagnose(environment.ranks(2, "debug_script.py", way).out)
        texts = {conclusion["code"]: conclusion["text"] for conclusion in only_wrap(answer)["conclusions"]}
        assert words in texts[code], texts


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


WAYS_OF_SYMPTOMS = {
    "moved-back-to-the-cpu": "direct+both+moved",
    "cuda-selected-beside-another-accelerator": "direct",
    "backend-serves-another-device": "direct+eccl",
}
PROGRAMS_OF_SYMPTOMS = {  # each with its last line once it works
    "amp-without-known-device": {AMP: "taken\n", AUTOCAST: "cast [1.0, 1.0]\n"},
    "instances-indexed-on-a-card": {FORBIDDEN: f"{INDEXED[1]}\n"},
}


@slow
@cures("reported-on-a-card-before-ddp", *WAYS_OF_SYMPTOMS, *PROGRAMS_OF_SYMPTOMS)
def test_two_ranks_train_on_a_card_that_mmengine_does_not_know(carded):
    _, out = train(carded, *WAYS_OF_SYMPTOMS.values())
    logs = {symptom: of_way(out, way) for symptom, way in WAYS_OF_SYMPTOMS.items()}
    moved_back = logs["moved-back-to-the-cpu"]
    assert ">>> 参数设备分布: {'gcu:" in moved_back and "device_ids [1], output_device None" in moved_back
    report = next(line for line in out.splitlines() if line.startswith(">>>"))
    logs["reported-on-a-card-before-ddp"] = f"mmengine\n{report}"
    for symptom, programs in PROGRAMS_OF_SYMPTOMS.items():
        commands = set()
        for code in programs:
            failed = run_program(carded, code)
            assert failed.code == 1, failed
            commands.add(diagnosed(of(carded), failed.out, symptom, "mmengine-device"))
            logs.setdefault(symptom, failed.out)
        assert len(commands) == 1, symptom

    number_of_commands = 0
    for symptoms in cured(of(carded), logs, "mmengine-device"):
        number_of_commands += 1
        assert_ways_train(carded, [way for symptom, way in WAYS_OF_SYMPTOMS.items() if symptom in symptoms])
        for symptom in symptoms:
            for code, last_line in PROGRAMS_OF_SYMPTOMS.get(symptom, {}).items():
                worked = run_program(carded, code)
                assert worked.out.endswith(last_line), worked
    assert number_of_commands == 1, "with the device, which the text or what is installed names each time"


def assert_ways_train(carded, ways):
    """Each rank trains on the card of its number; where DDP takes device_ids, with those of the card."""
    if not ways:
        return
    outcomes, _ = train(carded, *ways)
    for (_, rank), trained in outcomes.items():
        assert trained.device == f"gcu:{rank}", outcomes
    assert_trained_on_the_card(outcomes, *(way for way in ways if way != "direct+eccl"))


@slow
@cures("fsdp-on-a-private-device")
def test_fsdp_takes_a_model_to_a_private_device(carded):
    _, out = train(carded, "fsdp+both")
    assert_cured(of(carded), "fsdp-on-a-private-device", out, "mmengine-device")
    outcomes, _ = train(carded, "fsdp+both")
    assert [outcomes["fsdp+both", rank].device for rank in (0, 1)] == ["gcu:0", "gcu:1"]


def run_program(environment, code, **variables):
    """Run some lines from a file, which what fails then quotes."""
    path = environment.cwd / f"job{abs(hash(code))}.py"
    path.write_text(code)
    return run([environment.python, path], cwd=environment.cwd, **variables)


LOGGER = "from mmengine.logging import MMLogger\nMMLogger.get_instance('job').error('logged')\n"


@slow
@cures("more-ranks-than-gpus", "device-by-the-rank-of-the-whole-run")
def test_two_nodes_and_more_ranks_than_cards_of_musa(musa):
    one_card = {"LOCAL_RANK": "1", "MUSA_VISIBLE_DEVICES": "0"}
    _, out = train(musa, "direct+brief", nodes=2, CARD="musa")
    logs = {
        "more-ranks-than-gpus": run_program(musa, LOGGER, **one_card).out,
        "device-by-the-rank-of-the-whole-run": out,
    }
    for symptoms in cured(of(musa), logs, "mmengine-device"):
        if "more-ranks-than-gpus" in symptoms:
            assert run_program(musa, LOGGER, **one_card).out.endswith(" - logged\n")
        else:
            outcomes, _ = train(musa, "direct", nodes=2, CARD="musa")
            assert len(weights_of(outcomes)) == 1
            assert devices_of(outcomes) == {"musa:0", "musa:1"}


REPORT = "1. GPU设备分配冲突\n2. 进程间死锁\n3. 检查点保存竞争\n4. 内存泄漏导致OOM\n"
TWO_DEVICES = """\
import os
if int(os.environ['LOCAL_RANK']) > 1:
    raise RuntimeError('CUDA error: invalid device ordinal')
os.write(1, 'worked, rank {RANK} of {WORLD_SIZE}\\n'.format(**os.environ).encode())
"""


@slow
@cures("more-processes-than-devices")
@pytest.mark.parametrize("ranks", [OLDEST], indirect=True)  # accelerate 0.33 lets several processes share a device
def test_no_more_ranks_than_devices_are_started(ranks):
    """Two devices, of which the launcher is told, and four processes, of which the third and fourth raise what CUDA raises."""
    program = ranks.tmp_path / "job.py"
    program.write_text(TWO_DEVICES)
    launch = ["launch", "--multi_gpu", "--num_processes", "4", "--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no"]
    failed = ranks.launcher(2, *launch, "--main_process_port", free_port(), program)
    assert failed.code != 0 and "invalid device ordinal" in failed.out, failed
    assert_cured(of(ranks.environment), "more-processes-than-devices", failed.out, "accelerate-ddp-hygiene")
    worked = ranks.launcher(2, *launch, "--main_process_port", free_port(), program)
    assert (worked.code, worked.out.count("worked, rank ")) == (0, 2), worked


@slow
@cures("distributed-script-problems", "one-seed-for-all-ranks")
@pytest.mark.parametrize("ranks", [NEWEST], indirect=True)
def test_what_a_report_names_of_distributed_scripts_is_gone(ranks):
    """Such reports name troubles without an error; each is there before, seen in two ranks, and gone after what is printed."""

    def troubles(seconds):
        main, other = ranks.train(seconds)
        troubles = []
        if not main["prepare"]["after"]:
            troubles.append("a rank goes on alone")
        if "scaler.pt" in other["checkpoint"]["written"]:
            troubles.append("two write one file")
        if not main["freed"]:
            troubles.append("memory stays taken")
        if main["seeds"] == other["seeds"]:
            troubles.append("one seed")
        return troubles

    assert troubles(15) == ["a rank goes on alone", "two write one file", "memory stays taken", "one seed"]
    assert_cured(of(ranks.environment), "distributed-script-problems", REPORT, "accelerate-ddp-hygiene")
    assert troubles(2) == ["one seed"]
    command = diagnosed(of(ranks.environment), "随机性不足：所有进程使用同一个随机种子\n", "one-seed-for-all-ranks", "accelerate-ddp-hygiene")
    assert "seeds=true" in command
    assert run([sys.executable, "-m", "patcher", *shlex.split(command)[1:]], cwd=COMMAND_ROOT).code == 0
    assert troubles(2) == []


def test_every_symptom_of_every_patchset_is_raised_and_cured():
    symptoms = {symptom.name for patchset in PATCHSETS for symptom in patchset.about.symptoms}
    assert set(CURED) == symptoms

"""mmengine-ddp-device and mmengine-ddp-debug on the real MMEngine, with ranks started by torchrun."""

import json
from pathlib import Path

import pytest
from conftest import Environment, fingerprint, run
from test_ddp_report import told as told_by_command
from test_releases import target_files
from wheels import ALL, slow

from patcher.engine.engine import rewrite
from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import BUILT_IN, builtin_dir
from tests.patchsets.ddp import warnings

pytestmark = pytest.mark.real

DEVICE, DEBUG = "mmengine-ddp-device", "mmengine-ddp-debug"
NO_CUDA = "AttributeError: module 'torch._C' has no attribute '_cuda_setDevice'"
REFUSAL = (
    "ValueError: DistributedDataParallel device_ids and output_device arguments only work with "
    "single-device/multiple-device GPU modules or CPU modules, but got device_ids [{rank}], output_device None, "
    "and module parameters {{device(type='cpu')}}."
)
PLACES = {
    "direct": "Runner.wrap_model",
    "config": "Runner.wrap_model (model_wrapper_cfg)",
    "flexible": "DDPStrategy._wrap_model",
}


def train(environment, number, *arguments):
    """Train in every way that is named, on the CPU also where there is a GPU: {(way, rank): [words]} and the output."""
    ended = environment.ranks(number, "ddp_train.py", *arguments, CUDA_VISIBLE_DEVICES="")
    assert ended.code == 0, ended
    found = outcomes(ended)
    ways = [each for each in arguments if not each.startswith("-")]
    assert sorted(found) == sorted((way, rank) for way in ways for rank in range(number)), ended
    return found, ended.out


def outcomes(ended):
    """{(way, rank): ["trained", weights, state, random, backend, device_ids] or ["failed", error]}."""
    found = {}
    for line in ended.out.splitlines():
        word, _, rest = line.partition(" ")
        if word in ("trained", "failed"):
            way, rank, said = rest.split(" ", 2)
            found[way, int(rank)] = [word, *(said.split(" ", 4) if word == "trained" else [said])]
    return found


def assert_trained_alike(found):
    """Every rank ends with the weights of every other rank: they began with weights of their own, and had their own samples."""
    assert {words[0] for words in found.values()} == {"trained"}, found
    assert {words[4] for words in found.values()} == {"gloo"}, "the backend is the one that the config names"
    for way in {way for way, _ in found}:
        weights = {words[1] for (each, _), words in found.items() if each == way}
        assert len(weights) == 1, (way, found)
        assert {words[5] for (each, _), words in found.items() if each == way} == {"None"}, way


def reports(out):
    """{(site, rank): report} of every report that mmengine-ddp-debug wrote for programs."""
    found = [json.loads(line.partition(" ")[2]) for line in out.splitlines() if line.startswith("sitepatch-ddp {")]
    return {(report["site"], report["rank"]): report for report in found if "event" not in report}  # an event is no report


def apply(environment, *arguments):
    applied = environment.sitepatch("apply", *arguments)
    assert applied.code == 0, applied


@pytest.fixture(scope="module")
def unpatched(kept_environment, tmp_path_factory):
    """What MMEngine as it is does where the process group is there already."""
    environment = Environment(kept_environment, tmp_path_factory.mktemp("unpatched"))
    return train(environment, 2, "--group", *PLACES, "config-none")


@slow
def test_without_the_patchset_the_process_group_does_not_even_start(kept_environment, tmp_path):
    found, _ = train(Environment(kept_environment, tmp_path), 2, *PLACES)
    assert {tuple(words) for words in found.values()} == {("failed", NO_CUDA)}


@slow
def test_without_the_patchset_ddp_refuses_the_device_ids_in_all_three_places(unpatched):
    found, _ = unpatched
    for (way, rank), words in found.items():
        if way != "config-none":
            assert words == ["failed", REFUSAL.format(rank=rank)]


def test_ranks_on_the_cpu_train_and_end_with_the_same_weights(environment):
    pristine = fingerprint(environment.site, "mmengine")
    assert environment.probe(DEVICE).code != 0
    apply(environment, DEVICE)
    probed = environment.probe(DEVICE)
    assert probed.code == 0, probed
    assert "DDP ran; Runner.wrap_model: cpu, device_ids=None" in probed.out

    found, _ = train(environment, 2, *PLACES, "config-none", "config-own")
    for rank in (0, 1):  # what the config says wins, also where DDP then refuses it
        assert found.pop(("config-own", rank)) == ["failed", REFUSAL.format(rank=rank)]
    assert_trained_alike(found)

    apply(environment, DEVICE, DEBUG)  # what is reported is what is passed
    number = 4 if ALL else 2
    found, out = train(environment, number, *PLACES)
    assert_trained_alike(found)
    told = reports(out)
    assert sorted(told) == sorted((site, rank) for site in PLACES.values() for rank in range(number))
    assert {(report["device_ids"], *warnings(report)) for report in told.values()} == {(None,)}

    restored = environment.sitepatch("restore")
    assert restored.code == 0, restored
    assert fingerprint(environment.site, "mmengine") == pristine


def test_one_rank_on_a_gpu_still_gets_its_device_ids(environment):
    asked = run([environment.python, "-c", "import torch; print('CUDA', torch.cuda.is_available())"], cwd=environment.cwd)
    if "CUDA True" not in asked.out:
        pytest.skip("torch of this environment sees no CUDA device")
    apply(environment, DEVICE)
    for way in PLACES:
        ended = environment.ranks(1, "ddp_train.py", way)
        ((_, *digests, _, backend, device_ids),) = outcomes(ended).values()
        assert (len(digests), backend, device_ids) == (2, "nccl", "[0]"), ended


@slow
def test_two_ranks_tell_why_ddp_refuses_and_numbers_are_left_alone(environment, unpatched):
    """The ways that DDP refuses report; the one that trains ends with the same weights, buffers and random numbers."""
    before, silent = unpatched
    assert not reports(silent)
    pristine = fingerprint(environment.site, "mmengine")
    assert environment.probe(DEBUG).code != 0
    apply(environment, DEBUG)
    probed = environment.probe(DEBUG)
    assert probed.code == 0, probed
    patched = fingerprint(environment.site, "mmengine")
    changed = {path for path in pristine if patched[path][0] != pristine[path][0]}
    strategies = ("distributed", "fsdp", "deepspeed", "colossalai", "single_device")
    assert changed == {"mmengine/dist/utils.py", "mmengine/runner/runner.py", *(f"mmengine/_strategy/{name}.py" for name in strategies)}
    assert all(patched[path][1] == pristine[path][1] for path in pristine), "the mode is kept"

    during, out = train(environment, 2, "--group", *PLACES)
    told = reports(out)
    assert sorted(told) == sorted((site, rank) for site in PLACES.values() for rank in (0, 1))
    for way, place in PLACES.items():
        for rank in (0, 1):
            assert during[way, rank] == before[way, rank] == ["failed", REFUSAL.format(rank=rank)]
            assert_reported(told[place, rank], rank, out, f"failed {way} {rank} ")
    answer, code = told_by_command(out)
    assert (code, answer["runs"], answer["ok"]) == (1, len(PLACES), False)  # each way begins anew
    concluded = [one for shown in answer["shown"] for wrap in shown["wraps"] for one in wrap["conclusions"]]
    assert {one["code"] for one in concluded} == {"cpu-with-device-ids"}

    apply(environment, DEBUG)
    assert fingerprint(environment.site, "mmengine") == patched

    apply(environment, DEBUG, "--set", f"{DEBUG}.params=1")
    during, out = train(environment, 2, "--group", "config-none")
    for rank in (0, 1):
        assert during["config-none", rank] == before["config-none", rank]
        assert before["config-none", rank][0] == "trained"
    assert {tuple(warnings(report)) for report in reports(out).values()} == {()}
    assert "first {'cpu': ['hidden.weight']}\n" in out

    restored = environment.sitepatch("restore")
    assert restored.code == 0, restored
    assert fingerprint(environment.site, "mmengine") == pristine


def assert_reported(report, rank, out, failure):
    assert (report["rank"], report["world_size"], report["env"]["LOCAL_RANK"]) == (rank, 2, str(rank))
    assert report["device_ids"] == [rank]
    assert (report["parameters"], report["buffers"]) == ({"cpu": 6}, {"cpu": 3})
    assert report["current"]["cuda"] is None
    assert warnings(report) == ["cpu-with-device-ids"]
    text = out[: out.index("\n" + failure)]  # the report stands before the failure
    *_, line = [line for line in text.splitlines() if line.startswith(f"[rank {rank}] ")]
    assert f": {report['site']}, MMDistributedDataParallel: parameters on {{'cpu': 6}}, before {{'cpu': 6}}, " in line
    assert "'hidden.weight'" in line and "'out.weight'" in line
    assert "out.bias" not in line, "only five are named"


RELEASES = ["0.1.0", "0.7.2", "0.7.3", "0.10.2", "0.10.7"]
DIVIDES = "ZeroDivisionError: integer modulo by zero"
REFUSED = REFUSAL.format(rank=0)


def test_the_start_and_wrap_model_of_other_releases(kept_environment, real_cache, tmp_path):
    """Their files alone, beside the installed MMEngine and torch: an old MMEngine need not import with a new torch."""
    patches = {patch.paths[0]: patch for patch in load_patchset(Path(builtin_dir()) / DEVICE, BUILT_IN).variants[0].patches}
    folders = []
    for version in RELEASES:
        for kind in ("before", "after"):
            folders.append(tmp_path / f"{version}-{kind}")
            folders[-1].mkdir()
            for path, data in target_files(real_cache, "mmengine", version).items():
                if path not in patches:
                    continue
                data = data if kind == "before" else rewrite(data, patches[path].hunks, {"cpu": False}).data
                (folders[-1] / Path(path).name).write_bytes(data)
    ended = Environment(kept_environment, tmp_path).script("start_script.py", *folders, CUDA_VISIBLE_DEVICES="")
    assert ended.code == 0, ended
    found = [json.loads(line.partition(" ")[2]) for line in ended.out.splitlines() if line.startswith("found ")]
    assert len(found) == len(folders), ended
    for version, before, after in zip(RELEASES, found[::2], found[1::2]):
        old = version in ("0.1.0", "0.7.2")
        assert before["start"] == {"pytorch": DIVIDES if old else NO_CUDA, "mpi": NO_CUDA, "slurm": DIVIDES}, version
        assert before["wrap"] == [REFUSED, REFUSED, REFUSED], version
        assert after["start"] == {launcher: ["gloo", 1] for launcher in before["start"]}, version
        assert after["wrap"] == [None, None, REFUSED], version
        takes = {device for device, answer in after["takes"].items() if answer}
        assert takes == {"cuda:0", "cuda:1", "xpu:0", "mtia:0"}, version
        assert not after["takes several"]
        assert not after["takes a Linear"]

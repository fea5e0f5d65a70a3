"""mmengine-ddp-device and mmengine-ddp-debug on the real MMEngine, with ranks started by torchrun."""

import json
from pathlib import Path

import pytest
from conftest import Environment, fingerprint, run
from diagnoses import diagnose
from mmengine_ranks import (
    DEBUG,
    DEVICE,
    NO_CUDA,
    PLACES,
    REFUSAL,
    Trained,
    assert_passes_no_device_ids,
    assert_reported,
    assert_trained_alike,
    outcomes_of,
    reports_in,
    train,
)
from wheels import ALL, slow, target_files

from patcher.engine.engine import rewrite
from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import BUILT_IN, builtin_dir
from tests.patchsets.ddp import warnings

pytestmark = pytest.mark.real


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
    outcomes, _ = train(Environment(kept_environment, tmp_path), 2, *PLACES)
    assert set(outcomes.values()) == {NO_CUDA}


@slow
def test_without_the_patchset_ddp_refuses_the_device_ids_in_all_three_places(unpatched):
    outcomes, _ = unpatched
    for way in PLACES:
        for rank in (0, 1):
            assert outcomes[way, rank] == REFUSAL.format(rank=rank)


def test_ranks_on_the_cpu_train_and_end_with_the_same_weights(environment):
    pristine = fingerprint(environment.site, "mmengine")
    assert environment.probe(DEVICE).code != 0
    apply(environment, DEVICE)
    probed = environment.probe(DEVICE)
    assert probed.code == 0, probed
    assert "DDP ran; Runner.wrap_model: cpu, device_ids=None" in probed.out

    outcomes, _ = train(environment, 2, *PLACES, "config-none", "config-own")
    for rank in (0, 1):  # what the config says wins, also where DDP then refuses it
        assert outcomes.pop(("config-own", rank)) == REFUSAL.format(rank=rank)
    assert_trained_alike(outcomes)

    apply(environment, DEVICE, DEBUG)  # what is reported is what is passed
    number = 4 if ALL else 2
    outcomes, out = train(environment, number, *PLACES)
    assert_trained_alike(outcomes)
    assert_passes_no_device_ids(reports_in(out), number)

    restored = environment.sitepatch("restore")
    assert restored.code == 0, restored
    assert fingerprint(environment.site, "mmengine") == pristine


def test_one_rank_on_a_gpu_still_gets_its_device_ids(environment):
    available = run([environment.python, "-c", "import torch; print('CUDA', torch.cuda.is_available())"], cwd=environment.cwd)
    if "CUDA True" not in available.out:
        pytest.skip("torch of this environment sees no CUDA device")
    apply(environment, DEVICE)
    for way in PLACES:
        ended = environment.ranks(1, "ddp_train.py", way)
        (trained,) = outcomes_of(ended).values()
        assert (trained.backend, trained.device_ids) == ("nccl", "[0]"), ended


@slow
def test_two_ranks_tell_why_ddp_refuses_and_numbers_are_left_alone(environment, unpatched):
    """The ways that DDP refuses report; the one that trains ends with the same weights, buffers and random numbers."""
    before, silent = unpatched
    assert not reports_in(silent)
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
    reports = reports_in(out)
    assert len(reports) == 2 * len(PLACES)
    for way, place in PLACES.items():
        for rank in (0, 1):
            assert during[way, rank] == before[way, rank] == REFUSAL.format(rank=rank)
            assert_reported(reports[place, rank], rank, out, f"failed {way} {rank} ")
    answer, code = diagnose(out)
    assert (code, answer["runs"], answer["ok"]) == (1, len(PLACES), False)  # each way begins anew
    assert codes_of_conclusions(answer) == {"cpu-with-device-ids"}

    apply(environment, DEBUG)
    assert fingerprint(environment.site, "mmengine") == patched

    apply(environment, DEBUG, "--set", f"{DEBUG}.params=1")
    during, out = train(environment, 2, "--group", "config-none")
    for rank in (0, 1):
        assert during["config-none", rank] == before["config-none", rank]
        assert isinstance(before["config-none", rank], Trained)
    reports = reports_in(out)
    assert reports and not any(warnings(report) for report in reports.values())
    assert "first {'cpu': ['hidden.weight']}\n" in out

    restored = environment.sitepatch("restore")
    assert restored.code == 0, restored
    assert fingerprint(environment.site, "mmengine") == pristine


def codes_of_conclusions(answer):
    codes = set()
    for shown in answer["shown"]:
        for wrap in shown["wraps"]:
            codes.update(conclusion["code"] for conclusion in wrap["conclusions"])
    return codes


RELEASES = ["0.1.0", "0.7.2", "0.7.3", "0.10.2", "0.10.7"]
DIVIDES = "ZeroDivisionError: integer modulo by zero"
REFUSED = REFUSAL.format(rank=0)


def test_the_start_and_wrap_model_of_other_releases(kept_environment, real_cache, tmp_path):
    """Their files alone, beside the installed MMEngine and torch: an old MMEngine need not import with a new torch."""
    patches = {patch.paths[0]: patch for patch in load_patchset(Path(builtin_dir()) / DEVICE, BUILT_IN).variants[0].patches}
    folders = []  # two for each release: as it is, and as it is patched
    for version in RELEASES:
        before, after = tmp_path / f"{version}-before", tmp_path / f"{version}-after"
        before.mkdir()
        after.mkdir()
        files = target_files(real_cache, "mmengine", version)
        for path in set(files) & set(patches):
            name = Path(path).name
            (before / name).write_bytes(files[path])
            (after / name).write_bytes(rewrite(files[path], patches[path].hunks, {"cpu": False}).data)
        folders += [before, after]
    ended = Environment(kept_environment, tmp_path).script("start_script.py", *folders, CUDA_VISIBLE_DEVICES="")
    assert ended.code == 0, ended
    reports = [json.loads(line.partition(" ")[2]) for line in ended.out.splitlines() if line.startswith("report ")]
    assert len(reports) == len(folders), ended
    for version, before, after in zip(RELEASES, reports[::2], reports[1::2]):
        old = version in ("0.1.0", "0.7.2")
        assert before["start"] == {"pytorch": DIVIDES if old else NO_CUDA, "mpi": NO_CUDA, "slurm": DIVIDES}, version
        assert before["wrap"] == [REFUSED, REFUSED, REFUSED], version
        assert after["start"] == {launcher: ["gloo", 1] for launcher in before["start"]}, version
        assert after["wrap"] == [None, None, REFUSED], version
        takes = {device for device, answer in after["takes"].items() if answer}
        assert takes == {"cuda:0", "cuda:1", "xpu:0", "mtia:0"}, version
        assert not after["takes several"]
        assert not after["takes a Linear"]

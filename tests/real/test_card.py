"""mmengine-device with two ranks on the stand-in card of `card/`: what trains there, and what each part of it is for."""

import shutil

import pytest
from cards import (
    BOTH,
    INDEX,
    INDEXED,
    Trained,
    assert_trained_on_the_card,
    devices_of,
    lay_card,
    train,
    weights_of,
)
from conftest import fingerprint, run
from diagnoses import diagnose, only_wrap
from wheels import slow

pytestmark = pytest.mark.real

NAME = "mmengine-device"
NO_CUDA = "AttributeError: module 'torch._C' has no attribute '_cuda_setDevice'"
NO_DEVICE_OF_FSDP = "RuntimeError: Attempted to call `variable.set_data(tensor)`, but "


def apply(environment, *words):
    applied = environment.sitepatch("apply", *words, "--verify", "compile")
    assert applied.code == 0, applied



def test_a_runner_trains_on_the_card_and_without_set_device_it_does_not(carded):
    pristine = fingerprint(carded.site, "mmengine")
    apply(carded, NAME)
    outcomes, out = train(carded, "direct", "direct+no-set_device")
    assert_trained_on_the_card(outcomes, "direct")
    assert outcomes["direct+no-set_device", 0] == NO_CUDA
    line = f"sitepatch mmengine-device: the device is gcu (MMEngine itself would take cpu), the backend {BOTH} instead of nccl\n"
    assert out.count(line) == 4, "once a rank, in each of the two ways"
    assert carded.sitepatch("restore").code == 0
    assert fingerprint(carded.site, "mmengine") == pristine


def test_the_cache_of_the_card_is_emptied_and_its_memory_is_logged(carded):
    """The card says 7 MB; the hook is asked for before and after the epoch, and after each of two iterations."""
    apply(carded, NAME)
    assert carded.script("memory_script.py").out.endswith("memory 7,7 emptied 4 gcu:0\n")
    apply(carded, NAME, "--set", "device=cpu")
    assert carded.script("memory_script.py").out.endswith("memory not logged emptied 0 cpu\n")


def test_a_second_node_of_musa_selects_its_devices_by_the_local_rank(musa):
    """MMEngine selects them by the rank in the whole run: 2 and 3, where there are 0 and 1."""
    outcomes, _ = train(musa, "direct+brief", nodes=2, CARD="musa")
    for rank in (2, 3):
        assert outcomes["direct+brief", rank] == f"RuntimeError: invalid device number {rank}: the stand-in has 2 of them"
    apply(musa, NAME)
    outcomes, _ = train(musa, "direct", nodes=2, CARD="musa")
    assert len(weights_of(outcomes)) == 1
    first_card, second_card = ("musa:0", "mccl", "[0]"), ("musa:1", "mccl", "[1]")
    assert sorted(trained[1:] for trained in outcomes.values()) == [first_card, first_card, second_card, second_card]


@slow
def test_what_musa_needs_beside_torchrun_and_fp32(musa):
    """AMP in fp16 has its scaler, FSDP its model on the card; MPI and Slurm, whose starts know CUDA alone, start its devices and its backend."""
    outcomes, out = train(musa, "direct+mpi", "direct+slurm", "direct+amp", "fsdp", CARD="musa")
    assert outcomes["direct+mpi", 1] == outcomes["direct+slurm", 1] == NO_CUDA, outcomes
    assert "scales direct+amp 1 False" in out, "CUDA's scaler, which has turned itself off"
    assert outcomes["fsdp", 1].startswith(NO_DEVICE_OF_FSDP), outcomes
    apply(musa, NAME)
    job = [musa.python, "-c", INDEX.replace("gcu", "musa")]
    assert run(job, cwd=musa.cwd).out.splitlines()[-3:] == INDEXED
    ways = ["direct", "direct+full", "direct+mpi", "direct+slurm", "direct+amp", "direct+amp+bf16", "fsdp"]
    outcomes, out = train(musa, *ways, CARD="musa")
    assert "scales direct+amp 1 True" in out
    assert {(trained.device, trained.backend) for trained in outcomes.values()} == {("musa:0", "mccl"), ("musa:1", "mccl")}
    (weights,) = {trained.weights for (way, _), trained in outcomes.items() if way != "direct+full"}
    apply(musa, NAME, "--set", "device=cpu")
    outcomes, _ = train(musa, "direct", CARD="musa")
    on_the_cpu = Trained(weights, "cpu", "gloo", "None")
    assert outcomes["direct", 0] == outcomes["direct", 1] == on_the_cpu, "MMEngine starts MUSA where it is there"


@slow
def test_mpi_slurm_and_a_second_node_start_the_card_of_each_rank(carded):
    """Of four ranks on two nodes each of the last two has the card of the same number as one of the first two."""
    ways = ["direct+mpi", "direct+slurm"]
    outcomes, _ = train(carded, *ways)
    assert set(outcomes.values()) == {NO_CUDA}
    apply(carded, NAME)
    outcomes, _ = train(carded, "direct", *ways)
    assert_trained_on_the_card(outcomes, "direct", *ways)
    assert len(weights_of(outcomes)) == 1, outcomes
    outcomes, _ = train(carded, "direct", nodes=2)
    assert len(weights_of(outcomes)) == 1
    first_card, second_card = ("gcu:0", BOTH, "[0]"), ("gcu:1", BOTH, "[1]")
    assert sorted(trained[1:] for trained in outcomes.values()) == [first_card, first_card, second_card, second_card]


def test_instances_are_indexed_by_a_mask_and_by_numbers_on_the_card(carded):
    job = [carded.python, "-c", INDEX]
    assert run(job, cwd=carded.cwd).out.splitlines()[-3:] == ["refused"] * 3
    apply(carded, NAME)
    assert run(job, cwd=carded.cwd).out.splitlines()[-3:] == INDEXED


@slow
def test_validation_averages_and_a_resumed_run_are_on_each_card_what_they_are_on_the_cpu(environment):
    """Workers, pinned memory, a metric of both ranks, checkpoints; EMA's weights; a Runner that goes on from a checkpoint."""
    ways = ["direct+full", "direct+ema", "direct+resume"]
    load = "mmengine-checkpoint-load"
    lay_card(environment, "gcu")
    apply(environment, NAME, load, "--set", f"{NAME}.device=cpu")
    on_the_cpu, out = train(environment, *ways)
    assert devices_of(on_the_cpu) == {"cpu"}
    weights = {way: on_the_cpu[way, 0].weights for way in ways}
    reported = values_reported(out)
    assert len(reported) == 3 and reported["epochs", "direct+resume"] == {"2"}

    apply(environment, NAME, "--set", "device=auto")
    outcomes, out = train(environment, *ways, "direct+amp+bf16+ema")
    assert_trained_on_the_card(outcomes, *ways, "direct+amp+bf16+ema")
    assert {way: outcomes[way, 0].weights for way in ways} == weights
    on_the_card = values_reported(out)
    assert {key: on_the_card[key] for key in reported} == reported

    assert environment.sitepatch("restore").code == 0
    for part in environment.site.glob("torch_gcu*"):
        shutil.rmtree(part)
    lay_card(environment, "musa")
    outcomes, _ = train(environment, "direct+resume", CARD="musa")
    assert outcomes["direct+resume", 1].startswith("UnpicklingError: Weights only load failed"), outcomes
    apply(environment, NAME, load)
    outcomes, out = train(environment, *ways, "direct+sync", CARD="musa")
    assert {way: outcomes[way, 1].weights for way in ways} == weights
    assert values_reported(out) == reported
    for rank in (0, 1):
        assert outcomes["direct+sync", rank][1:] == (f"musa:{rank}", "mccl", f"[{rank}]")


def values_reported(out):
    """{(name, way): values} of what the ranks report: the metric (`guess`), the weights of EMA (`averaged`), the epochs."""
    values = {}
    for line in out.splitlines():
        if line.startswith(("guess ", "averaged ", "epochs ")):
            name, way, _, value = line.split()
            values.setdefault((name, way), set()).add(value)
    return values


@slow
def test_fsdp_shards_on_the_card_and_ends_with_the_weights_of_the_cpu(carded):
    """FSDP itself refuses the CPU, so that these are DDP's. Where the script has started the group, MMEngine gets as far as FSDP."""
    outcomes, _ = train(carded, "fsdp", "fsdp+both")
    assert outcomes["fsdp", 1] == NO_CUDA
    assert outcomes["fsdp+both", 1].startswith(NO_DEVICE_OF_FSDP), outcomes
    apply(carded, NAME, "--set", "device=cpu")
    on_the_cpu, _ = train(carded, "flexible")
    assert on_the_cpu["flexible", 0].device == "cpu"
    apply(carded, NAME, "--set", "device=auto")
    outcomes, out = train(carded, "fsdp", "fsdp+both", "fsdp+amp")
    for (_, rank), trained in outcomes.items():
        assert trained == Trained(on_the_cpu["flexible", 0].weights, f"gcu:{rank}", BOTH, "None")
    assert "scales fsdp+amp 1 True" in out


@slow
def test_code_of_ones_own_that_calls_cuda_is_named_with_its_line(carded):
    """No patchset cures that; without one the start of the group fails before."""
    error = "AssertionError: Torch not compiled with CUDA enabled"
    outcomes, _ = train(carded, "direct+calls")
    assert outcomes["direct+calls", 1] == NO_CUDA
    apply(carded, NAME)
    outcomes, out = train(carded, "direct+calls")
    assert outcomes["direct+calls", 1] == error
    answer, code = diagnose(out)
    (finding,) = answer["findings"]
    assert (code, finding["symptom"], answer["cure"]) == (1, "built-without-accelerator", "")
    assert last_own_line(out, error) == "return super().forward(inputs.cuda(), targets.cuda(), mode)", "the advice names that line"
    assert "the last line of the traceback that is not torch's own says where" in finding["advice"]


def last_own_line(out, error):
    """The last line of code before an error that is not torch's."""
    lines = [line.strip() for line in out.splitlines()]
    for number in range(lines.index(error), -1, -1):
        if lines[number].startswith("File ") and "/site-packages/torch" not in lines[number]:
            return lines[number + 1]
    raise AssertionError(out)


@slow
def test_ddp_of_torch_alone_ends_with_the_weights_of_the_cpu(carded):
    outcomes, _ = train(carded, "plain", "plain+cpu")
    assert_trained_on_the_card(outcomes, "plain")
    assert len(weights_of(outcomes)) == 1
    assert outcomes["plain+cpu", 0][1:] == ("cpu", "gloo", "None")


@slow
def test_every_place_trains_and_all_that_a_runner_does(carded):
    """Two epochs, validation, checkpoints, workers, pinned memory; AMP; each process with one card; a group of the card's own."""
    apply(carded, NAME)
    ways = ["direct", "config", "flexible", "direct+full", "direct+amp", "direct+sync"]
    outcomes, out = train(carded, *ways, "direct+alone")
    assert_trained_on_the_card(outcomes, *ways)
    assert "scales direct+amp 1 True" in out
    weights = outcomes["direct", 0].weights
    for way in ("config", "flexible", "direct+amp"):
        assert outcomes[way, 0].weights == weights, "the stand-in has no autocast"
    assert outcomes["direct+alone", 1] == Trained(weights, "gcu:0", BOTH, "[0]")
    assert outcomes["direct+sync", 0].weights != weights, "SyncBN counts the samples of both ranks"
    apply(carded, NAME, "--set", "device_ids=none")
    outcomes, _ = train(carded, "config", "config-own")
    for rank in (0, 1):
        assert outcomes["config", rank].device_ids == "None"
        assert outcomes["config-own", rank].device_ids == f"[{rank}]", "what the config says wins"


@slow
@pytest.mark.parametrize(
    ("way", "message"),
    [
        (
            "config-own+no-get_device",
            "ValueError: DistributedDataParallel device_ids and output_device arguments only work with single-device/"
            "multiple-device GPU modules or CPU modules, but got device_ids [1], output_device None, "
            "and module parameters {device(type='cpu')}.",
        ),
        ("direct+no-set_device", NO_CUDA),
        ("direct+no-backend", "RuntimeError: No backend type associated with device type gcu"),
        ("direct+no-device_ids+alone", "IndexError: list index out of range"),  # torch's stream for card 1, where there is one card
    ],
    ids=["get_device", "set_device", "backend", "device_ids"],
)
def test_each_part_left_out_fails_with_a_message_of_its_own(carded, way, message):
    apply(carded, NAME)
    outcomes, _ = train(carded, way)
    assert outcomes[way, 1] == message


@slow
def test_without_get_device_and_device_ids_of_a_config_both_ranks_train_on_the_cpu_without_a_word(carded):
    apply(carded, NAME)
    outcomes, _ = train(carded, "direct+no-get_device")
    assert devices_of(outcomes) == {"cpu"}


@slow
def test_the_cpu_on_purpose_ends_with_the_weights_of_the_card(carded):
    apply(carded, NAME)
    on_the_card, _ = train(carded, "direct")
    apply(carded, NAME, "--set", "device=cpu")
    on_the_cpu, _ = train(carded, "direct")
    expected = Trained(on_the_card["direct", 0].weights, "cpu", "gloo", "None")
    assert on_the_cpu["direct", 0] == on_the_cpu["direct", 1] == expected


@slow
def test_a_model_that_mmengine_moves_back_is_diagnosed_and_what_the_diagnosis_says_ends_it(carded):
    apply(carded, "mmengine-ddp-device", "mmengine-ddp-debug")
    outcomes, out = train(carded, "direct+moved")
    assert devices_of(outcomes) == {"cpu"}, "both ranks train on the CPU, and nothing fails"
    answer, code = diagnose(out)
    (conclusion,) = only_wrap(answer)["conclusions"]
    assert (code, conclusion["code"], conclusion["ranks"]) == (1, "moved-back", [0, 1]), answer
    assert conclusion["hint"].startswith(f"sitepatch apply {NAME} --set device=gcu")
    apply(carded, NAME, "--set", "device=gcu")
    outcomes, out = train(carded, "direct+moved")
    assert_trained_on_the_card(outcomes, "direct+moved")
    answer, code = diagnose(out)
    assert (code, only_wrap(answer)["conclusions"]) == (0, []), answer


WARNED = "UserWarning: mmengine-ddp-device: this rank trains on the CPU, and gcu stands idle; to train there: sitepatch apply mmengine-device --set device=gcu"


@pytest.mark.parametrize("way", ["direct+moved", "flexible+moved"])
def test_ranks_that_leave_the_card_for_the_cpu_say_so_once_and_the_verdict_does(carded, way):
    """Nothing fails, and without a word each rank would train beside its card."""
    apply(carded, "mmengine-ddp-device")
    outcomes, out = train(carded, way)
    assert devices_of(outcomes) == {"cpu"}
    assert out.count(WARNED) == out.count('"event": "trains"') == 2, out
    answer, code = diagnose(out)
    (conclusion,) = only_wrap(answer)["conclusions"]
    assert (code, conclusion["code"], conclusion["ranks"], answer["findings"]) == (1, "moved-back", [0, 1], []), answer
    assert conclusion["hint"].startswith(f"sitepatch apply {NAME} --set device=gcu")
    apply(carded, NAME, "--set", "device=gcu")
    outcomes, out = train(carded, way)
    assert_trained_on_the_card(outcomes, way)
    assert "stands idle" not in out and out.count('"event": "trains"') == 2, "both patchsets are applied"
    answer, code = diagnose(out)
    assert code == 0
    assert [row["parameters"] for row in only_wrap(answer)["ranks"]] == [{"gcu:0": 6}, {"gcu:1": 6}], answer
    apply(carded, NAME, "--set", "device=cpu")
    _, out = train(carded, "direct")
    assert "stands idle" not in out, "on purpose"
    _, code = diagnose(out)
    assert code == 0


@slow
def test_both_device_patchsets_together_train_on_the_card(carded):
    apply(carded, NAME, "mmengine-ddp-device", "mmengine-ddp-debug")
    outcomes, out = train(carded, "direct", "config")
    assert_trained_on_the_card(outcomes, "direct", "config")
    answer, code = diagnose(out)
    assert (code, answer["runs"]) == (0, 2), "what a process says twice counts once"

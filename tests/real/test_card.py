"""mmengine-device with two ranks on the stand-in card of `card/`: what trains there, and what each part of it is for."""

import shutil
from pathlib import Path

import pytest
from conftest import fingerprint, run
from test_ddp_report import told
from wheels import slow

pytestmark = pytest.mark.real

NAME = "mmengine-device"
BOTH = "cpu:gloo,gcu:eccl"
INDEX = """
import torch
from mmengine.structures import InstanceData
boxes = InstanceData(score=torch.arange(3.0, device="gcu"), names=["a", "b", "c"])
for index in ([True, False, True], [2, 0], [0.5]):
    try:
        chosen = boxes[torch.tensor(index, device="gcu")]
        print(chosen.score.tolist(), chosen.names)
    except AssertionError:
        print("refused")
"""
INDEXED = ["[0.0, 2.0] ['a', 'c']", "[2.0, 0.0] ['c', 'a']", "refused"]


def lay_card(environment, kind):
    """Have `import torch` bring the stand-in card along, as a vendor's package does it."""
    for part in Path(__file__).with_name("card").iterdir():
        shutil.copytree(part, environment.site / part.name.replace("gcu", kind))
    points = environment.site / f"torch_{kind}-0.dist-info" / "entry_points.txt"
    points.write_text(points.read_text().replace("gcu", kind))
    return environment


@pytest.fixture
def carded(environment):
    return lay_card(environment, "gcu")


@pytest.fixture
def musa(environment):
    """A card of a kind that MMEngine knows."""
    return lay_card(environment, "musa")


def train(environment, *ways, nodes=1, **more):
    """{(way, rank): words} of what two ranks of each node said at the end, and all output."""
    ended = environment.ranks(2, "card_train.py", *ways, nodes=nodes, CUDA_VISIBLE_DEVICES="", **more)
    found = {}
    for line in ended.out.splitlines():
        word, _, rest = line.partition(" ")
        if word in ("trained", "failed"):
            way, rank, said = rest.split(" ", 2)
            found[way, int(rank)] = said.split(" ", 3) if word == "trained" else said
    assert sorted(found) == sorted((way, rank) for way in ways for rank in range(2 * nodes)), ended
    return found, ended.out


def apply(environment, *words):
    applied = environment.sitepatch("apply", *words, "--verify", "compile")
    assert applied.code == 0, applied


def assert_trained_on_the_card(found, *ways):
    """Both ranks end with the same weights, on a card of their own, and DDP was told which."""
    for way in ways:
        first, second = found[way, 0], found[way, 1]
        assert first[1:] == ["gcu:0", BOTH, "[0]"] and second[1:] == ["gcu:1", BOTH, "[1]"], found
        assert first[0] == second[0], found


def test_a_runner_trains_on_the_card_and_without_set_device_it_does_not(carded):
    pristine = fingerprint(carded.site, "mmengine")
    apply(carded, NAME)
    found, out = train(carded, "direct", "direct+no-set_device")
    assert_trained_on_the_card(found, "direct")
    assert found["direct+no-set_device", 0] == "AttributeError: module 'torch._C' has no attribute '_cuda_setDevice'"
    said = f"sitepatch mmengine-device: the device is gcu (MMEngine itself would take cpu), the backend {BOTH} instead of nccl\n"
    assert out.count(said) == 4, "once a rank, in each of the two ways"
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
    found, _ = train(musa, "direct+brief", nodes=2, CARD="musa")
    for rank in (2, 3):
        assert found["direct+brief", rank] == f"RuntimeError: invalid device number {rank}: the stand-in has 2 of them"
    apply(musa, NAME)
    found, _ = train(musa, "direct", nodes=2, CARD="musa")
    assert len({words[0] for words in found.values()}) == 1
    assert sorted(words[1:] for words in found.values()) == [[f"musa:{card}", "mccl", f"[{card}]"] for card in (0, 0, 1, 1)]


@slow
def test_what_musa_needs_beside_torchrun_and_fp32(musa):
    """AMP in fp16 has its scaler, FSDP its model on the card; MPI and Slurm, whose starts know CUDA alone, start its devices and its backend."""
    found, out = train(musa, "direct+mpi", "direct+slurm", "direct+amp", "fsdp", CARD="musa")
    assert found["direct+mpi", 1] == "AttributeError: module 'torch._C' has no attribute '_cuda_setDevice'", found
    assert found["direct+slurm", 1] == found["direct+mpi", 1]
    assert "scales direct+amp 1 False" in out, "CUDA's scaler, which has turned itself off"
    assert found["fsdp", 1].startswith("RuntimeError: Attempted to call `variable.set_data(tensor)`, but "), found
    apply(musa, NAME)
    asked = [musa.python, "-c", INDEX.replace("gcu", "musa")]
    assert run(asked, cwd=musa.cwd).out.splitlines()[-3:] == INDEXED
    ways = ["direct", "direct+full", "direct+mpi", "direct+slurm", "direct+amp", "direct+amp+bf16", "fsdp"]
    found, out = train(musa, *ways, CARD="musa")
    assert "scales direct+amp 1 True" in out
    assert {tuple(words[1:3]) for words in found.values()} == {("musa:0", "mccl"), ("musa:1", "mccl")}
    (weights,) = {words[0] for (way, _), words in found.items() if way != "direct+full"}
    apply(musa, NAME, "--set", "device=cpu")
    found, _ = train(musa, "direct", CARD="musa")
    assert found["direct", 0] == found["direct", 1] == [weights, "cpu", "gloo", "None"], "MMEngine starts MUSA where it is there"


@slow
def test_mpi_slurm_and_a_second_node_start_the_card_of_each_rank(carded):
    """Of four ranks on two nodes each of the last two has the card of the same number as one of the first two."""
    ways = ["direct+mpi", "direct+slurm"]
    found, _ = train(carded, *ways)
    assert set(found.values()) == {"AttributeError: module 'torch._C' has no attribute '_cuda_setDevice'"}
    apply(carded, NAME)
    found, _ = train(carded, "direct", *ways)
    assert_trained_on_the_card(found, "direct", *ways)
    assert len({words[0] for words in found.values()}) == 1, found
    found, _ = train(carded, "direct", nodes=2)
    assert len({words[0] for words in found.values()}) == 1
    assert sorted(words[1:] for words in found.values()) == [[f"gcu:{card}", BOTH, f"[{card}]"] for card in (0, 0, 1, 1)]


def test_instances_are_indexed_by_a_mask_and_by_numbers_on_the_card(carded):
    asked = [carded.python, "-c", INDEX]
    assert run(asked, cwd=carded.cwd).out.splitlines()[-3:] == ["refused"] * 3
    apply(carded, NAME)
    assert run(asked, cwd=carded.cwd).out.splitlines()[-3:] == INDEXED


@slow
def test_validation_averages_and_a_resumed_run_are_on_each_card_what_they_are_on_the_cpu(environment):
    """Workers, pinned memory, a metric of both ranks, checkpoints; EMA's weights; a Runner that goes on from a checkpoint."""
    ways, load = ["direct+full", "direct+ema", "direct+resume", "direct+amp+bf16+ema"], "mmengine-checkpoint-load"
    lay_card(environment, "gcu")
    apply(environment, NAME, load, "--set", f"{NAME}.device=cpu")
    cpu, out = train(environment, *ways[:3])
    assert {words[1] for words in cpu.values()} == {"cpu"}
    expected = {way: cpu[way, 0][0] for way in ways[:3]}, facts(out)
    assert len(expected[1]) == 3 and expected[1]["epochs", "direct+resume"] == {"2"}
    apply(environment, NAME, "--set", "device=auto")
    found, out = train(environment, *ways)
    assert_trained_on_the_card(found, *ways)
    assert ({way: found[way, 0][0] for way in ways[:3]}, {key: said for key, said in facts(out).items() if key in expected[1]}) == expected
    assert environment.sitepatch("restore").code == 0
    for part in environment.site.glob("torch_gcu*"):
        shutil.rmtree(part)
    lay_card(environment, "musa")
    found, _ = train(environment, "direct+resume", CARD="musa")
    assert found["direct+resume", 1].startswith("UnpicklingError: Weights only load failed"), found
    apply(environment, NAME, load)
    found, out = train(environment, *ways[:3], "direct+sync", CARD="musa")
    assert ({way: found[way, 1][0] for way in ways[:3]}, facts(out)) == expected
    assert [found["direct+sync", rank][1:] for rank in (0, 1)] == [[f"musa:{rank}", "mccl", f"[{rank}]"] for rank in (0, 1)]


def facts(out):
    """{(what, way): the set of what the ranks said of it}: the metric, the weights of EMA, the epochs."""
    found = {}
    for line in out.splitlines():
        if line.startswith(("guess ", "averaged ", "epochs ")):
            what, way, _, said = line.split()
            found.setdefault((what, way), set()).add(said)
    return found


@slow
def test_fsdp_shards_on_the_card_and_ends_with_the_weights_of_the_cpu(carded):
    """FSDP itself refuses the CPU, so that these are DDP's. Where the script has started the group, MMEngine gets as far as FSDP."""
    found, _ = train(carded, "fsdp", "fsdp+both")
    assert found["fsdp", 1] == "AttributeError: module 'torch._C' has no attribute '_cuda_setDevice'"
    assert found["fsdp+both", 1].startswith("RuntimeError: Attempted to call `variable.set_data(tensor)`, but "), found
    apply(carded, NAME, "--set", "device=cpu")
    cpu, _ = train(carded, "flexible")
    assert cpu["flexible", 0][1] == "cpu"
    apply(carded, NAME, "--set", "device=auto")
    found, out = train(carded, "fsdp", "fsdp+both", "fsdp+amp")
    assert found == {(way, rank): [cpu["flexible", 0][0], f"gcu:{rank}", BOTH, "None"] for way, rank in found}
    assert "scales fsdp+amp 1 True" in out


@slow
def test_code_of_ones_own_that_calls_cuda_is_named_with_its_line(carded):
    """No patchset cures that; without one the start of the group fails before."""
    found, _ = train(carded, "direct+calls")
    assert found["direct+calls", 1] == "AttributeError: module 'torch._C' has no attribute '_cuda_setDevice'"
    apply(carded, NAME)
    found, out = train(carded, "direct+calls")
    assert found["direct+calls", 1] == "AssertionError: Torch not compiled with CUDA enabled"
    answer, code = told(out)
    (finding,) = answer["findings"]
    assert (code, finding["symptom"], answer["cure"]) == (1, "built-without-accelerator", "")
    lines = [line.strip() for line in out.splitlines()]
    own = [number for number, line in enumerate(lines) if line.startswith("File ") and "/site-packages/torch" not in line]
    last = max(number for number in own if number < lines.index("AssertionError: Torch not compiled with CUDA enabled"))
    assert lines[last + 1] == "return super().forward(inputs.cuda(), targets.cuda(), mode)", "the advice names that line"
    assert "the last line of the traceback that is not torch's own says where" in finding["advice"]


@slow
def test_ddp_of_torch_alone_ends_with_the_weights_of_the_cpu(carded):
    found, _ = train(carded, "plain", "plain+cpu")
    assert_trained_on_the_card(found, "plain")
    assert {words[0] for words in found.values()} == {found["plain", 0][0]}
    assert found["plain+cpu", 0][1:] == ["cpu", "gloo", "None"]


@slow
def test_every_place_trains_and_all_that_a_runner_does(carded):
    """Two epochs, validation, checkpoints, workers, pinned memory; AMP; each process with one card; a group of the card's own."""
    apply(carded, NAME)
    ways = ["direct", "config", "flexible", "direct+full", "direct+amp", "direct+sync", "direct+alone"]
    found, out = train(carded, *ways)
    assert_trained_on_the_card(found, *ways[:5])
    assert "scales direct+amp 1 True" in out
    assert len({found[way, 0][0] for way in ("direct", "config", "flexible", "direct+amp")}) == 1, "the stand-in has no autocast"
    assert found["direct+alone", 1] == [found["direct", 0][0], "gcu:0", BOTH, "[0]"]
    assert_trained_on_the_card(found, "direct+sync")
    assert found["direct+sync", 0][0] != found["direct", 0][0], "SyncBN counts the samples of both ranks"
    apply(carded, NAME, "--set", "device_ids=none")
    found, _ = train(carded, "config", "config-own")
    assert [found["config", rank][3] for rank in (0, 1)] == ["None", "None"]
    assert [found["config-own", rank][3] for rank in (0, 1)] == ["[0]", "[1]"], "what the config says wins"


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
        ("direct+no-set_device", "AttributeError: module 'torch._C' has no attribute '_cuda_setDevice'"),
        ("direct+no-backend", "RuntimeError: No backend type associated with device type gcu"),
        ("direct+no-device_ids+alone", "IndexError: list index out of range"),  # torch's stream for card 1, where there is one card
    ],
    ids=["get_device", "set_device", "backend", "device_ids"],
)
def test_each_part_left_out_fails_with_a_message_of_its_own(carded, way, message):
    apply(carded, NAME)
    found, _ = train(carded, way)
    assert found[way, 1] == message


@slow
def test_without_get_device_and_device_ids_of_a_config_both_ranks_train_on_the_cpu_without_a_word(carded):
    apply(carded, NAME)
    found, _ = train(carded, "direct+no-get_device")
    assert {words[1] for words in found.values()} == {"cpu"}


@slow
def test_the_cpu_on_purpose_ends_with_the_weights_of_the_card(carded):
    apply(carded, NAME)
    card, _ = train(carded, "direct")
    apply(carded, NAME, "--set", "device=cpu")
    cpu, _ = train(carded, "direct")
    assert cpu["direct", 0] == cpu["direct", 1] == [card["direct", 0][0], "cpu", "gloo", "None"]


@slow
def test_a_model_that_mmengine_moves_back_is_diagnosed_and_what_the_diagnosis_says_ends_it(carded):
    apply(carded, "mmengine-ddp-device", "mmengine-ddp-debug")
    found, out = train(carded, "direct+moved")
    assert {words[1] for words in found.values()} == {"cpu"}, "both ranks train on the CPU, and nothing fails"
    answer, code = told(out)
    (conclusion,) = answer["shown"][0]["wraps"][0]["conclusions"]
    assert (code, conclusion["code"], conclusion["ranks"]) == (1, "moved-back", [0, 1]), answer
    assert conclusion["hint"].startswith(f"sitepatch apply {NAME} --set device=gcu")
    apply(carded, NAME, "--set", "device=gcu")
    found, out = train(carded, "direct+moved")
    assert_trained_on_the_card(found, "direct+moved")
    answer, code = told(out)
    assert (code, answer["shown"][0]["wraps"][0]["conclusions"]) == (0, []), answer


WARNED = "UserWarning: mmengine-ddp-device: this rank trains on the CPU, and gcu stands idle; to train there: sitepatch apply mmengine-device --set device=gcu"


@pytest.mark.parametrize("way", ["direct+moved", "flexible+moved"])
def test_ranks_that_leave_the_card_for_the_cpu_say_so_once_and_the_verdict_does(carded, way):
    """Nothing fails, and without a word each rank would train beside its card."""
    apply(carded, "mmengine-ddp-device")
    found, out = train(carded, way)
    assert {words[1] for words in found.values()} == {"cpu"} and out.count(WARNED) == out.count('"event": "trains"') == 2, out
    answer, code = told(out)
    (conclusion,) = answer["shown"][0]["wraps"][0]["conclusions"]
    assert (code, conclusion["code"], conclusion["ranks"], answer["findings"]) == (1, "moved-back", [0, 1], []), answer
    assert conclusion["hint"].startswith(f"sitepatch apply {NAME} --set device=gcu")
    apply(carded, NAME, "--set", "device=gcu")
    found, out = train(carded, way)
    assert_trained_on_the_card(found, way)
    assert "stands idle" not in out and out.count('"event": "trains"') == 2, "both patchsets are applied"
    answer, code = told(out)
    assert code == 0 and [row["parameters"] for row in answer["shown"][0]["wraps"][0]["ranks"]] == [{"gcu:0": 6}, {"gcu:1": 6}], answer
    apply(carded, NAME, "--set", "device=cpu")
    found, out = train(carded, "direct")
    assert "stands idle" not in out, "on purpose"
    assert told(out)[1] == 0


@slow
def test_both_device_patchsets_together_train_on_the_card(carded):
    apply(carded, NAME, "mmengine-ddp-device", "mmengine-ddp-debug")
    found, out = train(carded, "direct", "config")
    assert_trained_on_the_card(found, "direct", "config")
    answer, code = told(out)
    assert (code, answer["runs"]) == (0, 2), "what a process says twice counts once"

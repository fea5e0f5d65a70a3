"""What people change by hand in accelerate and DeepSpeed: each trouble is raised on the real package, found, cured and restored."""

from pathlib import Path
from typing import NamedTuple, Tuple

import pytest
from cards import lay_card
from conftest import run
from cures import cure, cures, pip_install, python
from test_accelerate import free_port
from wheels import slow

pytestmark = pytest.mark.real

AGENT = "import deepspeed.elasticity.elastic_agent as agent; print('imported', agent.DSElasticAgent.__name__)"
NEEDED = ["hjson", "py-cpuinfo", "ninja", "pynvml"]
PYDANTIC = ["pydantic==2.12.3", "pydantic-core==2.41.4", "typing-inspection", "annotated-types"]  # 0.10.0 is from before pydantic 2
FILES = ["deepspeed/elasticity/elastic_agent.py", "deepspeed/autotuning/scheduler.py"]


@slow
@cures("deepspeed-elastic-agent")
@pytest.mark.parametrize(
    ("release", "symptom"),
    [("0.10.0", "deepspeed-numpy-bufsize"), ("0.14.0", "deepspeed-elastic-agent"), ("0.14.3", "deepspeed-elastic-agent")],
)
def test_deepspeed_is_imported(library, release, symptom):
    """DeepSpeed is on the index as source alone, whose setup.py asks torch; 0.10.0 imports its autotuner first."""
    pydantic = ["pydantic==1.10.24"] if release == "0.10.0" else PYDANTIC
    pip_install(library, *NEEDED, *pydantic)
    pip_install(library, "--no-build-isolation", f"deepspeed=={release}", DS_BUILD_OPS="0")
    cure(library, symptom, "deepspeed-torch24", lambda: python(library, AGENT), FILES, "imported DSElasticAgent")


class Trained(NamedTuple):
    """What accelerate_card.py says of a rank once it has trained.

    Attributes:
        place: "main of 2", say, or "other of 2".
        learned: "learned", or "idle" where the weights are the old ones.
        weights: a digest.
        gathered: whether the rank gathered "all" samples or "some".
        scales: whether gradients are scaled.
        written: the files of the checkpoint that this rank wrote.
    """

    place: str
    device: str
    learned: str
    weights: str
    gathered: str
    scales: bool
    written: Tuple[str, ...]


def trained_ranks(ended, way):
    """{rank: Trained} of a way."""
    ranks = {}
    for line in ended.out.splitlines():
        if line.startswith(f"trained {way} "):
            _, _, rank, role, _, world, device, learned, weights, gathered, scales, written = line.split()
            ranks[int(rank)] = Trained(
                place=f"{role} of {world}",
                device=device,
                learned=learned,
                weights=weights,
                gathered=gathered,
                scales=scales == "True",
                written=tuple(written.split("+")),
            )
    assert ranks, ended
    return ranks


def writers(ranks):
    """{file of a checkpoint: the ranks that write it}; all write scaler.pt, which accelerate-ddp-hygiene is about."""
    writers = {}
    for rank in sorted(ranks):
        for name in ranks[rank].written:
            if name not in ("nothing", "scaler"):
                writers.setdefault(name, []).append(rank)
    return writers


def assert_both_trained(ranks, card):
    """Two ranks have learned the same together, each on a card of its own, and the main one alone has written."""
    assert sorted(ranks) == [0, 1], ranks
    main, other = ranks[0], ranks[1]
    assert (main.place, main.device, main.learned) == ("main of 2", f"{card}:0", "learned"), ranks
    assert (other.place, other.device, other.learned) == ("other of 2", f"{card}:1", "learned"), ranks
    assert main.weights == other.weights
    assert writers(ranks) == {"optimizer": [0], "pytorch_model": [0]}


ACCELERATE = ["accelerate/state.py", "accelerate/accelerator.py"]
FP16 = "from accelerate import Accelerator; print('scales', Accelerator(mixed_precision='fp16').scaler.is_enabled())"


@slow
@cures("accelerate-refuses-fp16")
@pytest.mark.parametrize("release", ["0.34.2", "1.0.1", "1.15.0"])
def test_fp16_scales_on_a_card_that_accelerate_does_not_list(library, release):
    pip_install(library, f"accelerate=={release}")
    lay_card(library, "gcu")

    def job():
        return python(library, FP16, ACCELERATE_TORCH_DEVICE="gcu")

    cure(library, "accelerate-refuses-fp16", "accelerate-device", job, ACCELERATE, "scales True")


@slow
@pytest.mark.parametrize("card", ["xyz", "musa"])
@pytest.mark.parametrize("way", ["no", "fp16"])
def test_accelerate_launch_starts_a_process_for_each_card(library, card, way):
    """`musa` is on accelerate's list; as a plain private-use device it has parameters that are not moved in their place."""
    pip_install(library, "accelerate==1.15.0")
    lay_card(library, card)

    def launch():
        launcher = [library.python, "-m", "accelerate.commands.launch", "--num_processes", "2", "--main_process_port", free_port()]
        ended = run([*launcher, Path(__file__).with_name("accelerate_card.py"), way], cwd=library.cwd, limit=240, CARD=card)
        return trained_ranks(ended, way)

    if way == "no":
        before = sorted((trained.place, trained.learned) for trained in launch().values())
        if card == "xyz":
            assert before == [("main of 1", "learned")]
        else:
            assert before == [("main of 2", "idle"), ("other of 2", "idle")]
    assert library.sitepatch("apply", "accelerate-device", "--verify", "compile").code == 0
    assert_both_trained(launch(), card)


CHOICES = """
import os
import torch
from accelerate import state

asked = [name for name in vars(state) if name.startswith("is_") and name.endswith("_available")]
partial = object.__new__(state.PartialState)
os.environ["LOCAL_RANK"] = "0"
for there in ["cuda", *asked]:
    for name in asked:
        setattr(state, name, lambda *_, there=there == name, **__: there)
    torch.cuda.is_available = lambda: there == "cuda"
    for cpu in (False, True):
        print("chosen", there, cpu, *partial._prepare_backend(cpu, False, None), partial.default_device)
"""


@slow
def test_nothing_changes_on_cuda_on_listed_devices_and_on_the_cpu(library):
    """Which device and backend are chosen where each kind of device says that it is there; what two ranks and one learn and write on the CPU."""
    pip_install(library, "accelerate==1.15.0")

    def lines(out, word):
        return [line for line in out.splitlines() if line.startswith(f"{word} ")]

    def everything():
        choices = lines(python(library, CHOICES).out, "chosen")
        alone = library.script("accelerate_card.py", "cpu", "no", "bf16")
        together = library.ranks(2, "accelerate_card.py", "cpu")
        trained = sorted(lines(alone.out, "trained") + lines(together.out, "trained"))
        written = {file.relative_to(library.cwd): file.read_bytes() for file in library.cwd.glob("checkpoint-*/*")}
        return choices, trained, written

    before = everything()
    choices, trained, written = before
    assert any("MULTI_GPU" in line and "nccl" in line for line in choices) and len(choices) >= 10, choices
    assert len(trained) == 5 and len(written) >= 9, trained
    assert library.sitepatch("apply", "accelerate-device", "--verify", "compile").code == 0
    assert everything() == before


DISPATCH = """
import torch, accelerate
print(accelerate.dispatch_model(torch.nn.Linear(1, 1), {"": 0}).weight.device)
"""


@slow
def test_dispatch_model_moves_the_model(library):
    pip_install(library, "accelerate==1.15.0")
    lay_card(library, "musa")
    assert python(library, DISPATCH).out.endswith("cpu\n")
    assert library.sitepatch("apply", "accelerate-device", "--verify", "compile").code == 0
    assert python(library, DISPATCH).out.endswith("musa:0\n")


@slow
@pytest.mark.parametrize(("release", "card"), [("1.15.0", "xyz"), ("1.15.0", "gcu"), ("1.0.1", "xyz"), ("0.34.2", "xyz")])
def test_two_ranks_train_together_on_a_card_that_accelerate_does_not_list(library, release, card):
    pip_install(library, f"accelerate=={release}")
    lay_card(library, card)
    pristine = [(library.site / file).read_bytes() for file in ACCELERATE]
    before = trained_ranks(library.ranks(2, "accelerate_card.py", "no"), "no")
    assert {trained.device for trained in before.values()} == {"cpu"}, before
    if release == "1.15.0":
        assert writers(before) == {"optimizer": [0, 1], "pytorch_model": [0, 1]}, "one file, two writers"
    assert library.sitepatch("apply", "accelerate-device", "--verify", "compile").code == 0
    for way in ("no", "fp16", "bf16"):  # each in a launch of its own: a second group in one run meets what the first left in torchrun's store
        ranks = trained_ranks(library.ranks(2, "accelerate_card.py", way), way)
        assert_both_trained(ranks, card)
        for trained in ranks.values():
            assert (trained.gathered, trained.scales) == ("all", way == "fp16")
    assert library.sitepatch("restore", "accelerate-device").code == 0
    assert [(library.site / file).read_bytes() for file in ACCELERATE] == pristine

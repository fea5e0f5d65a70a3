"""What people change by hand in accelerate and DeepSpeed: each trouble is raised on the real package, found, cured and restored."""

from pathlib import Path

import pytest
from conftest import run
from cures import cure, cures, pip_install, python
from test_accelerate import free_port
from test_card import lay_card
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
    pip_install(library, *NEEDED, *(["pydantic==1.10.24"] if release == "0.10.0" else PYDANTIC))
    pip_install(library, "--no-build-isolation", f"deepspeed=={release}", DS_BUILD_OPS="0")
    cure(library, symptom, "deepspeed-torch24", lambda: python(library, AGENT), FILES, "imported DSElasticAgent")


def said(ended, way):
    """{rank: words} of what the ranks said at the end of a way."""
    lines = [line.split() for line in ended.out.splitlines() if line.startswith(f"trained {way} ")]
    return {int(words[2]): words[3:] for words in lines}


def writers(ranks):
    """{file of a checkpoint: the ranks that write it}; all write scaler.pt, which accelerate-ddp-hygiene is about."""
    names = {name for words in ranks.values() for name in words[8].split("+")} - {"nothing", "scaler"}
    return {name: [rank for rank in sorted(ranks) if name in ranks[rank][8].split("+")] for name in sorted(names)}


ACCELERATE = ["accelerate/state.py", "accelerate/accelerator.py"]


FP16 = "from accelerate import Accelerator; print('scales', Accelerator(mixed_precision='fp16').scaler.is_enabled())"


@slow
@cures("accelerate-refuses-fp16")
@pytest.mark.parametrize("release", ["0.34.2", "1.0.1", "1.15.0"])
def test_fp16_scales_on_a_card_that_accelerate_does_not_list(library, release):
    pip_install(library, f"accelerate=={release}")
    lay_card(library, "gcu")
    job = lambda: python(library, FP16, ACCELERATE_TORCH_DEVICE="gcu")  # noqa: E731
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
        return said(ended, way), ended

    if way == "no":
        alone, ended = launch()
        assert [words[2:5:2] for words in alone.values()] == ([["1", "learned"]] if card == "xyz" else [["2", "idle"]] * 2), ended
    assert library.sitepatch("apply", "accelerate-device", "--verify", "compile").code == 0
    ranks, ended = launch()
    assert {rank: words[:5] for rank, words in ranks.items()} == {
        0: ["main", "of", "2", f"{card}:0", "learned"], 1: ["other", "of", "2", f"{card}:1", "learned"]
    }, ended  # fmt: skip
    assert ranks[0][5] == ranks[1][5] and writers(ranks) == {"optimizer": [0], "pytorch_model": [0]}


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

    def all_of_it():
        chosen = [line for line in python(library, CHOICES).out.splitlines() if line.startswith("chosen ")]
        ended = [library.script("accelerate_card.py", "cpu", "no", "bf16"), library.ranks(2, "accelerate_card.py", "cpu")]
        learned = sorted(line for each in ended for line in each.out.splitlines() if line.startswith("trained "))
        written = {file.relative_to(library.cwd): file.read_bytes() for file in library.cwd.glob("checkpoint-*/*")}
        return chosen, learned, written

    before = all_of_it()
    assert any("MULTI_GPU" in line and "nccl" in line for line in before[0]) and len(before[0]) >= 10, before[0]
    assert len(before[1]) == 5 and len(before[2]) >= 9, before[1]
    assert library.sitepatch("apply", "accelerate-device", "--verify", "compile").code == 0
    assert all_of_it() == before


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
    alone = said(library.ranks(2, "accelerate_card.py", "no"), "no")
    assert {words[3] for words in alone.values()} == {"cpu"}, alone
    assert release != "1.15.0" or writers(alone) == {"optimizer": [0, 1], "pytorch_model": [0, 1]}, "one file, two writers"
    assert library.sitepatch("apply", "accelerate-device", "--verify", "compile").code == 0
    for way in ("no", "fp16", "bf16"):  # each in a launch of its own: a second group in one run meets what the first left in torchrun's store
        ended = library.ranks(2, "accelerate_card.py", way)
        ranks = said(ended, way)
        assert sorted(ranks) == [0, 1], ended
        assert [ranks[rank][:6] for rank in (0, 1)] == [["main", "of", "2", f"{card}:0", "learned", ranks[0][5]], ["other", "of", "2", f"{card}:1", "learned", ranks[0][5]]]
        assert [words[6:8] for words in ranks.values()] == [["all", str(way == "fp16")]] * 2
        assert writers(ranks) == {"optimizer": [0], "pytorch_model": [0]}
    assert library.sitepatch("restore", "accelerate-device").code == 0
    assert [(library.site / file).read_bytes() for file in ACCELERATE] == pristine

"""What people change by hand in accelerate and DeepSpeed: each trouble is raised on the real package, found, cured and restored."""

import pytest
from cures import cure, cures, pip_install, python
from test_card import lay_card
from wheels import slow

pytestmark = pytest.mark.real

AGENT = "import deepspeed.elasticity.elastic_agent as agent; print('imported', agent.DSElasticAgent.__name__)"
NEEDED = ["hjson", "py-cpuinfo", "ninja", "pydantic==2.12.3", "pydantic-core==2.41.4", "typing-inspection", "annotated-types", "pynvml"]
FILES = ["deepspeed/elasticity/elastic_agent.py", "deepspeed/autotuning/scheduler.py"]


@slow
@cures("deepspeed-elastic-agent")
@pytest.mark.parametrize("release", ["0.10.0", "0.14.0", "0.14.3"])
def test_deepspeed_is_imported(library, release):
    """DeepSpeed is on the index as source alone, whose setup.py asks torch."""
    pip_install(library, *NEEDED)
    pip_install(library, "--no-build-isolation", f"deepspeed=={release}", DS_BUILD_OPS="0")
    cure(library, "deepspeed-elastic-agent", "deepspeed-torch24", lambda: python(library, AGENT), FILES, "imported DSElasticAgent")


def said(ended, way):
    """{rank: words} of what the ranks said at the end of a way."""
    lines = [line.split() for line in ended.out.splitlines() if line.startswith(f"trained {way} ")]
    return {int(words[2]): words[3:] for words in lines}


ACCELERATE = ["accelerate/state.py", "accelerate/accelerator.py"]


FP16 = "from accelerate import Accelerator; print('scales', Accelerator(mixed_precision='fp16').scaler.is_enabled())"


@slow
@cures("accelerate-refuses-fp16")
def test_fp16_scales_on_a_card_that_accelerate_does_not_list(library):
    pip_install(library, "accelerate==1.15.0")
    lay_card(library, "gcu")
    job = lambda: python(library, FP16, ACCELERATE_TORCH_DEVICE="gcu")  # noqa: E731
    cure(library, "accelerate-refuses-fp16", "accelerate-device", job, ACCELERATE, "scales True")


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
    assert library.sitepatch("apply", "accelerate-device", "--verify", "compile").code == 0
    ended = library.ranks(2, "accelerate_card.py", "no", "fp16", "bf16")
    for way in ("no", "fp16", "bf16"):
        ranks = said(ended, way)
        assert sorted(ranks) == [0, 1], ended
        assert [ranks[rank][:6] for rank in (0, 1)] == [["main", "of", "2", f"{card}:0", "learned", ranks[0][5]], ["other", "of", "2", f"{card}:1", "learned", ranks[0][5]]]
        assert [words[6:] for words in ranks.values()] == [["all", str(way == "fp16")]] * 2
    assert library.sitepatch("restore", "accelerate-device").code == 0
    assert [(library.site / file).read_bytes() for file in ACCELERATE] == pristine

"""For whom the built-in patchsets change nothing: the same results with all of them as without, on the real packages."""

import pytest
from wheels import slow

pytestmark = pytest.mark.real

TORCH = ["torch-dynamo-disable", "torch-dynamo-suppress", "torch-musa-guard"]
MMENGINE = ["mmengine-checkpoint-load", "mmengine-ddp-debug", "mmengine-ddp-device", "mmengine-pkg-resources"]


def check(environment, names, number, *ways):
    before = environment.results(number, *ways)
    assert len(before) == number * len(ways)
    applied = environment.sitepatch("apply", *names, "--verify", "compile")
    assert applied.code == 0, applied
    assert environment.results(number, *ways) == before


def test_one_process_on_the_cpu(environment):
    """In single and mixed precision, with a frozen layer, from the meta device, with a worker that sends samples."""
    check(environment, TORCH, 1, "cpu", "amp", "meta", "loader")


@slow
def test_mmengine_in_one_process(environment):
    check(environment, [*TORCH, *MMENGINE], 1, "runner")


@slow
def test_ranks_that_share_a_device(environment):
    """torch's own DDP and FSDP, and MMEngine's Runner with a wrapper that is not DDP."""
    check(environment, [*TORCH, *MMENGINE], 2, "ddp", "ddp-amp", "fsdp", "runner-wrapper")

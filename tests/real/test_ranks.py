"""`sitepatch diagnose --ranks` on the real PyTorch: ranks that can talk, on the CPU and on the stand-in card, and one that hangs."""

import json
import sys

import pytest
from conftest import COMMAND_ROOT, Environment, run
from wheels import slow

pytestmark = pytest.mark.real

HANGS, WAIT = "import torch.distributed as d; d", "lambda *some, **more: __import__('time').sleep(600)"


def trial(environment, *words):
    """The field `trial`, the symptoms and the exit code."""
    command = [sys.executable, "-m", "patcher", "diagnose", "--ranks", "2", "--json", "--python", environment.python, *words]
    ended = run(command, cwd=COMMAND_ROOT, CUDA_VISIBLE_DEVICES="")
    answer = json.loads(ended.out)
    return answer["trial"], [each["symptom"] for each in answer["findings"]], ended.code


def test_two_ranks_talk_on_the_cpu(kept_environment, tmp_path):
    result, symptoms, code = trial(Environment(kept_environment, tmp_path))
    assert (code, result["ok"], symptoms) == (0, True, []), result
    assert result["verdict"].startswith("ranks 0-1 can talk by gloo on cpu: ")


@slow
def test_two_ranks_talk_on_the_card(carded):
    result, _, code = trial(carded)
    assert (code, result["ok"]) == (0, True), result
    assert result["verdict"].startswith("ranks 0-1 can talk by eccl on gcu:0 and gcu:1: ")


@slow
def test_a_backend_that_is_not_built_in_is_explained(kept_environment, tmp_path):
    result, symptoms, code = trial(Environment(kept_environment, tmp_path), "--backend", "nccl")
    assert (code, symptoms) == (1, ["collective-not-built-in"])
    assert result["verdict"].startswith("ranks 0-1 failed in the start of the process group: RuntimeError: Distributed package doesn't")


@slow
@pytest.mark.parametrize(
    ("line", "verdict", "place"),
    [
        ("time.sleep(600)", "rank 1 did not arrive at the start of the process group within 25 s, still in import torch", ""),
        (f"{HANGS}.barrier = {WAIT}", "all ranks arrived at the barrier, and none came out of it within 25 s", "in barrier"),
        (f"{HANGS}.init_process_group = {WAIT}", "all ranks arrived at the start of the process group, and none came out of it within 25 s", "in init_process_group"),
    ],
    ids=["before torch", "in the barrier", "in the start"],
)
def test_a_rank_that_hangs_is_reported(environment, line, verdict, place):
    (environment.site / "hangs.pth").write_text(f"import os, time; exec({line!r}) if os.environ.get('RANK') == '1' else 0\n")
    result, _, code = trial(environment, "--timeout", "25")
    assert (code, result["verdict"]) == (1, verdict), result
    assert place in result["ranks"][0]["output"]

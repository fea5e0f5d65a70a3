"""mmengine-checkpoint-load: the real MMEngine resumes from its own checkpoint with the real torch, and refuses another's objects."""

import pytest
from conftest import run

pytestmark = pytest.mark.real

NAME = "mmengine-checkpoint-load"
REFUSED = "Unsupported global: GLOBAL mmengine.logging.history_buffer.HistoryBuffer was not an allowed global by default"
FOREIGN = """
import os, sys, torch
from mmengine.runner.checkpoint import load_from_local
from mmengine.logging import HistoryBuffer
class Calls:
    def __init__(self, function, arguments):
        self.call = function, arguments
    def __reduce__(self):
        return self.call
for function, arguments in [(open, ("opened", "w")), (getattr, (HistoryBuffer, "update")), (getattr, (str, "format"))]:
    torch.save({"state_dict": {}, "meta": Calls(function, arguments)}, "foreign.pth")
    try:
        load_from_local("foreign.pth", "cpu")
        print("loaded", os.path.exists("opened"))
    except Exception as error:
        print("refused", type(error).__name__, os.path.exists("opened"))
"""
OLDER = """
import torch
from mmengine.runner.checkpoint import load_from_local
torch.save({}, "own.pth")
torch.__version__ = "2.5.1"
del torch.serialization.safe_globals
print("loaded", load_from_local("own.pth", "cpu"))
"""


def test_mmengine_resumes_from_its_own_checkpoint(environment, tmp_path):
    work = tmp_path / "work"
    assert environment.script("resume_script.py", work, "1").out.splitlines()[-1] == "trained the epochs [0] with losses of 2 steps"
    refused = environment.script("resume_script.py", work, "2")
    assert refused.code == 1 and REFUSED in refused.out, refused
    assert environment.probe(NAME).code == 1

    applied = environment.sitepatch("apply", NAME)
    assert applied.code == 0, applied
    probed = environment.probe(NAME)
    assert probed.code == 0 and "loaded a history of losses" in probed.out, probed
    resumed = environment.script("resume_script.py", work, "2")
    assert resumed.out.splitlines()[-1] == "trained the epochs [1] with losses of 4 steps", resumed

    assert run([environment.python, "-c", OLDER], cwd=tmp_path).out.splitlines()[-1] == "loaded {}"
    job = [environment.python, "-c", FOREIGN]
    assert run(job, cwd=tmp_path).out.splitlines()[-3:] == ["refused UnpicklingError False"] * 3, "no code of the file is run"
    assert environment.sitepatch("apply", NAME, "--set", "trust=true").code == 0
    assert run(job, cwd=tmp_path).out.splitlines()[-3:] == ["loaded True"] * 3, "the danger that the option warns of"

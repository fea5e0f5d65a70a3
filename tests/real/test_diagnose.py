"""`sitepatch diagnose` on the errors that the real packages raise, and the jobs that work once what it tells is run."""

import io
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import COMMAND_ROOT, Environment, run
from test_accelerate import OLDEST, free_port, ranks
from test_card import assert_trained_on_the_card, carded, train
from test_torch import BEFORE_VENDOR_BRANCH, VENDOR_BRANCH
from wheels import slow

from patcher.diagnose.log import read_log
from patcher.ops.diagnose import KnownSymptoms
from patcher.verbs.place import Place

pytestmark = pytest.mark.real
__all__ = ["carded", "ranks"]

LOG = Path(__file__).parents[1] / "logs" / "errors.log"
HEAD = "Texts as PyTorch 2.13.0 and MMEngine 0.10.7 print them, without the quoted lines of code. `===` and the symptom begin each."
WRITE = os.environ.get("SITEPATCH_WRITE_LOGS") == "1"


def diagnosed(place, text):
    """What `diagnose` makes of a text that is piped into it; `place` are options that name an environment."""
    command = [sys.executable, "-m", "patcher", "diagnose", "--json", *map(str, place)]
    done = subprocess.run(command, cwd=COMMAND_ROOT, input=text.encode(), stdout=subprocess.PIPE)
    answer = json.loads(done.stdout)
    assert done.returncode == (0 if answer["ok"] else 1), answer
    return answer


def cured(place, text, patchset):
    """Pipe an error into `diagnose` and run the command that it prints; then it says that this is applied."""
    answer = diagnosed(place, text)
    assert patchset in [one["patchset"] for one in answer["findings"]], answer
    applied = run([sys.executable, "-m", "patcher", *shlex.split(answer["cure"])[1:]], cwd=COMMAND_ROOT)
    assert applied.code == 0, applied
    again = diagnosed(place, text)
    assert {one["fit"] for one in again["findings"] if one["patchset"]} == {"applied"} and again["cure"] == ""


@pytest.mark.parametrize("which", ["", pytest.param("compiles", marks=slow)])
def test_the_errors_that_are_raised_are_recognised(kept_environment, tmp_path, which, counted):
    environment = Environment(kept_environment, tmp_path)
    known = KnownSymptoms(Place(python=str(environment.python)))
    ended = environment.script("error_script.py", *which.split(), PYTHONHASHSEED="0")
    assert ended.code == 0 and "raised nothing" not in ended.out, ended
    errors = sections(ended.out)
    for symptom, text in errors:
        found = known.outcome([read_log("log", io.BytesIO(text.encode()), known.patterns)]).findings
        assert [one.symptom.name for one in found] == [symptom], text
    counted("errors raised and recognised", len(errors))
    kept = kept_errors(errors, environment)
    if WRITE:
        LOG.write_text(LOG.read_text() + kept if which else f"{HEAD}\n\n{kept}")
    numberless = [re.sub(r"\d+", "0", text) for text in (kept, LOG.read_text())]
    assert numberless[0] in numberless[1], f"{LOG} is not what is raised: SITEPATCH_WRITE_LOGS=1 writes it anew"


def sections(text):
    """(symptom, text) of each error."""
    parts = re.split(r"^=== (.*)\n", text, flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], parts[1::2]))


def kept_errors(errors, environment):
    """Errors as they are kept for the tests without PyTorch: without quoted code, with paths as anybody has them."""
    lines = []
    for symptom, text in errors:
        text = re.sub(r"^    .*\n", "", text.rstrip() + "\n", flags=re.MULTILINE)
        text = text.replace(str(environment.root), "/opt/venv").replace(str(Path(__file__).with_name("error_script.py")), "train.py")
        lines.append(f"=== {symptom}\n{text}")
    return "".join(lines)


@slow
def test_a_backend_that_fails_computes_after_what_is_told(environment):
    failed = environment.script("compile_script.py")
    assert failed.code == 1
    cured(["--python", environment.python], failed.out, "torch-dynamo-suppress")
    assert "computed [0.0, 2.0, 4.0]" in environment.script("compile_script.py").out


@slow
def test_a_loader_that_hangs_ends_after_what_is_told(environment):
    branch = VENDOR_BRANCH + BEFORE_VENDOR_BRANCH
    environment.replace_text("torch/multiprocessing/reductions.py", BEFORE_VENDOR_BRANCH, branch)
    hanging = environment.script("loader_script.py", limit=40)
    assert hanging.code is None
    cured(["--python", environment.python], hanging.out, "torch-musa-guard")
    assert "total 28.0" in environment.script("loader_script.py").out


@slow
def test_what_cannot_be_compiled_computes_after_what_is_told(environment, tmp_path):
    job = tmp_path / "job.py"
    job.write_text("import torch\ndef f(x):\n    return x + 1 if x.sum() > 0 else x\n"
                   "print('computed', torch.compile(f, fullgraph=True, backend='eager')(torch.ones(2)).tolist())\n")  # fmt: skip
    failed = run([environment.python, job], cwd=tmp_path)
    assert failed.code == 1 and "computed [" not in failed.out
    cured(["--python", environment.python], failed.out, "torch-dynamo-disable")
    assert run([environment.python, job], cwd=tmp_path).out == "computed [2.0, 2.0]\n"


@slow
def test_two_ranks_train_on_the_card_after_what_is_told(carded):
    """Stock MMEngine selects a CUDA device; once it does not, it would move the model back to the CPU."""
    _, out = train(carded, "direct")
    assert "module 'torch._C' has no attribute '_cuda_setDevice'" in out
    cured(["--python", carded.python], out, "mmengine-device")
    found, _ = train(carded, "direct")
    assert_trained_on_the_card(found, "direct")


@slow
@pytest.mark.parametrize("ranks", [OLDEST], indirect=True)  # accelerate 0.33 lets several processes share a device
def test_no_more_ranks_than_devices_are_started_after_what_is_told(ranks):
    """Two devices, of which the launcher is told, and four processes, of which the third and fourth raise what CUDA raises."""
    job = ranks.tmp_path / "job.py"
    job.write_text("import os\nif int(os.environ['LOCAL_RANK']) > 1:\n    raise RuntimeError('CUDA error: invalid device ordinal')\n"
                   "os.write(1, 'worked, rank {RANK} of {WORLD_SIZE}\\n'.format(**os.environ).encode())\n")  # fmt: skip
    launch = ["launch", "--multi_gpu", "--num_processes", "4", "--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no"]
    failed = ranks.launcher(2, *launch, "--main_process_port", free_port(), job)
    assert failed.code != 0 and "invalid device ordinal" in failed.out, failed
    cured(["--python", ranks.environment.python], failed.out, "accelerate-ddp-hygiene")
    worked = ranks.launcher(2, *launch, "--main_process_port", free_port(), job)
    assert (worked.code, worked.out.count("worked, rank ")) == (0, 2), worked


@slow
def test_two_ranks_train_on_the_cpu_after_what_is_told(environment):
    failed = environment.ranks(2, "ddp_train.py", "--group", "direct")
    cured(["--python", environment.python], failed.out, "mmengine-ddp-device")
    trained = environment.ranks(2, "ddp_train.py", "--group", "direct")
    assert trained.out.count("trained direct ") == 2, trained


@slow
def test_amp_takes_the_card_after_what_is_told(carded):
    job = carded.cwd / "job.py"
    job.write_text("import torch\nfrom mmengine.optim import AmpOptimWrapper\nlayer = torch.nn.Linear(2, 2).to('gcu')\n"
                   "AmpOptimWrapper(optimizer=torch.optim.SGD(layer.parameters(), lr=0.1))\nprint('taken')\n")  # fmt: skip
    failed = run([carded.python, job], cwd=carded.cwd)
    assert failed.code == 1 and "is only available training on gpu, npu" in failed.out, failed
    cured(["--python", carded.python], failed.out, "mmengine-device")
    assert run([carded.python, job], cwd=carded.cwd).out.endswith("taken\n")

"""mmengine-ddp-device on the stand-ins of MMEngine: which device_ids DDP is given, and how the process group starts."""

import ast
import json
import os
import subprocess
import sys

import pytest

from patcher.diagnosis.report import read_report
from tests.patchsets.ddp import facts_of, warnings
from tests.patchsets.standins import patched

pytestmark = pytest.mark.once

DEVICE, DEBUG = "mmengine-ddp-device", "mmengine-ddp-debug"
VERSIONS = ("0.1.0", "0.7.4", "0.10.7")
DIRECT = "Runner().wrap_model(None, model)"
CONFIG = "Runner().wrap_model(dict(type='MMDistributedDataParallel'{}), model)"
STRATEGY = "DDPStrategy({})._wrap_model(model)"
WITHOUT_CONFIG = [*((version, DIRECT) for version in VERSIONS), ("0.10.7", STRATEGY.format(""))]
PLACES = [
    *WITHOUT_CONFIG,
    *((version, CONFIG.format("")) for version in VERSIONS),
    ("0.10.7", STRATEGY.format("dict(type='MMDistributedDataParallel')")),
]
# The stand-in of torch has no device: give it one that a number selects, and one that it does not.
WRAP = """
from mmengine import _torch as torch
from mmengine import model as models
from mmengine.runner import Runner
try:
    from mmengine._strategy import DDPStrategy
except ImportError:
    pass

class musa:
    set_device = None

torch.musa, torch.cpu, torch.xla = musa, musa, object  # torch.cpu has a set_device too
passed = []
init = models.DistributedDataParallel.__init__

def record(self, module, device_ids=None, **kwargs):
    passed.append(device_ids)
    init(self, module, device_ids, **kwargs)

models.DistributedDataParallel.__init__ = record
model = models.BaseModel()
model.weight.device, model.bias.device = map(torch.Device, {devices!r})
"""


def run(site, code, **more):
    """What the code prints last, or its error; as local rank 1."""
    dropped = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "SLURM_", "OMPI_", "CUDA_")
    env = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    env.update({"PYTHONPATH": str(site), "LOCAL_RANK": "1", "RANK": "3"}, **more)
    completed = subprocess.run([sys.executable, "-S", "-c", code], env=env, capture_output=True, encoding="utf-8")
    output = completed.stdout if completed.returncode == 0 else completed.stderr
    return output.splitlines()[-1]


def device_ids(site, code, *devices, after="\nprint(passed)", **more):
    return run(site, WRAP.format(devices=devices) + code + after, **more)


@pytest.mark.parametrize(("version", "code"), PLACES)
def test_device_ids_are_given_only_where_ddp_can_use_them(version, code, tmp_path):
    patched(version, tmp_path, DEVICE)
    answers = {
        ("cpu", "cpu"): "[None]",
        ("xla:0", "xla:0"): "[None]",
        ("xla:1", "xla:1"): "[None]",
        ("meta", "meta"): "[None]",
        ("musa:0", "musa:1"): "[None]",
        ("musa:1", "cpu"): "[None]",
        ("musa:1", "musa:1"): "[[1]]",
        ("musa:0", "musa:0"): "[[1]]",  # as before: the patchset does not mend a wrong number
        ("cuda:1", "cuda:1"): "[[1]]",
    }
    assert {devices: device_ids(tmp_path, code, *devices) for devices in answers} == answers


@pytest.mark.parametrize(("version", "code"), PLACES)
def test_without_the_patchset_the_cpu_is_refused(version, code, tmp_path):
    patched(version, tmp_path)
    assert device_ids(tmp_path, code, "cpu", "cpu") == "ValueError: device_ids [1] given for a module on the CPU"
    assert device_ids(tmp_path, code, "xla:0", "xla:0") == "[[1]]"


@pytest.mark.parametrize(
    ("version", "code"),
    [
        *((version, CONFIG.format(", device_ids={}")) for version in VERSIONS),
        ("0.10.7", STRATEGY.format("dict(type='MMDistributedDataParallel', device_ids={})")),
    ],
)
def test_what_the_config_says_wins(version, code, tmp_path):
    patched(version, tmp_path, DEVICE)
    assert device_ids(tmp_path, code.format(None), "musa:1", "musa:1") == "[None]"
    assert device_ids(tmp_path, code.format([7]), "musa:1", "musa:1") == "[[7]]"
    assert device_ids(tmp_path, code.format([7]), "xla:0", "xla:0") == "[[7]]"
    refused = "ValueError: device_ids [7] given for a module on the CPU"
    assert device_ids(tmp_path, code.format([7]), "cpu", "cpu") == refused


def test_parameters_that_ddp_is_told_to_ignore_do_not_count(tmp_path):
    patched("0.10.7", tmp_path, DEVICE)
    ignore = "model._ddp_params_and_buffers_to_ignore = ['layer.bias']\n"
    code = ignore + "from mmengine.dist.utils import _sitepatch_takes_device_ids as takes"
    assert device_ids(tmp_path, code, "musa:1", "cpu", after="\nprint(takes(model))") == "True"
    assert device_ids(tmp_path, code, "cpu", "musa:1", after="\nprint(takes(model))") == "False"


LEAVES = """
import contextlib, io, sys, types, warnings
{more}
with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(io.StringIO()) as out:
    warnings.simplefilter("always")
    {code}
print(out.getvalue().partition(" ")[2].strip(), [str(warning.message) for warning in caught], sep=" | ")
"""  # what is reported, and the warnings
MOVES = "models.BaseModel.to = lambda self, device: ([setattr(tensor, 'device', torch.Device('cpu')) for tensor in self.parameters()], self)[1]"
STANDS_IDLE = "torch.gcu = type(torch)('gcu'); torch.gcu.set_device, torch.gcu.is_available = None, lambda: True"
OF_ANOTHER = "import mmengine.dist.utils; mmengine.dist.utils._sitepatch_device = None"


def idle_warning(kind):
    return (
        f"{DEVICE}: this rank trains on the CPU, and {kind} stands idle; "
        f"to train there: sitepatch apply mmengine-device --set device={kind}"
    )


@pytest.mark.parametrize(("version", "code"), WITHOUT_CONFIG)
def test_a_rank_that_trains_beside_its_card_says_so(version, code, tmp_path):
    patched(version, tmp_path, DEVICE)
    for more, device, trained_on, idle in (
        (MOVES, "musa:1", "cpu", ["musa"]),
        (STANDS_IDLE, "cpu", "cpu", ["gcu"]),
        ("", "cpu", "cpu", []),
        ("", "musa:1", "musa:1", []),
    ):
        output = device_ids(tmp_path, LEAVES.format(code=code, more=more), device, device, after="", GCU_VISIBLE_DEVICES="1")
        line, _, warned = output.partition(" | ")
        facts = json.loads(line)
        expected = {"before": {device: 2}, "parameters": {trained_on: 2}, "idle": idle, "event": "trains"}
        assert expected.items() <= facts.items()
        assert {"RANK": "3", "LOCAL_RANK": "1", "GCU_VISIBLE_DEVICES": "1"}.items() <= facts["env"].items()
        report = read_report(1, facts)
        assert (report.rank, report.process.local_rank) == (3, 1)
        assert (report.tensors.parameters, report.tensors.before) == (((trained_on, 2),), ((device, 2),))
        assert warned == str([idle_warning(kind) for kind in idle])


@pytest.mark.parametrize(("version", "code"), WITHOUT_CONFIG)
def test_where_mmengine_device_is_applied_too_that_one_reports(version, code, tmp_path):
    patched(version, tmp_path, DEVICE)
    assert device_ids(tmp_path, LEAVES.format(code=code, more=OF_ANOTHER), "cpu", "cpu", after="") == " | []"


@pytest.mark.parametrize(("version", "code"), PLACES[:1])
@pytest.mark.parametrize("unread", ["io.StringIO()", "open('/dev/full', 'w')"])
def test_training_goes_on_where_nobody_reads_stdout(version, code, unread, tmp_path):
    patched(version, tmp_path, DEVICE)
    code = f"import io, sys\nsys.stdout = {unread}\nsys.stdout.closed or 'full' in str(sys.stdout) or sys.stdout.close()\n{code}"
    assert device_ids(tmp_path, f"{code}\nsys.stdout = sys.__stdout__\nprint('goes on')", "cpu", "cpu", after="") == "goes on"


LAUNCHERS = {
    "pytorch": {},
    "mpi": {"OMPI_COMM_WORLD_LOCAL_RANK": "1"},
    "slurm": {"SLURM_PROCID": "3"},
}
START = """
from mmengine import _torch as torch
from mmengine.dist import utils
{more}
utils._init_dist_{launcher}('gloo')
print(torch.distributed.started, selected)
"""
NO_CUDA = "selected = []"
CUDA = """
selected = []
torch.cuda.is_available, torch.cuda.device_count, torch.cuda.set_device = lambda: True, lambda: 2, selected.append
"""


@pytest.mark.parametrize("launcher", LAUNCHERS)
@pytest.mark.parametrize("version", VERSIONS)
def test_the_process_group_starts_without_cuda_with_the_backend_that_was_asked_for(version, launcher, tmp_path):
    environ = LAUNCHERS[launcher]
    patched(version, tmp_path / "before")
    before = run(tmp_path / "before", START.format(launcher=launcher, more=NO_CUDA), **environ)
    assert before.startswith(("AttributeError: there is no CUDA", "ZeroDivisionError"))
    patched(version, tmp_path / "after", DEVICE)
    assert run(tmp_path / "after", START.format(launcher=launcher, more=NO_CUDA), **environ) == "['gloo'] []"


@pytest.mark.parametrize("launcher", LAUNCHERS)
@pytest.mark.parametrize("version", VERSIONS)
def test_with_cuda_the_same_device_is_selected_as_before(version, launcher, tmp_path):
    code, environ = START.format(launcher=launcher, more=CUDA), LAUNCHERS[launcher]
    patched(version, tmp_path / "before")
    patched(version, tmp_path / "after", DEVICE)
    assert run(tmp_path / "before", code, **environ) == run(tmp_path / "after", code, **environ) == "['gloo'] [1]"


NO_DRIVER = "selected = []\ntorch.version.cuda = '12.4'"


@pytest.mark.parametrize("launcher", LAUNCHERS)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_torch_for_cuda_without_a_driver_says_so_where_a_gpu_was_asked_for(version, launcher, tmp_path):
    code, environ = START.format(launcher=launcher, more=NO_DRIVER), {**LAUNCHERS[launcher], "LOCAL_RANK": "0"}
    nccl = code.replace("gloo", "nccl")
    patched(version, tmp_path / "strict", DEVICE)
    assert run(tmp_path / "strict", code, **environ, CUDA_VISIBLE_DEVICES="-1") == "['gloo'] []"
    assert run(tmp_path / "strict", code, **environ) == "['gloo'] []", "the backend says that the CPU is meant"
    refused = "AttributeError: there is no CUDA"
    assert run(tmp_path / "strict", code, **environ, CUDA_VISIBLE_DEVICES="0,1").startswith(refused)
    assert run(tmp_path / "strict", nccl, **environ).startswith(refused)
    known = "import mmengine.device; mmengine.device.get_device = lambda: 'musa'\n"
    assert run(tmp_path / "strict", known + nccl, **environ) == "['nccl'] []", "another device is there"
    patched(version, tmp_path / "allowed", DEVICE, settings={"cpu": "true"})
    assert run(tmp_path / "allowed", code, **environ, CUDA_VISIBLE_DEVICES="0") == "['gloo'] []"


@pytest.mark.parametrize(("version", "code"), PLACES)
def test_the_report_of_the_debug_patchset_is_of_what_is_passed(version, code, tmp_path):
    patched(version, tmp_path, DEVICE, DEBUG)
    for device, ids, codes in (("cpu", None, []), ("xla:0", None, ["buffers-elsewhere"]), ("musa:1", [1], ["buffers-elsewhere"])):
        facts = facts_of(run(tmp_path, WRAP.format(devices=(device, device)) + code))
        assert (facts["device_ids"], warnings(facts)) == (ids, codes)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_inserted_code_is_python_3_7(version, tmp_path):
    patched(version, tmp_path, DEVICE, DEBUG)
    for path in tmp_path.rglob("*.py"):
        ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 7))

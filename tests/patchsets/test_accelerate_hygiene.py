"""accelerate-ddp-hygiene on the stand-ins, one of whose processes is the third of four; each part is there or left out."""

import os
import subprocess
import sys

import pytest

from tests.command import Site

pytestmark = pytest.mark.once

NAME = "accelerate-ddp-hygiene"
OLD, NEW = "accelerate-0.25.0", "accelerate-1.15.0"
SEEDS = """
from accelerate.utils import set_seed
from accelerate.state import AcceleratorState
from accelerate import Accelerator, _torch
from accelerate.data_loader import SeedableRandomSampler
def shown():
    sampler = SeedableRandomSampler([])
    return _torch.random.initial_seed(), getattr(sampler, "initial_seed", getattr(sampler, "seed", None))
set_seed(5); print("early", *shown())
try: AcceleratorState()
except ValueError: pass
set_seed(5); print("after a failure", *shown())
accelerator = Accelerator()
set_seed(5); print("seeds", *shown())
_torch.manual_seed(9); print("by hand", *shown())
set_seed(5, device_specific=False); print("told not to", *shown())
set_seed(5, device_specific=True); print("told to", *shown())
accelerator.state.distributed_type = type(accelerator.state.distributed_type).FSDP
AcceleratorState.__init__ = lambda self: setattr(self, "process_index", 2)
set_seed(5); print("sharded", *shown())
"""
GENERATORS = """
from types import SimpleNamespace
from accelerate.utils import set_seed
from accelerate import Accelerator
from accelerate.data_loader import prepare_data_loader
Accelerator()
def shown(generator):
    return prepare_data_loader(SimpleNamespace(generator=generator), ["torch"])[1]
print(*shown("one"))
set_seed(5); print(*shown("one")); print(*shown(None))
set_seed(5, device_specific=False); print(*shown("one"))
"""
WAITS = """
from accelerate import Accelerator, _torch
accelerator = Accelerator()
accelerator.prepare([1, 2]); print("loader", accelerator.waited)
frozen = _torch.nn.Module(); frozen.weight.requires_grad = False
accelerator.prepare(frozen); print("frozen", accelerator.waited)
accelerator.prepare(_torch.nn.Module(), [1, 2]); print("model", accelerator.waited)
accelerator.save_state("."); print("save_state", accelerator.waited)
accelerator.project_configuration.automatic_checkpoint_naming = True
accelerator.save_state("."); print("named by accelerate", accelerator.waited)
"""


class Accelerate:
    def __init__(self, folder, fixture):
        self.folder = folder
        self.site = Site(folder, fixture)

    def apply(self, **options):
        words = []
        for name, value in options.items():
            words += ["--set", f"{name}={value}"]
        ended = self.site("apply", NAME, *words)
        assert ended.code == 0, ended

    def python(self, *arguments, **more):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("ACCELERATE")}
        command = [sys.executable, "-B", *arguments]
        completed = subprocess.run(
            command,
            env={**kept, "PYTHONPATH": str(self.site.path), **more},
            cwd=str(self.folder),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert completed.returncode == 0, completed.stdout
        return completed.stdout.splitlines()

    def launch(self, *words, **more):
        return self.python("-m", "accelerate.commands.launch", *words, **more)


@pytest.fixture(params=[OLD, NEW])
def accelerate(request, tmp_path):
    return Accelerate(tmp_path, request.param)


UPSTREAM_SEEDS = [
    "early 5 5", "after a failure 5 5", "seeds 5 5", "by hand 9 9", "told not to 5 5", "told to 7 7", "sharded 5 5",
]  # fmt: skip


def test_seeds_differ_once_there_is_an_accelerator_and_samplers_do_not(accelerate):
    assert accelerate.python("-c", SEEDS) == UPSTREAM_SEEDS
    accelerate.apply()
    assert accelerate.python("-c", SEEDS) == UPSTREAM_SEEDS, "it is off unless it is asked for"
    accelerate.apply(seeds="true")
    assert accelerate.python("-c", SEEDS) == [
        "early 5 5", "after a failure 5 5", "seeds 7 5", "by hand 9 9", "told not to 5 5", "told to 7 5", "sharded 5 5",
    ]  # fmt: skip


def test_generators_are_synchronised_where_seeds_differ(accelerate):
    assert accelerate.python("-c", GENERATORS) == ["torch"] * 4
    accelerate.apply(seeds="true")
    assert accelerate.python("-c", GENERATORS) == ["torch", "torch generator", "torch", "torch"]


def test_it_waits_where_everyone_is_there_and_nowhere_else(accelerate):
    none = ["loader 0", "frozen 0", "model 0", "save_state 0", "named by accelerate 0"]
    assert accelerate.python("-c", WAITS) == none
    accelerate.apply()
    assert accelerate.python("-c", WAITS) == ["loader 0", "frozen 0", "model 2", "save_state 2", "named by accelerate 3"]
    accelerate.apply(prepare="false", save="false")
    assert accelerate.python("-c", WAITS) == none


def test_a_process_that_is_not_the_main_one_writes_only_its_own_file(accelerate):
    accelerate.apply()
    accelerate.python("-c", WAITS)
    assert (accelerate.folder / "random_states_2.pkl").exists()
    assert not (accelerate.folder / "scaler.pt").exists()
    accelerate.apply(save="false")
    accelerate.python("-c", WAITS)
    assert (accelerate.folder / "scaler.pt").exists()


LAUNCHES = [  # options, the processes that are started, what is said
    ("--multi_gpu --num_processes 4", 2, "4 processes are asked for on this machine, but it has 2 device(s): 2 are started."),
    ("--use_fsdp --num_processes 3", 2, "3 processes are asked for on this machine, but it has 2 device(s): 2 are started."),
    ("--multi_gpu --num_processes 4 --gpu_ids 0", 1, "4 processes are asked for on this machine, but it has 1 device(s): 1 are started."),
    ("--multi_gpu --num_processes 2", 2, None),
    ("--num_processes 4", 4, None),
    ("--multi_gpu --cpu --num_processes 4", 4, None),
    ("--multi_gpu --use_cpu --num_processes 4", 4, None),
    ("--multi_gpu --num_processes 4 --num_machines 2", 4, None),
    ("--multi_gpu --num_processes 8 --num_machines 2", 8, "4 processes are asked for on this machine, but it has 2 device(s)."),
]


def test_no_more_processes_than_devices_and_it_is_said_where_a_device_takes_one_alone(tmp_path):
    accelerate = Accelerate(tmp_path, OLD)
    accelerate.apply()
    for options, started, notice in LAUNCHES:
        expected = [f"processes: {started}"]
        if notice:
            expected.insert(0, notice)
        assert accelerate.launch(*options.split()) == expected, options
    words = ["--multi_gpu", "--num_processes", "4"]
    assert accelerate.launch(*words, ACCELERATE_USE_CPU="true") == ["processes: 4"]
    accelerate.apply(launch="false")
    assert accelerate.launch(*words) == ["processes: 4"]


def test_from_0_33_on_several_processes_may_share_a_device(tmp_path):
    accelerate = Accelerate(tmp_path, NEW)
    launch = accelerate.site.path / "accelerate" / "commands" / "launch.py"
    before = launch.read_bytes()
    accelerate.apply()
    assert launch.read_bytes() == before
    assert accelerate.launch("--multi_gpu", "--num_processes", "4") == ["processes: 4"]


def test_memory_is_freed_after_the_models_are_dropped(accelerate):
    code = """
import gc, weakref
from accelerate import Accelerator, _torch
gc.disable()
accelerator, model = Accelerator(), _torch.nn.Module()
model.itself, alive = [model], weakref.ref(model)
accelerator.prepare(model)
del model
accelerator.free_memory()
print(alive() is None)
"""
    old = (accelerate.site.path / "accelerate-0.25.0.dist-info").exists()
    assert accelerate.python("-c", code) == [str(old)]
    accelerate.apply()
    assert accelerate.python("-c", code) == ["True"]

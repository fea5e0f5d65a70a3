"""accelerate-ddp-hygiene: on the files of real releases, and on two ranks that the real `accelerate launch` starts.

`accelerate launch --cpu --num_processes 2` starts one process, in every release. Two on the CPU are started by --multi_gpu
with ACCELERATE_USE_CPU=true; every rank then reports DistributedType.MULTI_CPU and a world of two.
"""

import json
import shutil
import socket
import tempfile
from pathlib import Path

import pytest
from conftest import Environment, alone, linked, run, stream
from wheels import ALL, assert_compiles, files_of, install, sitepatch, slow

from patcher.patchset.places import builtin_dir

pytestmark = pytest.mark.real

NAME = "accelerate-ddp-hygiene"
OLDEST, NEWEST = "0.25.0", "1.15.0"
PATHS = [
    "accelerate/accelerator.py",
    "accelerate/checkpointing.py",
    "accelerate/commands/launch.py",
    "accelerate/data_loader.py",
    "accelerate/utils/random.py",
]
# How many releases each minor version has.
COUNTS = {
    "0.25": 1, "0.26": 2, "0.27": 3, "0.28": 1, "0.29": 4, "0.30": 2, "0.31": 1, "0.32": 2, "0.33": 1, "0.34": 3,
    "1.0": 2, "1.1": 2, "1.2": 2, "1.3": 1, "1.4": 1, "1.5": 3, "1.6": 1, "1.7": 1, "1.8": 2, "1.9": 1, "1.10": 2,
    "1.11": 1, "1.12": 1, "1.13": 1, "1.14": 1, "1.15": 1,
}  # fmt: skip
RELEASES = [f"{minor}.{patch}" for minor, count in COUNTS.items() for patch in range(count)]
QUICK = [OLDEST, "0.30.0", "0.34.0", "1.1.0", NEWEST]
ALL_OFF = ["--set", "prepare=false", "--set", "save=false", "--set", "memory=false", "--set", "launch=false"]


@pytest.mark.parametrize("version", RELEASES if ALL else QUICK)
def test_every_release_is_patched_once_and_restored_to_the_byte(real_cache, tmp_path, version):
    pristine = files_of(real_cache, "accelerate", version, PATHS)
    assert sorted(pristine) == PATHS
    install(tmp_path, "accelerate", version, pristine)
    number = tuple(map(int, version.split(".")))
    applicable, not_needed, unchanged = 12, 2, set()
    if number >= (0, 30):  # it began to collect before it drops
        applicable += 1
        not_needed -= 1
    if number >= (0, 33):  # it shares devices by itself
        applicable -= 2
        unchanged.add("accelerate/commands/launch.py")
    if number >= (0, 34):  # it came with the state of stateful data loaders
        applicable += 1
        not_needed -= 1
    out = sitepatch(tmp_path, "apply", NAME)
    assert (out.count("applicable"), out.count("not needed")) == (applicable, not_needed)

    patched = {path: (tmp_path / path).read_bytes() for path in PATHS}
    for path in PATHS:
        assert_compiles(path, pristine[path], patched[path])
        assert (patched[path] == pristine[path]) is (path in unchanged)
    sitepatch(tmp_path, "apply", NAME)
    assert {path: (tmp_path / path).read_bytes() for path in PATHS} == patched
    sitepatch(tmp_path, "restore", NAME)
    assert {path: (tmp_path / path).read_bytes() for path in PATHS} == pristine


def free_port():
    """A port that nobody uses; 0.25 does not understand a port of 0."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


class Ranks:
    """A throw-away environment with one accelerate, and what its two ranks report."""

    def __init__(self, environment, tmp_path):
        self.environment = environment
        self.tmp_path = tmp_path
        self.site = environment.site
        self.shares_devices = not (self.site / f"accelerate-{OLDEST}.dist-info").exists()  # since 0.33, by itself

    def files(self):
        return {path: (self.site / path).read_bytes() for path in PATHS}

    def accelerate(self, *arguments, **more):
        command = [self.environment.python, "-m", "accelerate.commands.accelerate_cli", *arguments]
        return run(command, cwd=self.tmp_path, HF_HOME=str(self.tmp_path), **more)

    def launcher(self, devices, *arguments, **more):
        return self.environment.script("accelerate_launch.py", devices, *arguments, HF_HOME=str(self.tmp_path), **more)

    def train(self, seconds, *words):
        """The reports of both ranks, by rank; one that is late on purpose waits so long for the other to go on."""
        folder = Path(tempfile.mkdtemp(dir=str(self.tmp_path)))
        script = Path(__file__).with_name("accelerate_script.py")
        launch = ["launch", "--multi_gpu", "--num_processes", "2", "--main_process_port", free_port(), script, folder, str(seconds), *words]
        ended = self.accelerate(*launch, ACCELERATE_USE_CPU="true", limit=600)
        assert ended.code == 0, ended
        reports = [json.loads((folder / f"rank-{rank}.json").read_text(encoding="utf-8")) for rank in (0, 1)]
        assert [report.pop("world") for report in reports] == [2, 2]
        return reports


@pytest.fixture(params=[OLDEST, NEWEST] if ALL else [NEWEST])
def ranks(request, kept_environment, real_cache, tmp_path, tell):
    """A copy, made of hard links, of an environment that is kept: the one with torch, and this accelerate added."""
    version = request.param
    kept = real_cache / f"{kept_environment.name}-accelerate-{version}"
    with alone(real_cache):
        if not (kept / "complete").exists():
            tell(f"adding accelerate {version} to a copy of the environment, in {kept}")
            shutil.rmtree(kept, ignore_errors=True)
            linked(kept_environment, kept)
            (kept / "complete").unlink()
            pip = [kept / "bin" / "python", "-m", "pip", "install", "--disable-pip-version-check"]
            stream([*pip, f"accelerate=={version}"], tell)
            (kept / "complete").touch()
    with tempfile.TemporaryDirectory(prefix="copy-", dir=str(real_cache)) as folder:
        copy = Path(folder) / "env"
        linked(kept, copy)
        yield Ranks(Environment(copy, tmp_path), tmp_path)


def each_once(reports, sampler):
    """For each epoch, whether the two ranks together drew every sample exactly once."""
    main, other = reports
    epochs = zip(main[sampler], other[sampler])
    return [sorted(by_main + by_other) == list(range(24)) for by_main, by_other in epochs]


def common(reports):
    """Whether what has to be the same everywhere is: a split, weights that DDP does not wrap, the order of a stream of data."""
    main, other = reports
    streams = sorted(main["streamed"] + other["streamed"]) == list(range(16))
    return [main["split"] == other["split"], main["frozen"] == other["frozen"], streams]


def main_alone_wrote(report, also=()):
    return report["checkpoint"]["written"] == sorted(["random_states_1.pkl", *also])


@slow
def test_two_ranks(ranks):
    pristine = ranks.files()
    main, other = stock = ranks.train(30)
    assert other["seeds"] == main["seeds"] == main["early"], "stock accelerate: one seed for all"
    assert each_once([main, other], "drawn told") == [False, False], "stock accelerate: device_specific=True loses samples"
    assert main["prepare"] == {"before": False, "after": False}, "stock accelerate: prepare waits for nobody"
    assert not other["checkpoint"]["whole"]
    old = "use_seedable_sampler" not in (ranks.site / PATHS[0]).read_text(encoding="utf-8")
    assert main["freed"] == other["freed"] == old, "0.30 began to collect too early"

    assert main_alone_wrote(other, also=["scaler.pt"] if old else ["dl_state_dict.bin", "scaler.pt"])
    assert common(stock) == [True, True, True]

    applied = ranks.environment.sitepatch("apply", NAME)
    assert applied.code == 0, applied
    main, other = reports = ranks.train(2, "load")
    assert other["seeds"] == main["seeds"] == main["early"], "as upstream: seeds are on demand"
    assert common(reports) == [True, True, True]
    assert main["prepare"] == other["prepare"] == {"before": True, "after": True}
    assert main_alone_wrote(other)
    assert {"by-all.bin", "optimizer.bin", "scaler.pt", "random_states_0.pkl"} <= set(main["checkpoint"]["written"])
    assert main["checkpoint"]["whole"]
    assert other["checkpoint"]["whole"]
    assert main["checkpoint"]["loaded"] == other["checkpoint"]["loaded"] == [None if old else 0, 2.0], "the states of the main process"
    assert main["alone"], "the main process saved by itself, and nobody waited for ever"
    assert main["freed"]
    assert other["freed"]

    applied = ranks.environment.sitepatch("apply", NAME, "--set", "seeds=true")
    assert applied.code == 0, applied
    main, other = reports = ranks.train(2)
    assert main["early"] == other["early"], "before there is an Accelerator, set_seed does what it did"
    assert main["seeds"] == main["early"]
    assert (main["seeds"][0], other["seeds"][0]) == (7, 8)
    assert all(one != another for one, another in zip(main["seeds"], other["seeds"]))
    assert common(reports) == [False, False, False], "what it costs"
    assert main["told not to"] == other["told not to"] == main["early"]
    assert main["split told not to"] == other["split told not to"]
    for sampler in ("drawn False", "drawn True", "drawn otherwise", "drawn told"):
        assert each_once(reports, sampler) == [True, True], sampler
        assert main[sampler][0] != main[sampler][1], "every epoch is drawn anew"

    if not old:
        applied = ranks.environment.sitepatch("apply", NAME, *ALL_OFF)
        assert applied.code == 0, applied
        assert ranks.train(30) == stock, "what is left out is as upstream has it"

    restored = ranks.environment.sitepatch("restore")
    assert restored.code == 0, restored
    assert ranks.files() == pristine


@slow
def test_one_process_on_the_cpu_trains_and_saves_as_before(ranks):
    ways = ["accelerate", "accelerate-amp"]
    before = ranks.environment.results(1, *ways)
    assert len(before) == len(ways)
    applied = ranks.environment.sitepatch("apply", NAME, "--set", "seeds=true")
    assert applied.code == 0, applied
    assert ranks.environment.results(1, *ways) == before


CONFIG = """\
compute_environment: LOCAL_MACHINE
distributed_type: MULTI_GPU
num_processes: 4
num_machines: 1
machine_rank: 0
gpu_ids: all
mixed_precision: 'no'
use_cpu: false
debug: false
"""


@slow
def test_no_more_processes_than_devices(ranks):
    config = ranks.tmp_path / "config.yaml"
    config.write_text(CONFIG)
    script = ranks.tmp_path / "hello.py"
    script.write_text("import os\nos.write(1, 'rank {RANK} of {WORLD_SIZE}\\n'.format(**os.environ).encode())\n")
    planned = f"--config_file {config}"
    assert "planned 4 for" in ranks.launcher(2, "planned", planned).out

    applied = ranks.environment.sitepatch("apply", NAME)
    assert applied.code == 0, applied
    if ranks.shares_devices:
        assert "planned 4 for" in ranks.launcher(2, "planned", planned).out, "accelerate's own business"
        return
    ended = ranks.launcher(2, "launch", "--config_file", config, "--main_process_port", free_port(), script)
    assert ended.code == 0, ended
    assert sorted(line for line in ended.out.splitlines() if line.startswith("rank")) == ["rank 0 of 2", "rank 1 of 2"]
    assert "4 processes are asked for on this machine, but it has 2 device(s): 2 are started." in ended.out

    planned = {
        "--multi_gpu --num_processes 2": 2,
        "--multi_gpu --num_processes 4 --gpu_ids 0": 1,
        "--cpu --num_processes 4": 4,
        "--multi_gpu --num_processes 8 --num_machines 2 --machine_rank 0": 8,
        "--multi_gpu --num_processes 4 --num_machines 2 --machine_rank 0": 4,
    }
    ended = ranks.launcher(2, "planned", *planned)
    for words, number in planned.items():
        assert f"planned {number} for {words}\n" in ended.out, ended
    assert ended.out.count("4 processes are asked for on this machine, but it has 2 device(s).") == 1, ended
    for devices, more in ((0, {}), (1, {"ACCELERATE_USE_CPU": "true"})):
        ended = ranks.launcher(devices, "planned", "--multi_gpu --num_processes 2", **more)
        assert "planned 2 for" in ended.out, ended


@slow
def test_the_probe_tells_a_cured_accelerate_from_another(ranks):
    probe = [ranks.environment.python, "-I", Path(builtin_dir()) / NAME / "probe.py"]
    ended = run(probe, cwd=ranks.tmp_path)
    assert ended.code == 1, ended
    last_part = "memory" if ranks.shares_devices else "launch"
    assert ended.out.startswith(f"not as it should be: seeds, prepare, save, {last_part}"), ended
    assert ranks.environment.sitepatch("apply", NAME).code == 0
    ended = run(probe, cwd=ranks.tmp_path)
    assert (ended.code, ended.out.endswith("; left out: seeds\n")) == (0, True), ended
    assert ranks.environment.sitepatch("apply", NAME, "--set", "seeds=true").code == 0
    ended = run(probe, cwd=ranks.tmp_path)
    assert (ended.code, ended.out.endswith("; left out: nothing\n")) == (0, True), ended

"""`sitepatch run --overlay` on the real MMEngine and torch, in a site directory that nobody may write."""

import os
import sys
from pathlib import Path

import pytest
from conftest import COMMAND_ROOT, fingerprint, run
from mmengine_ranks import (
    DEBUG,
    DEVICE,
    PLACES,
    REFUSAL,
    assert_passes_no_device_ids,
    assert_reported,
    assert_trained_alike,
    outcomes_of,
    reports_in,
)
from test_torch import assert_computes_and_warns, assert_raises
from wheels import slow

from tests.overlays import unwritable

pytestmark = pytest.mark.real


class Overlay:
    """`sitepatch run NAME... --overlay -- COMMAND` on an environment, with a cache that only the test has."""

    def __init__(self, environment):
        self.environment = environment
        self.cache = environment.cwd / "cache"
        script = environment.root / "bin" / "torchrun"  # its first line names the interpreter that it was installed for
        text = script.read_bytes().split(b"\n", 1)[1]
        script.unlink()  # a hard link: the kept environment must not change
        script.write_bytes(b"#!" + os.fsencode(environment.python) + b"\n" + text)
        script.chmod(0o755)
        self.torchrun = [script, "--nproc_per_node=2", "--standalone"]

    def __call__(self, *command, names, **more):
        words = [sys.executable, "-m", "patcher", "run", *names, "--overlay", "--python", self.environment.python, "--"]
        variables = {"PYTHONPATH": str(COMMAND_ROOT), "SITEPATCH_CACHE": str(self.cache), "CUDA_VISIBLE_DEVICES": "", **more}
        return run([*words, *command], cwd=self.environment.cwd, **variables)

    def script(self, name, *arguments, names, **more):
        return self(self.environment.python, Path(__file__).with_name(name), *arguments, names=names, **more)


@pytest.fixture
def overlay(environment):
    return Overlay(environment)


def listing(site):
    """Every name below a directory with its size, mtime and inode; what the patchsets are for by its content too."""
    stats = {}
    for path in site.rglob("*"):
        stat = path.lstat()
        stats[str(path)] = stat.st_size, stat.st_mtime_ns, stat.st_ino
    return stats, fingerprint(site, "mmengine"), fingerprint(site, "torch")


@slow
def test_two_ranks_of_torchrun_report_and_train_from_an_unwritable_mmengine(overlay):
    site = overlay.environment.site
    train = Path(__file__).with_name("ddp_train.py")
    before = listing(site)
    with unwritable(site):
        failing = overlay(*overlay.torchrun, train, "--group", *PLACES, names=[DEBUG])
        training = overlay(*overlay.torchrun, train, *PLACES, names=[DEBUG, DEVICE])
    assert listing(site) == before

    assert failing.code == 0, failing
    reports = reports_in(failing.out)
    assert len(reports) == 2 * len(PLACES)
    outcomes = outcomes_of(failing)
    for way, place in PLACES.items():
        for rank in (0, 1):
            assert outcomes[way, rank] == REFUSAL.format(rank=rank)
            assert_reported(reports[place, rank], rank, failing.out, f"failed {way} {rank} ")

    assert training.code == 0, training
    assert_trained_alike(outcomes_of(training))
    assert_passes_no_device_ids(reports_in(training.out), 2)

    silent = overlay.environment.ranks(2, "ddp_train.py", "--group", *PLACES, CUDA_VISIBLE_DEVICES="")
    assert not reports_in(silent.out), "without the overlay nothing is patched"


@slow
def test_processes_of_multiprocessing_see_the_patched_source(overlay):
    site = overlay.environment.site
    before = listing(site)
    with unwritable(site):
        for method in ("spawn", "forkserver", "fork"):
            ended = overlay.script("overlay_processes.py", method, names=[DEBUG])
            assert ended.code == 0, ended
            assert f"{method} [(3, True, True)]" in ended.out
    assert listing(site) == before


@slow
def test_a_failing_backend_of_torch_compile_falls_back(overlay):
    site = overlay.environment.site
    before = listing(site)
    names = ["torch-dynamo-suppress"]
    with unwritable(site):
        assert_computes_and_warns(overlay.script("compile_script.py", names=names))
        assert_raises(overlay.script("compile_script.py", names=names, TORCHDYNAMO_SUPPRESS_ERRORS="0"))
        assert_raises(overlay.script("compile_script.py", "fullgraph", names=names))
    assert listing(site) == before
    assert_raises(overlay.environment.script("compile_script.py"))


def test_the_workers_of_a_data_loader_run_the_patched_reductions(overlay):
    overlay.environment.add_vendors_branch()
    with unwritable(overlay.environment.site):
        ran = overlay.script("loader_script.py", names=["torch-musa-guard"])
        assert ran.code == 0, ran
        assert "total 28.0" in ran.out
        refused = overlay.script("loader_script.py", "musa", names=["torch-musa-guard"])
        assert "refused: cannot send a MUSA storage" in refused.out

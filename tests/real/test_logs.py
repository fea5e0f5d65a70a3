"""`sitepatch diagnose` on whole logs of several releases of MMEngine, made here: on the CPU and on stand-in cards."""

import shutil
import sys

import pytest
from cards import lay_card
from conftest import MMENGINE, run
from diagnoses import diagnose

pytestmark = pytest.mark.real

RELEASES = ["0.7.4", "0.10.2", MMENGINE]
NO_MUSA = "MUSA available: False"
CURES = {
    "": "sitepatch apply mmengine-ddp-device",
    "gcu": "sitepatch apply mmengine-device --set mmengine-device.device=gcu",
    "xyz": "sitepatch apply mmengine-device --set mmengine-device.device=xyz",
}


@pytest.fixture(scope="module")
def release(real_cache):
    """The directory of a release of MMEngine, fetched once; none for the one of the environment."""

    def folder(version):
        if version == MMENGINE:
            return []
        path = real_cache / f"mmengine-{version}"
        if not (path / "mmengine").is_dir():
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", path]
            fetched = run([*pip, f"mmengine=={version}"], cwd=real_cache)
            assert fetched.code == 0, fetched
        return [path]

    return folder


def logged(environment, folders):
    """The whole log of a rank, which DDP refuses in the end."""
    ended = environment.ranks(1, "log_script.py", *folders, CUDA_VISIBLE_DEVICES="")
    assert "DistributedDataParallel device_ids and output_device arguments only work with" in ended.out, ended
    return ended.out


@pytest.mark.parametrize("kind", CURES)
def test_the_card_that_is_installed_decides_the_cure_whatever_the_log_mentions(environment, release, kind):
    if kind:
        lay_card(environment, kind)
    for version in RELEASES:
        log = logged(environment, release(version))
        assert f"mmengine {version}\n" in log and (NO_MUSA in log) == (version == MMENGINE)
        answer, code = diagnose(log, "--python", str(environment.python))
        (finding,) = [each for each in answer["findings"] if each["patchset"]]
        assert (code, finding["fit"]) == (1, "applicable"), answer
        assert answer["cure"] == f"{CURES[kind]} --python {environment.python}", (version, answer)


def test_a_card_that_nobody_has_heard_of_is_a_problem_for_doctor(environment):
    lay_card(environment, "xyz")
    examined = environment.sitepatch("doctor")
    assert "torch_xyz is installed, and get_device() of MMEngine 0.10.7 does not know xyz: models go to the CPU" in examined.out
    for part in environment.site.glob("torch_xyz*"):
        shutil.rmtree(part)
    assert "does not know" not in environment.sitepatch("doctor").out

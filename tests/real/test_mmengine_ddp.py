"""mmengine-ddp-debug on the real MMEngine, two ranks started by torchrun."""

import json
import re

import pytest
from conftest import fingerprint

pytestmark = pytest.mark.real

REFUSAL = r"\[rank%d\]: ValueError: DistributedDataParallel device_ids and output_device arguments only work with "
WARNING = "WARNING: parameters are still on the CPU though device_ids name a device"
PLACES = {
    "direct": "Runner.wrap_model",
    "config": "Runner.wrap_model (model_wrapper_cfg)",
    "flexible": "DDPStrategy._wrap_model",
}


def assert_refused(ended):
    """A rank that fails makes torchrun end the other; so at least one of them tells, and none gets through."""
    assert ended.code == 1, ended
    assert any(re.search(REFUSAL % rank, ended.out) for rank in (0, 1)), ended
    assert "weights" not in ended.out, ended


def reports(ended):
    found = [json.loads(line.partition(" ")[2]) for line in ended.out.splitlines() if line.startswith("sitepatch-ddp ")]
    return {report["rank"]: report for report in found}


def assert_reported(ended, place):
    found = reports(ended)
    assert sorted(found) == [0, 1], ended
    for rank, report in found.items():
        assert report["site"] == place
        assert report["env"] == {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2"}
        assert report["device_ids"] == [rank]
        assert report["parameters"] == {"total": 6, "devices": {"cpu": 6}, "complete": True}
        assert report["buffers"] == {"total": 3, "devices": {"cpu": 3}, "complete": True}
        assert report["current"]["cuda"] is None
        assert report["verdict"] == "cpu-with-device-ids"
        lines = [line for line in ended.out.splitlines() if line.startswith(f"[rank {rank}] ")]
        text = "\n".join(lines)
        assert "hidden.weight device=cpu dtype=torch.float32 shape=[4, 2]" in text
        assert "out.weight" in text
        assert "out.bias" not in text, "only five are listed"
        assert "not listed: 1" in text
        assert WARNING in lines[-1]
        refusal = re.search(REFUSAL % rank, ended.out)
        assert refusal is None or ended.out.index(lines[-1]) < refusal.start()


def test_two_ranks_tell_why_ddp_refuses_and_restore_takes_it_back(environment):
    pristine = fingerprint(environment.site, "mmengine")
    before = environment.two_ranks("ddp_train.py", "direct")
    assert_refused(before)
    assert "mmengine-ddp-debug" not in before.out and "sitepatch-ddp {" not in before.out

    applied = environment.sitepatch("apply", "mmengine-ddp-debug")
    assert applied.code == 0, applied
    patched = fingerprint(environment.site, "mmengine")
    assert all(patched[path][0] != pristine[path][0] for path in pristine)
    assert all(patched[path][1] == pristine[path][1] for path in pristine), "the mode is kept"
    during = environment.two_ranks("ddp_train.py", "direct")
    assert_refused(during)
    assert_reported(during, PLACES["direct"])

    again = environment.sitepatch("apply", "mmengine-ddp-debug")
    assert again.code == 0, again
    assert fingerprint(environment.site, "mmengine") == patched

    restored = environment.sitepatch("restore")
    assert restored.code == 0, restored
    assert fingerprint(environment.site, "mmengine") == pristine
    after = environment.two_ranks("ddp_train.py", "direct")
    assert_refused(after)
    assert "mmengine-ddp-debug" not in after.out and "sitepatch-ddp {" not in after.out


def test_the_other_two_places_report_too(environment):
    applied = environment.sitepatch("apply", "mmengine-ddp-debug")
    assert applied.code == 0, applied
    for way in ("config", "flexible"):
        ended = environment.two_ranks("ddp_train.py", way)
        assert_refused(ended)
        assert_reported(ended, PLACES[way])


def test_the_numbers_of_a_training_are_left_alone(environment):
    """Both ranks train with device_ids=None: same weights to the last bit, same state of the random generator."""
    pattern = re.compile(r"^weights .*$", re.MULTILINE)
    before = environment.two_ranks("ddp_train.py", "config-none")
    assert before.code == 0, before
    applied = environment.sitepatch("apply", "mmengine-ddp-debug", "--set", "mmengine-ddp-debug.lang=zh")
    assert applied.code == 0, applied
    during = environment.two_ranks("ddp_train.py", "config-none")
    assert during.code == 0, during
    assert len(pattern.findall(before.out)) == 2, before
    assert sorted(pattern.findall(during.out)) == sorted(pattern.findall(before.out))
    assert {report["verdict"] for report in reports(during).values()} == {"ready"}
    assert "[rank 0] 就绪" in during.out

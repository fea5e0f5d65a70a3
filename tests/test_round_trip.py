"""A patchset is applied, shown and restored: the real command on a real directory, on every interpreter."""

import json
import subprocess
import sys

import pytest

from tests.command import CHANGED, DDP, DDP_VERSION, Site, changed, environ
from tests.patchsets.ddp import warnings


def test_what_is_applied_can_be_seen_and_restored_to_the_byte_the_mode_and_the_mtime(site):
    before = site.tree()
    ahead = site("diff", DDP)
    assert (ahead.code, site.tree()) == (0, before)

    ended = site("apply", DDP)
    assert ended.code == 0, ended
    assert changed(before, site.tree()) == CHANGED
    assert f"applied  {DDP}: 3 files in {site.path}" in ended.out
    assert f"sitepatch restore {DDP} --target {site.path}" in ended.out
    assert "running processes keep the old code" in ended.err

    assert site("diff").data == ahead.data == site("diff", DDP).data
    told = site("status")
    assert told.code == site("status", "--check").code == 0
    assert [line.split()[:7] for line in told.out.splitlines()] == [["applied", DDP, DDP_VERSION, "mmengine", "0.10.7", "3", "files"]]
    assert len(site("status", "-v").out.splitlines()) == 4, "with -v also a line for each file"

    back = site("restore")
    assert back.code == 0, back
    assert site.tree() == before
    assert site("status").out == f"nothing is applied in {site.path}\n"


@pytest.mark.parametrize("name", ["mmengine-0.1.0", "mmengine-0.7.4", "mmengine-0.10.7"])
def test_every_release_is_patched_and_runs_and_comes_back(tmp_path, name):
    site = Site(tmp_path, name)
    before = site.tree()
    assert site("apply", DDP).code == 0
    code = "from mmengine.model import BaseModel\nfrom mmengine.runner import Runner\n"
    code += "Runner().wrap_model(None, BaseModel())"
    env = environ(PYTHONPATH=str(site.path), LOCAL_RANK="1", PYTHONDONTWRITEBYTECODE="1")
    command = [sys.executable, "-S", "-c", code]
    ran = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout.decode()
    (line,) = [line for line in ran.splitlines() if line.startswith("sitepatch-ddp ") and '"event"' not in line]
    assert warnings(json.loads(line.partition(" ")[2])) == ["cpu-with-device-ids"]
    assert ran.splitlines()[-1] == "ValueError: device_ids [1] given for a module on the CPU"
    assert site("restore", DDP).code == 0
    assert site.tree() == before


def test_applying_again_says_so_and_writes_nothing(site):
    assert site("apply", DDP).code == 0
    between = site.tree()
    again = site("apply", DDP)
    assert again.code == 0
    assert f"{DDP}: nothing to do, it is applied already" in again.out
    assert site.tree() == between

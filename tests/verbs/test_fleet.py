"""Many hosts: the report of a fleet, and what the Ansible collection makes of an answer; `python -m tools.fleet` runs the real thing."""

import importlib.util
import json
import platform
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest

import patcher
from tests.command import ROOT, Site, done, environ, sitepatch
from tests.verbs.test_golden import GOLDEN

pytestmark = pytest.mark.once
COLLECTION = ROOT / "ansible_collections/sitepatch/sitepatch"


def report(folder, *words):
    return sitepatch("status", "--fleet", "fleet", *words, cwd=folder)


@pytest.fixture
def folder(tmp_path):
    """A directory whose `fleet` has six hosts as the golden file of `status` has them: five alike, one outdated."""
    (tmp_path / "fleet").mkdir()
    answers = [each["stdout"] for each in json.loads((GOLDEN / "status.json").read_text()) if each["command"].startswith("sitepatch status")]
    for number in range(6):
        (tmp_path / f"fleet/n{number}.json").write_text(json.dumps(answers[2 if number == 3 else 1]))
    return tmp_path


def test_hosts_that_are_alike_are_one_line_and_what_is_astray_is_reported(folder):
    ended = done(report(folder), 1)
    same, other = ended.out.splitlines()[0], ended.out.splitlines()[1:]
    assert re.sub(" +", " ", same) == "applied 5 hosts: n0, n1, n2, 2 more two 1.0 lang=en value=2, other 1.0 demo 1.0"
    assert other[0].startswith("outdated  1 host: n3") and "differs from the one that is applied" in other[1]
    assert "n0, n1, n2, n4, n5" in report(folder, "-v").out


def test_an_answer_of_the_module_is_read_as_one_of_the_command(folder):
    text = (folder / "fleet/n1.json").read_text()
    (folder / "fleet/n2.json").write_text(json.dumps({"changed": False, "answer": json.loads(text)}))
    assert done(report(folder), 1).out.startswith("applied   5 hosts: ")
    (folder / "fleet/n3.json").write_text(text)
    assert done(report(folder)).out.startswith("applied  6 hosts: ")


def test_a_lock_belongs_to_a_fleet(folder):
    assert "--lock: found no --fleet" in done(sitepatch("status", "--lock", "x", cwd=folder), 2).err


def test_a_host_that_has_no_answer_is_unknown(folder):
    for number, text in enumerate(("", "[]", "{}", '{"error": 1}', '{"patchsets": 1, "files": [], "interrupted": [], "damaged": []}')):
        (folder / f"fleet/n{number}.json").write_text(text)
    error = {"error": {"message": "found no Python", "hint": "install it"}}
    (folder / "fleet/n5.json").write_text(json.dumps({"schema": 1, "ok": False, **error}))
    found = done(report(folder), 1).out
    assert "n4.json is no answer of sitepatch status --json: patchsets: found 1, expected a list" in " ".join(found.split())
    assert found.count("is no answer of sitepatch status --json") == 8, "each problem of a file is told, and n2.json has four"
    assert "found no Python" in found and "install it" in found


def test_a_host_that_the_last_play_did_not_come_to_is_unknown(folder):
    text = json.loads((folder / "fleet/n1.json").read_text())
    for name, reported in (("n1", "2026-01-02T00:00:01"), ("n2", "2026-01-01T23:59:59")):
        (folder / f"fleet/{name}.json").write_text(json.dumps({**text, "reported": reported}))
    (folder / "fleet/play").write_text(json.dumps({"begun": "2026-01-02T00:00:00", "hosts": ["n1", "n2", "n4", "never"]}))
    hosts = {host["host"]: host for host in json.loads(done(report(folder, "--json"), 1).out)["hosts"]}
    assert [name for name, host in hosts.items() if host["state"] == "unknown"] == ["n2", "n4", "never"]
    assert "the last play did not come to this host" in hosts["never"]["problems"][0]
    assert (hosts["n1"]["state"], hosts["n5"]["state"], list(hosts)) == ("applied", "applied", sorted(hosts))
    (folder / "fleet/play").write_text('{"begun": 1, "hosts": "n1"}')
    refused = done(report(folder), 1).err
    assert "begun: found 1, expected a string" in refused and 'hosts: found "n1", expected a list of strings' in refused


# the collection --------------------------------------------------------------------------------------------------------
def collection():
    """The module that maps answers: it imports nothing of Ansible."""
    spec = importlib.util.spec_from_file_location("command", COLLECTION / "plugins/module_utils/command.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_host_differs_from_a_lock_where_it_has_not_what_the_lock_needs(folder):
    lock = folder / "sitepatch.lock"
    head = "format = 1\n" + '[[patchset]]\nname = "absent"\nversion = "1"\nsha256 = "' + "0" * 64 + '"\noptions = {}\n'
    for text, needed in ((head, True), (head + "optional = true\n", False)):
        lock.write_text(text)
        found = done(report(folder, "--lock", "sitepatch.lock", "-v"), 1).out
        assert ("absent is in the lock, and not applied" in found) == needed
        assert "two is applied, and not in the lock" in found


def test_every_answer_that_is_not_as_asked_for_gives_the_module_a_message():
    problem, seen = collection().problem, 0
    for path in sorted(GOLDEN.glob("*.json")):
        for record in json.loads(path.read_text()):
            answer = record.get("stdout")
            if isinstance(answer, dict) and answer["command"] in ("apply", "restore", "sync"):
                assert bool(problem(answer)) == (record["exit code"] != 0), (path.name, record["command"])
                seen += 1
    assert seen > 30
    (broken,) = (each["stdout"] for each in json.loads((GOLDEN / "apply-breaks.json").read_text())[:1])
    assert problem(broken) == "import demo.n failed: RuntimeError: as asked\nverification failed: nothing was written"


def test_the_collection_has_the_version_of_sitepatch():
    assert f"\nversion: {patcher.__version__}\n" in (COLLECTION / "galaxy.yml").read_text()


def test_a_host_without_sitepatch_is_told_what_is_needed_there(tmp_path, monkeypatch):
    said = []
    given = {"sitepatch": None, "python": str(tmp_path)}
    module = SimpleNamespace(params=given, get_bin_path=lambda name: None, fail_json=lambda msg: said.append(msg))
    (tmp_path / "sitepatch").mkdir()  # no command
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    collection()._command(module)
    needs = f"It needs Python 3.8 or newer;\nthe one that runs this module is {platform.python_version()}, /nowhere/python."
    assert said[0].startswith("found no command sitepatch on this host, expected it beside the Python") and needs in said[0]


def test_the_module_runs_as_ansible_runs_it(tmp_path):
    pytest.importorskip("ansible.module_utils.basic", reason="pip install ansible-core")
    site = Site(tmp_path, "mmengine-0.10.7")
    command = tmp_path / "sitepatch"
    command.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m patcher "$@"\n')
    command.chmod(0o755)

    def run(**params):
        params = {"target": str(site.path), "sitepatch": str(command), "verify": "none", "name": "mmengine-ddp-debug", **params}
        words = [sys.executable, "-m", "ansible_collections.sitepatch.sitepatch.plugins.modules.patchset"]
        given = json.dumps({"ANSIBLE_MODULE_ARGS": params}).encode()
        return json.loads(subprocess.run(words, input=given, cwd=str(tmp_path), env=environ(), capture_output=True).stdout)

    before = site.tree()
    planned = run(options={"params": 5}, _ansible_check_mode=True)
    assert planned["changed"] and planned["diff"]["prepared"].startswith("--- a/mmengine/") and site.tree() == before
    assert run(options={"params": 5})["changed"] and not run(options={"params": 5})["changed"]
    assert run(state="absent")["changed"] and site.file().read_bytes() and not run(state="absent")["changed"]
    assert "found no command sitepatch on this host" in run(sitepatch="/nowhere")["msg"] and "known" in run(name="nonsense")["msg"]

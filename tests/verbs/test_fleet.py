"""Many hosts: how the Ansible collection reads answers, and the playbooks of the documentation under real ansible-core."""

import importlib.util
import json
import platform
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest

import patcher
from tests.command import DDP, DDP_VERSION, ROOT, Site, environ
from tests.verbs.golden import GOLDEN

pytestmark = pytest.mark.once
COLLECTION = ROOT / "ansible_collections/sitepatch/sitepatch"
COMMAND = "plugins/module_utils/command.py"


def plugin(path):
    """A module of the collection that imports nothing of Ansible."""
    spec = importlib.util.spec_from_file_location("plugin", COLLECTION / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_answer_that_is_not_as_requested_gives_the_module_a_message():
    problem, seen = plugin(COMMAND).problem, 0
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
    messages = []
    params = {"sitepatch": None, "python": str(tmp_path)}
    module = SimpleNamespace(params=params, get_bin_path=lambda name: None, fail_json=lambda msg: messages.append(msg))
    (tmp_path / "sitepatch").mkdir()  # no command
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    plugin(COMMAND)._command(module)  # ansible calls the module as a whole, which needs ansible
    needs = f"It needs Python 3.8 or newer;\nthe one that runs this module is {platform.python_version()}, /nowhere/python."
    assert messages[0].startswith("found no command sitepatch on this host, expected it beside the Python") and needs in messages[0]


def test_the_module_runs_as_ansible_runs_it(tmp_path):
    pytest.importorskip("ansible.module_utils.basic", reason="pip install ansible-core")
    site = Site(tmp_path, "mmengine-0.10.7")
    command = tmp_path / "sitepatch"
    command.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m patcher "$@"\n')
    command.chmod(0o755)

    def run(**params):
        params = {"target": str(site.path), "sitepatch": str(command), "verify": "none", "name": "mmengine-ddp-debug", **params}
        words = [sys.executable, "-m", "ansible_collections.sitepatch.sitepatch.plugins.modules.patchset"]
        data = json.dumps({"ANSIBLE_MODULE_ARGS": params}).encode()
        return json.loads(subprocess.run(words, input=data, cwd=str(tmp_path), env=environ(), capture_output=True).stdout)

    before = site.tree()
    planned = run(options={"params": 5}, _ansible_check_mode=True)
    assert planned["changed"] and planned["diff"]["prepared"].startswith("--- a/mmengine/") and site.tree() == before
    assert run(options={"params": 5})["changed"] and not run(options={"params": 5})["changed"]
    assert run(state="absent")["changed"] and site.file().read_bytes() and not run(state="absent")["changed"]
    assert "found no command sitepatch on this host" in run(sitepatch="/nowhere")["msg"] and "known" in run(name="nonsense")["msg"]


# the table of hosts ---------------------------------------------------------------------------------------------------
def answers():
    """The output of `status --json` where two patchsets are applied, and where one of them is outdated."""
    records = json.loads((GOLDEN / "status.json").read_text())
    applied, outdated = [each["stdout"] for each in records if each["command"].startswith("sitepatch status")][1:3]
    return applied, outdated


def test_hosts_that_are_alike_are_one_line_and_what_is_wrong_stands_below_it():
    applied, outdated = answers()
    nothing = {**applied, "patchsets": [], "files": []}
    results = [{"answer": answer} for answer in (applied, applied, outdated, applied, nothing)]
    lines = plugin("plugins/filter/table.py").table(results, ["n1", "n2", "n3", "n4", "n5"])
    assert lines[0] == "applied  3 hosts: n1, n2, n4  two 1.0 lang=en value=2, other 1.0  demo 1.0"
    assert lines[1].startswith("outdated  1 host: n3  ") and lines[2].startswith("    two: ")
    assert lines[-1] == "nothing  1 host: n5"


def test_a_host_without_an_answer_is_unknown_and_says_why():
    refused = {"failed": True, "msg": "x", "answer": {"ok": False, "error": {"message": "found no Python", "hint": "install it"}}}
    damaged = {"answer": {**answers()[0], "damaged": [{"problem": "a receipt is damaged", "hint": ""}]}}
    results = [{"unreachable": True, "msg": "no route\nto it"}, refused, {"failed": True}, damaged]
    lines = plugin("plugins/filter/table.py").table(results, ["n1", "n2", "n3", "n4"])
    assert lines[:2] == ["unknown  1 host: n1", "    no route"] and "    found no Python" in lines and "    no answer" in lines
    assert lines[-2].startswith("damaged  1 host: n4  two 1.0") and lines[-1] == "    a receipt is damaged"


# the playbooks of the documentation -----------------------------------------------------------------------------------
def page_file(name):
    """A playbook of docs/howto/machines.md, where each host has a directory of packages in place of /opt/train."""
    page = (ROOT / "docs/howto/machines.md").read_text(encoding="utf-8")
    text = re.search(f"^`{name}`:\n\n```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[1]
    packages = r'\1\2target: "{{ packages }}"' + "\n" + r'\1\2sitepatch: "{{ tool }}"'
    text = re.sub(r"^( *)(fleet_)?python: /opt/train$", packages, text, flags=re.MULTILINE)
    return text.replace("/srv/project", '"{{ playbook_dir }}/project"')


@pytest.fixture
def hosts(tmp_path):
    """Runs a playbook on three hosts, each with a directory of packages, the last one without a command."""
    pytest.importorskip("ansible", reason="pip install ansible-core")
    command = tmp_path / "sitepatch"
    command.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m patcher "$@"\n')
    command.chmod(0o755)
    (tmp_path / "project").mkdir()
    lines = ["[trainers]"]
    sites = {}
    for name, tool in (("n1", command), ("n2", command), ("n3", "/nowhere")):
        (tmp_path / name).mkdir()
        sites[name] = Site(tmp_path / name, "mmengine-0.10.7")
        lines.append(f"{name} packages={sites[name].path} tool={tool}")
    lines += ["[trainers:vars]", "ansible_connection=local", f"ansible_python_interpreter={sys.executable}"]
    (tmp_path / "hosts").write_text("\n".join(lines) + "\n")
    home = {"ANSIBLE_COLLECTIONS_PATH": str(ROOT), "ANSIBLE_HOME": str(tmp_path / "ansible"), "LC_ALL": "C.UTF-8"}

    def run(playbook, *words):
        (tmp_path / "play.yml").write_text(page_file(playbook))
        ansible = [sys.executable, "-m", "ansible", "playbook", "-i", "hosts", "play.yml", *words]
        ended = subprocess.run(ansible, cwd=str(tmp_path), env=environ(**home), capture_output=True, text=True)
        return ended.returncode, ended.stdout + ended.stderr

    return SimpleNamespace(run=run, sites=sites, folder=tmp_path)


def test_the_role_applies_what_the_project_pins_and_the_table_shows_all_hosts(hosts):
    project = hosts.folder / "project/pyproject.toml"
    project.write_text(f'[tool.sitepatch]\npatchsets = ["{DDP}==0.1"]\n')
    before = hosts.sites["n1"].tree()
    code, out = hosts.run("play.yml", "--limit", "n1,n2")
    assert code != 0 and f"{DDP}: found version {DDP_VERSION} (built in), expected {DDP}==0.1" in out
    assert hosts.sites["n1"].tree() == before
    project.write_text(f'[tool.sitepatch]\npatchsets = ["{DDP}=={DDP_VERSION} params=7"]\n')
    code, out = hosts.run("play.yml", "--limit", "n1,n2", "--check", "--diff")
    assert code == 0 and "+++ b/mmengine/" in out and hosts.sites["n1"].tree() == before
    code, out = hosts.run("play.yml", "--limit", "n1,n2")
    assert code == 0 and hosts.sites["n1"].tree() != before
    code, out = hosts.run("table.yml")
    assert code == 0
    assert f'"applied  2 hosts: n1, n2  {DDP} {DDP_VERSION} params=7  mmengine 0.10.7"' in out
    assert '"unknown  1 host: n3"' in out and "found no command sitepatch on this host" in out

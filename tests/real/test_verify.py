"""Verifying with the real torch and mmengine: what imports stays, what does not is taken back, and nothing is left behind."""

import json
import shutil
from pathlib import Path

import pytest
from conftest import fingerprint
from wheels import slow

from patcher.patchset.places import builtin_dir

pytestmark = pytest.mark.real

DDP, DYNAMO = "mmengine-ddp-debug", "torch-dynamo-suppress"
IMPORTS = {DDP: "mmengine.runner.runner", DYNAMO: "torch._dynamo.config"}


@pytest.fixture
def patches(tmp_path):
    """Copies of two built-in patchsets that surely name a module to import."""
    for name, module in IMPORTS.items():
        folder = tmp_path / "patches" / name
        shutil.copytree(str(Path(builtin_dir()) / name), str(folder))
        manifest = folder / "patchset.toml"
        text = manifest.read_text(encoding="utf-8").partition("[verify]")[0]
        manifest.write_text(f'{text}\n[verify]\nimports = ["{module}"]\n', encoding="utf-8")
    return tmp_path / "patches"


def names(environment):
    return {path for path in environment.site.rglob("*") if ".sitepatch" not in path.parts}


@slow
def test_two_patchsets_are_imported_with_the_real_torch_and_leave_no_file_behind(environment, patches):
    before = names(environment)
    pristine = fingerprint(environment.site, "mmengine"), fingerprint(environment.site, "torch")
    applied = environment.sitepatch("apply", DDP, DYNAMO, "--patch-dir", patches)
    assert applied.code == 0, applied
    assert "verified  8 files compiled in " in applied.out and ", 2 modules imported in " in applied.out
    stale = {path for path in before - names(environment) if path.suffix != ".pyc"}
    assert (stale, names(environment) - before) == (set(), set()), "only the bytecode of the old files is gone"
    verified = environment.sitepatch("status", "--verify", "import", "--json")
    assert verified.code == 0, verified
    checks = json.loads(verified.out)["verified"]["checks"]
    assert {check["name"] for check in checks if check["what"] == "import"} == set(IMPORTS.values())
    assert {check["state"] for check in checks} == {"ok"}
    assert environment.sitepatch("restore").code == 0
    assert (fingerprint(environment.site, "mmengine"), fingerprint(environment.site, "torch")) == pristine


def test_one_that_breaks_the_real_mmengine_takes_both_back(environment, patches):
    spatch = patches / DDP / "ddp_debug.spatch"
    (patches / DDP / "bad.spatch").write_text("Bad.\n\n--- mmengine/model/wrappers/utils.py\n@@ <module> @@\n ...\n+raise RuntimeError('boom')\n")
    manifest = patches / DDP / "patchset.toml"
    manifest.write_text(manifest.read_text(encoding="utf-8").replace(f'["{spatch.name}"]', f'["{spatch.name}", "bad.spatch"]'), encoding="utf-8")
    pristine = fingerprint(environment.site, "mmengine"), fingerprint(environment.site, "torch")
    applied = environment.sitepatch("apply", DDP, DYNAMO, "--patch-dir", patches)
    assert applied.code == 1, applied
    assert f"failed  import {IMPORTS[DDP]}: RuntimeError: boom" in applied.out
    assert "9 files as before" in applied.out
    assert (fingerprint(environment.site, "mmengine"), fingerprint(environment.site, "torch")) == pristine
    assert not (environment.site / ".sitepatch").exists()

"""`report --cyclonedx`: what is applied is in a document that is valid by the strict schema of CycloneDX, and is always the same."""

import json
import os
import subprocess

import pytest

from patcher.ops.place import Place
from patcher.ops.reports.bill import bill, document
from tests.command import DDP, DDP_VERSION, GUARD, Site, done, environ, sitepatch

pytest.importorskip("cyclonedx", reason="pip install sitepatch[test]")
pytestmark = pytest.mark.once


def made(site):
    """What is applied, and the document of it, which is valid."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    found = bill(Place(target=str(site.path)))
    data = document(found)
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(data.decode()) is None
    return found, data


@pytest.fixture
def site(tmp_path):
    site = Site(tmp_path, "mmengine-0.10.7", "torch-2.7.1-musa")
    folder = site.source(GUARD)
    text = (folder / "patchset.toml").read_text()
    (folder / "patchset.toml").write_text(text.replace("[provenance]", '[provenance]\nbug = "https://example.org/bug/1"'))
    return site


def test_what_is_applied_is_a_valid_document_whose_patches_can_be_applied(site, tmp_path):
    assert made(site)[0].components == (), "nothing is applied, and that is valid too"
    done(site("apply", DDP, GUARD, "--no-verify", "--set", f"{DDP}.params=7"))
    components = json.loads(made(site)[1])["components"]
    assert [each["purl"] for each in components] == ["pkg:pypi/mmengine@0.10.7", "pkg:pypi/torch@2.7.1"]
    (debug,), (guard,) = (each["pedigree"]["patches"] for each in components)
    assert f"\nX-Sitepatch: {DDP} {DDP_VERSION} lang=en params=7\n" in debug["diff"]["text"]["content"]
    assert guard["diff"]["text"]["content"].startswith("Description: Let reduce_storage ")
    assert guard["resolves"][0]["references"] == ["https://example.org/bug/1"]
    assert debug["type"] == guard["type"] == "unofficial" and "resolves" not in debug
    texts = {path: site.file(path).read_bytes() for path in ("mmengine/runner/runner.py", "torch/multiprocessing/reductions.py")}
    done(site("restore"))
    for one in (debug, guard):
        subprocess.run(["patch", "-p1", "-s"], input=one["diff"]["text"]["content"].encode(), cwd=str(site.path), check=True)
    assert {path: site.file(path).read_bytes() for path in texts} == texts


def test_the_same_patches_make_the_same_bytes_and_the_date_is_that_of_the_source(site, monkeypatch):
    done(site("apply", DDP, GUARD, "--no-verify"))
    first = made(site)[1]
    done(site("restore", DDP))
    other = made(site)[1]
    done(site("apply", DDP, "--no-verify"))
    assert made(site)[1] == first == site("report", "--cyclonedx", "-").data != other
    assert b"timestamp" not in first and json.loads(first)["serialNumber"] != json.loads(other)["serialNumber"]
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    assert json.loads(made(site)[1])["metadata"]["timestamp"].startswith("2023-11-14T22:13:20")
    site.file().write_bytes(b"# another text\n")
    assert [note.partition(":")[0] for note in made(site)[0].notes] == ["mmengine/runner/runner.py"]


def test_without_the_library_the_command_that_installs_it_is_said(site, tmp_path):
    (tmp_path / "cyclonedx.py").write_text("raise ImportError('not here')")
    path = os.pathsep.join([str(tmp_path), environ()["PYTHONPATH"]])
    ended = sitepatch("report", "--cyclonedx", "x.json", "--target", site.path, cwd=tmp_path, PYTHONPATH=path)
    assert ended.code == 1 and "pip install 'cyclonedx-python-lib>=9'" in ended.err
    assert not (tmp_path / "x.json").exists()


def test_a_patchset_of_two_distributions_is_one_patchset(tmp_path):
    site = Site(tmp_path, "mmengine-0.10.7", "torch-2.7.1-musa")
    folder = site.source(GUARD)
    manifest, more = folder / "patchset.toml", '\n[[variant]]\npackage = "mmengine"\nversions = ">=0"\npatches = ["more.spatch"]\n'
    manifest.write_text(manifest.read_text() + more)
    (folder / "more.spatch").write_text("Why.\n\n--- mmengine/registry.py\n@@ <module> @@\n ...\n+MORE = 1\n")
    done(site("apply", GUARD, "--no-verify"))
    assert "2 distributions, 1 patchset\n" in done(site("report", "--cyclonedx", "bill.json")).out

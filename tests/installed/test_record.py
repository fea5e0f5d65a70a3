"""What RECORD says of a file."""

import hashlib

import pytest

from patcher.installed.environment import locate
from patcher.installed.record import recorded_hash
from tests.installed.sites import DEMO, directory, install


def test_the_recorded_hash_is_that_of_the_file(tmp_path):
    files = {**DEMO, "demo/a, b.py": "z\n", "demo/mydemo/__init__.py": "inner\n"}
    info = install(tmp_path, {"vendored/demo/__init__.py": "vendored\n", **files})
    located = locate(directory(tmp_path), "demo")
    for path, text in files.items():
        assert recorded_hash(located, path) == hashlib.sha256(text.encode()).hexdigest(), path
    for path in ("demo/__init__", "__init__.py", "demo/gone.py", f"{info.name}/RECORD"):
        assert recorded_hash(located, path) is None, path


def test_a_record_that_changes_is_read_again(tmp_path):
    info = install(tmp_path, DEMO)
    located = locate(directory(tmp_path), "demo")
    assert recorded_hash(located, "demo/runner.py")
    (info / "RECORD").write_text("demo/__init__.py,,\n")
    assert recorded_hash(located, "demo/runner.py") is None


@pytest.mark.parametrize("value", ["md5=abc", "sha256=", "sha256=AAAA", "sha256=A", "", "sha256=!!"])
def test_a_row_without_a_sha256_has_no_hash(tmp_path, value):
    info = install(tmp_path, DEMO)
    (info / "RECORD").write_text(f"demo/__init__.py,{value},6\n")
    assert recorded_hash(locate(directory(tmp_path), "demo"), "demo/__init__.py") is None


def test_only_a_record_directly_in_the_site_directory_counts(tmp_path):
    install(tmp_path, DEMO)
    located = locate(directory(tmp_path), "demo")
    (tmp_path / "demo" / "_vendor").mkdir()
    nested = install(tmp_path / "demo" / "_vendor", {"demo/__init__.py": "other\n"}, version="0.1")
    assert locate(directory(tmp_path), "demo") == located
    assert recorded_hash(located._replace(dist_info=str(nested)), "demo/__init__.py") is None

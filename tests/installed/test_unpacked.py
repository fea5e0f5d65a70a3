"""A directory of packages of an unpacked image, named with `--target`: nothing of the image is run, and no link is followed."""

import os
import shutil
import zipfile

import pytest

from tests.command import done, sitepatch, tree
from tests.places import patchset, wheel

pytestmark = pytest.mark.once
DEBIAN = "usr/lib/python3/dist-packages"


@pytest.fixture
def root(tmp_path):
    """The root directory of an image with one package, and a patchset of that beside it."""
    root = tmp_path / "image"
    (root / "usr/bin").mkdir(parents=True)
    (root / "etc").mkdir()
    (root / "usr/bin/python3").write_text("#!/bin/sh\ntouch RAN\n")  # of another architecture, say
    (root / "usr/bin/python3").chmod(0o755)
    with zipfile.ZipFile(wheel(tmp_path / "wheels", "demo", files={"demo/__init__.py": "", "demo/m.py": "VALUE = 1\n"})) as archive:
        archive.extractall(root / DEBIAN)
    patchset(tmp_path)
    return root


def run(root, *words, **env):
    sources = () if words[0] in ("restore", "status") else ("--patch-dir", root.parent / "mine")
    return sitepatch(words[0], "--target", root / DEBIAN, *sources, *words[1:], cwd=root.parent, **env)


def test_it_is_patched_as_any_directory_and_given_back(root):
    before = tree(root)
    ended = done(run(root, "apply", "two"))
    assert "1 file compiled" in ended.out and "not imported: demo.m" in ended.out, ended
    assert (root / DEBIAN / "demo/m.py").read_text() == "VALUE = 2\n"
    changed = {path for path, what in tree(root).items() if before.get(path) != what}
    assert {path for path in changed if ".sitepatch" not in path} == {f"{DEBIAN}/demo/m.py"}
    done(run(root, "restore"))
    assert tree(root) == before and not (root.parent / "RAN").exists()


def linked(root, name):
    """Move a file or a folder of the packages out of the image, and leave a link to it."""
    elsewhere = root.parent / "elsewhere"
    shutil.move(str(root / DEBIAN / name), str(elsewhere))
    (root / DEBIAN / name).symlink_to(elsewhere)
    return elsewhere


def test_a_package_that_is_a_link_is_refused(root):
    """As Debian links packages into /usr/share: in the image that is a place in it, on this machine another one."""
    linked(root, "demo")
    before = tree(root.parent)
    ended = run(root, "apply", "two")
    assert ended.code in (1, 2) and "link" in ended.out + ended.err, ended
    assert tree(root.parent) == before


def test_what_a_file_that_is_a_link_leads_to_is_never_written(root):
    elsewhere = linked(root, "demo/m.py")
    before = tree(root)
    done(run(root, "apply", "two"))
    assert elsewhere.read_text() == "VALUE = 1\n" and (root / DEBIAN / "demo/m.py").read_text() == "VALUE = 2\n"
    done(run(root, "restore"))
    assert tree(root) == before


def test_the_root_directory_is_no_directory_of_packages(root):
    before = tree(root)
    ended = done(sitepatch("apply", "two", "--target", root, "--patch-dir", root.parent / "mine", cwd=root.parent), 1)
    assert "demo is not installed in" in ended.out + ended.err, ended
    assert tree(root) == before


def test_the_same_input_gives_the_same_files_and_times_with_source_date_epoch(root, monkeypatch):
    """What a layer is made of: bytes, modes and mtimes of files and directories; a second restores, and leaves nothing newer."""
    for path in [*root.rglob("*"), root]:
        os.utime(path, (10**9, 10**9), follow_symlinks=False)
    two = root.parent / "two"
    shutil.copytree(root, two, symlinks=True)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")

    def times(folder):
        return {path.relative_to(folder).as_posix(): path.lstat().st_mtime_ns for path in folder.rglob("*") if not path.is_symlink()}

    for each in (root, two):
        done(run(each, "apply", "two"))
    assert (tree(root), times(root)) == (tree(two), times(two))
    assert set(times(root).values()) == {10**18, 17 * 10**17}
    done(run(two, "restore"))
    assert max(times(two).values()) == 17 * 10**17 and not list(two.rglob(".sitepatch"))

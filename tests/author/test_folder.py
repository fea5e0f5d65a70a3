"""A draft becomes a patchset folder: complete and readable, or not there at all."""

import os
import shutil
from contextlib import suppress

import pytest

from patcher.author.folder import Head, PackageRange, output_folder, patchset_files, write_folder
from patcher.author.ranges import fitting_range
from patcher.author.spatch_draft import Draft, DraftFile, DraftHunk
from patcher.errors import PatchError, UsageError
from patcher.model import PatchsetSource
from patcher.patchset.manifest import load_patchset
from tests.command import tree
from tests.faults.calls import in_child

HUNK = "@@ double @@\n-VALUE * x\n+VALUE + x\n"
TARGET = PackageRange("demo", "demo", "==1.0")


def draft(*paths, text=HUNK):
    return Draft(tuple(DraftFile((path,), (DraftHunk(text, 1, "an expression"),)) for path in paths))


def files(name="mine", one=None, targets=(TARGET,), **head):
    return patchset_files(Head(name, **{"summary": "Adds", **head}), one or draft("demo/m.py"), targets)


def test_a_folder_is_read_back_as_it_was_written(tmp_path):
    text = 'It says "no", \\ and \x7f.\r\n\r\n--- not a path\n@@ nor a hunk\n+line of prose'
    texts = files(prose=text, summary='A "quoted"\n summary \\', provenance={"bug": 'https://x/"1"', "author": "Zoë\t<z@x>"})
    written = write_folder(tmp_path / "new" / "mine", texts)
    again = load_patchset(tmp_path / "new" / "mine", written.folder.source)
    assert again == written
    assert (written.about.summary, written.about.provenance) == ('A "quoted" summary \\', {"bug": 'https://x/"1"', "author": "Zoë\t<z@x>"})
    assert written.about.prose == text.replace("\r\n", "\n").replace("---", "  ---").replace("@@", "  @@")
    assert [(each.package, each.versions, each.distributions) for each in written.variants] == [("demo", "==1.0", ())]
    assert written.verify.imports == ("demo.m",)
    assert os.listdir(tmp_path) == ["new"] and sorted(os.listdir(tmp_path / "new" / "mine")) == ["mine.spatch", "patchset.toml"]
    assert (tmp_path / "new" / "mine").stat().st_mode & 0o077 == (tmp_path / "new").stat().st_mode & 0o077


def test_a_credential_in_a_url_is_not_written_down(tmp_path):
    written = write_folder(tmp_path / "mine", files(provenance={"origin": "https://me:secret@x.org/1.patch?token=secret"}))
    assert written.about.provenance == {"origin": "https://x.org/1.patch?token=..."}
    texts = [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
    assert not any("secret" in text for text in texts)


def test_every_import_package_has_a_variant_with_its_files(tmp_path):
    one = draft("demo/__init__.py", "demo/__main__.py", "yaml/a-b.py", "alone.py")
    one = Draft((*one.files, DraftFile(("demo/left.py",), ())))
    targets = (TARGET, PackageRange("yaml", "PyYAML", ">=5,<=6"), PackageRange("alone", "alone", ""))
    written = write_folder(tmp_path / "mine", files(one=one, targets=targets, prose="Why."))

    def facts(variant):
        return variant.package, variant.versions, variant.distributions, [patch.paths for patch in variant.patches]

    assert [facts(variant) for variant in written.variants] == [
        ("demo", "==1.0", (), [("demo/__init__.py",), ("demo/__main__.py",)]),
        ("yaml", ">=5,<=6", ("PyYAML",), [("yaml/a-b.py",)]),
        ("alone", "", (), [("alone.py",)]),
    ]
    assert written.about.prose == "Why." and written.verify.imports == ("demo", "alone")


def test_a_folder_that_could_not_be_read_back_is_not_written(tmp_path):
    with pytest.raises(PatchError) as error:
        write_folder(tmp_path / "some" / "mine", files(one=draft("demo/m.py", text="@@ double @@\n x\n"), summary=" "))
    assert f"{tmp_path / 'some' / 'mine' / 'mine.spatch'}:2: the hunk changes nothing" in error.value.message
    assert "summary" in error.value.message and ".sitepatch" not in error.value.message
    assert str(error.value.place["file"]).startswith(str(tmp_path / "some" / "mine")), "not the temporary folder"
    with pytest.raises(PatchError, match=r"found 1,[0-9,]+ bytes or more, expected at most 1,048,576"):
        write_folder(tmp_path / "some" / "mine", files(prose="word " * 300_000))
    assert os.listdir(tmp_path) == []


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "patchsets" / "mine").mkdir(parents=True)
    assert str(output_folder("mine")) == "patchsets/mine"
    write_folder(output_folder("mine"), files())
    before = tree(tmp_path)
    for call in (lambda: output_folder("mine"), lambda: write_folder(tmp_path / "patchsets" / "mine", files(kind="debug"))):
        with pytest.raises(UsageError, match="not empty"):
            call()
    (tmp_path / "link").symlink_to("patchsets")
    with pytest.raises(UsageError, match="no directory"):
        output_folder("link", str(tmp_path))
    (tmp_path / "link").unlink()
    assert tree(tmp_path) == before
    assert output_folder("mine", "other") == output_folder("mine", "other/mine")
    with pytest.raises(UsageError, match='"My_patch", expected a name made of'):
        output_folder("My_patch")


def test_a_folder_that_is_replaced_keeps_what_else_lies_in_it(tmp_path):
    write_folder(tmp_path / "mine", files())
    (tmp_path / "mine" / "cases").mkdir()
    (tmp_path / "mine" / "cases" / "one.before.py").write_text("x\n")
    before = tree(tmp_path)
    assert write_folder(tmp_path / "mine", files(version="2"), replace=True).version == "2"
    after = tree(tmp_path)
    assert {path for path in before if before[path] != after.pop(path)} == {"mine/patchset.toml", "mine/mine.spatch"} and after == {}


@pytest.mark.parametrize("how", ["before", "after", "SIGINT", "ENOSPC"])
def test_a_process_that_dies_while_it_replaces_a_folder_leaves_the_old_or_the_new_one(tmp_path, how, counted):
    old = {**files(), "a.spatch": "old\n", "z.spatch": "old\n"}
    new = {**files(version="2"), "a.spatch": "new\n", "z.spatch": "new\n", "further.spatch": "new\n"}
    write_folder(tmp_path / "mine", old)
    (tmp_path / "mine" / "notes.txt").write_text("mine\n")
    versions = []
    for point in range(1, 100):
        shutil.rmtree(tmp_path / "trial", ignore_errors=True)
        folder = tmp_path / "trial" / "mine"
        shutil.copytree(tmp_path / "mine", folder)

        def replace(folder=folder):
            with suppress(KeyboardInterrupt, OSError):
                write_folder(folder, new, replace=True)

        ended = in_child(replace, point, how)
        versions.append(load_patchset(folder, PatchsetSource("here")).version)
        texts = {path.name: path.read_text() for path in folder.iterdir()}
        assert texts in ({**old, "notes.txt": "mine\n"}, {**new, "notes.txt": "mine\n"}), (how, point)
        if ended.code == 0 and ended.count < point:
            break
    counted("deaths while a folder is replaced", len(versions) - 1)
    assert versions[-1] == "2" and set(versions) == {"1.0", "2"}


@pytest.mark.parametrize(
    ("versions", "failed", "expected"),
    [
        (["1.0"], [], "==1.0"),
        (["2.7.1+cu128"], [], "==2.7.1"),
        (["1.10", "1.9", "1.9"], [], ">=1.9,<=1.10"),
        (["1.1", "1.9"], ["1.4", "2.0", "1.9", "1.0"], ">=1.1,<=1.9,!=1.4"),
        (["2.0.0a0+git1"], [], "==2.0.0a0"),
        (["", "0.0.0"], [], ""),
        (["0+untagged", "1.0"], ["", "what"], "==1.0"),
    ],
)
def test_a_range_ends_where_it_was_tried(versions, failed, expected):
    assert fitting_range(versions, failed) == expected

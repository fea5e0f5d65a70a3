"""Patchsets are asked for in requirements files, as pip reads these: comments, included files, continued lines."""

import os
import re

import pytest

from patcher.display.console import exit_code
from patcher.errors import Location, SitepatchError
from patcher.patchset.selection import ProjectEntry
from patcher.project.request import read_requirements
from tests.command import DDP, DYNAMO, GUARD, done, sitepatch


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write files into the current directory."""
    monkeypatch.chdir(tmp_path)

    def files(**texts):
        for name, text in texts.items():
            path = tmp_path / (name.replace("__", "/") + ".txt")
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return tmp_path

    return files


def problems(*paths):
    with pytest.raises(SitepatchError) as caught:
        read_requirements(paths)
    assert exit_code(caught.value) == 2
    return caught.value.message.splitlines()


# what counts ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "entries"),
    [
        (f"# sitepatch: {DDP} params=10 optional\n", [(DDP, ("params=10",), True, 1)]),
        (f"mmengine==0.10.7  # sitepatch: {DDP}\n", [(DDP, (), False, 1)]),
        (f"mmengine==0.10.7 ; python_version < '4'  #sitepatch:{DDP}\n", [(DDP, (), False, 1)]),
        (f"\nmmengine==0.10.7 \\\n    --hash=sha256:{'0' * 64} \\\n    --hash=sha256:{'1' * 64}  # sitepatch: {DDP}\n", [(DDP, (), False, 2)]),
        (f"# Sitepatch: {DDP}\n", [(DDP, (), False, 1)]),
        (f"# sitepatch: {DDP}  # it is why we are here\n", [(DDP, (), False, 1)]),
        (f"torch  # the build of the vendor  # sitepatch: {GUARD}\n", [(GUARD, (), False, 1)]),
        (f"# sitepatch: {DDP} # sitepatch: {GUARD}\n", [(DDP, (), False, 1), (GUARD, (), False, 1)]),
        (f"# sitepatch: {DDP} title='a b'\r\n", [(DDP, ("title=a b",), False, 1)]),
        (f"\ufeff# sitepatch: {DDP}\n", [(DDP, (), False, 1)]),
        ("# -*- coding: latin-1 -*-\n# caf\u00e9\n".encode("latin-1") + f"# sitepatch: {DDP}".encode(), [(DDP, (), False, 3)]),
        ("# what sitepatch: does is written elsewhere\nhttp://host/a#sitepatch:no\n", []),
        ("", []),
    ],
)  # fmt: skip
def test_a_comment_asks_for_a_patchset_on_a_line_of_its_own_or_behind_a_requirement(write, text, entries):
    write(r=text)
    expected = [ProjectEntry(name, settings, optional, Location("r.txt", line)) for name, settings, optional, line in entries]
    assert read_requirements(["r.txt"]).entries == tuple(expected)


def test_included_files_and_constraints_are_read_each_once_and_from_where_they_are_named(write):
    write(
        r=f"-r more/a.txt\n-c more/c.txt  # sitepatch: {DYNAMO}\n",
        more__a=f"--requirement=b.txt\n# sitepatch: {DDP}\n",
        more__b=f"-r ../r.txt\n-r a.txt\n# sitepatch: {GUARD}\n",
        more__c=f"mmengine<1  # sitepatch: {DDP} params=3\n",
    )
    entries = read_requirements(["r.txt", "./r.txt"]).entries
    assert [(entry.name, os.path.normpath(entry.origin)) for entry in entries] == [
        (GUARD, "more/b.txt:3"),
        (DDP, "more/a.txt:2"),
        (DDP, "more/c.txt:1"),
        (DYNAMO, "r.txt:2"),
    ]


def test_a_directory_of_patchsets_is_named_from_the_file_that_names_it(write):
    folder = write(more__r="# sitepatch: --patch-dir ../mine\n# sitepatch: --patch-dir 'a b'\n# sitepatch: --patch-dir=/\n")
    (folder / "mine").mkdir()
    (folder / "more/a b").mkdir()
    named = [os.path.normpath(each) for each in read_requirements(["more/r.txt"]).patch_dirs]
    assert named == [str(folder / "mine"), str(folder / "more/a b"), "/"]


def test_an_included_file_may_be_named_by_a_variable_as_for_pip(write, monkeypatch):
    monkeypatch.setenv("WHERE_IT_IS", "more")
    write(r="-r ${WHERE_IT_IS}/a.txt\n", more__a=f"# sitepatch : {DDP}\n")
    assert [entry.name for entry in read_requirements(["r.txt"]).entries] == [DDP]


def test_a_line_that_is_commented_out_asks_for_nothing_and_a_note_says_so(write):
    write(r=f"# mmengine==0.10.7  # sitepatch: {DDP}\n")
    project = read_requirements(["r.txt"])
    assert (project.entries, project.notes) == ((), ("r.txt:1: the line is commented out, and asks for nothing",))


def test_what_pip_may_know_or_fetch_is_passed_over_aloud(write):
    write(r="torch --made-by-a-newer-pip=1\nmmengine==${VERSION}\n-r https://host/more.txt\n")
    first, second, third = read_requirements(["r.txt"]).notes
    assert first == "r.txt:1: torch --made-by-a-newer-pip=1 is passed over (no such option: --made-by-a-newer-pip); pip may know it"
    assert second.startswith("r.txt:2: mmengine==${VERSION} is passed over")
    assert third == "r.txt:3: https://host/more.txt is not looked at for what it asks for; only files are"


# what is wrong --------------------------------------------------------------------------------------------------------
def test_everything_that_is_wrong_is_reported_with_its_line(write):
    write(
        r=(
            "-r none.txt\n"
            "-c sub/c.txt\n"
            f"# sitepatch: {DDP} optinal\n"
            "# sitepatch:\n"
            "foo bar\n"
            "--requirement\n"
            "# sitepatch: --patch-dir\n"
            "# sitepatch: --patch-dir /x\n"
        ),
        sub__c="-r missing.txt\n",
    )
    without_words_of_packaging = [re.sub(r"\(Invalid requirement.*\)", "(why)", line) for line in problems("r.txt", "gone.txt")]
    assert without_words_of_packaging == [
        "r.txt:1: none.txt: found no readable file (No such file or directory), expected one",
        "sub/c.txt:1: sub/missing.txt: found no readable file (No such file or directory), expected one",
        'r.txt:3: found "optinal", expected "NAME[==VERSION] [option=VALUE]... [optional]"; did you mean "optional"?',
        'r.txt:4: found nothing, expected "NAME[==VERSION] [option=VALUE]... [optional]"',
        "r.txt:5: found foo bar (why), expected a requirement or an option of pip",
        "r.txt:6: found --requirement (--requirement option requires 1 argument), expected a requirement or an option of pip",
        "r.txt:7: found --patch-dir (one directory after it), expected --patch-dir DIR",
        "r.txt:8: --patch-dir /x: found no such directory",
        "gone.txt: found no readable file (No such file or directory), expected one",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"\x80\x04\x95\x00\x00", "found the byte 0x80, which is not utf-8"),
        (b"PK\x03\x04\x00\x00", "found a NUL character"),
        (b"# coding: nothing-such\n", "found unknown encoding: nothing-such"),
        (b"\xff\xfeA", "found the byte 0x41, which is not utf-16-le"),
    ],
)
def test_what_is_no_text_is_one_clear_line(write, data, found):
    write(r=data)
    (line,) = problems("r.txt")
    assert line.startswith(f"r.txt: {found}")
    assert line.endswith(", expected the text of a requirements file")


def test_a_directory_is_no_requirements_file(write):
    write(r__x="")
    os.rename("r", "r.txt")
    assert problems("r.txt") == ["r.txt: found a directory, expected a regular file"]


def test_two_places_that_want_different_options_are_both_named(write):
    folder = write(r=f"# sitepatch: {DDP} params=1\n-r s.txt\n", s=f"# sitepatch: {DDP} params=2\n")
    ended = done(sitepatch("sync", "-r", "r.txt", "--target", folder, cwd=folder), 2)
    assert ended.err == f"error: s.txt:1: {DDP} params=2: r.txt:1 has params=1\n"

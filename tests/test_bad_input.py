"""Whatever stands in a file that we read: one clear line with the file and the place, exit code 1 or 2, no traceback, soon."""

import re
import time
from pathlib import Path

import pytest

from patcher.display.console import exit_code
from patcher.errors import Location, PatchError, SitepatchError, UsageError
from patcher.model import About, Option, Patchset, PatchsetFolder, PatchsetSource, Verify
from patcher.patchset.manifest import load_patchset
from patcher.patchset.symptoms import general_symptoms
from patcher.patchset.variants import resolve_options
from patcher.project.request import read_project, read_requirements
from tests.command import ROOT, Site, sitepatch

NAME = "some-patch"
MANIFEST = f"""\
schema = 1
name = "{NAME}"
version = "1.0"
kind = "fix"
summary = "x"
[options.n]
type = "int"
default = 1
help = "x"
[[variant]]
package = "pkg"
versions = ""
patches = ["m.spatch"]
"""
SPATCH = "--- pkg/m.py\n@@ f @@\n-old($A)\n+new($A)\n"
PROJECT = f'[project]\nname = "x"\nversion = "1"\n[tool.sitepatch]\npatchsets = ["{NAME}"]\n'
SYMPTOMS = """[[symptom]]
name = "port"
patterns = ["EADDRINUSE: address already in use"]
meaning = "The port is taken."
advice = "Take another one."
"""
READERS = {  # every TOML file: a good text, and what reads it
    "patchset.toml": (MANIFEST, lambda path: load_patchset(path.parent, "test")),
    "pyproject.toml": (PROJECT, read_project),
    "symptoms.toml": (SYMPTOMS, lambda path: general_symptoms(str(path.parent))),
}
N = 5000
BAD = {  # text that is put in front, and what is said of it
    "lists": ("x = " + "[" * N + "]" * N, "levels deep"),
    "lists without an end": ("x = " + "[" * 100_000, "levels deep"),
    "lists of a hundred levels": ("x = " + "[" * 100 + "]" * 100, r"x(\.0)+.*levels deep"),
    "inline tables": ("x = " + "{a = " * N + "1" + "}" * N, "levels deep"),
    "a dotted key": ("x" + ".a" * 900 + " = 1", "levels deep"),
    "a header": ("[x" + ".a" * 900 + "]\nx = 1", "levels deep"),
    "a dotted key of 200,000 parts": ("x" + ".a" * 200_000 + " = 1", ":1: found more than 1,000 dots"),
    "digits": ("x = " + "9" * N, "integer of more than 64 bits"),
    "digits with underscores": ("y = 1\nx = " + "9_" * N + "9", "integer of more than 64 bits"),
    "hexadecimal": ("x = 0x" + "f" * N, "x: found an integer of more than 64 bits"),
    "hexadecimal in a list": ("x = [1, 0x" + "f" * 17 + "]", r"x\.1: found an integer of more than 64 bits"),
    "one too many": ("x = 9_223_372_036_854_775_808", "integer of more than 64 bits"),
    "one too few": ("x = -9_223_372_036_854_775_809", "integer of more than 64 bits"),
    "binary": ("x = 0b" + "1" * 65, "integer of more than 64 bits"),
    "a date": ("x = 2020-99-99", ":1:"),
    "a control character": ('x = "\x1b"', ":1:6: "),
    "NUL": ("\0", ":1:1: "),
    "no UTF-8": (b"x = 1\ny = '\xff'", ":2: found the byte 0xff"),
    "UTF-16": ("x = 1".encode("utf-16"), ":1: found the byte 0xff"),
    "a long line": ("x = " + "a" * 500_000, ":1:5: "),
    "nothing but a bracket": ("[", ":1:"),
    "a key twice": ("x = 1\nx = 2", ":2:"),
    "too large": (f"# {'x' * (1 << 24)}\n", "expected at most"),
}


def said(read, *words):
    """What a reader says of a bad file; it must say so soon and in few words."""
    start = time.process_time()
    with pytest.raises(SitepatchError) as caught:
        read(*words)
    assert time.process_time() - start < 5
    assert exit_code(caught.value) in (1, 2) and len(str(caught.value)) < 10_000
    error = caught.value
    assert error.message.startswith(f"{error.location._replace(column=0)}:"), (error.location, error.message)
    return error.message


@pytest.mark.parametrize("shape", BAD)
@pytest.mark.parametrize("file", READERS)
def test_bad_toml_is_one_line_with_the_file_and_the_place(tmp_path, file, shape):
    good, read = READERS[file]
    folder = tmp_path / NAME
    folder.mkdir()
    (folder / "m.spatch").write_text(SPATCH)
    path = folder / file.partition(" ")[0]
    path.write_text(good)
    assert read(path), "the file is good but for what is put in front of it"
    text, problem = BAD[shape]
    path.write_bytes((text if isinstance(text, bytes) else text.encode()) + b"\n" + good.encode())
    told = said(read, path)
    assert told.startswith(f"{path}:") and re.search(problem, told), told


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("default = 1", "default = 0x" + "f" * N, "options.n.default: found an integer of more than 64 bits"),
        ("default = 1", "default = 1e999", "options.n.default: found inf, expected of type int"),
        ("default = 1", "default = [" + "1," * N + "]", "options.n.default: found a list"),
        ('version = "1.0"', f'version = "{"9" * N}"', 'version: found "999'),
        ('version = "1.0"', 'version = "\u0661.0"', "version: found"),
        ('versions = ""', f'versions = "<{"9" * N}"', r"variant\[0\].versions: found"),
        ('versions = ""', f'versions = "{">=1," * N}"', r"variant\[0\].versions: found"),
        ('name = "some-patch"', f'name = "{"x" * 500_000}"', "name: found"),
        ('summary = "x"', f"{'k' * 500_000} = 1", "k: found an unknown key|kkk"),
        ('summary = "x"', "".join(f"k{number} = 1\n" for number in range(20_000)), "and 19981 more"),
        ("[[variant]]", "[[variant]]\n" * 2000, "and 5[0-9]+ more"),
        ('"m.spatch"', '"m.spatch\\u0000"', r"patches\[0\]: found"),
        ('"m.spatch"', f'"{"../" * 300}m.spatch"', r"patches\[0\]: found"),
        ('"m.spatch"', f'"{"a/" * N}m.spatch"', r"patches\[0\]: found"),
    ],
)
def test_a_bad_value_in_a_manifest_is_named_in_few_words(tmp_path, old, new, problem):
    folder = tmp_path / NAME
    folder.mkdir()
    (folder / "m.spatch").write_text(SPATCH)
    assert old in MANIFEST
    (folder / "patchset.toml").write_text(MANIFEST.replace(old, new), encoding="utf-8")
    assert re.search(problem, said(load_patchset, folder, "test"))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (SPATCH.replace("@@\n", f"@@ count={'9' * N}\n"), ":2: an unknown flag"),
        (SPATCH.replace("@@\n", "@@ count=\u0662\n"), ":2: an unknown flag"),
        (SPATCH.replace("m.py", "m\x1b[8m.py"), ":1: expected a path without control characters"),
        (SPATCH.replace("m.py", "m\u202e.py"), ":1: expected a path without control characters"),
        (SPATCH.replace("@@ f", "@@ f\u202e"), ":2: expected a qualified name"),
        (SPATCH + "+x\n" * 100_000, ":2: found a hunk of 100,002 lines, expected at most 5,000: write several"),
        (SPATCH.replace("pkg/m", "pkg/q.py\n--- b/pkg/m", 1), ":2: found \"b/pkg/m.py\", expected \"pkg/m.py\": without git's `b/`"),
        ("> " + SPATCH, ":1: expected `--- PATH` at the beginning of a line: remove the `>`"),
        ("-" * 1_000_000, ":1: found no `--- PATH` line"),
        ("x" * 900_000, ":1: found no `--- PATH` line"),
        ("x" * (1 << 21), ": found 2,097,152 bytes or more, expected at most 1,048,576"),
        ("\udcff", ":1: found the byte 0xff, expected UTF-8"),
    ],
)
def test_a_bad_spatch_is_one_problem_with_the_file_and_the_place(tmp_path, text, problem):
    folder = tmp_path / NAME
    folder.mkdir()
    (folder / "patchset.toml").write_text(MANIFEST)
    (folder / "m.spatch").write_bytes(text.encode("utf-8", "surrogateescape"))
    assert said(load_patchset, folder, "test").startswith(f"{folder / 'm.spatch'}{problem}")


@pytest.mark.parametrize("text", ["9" * N, "0x" + "f" * N, "0x10", "1e3", "\u0661", "-" * N, "1_000", "9" * 19, "", "\x1b"])
def test_a_bad_value_of_an_option_is_shortened(text):
    folder = PatchsetFolder(PatchsetSource("test"), {}, "")
    one = Patchset(NAME, "1.0", About("fix", ""), (Option("n", "int", 1, ""),), (), Verify(), folder)
    with pytest.raises(UsageError, match=r"found .*, expected a value of type int") as caught:
        resolve_options(one, {"n": text})
    assert len(caught.value.message) < 200


@pytest.mark.parametrize(
    "text",
    [b"\xff\xfe\xff", b"\0", b"x" * (1 << 21), b"# sitepatch: \xd9\xa1 '", b"-r " * 5000, b"# sitepatch: a b=" + b"9" * N + b" c", b"-e '" * 99],
)
def test_bad_requirements_are_reported_with_their_file(tmp_path, text):
    (tmp_path / "requirements.txt").write_bytes(text)
    assert said(read_requirements, [str(tmp_path / "requirements.txt")]).startswith(str(tmp_path / "requirements.txt"))


@pytest.mark.parametrize(
    "words", [["show", NAME], ["apply", NAME], ["check", NAME], ["sync"], ["hook", "init", "h", NAME], ["list"]]
)
@pytest.mark.parametrize("shape", ["lists", "digits"])
def test_no_command_ends_with_a_traceback(tmp_path, words, shape):
    site = Site(tmp_path)
    site.path.mkdir()
    folder = tmp_path / "patchsets" / NAME
    folder.mkdir(parents=True)
    bad = BAD[shape][0]
    (folder / "patchset.toml").write_text(f"{bad}\n{MANIFEST}")
    (tmp_path / "pyproject.toml").write_text(f"{bad}\n{PROJECT}")
    ended = site(*words) if words[0] not in ("hook", "list", "show") else sitepatch(*words, cwd=tmp_path)
    assert ended.code in (1, 2) and "Traceback" not in ended.err, ended
    assert BAD[shape][1] in ended.err + ended.out
    listed = sitepatch("list", cwd=site.path).out if words == ["list"] else ""  # the built-in ones, however many
    assert len(ended.err + ended.out) - len(listed) < 1000


def test_the_readers_above_are_all_that_read_toml():
    users = {path.name for path in (ROOT / "patcher").rglob("*.py") if re.search("decode_toml|read_toml", path.read_text())}
    assert users == {"toml.py", "manifest.py", "request.py", "hook.py", "symptoms.py"}
    loaders = [path.name for path in Path(ROOT / "patcher").rglob("*.py") if re.search(r"import .*\btomllib\b|from tomllib", path.read_text())]
    assert loaders == ["toml.py"]


def test_the_place_of_an_error_is_data_and_begins_its_message():
    found = PatchError.at(Location("a b/patchset.toml", 3, 8), "found x", "write y")
    assert (found.message, found.hint) == ("a b/patchset.toml:3:8: found x", "write y")
    assert found.place == {"file": "a b/patchset.toml", "line": 3, "column": 8}
    assert SitepatchError.at(Location("r.txt", 5), "found foo").place == {"file": "r.txt", "line": 5}
    assert SitepatchError.at(Location("pyproject.toml"), "found foo").place == {"file": "pyproject.toml"}
    assert SitepatchError("/site: pkg/a.py: has changed since the plan was made").place == {}
    assert SitepatchError.joined([SitepatchError.at(Location("a: b.txt", 5), "found foo"), SitepatchError("x")]).problem == "found foo"

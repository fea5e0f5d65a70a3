"""A folder becomes a patchset: its manifest, the versions and variants in it, where it is found, its options, its schema."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from patcher.errors import PatchError, UsageError
from patcher.installed.versions import accepts, overlap
from patcher.model import KINDS, Option, Patchset, Signs, Symptom, Variant, Verify
from patcher.patchset import manifest, places, toml
from patcher.patchset.catalogue import Catalogue
from patcher.patchset.symptoms import general_symptoms
from patcher.patchset.variants import choose_variant, pick_variants, resolve_options
from patcher.system.reading import patchset_digest
from tests.command import ROOT, environ

SCHEMA = json.loads((ROOT / "patcher" / "patchset.schema.json").read_text(encoding="utf-8"))

TOML = """\
schema = 1
name = "demo-fix"
version = "1.0"
kind = "debug"
summary = "Show what is there"

[provenance]
author = "someone"
remove_when = "never"

[options.params]
type = "int"
default = 5
help = "how many"

[options.lang]
type = "str"
default = "en"
choices = ["en", "zh"]
help = "language"

[options.ratio]
type = "float"
default = 1
help = "a part"

[options.loud]
type = "bool"
default = false
help = "say more"

[[variant]]
package = "demo"
versions = ">=0.1,<1"
patches = ["first.spatch"]

[[variant]]
package = "demo"
versions = ">=1"
patches = ["first.spatch", "sub/second.spatch"]
names = ["injected"]

[verify]
imports = ["demo.runner"]
probe = "probe.py"
"""
SPATCH = "Why it is there.\n\n--- demo/runner.py\n@@ Runner.run @@\n-old($X)\n+new($X)\n"


@pytest.fixture(autouse=True)
def no_active_entry_points(monkeypatch):
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])


def write(parent: Path, toml: str = TOML, name: str = "demo-fix") -> Path:
    folder = parent / name
    (folder / "sub").mkdir(parents=True)
    (folder / "patchset.toml").write_bytes(toml.encode("utf-8"))
    (folder / "first.spatch").write_bytes(SPATCH.encode("utf-8"))
    (folder / "sub" / "second.spatch").write_bytes(SPATCH.replace("Why", "Where").encode("utf-8"))
    (folder / "probe.py").write_bytes(b"import demo\n")
    return folder


def refusal(folder: Path) -> str:
    with pytest.raises(PatchError) as caught:
        manifest.load_patchset(folder, "here")
    return caught.value.message


# ---------------------------------------------------------------- reading a folder


def test_a_folder_becomes_a_patchset_with_everything_it_says(tmp_path):
    loaded = manifest.load_patchset(write(tmp_path), "here")
    assert (loaded.name, loaded.version) == ("demo-fix", "1.0")
    assert (loaded.about.kind, loaded.about.summary) == ("debug", "Show what is there")
    assert loaded.about.prose == "Why it is there.\n\nWhere it is there."
    assert loaded.about.provenance == {"author": "someone", "remove_when": "never"}
    assert loaded.options[0] == Option("params", "int", 5, "how many")
    assert loaded.options[1].choices == ("en", "zh")
    assert type(loaded.options[2].default) is float, "an integer is a fine float default, and becomes one"
    older, newer = loaded.variants
    assert (older.package, older.versions, older.names, len(older.patches)) == ("demo", ">=0.1,<1", (), 1)
    assert (newer.package, newer.versions, newer.names, len(newer.patches)) == ("demo", ">=1", ("injected",), 2)
    assert older.patches[0].paths == ("demo/runner.py",)
    assert loaded.verify == Verify(("demo.runner",), "probe.py")
    assert loaded.folder.source == "here"
    assert sorted(loaded.folder.files) == ["first.spatch", "patchset.toml", "probe.py", "sub/second.spatch"]
    assert loaded.folder.files["first.spatch"] == SPATCH


def test_a_spatch_without_prose_adds_none_and_one_that_is_missing_is_one_problem(tmp_path):
    folder = write(tmp_path)
    (folder / "first.spatch").write_text(SPATCH.partition("\n\n")[2])
    assert manifest.load_patchset(folder, "here").about.prose == "Where it is there."
    (folder / "first.spatch").unlink()
    assert len(refusal(folder).split("\n")) == 1


@pytest.mark.parametrize(("package", "path"), [("demo", "demo.py"), ("a", "a/a/runner.py"), ("b", "b.py")])
def test_a_module_and_a_package_that_is_called_as_git_calls_a_side_are_files_of_the_package(tmp_path, package, path):
    folder = write(tmp_path, TOML.replace('package = "demo"', f'package = "{package}"'))
    for name in ("first.spatch", "sub/second.spatch"):
        (folder / name).write_text(SPATCH.replace("demo/runner.py", path))
    assert manifest.load_patchset(folder, "here").variants[0].patches[0].paths == (path,)


def test_a_text_that_a_store_has_is_as_limited_as_a_file(tmp_path):
    texts = manifest.load_patchset(write(tmp_path), "here").folder.files
    assert manifest.load_patchset(tmp_path / "gone/demo-fix", "here", texts).folder.files == texts
    with pytest.raises(PatchError, match="found 2,097,152 bytes or more, expected at most 1,048,576"):
        manifest.load_patchset(tmp_path / "demo-fix", "here", {**texts, "first.spatch": "x" * (1 << 21)})


def test_the_digest_follows_every_file_and_nothing_else(tmp_path):
    folder = write(tmp_path)
    first = manifest.load_patchset(folder, "here").folder.digest
    assert re.fullmatch("[0-9a-f]{64}", first)
    (folder / "README.md").write_text("not part of it")
    for name in ("patchset.toml", "first.spatch", "probe.py"):
        data = (folder / name).read_bytes()
        (folder / name).write_bytes(data.replace(b"\n", b"\r\n"))
        assert manifest.load_patchset(folder, "elsewhere").folder.digest == first, "neither the source nor CRLF of a checkout counts"
        remark = b"Prose. " if name == "first.spatch" else b"# a remark\n"
        (folder / name).write_bytes(remark + data)
        assert manifest.load_patchset(folder, "here").folder.digest != first
        (folder / name).write_bytes(data)
    assert manifest.load_patchset(folder, "here").folder.digest == first
    assert patchset_digest({"ab": "c"}) != patchset_digest({"a": "bc"})


SECOND = TOML.index("[[variant]]", TOML.index("[[variant]]") + 1)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("schema = 1", "schema = 2", "schema: found 2, expected 1 "),
        ("schema = 1", "schema = true", "schema: found true, expected an integer"),
        ("schema = 1\n", "", "schema: found nothing, expected an integer"),
        ('"demo-fix"', '"other"', 'name: found "other", expected "demo-fix", the name of its folder'),
        ('"demo-fix"', '"Demo fix"', 'name: found "Demo fix", expected a name made of a-z, 0-9 and "-"'),
        ('"demo-fix"', '"-demo"', 'name: found "-demo", expected a name made of a-z, 0-9 and "-" that does not begin with "-"'),
        ('"1.0"', '"one"', 'version: found "one", expected a PEP 440 version'),
        ('"1.0"', "1.0", "version: found 1.0, expected a string"),
        ('"debug"', '"debugg"', 'kind: found "debugg", expected one of fix, default, debug; did you mean "debug"?'),
        ('"Show what is there"', '"  "', 'summary: found "  ", expected one sentence'),
        ("summary =", "sumary =", 'sumary: found an unknown key, expected one of schema, .*did you mean "summary"'),
        ("author =", "autor =", 'provenance.autor: found an unknown key.*did you mean "author"'),
        ('"someone"', "2024-05-01", "provenance.author: found a date, expected a string"),
        ("[options.params]", "[options.Params]", 'options.Params: found "Params", expected a name made of a-z'),
        ('type = "int"', 'type = "integer"', 'options.params.type: found "integer", expected one of int, float'),
        ("default = 5", "default = true", "options.params.default: found true, expected of type int"),
        ("default = 5", "default = 5.0", "options.params.default: found 5.0, expected of type int"),
        ("default = 5\n", "", "options.params.default: found nothing, expected a value"),
        ("default = 1\n", "default = inf\n", "options.ratio.default: found inf, expected a finite float"),
        ("default = 1\n", "default = nan\n", "options.ratio.default: found nan, expected a finite float"),
        ("default = false", 'default = "no"', 'options.loud.default: found "no", expected of type bool'),
        ('default = "en"', 'default = "fr"', 'options.lang.default: found "fr", expected one of "en", "zh"'),
        ('["en", "zh"]', '["en", 1]', r"options.lang.choices\[1\]: found 1, expected of type str"),
        ('["en", "zh"]', "[]", "options.lang.choices: found a list, expected a list of at least one"),
        ('help = "say more"', "help = 1", "options.loud.help: found 1, expected a string"),
        ('"demo"', '"demo.sub"', r'variant\[0\].package: found "demo.sub", expected the name that is imported'),
        ('">=1"', '">=1,,<x"', r'variant\[1\].versions: found ">=1,,<x", expected a PEP 440 specifier set'),
        ("versions =", "version =", r'variant\[0\].version: found an unknown key.*did you mean "versions"'),
        ('["first.spatch"]', '"first.spatch"', r'variant\[0\].patches: found "first.spatch", expected a list of str'),
        ('["first.spatch"]', "[]", r"variant\[0\].patches: found an empty list, expected at least one"),
        ('["first.spatch"]', "[7]", r"variant\[0\].patches\[0\]: found 7, expected a string"),
        ('"sub/second.spatch"', '"first.spatch"', r"variant\[1\].patches\[1\]: .*expected every file once"),
        ('"sub/second.spatch"', '"../x.spatch"', r'patches\[1\]: found "../x.spatch", expected the relative path'),
        ('"sub/second.spatch"', '"/etc/x.spatch"', r'patches\[1\]: found "/etc/x.spatch", expected the relative path'),
        ('"sub/second.spatch"', '"probe.py"', r'patches\[1\]: found "probe.py", expected the relative path of a .sp'),
        ('"injected"', '"not a name"', r'variant\[1\].names\[0\]: found "not a name", expected a Python name'),
        ('"demo.runner"', '"demo..runner"', r'verify.imports\[0\]: found "demo..runner", expected a dotted'),
        ('"probe.py"', '"../probe.py"', 'verify.probe: found "../probe.py", expected the relative path of a .py file'),
        ("probe =", "prob =", 'verify.prob: found an unknown key.*did you mean "probe"'),
        ('package = "demo"', 'package = "else"', r'variant\[0\].patches\[0\]: found "demo/runner.py" \(line 3\), '),
    ],
)
def test_a_mistake_is_reported_by_its_key_with_what_was_found_and_expected(tmp_path, old, new, line):
    assert old in TOML
    message = refusal(write(tmp_path, TOML.replace(old, new, 1)))
    place = re.escape(str(tmp_path / "demo-fix" / "patchset.toml"))
    assert re.search(f"^{place}: .*{line}", message, re.MULTILINE), message
    assert len(message.split("\n")) <= 2, "nothing else is made of it"


SYMPTOM = """
[[symptom]]
name = "it-fails"
patterns = ["DemoError: * failed", "it failed as always"]
needs = ["demo/runner.py"]
meaning = "it has failed"
advice = "ask again"
options = { params = 6, lang = "zh" }
unless = ["demo/other.py"]
accelerator = true
follows = true
"""


def test_a_symptom_is_read(tmp_path):
    (symptom,) = manifest.load_patchset(write(tmp_path, TOML + SYMPTOM), "here").about.symptoms
    assert symptom == Symptom(
        "it-fails",
        Signs(("DemoError: * failed", "it failed as always"), ("demo/runner.py",), ("demo/other.py",), accelerator=True),
        "it has failed",
        "ask again",
        {"params": 6, "lang": "zh"},
        follows=True,
    )


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("it-fails", "It", 'name: found "It", expected a name made of'),
        ('["DemoError: * failed", "it failed as always"]', "[]", "patterns: found an empty list, expected at least one"),
        ("DemoError: * failed", "x*y", r'patterns\[0\]: found "x\*y", expected text of one line'),
        ("DemoError: * failed", "DemoError: failed*", r"patterns\[0\]: .* expected text of one line"),
        ("DemoError: * failed", "DemoError: " + "*a" * 9, r"patterns\[0\]: .* expected text of one line"),
        ("DemoError: * failed", "DemoError: " + "a" * 400, r"patterns\[0\]: .* expected text of one line"),
        ("DemoError: * failed", r"DemoError:\nfailed", r"patterns\[0\]: .* expected text of one line"),
        ("demo/runner.py", "*", r"needs\[0\]: .* expected text of one line"),
        ('"it has failed"', '" "', "meaning: found"),
        ("params = 6", "parms = 6", 'options.parms: found an unknown option.*did you mean "params"'),
        ("params = 6", 'params = "6"', 'options.params: found "6", expected a value of the option params'),
        ('"zh"', '"fr"', 'options.lang: found "fr", expected a value of the option lang'),
        ("follows = true", 'follows = "yes"', 'follows: found "yes", expected true or false'),
        ("advice =", "advise =", 'advise: found an unknown key.*did you mean "advice"'),
        ('[[symptom]]\nname', SYMPTOM + '[[symptom]]\nname', r'symptom\[1\].name: found "it-fails", expected a name that no other'),
    ],
)
def test_a_mistake_in_a_symptom_is_reported(tmp_path, old, new, line):
    assert old in SYMPTOM
    message = refusal(write(tmp_path, TOML + SYMPTOM.replace(old, new, 1)))
    assert re.search(line, message, re.DOTALL), message


def test_symptoms_that_no_patchset_cures_are_read_from_a_file_of_their_own(tmp_path):
    (tmp_path / "symptoms.toml").write_text(SYMPTOM.replace("options = { params = 6, lang = \"zh\" }\n", ""))
    assert [symptom.name for symptom in general_symptoms(str(tmp_path))] == ["it-fails"]
    assert general_symptoms(str(tmp_path / "nowhere")) == ()


def test_a_symptom_that_nothing_cures_says_what_to_do(tmp_path):
    (tmp_path / "symptoms.toml").write_text('[[symptom]]\nname = "x"\npatterns = ["a line of a log"]\nmeaning = "it"\noptions = { a = 1 }\n')
    with pytest.raises(PatchError) as refused:
        general_symptoms(str(tmp_path))
    assert "advice: found" in str(refused.value) and "options.a: found an unknown option" in str(refused.value)


def test_all_mistakes_are_reported_together(tmp_path):
    toml = TOML.replace('"1.0"', '"x"').replace("default = 5", 'default = "5"').replace("sub/second", "sub/gone")
    folder = write(tmp_path, toml)
    (folder / "first.spatch").write_text("no file line here\n")
    message = refusal(folder)
    for part in ("version: found", "params.default: found", "gone.spatch: found no readable file", "first.spatch:"):
        assert part in message
    assert message.count("first.spatch:") == 1, "a file that two variants name is told once"


def test_one_variant_table_instead_of_a_list_is_explained(tmp_path):
    toml = TOML[:SECOND].replace("[[variant]]", "[variant]")
    assert "variant: found a table, expected a list of tables, written [[variant]]" in refusal(write(tmp_path, toml))


def test_a_toml_syntax_error_names_the_place_and_shows_it(tmp_path):
    message = refusal(write(tmp_path, TOML.replace('kind = "debug"', "kind = debug")))
    problem, line, marker = message.split("\n")
    assert problem.startswith(f"{tmp_path / 'demo-fix' / 'patchset.toml'}:4:8: ")
    assert line[marker.index("^") :] == "debug"


def test_a_toml_that_ends_too_early_names_its_last_line(tmp_path):
    message = refusal(write(tmp_path, 'schema = 1\nname = """demo'))
    assert message.startswith(f"{tmp_path / 'demo-fix' / 'patchset.toml'}:2:15: ")


@pytest.mark.parametrize("name", ["patchset.toml", "first.spatch"])
def test_bytes_that_are_not_utf8_are_reported_by_line(tmp_path, name):
    folder = write(tmp_path)
    (folder / name).write_bytes(b"# ok\n# caf\xe9\n" + (folder / name).read_bytes())
    assert f"{folder / name}:2: found the byte 0xe9, expected UTF-8" in refusal(folder)


def test_a_folder_without_a_manifest_is_refused(tmp_path):
    (tmp_path / "demo-fix").mkdir()
    assert "patchset.toml: found no readable file" in refusal(tmp_path / "demo-fix")


def test_a_patch_that_is_a_link_out_of_the_folder_is_refused(tmp_path):
    folder = write(tmp_path)
    (tmp_path / "outside.spatch").write_text(SPATCH)
    (folder / "first.spatch").unlink()
    (folder / "first.spatch").symlink_to(tmp_path / "outside.spatch")
    assert 'variant[0].patches[0]: found "first.spatch", expected the relative path' in refusal(folder)


# ---------------------------------------------------------------- versions


@pytest.mark.parametrize(
    ("versions", "version", "taken"),
    [
        (">=2.6,<3", "2.7.1+cu128", True),
        (">=2.5,<2.6", "2.6.0.dev20240101", False),
        (">=2.5,<3", "2.6.0.dev20240101", True),
        (">=2.0", "2.0.0a0+gitabc", True),
        (">=2.1", "2.1.0a0+git123", True),
        ("~=2.1.0", "2.1.0a0+git123", True),
        ("==2.1.0", "2.1.0a0+git123", True),
        ("==2.1.*", "2.1.0a0+git123", True),
        (">2.1", "2.1.0a0+git123", False),
        ("<2.1", "2.1.0a0+git123", False),
        (">=2.1.0rc1", "2.1.0a0", False),
        ("!=2.1.0a0", "2.1.0a0", False),
        ("==2.7.1", "2.7.1+cu128", True),
        ("!=2.7.1", "2.7.1+cu128", False),
        ("!=2.1.0", "2.1.0a0+git123", False),
        (">=2.1.0-beta.1", "2.1.0a0", False),
        ("", "2.1.0a0+git123", True),
        (">=2", "1.9", False),
    ],
)
def test_vendor_builds_and_nightlies_count_inside_the_range(versions, version, taken):
    assert accepts(versions, version) is taken


@pytest.mark.parametrize(
    ("first", "second", "shared"),
    [
        (">=0.1,<1", ">=1", False),
        ("<=1.13", ">1.13", False),
        ("<2.0", ">=2.0", False),
        ("<=2.0", ">=2.0", True),
        ("<2.0a5", ">=2.0", True),
        ("", "", True),
        ("", ">=3", True),
        (">=1,<1", "", False),
        (">2.0,<2.0.1", ">=2.0.0.1", True),
        ("==2.1.*", "==2.2.*", False),
        ("==2.*", "==2.2.*", True),
        ("==2.*", ">2.99", True),
        ("~=2.1", ">=3", False),
        ("~=2.1", ">=2.99,!=2.99", True),
        ("==1.0", "!=1.0", False),
        ("==1.0", "!=1.0.*", False),
        ("==1.0+cu1", "==1.0+cu2", False),
        ("==1.0+cu1", ">=1", True),
        (">2.0a1,<2.0a3", ">=2.0a2", True),
        (">=2.0a1,<2.0a2", ">=2.0a2,<2.0", False),
        (">=2.0.post1,<2.0.post3", "==2.0.post2", True),
        (">=1.0,!=1.0", "<1.0.post1", True),
        ("<0.dev1", "", True),
        ("<1!0", ">=99", True),
        ("<1.5,!=1.4.*", ">=1.4", False),
    ],
)
def test_two_ranges_overlap_exactly_when_some_version_is_in_both(first, second, shared):
    version = overlap(first, second)
    assert (version is not None) is shared, version
    assert overlap(second, first) == version or shared
    if version:
        assert accepts(first, version) and accepts(second, version)


BOUNDS = ["0", "1.0", "1.0.1", "1.1", "1.0a1", "1.0a1.post1", "1.0a2.dev1", "1.0.dev1", "1.0.post1", "1!0.5"]
CLAUSES = [f"{operator}{bound}" for bound in BOUNDS for operator in ("<", "<=", ">", ">=", "==", "!=")]
CLAUSES += ["~=1.0", "~=1.0.1", "==1.*", "==1.0.*", "!=1.0.*", "!=1.*", "==1.0+x", "!=1.0+x", "~=1.0a1"]
RELEASES = ["0", "0.1", "0.9", "1.0", "1.0.0.1", "1.0.1", "1.0.2", "1.1", "1.1.1", "1.2", "2", "1!0.5", "1!1"]
SUFFIXES = ["", ".dev0", ".dev1", ".dev2", "a0", "a1.dev0", "a1", "a1.post1.dev0", "a1.post1", "a1.post2", "a2.dev0",
            "a2.dev1", "a2.dev2", "a2", "a3", "rc1", ".post0.dev0", ".post0", ".post1.dev0", ".post1", ".post2", "+x"]  # fmt: skip
VERSIONS = [release + suffix for release in RELEASES for suffix in SUFFIXES]


def test_no_overlap_is_missed_among_many_ranges():
    accepted = {}
    for clause in CLAUSES:
        accepted[clause] = {version for version in VERSIONS if accepts(clause, version)}
    random = Random(7)
    overlapping = 0
    for _ in range(1500):
        *first, second = random.sample(CLAUSES, random.choice([2, 3, 4]))
        in_all = set.intersection(accepted[second], *(accepted[clause] for clause in first))
        overlapping += bool(in_all)
        version = overlap(",".join(first), second)
        if version is None:
            assert not in_all, (first, second)
        else:
            assert all(accepts(clause, version) for clause in (*first, second)), (first, second, version)
    assert 300 < overlapping < 1200, "both answers occur often"


OLD, NEW, ANY = Variant("demo", "<2", ()), Variant("demo", ">=2", ()), Variant("demo", "", ())


@pytest.mark.parametrize(
    ("variants", "version", "chosen"),
    [
        ([OLD, NEW], "1.9", OLD),
        ([OLD, NEW], "2.0.0a0+git1", NEW),
        ([OLD], "2.0", None),
        ([NEW, OLD, ANY], "1.9", OLD),
        ([ANY, OLD, NEW], "1.9", ANY),
        ([OLD, ANY], "2.0", ANY),
        ([OLD], "", OLD),
        ([OLD, NEW], "", None),
        ([OLD], "unknown", OLD),
        ([OLD, NEW], "unknown", None),
        ([], "", None),
    ],
)
def test_the_variant_is_the_first_whose_range_holds_the_version(variants, version, chosen):
    assert choose_variant(variants, version) is chosen


def test_variants_are_grouped_by_package(tmp_path):
    other = Variant("other", "", ())
    loaded = manifest.load_patchset(write(tmp_path), "here")._replace(variants=(OLD, other, NEW))
    assert pick_variants(loaded) == {"demo": [OLD, NEW], "other": [other]}


# ---------------------------------------------------------------- places


def test_the_first_place_wins_and_the_others_are_reported(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    named, local = tmp_path / "named", tmp_path / "patchsets"
    write(named)
    write(local, TOML.replace("schema = 1", "schema = 1  # another"))
    write(local, TOML.replace("demo-fix", "only-local"), "only-local")
    match = Catalogue([named]).find("demo-fix")
    assert str(match.patchset.folder.source) == f"--patch-dir {named}"
    assert match.shadows == (f"demo-fix (--patch-dir {named}) is used; it hides demo-fix (./patchsets) in {local / 'demo-fix'}",)
    assert Catalogue([named]).find("only-local") == (manifest.load_patchset(local / "only-local", places.LOCAL), ())
    assert Catalogue([Path("patchsets")]).find("demo-fix").shadows == (), "one folder found twice is no shadow"
    write(tmp_path / "same")
    assert Catalogue([named, tmp_path / "same"]).find("demo-fix").shadows == match.shadows, "the same text is none"


def test_a_patch_dir_may_be_one_patchset_and_must_exist(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = write(tmp_path)
    assert Catalogue([folder]).find("demo-fix").patchset.name == "demo-fix"
    with pytest.raises(UsageError, match="gone: found no such directory"):
        Catalogue([tmp_path / "gone"])


def test_a_name_that_is_nearly_that_of_a_patchset_gets_a_suggestion(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "patchsets")
    with pytest.raises(UsageError) as caught:
        Catalogue([]).find("demo-fux")
    assert caught.value.message == 'there is no patchset "demo-fux"; did you mean "demo-fix"?'
    assert caught.value.hint == "all patchsets: sitepatch list"


def test_an_unknown_name_gets_the_list_and_the_places_that_were_searched(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "patchsets")
    with pytest.raises(UsageError) as caught:
        Catalogue([]).find("else")
    advice, known, searched = caught.value.hint.split("\n")
    assert "sitepatch edit" in advice and "demo-fix" in known
    assert searched.startswith(f"searched: {tmp_path / 'patchsets'} (./patchsets of the current directory), ")
    assert searched.endswith(f"{places.builtin_dir()} (built in)")


def test_a_place_that_is_not_there_is_listed_among_the_searched_ones(tmp_path, monkeypatch):
    write(tmp_path / "patchsets")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with pytest.raises(UsageError) as caught:
        Catalogue([tmp_path / "patchsets"]).find("else")
    named, local = caught.value.hint.partition("searched: ")[2].split(", ", 1)
    assert named == f"{tmp_path / 'patchsets'} (--patch-dir {tmp_path / 'patchsets'})"
    assert local.startswith(f"{tmp_path / 'elsewhere/patchsets'} (./patchsets of the current directory, not there), ")


def test_built_in_patchsets_stay_built_in_when_the_checkout_is_the_working_directory(tmp_path, monkeypatch):
    for cwd in (tmp_path, Path(places.builtin_dir()).parent):
        monkeypatch.chdir(cwd)
        for folders in Catalogue([]).folders.values():
            for _, source in folders:
                assert source == places.BUILT_IN


def test_the_built_in_directory_of_a_wheel_lies_inside_the_package(tmp_path):
    shutil.copytree(ROOT / "patcher", tmp_path / "patcher", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "patcher/_patchsets").mkdir()

    def builtin_dir():
        code = "from patcher.patchset.places import builtin_dir; print(builtin_dir())"
        env = environ(PYTHONPATH=str(tmp_path))
        completed = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=env, stdout=subprocess.PIPE, check=True)
        return completed.stdout.decode().strip()

    assert builtin_dir() == str(tmp_path / "patcher/_patchsets")
    (tmp_path / "patcher/_patchsets").rmdir()
    assert builtin_dir() == str(tmp_path / "patchsets")


def add_wheel(site: Path, entry_points: str) -> None:
    info = site / "vendor_patches-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "entry_points.txt").write_text(entry_points)


@pytest.mark.parametrize("value", ["vendor_patches.sets", "vendor_patches.sets.module", "vendor_patches.sets:ignored"])
def test_a_wheel_can_ship_patchsets_and_is_not_imported(tmp_path, monkeypatch, value):
    monkeypatch.chdir(tmp_path)
    site = tmp_path / "site"
    sets = site / "vendor_patches" / "sets"
    write(sets)
    (sets.parent / "__init__.py").write_text("raise RuntimeError('imported')")
    (sets / "module.py").write_text("raise RuntimeError('imported')")
    add_wheel(site, f"[console_scripts]\nx = y:z\n\n[sitepatch.patchsets]\nvendor = {value}\n")
    for _ in range(2):
        monkeypatch.syspath_prepend(str(site))
    match = Catalogue([]).find("demo-fix")
    assert str(match.patchset.folder.source) == "entry point vendor"
    assert match.shadows == ()


def test_an_entry_point_that_leads_nowhere_is_reported_and_keeps_nothing_else_from_being_used(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    add_wheel(tmp_path / "site", "[sitepatch.patchsets]\nvendor = gone.away\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    write(tmp_path / "patchsets")
    usable, broken = Catalogue([]).load()
    assert "demo-fix" in [each.patchset.name for each in usable]
    assert list(broken) == ["entry point vendor"]
    problem = "the entry point vendor = gone.away leads to no directory on sys.path"
    assert problem in broken["entry point vendor"].message
    with pytest.raises(UsageError) as caught:
        Catalogue([]).find("vendor-fix")
    assert problem in caught.value.hint


# ---------------------------------------------------------------- options


def test_settings_are_read_by_the_type_of_the_option(tmp_path):
    loaded = manifest.load_patchset(write(tmp_path), "here")
    assert resolve_options(loaded, {}) == {"params": 5, "lang": "en", "ratio": 1.0, "loud": False}
    values = resolve_options(loaded, {"params": "-7", "lang": "zh", "ratio": "2", "loud": "Yes"})
    assert values == {"params": -7, "lang": "zh", "ratio": 2.0, "loud": True}
    assert [type(value) for value in values.values()] == [int, str, float, bool]


@pytest.mark.parametrize(
    ("key", "text", "line"),
    [
        ("params", "many", 'found "many", expected a value of type int'),
        ("params", "1_0", 'found "1_0", expected a value of type int'),
        ("ratio", "nan", 'found "nan", expected a value of type float'),
        ("ratio", "inf", 'found "inf", expected a value of type float'),
        ("loud", "maybe", 'found "maybe", expected a value of type bool'),
        ("lang", "enn", 'found "enn", expected a value en or zh; did you mean "en"?'),
        ("param", "1", 'found an unknown option, expected one of params, lang, ratio, loud; did you mean "params"?'),
    ],
)
def test_a_wrong_setting_is_reported_with_what_was_expected(tmp_path, key, text, line):
    loaded = manifest.load_patchset(write(tmp_path), "here")
    with pytest.raises(UsageError) as caught:
        resolve_options(loaded, {key: text})
    assert caught.value.message == f"--set demo-fix.{key}: {line}"


def test_all_wrong_settings_are_reported_together(tmp_path):
    loaded = manifest.load_patchset(write(tmp_path), "here")
    with pytest.raises(UsageError) as caught:
        resolve_options(loaded, {"params": "x", "none": "x"})
    assert len(caught.value.message.split("\n")) == 2


# ---------------------------------------------------------------- the JSON Schema, the built-in ones, the cost


JSON_TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": float, "boolean": bool}


def fits(schema: dict, value: object) -> bool:
    """Whether a value is what a schema says, as far as ours uses JSON Schema."""
    if "$ref" in schema:
        return fits(SCHEMA["definitions"][schema["$ref"].rsplit("/", 1)[1]], value)
    types = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    if type(value) not in [JSON_TYPES[name] for name in types]:
        return False
    if value != schema.get("const", value) or value not in schema.get("enum", [value]):
        return False
    if isinstance(value, str):
        return len(value) >= schema.get("minLength", 0) and bool(re.search(schema.get("pattern", ""), value))
    if isinstance(value, list):
        return len(value) >= schema.get("minItems", 0) and all(fits(schema["items"], item) for item in value)
    if isinstance(value, dict):
        return object_fits(schema, value)
    return True


def object_fits(schema: dict, value: dict) -> bool:
    name_pattern = schema.get("propertyNames", {}).get("pattern", "")
    for key, item in value.items():
        of_item = schema.get("properties", {}).get(key) or schema.get("additionalProperties")
        if not of_item or not fits(of_item, item) or not re.search(name_pattern, key):
            return False
    return set(schema.get("required", ())) <= set(value)


def decoded(text: str) -> dict:
    return toml.decode_toml(text, Path("patchset.toml"))


def test_the_json_schema_has_the_keys_of_the_loader():
    for table, kind in manifest.TABLES.items():
        schema = SCHEMA["definitions"][table] if table else SCHEMA
        assert set(schema["properties"]) == set(kind.keys), table
        assert set(schema.get("required", ())) == set(kind.keys) - set(kind.optional), table
        assert schema["additionalProperties"] is False
    assert tuple(SCHEMA["properties"]["kind"]["enum"]) == KINDS
    assert set(SCHEMA["definitions"]["options"]["properties"]["type"]["enum"]) == set(manifest.OPTION_TYPES)


def test_the_json_schema_takes_what_the_loader_takes_and_no_typos():
    assert fits(SCHEMA, decoded(TOML + SYMPTOM))
    for old, new in [
        ("summary =", "sumary ="),
        ("schema = 1", "schema = 2"),
        ("versions =", "version ="),
        ('"debug"', '"debugg"'),
        ("[options.params]", "[options.Params]"),
        ("author =", "autor ="),
    ]:
        assert not fits(SCHEMA, decoded(TOML.replace(old, new, 1))), new


PLAIN = ["0", "0.1", "0.1.0", "1", "1.0", "1.0.0", "1.0.1", "1.1", "1.10", "2", "2.13.0"]
RANGES = [f"{sign}{bound}" for sign in (">=", ">", "<=", "<") for bound in PLAIN] + [">=0.1, <1", ">1.0,<=2", ""]


@pytest.mark.parametrize("versions", RANGES)
def test_plain_versions_are_compared_as_packaging_compares_them(versions):
    from packaging.specifiers import SpecifierSet

    for version in PLAIN:
        assert accepts(versions, version) == SpecifierSet(versions).contains(version), (versions, version)


BUILT_IN = sorted(each.parent for each in Path(places.builtin_dir()).glob("*/patchset.toml"))


@pytest.mark.parametrize("folder", BUILT_IN, ids=lambda folder: folder.name)
def test_every_built_in_patchset_loads_and_fits_the_json_schema(folder):
    loaded = manifest.load_patchset(folder, places.BUILT_IN)
    assert isinstance(loaded, Patchset) and all(variant.patches for variant in loaded.variants)
    assert fits(SCHEMA, decoded(loaded.folder.files["patchset.toml"]))


def test_there_are_built_in_patchsets():
    assert BUILT_IN


@pytest.mark.parametrize("module", ["patcher.patchset.catalogue", "patcher.patchset.variants", "patcher.installed.environment"])
def test_importing_costs_none_of_the_expensive_modules(module):
    assert expensive_modules_after(f"import {module}") == expensive_modules_after("pass")


def expensive_modules_after(statement):
    """Those that a new interpreter has imported after a statement."""
    expensive = {"libcst", "importlib.metadata", "packaging", "dataclasses", "subprocess", "difflib"}
    code = f"{statement}\nimport sys\nprint(sorted({expensive} & set(sys.modules)))"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True).stdout

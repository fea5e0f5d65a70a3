"""Several patchsets in one file: the state is derived, so the order in which a person does things does not matter."""

from __future__ import annotations

import itertools
import venv
from pathlib import Path
from typing import List, Optional, Tuple

import pytest

from patcher.fixture import lay_out
from patcher.interpreter import discover
from patcher.manifest import load
from patcher.model import State
from patcher.plan import Wanted, plan_apply
from tests.command import DDP, RUNNER, Site, sitepatch, tree

FIX = """Ask for the device instead of believing LOCAL_RANK.

--- mmengine/runner/runner.py
@@ Runner.wrap_model @@
-$MODEL = MMDistributedDataParallel(module=$M, device_ids=[int(os.environ['LOCAL_RANK'])], ...)
+$MODEL = MMDistributedDataParallel(module=$M, device_ids=None, ...)
"""
CLASH = FIX.replace("device_ids=None", "device_ids=[]")
TITLE = """Say hello.

--- mmengine/runner/runner.py
@@ Runner.wrap_model @@
 def wrap_model(...):
+    print($text)
     ...
"""


def patchset(folder: Path, name: str, text: str, kind: str = "fix", options: str = "", version: str = "1") -> None:
    """Write (or overwrite) a patchset folder for mmengine."""
    target = folder / "patches" / name
    target.mkdir(parents=True, exist_ok=True)
    (target / "patchset.toml").write_text(
        f'schema = 1\nname = "{name}"\nversion = "{version}"\nkind = "{kind}"\nsummary = "For a test"\n{options}'
        '[[variant]]\npackage = "mmengine"\nversions = ""\npatches = ["p.spatch"]\n'
    )
    (target / "p.spatch").write_text(text)


TEXT_OPTION = '[options.text]\ntype = "str"\ndefault = "hello"\nhelp = "what to say"\n'


@pytest.fixture()
def site(tmp_path: Path) -> Site:
    patchset(tmp_path, "ids-fix", FIX)
    patchset(tmp_path, "ids-clash", CLASH)
    patchset(tmp_path, "title", TITLE, "default", TEXT_OPTION)
    return Site(tmp_path, "mmengine-0.10.7")


def apply(site: Site, *words: str) -> None:
    ended = site("apply", *words, "--patch-dir", "patches")
    assert ended.code == 0, ended


@pytest.mark.once
def test_every_order_of_applying_gives_the_same_bytes_and_every_order_of_restoring_the_pristine_ones(site: Site) -> None:
    pristine, seen = site.tree(), set()
    for applied in itertools.permutations(["ids-fix", "title", DDP]):
        for name in applied:
            apply(site, name)
        seen.add(site.file().read_bytes())
        for name in applied[1:] + applied[:1]:
            assert site("restore", name).code == 0
        assert site.tree() == pristine
    assert len(seen) == 1


def test_the_debug_patchset_reports_what_the_fix_has_made_of_the_code(site: Site) -> None:
    apply(site, DDP)
    assert "lambda: [int(os.environ['LOCAL_RANK'])])" in site.file().read_text()
    apply(site, "ids-fix")
    assert "lambda: None)" in site.file().read_text()


def test_taking_the_fix_back_leaves_what_the_debug_patchset_alone_would_have_made(site: Site, tmp_path: Path) -> None:
    apply(site, DDP)
    alone = site.file().read_bytes()
    apply(site, "ids-fix")
    for path in (tmp_path / "patches" / "ids-fix").iterdir():
        path.unlink()  # the source may be gone: the store has kept what it needs
    assert site("restore", "ids-fix").code == 0
    assert site.file().read_bytes() == alone


def test_a_changed_option_is_an_update_through_the_pristine_copy(site: Site) -> None:
    apply(site, "title")
    assert "print('hello')" in site.file().read_text()
    apply(site, "title", "--set", "text=good morning")
    assert "print('good morning')" in site.file().read_text()
    assert "print('hello')" not in site.file().read_text()
    back = site("apply", "title", "--patch-dir", "patches")
    assert "an option changes: text 'good morning' -> 'hello'" in back.err


def test_an_option_with_the_value_that_stands_there_changes_nothing_and_says_so(site: Site, tmp_path: Path) -> None:
    text = (
        "Why.\n\n--- mmengine/runner/runner.py\n@@ Runner.wrap_model @@\n"
        "-self.cfg.get('find_unused_parameters', False)\n+self.cfg.get('find_unused_parameters', $unused)\n"
    )
    patchset(tmp_path, "unused", text, "fix", '[options.unused]\ntype = "bool"\ndefault = true\nhelp = "default"\n')
    before = site.tree()
    ended = site("apply", "unused", "--set", "unused=no", "--patch-dir", "patches")
    assert ended.code == 0, ended
    assert "upstream" in ended.out
    assert site.tree() == before


def test_a_new_version_of_a_patchset_replaces_the_old_one_also_where_it_no_longer_changes_a_file(site: Site, tmp_path: Path) -> None:
    both = TITLE + "\n--- mmengine/dist/utils.py\n@@ <module> @@\n ...\n+GREETED = True\n"
    patchset(tmp_path, "title", both, "default", TEXT_OPTION)
    before = tree(site.path)
    apply(site, "title")
    assert "GREETED" in site.file("mmengine/dist/utils.py").read_text()
    patchset(tmp_path, "title", TITLE, "default", TEXT_OPTION, version="2")
    assert "outdated" in site("status", "--patch-dir", "patches").out
    apply(site, "title")
    after = tree(site.path)
    assert after["mmengine/dist/utils.py"] == before["mmengine/dist/utils.py"]
    assert after[RUNNER] != before[RUNNER]


def test_two_patchsets_that_want_the_same_code_are_a_conflict_and_nothing_is_written(site: Site) -> None:
    apply(site, "ids-fix")
    before = site.tree()
    ended = site("apply", "ids-clash", "--patch-dir", "patches")
    assert ended.code == 1
    assert "conflict" in ended.out + ended.err or "not found" in ended.out + ended.err
    assert site.tree() == before


def test_diff_of_one_patchset_shows_its_own_change_only(site: Site) -> None:
    apply(site, "ids-fix")
    apply(site, "title")
    shown = site("diff", "title", "--patch-dir", "patches").out
    assert "+        print('hello')" in shown
    assert "device_ids=None" not in shown


def test_a_part_that_is_upstream_while_another_is_not_is_a_conflict_also_across_files(site: Site, tmp_path: Path) -> None:
    both = TITLE.replace("$text", "1") + "\n--- mmengine/dist/utils.py\n@@ <module> @@\n ...\n+GREETED = True\n"
    patchset(tmp_path, "halves", both)
    utils = site.file("mmengine/dist/utils.py")
    for flags, code in (("", 1), (" when-present", 0)):
        patchset(tmp_path, "halves", both.replace("@@ <module> @@", f"@@ <module> @@{flags}"))
        edited = Site(tmp_path / f"edited{code}", "mmengine-0.10.7")
        target = edited.file("mmengine/dist/utils.py")
        target.write_text(utils.read_text() + "GREETED = True\n")
        (record,) = edited.path.glob("*.dist-info/RECORD")
        rows = [row for row in record.read_text().splitlines() if not row.startswith("mmengine/dist/utils.py,")]
        record.write_text("\n".join([*rows, "mmengine/dist/utils.py,,"]) + "\n")
        ended = edited("apply", "halves", "--patch-dir", tmp_path / "patches")
        assert ended.code == code, ended
        assert ("upstream did it another way" in ended.out) == bool(code), ended


def test_a_file_that_two_sections_name_gets_the_hunks_of_both(site: Site, tmp_path: Path) -> None:
    patchset(tmp_path, "halves", TITLE.replace("$text", "1") + "\n" + FIX.split("\n", 2)[2])
    apply(site, "halves")
    assert "        print(1)\n" in site.file().read_text()
    assert "device_ids=None" in site.file().read_text()
    assert "nothing to do" in site("apply", "halves", "--patch-dir", "patches").out
    assert site("restore").code == 0
    assert not (site.path / ".sitepatch").exists()


def test_a_package_in_a_directory_that_a_pth_adds_is_patched_and_taken_back(tmp_path: Path) -> None:
    lay_out("mmengine-0.10.7", tmp_path / "elsewhere")
    venv.create(tmp_path / "env", with_pip=False)
    (packages,) = (tmp_path / "env").glob("lib/python*/site-packages")
    (packages / "more.pth").write_text(f"{tmp_path / 'elsewhere'}\n")
    before = tree(tmp_path / "elsewhere")
    for words in (["apply", DDP], ["status"], ["restore"]):
        ended = sitepatch(*words, "--python", tmp_path / "env", cwd=tmp_path)
        assert ended.code == 0, ended
        assert "mmengine/runner/runner.py" in ended.out, ended
    assert tree(tmp_path / "elsewhere") == before


# which file, which variant --------------------------------------------------------------------------------------------
OLD, NEW = "mmengine/old.py", "mmengine/new.py"
MOVED = f"""Ask for less.

--- {OLD}
--- {NEW}
@@ load @@
-read(name, 1)
+read(name, 2)
@@ <module> @@ when-present
-RETRIES = 3
+RETRIES = 4
"""
CODE = "def load(name):\n    return read(name, 1)\n\n\ndef read(name, times):\n    return name * times\n"
GONE = CODE.replace("read(name, 1)", "read(name)")
SHIM = "from mmengine._impl import load\n"
BELOW = "RETRIES = 3\nfrom mmengine._impl import load\n"


def planned(folder: Path, *patchsets: str) -> List[Tuple[str, str]]:
    """(path, state) of each answer for these patchsets of `folder / "patches"` on `folder / "site"`."""
    wanted = [Wanted(load(folder / "patches" / name, "here"), {}) for name in patchsets]
    answers = plan_apply(discover(None, str(folder / "site")), wanted).answers
    found = [(answer.path, answer.state.value) for answer in answers if answer.state is not State.NOT_NEEDED]
    return list(dict.fromkeys(found))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (CODE, SHIM, (OLD, "applicable")),
        (SHIM, CODE, (NEW, "applicable")),
        (BELOW, CODE, (NEW, "applicable")),  # a part of the code that need not be there does not win
        (SHIM, CODE.replace("1", "2"), (NEW, "upstream")),
        (SHIM, GONE, (NEW, "not found")),  # by the scope alone
        (SHIM, "def broken(:\n", (OLD, "not found")),
        (SHIM, SHIM, (OLD, "not found")),
        (CODE, CODE, (OLD, "ambiguous")),
        (CODE, None, (OLD, "applicable")),
    ],
)
def test_of_alternative_places_the_one_with_the_code_is_meant(
    tmp_path: Path, old: str, new: Optional[str], expected: Tuple[str, str]
) -> None:
    patchset(tmp_path, "moved", MOVED)
    site = Site(tmp_path, "mmengine-0.10.7")
    for path, text in ((OLD, old), (NEW, new)):
        if text is not None:
            site.file(path).write_text(text)
    assert planned(tmp_path, "moved") == [expected]


def test_of_alternative_places_it_stays_the_one_that_was_patched(tmp_path: Path) -> None:
    patchset(tmp_path, "moved", MOVED)
    site = Site(tmp_path, "mmengine-0.10.7")
    for path, text in ((OLD, BELOW), (NEW, CODE)):
        site.file(path).write_text(text)
    apply(site, "moved", "--no-verify")
    assert planned(tmp_path, "moved") == [(NEW, "applied")]


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("mmengine/runner/runers.py", "mmengine/runner/runner.py"),
        ("mmengine/loops/runner.py", "mmengine/runner/runner.py"),
        ("mmengine/runer/runer.py", "mmengine/runner/runner.py"),
        ("mmengine/dist/zzz.py", ""),
    ],
)
def test_a_file_that_is_not_there_is_named_as_it_is_there(tmp_path: Path, path: str, near: str) -> None:
    patchset(tmp_path, "typo", f"--- {path}\n@@ f @@\n-old(1)\n+old(2)\n")
    site = Site(tmp_path, "mmengine-0.10.7")
    wanted = Wanted(load(tmp_path / "patches/typo", "here"), {})
    (answer,) = plan_apply(discover(None, str(site.path)), [wanted]).answers
    assert answer.state is State.NOT_FOUND
    expected = f"the nearest name there is {near}: write that path if it is meant" if near else "moved or removed"
    assert expected in answer.hint


@pytest.mark.parametrize(
    ("version", "code", "expected"),
    [
        ("0.0.0", CODE, [(NEW, "applicable")]),
        ("0.0.0+unknown", CODE.replace("1", "7"), [(NEW, "applicable")]),
        ("unknown", CODE, [(NEW, "applicable")]),
        ("0.0.0", SHIM, [("mmengine", "not found")]),
        ("0.0.0", CODE + CODE.replace("1", "7").replace("load", "again"), [("mmengine", "not found")]),
        ("1.5", CODE, [(NEW, "applicable")]),
        ("1.5", CODE.replace("1", "7"), [(NEW, "not found")]),
        ("3.0", CODE, [("mmengine", "not found")]),
    ],
)
def test_where_the_version_says_nothing_the_variant_is_the_one_whose_code_is_there(
    tmp_path: Path, version: str, code: str, expected: List[Tuple[str, str]]
) -> None:
    text = f"--- {NEW}\n@@ load @@\n-read(name, 1)\n+read(name, 2)\n"
    patchset(tmp_path, "ask", text)
    manifest = tmp_path / "patches/ask/patchset.toml"
    second = '[[variant]]\npackage = "mmengine"\nversions = ">=2,<3"\npatches = ["q.spatch"]\n'
    manifest.write_text(manifest.read_text().replace('versions = ""', 'versions = ">=1,<2"') + second)
    scope = "again" if "again" in code else "load"
    (tmp_path / "patches/ask/q.spatch").write_text(text.replace("1", "7").replace("load", scope))
    site = Site(tmp_path, "mmengine-0.10.7")
    site.file(NEW).write_text(code)
    (info,) = site.path.glob("*.dist-info")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: mmengine\nVersion: {version}\n")
    assert planned(tmp_path, "ask") == expected

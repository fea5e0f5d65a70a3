"""Several patchsets in one file: the state is derived, so the order in which a person does things does not matter."""

from __future__ import annotations

import itertools
import venv
from pathlib import Path

import pytest

from patcher.fixture import lay_out
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

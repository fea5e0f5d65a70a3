"""What others do to a file is noticed and kept: edits by hand, and pip in a real environment. Every test runs the command."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from patcher.installed.interpreter import discover
from patcher.planner.merge import parses
from patcher.store.status import recover_all
from patcher.store.store import Store
from tests.command import DDP, RUNNER, done, environ, sitepatch, tree
from tests.failures import Clock
from tests.planner.helpers import FIX, TITLE, patchset
from tests.shop import CODE, OTHER, Shop
from tests.users import NOBODY, as_user, public

pytestmark = pytest.mark.once

__all__ = ["public"]
MINE = b"# mine\n"


def edit(site, old, new, path=RUNNER):
    """Edit a file as an editor does: other bytes, a new mtime, the same mode."""
    data = site.file(path).read_bytes()
    assert data.count(old) == 1, data.count(old)
    site.file(path).write_bytes(data.replace(old, new))


def outside(entries):
    """A tree without what lies in the store."""
    return {name: entry for name, entry in entries.items() if not name.startswith(".sitepatch")}


def refused(site, words, *texts, code=1):
    before = site.tree()
    ended = done(site(*words), code)
    for text in texts:
        assert text in ended.out + ended.err, ended
    assert site.tree() == before
    return ended


# edited before --------------------------------------------------------------------------------------------------------
def test_a_file_edited_before_is_refused_and_with_force_comes_back_as_it_was_edited(site):
    with site.file().open("ab") as file:
        file.write(MINE)
    site.file().chmod(0o600)
    os.utime(site.file(), ns=(1_500_000_000_000_000_007, 1_500_000_000_000_000_007))
    before = site.tree()
    refused(site, ["apply", DDP], "somebody edited it", f"or keep it: sitepatch apply {DDP} --force")
    forced = done(site("apply", DDP, "--force"))
    kept = site.path / ".sitepatch" / "pristine" / before[RUNNER][0]
    assert str(kept) in forced.err
    assert hashlib.sha256(kept.read_bytes()).hexdigest() == before[RUNNER][0]
    assert MINE in site.file().read_bytes()
    ended = done(site("status", "--check"))
    assert "edited by hand before it was patched (unproven); restore gives the edited file back" in ended.out
    states = {each["path"]: each["origin"] for each in json.loads(site("status", "--json").out)["files"]}
    assert (states.pop(RUNNER), set(states.values())) == ("edited", {"recorded"})
    done(site("apply", DDP, "--set", "params=1"))  # an update needs no --force: the original is known
    done(site("restore"))
    assert site.tree() == before


def test_an_earlier_edit_is_not_lost_when_a_reinstall_replaces_the_file(site):
    shipped = site.file().read_bytes()
    edit(site, b"\nclass Runner", b"\nMINE = 1\n\nclass Runner")
    edited = site.file().read_bytes()
    for command in (["apply", DDP], ["restore"]):
        done(site("apply", DDP, "--force"))
        site.file().write_bytes(shipped)
        (kept,) = [line for line in done(site(*command)).err.split() if "/.sitepatch/edited/" in line]
        assert Path(kept).read_bytes() == edited
        done(site("restore"))
        assert site.file().read_bytes() == shipped
        site.file().write_bytes(edited)
        shutil.rmtree(str(site.path / ".sitepatch"))


def test_an_unrecorded_file_is_patched_and_reported_as_unproven(site):
    (record,) = site.path.glob("*.dist-info/RECORD")
    record.write_text("".join(line for line in record.read_text().splitlines(True) if not line.startswith(RUNNER)))
    before = site.tree()
    assert "no hash is recorded for it" in done(site("apply", DDP)).err
    ended = done(site("status", "--check"))
    assert ended.out.count("no RECORD proves the original file (unproven)") == 1
    done(site("restore"))
    assert site.tree() == before


# edited after ---------------------------------------------------------------------------------------------------------


def test_edits_after_are_kept_and_only_our_change_is_taken_out(site):
    """One place after the other, and all together: each line of the file that we did not touch."""
    pristine = site.file().read_bytes()
    before = site.tree()
    lines = pristine.splitlines(keepends=True)
    done(site("apply", DDP))
    patched = site.file().read_bytes()
    ours = set(patched.splitlines()) - set(pristine.splitlines())
    points = [at for at, line in enumerate(lines) if pristine.count(line) == 1 and patched.count(line) == 1 and line.strip()]
    assert len(points) > 15
    for at in [*points[::4], None]:
        places = points if at is None else [at]
        expected, edited = pristine, patched
        for place in places:
            line = lines[place]
            new = line[: len(line) - len(line.lstrip())] + b"pass  # mine %d\n" % place + line
            if not (parses(expected.replace(line, new)) and parses(edited.replace(line, new))):
                new = line.rstrip() + b"  # mine %d\n" % place
                if not parses(edited.replace(line, new)):
                    continue
            expected, edited = expected.replace(line, new), edited.replace(line, new)
        assert edited != patched
        site.file().write_bytes(edited)
        assert "edited by hand" in done(site("status", "--check"), 1).out
        back = done(site("restore"))
        assert "what was edited by hand stays" in back.out
        assert site.file().read_bytes() == expected
        assert not ours & set(site.file().read_bytes().splitlines())
        assert not (site.path / ".sitepatch").exists()
        assert "nothing is applied" in site("status").out
        refused(site, ["apply", DDP], "somebody edited it")
        site.file().write_bytes(pristine)
        os.utime(site.file(), ns=(before[RUNNER][2],) * 2)
        done(site("apply", DDP))
    done(site("restore"))
    assert site.tree() == before


def test_an_edit_of_what_we_wrote_is_refused_with_its_line_and_nothing_changes(site):
    done(site("apply", DDP))
    lines = site.file().read_bytes().splitlines()
    ours = next(line for line in lines if b"_sitepatch_ddp_report(" in line and lines.count(line) == 1)
    edit(site, ours + b"\n", ours.replace(b"(", b"( ", 1) + b"  # mine\n")
    number = next(at for at, line in enumerate(site.file().read_bytes().splitlines(), 1) if line.endswith(b"# mine"))
    refused(site, ["restore"], "edited by hand where it was patched", f"at line {number}: ", "# mine", "--force")
    refused(site, ["restore", "--dry-run"], f"at line {number}: ")
    assert site.file("mmengine/dist/utils.py").read_bytes().count(b"sitepatch")  # all files or none


def test_a_text_that_is_not_python_without_our_change_is_refused(site):
    text = TITLE.replace("    print($text)", "    if self:\n+        print($text)")
    patchset(site.cwd, "title", text, options='[options.text]\ntype = "str"\ndefault = "hello"\nhelp = "what to say"\n')
    done(site("apply", "title", "--patch-dir", "patches"))
    ours = next(line for line in site.file().read_bytes().splitlines(keepends=True) if b"print('hello')" in line)
    space = b" " * (len(ours) - len(ours.lstrip()) - 4)
    edit(site, ours, ours + space + b"else:\n" + space + b"    print('mine')\n")
    refused(site, ["restore"], "without our change it would be no valid Python", "--force")


def test_our_change_taken_out_by_hand_in_part_or_whole_is_no_edit_to_keep(site):
    pristine = site.tree()
    data = site.file().read_bytes()
    done(site("apply", DDP))
    lines = data.splitlines(keepends=True)
    now = site.file().read_bytes().splitlines(keepends=True)
    first = next(at for at in range(len(lines)) if lines[at] != now[at])
    while now[first] != lines[first]:
        del now[first]
    assert b"".join(now) != data
    site.file().write_bytes(b"".join(now))
    done(site("restore"))
    assert site.tree() == pristine

    done(site("apply", DDP))
    site.file().write_bytes(data)
    assert "overwritten" in site("status").out
    done(site("restore"))
    assert site.file().read_bytes() == data


def test_one_of_two_patchsets_is_taken_out_of_an_edited_file_then_the_other(site):
    patchset(site.cwd, "ids-fix", FIX)
    pristine = site.file().read_bytes()
    for first, second in (("ids-fix", DDP), (DDP, "ids-fix")):
        done(site("apply", DDP, "ids-fix", "--patch-dir", "patches"))
        site.file().write_bytes(site.file().read_bytes() + MINE)  # a patchset inserts above the first line
        part = done(site("restore", first))
        assert f"but for {second}, still applied, and what was edited by hand" in part.out
        ended = done(site("status", "--check"), 1)
        assert ended.out.count("edited by hand") == 1 and second in ended.out
        done(site("restore", second))
        assert site.file().read_bytes() == pristine + MINE
        site.file().write_bytes(pristine)


def test_restore_with_force_keeps_a_copy_in_the_store_that_outlives_it_and_is_reported(site):
    before = site.tree()
    done(site("apply", DDP))
    with site.file().open("ab") as file:
        file.write(MINE)
    edited, here = site.file().read_bytes(), sorted(os.listdir(site.cwd))
    forced = done(site("restore", "--force"))
    assert outside(site.tree()) == before
    (kept,) = (site.path / ".sitepatch" / "edited").iterdir()
    assert str(kept) in forced.err
    assert kept.read_bytes() == edited
    assert kept.stat().st_mode == site.file().stat().st_mode
    assert sorted(path.name for path in (site.path / ".sitepatch").iterdir()) == ["edited", "lock"]
    assert kept.suffix != ".py"  # or compileall would compile it
    assert sorted(os.listdir(site.cwd)) == here
    ended = done(site("status", "--check"))
    assert str(kept) in ended.err
    assert json.loads(site("status", "--json").out)["kept"] == [str(kept)]
    now = kept.stat().st_ctime
    assert (Store(str(site.path)).edited_copies(now), Store(str(site.path)).edited_copies(now + 1)) == ([str(kept)], [])
    sentence = f"{kept.parent} keeps 1 edited text set aside, {len(edited):,} bytes"
    assert sentence in site("doctor").out and f"rm -r {kept.parent}" in site("doctor").out
    done(site("apply", DDP))
    done(site("restore"))
    assert kept.read_bytes() == edited
    kept.unlink()
    kept.parent.rmdir()
    done(site("apply", DDP))
    done(site("restore"))
    assert site.tree() == before


def test_apply_on_a_file_edited_after_is_refused_and_with_force_keeps_a_copy(site):
    before = site.tree()
    done(site("apply", DDP))
    patched = site.file().read_bytes()
    with site.file().open("ab") as file:
        file.write(MINE)
    refused(site, ["apply", DDP], "edited by hand after it was patched", "take our change out and keep the edit")
    forced = done(site("apply", DDP, "--force"))
    assert site.file().read_bytes() == patched
    (kept,) = (site.path / ".sitepatch" / "edited").iterdir()
    assert kept.read_bytes() == patched + MINE
    assert str(kept) in forced.err
    done(site("restore"))
    assert outside(site.tree()) == before


def test_status_reports_lost_and_damaged_copies_that_a_restore_needs(site):
    done(site("apply", DDP))
    for folder, harm in (("pristine", "the pristine copy is damaged"), ("patchsets", "the stored patchset is damaged")):
        copy = sorted((site.path / ".sitepatch" / folder).iterdir())[0]
        good = copy.read_bytes()
        copy.write_bytes(good.replace(b"e", b"a", 1) if folder == "pristine" else good.replace(b"DDP", b"DPD"))
        ended = done(site("status", "--check"), 1)
        assert harm in ended.out and str(copy) in ended.out and "hint: " in ended.out
        copy.unlink()
        ended = done(site("status", "--check"), 1)
        assert f"{copy}: is missing" in ended.out
        copy.write_bytes(good)
    done(site("status", "--check"))


def test_status_does_not_wait_for_a_run_that_is_under_way(site):
    hold = (
        "import os, sys, patcher.store.journal as j, patcher.verbs.main as c\n"
        "write = j.write_journal\n"
        "def stop(home, phase, *rest, **more):\n"
        "    write(home, phase, *rest, **more)\n"
        "    phase == 'committing' and (os.write(1, b'here\\n'), sys.stdin.readline())\n"
        "j.write_journal = stop\n"
        f"sys.argv = ['sitepatch', 'apply', '{DDP}', '-q', '--target', {str(site.path)!r}]\n"
        "c.main()\n"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", hold], env=environ(), cwd=str(site.cwd), **pipes) as child:
        assert child.stdout.readline() == b"here\n"
        ended = done(site("status", "--check"), 1)
        assert "under way" in ended.out and str(child.pid) in ended.out, ended
        child.communicate(b"\n")
    assert child.returncode == 0
    done(site("status", "--check"))


def test_status_reports_an_interrupted_run_where_it_may_not_write(site, public):
    done(site("apply", DDP))
    (site.path / ".sitepatch" / "journal.json").write_text(
        '{"format": 1, "sitepatch": "0.1.0", "phase": "preparing", "files": [], "named": []}'
    )
    folders = [site.path, *(path for path in site.path.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    before = site.tree()

    def look():
        recovered, ((word, where, why),) = recover_all(discover(None, str(site.path)))
        assert (recovered, word, where) == ([], "interrupted", str(site.path))
        assert "will be undone" in why and "it is user 0's: that user's `sitepatch status` does it" in why

    try:
        as_user(NOBODY, look)
        assert site.tree() == before
    finally:
        for folder in folders:
            folder.chmod(0o755)


# pip ------------------------------------------------------------------------------------------------------------------
FITS = CODE.replace("def late", "def later").replace("# ", "")


@pytest.fixture(scope="module")
def empty_shop(tmp_path_factory):
    return Shop(tmp_path_factory.mktemp("shop"))


@pytest.fixture
def shop(empty_shop):
    """One environment for all, which each test gets with release 1.0 patched."""
    shutil.rmtree(str(empty_shop.site / ".sitepatch"), ignore_errors=True)
    for path in empty_shop.site.glob("shop*"):
        shutil.rmtree(str(path))
    empty_shop.install("1.0")
    done(empty_shop("apply", "shop-abs"))
    assert empty_shop.state() == "applied"
    return empty_shop


def forgets(shop):
    """`restore` drops the receipt and leaves all that pip installed alone."""
    before = outside(tree(shop.site))
    restored = done(shop("restore"))
    assert "forgotten" in restored.out and "processes that are running" not in restored.err
    assert outside(tree(shop.site)) == before
    assert not (shop.site / ".sitepatch").exists()


def test_a_reinstall_of_the_same_release_is_reported_and_applied_again(shop):
    shop.install("1.0")
    ended = done(shop("status", "--check"), 1)
    assert "a reinstall replaced the file, our change is gone; apply again, or restore to forget it" in ended.out
    assert "a reinstall replaced the file, the change of shop-abs is gone" in done(shop("apply", "shop-abs")).err
    assert shop.state() == "applied"
    done(shop("restore"))
    assert shop.file.read_text() == CODE


@pytest.mark.parametrize("version", ["2.0", "0.9"])
def test_another_release_that_fits_is_reported_and_never_gets_the_old_file_back(shop, version):
    shop.install(version, FITS)
    out = done(shop("status", "--check"), 1).out
    assert f"shop {version} was installed over 1.0" in out and f"hint: it fits shop {version}: sitepatch apply shop-abs" in out
    forgets(shop)
    shop.install("1.0")
    done(shop("apply", "shop-abs", "--set", "word=it's"))
    shop.install(version, FITS)
    assert f"hint: it fits shop {version}: sitepatch apply shop-abs --set 'word=it'\"'\"'s'" in done(shop("status")).out
    again = done(shop("apply", "shop-abs")).err
    assert f"shop {version} was installed over 1.0, the change of shop-abs is gone" in again and "it was applied with word = \"it's\", and 'a' is asked for now" in again
    assert "abs(" in shop.file.read_text() and "later" in shop.file.read_text()
    done(shop("restore"))
    assert shop.file.read_text() == FITS


def test_all_new_releases_are_named_where_a_patchset_is_for_several_packages(tmp_path):
    folder, manifest = tmp_path / "patches/both", 'schema = 1\nname = "both"\nversion = "1"\nkind = "fix"\nsummary = "For a test"\n'
    folder.mkdir(parents=True)
    for name in ("one", "two"):
        manifest += f'[[variant]]\npackage = "{name}"\nversions = ""\npatches = ["{name}.spatch"]\n'
        (folder / f"{name}.spatch").write_text(f"Why.\n\n--- {name}/__init__.py\n@@ <module> @@\n-A = 1\n+A = 2\n")
    (folder / "patchset.toml").write_text(manifest)

    def install(version, code):
        for name in ("one", "two"):
            shutil.rmtree(tmp_path / f"site/{name}-1.dist-info", ignore_errors=True)
            for path, text in ((f"{name}/__init__.py", code), (f"{name}-{version}.dist-info/METADATA", f"Name: {name}\nVersion: {version}\n")):
                (tmp_path / "site" / path).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / "site" / path).write_text(text)

    def run(*words):
        return sitepatch(*words, "--target", "site", "--patch-dir", "patches", cwd=tmp_path)

    install("1", "A = 1\n")
    done(run("apply", "both"))
    install("2", "A = 1\nB = 1\n")
    assert "hint: it fits one 2 and two 2: sitepatch apply both" in done(run("status")).out


def test_a_release_that_does_not_fit_is_reported_and_left_alone(shop):
    shop.install("3.0", OTHER)
    before = tree(shop.site)
    refusal = done(shop("apply", "shop-abs"), 1)
    assert "not found" in refusal.out and "nothing was written" in refusal.err
    assert tree(shop.site) == before
    assert shop.state() == "overwritten"
    assert "hint: it does not fit shop 3.0 (" in done(shop("status")).out
    forgets(shop)


def test_a_release_with_the_same_bytes_is_reported_with_its_version(shop):
    shop.install("1.1")
    assert "shop 1.1 was installed over 1.0" in done(shop("status", "--check"), 1).out
    done(shop("apply", "shop-abs"))
    assert json.loads(shop("status", "--json").out)["files"][0]["version"] == "1.1"
    done(shop("restore"))
    assert shop.file.read_text() == CODE


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_a_release_that_ships_our_very_bytes_is_not_restored_to_the_old_ones(shop, version):
    shop.install(version, shop.file.read_text())
    out = done(shop("status")).out
    command = f"sitepatch restore shop-abs --python {shop.venv}"
    dropped = f"hint: shop 2.0 has the change itself; drop it: {command}, and no project has to ask for it any more"
    assert (dropped in out and "upstream  shop-abs" in out) == (version == "2.0"), out
    assert ("shop-abs can go" in shop("doctor").out) == (version == "2.0")
    forgets(shop)
    assert "abs(" in shop.file.read_text()
    assert "fixed upstream" in done(shop("apply", "shop-abs")).out


def test_apply_over_a_release_that_ships_our_very_bytes_drops_the_receipt_and_applies_nothing(shop):
    shop.install("2.0", shop.file.read_text())
    out = done(shop("apply", "shop-abs")).out
    assert "shop-abs: nothing to do, the file has the code of its `+` lines already" in out
    assert "applied  " not in out and "restore with" not in out
    assert "nothing is applied in" in done(shop("status")).out


def test_another_release_edited_by_hand_is_not_merged_with_the_old_one(shop):
    shop.install("2.0", FITS)
    shop.file.write_text(FITS + "# mine\n")
    assert shop.state() == "overwritten"
    refusal = done(shop("apply", "shop-abs"), 1)
    assert shop.plan_rollback("2.0") in refusal.out
    forgets(shop)


def test_our_file_of_one_release_in_another_is_refused_with_the_way_out(shop):
    patched = shop.file.read_bytes()
    shop.install("2.0", FITS)
    shop.file.write_bytes(patched)
    before = tree(shop.site)
    way_out = shop.plan_rollback("2.0")
    for words in (["status", "--check"], ["restore"], ["restore", "--force"], ["apply", "shop-abs"]):
        ended = done(shop(*words), 1)
        assert way_out in ended.out, ended
    assert tree(shop.site) == before
    shop.install("2.0", FITS)
    forgets(shop)


@pytest.mark.parametrize("edited", [False, True])
def test_an_uninstall_leaves_no_ghost_and_restore_makes_none(shop, edited):
    if edited:
        shop.file.write_bytes(shop.file.read_bytes() + MINE)
    shop.pip("uninstall", "-y", "shop")
    assert not (shop.site / "shop").exists()
    ended = done(shop("status", "--check"), 1)
    assert "shop is not installed any more; restore forgets it" in ended.out
    assert "shop is not installed" in done(shop("apply", "shop-abs"), 1).out
    forgets(shop)
    assert not (shop.site / "shop").exists()
    asked = [str(shop.venv / "bin/python"), "-c", "import importlib.util as u; print(u.find_spec('shop'))"]
    assert subprocess.run(asked, stdout=subprocess.PIPE, check=True).stdout == b"None\n"


def test_a_forced_reinstall_after_an_edit_is_no_edit(shop):
    shop.file.write_bytes(shop.file.read_bytes() + MINE)
    assert shop.state() == "edited by hand"
    shop.install("1.0")
    assert shop.state() == "overwritten"
    forgets(shop)


# what stands ----------------------------------------------------------------------------------------------------------
def test_a_hunk_that_was_not_needed_is_reported_so_again_and_not_as_applied(site):
    extra = "\n@@ Runner.wrap_model @@ when-present\n-self.no_such_thing_here()\n+self.nor_this()\n"
    patchset(site.cwd, "ids-fix", FIX + extra)
    words = ["apply", "ids-fix", "--patch-dir", "patches", "--json"]
    first, again = (json.loads(done(site(*words)).out)["answers"] for _ in range(2))
    assert [each["state"] for each in first] == ["applicable", "not needed"]
    assert [each["state"] for each in again] == ["applied", "not needed"]


def test_status_reports_an_edited_text_that_was_set_aside_while_that_is_news(site, monkeypatch):
    import time

    from click.testing import CliRunner

    from patcher.verbs.main import commands

    done(site("apply", DDP))
    with site.file().open("ab") as file:
        file.write(MINE)
    done(site("restore", "--force"))

    def told():
        return "an edited text that was set aside" in CliRunner().invoke(commands, ["status", "--target", str(site.path)]).output

    assert told()
    later = time.time() + 24 * 60 * 60 + 60
    Clock(monkeypatch, later)
    assert not told()

"""What a person sees on a terminal: few lines, and none that repeats another or says that all is well."""

import os
import re
import subprocess
import sys

import pytest

from tests.command import DDP, Site, done, environ, sitepatch
from tests.records import with_record, write_files

pty = pytest.importorskip("pty")
pytestmark = pytest.mark.once
RUNNING = "running processes keep the old code"


def on_terminal(site, *words, columns=200):
    """The lines that a command writes to a terminal, without its progress; the paths of tests are long."""
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "patcher", *words, "--target", str(site.path)]
    variables = environ(COLUMNS=str(columns), LINES="500", TERM="xterm", NO_COLOR="1", PAGER="cat")
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=follower, stderr=follower, env=variables, cwd=site.cwd)
    os.close(follower)
    shown = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    child.wait()
    os.close(leader)
    return [line.rpartition("\x1b[K")[2] for line in shown.decode().replace("\r", "").splitlines()]


def test_apply_prints_six_lines_at_most_and_the_second_time_one(site):
    first = on_terminal(site, "apply", DDP)
    assert 2 <= len(first) <= 6 and first[-1].startswith(f"note: {RUNNING}")
    assert on_terminal(site, "apply", DDP) == [f"{DDP}: nothing to do, it is applied already"]
    piped = done(site("apply", DDP)).out.splitlines()
    assert any(line.startswith("applied ") and "Runner.wrap_model" in line for line in piped)
    assert not any(RUNNING in line for line in on_terminal(site, "restore"))
    done(site("apply", DDP))
    assert any(RUNNING in line for line in on_terminal(site, "restore", "-v"))


def test_restore_of_many_files_counts_them_and_names_the_exceptions(tmp_path):
    site = Site(tmp_path)
    names = [f"tiny/m{number}.py" for number in range(8)]
    write_files(site.path, with_record("tiny", "1.0", {"tiny/__init__.py": "", **dict.fromkeys(names, "X = 1\n\n\nY = 1\n")}))
    folder = tmp_path / "patchsets/all"
    folder.mkdir(parents=True)
    variant = '[[variant]]\npackage = "tiny"\nversions = ""\npatches = ["all.spatch"]\n'
    (folder / "patchset.toml").write_text(f'schema = 1\nname = "all"\nversion = "1.0"\nkind = "fix"\nsummary = "x"\n\n{variant}')
    (folder / "all.spatch").write_text("\n".join(f"--- {name}\n@@ <module> @@\n-X = 1\n+X = 2\n" for name in names))
    done(site("apply", "all"))
    assert len(done(site("restore", "-v")).out.splitlines()) == 8
    done(site("apply", "all"))
    edited = site.file(names[0])
    edited.write_text(edited.read_text() + "# mine\n")
    lines = done(site("restore")).out.splitlines()
    assert [" ".join(line.split()) for line in lines] == [
        "restored 7 files bytes, mode and mtime as before",
        "restored tiny/m0.py our change is out, what was edited by hand stays",
    ]


def test_an_edited_text_that_is_set_aside_is_reported_once(site):
    done(site("apply", DDP))
    site.file().write_text(f"{site.file().read_text()}# mine\n")
    (line,) = (line for line in done(site("restore", "--force")).err.splitlines() if "kept" in line)
    assert line.count("kept") == 1
    assert line.startswith("kept: the edited mmengine/")


def test_only_what_does_not_fit_is_shown(site):
    site.source(DDP, spatch=[("= MMDistributedDataParallel(", "= Other(")])
    shown = on_terminal(site, "apply", DDP, "--patch-dir", "patchsets")
    assert any(line.startswith("not found ") for line in shown) and not any(line.startswith("applicable ") for line in shown)
    assert any(line.startswith("applicable ") for line in on_terminal(site, "apply", DDP, "--dry-run"))


LEAST = "torch 2.13.0", "accelerate 1.15.0", "transformers 5.24.0"  # beside MMEngine: what a training of today has


def test_the_list_is_one_screen(site):
    """A line for each patchset that is for an installed package or is the user's own; for the others, their packages."""
    site.source(DDP)
    for name, version in (each.split() for each in LEAST):
        write_files(site.path, with_record(name, version, {f"{name}/__init__.py": ""}))
    shown = on_terminal(site, "list", "--patch-dir", "patchsets", columns=80)
    *table, more = shown
    assert max(map(len, table)) <= 80 and len(shown) <= 24, shown
    assert more.startswith("those of a package: sitepatch list PACKAGE "), "commands are pasted, so no line of them breaks"
    states = [line.split()[0] for line in table if not line.startswith("   ")]
    assert states == sorted(states, key=["applicable", "not", "out", "absent"].index), shown
    assert sum(line.startswith("absent ") for line in shown) == 1 and any(" mmcv (2), " in line for line in shown)
    assert any(re.match(rf"applicable +{DDP} +--patch-dir patchsets: Show ", line) for line in shown), shown
    each = on_terminal(site, "list", "-v", columns=80)
    assert {line.split()[1] for line in each if line.startswith("absent ")} >= {"mmcv-torch2", "mmcv-yapf"}


def test_a_local_copy_that_is_the_built_in_patchset_is_listed_as_that(site):
    """As in a clone of sitepatch, whose ./patchsets has all of them."""
    before = done(site("list")).out
    folder = site.source("mmcv-yapf")
    assert done(site("list")).out == before
    manifest = folder / "patchset.toml"
    manifest.write_text(manifest.read_text().replace('version = "1.0"', 'version = "1.1"'))
    assert "./patchsets: Fix printing" in done(site("list")).out


def test_what_is_cut_off_on_a_terminal_is_whole_elsewhere(site):
    shown = on_terminal(site, "list", columns=60)
    assert any(line.endswith("…") and line.startswith("applicable ") for line in shown)
    assert "…" not in site("list").out


def test_doctor_shows_problems_and_with_verbose_the_rest(site):
    assert on_terminal(site, "doctor") == [f"0 problems in {site.path}"]
    assert len([line for line in on_terminal(site, "doctor", "-v") if line.startswith("ok ")]) > 10
    site.file().write_text(f"{site.file().read_text()}# mine\n")
    shown = on_terminal(site, "doctor")
    assert any("hand edits" in line for line in shown) and not any(line.startswith("ok ") for line in shown)


def test_sync_with_nothing_to_do_prints_one_line(site):
    (site.cwd / "pyproject.toml").write_text(f'[tool.sitepatch]\npatchsets = ["{DDP}"]\n')
    done(site("sync"))
    shown = on_terminal(site, "sync")
    assert len(shown) == 1 and "nothing to do" in shown[0]


def test_every_command_has_the_same_word_for_a_state(site, tmp_path):
    (tmp_path / "train.log").write_text("RuntimeError: DistributedDataParallel device_ids and output_device arguments only work with\n")
    for words in (["list"], ["show", DDP], ["apply", DDP, "--dry-run"], ["check", DDP], ["diagnose", "train.log"]):
        shown = site(*words).out.split()
        assert not {"applies", "available"} & set(shown) or words[0] == "show", words
    assert "applicable" in site("list").out


def test_a_name_that_hides_a_built_in_patchset_is_warned_about(site):
    (site.cwd / "fix.diff").write_text("")
    text = site.file().read_text()
    site.file().write_text(text.replace("    def ", "    # mine\n    def ", 1).replace("import os", "import os, sys", 1))
    ended = sitepatch("capture", "mmengine", "--name", "mmengine-device", "--target", site.path, cwd=site.cwd)
    assert 'a built-in patchset is called "mmengine-device", too' in ended.err

"""What a person sees on a terminal: few lines, none that says what was said before or what is well."""

import os
import subprocess
import sys

import pytest

from tests.command import DDP, done, environ, sitepatch

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


def test_apply_of_one_patchset_says_six_lines_at_most_and_again_one(site):
    first = on_terminal(site, "apply", DDP)
    assert 2 <= len(first) <= 6 and first[-1].startswith(f"note: {RUNNING}")
    assert on_terminal(site, "apply", DDP) == [f"{DDP}: nothing to do, it is applied already"]
    assert any(line.startswith("applied ") and "Runner.wrap_model" in line for line in done(site("apply", DDP)).out.splitlines())
    assert not any(RUNNING in line for line in on_terminal(site, "restore"))
    done(site("apply", DDP))
    assert any(RUNNING in line for line in on_terminal(site, "restore", "-v"))


def test_what_does_not_fit_is_shown_and_what_fits_is_not(site):
    site.source(DDP, spatch=[("= MMDistributedDataParallel(", "= Other(")])
    shown = on_terminal(site, "apply", DDP, "--patch-dir", "patchsets")
    assert any(line.startswith("not found ") for line in shown) and not any(line.startswith("applicable ") for line in shown)
    assert any(line.startswith("applicable ") for line in on_terminal(site, "apply", DDP, "--dry-run"))


def test_the_list_has_one_line_a_patchset_and_its_summary_and_no_row_breaks(site):
    shown = on_terminal(site, "list", columns=80)
    heads = [line for line in shown if not line.startswith("   ")]
    assert max(map(len, shown)) <= 80 and not any("built in" in line for line in shown)
    assert [line.split()[0] for line in heads] == sorted((line.split()[0] for line in heads), key=["applicable", "out", "absent"].index)
    assert all(len(line.split("  ")) >= 4 for line in heads)


def test_doctor_says_what_is_not_well_and_the_rest_when_it_is_asked(site):
    assert on_terminal(site, "doctor") == [f"0 problems in {site.path}"]
    assert len([line for line in on_terminal(site, "doctor", "-v") if line.startswith("ok ")]) > 10
    site.file().write_text(f"{site.file().read_text()}# mine\n")
    shown = on_terminal(site, "doctor")
    assert any("hand edits" in line for line in shown) and not any(line.startswith("ok ") for line in shown)


def test_sync_that_has_nothing_to_do_says_one_line(site):
    (site.cwd / "pyproject.toml").write_text(f'[tool.sitepatch]\npatchsets = ["{DDP}"]\n')
    done(site("sync"))
    shown = on_terminal(site, "sync")
    assert len(shown) == 1 and "nothing to do" in shown[0]


def test_one_word_for_a_state_in_every_command(site, tmp_path):
    (tmp_path / "train.log").write_text("RuntimeError: DistributedDataParallel device_ids and output_device arguments only work with\n")
    for words in (["list"], ["show", DDP], ["apply", DDP, "--dry-run"], ["check", DDP], ["diagnose", "train.log"]):
        shown = site(*words).out.split()
        assert not {"applies", "available"} & set(shown) or words[0] == "show", words
    assert "applicable" in site("list").out


def test_a_name_of_a_built_in_patchset_is_taken_with_a_word(site):
    (site.cwd / "fix.diff").write_text("")
    text = site.file().read_text()
    site.file().write_text(text.replace("    def ", "    # mine\n    def ", 1).replace("import os", "import os, sys", 1))
    told = sitepatch("capture", "mmengine", "--name", "mmengine-device", "--target", site.path, cwd=site.cwd)
    assert 'a built-in patchset is called "mmengine-device", too' in told.err

"""`diagnose --ranks`: which rank did not arrive, and why; no process stays behind. On a stand-in for PyTorch, in real processes."""

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from patcher.errors import SitepatchError
from patcher.place import Place
from patcher.verbs import rank_trial as trials
from tests.command import ROOT, environ, sitepatch
from tests.failures import fail_once

pytestmark = pytest.mark.once

STANDIN = ROOT / "tests/standin"
PLACE = ["--python", sys.executable, "--target", STANDIN]


class Trial:
    """A directory in which ranks of the stand-in meet, and the command that starts them."""

    def __init__(self, folder):
        self.cwd, self.folder = folder, folder / "meet"
        self.folder.mkdir()

    def variables(self, deeds, cards):
        """The environment in which ranks do these deeds, each "RANK STEP WHAT"."""
        variables = environ(STANDIN=str(self.folder), STANDIN_DO="\n".join(deeds))
        if cards:
            variables["STANDIN_CARDS"] = str(cards)
        return variables

    def __call__(self, *deeds, cards=0, size=2, words=()):
        """Run the command; returns the field `trial` and the names of the symptoms."""
        words = ["diagnose", "--ranks", size, "--timeout", "300", "--json", *PLACE, *words]
        ended = sitepatch(*words, cwd=self.cwd, **self.variables(deeds, cards))
        answer = json.loads(ended.out)
        assert ended.code == (0 if answer["ok"] else 1) and answer["ok"] == answer["trial"]["ok"], ended
        assert not any(map(running, self.pids()))
        return answer["trial"], [each["symptom"] for each in answer["findings"]]

    def out_of_time(self, *deeds, size, arrived):
        """A trial by the first `--timeout` in which the files `arrived` are made: one second is too short for a busy machine.

        Returns:
            The field `trial`, the names of the symptoms, and that time-out in seconds.
        """
        for seconds in (1, 10, 60):
            for path in self.folder.iterdir():
                path.unlink()
            report, symptoms = self(*deeds, size=size, words=["--timeout", str(seconds)])
            if all((self.folder / name).exists() for name in arrived):
                break
        return report, symptoms, seconds

    def pids(self):
        return [int(path.name[4:]) for path in self.folder.glob("pid-*")]


def running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.fixture
def trial(tmp_path):
    return Trial(tmp_path)


def states(report):
    return [rank["state"] for rank in report["ranks"]]


def test_ranks_that_can_talk_are_reported_with_their_steps(trial):
    report, symptoms = trial(size=3)
    assert report["verdict"].startswith("ranks 0-2 can talk by gloo on cpu: ") and report["verdict"].endswith("(torch 9.9.9)")
    assert states(report) == ["ok"] * 3 and symptoms == []
    assert [step["name"] for step in report["ranks"][2]["steps"]] == ["import torch", "device", "start", "all-reduce", "barrier", "end"]


@pytest.mark.parametrize(
    ("cards", "words", "devices", "notes"),
    [
        (2, [], ["card:0 ccl", "card:1 ccl"], []),
        (1, [], ["cpu gloo", "cpu gloo"], ["there is 1 card for 2 ranks: tried on the CPU, by gloo"]),
        (1, ["--backend", "ccl"], ["card:0 ccl", "card:0 ccl"], []),
        (2, ["--backend", "gloo"], ["cpu gloo", "cpu gloo"], []),
        (2, ["--backend", "cpu:gloo,card:ccl"], ["card:0 cpu:gloo,card:ccl", "card:1 cpu:gloo,card:ccl"], []),
    ],
)
def test_the_backend_is_the_requested_one_or_the_one_that_fits(trial, cards, words, devices, notes):
    report, _ = trial(cards=cards, words=words)
    assert [f"{rank['device']} {rank['backend']}" for rank in report["ranks"]] == devices and report["ok"]
    assert report["ranks"][0]["notes"] == notes


def test_a_rank_that_does_not_arrive_is_named_with_the_line_it_hangs_at(trial):
    report, symptoms, seconds = trial.out_of_time("1 import hang", size=3, arrived=["hang-1", "start-0", "start-2"])
    verdict = f"rank 1 did not arrive at the start of the process group within {seconds} s, still in import torch"
    assert (report["verdict"], states(report), symptoms) == (verdict, ["waited", "late", "waited"], [])
    assert "innermost call first:" in report["ranks"][1]["output"] and "in act" in report["ranks"][1]["output"]


def test_where_no_rank_leaves_a_step_their_stacks_tell_who_hangs_elsewhere(trial):
    report, _, seconds = trial.out_of_time("1 barrier hang", size=2, arrived=["hang-1", "barrier-0"])
    assert report["verdict"] == f"all ranks arrived at the barrier, and none came out of it within {seconds} s" and states(report) == ["late", "late"]
    first, second = (rank["output"] for rank in report["ranks"])
    assert "in meet" in first and "in act" not in first and "in act" in second


def test_the_rank_that_failed_is_named_with_what_it_raised(trial):
    report, symptoms = trial("1 start KeyError: 'LOCAL_RANK'")
    verdict = "rank 1 failed in the start of the process group: RuntimeError: KeyError: 'LOCAL_RANK'"
    assert (report["verdict"], states(report), symptoms) == (verdict, ["waited", "failed"], ["not-started-by-launcher"])


def test_a_rank_that_was_killed_is_the_cause_of_what_the_others_raise(trial):
    report, symptoms = trial("1 all-reduce kill")
    verdict = "rank 1 failed in the all-reduce: the process was killed by SIGSEGV"
    assert (report["verdict"], states(report), symptoms) == (verdict, ["waited", "failed"], ["peer-gone"])
    assert "Connection closed by peer" in report["ranks"][0]["problem"]


def test_a_process_that_a_rank_leaves_behind_is_not_waited_for(trial):
    start = time.monotonic()
    assert states(trial("0 import fork", "1 import fork")[0]) == ["ok", "ok"]
    report, _ = trial("1 import fork", "1 start no such thing")
    assert report["verdict"] == "rank 1 failed in the start of the process group: RuntimeError: no such thing"
    assert time.monotonic() - start < 200


def test_a_wrong_sum_is_reported(trial):
    report, _ = trial("0 all-reduce wrong")
    assert report["verdict"] == "rank 0 failed in the all-reduce: RuntimeError: the all-reduce gave 4.0 on rank 0, expected 3.0"


def test_a_failure_of_all_ranks_is_reported_once_with_the_command_that_cures_it(trial):
    ended = sitepatch("diagnose", "--ranks", "3", "--backend", "eccl", *PLACE, cwd=trial.cwd, **trial.variables((), 0))
    assert ended.code == 1 and ended.out.count("Traceback") <= 1
    assert "\nadvice  unknown-backend  rank0:" in ended.out and "ranks 0-2, 3 lines" in ended.out
    last = ended.out.splitlines()[-1]
    assert last == "failed  ranks 0-2 failed in the start of the process group: AssertionError: Unknown backend type eccl"


def test_without_torch_the_error_says_what_to_install(tmp_path):
    (tmp_path / "empty").mkdir()
    ended = sitepatch("diagnose", "--ranks", "2", "--python", sys.executable, "--target", tmp_path / "empty", cwd=tmp_path)
    assert ended.code == 1 and "ranks 0-1 failed in import torch: ModuleNotFoundError: No module named 'torch'\n" in ended.out
    assert "hint: install PyTorch there" in ended.out and "child.py" not in ended.out


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 130), (signal.SIGKILL, -9)])
def test_no_rank_outlives_the_command(trial, number, code):
    command = [sys.executable, "-m", "patcher", "diagnose", "--ranks", "2", *map(str, PLACE)]
    variables = trial.variables(["0 barrier hang", "1 import hang"], 0)
    with subprocess.Popen(command, cwd=str(trial.cwd), env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        until(lambda: len(trial.pids()) == 2)
        child.send_signal(number)
        child.communicate(timeout=120)
    assert child.returncode == code
    until(lambda: not any(map(running, trial.pids())))


def until(holds):
    end = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize(("words", "named"), [
    (["log", "--ranks", "2"], "--ranks"), (["log", "--timeout", "3"], "--ranks"),
    (["--ranks", "0"], "--ranks"), (["--ranks", "2", "--timeout", "inf"], '--timeout: found "inf", expected a number from 1 to 86400'),
])  # fmt: skip
def test_options_that_exclude_each_other_are_refused(tmp_path, words, named):
    (tmp_path / "log").write_text("")
    ended = sitepatch("diagnose", *words, cwd=tmp_path)
    assert ended.code == 2 and named in ended.err


def test_ranks_that_cannot_be_started_are_an_error(monkeypatch):
    is_a_rank = lambda words, **_: any(str(word).endswith("diagnosis/child.py") for word in words)  # noqa: E731
    fail_once(monkeypatch, subprocess, "Popen", OSError("no more processes"), when=is_a_rank)
    with pytest.raises(SitepatchError, match="ranks could not be started: no more processes"):
        trials.start_ranks(2, place=Place(sys.executable))


def test_the_package_of_an_unknown_card_is_imported(trial):
    site = trial.cwd / "site"
    (site / "torch_xyz-1.dist-info").mkdir(parents=True)
    (site / "torch_xyz-1.dist-info" / "entry_points.txt").write_text("[torch.backends]\nxyz = torch_xyz:_autoload\n")
    (site / "torch_xyz.py").write_text("")
    shutil.copytree(STANDIN / "torch", site / "torch")
    report, _ = trial(words=["--target", site])
    assert report["ranks"][0]["notes"] == ["torch_xyz was imported"]

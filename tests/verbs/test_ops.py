"""The verbs as a Python program calls them: what the documentation shows, events, and what comes back."""

import contextlib
import re
import time
from pathlib import Path

import pytest

import patcher
from patcher import Events, Place, ProjectFiles, apply, check, restore, status, sync
from patcher.errors import StoreError, UsageError
from patcher.model import Plan
from patcher.outcomes import PlanOutcome, Task
from patcher.place import SILENT
from patcher.verbs.change import carry_out
from tests.command import DDP, GUARD, ROOT, RUNNER, Site, tree
from tests.diagnosis.logs import FRAME, REFUSED
from tests.failures import Clock
from tests.locks import held_open
from tests.stores import leave_journal
from tests.verbs.kit import Progress


@pytest.fixture
def site(tmp_path, monkeypatch):
    standin = Site(tmp_path, "mmengine-0.10.7")
    (tmp_path / "site-packages").symlink_to(standin.path)
    monkeypatch.chdir(tmp_path)
    return standin


def test_the_examples_of_the_documentation_apply_and_restore_and_write_patchsets(site, capsys):
    first, second, third = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs/python.md").read_text("utf-8"), re.M | re.S)
    (site.cwd / "train.log").write_text(f"[rank1]: {FRAME}[rank1]: {REFUSED}")
    before = site.tree()
    exec(compile(first, "python.md", "exec"), {})
    ended = capsys.readouterr()
    assert ended.out.startswith("written: True ['mmengine/") and ended.out.endswith("\napplied: ['applied']\ndiffers: ['mmengine/_strategy/distributed.py']\nrestored: True\nddp-refuses-device-ids (1,) mmengine-ddp-device applicable\n"), ended
    exec(compile(second, "python.md", "exec"), {})
    written = capsys.readouterr()
    assert written.out.startswith("patchsets/is-ready [") and written.out.endswith("\nagain: True\nholds: True\n"), written
    assert "+def is_ready(runner):" in written.out
    assert ended.err == written.err == "" and site.tree() == before
    exec(compile(third, "python.md", "exec"), {})
    others = capsys.readouterr()
    assert others.out.splitlines() == [
        "here: ['is-ready']", "for: ['mmengine']", "fits: True", "problems: 0", "synced: True", "adopted: True", "restored: True",
    ]  # fmt: skip
    assert others.err == "" and {path: state[:2] for path, state in site.tree().items()} == {path: state[:2] for path, state in before.items()}


def test_each_verb_of_the_api_has_an_example():
    page = (ROOT / "docs/python.md").read_text("utf-8")
    examples = "".join(re.findall(r"^```python\n(.*?)^```", page, re.M | re.S))
    names = set(patcher.__all__) - {"Events", "copy_release"}
    assert [name for name in sorted(names) if f"patcher.{name}(" not in examples] == []


class Log(Events):
    def __init__(self, folder):
        self.folder, self.seen = folder, []

    def started(self, env, requested=()):
        self.seen.append(("started", env.sites, [one.patchset.name for one in requested]))

    def note(self, text, word="note"):
        self.seen.append((word, text))

    def planned(self, outcome):
        now = {path: state for path, state in tree(self.folder).items() if not path.startswith(".sitepatch")}
        self.seen.append(("planned", outcome.written, len(outcome.changed), now))

    def reached(self, state):
        self.seen.append(("reached", state))


def test_the_plan_is_reported_before_anything_is_written_and_nothing_is_printed(site, capsys):
    before, log, place = site.tree(), Log(site.path), Place(target=str(site.path))
    outcome = apply((DDP,), place=place, events=log)
    assert [one[0] for one in log.seen] == ["started", "planned", "reached"]
    assert log.seen[0][1:] == ((str(site.path),), [DDP]) and log.seen[1][1:] == (False, 3, before)
    assert outcome.ok and outcome.written and outcome.fresh and outcome.patchsets == (DDP,)
    assert [check.what for check in outcome.verified.checks] == ["compile"] * 3
    assert status(place=place, verify="import").works
    idle = status(GUARD, place=place, verify="compile")
    assert idle.verified.checks == idle.patchsets == () and idle.idle == (GUARD,) and not idle.works
    again = apply((DDP,), place=place)
    assert again.ok and not again.written and again.changed == []
    back = restore((DDP, GUARD), place=place)
    assert back.written and back.idle == (GUARD,) and site.tree() == before
    assert capsys.readouterr() == ("", "")


def test_the_progress_of_a_check_ends_with_the_total(site):
    progress = Progress()
    check(place=Place(target=str(site.path)), events=progress)
    total = len(progress.steps)
    assert total > 5 and progress.steps == [(number, total) for number in range(1, total + 1)]


def test_hunks_that_do_not_fit_are_values_and_a_wrong_request_is_raised(site, capsys):
    site.file().write_text(site.file().read_text().replace("def wrap_model", "def other"))
    before, place = site.tree(), Place(target=str(site.path))
    outcome = apply((DDP,), place=place, force=True)
    assert not outcome.ok and not outcome.written
    assert [answer.path for answer in outcome.plan.failed if answer.problem and answer.hint][:1] == [RUNNER]
    with pytest.raises(UsageError, match="there is no patchset"):
        apply(("nothing",), place=place)
    assert site.tree() == before and capsys.readouterr() == ("", "")


def test_a_path_may_be_a_path_and_one_name_a_text(site, monkeypatch):
    place, requirements = Place(target=site.path, patch_dirs=ROOT / "patchsets"), Path("requirements.txt")
    assert place == Place(target=str(site.path), patch_dirs=(str(ROOT / "patchsets"),))
    requirements.write_text(f"# sitepatch: {DDP} params=10\n")
    one = apply(DDP, "params=10", place=place, dry_run=True).plan
    assert one.files and one == apply([DDP], ["params=10"], place=place, dry_run=True).plan
    assert sync(ProjectFiles(Path(), requirements), place=place).written
    assert [one.name for one in status(DDP, place=place, verify="import").patchsets] == [DDP]
    assert restore(DDP, place=place).patchsets == (DDP,)
    with pytest.raises(UsageError, match='there is no patchset "nothing"'):
        restore("nothing", place=place)


def test_a_project_is_synced(site, capsys):
    Path("pyproject.toml").write_text(f'[tool.sitepatch]\npatchsets = ["{DDP}"]\n')
    place, before = Place(target=str(site.path)), site.tree()
    outcome = sync(place=place)
    assert [(one.word, one.patchset, one.files) for one in outcome.effects] == [("applied", DDP, 3)] and outcome.restored == ()
    Path("pyproject.toml").write_text("[tool.sitepatch]\npatchsets = []\n")
    outcome = sync(place=place)
    assert outcome.restored == (DDP,) and {one.word for one in outcome.effects} == {"restored"} and site.tree() == before
    assert capsys.readouterr() == ("", "")


def test_only_what_is_seen_under_the_lock_counts_while_others_keep_writing(site, monkeypatch):
    env, looks, others, clock = Place(target=site.path).environment(), [], contextlib.ExitStack(), Clock(monkeypatch)

    def look():
        looks.append(env)
        if len(looks) == 1:
            leave_journal(site.path, path=RUNNER)
            others.enter_context(held_open(site.path / ".sitepatch/lock"))
            raise StoreError("half of the files are written")
        return PlanOutcome(Task((), env, ()), Plan((), ()))

    def sleep(seconds):
        clock.sleep(seconds)
        if clock.now > 1001.5:  # a command that only looks has given up
            others.close()

    monkeypatch.setattr(time, "sleep", sleep)
    assert carry_out(look, env, None, SILENT).ok and len(looks) == 2

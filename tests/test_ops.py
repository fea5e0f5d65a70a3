"""The verbs as a Python program calls them: what the documentation shows, events, and what comes back."""

import os
import re
from pathlib import Path

import pytest

from patcher.errors import UsageError
from patcher.ops import (
    ApplyRequest,
    Events,
    LockRequest,
    Place,
    ProjectFiles,
    RestoreRequest,
    SyncRequest,
    VerifyRequest,
    apply,
    lock,
    restore,
    sync,
    verify,
)
from tests.command import DDP, GUARD, ROOT, RUNNER, Site, tree


@pytest.fixture
def site(tmp_path, monkeypatch):
    found = Site(tmp_path, "mmengine-0.10.7")
    (tmp_path / "site-packages").symlink_to(found.path)
    monkeypatch.chdir(tmp_path)
    return found


def test_the_example_of_the_documentation_plans_applies_and_restores(site, capsys):
    (code,) = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs/python.md").read_text("utf-8"), re.M | re.S)
    before = site.tree()
    exec(compile(code, "python.md", "exec"), {})
    said = capsys.readouterr()
    assert said.out.startswith("written: True ['mmengine/") and said.out.endswith("\nrestored: True\n"), said
    assert said.err == "" and site.tree() == before


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
    outcome = apply(ApplyRequest(place, (DDP,)), log)
    assert [one[0] for one in log.seen] == ["started", "planned", "reached"]
    assert log.seen[0][1:] == ((str(site.path),), [DDP]) and log.seen[1][1:] == (False, 4, before)
    assert outcome.ok and outcome.written and outcome.fresh and outcome.patchsets == (DDP,)
    assert [check.what for check in outcome.verified.checks] == ["compile"] * 4
    assert verify(VerifyRequest(place)).ok and verify(VerifyRequest(place, (GUARD,))).idle == (GUARD,)
    again = apply(ApplyRequest(place, (DDP,)))
    assert again.ok and not again.written and again.changed == []
    back = restore(RestoreRequest(place, (DDP, GUARD)))
    assert back.written and back.idle == (GUARD,) and site.tree() == before
    assert capsys.readouterr() == ("", "")


def test_hunks_that_do_not_fit_are_values_and_a_wrong_request_is_raised(site, capsys):
    site.file().write_text(site.file().read_text().replace("def wrap_model", "def other"))
    before, place = site.tree(), Place(target=str(site.path))
    outcome = apply(ApplyRequest(place, (DDP,), force=True))
    assert not outcome.ok and not outcome.written
    assert [answer.path for answer in outcome.plan.failed if answer.problem and answer.hint][:1] == [RUNNER]
    with pytest.raises(UsageError, match="there is no patchset"):
        apply(ApplyRequest(place, ("nothing",)))
    assert site.tree() == before and capsys.readouterr() == ("", "")


def test_a_path_may_be_a_path_and_one_name_a_text(site, monkeypatch):
    place, requirements = Place(target=site.path, patch_dirs=ROOT / "patchsets"), Path("requirements.txt")
    assert place == Place(target=str(site.path), patch_dirs=(str(ROOT / "patchsets"),))
    requirements.write_text(f"# sitepatch: {DDP} params=10\n")
    one = apply(ApplyRequest(place, DDP, "params=10", dry_run=True)).plan
    assert one.files and one == apply(ApplyRequest(place, [DDP], ["params=10"], dry_run=True)).plan
    assert lock(LockRequest(place, ProjectFiles(Path(), requirements, Path("my.lock")))).written and Path("my.lock").is_file()
    assert sync(SyncRequest(place, ProjectFiles(Path(), requirements, Path("my.lock"), locked=True))).written
    assert verify(VerifyRequest(place, DDP)).patchsets == restore(RestoreRequest(place, DDP)).patchsets == (DDP,)
    with pytest.raises(UsageError, match='there is no patchset "nothing"'):
        restore(RestoreRequest(place, "nothing"))


def test_a_project_is_locked_and_synced(site, capsys):
    Path("pyproject.toml").write_text(f'[tool.sitepatch]\npatchsets = ["{DDP}"]\n')
    place, before = Place(target=str(site.path)), site.tree()
    missing = lock(LockRequest(place))
    assert missing.ok and missing.written and len(missing.locked_files) == 4 and os.path.exists("sitepatch.lock")
    assert lock(LockRequest(place, check=True)).differences == ()
    done = sync(SyncRequest(place, ProjectFiles(locked=True)))
    assert [(one.word, one.patchset, one.files) for one in done.effects] == [("applied", DDP, 4)] and done.restored == ()
    Path("pyproject.toml").write_text("[tool.sitepatch]\npatchsets = []\n")
    done = sync(SyncRequest(place))
    assert done.restored == (DDP,) and {one.word for one in done.effects} == {"restored"} and site.tree() == before
    assert capsys.readouterr() == ("", "")

"""All or nothing for a `sync` that applies, updates and restores in one run: killed and interrupted at every third call, or at every one."""

import signal

import pytest

from patcher.store.store import Store
from tests.faults.cases import ALL, Case
from tests.faults.tiny import NAME, Tiny
from tests.records import write_patchset

pytestmark = pytest.mark.once

OLD, NEW = "tiny-old", "tiny-new"
MORE = {
    OLD: "--- tiny/__init__.py\n@@ <module> @@\n ...\n+X = 1\n\n--- tiny/a.py\n@@ <module> @@\n-import os\n+import sys\n",
    NEW: "--- tiny/c.py\n@@ third @@\n-n - 3\n+n - 33\n",
}
RUN = ("sync", "--verify", "none")


class Syncing(Case):
    """An environment in which one patchset is to be updated, one to be applied and one to be restored."""

    def __init__(self, folder):
        self.name, self.tiny, self.words, self.version = "sync", Tiny(folder), RUN, 2
        for name, text in MORE.items():
            for version in "12":
                tables = {"kind": "fix", "version": f"{version}.0", "versions": ">=1"}
                write_patchset(self.tiny.sources / version, name, f"For the tests.\n\n{text}", "tiny", **tables)
        self.request(NAME, OLD)
        first = self.tiny.run(*RUN)
        assert first.code == 0, first.text
        self.request(NAME, NEW)
        whole = self.measure()
        assert self.count > 60  # fewer would mean that the layer sees too little
        for word in ("updated ", "applied ", "restored "):
            assert word in whole.text, whole.text

    def request(self, *names):
        """Have the project request these patchsets, and no others."""
        listed = ", ".join(f'"{name}"' for name in names)
        (self.tiny.folder / "pyproject.toml").write_text(f"[tool.sitepatch]\npatchsets = [{listed}]\n")


@pytest.fixture
def case(tmp_path):
    return Syncing(tmp_path)


def test_killed_before_and_after_every_call_a_sync_is_done_or_undone_and_the_next_one_finishes(case, counted):
    outcomes = []
    every = range(1, case.count + 1)
    before = every if ALL else every[::3]
    after = every if ALL else every[-1:]  # what is found after the others is what is found before the next one
    points = [*(("before", point) for point in before), *(("after", point) for point in after)]
    for how, point in points:
        message = f"killed {how} call {point}"
        assert case.run(point, how).code == -signal.SIGKILL, message
        outcomes.append(case.next_command(message)[0])
        if point % 9 == 1:
            assert case.tiny.run(*RUN, version=2).code == 0, message
            assert case.tiny.tree() == case.new, message
    counted("kills", len(points))
    assert set(outcomes) == {"old", "new"}


def test_interrupted_at_every_third_call_a_sync_reports_it_and_is_done_or_undone(case, counted):
    points = range(1, case.count + 1, 3)
    outcomes = []
    for point in points:
        ended = case.run(point, "SIGINT")
        assert ended.code == 130 and "interrupted" in ended.text, (point, ended.text)
        assert Store(str(case.tiny.site)).interrupted() == "", point
        outcomes.append(case.next_command(f"SIGINT at call {point}")[0])
    counted("SIGINT", len(points))
    assert set(outcomes) == {"old", "new"}

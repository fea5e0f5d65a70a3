"""All or nothing for a `sync` that applies, updates and takes back in one run: killed and interrupted at every third call, or at every one."""

import signal

import pytest

from patcher.store.store import Store
from tests.faults.test_commands import ALL
from tests.faults.tiny import NAME, OTHER, Tiny, add_bytecode, bytecode

pytestmark = pytest.mark.once

OLD, NEW = "tiny-old", "tiny-new"
MORE = {
    OLD: "--- tiny/__init__.py\n@@ <module> @@\n ...\n+X = 1\n\n--- tiny/a.py\n@@ <module> @@\n-import os\n+import sys\n",
    NEW: "--- tiny/c.py\n@@ third @@\n-n - 3\n+n - 33\n",
}
RUN = ("sync", "--verify", "none")


class Case:
    """An environment in which one patchset is to be updated, one to be applied and one to be taken back."""

    def __init__(self, folder):
        self.tiny = Tiny(folder)
        for name, text in MORE.items():
            for version in ("1", "2"):
                here = self.tiny.sources / version / name
                here.mkdir()
                (here / "patchset.toml").write_text((here.parent / NAME / "patchset.toml").read_text().replace(NAME, name))
                (here / "all.spatch").write_text(f"For the tests.\n\n{text}")
        self.asks(NAME, OLD)
        first = self.tiny.run(*RUN)
        assert first.code == 0, first.text
        add_bytecode(self.tiny.site)
        self.asks(NAME, NEW)
        self.tiny.save()
        self.old = self.tiny.tree()
        whole = self.run()
        assert (whole.code, bytecode(self.tiny.site)) == (0, [])
        self.new, self.count = self.tiny.tree(), whole.count
        assert self.count > 60  # fewer would mean that the layer sees too little
        assert [word in whole.text for word in ("updated ", "applied ", "restored ")] == [True] * 3, whole.text

    def asks(self, *names):
        listed = ", ".join(f'"{name}"' for name in names)
        (self.tiny.folder / "pyproject.toml").write_text(f"[tool.sitepatch]\npatchsets = [{listed}]\n")

    def run(self, point=0, how="none"):
        self.tiny.reset()
        return self.tiny.run(*RUN, version=2, point=point, how=how)

    def outcome(self, told):
        """What a command that only recovers leaves: "old" or "new"; anything else fails."""
        assert self.tiny.run("restore", OTHER).code == 0, told
        now = self.tiny.tree()
        assert now in (self.old, self.new), told
        assert now == self.old or bytecode(self.tiny.site) == [], told
        return "new" if now == self.new else "old"


@pytest.fixture
def case(tmp_path):
    return Case(tmp_path)


def test_killed_before_and_after_every_call_it_is_done_or_undone_and_the_next_sync_gets_there(case, counted):
    outcomes = []
    tried = [("before", point) for point in range(1, case.count + 1, 1 if ALL else 3)]
    tried += [("after", point) for point in (range(1, case.count + 1) if ALL else [case.count])]  # else it is the next one's before
    for how, point in tried:
        told = f"killed {how} call {point}"
        assert case.run(point, how).code == -signal.SIGKILL, told
        outcomes.append(case.outcome(told))
        if point % 9 == 1:
            assert case.tiny.run(*RUN, version=2).code == 0, told
            assert case.tiny.tree() == case.new, told
    counted("kills", len(tried))
    assert set(outcomes) == {"old", "new"}


def test_interrupted_at_every_third_call_it_says_so_and_is_done_or_undone(case, counted):
    outcomes, points = [], range(1, case.count + 1, 3)
    for point in points:
        ended = case.run(point, "SIGINT")
        assert ended.code == 130 and "interrupted" in ended.text, (point, ended.text)
        assert Store(str(case.tiny.site)).interrupted() == "", point
        outcomes.append(case.outcome(f"SIGINT at call {point}"))
    counted("SIGINT", len(points))
    assert set(outcomes) == {"old", "new"}

"""The commands that are stopped at each call: the environment before each, and the two trees that may be found after it."""

import os

from patcher.store.store import Store
from tests.faults.tiny import NAME, OTHER, Tiny, add_bytecode, bytecode, edit, edit_beside_backups

SCENARIOS = {  # the steps before, the command, and the version of the patchset
    "apply": ([], ("apply", NAME), 1),
    "update": ([("apply", NAME)], ("apply", NAME), 2),
    "restore": ([("apply", NAME)], ("restore",), 1),
    "forced": ([("apply", NAME), edit], ("restore", "--force"), 1),
    "backup": ([edit_beside_backups], ("restore", "--from-backup"), 1),
}
ALL = bool(os.environ.get("SITEPATCH_ALL_FAULTS"))
CALLS = {"apply": 100, "update": 60, "restore": 40, "forced": 60, "backup": 30}  # fewer points than these would mean that the layer sees too little


class Case:
    """One scenario: the environment before the command, and the two trees that may be found after it."""

    def __init__(self, folder, name):
        self.name = name
        self.tiny = Tiny(folder)
        steps, self.words, self.version = SCENARIOS[name]
        for step in steps:
            if callable(step):
                assert step(self.tiny.site)
            else:
                assert self.tiny.run(*step).code == 0
        self.measure()
        assert self.count > CALLS[name]

    def measure(self):
        """Keep the present environment, and the trees before and after the command; returns how the command ended."""
        add_bytecode(self.tiny.site)
        self.tiny.save()
        self.old = self.tiny.tree()
        ended = self.run()
        assert (ended.code, bytecode(self.tiny.site)) == (0, [])
        self.new, self.count = self.tiny.tree(), ended.count
        assert self.new != self.old
        self.kept = [path for path in self.new if path.startswith(".sitepatch/edited") and path not in self.old]
        return ended

    def run(self, point=0, how="none"):
        self.tiny.reset()
        return self.tiny.run(*self.words, version=self.version, point=point, how=how)

    def outcome(self, message):
        """"old" or "new"; anything else fails."""
        now = self.tiny.tree()
        if now == self.new:
            assert bytecode(self.tiny.site) == [], message
            return "new"
        for path in self.kept:  # the edited text is kept in the store before anything is changed
            if now.get(path) == self.new[path]:
                del now[path]
        assert now == self.old, message
        return "old"

    def next_command(self, message):
        """Run a command that has nothing to do but recover; returns the outcome, and what it said about it."""
        waiting = Store(str(self.tiny.site)).interrupted()
        ended = self.tiny.run("restore", OTHER)
        assert ended.code == 0, (message, ended.text)
        outcome = self.outcome((message, ended.text))
        assert ("recovered:" in ended.text) == bool(waiting), (message, ended.text)
        if waiting:
            assert waiting.replace("will be", "was") in ended.text, message
            verdict = "undone" if outcome == "old" else "finished"
            assert verdict in ended.text, message
        return outcome, waiting

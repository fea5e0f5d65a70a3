"""The commands that are stopped at each call: the environment before each, and the two trees that may be found after it."""

import os

from patcher.store.store import Store
from tests.faults.tiny import NAME, OTHER, Tiny, add_bytecode, bytecode, edit, edit_beside_backups

SCENARIOS = {  # the steps before, and the command
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
        first, self.words, self.version = SCENARIOS[name]
        for step in first:
            assert step(self.tiny.site) if callable(step) else self.tiny.run(*step).code == 0
        self.measure()
        assert self.count > CALLS[name]

    def measure(self):
        """Keep the present environment, and the trees before and after the command; returns how the command ended."""
        add_bytecode(self.tiny.site)
        self.tiny.save()
        self.old = self.tiny.tree()
        done = self.run()
        assert (done.code, bytecode(self.tiny.site)) == (0, [])
        self.new, self.count = self.tiny.tree(), done.count
        assert self.new != self.old
        self.kept = [path for path in self.new if path.startswith(".sitepatch/edited") and path not in self.old]
        return done

    def run(self, point=0, how="none"):
        self.tiny.reset()
        return self.tiny.run(*self.words, version=self.version, point=point, how=how)

    def outcome(self, told):
        """"old" or "new"; anything else fails."""
        now = self.tiny.tree()
        if now != self.new:  # the edited text is kept in the store before anything is changed
            now = {path: found for path, found in now.items() if path not in self.kept or found != self.new[path]}
        assert now in (self.old, self.new), told
        if now == self.new:
            assert bytecode(self.tiny.site) == [], told
        return "new" if now == self.new else "old"

    def next_command(self, told):
        """Run a command that has nothing to do but recover; returns the outcome, and what it said about it."""
        waiting = Store(str(self.tiny.site)).interrupted()
        done = self.tiny.run("restore", OTHER)
        assert done.code == 0, (told, done.text)
        outcome = self.outcome((told, done.text))
        assert ("recovered:" in done.text) == bool(waiting), (told, done.text)
        if waiting:
            assert waiting.replace("will be", "was") in done.text, told
            assert ("undone" if outcome == "old" else "finished") in done.text, told
        return outcome, waiting

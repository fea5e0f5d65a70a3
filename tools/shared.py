"""The environment that two clients of `tools.nfs` share, and what they do with it."""

from __future__ import annotations

import json
import marshal
import os
import random
import zipfile
from pathlib import Path
from typing import Callable, NamedTuple

from patcher.store.store import Store
from tests.command import done, sitepatch, tree
from tests.hooks import packed
from tests.places import patchset, venv, wheel
from tools.clients import SHARE

EXPORT = Path("/mnt/export")
"""Where the server has the share."""
FILES = {
    "demo/__init__.py": "",
    "demo/m.py": "VALUE = 1\nOTHER = 1\n",
    "demo/n.py": "VALUE = 1\n",
    "demo/h.py": "VALUE = 1\n",
}
PLACES = {
    "two": {"demo/m.py": "VALUE"},
    "four": {"demo/m.py": "OTHER", "demo/n.py": "VALUE"},
    "kept": {"demo/h.py": "VALUE"},
}
"""Which name each patchset changes in which file, from 1 to 2; the hook keeps `kept` applied."""
SHOW = (
    "import demo.m, demo.n, demo.h; print(demo.m.VALUE, demo.m.OTHER, demo.n.VALUE, demo.h.VALUE)"
)
PROJECT = '[tool.sitepatch]\npatchsets = ["two", "kept"]\npatch-dir = "mine"\n'


def sources(applied):
    """The text of each file while these patchsets are applied."""
    texts = dict(FILES)
    for name in applied:
        for path, variable in PLACES[name].items():
            texts[path] = texts[path].replace(f"{variable} = 1", f"{variable} = 2")
    return texts


def shown(applied):
    """What SHOW prints."""
    return " ".join("2" if each in applied else "1" for each in ("two", "four", "four", "kept"))


def lay_out():
    """On a client: an environment with `demo`, the patchsets, a project, and a hook.

    The project asks for `two` and `kept`.
    """
    folder = SHARE / "project"
    folder.mkdir()
    python, site = venv(SHARE / "env")
    with zipfile.ZipFile(wheel(folder, files=FILES)) as archive:
        archive.extractall(site)
    (SHARE / "links").mkdir()
    for path in FILES:  # as uv installs from its cache: what was unpacked goes on to be there
        os.link(site / path, SHARE / "links" / path.replace("/", "-"))
    for name, places in PLACES.items():
        patchset(folder, name=name)
        text = "Why.\n\n"
        for path, variable in places.items():
            text += f"--- {path}\n@@ <module> @@\n-{variable} = 1\n+{variable} = 2\n"
        (folder / "mine" / name / "p.spatch").write_text(text)
    (folder / "pyproject.toml").write_text(PROJECT)
    done(sitepatch("hook", "init", "hook", "kept", "--patch-dir", "mine", cwd=folder))
    with zipfile.ZipFile(packed(folder / "hook", folder / "dist")) as archive:
        archive.extractall(site)
    return str(python)


class Shared:
    """The environment on the share, made by the first client; the server looks at it."""

    def __init__(self, clients):
        self.clients = clients
        self.python = clients[0].ask("lay out")
        (self.site,) = EXPORT.glob("env/lib/python3*/site-packages")
        for client in clients:
            client.env.update(
                HOME=str(SHARE / "home"),
                SITEPATCH_CACHE=str(SHARE / "cache"),
                PYTHONDONTWRITEBYTECODE="",
            )
        self.before = self.files()

    @property
    def options(self):
        """The options of a command for the environment."""
        return ("--python", self.python, "--patch-dir", "mine")

    def files(self):
        """The files without bytecode and the hook's own, each with its bytes, mode and mtime."""
        found = {}
        for path, what in tree(self.site).items():
            if "_sitepatch_hook" not in path and "__pycache__" not in path:
                found[path] = what
        return found

    def applied(self, where):
        """The patchsets that are applied, as the server sees it.

        Files, receipts and copies all have to say the same, nothing may be under way or left over,
        and no bytecode may be of another text than the source that it would be taken for.

        Args:
            where: what was done, for who reads a failure.
        """
        store = Store(str(self.site))
        receipts = store.receipts()
        applied = set()
        for receipt in receipts.values():
            applied |= {step.patchset for step in receipt.steps}
        texts = {path: (self.site / path).read_text() for path in FILES}
        assert texts == sources(applied), (where, texts, applied)

        patched = set()
        for name in applied:
            patched |= set(PLACES[name])
        assert set(receipts) == patched, (where, sorted(receipts), applied)
        for path, receipt in receipts.items():
            assert store.pristine(receipt.pristine.sha256).decode() == FILES[path], where
        assert (store.interrupted(), self._left_over()) == ("", []), where
        assert (self.site / ".sitepatch").exists() == bool(applied), where
        for pyc in self.site.glob("demo/__pycache__/*.pyc"):
            self._check_bytecode(pyc, where)
        return frozenset(applied)

    def _left_over(self):
        names = [path.name for path in self.site.rglob("*")]
        journals = ("journal.json", "journal.json.tmp")
        return [name for name in names if ".sitepatch-" in name or name in journals]

    def _check_bytecode(self, pyc, where):
        source = pyc.parents[1] / f"{pyc.name.split('.')[0]}.py"
        data, info = pyc.read_bytes(), source.stat()
        stamp = int(info.st_mtime).to_bytes(4, "little") + info.st_size.to_bytes(4, "little")
        if data[8:16] != stamp:
            return
        path = str(SHARE / source.relative_to(EXPORT))
        code = compile(source.read_text(), path, "exec", dont_inherit=True)
        assert marshal.loads(data[16:]) == code, (where, pyc)


# what a client does ---------------------------------------------------------------------------
class Act(NamedTuple):
    """What a client does, and what it makes of the patchsets that are applied."""

    words: tuple[str, ...]
    becomes: Callable[[frozenset[str]], frozenset[str]]


class Answer(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


def acts(shared):
    """What a client does, by name."""
    more = shared.options
    quick = (*more, "--verify", "none")
    overlay = (*more, "--", shared.python, "-c", SHOW)
    commands = {
        "apply two": (quick, lambda applied: applied | {"two"}),
        "apply four": (quick, lambda applied: applied | {"four"}),
        "apply two four": (more, lambda applied: applied | {"two", "four"}),
        "restore two": (more, lambda applied: applied - {"two"}),
        "restore four": (more, lambda applied: applied - {"four"}),
        "restore kept": (more, lambda applied: applied - {"kept"}),
        "restore": (more, lambda applied: frozenset()),
        "sync": (quick, lambda applied: frozenset({"two", "kept"})),
        "status": ((*more, "--json"), lambda applied: applied),
        "check two": (more, lambda applied: applied),
        "run --overlay two": (overlay, lambda applied: applied | {"kept"}),
    }
    found = {}
    for name, (words, becomes) in commands.items():
        found[name] = Act(("sitepatch", *name.split(), *words), becomes)
    found["start"] = Act(("run", shared.python, "-c", SHOW), lambda applied: applied | {"kept"})
    return found


def problem(name, answer, possible, *, alone):
    """What is wrong with the answer to an act; empty if nothing is.

    Args:
        name: of the act.
        answer: how it ended.
        possible: each set of patchsets that may have been applied meanwhile.
        alone: whether the other client did nothing; else a start may see files from before and
            after another's commit.
    """
    if name == "status":
        report = json.loads(answer.out)
        seen = frozenset(each["name"] for each in report["patchsets"])
        if (report["ok"] and seen in possible) or (not alone and report["interrupted"]):
            return ""
        return f"it tells of {sorted(seen)}"
    is_overlay = name.startswith("run")
    if answer.code:
        asks_again = is_overlay and "start the command again" in answer.err and not alone
        return "" if asks_again else f"exit code {answer.code}"
    if (name != "start" and not is_overlay) or not alone:
        return ""
    more = {"kept", "two"} if is_overlay else {"kept"}
    expected = {shown(each | more) for each in possible}
    seen = answer.out.split("\n")[-2]
    return "" if seen in expected else f"prints {seen}, expected {sorted(expected)}"


FIRST_PAIRS = [
    ("start", "start"),
    ("apply two", "status"),
    ("restore kept", "start"),
    ("apply four", "run --overlay two"),
    ("restore", "status"),
]


def commands(shared, count):
    """One command after the other; yields what is wrong.

    Each second one is the other client's look at what the one before has made.
    """
    every, chance, applied = acts(shared), random.Random(7), frozenset()
    for number in range(count // 2):
        if number < len(FIRST_PAIRS):
            pair = FIRST_PAIRS[number]
        else:
            first = chance.choice(sorted(every))
            pair = (first, chance.choice(["status", "start", "check two"]))
        clients = shared.clients[:: (-1) ** number]
        for client, name in zip(clients, pair):
            answer = Answer(*client.ask(*every[name].words))
            applied = every[name].becomes(applied)
            act = f"pair {number} of commands, {pair}: {name!r} on {client.name}"
            where = f"{act}: {sorted(applied)}: {answer}"
            wrong = problem(name, answer, {applied}, alone=True)
            now = shared.applied(where)
            if now != applied and not wrong:
                wrong = f"applied is {sorted(now)}"
            if wrong:
                yield f"{wrong}: {where}"
            applied = now
    shared.clients[1].ask(*every["restore"].words)


LOOKS = (
    "status",
    "diff",
    "status two --verify import",
    "restore two --dry-run",
    "check two",
    "apply two --dry-run",
)


def looks(shared):
    """What a client makes of a file that it has just read and that another one has replaced.

    A hard link keeps the old text, so that the server finds the file as this client knows it;
    Python itself would read that. Yields what is wrong.
    """
    first, second = shared.clients
    path = SHARE / shared.site.relative_to(EXPORT) / "demo/m.py"
    # a store is there before and after: the site directory stays as it is
    first.ask("run", shared.python, "-c", SHOW)
    for words in LOOKS:
        second.ask("sitepatch", "restore", "two", *shared.options)
        second.ask("shell", f"ln -f {path} {SHARE}/links/kept")
        assert "VALUE = 1" in first.ask("shell", f"cat {path}")
        change = second.ask("sitepatch", "apply", "two", "--verify", "none", *shared.options)
        assert shared.applied(change) == {"two", "kept"}, change
        answer = Answer(*first.ask("sitepatch", *words.split(), *shared.options))
        if answer.code or "overwritten" in str(answer) or "reinstall" in str(answer):
            look = f"cat {path}; stat {path} {path.parent}; ls -la {path.parent}"
            now = first.ask("shell", look)
            yield f"{words} takes an old text for what is there: {answer}; {now}"
    second.ask("sitepatch", "restore", *shared.options)


def rounds(shared, count):
    """Pairs of commands at the same time, of any kind; yields what is wrong."""
    every, chance, applied = acts(shared), random.Random(8), frozenset()
    for number in range(count):
        names = [chance.choice(sorted(every)) for _ in shared.clients]
        for client, name in zip(shared.clients, names):
            client.send(*every[name].words)
        answers = [Answer(*client.receive()) for client in shared.clients]
        one, other = (every[name].becomes for name in names)
        after = {one(other(applied)), other(one(applied))}
        possible = {applied, one(applied), other(applied), *after}
        where = f"round {number}, {names} at {sorted(applied)}: {answers}"
        for name, answer in zip(names, answers):
            wrong = problem(name, answer, possible, alone=False)
            if wrong:
                yield f"{name}: {wrong}: {where}"
        applied = shared.applied(where)
        if applied not in after:
            yield f"{sorted(applied)}: {where}"
    shared.clients[0].ask(*every["restore"].words)

"""The journal and what is removed after it: each file of a commit, in every state that it can be found in."""

import hashlib
import json
import os
from pathlib import Path

import pytest

from patcher.errors import StoreError
from patcher.model import PatchedRelease, PristineFile, Receipt, Step
from patcher.store import journal
from patcher.store import transaction as transactions
from patcher.store.folder import Folder
from patcher.store.journal import COMMITTING, PREPARING, Journal, JournalEntry, Left
from patcher.store.receipt import file_name
from patcher.store.store import Store

FILE = "pkg/sub/a.py"

RECEIPT = f".sitepatch/receipts/{file_name(FILE)}"
STAGED = f"{RECEIPT}.new"


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


def entry(path=FILE, new="new", link="", receipt="receipt"):
    return JournalEntry(path, sha("old"), sha(new), link, receipt and sha(receipt))


def beside(**changed):
    """The two names that are given for a while, of the entry with such changes, as paths."""
    one = entry()._replace(**changed)
    return f"pkg/sub/{one.temporary}", f"pkg/sub/{one.backup}"


TEMPORARY, BACKUP = beside()
BACK = beside(old="")[0]


@pytest.fixture
def site(tmp_path):
    for name in ("pkg/sub", ".sitepatch/receipts"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path


def call(site, function, *args):
    with Folder.open(str(site)) as folder, folder.sub(".sitepatch") as home:
        return function(folder, home, *args)


def lay_out(site, files):
    for name, text in files.items():
        if text.startswith("->"):
            (site / name).symlink_to(text[2:])
        else:
            (site / name).write_text(text)


def state(site):
    """Every file and where every link leads; without the folders."""
    texts = {}
    for path in site.rglob("*"):
        name = path.relative_to(site).as_posix()
        if path.is_symlink():
            texts[name] = f"->{os.readlink(path)}"
        elif path.is_file():
            texts[name] = path.read_text()
    return texts


LOST = "is not the file that the interrupted run had prepared"
READY = {FILE: "old", TEMPORARY: "new", BACKUP: "old", STAGED: "receipt"}
DONE = {FILE: "new", RECEIPT: "receipt"}
CACHED = {"b.py": "new", **READY, TEMPORARY: "->../../b.py"}
FINISHED = {  # what is there; the entry; what is there afterwards, or the file that is named; what was left alone
    "ready": (READY, entry(), DONE, []),
    "ready, over an old receipt": ({**READY, RECEIPT: "before"}, entry(), DONE, []),
    "renamed": ({FILE: "new", BACKUP: "old", STAGED: "receipt"}, entry(), DONE, []),
    "renamed, receipt too": (DONE, entry(), DONE, []),
    "ready, no receipt": ({FILE: "old", TEMPORARY: "new", RECEIPT: "before"}, entry(receipt=""), {FILE: "new"}, []),
    "changed by somebody": ({**READY, FILE: "other"}, entry(), {FILE: "other", RECEIPT: "receipt"}, [FILE]),
    "not there any more": ({TEMPORARY: "new", STAGED: "receipt"}, entry(), {RECEIPT: "receipt"}, [FILE]),
    "folder not there any more": ({STAGED: "receipt"}, entry(path="gone/a.py", receipt=""), {STAGED: "receipt"}, ["gone/a.py"]),
    "prepared file lost": ({FILE: "old", STAGED: "receipt"}, entry(), TEMPORARY, []),
    "prepared file is another": ({**READY, TEMPORARY: "other"}, entry(), TEMPORARY, []),
    "prepared file is a link": ({**READY, "b.py": "new", TEMPORARY: "->../../b.py"}, entry(), TEMPORARY, []),
    "receipt lost": ({FILE: "old", TEMPORARY: "new"}, entry(), RECEIPT, []),
    "receipt is another": ({**READY, STAGED: "other", RECEIPT: "receipt"}, entry(), STAGED, []),
    "link": (CACHED, entry(link="../../b.py"), {"b.py": "new", FILE: "->../../b.py", RECEIPT: "receipt"}, []),
    "link that leads elsewhere": (CACHED, entry(link="../c.py"), TEMPORARY, []),
    "link that is a file": (READY, entry(link="../../b.py"), TEMPORARY, []),
    "forget": ({FILE: "old", RECEIPT: "before", TEMPORARY: "x"}, entry(new="old", receipt=""), {FILE: "old", TEMPORARY: "x"}, []),
}


@pytest.mark.parametrize(("files", "one", "expected", "left"), FINISHED.values(), ids=FINISHED)
def test_a_run_past_its_commit_point_is_finished_from_every_state(site, files, one, expected, left):
    lay_out(site, files)
    if isinstance(expected, str):
        with pytest.raises(StoreError) as caught:
            call(site, journal.finish, [one])
        where = site / ".sitepatch" if expected.startswith(".sitepatch") else site
        assert caught.value.message == f"{site}/{expected}: {LOST}"
        assert caught.value.hint.endswith(f"then delete .sitepatch/journal.json (see {where})")
        assert state(site) == files
        return
    for _ in range(2):  # it may be repeated
        assert call(site, journal.finish, [one]) == Left(tuple(left))
        assert state(site) == expected
    assert not (site / "gone").exists()


@pytest.mark.parametrize("name", [TEMPORARY, BACKUP])
def test_what_was_displaced_and_is_of_somebody_is_kept_by_whoever_finishes(site, name):
    lay_out(site, {**DONE, name: "of somebody"})
    left = call(site, journal.finish, [entry()])
    copy = Path(left.kept[FILE])
    assert copy.parent == site / ".sitepatch/edited" and copy.read_text() == "of somebody"
    assert {path: text for path, text in state(site).items() if not path.startswith(".sitepatch/edited/")} == DONE


def test_what_was_saved_at_the_last_moment_stands_in_its_place_after_a_rollback(site):
    lay_out(site, {FILE: "new", BACKUP: "old", TEMPORARY: "of somebody"})
    assert call(site, journal.roll_back, [entry()]) is True
    assert state(site) == {FILE: "of somebody"}


def test_bytecode_of_a_file_that_goes_or_is_gone_is_removed_and_that_of_one_that_is_left_alone_stays(site):
    cached = site / "pkg/sub/__pycache__/a.x.pyc"
    for text in ("old", ""):
        lay_out(site, {FILE: text})
        digest = sha(text) if text else ""
        if not text:
            (site / FILE).unlink()
        cached.parent.mkdir(exist_ok=True)
        cached.write_text("")
        assert call(site, journal.finish, [JournalEntry(FILE, digest, digest)]) == Left()
        assert cached.exists() is bool(text)


def test_one_that_cannot_be_finished_keeps_all_from_being_put_in_place(site):
    lay_out(site, {**READY, "pkg/b.py": "old"})
    with pytest.raises(StoreError, match=entry(path="pkg/b.py").temporary):
        call(site, journal.finish, [entry(), entry(path="pkg/b.py", receipt="")])
    assert state(site) == {**READY, "pkg/b.py": "old"}


OLD = {FILE: "old"}
UNDONE = {  # what is there; the entry; what is there afterwards, None where there is no way back
    "nothing renamed": ({FILE: "old", TEMPORARY: "new", BACKUP: "old"}, entry(), OLD),
    "renamed": ({FILE: "new", BACKUP: "old"}, entry(), OLD),
    "renamed over a link": ({"b.py": "old", FILE: "new", BACKUP: "->../../b.py"}, entry(), {"b.py": "old", FILE: "->../../b.py"}),
    "nothing renamed, no second name": ({FILE: "old", TEMPORARY: "new"}, entry(), OLD),
    "renamed, no second name": ({FILE: "new"}, entry(), None),
    "renamed, saved meanwhile": ({FILE: "new", BACKUP: "other"}, entry(), {FILE: "other"}),
    "changed by somebody": ({FILE: "other", BACKUP: "old"}, entry(), {FILE: "other"}),
    "not there any more": ({BACKUP: "old"}, entry(), {}),
    "receipt in place": ({FILE: "new", BACKUP: "old", RECEIPT: "receipt"}, entry(), None),
    "another receipt in place": ({FILE: "new", BACKUP: "old", RECEIPT: "before"}, entry(), {FILE: "old", RECEIPT: "before"}),
    "no receipt afterwards": ({FILE: "new", BACKUP: "old"}, entry(receipt=""), OLD),
    "no receipt afterwards, and no second name": ({FILE: "new"}, entry(receipt=""), None),
    "left alone": ({FILE: "old", RECEIPT: "before"}, entry(new="old", receipt=""), {FILE: "old", RECEIPT: "before"}),
    "left alone, receipt dropped": (OLD, entry(new="old", receipt=""), None),
    "left alone, receipt in place": ({FILE: "old", RECEIPT: "receipt"}, entry(new="old"), None),
    "folder not there any more": (OLD, entry(path="gone/a.py"), OLD),
    "put back": ({FILE: "new"}, entry()._replace(old=""), {}),
    "to be put back": ({BACK: "new"}, entry()._replace(old=""), {}),
    "to be put back, and there is another": ({FILE: "other"}, entry()._replace(old=""), {FILE: "other"}),
}


@pytest.mark.parametrize(("files", "one", "expected"), UNDONE.values(), ids=UNDONE)
def test_a_run_that_cannot_be_finished_is_undone_from_every_state(site, files, one, expected):
    lay_out(site, files)
    assert call(site, journal.roll_back, [one]) is (expected is not None)
    assert state(site) == (files if expected is None else expected)


def test_nothing_is_undone_where_one_file_cannot_be_rolled_back(site):
    c = "pkg/" + entry(path="pkg/c.py", new="old").temporary
    files = {FILE: "new", BACKUP: "old", "pkg/b.py": "new", c: "not ours"}
    lay_out(site, files)
    entries = [entry(), entry(path="pkg/b.py"), entry(path="pkg/c.py", new="old")]
    assert call(site, journal.roll_back, entries) is False
    assert state(site) == files
    entries[1] = entries[1]._replace(old=sha("new"))  # left alone
    assert call(site, journal.roll_back, entries) is True
    assert state(site) == {FILE: "old", "pkg/b.py": "new", c: "not ours"}


RAN, AS_MEANT = "an interrupted run", "1 file as it meant them to be"
NO_WAY_ON = f"{RAN} could not be finished and was undone: 1 file as before it"


@pytest.mark.parametrize(
    ("phase", "files", "sentence"),
    [
        (PREPARING, READY, f"{RAN} was undone: 1 file as before it"),
        (COMMITTING, READY, f"{RAN} was finished: {AS_MEANT}"),
        (COMMITTING, {**READY, FILE: "other"}, f"{RAN} was finished: {AS_MEANT}, but for {FILE}, changed by somebody else since"),
        (COMMITTING, {FILE: "old", BACKUP: "old"}, NO_WAY_ON),
        (COMMITTING, {FILE: "new", BACKUP: "old", RECEIPT: "other", TEMPORARY: "old"}, NO_WAY_ON),
        (COMMITTING, {FILE: "new", TEMPORARY: "old"}, f"{RAN} was finished: {AS_MEANT}; {FILE} is left as it is: {{}}/{STAGED.rpartition('.')[0]}: {LOST}"),
    ],
)
def test_what_recovery_did_is_reported(site, phase, files, sentence):
    lay_out(site, files)
    one = Journal(phase, (entry(),))
    before = state(site)[FILE]
    assert call(site, journal.recover_run, one) == sentence.format(site)
    assert not {TEMPORARY, BACKUP} & set(state(site))
    expected = before if FILE in sentence else "new"
    assert state(site)[FILE] == ("old" if "undone" in sentence else expected)


def test_what_recovery_will_do_is_reported_before():
    two = (entry(), entry(path="pkg/b.py"))
    for phase, sentence in ((PREPARING, "undone: 2 files as before it"), (COMMITTING, "finished: 2 files as it meant them to be")):
        run = Journal(phase, two)
        assert journal.describe(run, recovered=True) == f"an interrupted run was {sentence}"
        assert journal.describe(run, recovered=False) == f"an interrupted run will be {sentence}"
    assert journal.but_for("done", Left()) == "done"
    assert journal.but_for("done", Left(("a", "b"))) == "done, but for a, b, changed by somebody else since"


@pytest.mark.parametrize(
    ("changed", "of_entry", "problem"),
    [
        ({"phase": "done"}, {}, 'phase: found "done", expected one of preparing, committing'),
        ({"later": 1}, {}, "later: found an unknown key, expected one of phase, files, named"),
        ({"named": [1]}, {}, "named[0]: found 1, expected a string"),
        ({}, {"path": "../a"}, 'files[0].path: found "../a", expected a path below a site directory'),
        ({}, {"old": "x"}, 'files[0].old: found "x", expected a sha256 in lower-case hex'),
        ({}, {"new": "x"}, 'files[0].new: found "x", expected a sha256 in lower-case hex'),
        ({}, {"receipt": "x"}, 'files[0].receipt: found "x", expected a sha256 in lower-case hex'),
        ({}, {"link": 1}, "files[0].link: found 1, expected a string"),
        ({}, {"later": 1}, "files[0].later: found an unknown key, expected one of path, old, new, link, receipt, folder"),
        ({}, {}, ""),
        ({}, {"old": ""}, ""),
        ({}, {"new": ""}, ""),
        ({}, {"old": "", "new": "", "receipt": ""}, ""),
        ({}, {"link": ".."}, ""),
    ],
    ids=str,
)
def test_a_journal_reads_back_as_written_and_is_refused_where_one_field_is_wrong(site, changed, of_entry, problem):
    with Folder.open(str(site)) as folder, folder.sub(".sitepatch") as home:
        assert journal.read_journal(home) is None
        journal.write_journal(home, COMMITTING, [entry()], ["a"])
        assert journal.read_journal(home) == Journal(COMMITTING, (entry(),), ("a",))
        path = site / ".sitepatch/journal.json"
        fields = json.loads(path.read_text())
        one = {**fields["files"][0], **of_entry}
        path.write_text(json.dumps({**fields, "files": [one], **changed}))
        if not problem:
            assert journal.read_journal(home) == Journal(COMMITTING, (JournalEntry(**one),), ("a",))
            return
        with pytest.raises(StoreError) as caught:
            journal.read_journal(home)
        assert caught.value.message.startswith(f"{path}: {problem}")
        assert caught.value.hint.endswith(f"then delete {path}")


@pytest.mark.parametrize(
    ("names", "is_tidy"),
    [
        ([], False),
        (["lock"], False),
        (["patchsets/a.json"], False),
        (["receipts/a.json"], True),
        (["pristine/a"], True),
        (["edited/a"], True),
        (["edited/"], False),
        (["receipts/a.json", "edited/a"], True),
        (["receipts/a.json", "edited/"], False),
        (["receipts/a.json", "journal.json"], False),
        (["receipts/a.json", "journal.json.tmp"], False),
    ],
)
def test_whether_something_waits_to_be_finished_or_removed(site, names, is_tidy):
    (site / ".sitepatch/receipts").rmdir()
    for name in names:
        path = site / ".sitepatch" / name
        path.parent.mkdir(exist_ok=True)
        if name.endswith("/"):
            path.mkdir()
        else:
            path.write_text("")
    assert Store(str(site)).tidy() is is_tidy


HEX = {name: sha(name) for name in ("old", "new", "named", "needed", "other")}
KEPT = {f"receipts/{file_name(FILE)}", f"pristine/{HEX['needed']}", f"patchsets/{HEX['needed']}.json"}
UNNEEDED = {f"pristine/{HEX[name]}" for name in ("old", "new", "named")} | {f"patchsets/{HEX['old']}.json{end}" for end in ("", ".tmp")}
HALF = {f"receipts/{HEX['old']}.json.new", f"pristine/{HEX['other']}.tmp", "spare.tmp", "journal.json.tmp", "journal.json", f"edited/a.{'0' * 16}.tmp"}  # fmt: skip
UNEXPLAINED = {f"pristine/{HEX['other']}", "edited/a", "receipts/notes.txt", "pristine/a.tmp", "patchsets/mine.json", "edited/a.tmp"}


@pytest.mark.parametrize(
    ("standing", "bad", "there", "left"),
    [
        (True, False, KEPT | UNNEEDED | HALF | UNEXPLAINED | {"spare"}, KEPT | UNEXPLAINED | {"spare"}),
        (True, True, KEPT | UNNEEDED | HALF | {"spare"}, KEPT | UNNEEDED | {"spare"}),
        (False, True, KEPT | UNNEEDED | HALF | {"spare"}, KEPT | UNNEEDED | {"spare"}),
        (False, False, UNNEEDED | HALF | {"spare"}, set()),
        (False, False, HALF | UNEXPLAINED, UNEXPLAINED),
    ],
)
def test_what_no_receipt_needs_is_removed_and_what_nothing_explains_stays(site, standing, bad, there, left):
    home = site / ".sitepatch"
    for name in there:
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).write_text("")

    def receipts(errors):
        errors += [StoreError("not believed")] * bad
        step = Step("p", "1", HEX["needed"], "fix", {}, ())
        one = Receipt(FILE, PatchedRelease("pkg", "pkg", "1"), PristineFile(HEX["needed"], 0o644, 0), HEX["new"], (step,))
        return {FILE: one} if standing else {}

    call(site, lambda _, home: transactions.clean_up(home, [entry()], [HEX["named"], HEX["needed"]], receipts))
    assert {path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_file()} == left
    assert {path.name for path in home.iterdir() if path.is_dir()} == {name.split("/")[0] for name in left if "/" in name}

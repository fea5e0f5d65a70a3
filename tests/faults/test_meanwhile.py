"""Changes by others during a commit, or after it was killed: saved edits, and files that became something else."""

import os
import shutil
import signal

import pytest

from patcher.store.store import Store
from tests.faults import calls
from tests.faults.cases import Case
from tests.faults.tiny import FILES, HUNKS, NAME, Tiny, content
from tests.records import write_patchset

pytestmark = pytest.mark.once

MINE = b"# mine\n"
LAST = "tiny/sub/b.py"
ALONE = "alone-fix"  # a patchset for a file of its own


@pytest.fixture
def tiny(tmp_path):
    tiny = Tiny(tmp_path)
    write_patchset(tiny.sources / "1", ALONE, "+++ tiny/alone.py\n+A = 1\n", "tiny")
    return tiny


def puts_in_place(name, args):
    """Whether a call puts a prepared file in the place of its target."""
    return name in ("replace", "exchange", "rename_to_free") and str(args[0]).endswith(".sitepatch-tmp")


def renames(act):
    """What a child calls first: from then on `act(number)` is called before each rename of a prepared file, from 0."""
    number = 0

    def hook(name, real, args, kwargs):
        nonlocal number
        if puts_in_place(name, args):
            act(number)
            number += 1
        return real(*args, **kwargs)

    return lambda: calls.watch(hook)


def saved_in_place(file):
    with open(file, "ab") as opened:
        opened.write(MINE)


def saved_by_renaming(file):
    (file.parent / "new").write_bytes(file.read_bytes() + MINE)
    (file.parent / "new").rename(file)


def places_of_edit(site):
    """Where the edit is: paths below the site directory."""
    files = [path for path in site.rglob("*") if path.is_file()]
    return [file.relative_to(site).as_posix() for file in files if MINE in file.read_bytes()]


@pytest.mark.parametrize("word", ["apply", "restore"])
@pytest.mark.parametrize("save", [saved_in_place, saved_by_renaming])
@pytest.mark.parametrize("number", [0, 1, 2])
def test_an_edit_that_is_saved_between_two_renames_is_kept_and_reported(tiny, word, number, save):
    if word == "restore":
        assert tiny.run("apply", NAME).code == 0
    before = (tiny.site / LAST).read_bytes()
    words = ("apply", NAME) if word == "apply" else ("restore",)
    ended = tiny.run(*words, first=renames(lambda at: save(tiny.site / LAST) if at == number else None))
    (place,) = places_of_edit(tiny.site)
    assert (tiny.site / place).read_bytes() == before + MINE
    assert ended.code == 1, ended.text
    if place == LAST:  # it was no longer replaced, or had been replaced before
        assert f"{LAST} in {tiny.site}: changed by somebody else" in ended.text or "was changed by somebody else" in ended.text, ended.text
    else:
        assert f"{LAST} was saved by somebody while it was replaced: that text is kept as {tiny.site}/{place}" in ended.text, ended.text
    assert Store(str(tiny.site)).interrupted() == ""


@pytest.mark.parametrize("word", ["apply", "restore"])
def test_an_edit_that_is_saved_in_a_run_that_is_killed_is_kept_by_whoever_recovers_it(tiny, word):
    """Saved between the renames; the process dies at each of its calls after that."""
    if word == "restore":
        assert tiny.run("apply", NAME).code == 0
    tiny.save()
    words = ("apply", NAME) if word == "apply" else ("restore",)
    saving = renames(lambda at: saved_in_place(tiny.site / LAST) if at == 1 else None)
    killed = 0
    for point in range(2, 60, 3):

        def dies_after_a_rename(point=point):
            calls.watch(kill_after_first_rename(point))
            saving()

        tiny.reset()
        if tiny.run(*words, first=dies_after_a_rename).code != -signal.SIGKILL:
            break
        killed += 1
        ended = tiny.run("restore", "tiny-other")
        assert ended.code == 0, ended.text
        places = places_of_edit(tiny.site)
        assert places, (point, ended.text)
        assert places == [LAST] or places[0] in ended.text or killed > 1, ended.text
        assert Store(str(tiny.site)).interrupted() == ""
    assert killed > 3


def kill_after_first_rename(point):
    """A hook that dies at the `point`-th call from the first rename of a prepared file on."""
    count = 0

    def hook(name, real, args, kwargs):
        nonlocal count
        if count or puts_in_place(name, args):
            count += 1
            if count == point:
                os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **kwargs)

    return hook


# --- what stands in the way ------------------------------------------------------------------------------------------


def to_link(path, away):
    path.rename(away)
    path.symlink_to(away)


def to_nothing(path, away):
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def to_folder(path, away):
    to_nothing(path, away)
    path.mkdir()


def to_file(path, away):
    to_nothing(path, away)
    path.write_text("mine")


def to_pipe(path, away):
    to_nothing(path, away)
    os.mkfifo(path)


def to_dangling(path, away):
    to_nothing(path, away)
    path.symlink_to("/nonexistent")


OBSTACLES = [
    ("tiny/sub", to_link),
    ("tiny/sub", to_file),
    ("tiny/sub", to_nothing),
    ("tiny/new", to_link),
    ("tiny/new", to_file),
    (LAST, to_folder),
    (LAST, to_pipe),
    (LAST, to_dangling),
    ("tiny/sub/__pycache__", to_link),
]  # fmt: skip
NAMED = [f"{change.__name__} {path}" for path, change in OBSTACLES]


@pytest.mark.parametrize("phase", ["preparing", "committing"])
@pytest.mark.parametrize(("path", "change"), OBSTACLES, ids=NAMED)
def test_recovery_does_what_it_can_and_commands_for_other_files_work(tiny, tmp_path, phase, path, change):
    assert tiny.run("apply", ALONE).code == 0

    def dies():
        has_journal = False

        def hook(name, real, args, kwargs):
            nonlocal has_journal
            if phase == "preparing" and name == "replace" and args[0] == "journal.json.tmp":
                real(*args, **kwargs)
                has_journal = True
                return None
            is_first_rename = puts_in_place(name, args)
            links_pristine_file = has_journal and name == "link" and args[0] == "b.py"
            if is_first_rename or links_pristine_file:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **kwargs)

        calls.watch(hook)

    assert tiny.run("apply", NAME, first=dies).code == -signal.SIGKILL
    assert phase in (tiny.site / ".sitepatch/journal.json").read_text()
    if not (tiny.site / path).exists():  # what was about to be made there
        (tiny.site / path).mkdir()
    change(tiny.site / path, tmp_path / "away")
    ended = tiny.run("restore", ALONE)
    assert ended.code == 0, ended.text
    assert "recovered: " in ended.text
    assert not (tiny.site / "tiny/alone.py").exists()
    assert not (tiny.site / ".sitepatch/journal.json").exists()
    assert (tiny.site / "tiny/c.py").read_bytes() == content("tiny/c.py", 1 if phase == "committing" else 0)
    if phase == "committing" and change is not to_nothing:
        assert f"{path}" in ended.text, ended.text
    assert tiny.run("status").code == 0


def test_what_an_interrupted_restore_could_not_reach_can_be_restored_later(tiny, tmp_path):
    assert tiny.run("apply", NAME).code == 0

    def dies(at):
        os.kill(os.getpid(), signal.SIGKILL)

    assert tiny.run("restore", first=renames(dies)).code == -signal.SIGKILL
    to_link(tiny.site / "tiny/sub", tmp_path / "away")
    assert "recovered: " in tiny.run("status").text
    (tiny.site / "tiny/sub").unlink()
    (tmp_path / "away").rename(tiny.site / "tiny/sub")
    ended = tiny.run("restore")
    assert ended.code == 0, ended.text
    assert (tiny.site / LAST).read_bytes() == FILES[LAST]
    assert not (tiny.site / ".sitepatch").exists()


@pytest.mark.parametrize("change", [to_folder, to_pipe, to_dangling, to_nothing])
def test_something_else_in_place_of_a_patched_file_stops_no_command_for_other_files(tiny, tmp_path, change):
    assert tiny.run("apply", NAME).code == 0
    assert tiny.run("apply", ALONE).code == 0
    change(tiny.site / LAST, tmp_path / "away")
    kind = os.lstat(tiny.site / LAST).st_mode if os.path.lexists(tiny.site / LAST) else 0
    assert tiny.run("restore", ALONE).code == 0
    assert tiny.run("apply", ALONE).code == 0
    ended = tiny.run("status")
    assert (ended.code, "missing" in ended.text) == (0, True), ended.text
    ended = tiny.run("restore")
    assert ended.code == 0, ended.text
    assert (tiny.site / "tiny/a.py").read_bytes() == FILES["tiny/a.py"]
    if kind:  # it is somebody's
        assert os.lstat(tiny.site / LAST).st_mode == kind
    assert not (tiny.site / ".sitepatch").exists()


# --- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [200, 240, 252])
@pytest.mark.parametrize("adds", [True, False])
def test_a_name_that_just_fits_the_disk_is_patched_and_restored(tiny, length, adds):
    path = f"tiny/{'n' * length}.py"
    text = f"+++ {path}\n+A = 1\n" if adds else f"--- {path}\n@@ first @@\n-n + 1\n+n + 2\n"
    write_patchset(tiny.sources / "1", "long-fix", text, "tiny")
    if not adds:
        (tiny.site / path).write_bytes(FILES["tiny/a.py"])
    before = tiny.tree()
    assert tiny.run("apply", "long-fix").code == 0
    assert tiny.tree() != before
    if not adds:
        with (tiny.site / path).open("ab") as file:
            file.write(MINE)
    ended = tiny.run("restore", "--force")  # an edit is kept as a copy
    assert ended.code == 0, ended.text
    assert {name: entry for name, entry in tiny.tree().items() if not name.startswith(".sitepatch")} == before
    assert len(places_of_edit(tiny.site)) == (not adds)


def test_files_with_names_that_ours_once_had_are_patched_and_kept(tiny):
    mine = tiny.site / "tiny/.a.py.sitepatch-old"
    mine.write_bytes(MINE)
    added = "".join(f"+++ tiny/.{name}.py.sitepatch-tmp\n+A = 1\n" for name in ("a", "c"))
    hunks = "".join(f"--- {path}\n@@ {scope} @@\n-{old}\n+{new}\n\n" for path, scope, old, new in HUNKS[1])
    write_patchset(tiny.sources / "1", "like-fix", hunks + added, "tiny")
    before = tiny.tree()
    assert tiny.run("apply", "like-fix").code == 0
    assert (tiny.site / "tiny/a.py").read_bytes() == content("tiny/a.py", 1)
    assert (tiny.site / "tiny/.a.py.sitepatch-tmp").read_text() == "A = 1\n"
    assert tiny.run("restore").code == 0
    assert tiny.tree() == before


def test_no_file_can_be_added_under_a_name_that_a_commit_uses(tiny):
    path = f"tiny/.{'a' * 16}.sitepatch-tmp"
    write_patchset(tiny.sources / "1", "like-fix", f"+++ {path}\n+A = 1\n", "tiny")
    before = tiny.tree()
    ended = tiny.run("apply", "like-fix")
    assert (ended.code, "sitepatch itself gives" in ended.text) == (1, True), ended.text
    assert tiny.tree() == before


def test_the_kept_edit_outlives_every_fault(tmp_path, counted):
    """An edit that is put aside: the run is killed, or a call fails, at each call from its copy on (see test_commands)."""
    case = Case(tmp_path, "forced")
    points = range(case.count, 1, -7)
    for point in points:
        case.run(point, "before")
        case.next_command(f"killed before call {point}")
        files = [path for path in case.tiny.site.rglob("*") if path.is_file()]
        assert any(b"EDITED" in file.read_bytes() for file in files), point
    counted("kills with an edit put aside", len(points))

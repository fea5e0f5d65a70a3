"""Something else in place of one of the files of `.sitepatch`: every command names it and the next step, and does no harm."""

import hashlib
import os
import shutil

import pytest

from patcher.errors import StoreError
from patcher.store.receipt import file_name
from patcher.store.store import Store
from tests.faults.tiny import FILES, NAME, Tiny
from tests.users import NOBODY, as_user, theirs

pytestmark = pytest.mark.once

FILE = "tiny/a.py"
RECEIPT = f"receipts/{file_name(FILE)}"
PRISTINE = f"pristine/{hashlib.sha256(FILES[FILE]).hexdigest()}"
COMMANDS = {"status": ("status",), "diff": ("diff",), "restore": ("restore",), "apply": ("apply", NAME)}
# which commands have to stop; the others may do what they were asked for without looking there
STOP = {
    "": set(COMMANDS),
    "receipts": set(COMMANDS),
    RECEIPT: set(COMMANDS),
    "journal.json": {"status", "restore", "apply"},
    "pristine": {"diff", "restore", "apply"},
    PRISTINE: {"diff", "restore", "apply"},
    "patchsets": {"apply", "restore"},
    "lock": {"restore", "apply"},
}


def put_file(path):
    path.write_bytes(b"not ours")


def put_folder(path):
    path.mkdir()
    (path / "inside").write_bytes(b"not ours")


def put_link(path):
    path.symlink_to("/nowhere/at/all")


KINDS = {"file": put_file, "folder": put_folder, "fifo": os.mkfifo, "dangling link": put_link}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    tiny = Tiny(tmp_path_factory.mktemp("damage"))
    assert tiny.run("apply", NAME).code == 0
    tiny.save()
    return tiny


def cases():
    for name in STOP:
        for kind in KINDS:
            proper = "folder" if name in ("", "receipts", "pristine", "patchsets") else "file"
            if kind != proper:
                yield name, kind


@pytest.mark.parametrize(("name", "kind"), list(cases()), ids=lambda value: value[:12] or "home")
def test_something_else_in_place_of_our_file_is_named_and_nothing_is_done(tiny, name, kind):
    for command, words in COMMANDS.items():
        tiny.reset()
        place = tiny.site / ".sitepatch" / name
        if place.is_dir():
            shutil.rmtree(place)
        elif place.exists():
            place.unlink()
        KINDS[kind](place)
        before = files(tiny)
        version = 2 if command == "apply" else 1
        ended = tiny.run(*words, version=version)
        message = (command, name, kind, ended.text)
        assert "Traceback" not in ended.text, message
        if command not in STOP[name] or (name, kind) == ("lock", "fifo"):
            assert ended.code in (0, 1), message
            continue
        assert ended.code == 1, message
        is_one_of_several = name == RECEIPT and command in ("status", "restore")  # the other receipts are good
        word = "damaged" if is_one_of_several else "error:"
        assert word in ended.text or "conflict" in ended.text, message
        assert "hint:" in ended.text, message
        assert str(place) in ended.text, message
        assert "[Errno" not in ended.text, message
        if is_one_of_several and command == "restore":
            assert [path for path, data in targets(tiny).items() if data != FILES[path]] == [FILE], message
        else:
            assert files(tiny) == before, message


def test_an_unreadable_receipt_is_named(tiny):
    tiny.reset()
    place = tiny.site / ".sitepatch" / RECEIPT
    place.chmod(0)

    def action():
        with pytest.raises(StoreError) as caught:
            Store(str(tiny.site)).receipts()
        assert str(place) in caught.value.message
        assert f"user {os.getuid()}" in caught.value.hint

    theirs(tiny.folder, os.geteuid())
    as_user(NOBODY, action)


def files(tiny):
    """The bytes of every target file, and every name below `.sitepatch`."""
    names = sorted(path.relative_to(tiny.site).as_posix() for path in tiny.site.rglob("*") if path.suffix != ".pyc")
    return names, targets(tiny)


def targets(tiny):
    """The bytes of every target file; None for one that is deleted."""
    contents = dict.fromkeys(FILES)
    for path in FILES:
        if (tiny.site / path).exists():
            contents[path] = (tiny.site / path).read_bytes()
    return contents

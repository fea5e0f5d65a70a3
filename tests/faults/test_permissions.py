"""What is not permitted is reported before anything is done: every path, and what would help."""

import os

import pytest

from tests.faults.tiny import NAME, Tiny, content
from tests.users import NOBODY, give, theirs

pytestmark = pytest.mark.once


@pytest.fixture
def public(tmp_path):
    """The package where other users can reach it."""
    tiny = Tiny(theirs(tmp_path, os.geteuid()))
    for path in (tiny.site, *tiny.site.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o644)
    return tiny


def test_a_read_only_file_in_a_directory_of_ours_is_patched_and_stays_read_only(tmp_path):
    tiny = Tiny(tmp_path)
    file = tiny.site / "tiny/a.py"
    file.chmod(0o444)
    before = tiny.tree()
    assert tiny.run("apply", NAME).code == 0
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (content("tiny/a.py", 1), 0o444)
    assert tiny.run("restore").code == 0
    assert tiny.tree() == before


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make files of other users")
def test_a_file_of_another_user_is_named_although_it_could_be_replaced(public):
    os.chown(public.site / "tiny/a.py", 1234, 1235)
    os.chown(public.site / "tiny/c.py", NOBODY, 1235)
    for name in ("d.py", "sub/b.py"):
        os.chown(public.site / "tiny" / name, NOBODY, NOBODY)
    before = public.tree()
    code, text, _ = public.run("apply", NAME, uid=NOBODY)
    assert code == 1
    assert f"{public.site}/tiny/a.py: belongs to user 1234" in text
    assert f"{public.site}/tiny/c.py: belongs to group 1235" in text
    assert f"{public.site}/tiny/sub/b.py" not in text
    assert "nothing was changed" in text
    assert public.tree() == before
    for name in ("a.py", "c.py"):
        os.chown(public.site / "tiny" / name, NOBODY, NOBODY)
    assert public.run("apply", NAME, uid=NOBODY).code == 0
    assert (public.site / "tiny/a.py").stat().st_uid == NOBODY


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make files of other users")
def test_a_file_of_another_user_that_all_may_write_is_restored_but_not_patched_again(public):
    before = public.tree()
    give(public.site, NOBODY)
    assert public.run("apply", NAME, uid=NOBODY).code == 0
    os.chown(public.site / "tiny/a.py", 1234, 1235)
    (public.site / "tiny/a.py").chmod(0o666)
    code, text, _ = public.run("apply", NAME, uid=NOBODY, version=2)
    assert code == 1
    assert f"{public.site}/tiny/a.py: belongs to user 1234" in text
    assert "belongs to" not in text.replace("belongs to user 1234", "")
    assert public.run("restore", uid=NOBODY).code == 0
    assert public.tree() == before
    assert (public.site / "tiny/a.py").stat().st_uid == NOBODY


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make directories of other users")
def test_every_unwritable_directory_is_named_at_once_and_no_mode_changes(public):
    for folder in ("tiny", "tiny/sub", "tiny/__pycache__", "tiny/sub/__pycache__"):
        (public.site / folder).chmod(0o555)
    for name in ("tiny/a.py", "tiny/c.py", "tiny/d.py", "tiny/sub/b.py"):
        os.chown(public.site / name, NOBODY, NOBODY)
    before = public.tree()
    code, text, _ = public.run("apply", NAME, uid=NOBODY)
    assert code == 1
    for folder in ("tiny", "tiny/sub", "tiny/__pycache__", "tiny/sub/__pycache__"):
        assert text.count(f"{public.site}/{folder}: user {NOBODY} may not write here, its owner is user 0") == 1
    assert "a virtual environment of your own" in text
    assert public.tree() == before

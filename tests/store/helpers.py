"""A site directory with three awkward files, each change of it that the tests of the store and of faults try, and its state."""

import hashlib
import os
import shutil
import signal

from patcher.errors import StoreError
from patcher.model import (
    AppliedHunks,
    Change,
    NewBytes,
    PatchedRelease,
    PristineFile,
    Receipt,
    Splice,
    Step,
)
from patcher.system.reading import patchset_digest
from tests.faults.calls import in_child
from tests.stores import commit, contents

A, B, C = "pkg/a.py", "pkg/sub/b.py", "other/c.py"
PRISTINE = {A: b"x = 1\r\ny = 2\r", B: b"\xef\xbb\xbf# \x0c caf\xc3\xa9\nz = 1", C: b"\xff\x00 any bytes"}
MODES = {A: 0o644, B: 0o640, C: 0o755}
MTIME = 1_600_000_000_123_456_789


def sha(data):
    return hashlib.sha256(data).hexdigest()


def new(path, version=1):
    return PRISTINE[path] + b"\n# patched %d\n" % version


TEXTS = {version: {"patchset.toml": f"version = {version}\n"} for version in (1, 2)}
DIGESTS = {version: patchset_digest(texts) for version, texts in TEXTS.items()}


def receipt(path, version=1, link="", pristine=None, data=None, **original):
    """A receipt; `original` are further fields of its `PristineFile`."""
    pristine = PRISTINE[path] if pristine is None else pristine
    data = new(path, version) if data is None else data
    step = Step("p", "1.0", DIGESTS[version], "fix", {"n": 5, "on": True, "s": "é"}, (Splice(1, 2, b"\xff\n"),), AppliedHunks((3,)))
    file = PristineFile(sha(pristine), MODES.get(path, 0o644), MTIME, link)._replace(**original)
    return Receipt(path, PatchedRelease("pkg", "pkg", "1.0"), file, sha(data), (step,))


def make_site(site):
    """Three files of every awkward kind of bytes, C a link into a cache, with bytecode of A."""
    cache = site.parent / "cache"
    for path, data in PRISTINE.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        file = site / path
        if path == C:
            cache.mkdir()
            file.symlink_to(os.path.join("..", "..", "cache", "c.py"))
        file.write_bytes(data)
        file.chmod(MODES[path])
        os.utime(file, ns=(MTIME, MTIME))
    os.utime(site / C, ns=(MTIME, MTIME), follow_symlinks=False)
    (site / "pkg/__pycache__").mkdir()
    add_bytecode(site)
    return site


def add_bytecode(site):
    for name in ("a.cpython-38.pyc", "a.cpython-311.opt-2.pyc"):
        (site / "pkg/__pycache__" / name).write_bytes(b"old")


def bytecode(site):
    return [path.name for path in site.rglob("*.pyc")]


def links(path):
    return os.path.join("..", "..", "cache", "c.py") if path == C else ""


def apply(site, version=1):
    changes = []
    for path in PRISTINE:
        old = sha((site / path).read_bytes())
        changes.append(Change(path, old, NewBytes(new(path, version)), receipt(path, version, links(path))))
    return commit(site, changes, {DIGESTS[version]: TEXTS[version]})


def update(site):
    return apply(site, 2)


def restore(site):
    changes = [Change(path, sha((site / path).read_bytes()), None, None) for path in PRISTINE]
    return commit(site, changes, {})


D, ADDED = "pkg/new/deep/d.py", b"d = 1\n"


def add(site):
    """Change one file, and add one whose directories are not there."""
    of_added = receipt(D, pristine=b"", data=ADDED, origin="added")
    changes = [Change(A, sha(PRISTINE[A]), NewBytes(new(A)), receipt(A)), Change(D, "", NewBytes(ADDED), of_added)]
    return commit(site, changes, {DIGESTS[1]: TEXTS[1]})


def take_away(site):
    return commit(site, [Change(A, sha(new(A)), None, None), Change(D, sha(ADDED), None, None)], {})


def added(site):
    add(site)
    (site / "pkg/new/deep/__pycache__").mkdir()
    (site / "pkg/new/deep/__pycache__/d.cpython-38.pyc").write_bytes(b"old")


def deleting(receipt):
    """The receipt of a file that its only patchset has deleted."""
    (step,) = receipt.steps
    return receipt._replace(current="", steps=(step._replace(hunks=step.hunks._replace(gone=True)),))


def delete(site):
    """Change one file, and delete the others: a regular one, and a link."""
    changes = [Change(A, sha(PRISTINE[A]), NewBytes(new(A)), receipt(A))]
    for path in (B, C):
        of_deleted = deleting(receipt(path, link=links(path)))
        changes.append(Change(path, sha(PRISTINE[path]), NewBytes(b"", gone=True), of_deleted))
    return commit(site, changes, {DIGESTS[1]: TEXTS[1]})


def bring_back(site):
    return commit(site, [Change(A, sha(new(A)), None, None), Change(B, "", None, None), Change(C, "", None, None)], {})


def change_deleted(site):
    """Another version changes what this one deletes, and deletes what this one changes."""
    changes = [Change(A, sha(new(A)), NewBytes(b"", gone=True), deleting(receipt(A, 2)))]
    changes += [Change(path, "", NewBytes(new(path, 2)), receipt(path, 2, links(path))) for path in (B, C)]
    return commit(site, changes, {DIGESTS[2]: TEXTS[2]})


def lose(site):
    apply(site)
    (site / B).unlink()


def mixed(site):
    """Update one file, put back the next, which was deleted, forget a third."""
    changes = [
        Change(A, sha(new(A)), NewBytes(new(A, 2)), receipt(A, 2)),
        Change(B, "", None, None),
        Change(C, sha(new(C)), None, None, forget=True),
    ]
    return commit(site, changes, {DIGESTS[2]: TEXTS[2]})


def tree(site, times=True):
    return contents(site, PRISTINE.values(), times)


KILLED = -signal.SIGKILL


def run_faulty(action, point, how):
    """`action` in a child with a fault at the `point`-th call that changes files: (4 where it failed, calls made)."""

    def carried_out():
        try:
            action()
        except (StoreError, KeyboardInterrupt):
            return 4
        return 0

    ended = in_child(carried_out, point, how)
    return ended.code, ended.count


def copy_of(site, to):
    shutil.rmtree(to.parent, ignore_errors=True)
    shutil.copytree(site.parent, to.parent, symlinks=True)
    return to


SCENARIOS = [  # the name, what is done first, and the change
    ("apply", None, apply),
    ("update", apply, update),
    ("restore", apply, restore),
    ("mixed", lose, mixed),
    ("add", None, add),
    ("take away", added, take_away),
    ("delete", None, delete),
    ("bring back", delete, bring_back),
    ("change", delete, change_deleted),
]


def prepared(site, first, action):
    """The state before `action`, and the trees before and after it."""
    if first:
        first(site)
        add_bytecode(site)
    after = copy_of(site, site.parent.parent / "done/site")
    action(after)
    assert tree(site) != tree(after)
    return tree(site), tree(after)

"""A small installed package and two versions of a patchset for it, the command on it, and the tree that it leaves."""

import importlib
import os
import shutil
import sys

from tests.faults.calls import in_child
from tests.records import with_record, write_patchset
from tests.starts import import_all
from tests.stores import contents, save_edited

NAME, OTHER = "tiny-fix", "tiny-other"
FILES = {
    "tiny/__init__.py": b"",
    "tiny/a.py": b"import os\r\n\r\n\r\ndef first(n):\r\n    return n + 1\r\n",
    "tiny/sub/__init__.py": b"",
    "tiny/sub/b.py": b"def second(n):\n    # caf\xc3\xa9\n    return n * 2",
    "tiny/c.py": b"def third(n):\n    return n - 3\n",
    "tiny/d.py": b"def fourth(n):\n    return n\n",
}
HUNKS = {
    1: (("tiny/a.py", "first", "n + 1", "n + 10"), ("tiny/sub/b.py", "second", "n * 2", "n * 20"), ("tiny/c.py", "third", "n - 3", "n - 30")),
    2: (("tiny/a.py", "first", "n + 1", "n + 100"), ("tiny/sub/b.py", "second", "n * 2", "n * 200")),
}  # fmt: skip
DELETED = {1: "--- tiny/d.py\n-def fourth(n):\n-    return n\n\n", 2: ""}
ADDED = {1: "HELP = 1\n", 2: "HELP = 22\n"}
MTIME = 1_600_000_000_123_456_789
MODES = {"tiny/a.py": 0o644, "tiny/sub/b.py": 0o640, "tiny/c.py": 0o755}  # of those that change
DELETED_MODE = 0o600


def content(path, version):
    """What `path` holds with that version of the patchset applied, 0 for none."""
    data = FILES[path]
    for target, _, old, new in HUNKS.get(version, ()):
        if target == path:
            data = data.replace(old.encode(), new.encode())
    return data


def sources(folder):
    """Write the two versions of the patchset, and one that is never applied, to `folder`/1 and `folder`/2."""
    for version, hunks in HUNKS.items():
        for name in (NAME, OTHER):
            text = "".join(f"--- {path}\n@@ {scope} @@\n-{old}\n+{new}\n\n" for path, scope, old, new in hunks)
            added = "".join(f"+++ tiny/{place}_{name[5:]}.py\n+{ADDED[version]}" for place in ("", "new/deep/"))
            spatch = f"For the tests.\n\n{text}{DELETED[version]}{added}"
            write_patchset(folder / str(version), name, spatch, "tiny", kind="fix", version=f"{version}.0", versions=">=1")
    return folder


def wheel_files(version="1.0"):
    """The files of the package as a wheel or an installer lays them out, RECORD last."""
    return with_record("tiny", version, FILES)


def install(site):
    """Lay the package out in `site`, with stale bytecode, modes and mtimes of their own."""
    for path, data in wheel_files().items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_bytes(data)
        if path in FILES:
            (site / path).chmod(DELETED_MODE if path == "tiny/d.py" else MODES.get(path, 0o644))
            os.utime(site / path, ns=(MTIME, MTIME))
    add_bytecode(site)
    return site


def edit_beside_backups(site):
    """Edit each file by hand, with a backup beside it, where the store keeps the text of an earlier edit."""
    for path in MODES:
        shutil.copy2(site / path, site / f"{path}.orig")
        (site / path).write_bytes(FILES[path] + b"\nEDITED = True\n")
    return save_edited(site, "tiny/a.py", b"EARLIER = True\n")


def edit(site):
    """Edit a patched file by hand."""
    with (site / "tiny/a.py").open("ab") as file:
        return file.write(b"EDITED = True\r\n")


def add_bytecode(site):
    """Add bytecode of a foreign interpreter for each patched file; it must not outlive a change of its source."""
    for path in MODES:
        cache = (site / path).parent / "__pycache__"
        cache.mkdir(exist_ok=True)
        (cache / f"{(site / path).stem}.cpython-36.pyc").write_bytes(b"old")


def bytecode(site):
    return sorted(path.relative_to(site).as_posix() for path in site.rglob("*.pyc"))


def preload():
    """Import what the commands import, once, so that each fork has it."""
    names = ("verbs.main", "verbs.apply", "verbs.restore", "display.language", "engine.answers", "engine.syntax", "patchset.results")
    for name in ("importlib.metadata", "json", "platformdirs", *(f"patcher.{name}" for name in names)):
        importlib.import_module(name)


class Tiny:
    """The package in `folder`/site, the patchsets beside it, and the real command on them in a forked child."""

    def __init__(self, folder):
        preload()
        self.folder, self.site = folder, folder / "site"
        self.sources = sources(folder / "sources")
        self._saved = folder / "saved"
        install(self.site)

    def words(self, *words, version=1):
        """The command line, without verification, which writes nothing here."""
        words = [*words, "--verify", "none"] if words[0] == "apply" else words
        return [*words, "--target", str(self.site), "--patch-dir", str(self.sources / str(version))]

    def run(self, *words, version=1, point=0, how="none", uid=0, first=None):
        """Run `sitepatch WORDS` in a child with a fault (see `calls.fault`).

        With `uid` it is run by that user, all imported: the interpreter may lie where others cannot read. The child calls
        `first` before all else.
        """

        def command():
            from patcher.verbs.main import main

            if first:
                first()
            if uid:
                import_all()
                os.setgroups([])
                os.setgid(uid)
                os.setuid(uid)
            sys.argv = ["sitepatch", *self.words(*words, version=version)]
            os.chdir(self.folder)  # the checkout has a ./patchsets
            os.environ["NO_COLOR"] = "1"
            main()

        return in_child(command, point, how)

    def save(self):
        """Keep the present site directory for `reset`."""
        shutil.rmtree(self._saved, ignore_errors=True)
        shutil.copytree(self.site, self._saved, symlinks=True)

    def reset(self):
        shutil.rmtree(self.site)
        shutil.copytree(self._saved, self.site, symlinks=True)

    def tree(self):
        return tree(self.site)


def tree(site):
    return contents(site, [data for path, data in FILES.items() if path in MODES])

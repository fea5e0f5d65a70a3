"""Shared by tests of several commands: a package with one function and a patchset for it, the one of the tutorial."""

import click

from patcher.verbs.main import commands
from tests.command import ROOT
from tests.records import rerecord

INIT, SHARE = "demo/__init__.py", "demo/share.py"
PLAIN = "def share(storage):\n    if storage.is_musa:\n        return 1\n    return 2\n"
CLONE = "def clone(storage):\n    return storage.is_musa\n"
MANIFEST = """schema = 1
name = "{name}"
version = "1.0"
kind = "fix"
summary = "Ask <safely>"
[provenance]
author = "nobody"
remove_when = "upstream asks safely"

[[variant]]
package = "{package}"
versions = "{versions}"
{more}patches = ["ask.spatch"]
"""
SPATCH = """--- {path}
@@ {scope} @@
-storage.is_musa
+getattr(storage, "is_musa", False)
"""


def write_patchset(folder, name, *, package="demo", versions=">=1,<3", path=SHARE, scope="share", more=""):
    (folder / name / "cases").mkdir(parents=True)
    (folder / name / "patchset.toml").write_text(MANIFEST.format(name=name, package=package, versions=versions, more=more))
    (folder / name / "ask.spatch").write_text(SPATCH.format(path=path, scope=scope))


def files(share, **more):
    return {INIT: "", SHARE: share, "demo/other.py": CLONE, **more}


def tutorial(folder):
    """Make the patchset that the documentation teaches, from its own text; returns its name."""
    text = (ROOT / "docs/howto/change.md").read_text(encoding="utf-8")
    name = "mmengine-unused-parameters"
    for file in ("patchset.toml", "unused.spatch"):
        body = text.partition(f"`patchsets/{name}/{file}`:")[2].partition("```")[2].partition("\n")[2].partition("```")[0]
        (folder / "patchsets" / name).mkdir(parents=True, exist_ok=True)
        (folder / "patchsets" / name / file).write_text(body, encoding="utf-8")
    return name


def ship(site, path, data):
    """Write `data` to the file and to the package's RECORD, as if it had been installed."""
    site.file(path).write_bytes(data)
    rerecord(site.path, path, data)


def every_command(group=commands, above=""):
    with click.Context(group) as context:
        for name in group.list_commands(context):
            one = group.get_command(context, name)
            yield f"{above}{name}", one
            if isinstance(one, click.Group):
                yield from every_command(one, f"{above}{name} ")

"""What the tests of built-in patchsets share: a stand-in with patchsets in it, and the code that a patchset inserts."""

from pathlib import Path
from types import SimpleNamespace

from patcher.engine.engine import rewrite
from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import BUILT_IN, builtin_dir
from patcher.patchset.variants import resolve_options
from patcher.verbs.demo import lay_out


def patched(version, site, *names, settings=()):
    """Lay out a stand-in of MMEngine with these patchsets applied in the order that sitepatch applies them."""
    lay_out(f"mmengine-{version}", site)
    for name in names:
        patchset = load_patchset(Path(builtin_dir()) / name, BUILT_IN)
        options = resolve_options(patchset, dict(settings))
        for patch in patchset.variants[0].patches:
            path = site / patch.paths[0]
            if path.exists():
                path.write_bytes(rewrite(path.read_bytes(), patch.hunks, options).data)


def inserted(spatch, header):
    """What a patchset inserts into a file, or adds as one: the section of its .spatch that begins with this line."""
    _, _, hunk = spatch.read_text(encoding="utf-8").partition(header + "\n")
    return "\n".join(line[1:] for line in hunk.partition("\n--- ")[0].splitlines() if line.startswith("+"))


def executed(name, case, **scope):
    """What stands in a case of a built-in patchset after it is applied, run beside these names."""
    folder = Path(builtin_dir()) / name
    patchset = load_patchset(folder, BUILT_IN)
    head, _, text = (folder / "cases" / f"{case}.before.py").read_bytes().partition(b"\n")
    (hunks,) = [patch.hunks for patch in patchset.variants[0].patches if patch.paths[0] == head.decode().split()[-1]]
    exec(compile(rewrite(text, hunks, resolve_options(patchset, {})).data, case, "exec"), scope)
    return SimpleNamespace(**scope)

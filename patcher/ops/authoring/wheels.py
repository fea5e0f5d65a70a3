"""`export --format patchset-wheel`: patchsets as packages that pip and uv install, pin by hash and remove."""

from __future__ import annotations

from typing import Dict, List

from patcher.hook.backend import Wheel
from patcher.installed.versions import canonical
from patcher.model import Patchset
from patcher.patchset.places import GROUP

PREFIX = "sitepatch-patchset-"
"""What the name of such a distribution begins with; the name of the patchset follows."""


def patchset_wheel(patchset: Patchset) -> Wheel:
    """A wheel that holds the files of a patchset in a folder that an entry point names; reading them runs nothing of it.

    The same patchset gives the same bytes. The wheel depends on nothing, not even on sitepatch, so the two can be installed in
    any order. The module is a package though nobody imports it: pip leaves an empty folder when it uninstalls one without a
    file of its own.
    """
    version = canonical(patchset.version)
    name = f"{PREFIX}{patchset.name}"
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    texts: Dict[str, List[str]] = {
        "METADATA": ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", f"Summary: {patchset.summary}"],
        "WHEEL": ["Wheel-Version: 1.0", "Generator: sitepatch", "Root-Is-Purelib: true", "Tag: py3-none-any"],
        "entry_points.txt": [f"[{GROUP}]", f"{patchset.name} = {module}"],
    }
    files = {f"{info}/{each}": "\n".join([*lines, ""]).encode("utf-8") for each, lines in texts.items()}
    files[f"{module}/__init__.py"] = b""
    files.update((f"{module}/{patchset.name}/{path}", text.encode("utf-8")) for path, text in patchset.files.items())
    return Wheel(f"{module}-{version}-py3-none-any.whl", files)

"""A draft -> the folder of a patchset, checked by reading it, and written completely or not at all."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence

from patcher.author.draft import Draft, package_of
from patcher.errors import UsageError
from patcher.model import Patchset, PatchsetSource
from patcher.patchset.manifest import NAME, NAME_FORM, load_patchset
from patcher.patchset.places import MANIFEST
from patcher.patchset.toml import written_toml
from patcher.system.decode import shown_value
from patcher.system.output import write_output

PATCHSETS = "patchsets"


class Head(NamedTuple):
    """The fields of a manifest that are not of a variant; `provenance` has keys of `manifest.PROVENANCE`."""

    name: str
    summary: str
    prose: str = ""
    provenance: Mapping[str, str] = {}
    kind: str = "fix"
    version: str = "1.0"


class PackageRange(NamedTuple):
    """An import package, the distribution that provides it, and the range (PEP 440) for which the hunks are proven."""

    package: str
    distribution: str
    versions: str


def output_folder(name: str, output: Optional[str] = None) -> Path:
    """The folder of a new patchset: in the directory `output` (default `./patchsets`), or that itself if it is called `name`.

    Raises:
        UsageError: the name is not valid, or something is there already.
    """
    if not re.fullmatch(NAME, name):
        raise UsageError(f"found the name {shown_value(name)}, expected {NAME_FORM}")
    folder = Path(output if output is not None else PATCHSETS)
    folder = folder if folder.absolute().name == name else folder / name
    _check_free(folder)
    return folder


def _check_free(folder: Path) -> None:
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise UsageError(f"{folder}: found something that is no directory, expected none or an empty one")
    if folder.is_dir() and any(folder.iterdir()):
        hint = f"name another patchset, or widen this one: sitepatch update {folder.name}"
        raise UsageError(f"{folder}: found a directory that is not empty, expected none or an empty one", hint)


def patchset_files(head: Head, draft: Draft, targets: Sequence[PackageRange]) -> Dict[str, str]:
    """The texts of a patchset's folder by file name: a `.spatch` for each import package, with the prose in the first."""
    texts: Dict[str, str] = {}
    variants: List[str] = []
    prose = re.sub(r"^(?=--- |@@)", "  ", re.sub(r"\r\n?", "\n", head.prose), flags=re.MULTILINE)  # else they begin a patch
    for target in targets:
        files = tuple(file for file in draft.files if file.hunks and package_of(file.paths[0]) == target.package)
        name = f"{head.name if len(targets) == 1 else target.package}.spatch"
        texts[name] = Draft(files).spatch("" if texts else prose)
        variants.append(variant_text(target, [name]))
    modules = dict.fromkeys(filter(None, (_module(file.paths[0]) for file in draft.files if file.hunks)))
    top = {"name": head.name, "version": head.version, "kind": head.kind, "summary": " ".join(head.summary.split())}
    tables = ["schema = 1\n" + _items(top)]
    tables += [f"[provenance]\n{_items(head.provenance)}"] if head.provenance else []
    tables += variants
    tables += [f"[verify]\nimports = {written_list(modules)}\n"] if modules else []
    return {MANIFEST: "\n".join(tables), **texts}


def variant_text(target: PackageRange, patches: Iterable[str]) -> str:
    """A `[[variant]]` of a manifest."""
    text = "[[variant]]\n" + _items({"package": target.package, "versions": target.versions})
    if target.distribution not in ("", target.package):
        text += f"distributions = {written_list([target.distribution])}\n"
    return f"{text}patches = {written_list(patches)}\n"


def _module(path: str) -> str:
    """The module of a file, "" for one that cannot be imported by its name."""
    parts = path[: -len(".py")].split("/")
    parts = parts[:-1] if parts[-1] == "__init__" else parts
    return ".".join(parts) if all(part.isidentifier() and part != "__main__" for part in parts) else ""


def _items(items: Mapping[str, str]) -> str:
    return "".join(f"{key} = {written_toml(value)}\n" for key, value in items.items())


def written_list(texts: Iterable[str]) -> str:
    """Texts as an array of TOML."""
    return f"[{', '.join(map(written_toml, texts))}]"


def write_folder(folder: Path, files: Mapping[str, str], *, replace: bool = False) -> Patchset:
    """Write a patchset's folder, complete or not at all, and only if it can be read without a problem.

    Args:
        folder: the folder, which has the name of the patchset.
        files: the texts by file name.
        replace: whether the folder exists already; its other files are kept. Each file is replaced whole, the manifest last:
            a process that is killed leaves the old patchset or the new one.

    Raises:
        UsageError: something is there already.
        PatchError: the patchset is invalid.
        OSError: it cannot be written.
    """
    if not replace:
        _check_free(folder)
    load_patchset(folder, PatchsetSource(str(folder)), files)
    if replace:
        for name, text in sorted(files.items(), key=lambda item: item[0] == MANIFEST):  # what it does not name has no effect
            write_output(folder / name, text.encode("utf-8"))
        return load_patchset(folder, PatchsetSource(str(folder)))
    home = next(each for each in folder.absolute().parents if each.is_dir())
    with tempfile.TemporaryDirectory(prefix=".sitepatch-", dir=str(home)) as scratch:
        made = Path(scratch, folder.absolute().name)
        for name, text in files.items():
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            (made / name).write_bytes(text.encode("utf-8"))
        folder.parent.mkdir(parents=True, exist_ok=True)
        made.rename(folder)
    return load_patchset(folder, PatchsetSource(str(folder)))

"""A draft -> the folder of a patchset, checked by reading it, and written completely or not at all."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from patcher.author.diffs.patchfile import Patch
from patcher.author.draft import Draft, package_of
from patcher.author.manifest import with_imports, with_patch_files, with_variant, with_versions
from patcher.errors import SitepatchError, UsageError
from patcher.message import Message
from patcher.model import Patchset, PatchsetSource
from patcher.patchset.manifest import NAME, NAME_FORM, load_patchset
from patcher.patchset.places import BUILT_IN, ENTRY_POINT, MANIFEST, AnyPath, builtin_dir, patchset_folders
from patcher.patchset.sources import find_patchset
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


def output_folder(name: str, output: Optional[AnyPath] = None, note: Callable[[str], None] = lambda text: None) -> Path:
    """The folder of a new patchset: in the directory `output` (default `./patchsets`), or that itself if it is called `name`.

    Raises:
        UsageError: the name is not valid, or something is there already.
    """
    if not re.fullmatch(NAME, name):
        raise UsageError("found the name {name}, expected {form}", name=shown_value(name), form=NAME_FORM)
    folder = _folder(name, output)
    _check_free(folder)
    if (Path(builtin_dir()) / name).is_dir():
        note(Message('a built-in patchset is called "{name}", too; this one is taken instead where both are found', name=name))
    return folder


def _folder(name: str, output: Optional[AnyPath]) -> Path:
    folder = Path(output if output is not None else PATCHSETS)
    return folder if folder.absolute().name == name else folder / name


class SeriesFolder(NamedTuple):
    """A series that is there already, and its patchset."""

    folder: Path
    patchset: Patchset

    @property
    def manifest(self) -> str:
        """The text of its manifest."""
        return self.patchset.files[MANIFEST]

    @property
    def patches(self) -> Dict[str, str]:
        """Its `.spatch` files by name, in the order in which the manifest names them."""
        return {name: text for name, text in self.patchset.files.items() if name.endswith(".spatch")}


def find_series(name: str, output: Optional[AnyPath] = None) -> Optional[SeriesFolder]:
    """The series in the folder of that name, to which patches can be added; None where there is none.

    Raises:
        PatchError: it is invalid.
    """
    folder = _folder(name, output)
    if not (folder / MANIFEST).is_file():
        return None
    patchset = load_patchset(folder, PatchsetSource(str(folder)))
    packages = {variant.package for variant in patchset.variants}
    if not all(variant.series for variant in patchset.variants) or len(packages) < len(patchset.variants):
        return None
    return SeriesFolder(folder, patchset)


def _check_free(folder: Path) -> None:
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise UsageError("{folder}: found something that is no directory, expected none or an empty one", folder=folder)
    if folder.is_dir() and any(folder.iterdir()):
        hint = Message("name another patchset, or widen this one: sitepatch update {name}", name=folder.name)
        raise UsageError("{folder}: found a directory that is not empty, expected none or an empty one", hint, folder=folder)


def patchset_files(head: Head, draft: Draft, targets: Sequence[PackageRange]) -> Dict[str, str]:
    """The texts of a patchset's folder by file name: a `.spatch` for each import package, with the prose in the first."""
    texts: Dict[str, str] = {}
    variants: List[str] = []
    for target in targets:
        files = tuple(file for file in draft.files if file.hunks and package_of(file.paths[0]) == target.package)
        name = f"{head.name if len(targets) == 1 else target.package}.spatch"
        texts[name] = Draft(files).spatch("" if texts else _prose(head.prose))
        variants.append(variant_text(target, [name]))
    return {MANIFEST: _manifest(head, variants, [file.paths[0] for file in draft.files if file.hunks]), **texts}


def spatch_text(head: Patch, draft: Draft) -> str:
    """The `.spatch` of a patch in a series."""
    return draft.spatch(_prose(head.head))


def series_files(
    head: Head, patches: Mapping[str, str], paths: Sequence[str], targets: Sequence[PackageRange]
) -> Dict[str, str]:
    """The texts of a series' folder: `patches` are the `.spatch` files by name, in order; they change the files `paths`."""
    variants = [series_variant(target, patches) for target in targets]
    return {MANIFEST: _manifest(head, variants, paths), **patches}


def series_variant(target: PackageRange, patches: Iterable[str]) -> str:
    """A `[[variant]]` of a series."""
    return variant_text(target, []).replace("patches = []", f"patches = {_column(patches)}") + "series = true\n"


def _column(texts: Iterable[str]) -> str:
    """Texts as an array of TOML with a line for each."""
    return "[\n" + "".join(f"    {written_toml(text)},\n" for text in texts) + "]"


def more_series_files(
    series: SeriesFolder, patches: Mapping[str, str], paths: Sequence[str], targets: Sequence[PackageRange]
) -> Dict[str, str]:
    """The texts of a series' folder with further patches and ranges, its manifest changed in those lines alone."""
    variants, manifest = series.patchset.variants, series.manifest
    for number in range(len(variants)):
        manifest = with_patch_files(manifest, number, list(patches))
    packages = [variant.package for variant in variants]
    for target in targets:
        if target.package in packages:
            manifest = with_versions(manifest, packages.index(target.package), target.versions)
        else:
            manifest = with_variant(manifest, series_variant(target, patches))
    return {MANIFEST: with_modules(manifest, series.patchset, paths), **patches}


def with_modules(manifest: str, patchset: Patchset, paths: Iterable[str]) -> str:
    """The manifest of a patchset, where it names modules to import, with those of further files."""
    modules = dict.fromkeys([*patchset.verify.imports, *filter(None, map(_module, paths))])
    return with_imports(manifest, list(modules)) if patchset.verify.imports else manifest


def own_folder(name: str, patch_dirs: Sequence[AnyPath]) -> Tuple[Path, Patchset]:
    """The folder of a patchset, and the patchset.

    Raises:
        UsageError: there is none of that name.
        SitepatchError: it does not belong to the user.
    """
    known = patchset_folders(patch_dirs, Path.cwd())
    patchset = find_patchset(name, patch_dirs, Path.cwd(), known).patchset
    folder, source = known[name][0]
    named = source.kind not in (BUILT_IN.kind, ENTRY_POINT)
    if not named or not (os.access(folder, os.W_OK) and os.access(Path(folder).parent, os.W_OK)):
        why = Message("its folder may not be written" if named else "it belongs to what is installed, and is not changed")
        hint = Message("copy it, and update the copy: mkdir -p patchsets && cp -r {folder} patchsets/", folder=folder)
        raise SitepatchError(Message("{name} ({source}): {why}", name=name, source=source, why=why), hint)
    return Path(folder), patchset


def keep_beside(folder: Path, texts: Mapping[str, str]) -> None:
    """Write what these files of a patchset hold beside them, as `NAME~`, unless git has it; an older one is replaced."""
    for name in texts:
        text = (folder / name).read_bytes() if (folder / name).is_file() else None
        if text is not None and _committed(folder, name) != text:
            write_output(folder / f"{name}~", text)


def _committed(folder: Path, name: str) -> Optional[bytes]:
    """What the last commit has of a file, None for nothing."""
    import subprocess  # for a revision alone

    try:
        git = subprocess.run(["git", "show", f"HEAD:./{name}"], cwd=str(folder), stdin=subprocess.DEVNULL, capture_output=True)
    except OSError:  # there is no git
        return None
    return git.stdout if git.returncode == 0 else None


def _prose(text: str) -> str:
    """The text above the first patch of a `.spatch`, without lines that would begin one."""
    return re.sub(r"^(?=--- |@@)", "  ", re.sub(r"\r\n?", "\n", text), flags=re.MULTILINE)


def _manifest(head: Head, variants: Sequence[str], paths: Sequence[str]) -> str:
    modules = dict.fromkeys(filter(None, map(_module, paths)))
    top = {"name": head.name, "version": head.version, "kind": head.kind, "summary": " ".join(head.summary.split())}
    tables = ["schema = 1\n" + _items(top)]
    tables += [f"[provenance]\n{_items(head.provenance)}"] if head.provenance else []
    tables += variants
    tables += [f"[verify]\nimports = {written_list(modules)}\n"] if modules else []
    return "\n".join(tables)


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


def remove_files(folder: Path, names: Iterable[str]) -> None:
    """Remove files of a patchset's folder that its manifest does not name any more."""
    for name in names:
        (folder / name).unlink()

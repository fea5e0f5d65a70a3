"""A draft -> the folder of a patchset, checked by reading it, and written completely or not at all."""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Callable, Iterable, Mapping, NamedTuple, Sequence

from patcher.author.diffs.patchfile import Patch
from patcher.author.draft import Draft
from patcher.author.manifest import (
    patch_files,
    with_imports,
    with_patch_files,
    with_variant,
    with_versions,
)
from patcher.errors import SitepatchError, UsageError
from patcher.installed.environment import locate
from patcher.installed.interpreter import Environment
from patcher.message import Message
from patcher.model import FilePatch, Patchset, PatchsetSource, Variant, module_of
from patcher.patchset.catalogue import Catalogue
from patcher.patchset.layers import in_order
from patcher.patchset.manifest import NAME, NAME_FORM, load_patchset
from patcher.patchset.places import MANIFEST, builtin_dir
from patcher.patchset.toml import written_toml
from patcher.patchset.variants import choose_variant, paths_of, pick_variants
from patcher.system.decode import shown_value
from patcher.system.exchange import exchange
from patcher.system.output import write_output
from patcher.system.signals import ignored
from patcher.text.listed import AnyPath, listed
from patcher.text.secrets import without_credentials

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


def output_folder(
    name: str, output: AnyPath | None = None, note: Callable[[str], None] = lambda text: None
) -> Path:
    """The folder of a new patchset: in the directory `output` (default `./patchsets`), or that itself if it is called `name`.

    Raises:
        UsageError: the name is not valid, or something is there already.
    """
    if not re.fullmatch(NAME, name):
        raise UsageError(
            "found the name {name}, expected {form}", name=shown_value(name), form=NAME_FORM
        )
    folder = named_folder(name, output)
    _check_free(folder)
    if (Path(builtin_dir()) / name).is_dir():
        note(
            Message(
                'a built-in patchset is called "{name}", too; this one is taken instead where both are found',
                name=name,
            )
        )
    return folder


def named_folder(name: str, output: AnyPath | None = None) -> Path:
    """The folder of a patchset in a directory (default `./patchsets`), or that itself if it is called so."""
    folder = Path(output if output is not None else PATCHSETS)
    return folder if folder.absolute().name == name else folder / name


class SeriesFolder(NamedTuple):
    """A patchset that is there already, and its folder; `numbers` are the indices of the variants that are meant."""

    folder: Path
    patchset: Patchset
    numbers: tuple[int, ...]

    @property
    def lists(self) -> dict[int, list[str]]:
        """The `.spatch` files of each variant that is meant, as the manifest names them."""
        lists = patch_files(self.patchset.folder.files[MANIFEST])
        return {number: lists[number] for number in self.numbers}

    @property
    def patches(self) -> dict[str, list[FilePatch]]:
        """What is in these variants of each of their `.spatch` files, in their order."""
        patches: dict[str, list[FilePatch]] = {}
        for number in self.numbers:
            for patch in self.patchset.variants[number].patches:
                spatch = Path(patch.hunks[0].origin).relative_to(self.folder).as_posix()
                patches.setdefault(spatch, []).append(patch)
        order: list[str] = []
        for names in self.lists.values():
            order = in_order(order, names)
        return {name: patches[name] for name in order if name in patches}

    def installed(self, env: Environment) -> SeriesFolder:
        """It with the one variant of each package that is for what is installed; a package's only one always is.

        Raises:
            SitepatchError: none is for it.
        """
        numbers: list[int] = []
        for package, variants in pick_variants(self.patchset).items():
            variant: Variant | None = variants[0]
            if len(variants) > 1:
                version = locate(env, package, paths_of(variants)).version
                variant = choose_variant(variants, version)
                if variant is None:
                    template = "{name} is for {package} {ranges}, and {version} is installed"
                    name, ranges = (
                        self.folder.name,
                        listed([variant.versions for variant in variants], "or"),
                    )
                    hint = "sitepatch update {name} --to {version}{here}"
                    raise SitepatchError(
                        template, hint, name=name, package=package, ranges=ranges, version=version
                    )
            numbers += [
                number for number, other in enumerate(self.patchset.variants) if other is variant
            ]
        return self._replace(numbers=tuple(numbers))


def find_series(name: str, output: AnyPath | None = None) -> SeriesFolder | None:
    """The patchset in the folder of that name, to which patches can be added; None where there is none.

    Raises:
        PatchError: it is invalid.
    """
    folder = named_folder(name, output)
    if not (folder / MANIFEST).is_file():
        return None
    patchset = load_patchset(folder, PatchsetSource(str(folder)))
    return SeriesFolder(folder, patchset, tuple(range(len(patchset.variants))))


def _check_free(folder: Path) -> None:
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise UsageError(
            "{folder}: found something that is no directory, expected none or an empty one",
            folder=folder,
        )
    if folder.is_dir() and any(folder.iterdir()):
        more = "name another patchset, or revise this one: sitepatch edit {name}{here}"
        hint = Message(
            more if (folder / MANIFEST).is_file() else "name another patchset", name=folder.name
        )
        raise UsageError(
            "{folder}: found a directory that is not empty, expected none or an empty one",
            hint,
            folder=folder,
        )


def patchset_files(head: Head, draft: Draft, targets: Sequence[PackageRange]) -> dict[str, str]:
    """The texts of a patchset's folder by file name: one `.spatch`, of which each variant takes what is of its package."""
    files = tuple(file for file in draft.files if file.hunks)
    patches = {f"{head.name}.spatch": Draft(files).spatch(_prose(head.prose))}
    return series_files(head, patches, [file.paths[0] for file in files], targets)


def spatch_text(head: Patch, draft: Draft) -> str:
    """The `.spatch` of a patch."""
    return draft.spatch(_prose(head.head))


def series_files(
    head: Head, patches: Mapping[str, str], paths: Sequence[str], targets: Sequence[PackageRange]
) -> dict[str, str]:
    """The texts of a patchset's folder: `patches` are the `.spatch` files by name, in order; they change the files `paths`."""
    variants = [variant_text(target, list(patches)) for target in targets]
    return {MANIFEST: _manifest(head, variants, paths), **patches}


def more_series_files(
    series: SeriesFolder,
    patches: Mapping[str, str],
    paths: Sequence[str],
    targets: Mapping[int, PackageRange],
) -> dict[str, str]:
    """The texts of a patchset's folder with other patches and ranges, its manifest changed in those lines alone.

    Args:
        series: the patchset, with the variants that change.
        patches: the texts of their `.spatch` files by name, in order; those that are not among them go.
        paths: the files that they change.
        targets: the range of each of these variants by its index, and that of each further one.
    """
    manifest, lists = series.patchset.folder.files[MANIFEST], series.lists
    every = {name for names in lists.values() for name in names}
    for number, names in lists.items():
        kept = [name for name in names if name in patches]
        order = in_order(kept, [name for name in patches if name in kept or name not in every])
        manifest = with_patch_files(manifest, number, order)
    for number, target in targets.items():
        if number in lists:
            manifest = with_versions(manifest, number, target.versions)
        else:
            manifest = with_variant(manifest, variant_text(target, list(patches)))
    return {MANIFEST: with_modules(manifest, series.patchset, paths), **patches}


def with_modules(manifest: str, patchset: Patchset, paths: Iterable[str]) -> str:
    """The manifest of a patchset, where it names modules to import, with those of further files."""
    modules = dict.fromkeys([*patchset.verify.imports, *filter(None, map(module_of, paths))])
    return with_imports(manifest, list(modules)) if patchset.verify.imports else manifest


def own_folder(name: str, patch_dirs: Sequence[str]) -> tuple[Path, Patchset]:
    """The folder of a patchset, and the patchset.

    Raises:
        UsageError: there is none of that name.
        SitepatchError: it does not belong to the user.
    """
    catalogue = Catalogue(patch_dirs)
    patchset = catalogue.find(name).patchset
    (folder, source), named = catalogue.folders[name][0], catalogue.named(name)
    if not named or not (os.access(folder, os.W_OK) and os.access(Path(folder).parent, os.W_OK)):
        why = Message(
            "its folder may not be written"
            if named
            else "it belongs to what is installed, and is not changed"
        )
        hint = Message(
            "copy it, and update the copy: mkdir -p patchsets && cp -r {folder} patchsets/",
            folder=folder,
        )
        raise SitepatchError(
            Message("{name} ({source}): {why}", name=name, source=str(source), why=why), hint
        )
    return Path(folder), patchset


def keep_beside(folder: Path, texts: Mapping[str, str]) -> None:
    """Write what these files of a patchset hold beside them, as `NAME~`, unless git has it; an older one is replaced."""
    for name in texts:
        text = (folder / name).read_bytes() if (folder / name).is_file() else None
        if text is not None and _committed(folder, name) != text:
            write_output(folder / f"{name}~", text)


def _committed(folder: Path, name: str) -> bytes | None:
    """What the last commit has of a file, None for nothing."""
    import subprocess  # for a revision alone

    try:
        git = subprocess.run(
            ["git", "show", f"HEAD:./{name}"],
            cwd=str(folder),
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
    except OSError:  # there is no git
        return None
    return git.stdout if git.returncode == 0 else None


def _prose(text: str) -> str:
    """The text above the first patch of a `.spatch`, without lines that would begin one."""
    return re.sub(r"^(?=--- |@@)", "  ", re.sub(r"\r\n?", "\n", text), flags=re.MULTILINE)


def _manifest(head: Head, variants: Sequence[str], paths: Sequence[str]) -> str:
    modules = dict.fromkeys(filter(None, map(module_of, paths)))
    top = {
        "name": head.name,
        "version": head.version,
        "kind": head.kind,
        "summary": " ".join(head.summary.split()),
    }
    tables = ["schema = 1\n" + _items(top)]
    provenance = {key: without_credentials(value) for key, value in head.provenance.items()}
    tables += [f"[provenance]\n{_items(provenance)}"] if provenance else []
    tables += variants
    tables += [f"[verify]\nimports = {written_list(modules)}\n"] if modules else []
    return "\n".join(tables)


def variant_text(target: PackageRange, patches: Sequence[str], names: Sequence[str] = ()) -> str:
    """A `[[variant]]` of a manifest, with a line for each patch where there are several."""
    text = "[[variant]]\n" + _items({"package": target.package, "versions": target.versions})
    if target.distribution not in ("", target.package):
        text += f"distributions = {written_list([target.distribution])}\n"
    if len(patches) > 1:
        text += "patches = [\n"
        text += "".join(f"    {written_toml(patch)},\n" for patch in patches)
        text += "]\n"
    else:
        text += f"patches = {written_list(patches)}\n"
    return text + (f"names = {written_list(names)}\n" if names else "")


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
        replace: whether the folder exists already; its other files are kept. It is written beside and exchanged: a process
            that is killed leaves the old folder or the new one.

    Raises:
        UsageError: something is there already.
        PatchError: the patchset is invalid.
        OSError: it cannot be written.
    """
    if not replace:
        _check_free(folder)
    load_patchset(folder, PatchsetSource(str(folder)), files)
    place = folder.resolve() if replace else folder.absolute()
    home = next(each for each in place.parents if each.is_dir())
    with tempfile.TemporaryDirectory(prefix=".sitepatch-", dir=str(home)) as scratch:
        made = Path(scratch, place.name)
        if replace:
            _copy(place, made)
        for name, text in files.items():
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            write_output(made / name, text.encode("utf-8"))
        with ignored():  # what comes now is short; then Ctrl-C finds the old folder or the new one
            if replace:
                _exchange(made, place, files)
            else:
                place.parent.mkdir(parents=True, exist_ok=True)
                made.rename(place)
    return load_patchset(folder, PatchsetSource(str(folder)))


def _copy(folder: Path, made: Path) -> None:
    """Copy a folder with all that is in it, links as links; for root each copy has the owner of what it is a copy of."""
    shutil.copytree(str(folder), str(made), symlinks=True)
    if os.geteuid():
        return
    for path in [folder, *folder.rglob("*")]:
        info = path.lstat()
        os.lchown(made / path.relative_to(folder), info.st_uid, info.st_gid)


def _exchange(made: Path, folder: Path, files: Mapping[str, str]) -> None:
    """Put a folder that was made beside another one in its place; the old one is where the new one was."""
    try:
        if exchange(str(made), str(folder)):
            return
        old = made.with_name(f"{made.name}.old")
        folder.rename(old)
        try:
            made.rename(folder)
        except OSError:
            old.rename(folder)
            raise
    except OSError as error:
        if (
            error.errno != errno.EBUSY
        ):  # something is mounted there: its files are replaced one by one
            raise
        for name in sorted(files, key=lambda name: name == MANIFEST):
            write_output(folder / name, files[name].encode("utf-8"))

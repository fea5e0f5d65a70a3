"""A draft -> the folder of a patchset.

It is checked by reading it, and written completely or not at all.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Callable, Iterable, Mapping, Sequence

from patcher.author.diffs.patchfile import Patch
from patcher.author.manifest import (
    patch_files,
    with_imports,
    with_patch_files,
    with_variant,
    with_versions,
)
from patcher.author.spatch_draft import Draft, DraftFile, package_of
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
from patcher.record import Record
from patcher.system.decode import shown_value
from patcher.system.exchange import exchange
from patcher.system.output import write_output
from patcher.system.signals import ignored
from patcher.text.listed import AnyPath, listed
from patcher.text.secrets import without_credentials

PATCHSETS = "patchsets"


class Head(Record):
    """The fields of a manifest that are not of a variant.

    `provenance` has keys of `manifest.PROVENANCE`.
    """

    name: str
    summary: str
    prose: str = ""
    provenance: Mapping[str, str] = {}
    kind: str = "fix"
    version: str = "1.0"


class PackageRange(Record):
    """For what the hunks are proven.

    Attributes:
        package: an import package.
        distribution: the distribution that provides it.
        versions: the range (PEP 440).
    """

    package: str
    distribution: str
    versions: str


# where it is ------------------------------------------------------------------------------------
def output_folder(
    name: str, output: AnyPath | None = None, note: Callable[[str], None] = lambda text: None
) -> Path:
    """The folder of a new patchset.

    Args:
        name: the patchset.
        output: the directory of the folder (default `./patchsets`), or that itself if it is called
            `name`.
        note: takes remarks.

    Raises:
        UsageError: the name is not valid, or something is there already.
    """
    if not re.fullmatch(NAME, name):
        problem = "found the name {name}, expected {form}"
        words = re.findall("[a-z0-9]+", name.lower())
        hint = Message("as {name}, say", name="-".join(words)) if words else ""
        raise UsageError(problem, hint, name=shown_value(name), form=NAME_FORM)
    folder = named_folder(name, output)
    _check_free(folder)
    if (Path(builtin_dir()) / name).is_dir():
        text = (
            'a built-in patchset is called "{name}", too;'
            " this one is taken instead where both are found"
        )
        note(Message(text, name=name))
    return folder


def named_folder(name: str, output: AnyPath | None = None) -> Path:
    """The folder of a patchset in a directory (default `./patchsets`).

    Or that directory itself if it is called so.
    """
    folder = Path(output if output is not None else PATCHSETS)
    return folder if folder.absolute().name == name else folder / name


def proposed_name(draft: Draft, output: AnyPath | None = None) -> str:
    """A free name for the patchset of a draft: of the package, and of the scope that it changes.

    Args:
        draft: the hunks.
        output: as in `output_folder`.
    """
    paths = [file.paths[0] for file in draft.files if file.hunks]
    paths = paths or [file.paths[0] for file in draft.files]
    words = [package_of(path) for path in paths[:1]]
    if len(paths) == 1:
        scopes = _scopes(draft)
        words.append(scopes.pop() if len(scopes) == 1 else Path(paths[0]).stem)
    proposed = "-".join(re.findall("[a-z0-9]+", " ".join(words).lower()))
    name, number = proposed, 1
    while named_folder(name, output).exists() or (Path(builtin_dir()) / name).exists():
        number += 1
        name = f"{proposed}-{number}"
    return name


def _scopes(draft: Draft) -> set[str]:
    """The functions and classes that the hunks of a draft name; none where one names none."""
    scopes: set[str] = set()
    for file in draft.files:
        for hunk in file.hunks:
            named = re.match(r"@@ ([\w.]+) @@", hunk.text)
            if named is None:
                return set()
            scopes.add(named.group(1))
    return scopes


def _check_free(folder: Path) -> None:
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        problem = "{folder}: found something that is no directory, expected none or an empty one"
        raise UsageError(problem, folder=folder)
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    hint = Message("name another patchset")
    if (folder / MANIFEST).is_file():
        text = "name another patchset, or revise this one: sitepatch edit {name}{here}"
        hint = Message(text, name=folder.name)
    problem = "{folder}: found a directory that is not empty, expected none or an empty one"
    raise UsageError(problem, hint, folder=folder)


def own_folder(name: str, patch_dirs: Sequence[str]) -> tuple[Path, Patchset]:
    """The folder of a patchset, and the patchset.

    Raises:
        UsageError: there is none of that name.
        SitepatchError: it does not belong to the user.
    """
    catalogue = Catalogue(patch_dirs)
    patchset = catalogue.find(name).patchset
    folder, source = catalogue.folders[name][0]
    if not catalogue.named(name):
        why = Message("it belongs to what is installed, and is not changed")
    elif not _may_write(folder) or not _may_write(Path(folder).parent):
        why = Message("its folder may not be written")
    else:
        return Path(folder), patchset
    text = "copy it, and update the copy: mkdir -p patchsets && cp -r {folder} patchsets/"
    hint = Message(text, folder=folder)
    problem = Message("{name} ({source}): {why}", name=name, source=str(source), why=why)
    raise SitepatchError(problem, hint)


def _may_write(folder: AnyPath) -> bool:
    return os.access(folder, os.W_OK)


# a patchset that is there already ---------------------------------------------------------------
class SeriesFolder(Record):
    """A patchset that is there already.

    Attributes:
        folder: its folder.
        patchset: the patchset.
        numbers: the indices of the variants that are meant.
    """

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
        """It with the one variant of each package that is for what is installed.

        A package's only one always is.

        Raises:
            SitepatchError: none is for it.
        """
        numbers: list[int] = []
        for package, variants in pick_variants(self.patchset).items():
            chosen = variants[0]
            if len(variants) > 1:
                chosen = self._for_installed(env, package, variants=variants)
            for number, variant in enumerate(self.patchset.variants):
                if variant is chosen:
                    numbers.append(number)
        return self._replace(numbers=tuple(numbers))

    def _for_installed(
        self, env: Environment, package: str, variants: Sequence[Variant]
    ) -> Variant:
        """That of several variants that is for what is installed."""
        version = locate(env, package, files=paths_of(variants)).version
        variant = choose_variant(variants, version)
        if variant is None:
            raise SitepatchError(
                "{name} is for {package} {ranges}, and {version} is installed",
                "sitepatch update {name} --to {version}{here}",
                name=self.folder.name,
                package=package,
                ranges=listed([variant.versions for variant in variants], "or"),
                version=version,
            )
        return variant


def find_series(name: str, output: AnyPath | None = None) -> SeriesFolder | None:
    """The patchset in the folder of that name, to which patches can be added.

    None where there is none.

    Raises:
        PatchError: it is invalid.
    """
    folder = named_folder(name, output)
    if not (folder / MANIFEST).is_file():
        return None
    patchset = load_patchset(folder, PatchsetSource(str(folder)))
    return SeriesFolder(folder, patchset, numbers=tuple(range(len(patchset.variants))))


# its texts --------------------------------------------------------------------------------------
def patchset_files(head: Head, draft: Draft, targets: Sequence[PackageRange]) -> dict[str, str]:
    """The texts of a patchset's folder by file name.

    It has one `.spatch`, of which each variant takes what is of its package.
    """
    files: list[DraftFile] = []
    paths: list[str] = []
    for file in draft.files:
        if file.hunks:
            files.append(file)
            paths.append(file.paths[0])
    text = Draft(tuple(files)).spatch(_prose(head.prose))
    return series_files(head, {f"{head.name}.spatch": text}, paths=paths, targets=targets)


def spatch_text(head: Patch, draft: Draft) -> str:
    """The `.spatch` of a patch."""
    return draft.spatch(_prose(head.head))


def _prose(text: str) -> str:
    """The text above the first patch of a `.spatch`, without lines that would begin one."""
    return re.sub(r"^(?=--- |@@)", "  ", re.sub(r"\r\n?", "\n", text), flags=re.MULTILINE)


def series_files(
    head: Head,
    patches: Mapping[str, str],
    paths: Sequence[str],
    targets: Sequence[PackageRange],
    injected: Sequence[str] = (),
) -> dict[str, str]:
    """The texts of a patchset's folder by file name.

    Args:
        head: what the manifest says.
        patches: the `.spatch` files by name, in order.
        paths: the files that they change.
        targets: one for each variant.
        injected: names that inserted code may read although nothing binds them.
    """
    variants = [variant_text(target, list(patches), injected) for target in targets]
    return {MANIFEST: _manifest(head, variants, paths=paths), **patches}


def more_series_files(
    series: SeriesFolder,
    patches: Mapping[str, str],
    paths: Sequence[str],
    targets: Mapping[int, PackageRange],
) -> dict[str, str]:
    """The texts of a patchset's folder with other patches and ranges.

    Its manifest is changed in those lines alone.

    Args:
        series: the patchset, with the variants that change.
        patches: the texts of their `.spatch` files by name, in order; those that are not among
            them go.
        paths: the files that they change.
        targets: the range of each of these variants by its index, and that of each further one.
    """
    manifest, lists = series.patchset.folder.files[MANIFEST], series.lists
    every: set[str] = set()
    for names in lists.values():
        every.update(names)
    for number, names in lists.items():
        kept = [name for name in names if name in patches]
        those = [name for name in patches if name in kept or name not in every]
        manifest = with_patch_files(manifest, number, names=in_order(kept, those))
    for number, target in targets.items():
        if number in lists:
            manifest = with_versions(manifest, number, versions=target.versions)
        else:
            manifest = with_variant(manifest, variant_text(target, list(patches)))
    return {MANIFEST: with_modules(manifest, series.patchset, paths=paths), **patches}


def with_modules(manifest: str, patchset: Patchset, paths: Iterable[str]) -> str:
    """The manifest of a patchset with the modules of further files.

    Where it names modules to import.
    """
    if not patchset.verify.imports:
        return manifest
    modules = dict.fromkeys([*patchset.verify.imports, *_modules(paths)])
    return with_imports(manifest, list(modules))


def _modules(paths: Iterable[str]) -> list[str]:
    """The modules in these files, each once."""
    return list(dict.fromkeys(filter(None, map(module_of, paths))))


def _manifest(head: Head, variants: Sequence[str], paths: Sequence[str]) -> str:
    top = {
        "name": head.name,
        "version": head.version,
        "kind": head.kind,
        "summary": " ".join(head.summary.split()),
    }
    tables = ["schema = 1\n" + _items(top)]
    if head.provenance:
        provenance = {key: without_credentials(value) for key, value in head.provenance.items()}
        tables.append(f"[provenance]\n{_items(provenance)}")
    tables += variants
    modules = _modules(paths)
    if modules:
        tables.append(f"[verify]\nimports = {written_list(modules)}\n")
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
    if names:
        text += f"names = {written_list(names)}\n"
    return text


def _items(items: Mapping[str, str]) -> str:
    return "".join(f"{key} = {written_toml(value)}\n" for key, value in items.items())


def written_list(texts: Iterable[str]) -> str:
    """Texts as an array of TOML."""
    return f"[{', '.join(map(written_toml, texts))}]"


# writing it -------------------------------------------------------------------------------------
def write_folder(folder: Path, files: Mapping[str, str], *, replace: bool = False) -> Patchset:
    """Write a patchset's folder, complete or not at all.

    Only if it can be read without a problem.

    Args:
        folder: the folder, which has the name of the patchset.
        files: the texts by file name.
        replace: whether the folder exists already; its other files are kept. It is written beside
            and exchanged: a process that is killed leaves the old folder or the new one.

    Raises:
        UsageError: something is there already.
        PatchError: the patchset is invalid.
        OSError: it cannot be written.
    """
    if not replace:
        _check_free(folder)
    load_patchset(folder, PatchsetSource(str(folder)), texts=files)

    place = folder.resolve() if replace else folder.absolute()
    home = next(parent for parent in place.parents if parent.is_dir())
    with tempfile.TemporaryDirectory(prefix=".sitepatch-", dir=str(home)) as scratch:
        draft = Path(scratch, place.name)
        if replace:
            _copy(place, draft)
        for name, text in files.items():
            (draft / name).parent.mkdir(parents=True, exist_ok=True)
            write_output(draft / name, text.encode("utf-8"))
        with ignored():  # what comes now is short; then Ctrl-C finds the old folder or the new one
            if replace:
                _exchange(draft, place, files=files)
            else:
                place.parent.mkdir(parents=True, exist_ok=True)
                draft.rename(place)
    return load_patchset(folder, PatchsetSource(str(folder)))


def _copy(folder: Path, copy: Path) -> None:
    """Copy a folder with all that is in it, links as links.

    For root each copy has the owner of what it is a copy of.
    """
    shutil.copytree(str(folder), str(copy), symlinks=True)
    if os.geteuid():
        return
    for path in [folder, *folder.rglob("*")]:
        info = path.lstat()
        os.lchown(copy / path.relative_to(folder), info.st_uid, info.st_gid)


def _exchange(draft: Path, folder: Path, files: Mapping[str, str]) -> None:
    """Put a folder that was made beside another one in its place.

    The old one is where the new one was.
    """
    try:
        if exchange(str(draft), str(folder)):
            return
        old = draft.with_name(f"{draft.name}.old")
        folder.rename(old)
        try:
            draft.rename(folder)
        except OSError:
            old.rename(folder)
            raise
    except OSError as error:
        # something may be mounted there: its files are replaced one by one
        if error.errno != errno.EBUSY:
            raise
        for name in sorted(files, key=lambda name: name == MANIFEST):
            write_output(folder / name, files[name].encode("utf-8"))


def keep_beside(folder: Path, texts: Mapping[str, str]) -> None:
    """Write what these files of a patchset hold beside them, as `NAME~`, unless git has it.

    An older one is replaced.
    """
    for name in texts:
        if not (folder / name).is_file():
            continue
        text = (folder / name).read_bytes()
        if _committed(folder, name) != text:
            write_output(folder / f"{name}~", text)


def _committed(folder: Path, name: str) -> bytes | None:
    """What the last commit has of a file, None for nothing."""
    command = ["git", "show", f"HEAD:./{name}"]
    try:
        git = subprocess.run(
            command, cwd=str(folder), stdin=subprocess.DEVNULL, capture_output=True
        )
    except OSError:  # there is no git
        return None
    return git.stdout if git.returncode == 0 else None

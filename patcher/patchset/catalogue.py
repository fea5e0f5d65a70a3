"""The patchsets that can be named, by name, and what a name is that none of them has."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Iterable, Iterator, Sequence

from patcher.errors import SitepatchError, UsageError, raise_all
from patcher.message import Message, joined
from patcher.model import Patchset, PatchsetSource
from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import (
    BUILT_IN,
    ENTRY_POINT,
    LOCAL,
    MANIFEST,
    PATCH_DIR,
    builtin_dir,
    entry_points,
    has_texts,
)
from patcher.record import Record
from patcher.system.ownership import others_may_write
from patcher.system.reading import is_directory, is_file
from patcher.text.hidden import remarks
from patcher.text.listed import listed, normalized, suggest

OTHERS_HINT = Message(
    "what is applied is code that you run: take that right away (chmod go-w, chown), "
    "or copy the patchset, once you have read it, where only you may write"
)


class FoundPatchset(Record):
    """A patchset found by name.

    `shadows` are remarks about those of the same name in later places, which it hides.
    """

    patchset: Patchset
    shadows: tuple[str, ...]

    @property
    def notes(self) -> list[str]:
        """All remarks: `shadows`, and about what its code hides."""
        return [*self.shadows, *remarks(self.patchset)]


class Catalogue:
    """All patchsets that can be named.

    The folders are listed once; no manifest is read before it is asked for. The first place that
    has a name wins. They are, in this order: `patch_dirs` (each a directory of patchset folders,
    or one such folder), `./patchsets`, the entry points of group `sitepatch.patchsets`, the
    built-in ones. The built-in directory always counts as built in unless it is named in
    `patch_dirs`. A folder with the texts of the first one of its name is not said to be hidden:
    it may be the same one, reached twice.

    Attributes:
        places: every (directory, source).
        folders: by name every (folder, source) that has it.
        broken: what is wrong with entry points that lead nowhere, by their sources.

    Raises:
        UsageError: one of `patch_dirs` is not a directory.
    """

    def __init__(self, patch_dirs: Sequence[str]) -> None:
        self.places: list[tuple[str, PatchsetSource]] = []
        self.broken: dict[str, SitepatchError] = {}
        here = Path.cwd()
        for patch_dir in patch_dirs:
            if not is_directory(patch_dir):
                hint = Message("name a directory of patchset folders")
                raise UsageError(
                    "--patch-dir {each}: found no such directory", hint, each=patch_dir
                )
            self.places.append((str(here / patch_dir), PatchsetSource(PATCH_DIR, str(patch_dir))))
        local = here / "patchsets"
        if os.path.realpath(local) != os.path.realpath(builtin_dir()):
            self.places.append((str(local), LOCAL))
        for name, path in entry_points():
            source = PatchsetSource(ENTRY_POINT, name)
            if isinstance(path, SitepatchError):
                self.broken[str(source)] = path
            else:
                self.places.append((path, source))
        self.places.append((builtin_dir(), BUILT_IN))
        self.folders = _by_name(self.places)

    def find(self, name: str) -> FoundPatchset:
        """Load the patchset of this name.

        Raises:
            UsageError: there is none (see `unknown`).
            PatchError: its folder is wrong in itself.
        """
        if name not in self.folders:
            raise self.unknown(name)
        (folder, source), *others = self.folders[name]
        patchset = load_patchset(folder, source)
        shadows: list[Message] = []
        for other_folder, other_source in others:
            is_same = has_texts(other_folder, patchset.folder.files)
            if is_same and source == LOCAL and other_source == BUILT_IN:  # in a clone of sitepatch
                built_in = patchset.folder._replace(source=BUILT_IN)
                return FoundPatchset(patchset._replace(folder=built_in), tuple(shadows))
            if not is_same:
                shadow = Message(
                    "{name} ({source}) is used; it hides {name} ({other}) in {where}",
                    name=name,
                    source=str(source),
                    other=str(other_source),
                    where=other_folder,
                )
                shadows.append(shadow)
        return FoundPatchset(patchset, tuple(shadows))

    def load(self) -> tuple[list[FoundPatchset], dict[str, SitepatchError]]:
        """Every patchset by name, and what is wrong with patchsets and entry points, by name."""
        patchsets = []
        broken = dict(self.broken)
        for name in sorted(self.folders):
            try:
                patchsets.append(self.find(name))
            except SitepatchError as error:
                broken[name] = error
        return patchsets, broken

    def named(self, name: str) -> bool:
        """Whether a patchset lies in one of the `patch_dirs` or in `./patchsets`."""
        if name not in self.folders:
            return False
        _, source = self.folders[name][0]
        return source == LOCAL or source.kind == PATCH_DIR

    # whom to trust ----------------------------------------------------------------------------
    def others_change(self, names: Iterable[str]) -> list[str]:
        """How other users could change patchsets, which are code.

        Nothing is said of those that are installed, beside other code.
        """
        folders = []
        for name in names:
            if self.named(name):
                folder, _ = self.folders[name][0]
                folders.append(os.path.normpath(Path(folder).absolute()))
        return others_may_write(*folders, inside=True)

    def check_trusted(self, names: Iterable[str]) -> None:
        """Refuse patchsets that others may change: what they write would run as this user.

        Raises:
            SitepatchError: naming what others may write to.
        """
        problems = self.others_change(dict.fromkeys(names))
        if problems:
            raise SitepatchError(joined("\n", problems), OTHERS_HINT)

    # names that nothing has -------------------------------------------------------------------
    def check_names(self, names: Iterable[str], applied: Iterable[str]) -> None:
        """Refuse names of patchsets that are neither applied nor found anywhere.

        Nothing is loaded.

        Raises:
            UsageError: with the nearest name for each of them, and what is applied.
        """
        known = sorted(set(applied))
        errors = []
        for name in dict.fromkeys(names):
            if name not in known and name not in self.folders:
                errors.append(self.unknown(name, known))
        raise_all(errors)

    def unknown(self, name: str, applied: Sequence[str] | None = None) -> UsageError:
        """The error for a name that no place has.

        It says what the name is, or the nearest one; else all names, and where was searched.

        Args:
            name: the name.
            applied: the names of the applied patchsets where those are meant: they are what the
                hint lists.
        """
        names = sorted({*self.folders, *(applied or ())})
        words = name.replace(";", ",").split(",")
        if len(words) > 1 and set(words) <= set(names):
            return UsageError(
                "several patchsets are named with blanks between them: {words}",
                words=" ".join(words),
            )
        guess = self._guess(name.replace("\\", "/"))
        near = "" if guess or "/" in name else suggest(normalized(name), names)
        template = 'there is no patchset "{name}"{suggestion}'
        if guess:
            template = 'there is no patchset "{name}": {problem}'

        hints: list[str] = [guess.hint] if guess else []
        hints += [error.message for error in self.broken.values()]
        if applied is not None:
            hints.append(_applied_hint(applied))
        elif near or guess:
            hints.append(Message("all patchsets: sitepatch list"))
        else:
            hints = [*self._search_hints(names), *hints]
        return UsageError(
            template,
            joined("\n", hints),
            name=name,
            suggestion=near,
            problem=guess.kind if guess else "",
        )

    def _search_hints(self, names: Sequence[str]) -> list[str]:
        """What to do about a name that is like nothing: all names, and where was searched."""
        searched = []
        for place, source in self.places:
            which = str(source)
            if source == LOCAL:
                state = "" if is_directory(place) else Message(", not there")
                which = Message(
                    "{source} of the current directory{state}", source=source, state=state
                )
            path = Path(place).absolute()
            searched.append(Message("{absolute} ({which})", absolute=path, which=which))
        return [
            Message(
                "a patchset for a package is made with: sitepatch edit PACKAGE --name NAME{env}"
            ),
            Message(
                "known patchsets: {names}; what each is for: sitepatch list{here}",
                names=", ".join(names) or Message("none"),
            ),
            Message("searched: {places}", places=joined(", ", searched)),
        ]

    def _guess(self, name: str) -> _Guess | None:
        """What a name stands for that is no patchset's: a file, a folder, a package; else None."""
        return (
            self._patchset_folder(name)
            or _quoted_error(name)
            or _file(name)
            or _folder(name)
            or _unsearched(name)
            or self._package(name)
        )

    def _patchset_folder(self, name: str) -> _Guess | None:
        """The path of a patchset's folder, of a file in it, or of a folder of patchsets."""
        path = Path(name)
        if path.name == MANIFEST or path.suffix == ".spatch":
            path = path.parent
        inside = _by_name([(str(path.absolute()), LOCAL)])
        if not inside:
            return None
        words = " ".join(inside)
        if not all(self._is_first(each, inside[each][0][0]) for each in inside):
            folder = path.parent if (path / MANIFEST).is_file() else path
            words = f"{words} --patch-dir {shlex.quote(str(folder))}"
        kind = Message("it is a folder of patchsets")
        if path != Path(name):
            kind = Message("it is a file of a patchset")
        elif len(inside) == 1:
            kind = Message("it is the folder of a patchset")
        return _Guess(kind, Message("write its name: {words}", words=words))

    def _is_first(self, name: str, folder: str) -> bool:
        """Whether a folder is the one that its name stands for."""
        return name in self.folders and Path(folder).samefile(self.folders[name][0][0])

    def _package(self, name: str) -> _Guess | None:
        """The name of a package or a distribution that patchsets are for."""
        patchsets = set()
        for item in self.load()[0]:
            for variant in item.patchset.variants:
                targets = map(normalized, (variant.package, *variant.distributions))
                if normalized(name) in targets:
                    patchsets.add(item.patchset.name)
        if not patchsets:
            return None
        hint = Message(
            "it is patched by {names}; what is for it: sitepatch list {name}{here}",
            names=listed(sorted(patchsets)),
            name=name,
        )
        return _Guess(Message("it is a package"), hint)


def _applied_hint(applied: Sequence[str]) -> str:
    """Which patchsets are applied, for a name that should be one of them."""
    names = ", ".join(applied) or Message("none")
    return Message("applied patchsets: {names}; see: sitepatch status{env}", names=names)


def _by_name(
    places: Sequence[tuple[str, PatchsetSource]],
) -> dict[str, list[tuple[str, PatchsetSource]]]:
    """The folders of patchsets in places, by name."""
    folders: dict[str, list[tuple[str, PatchsetSource]]] = {}
    for place, source in places:
        for name, folder in _patchset_folders(place):
            folders.setdefault(name, []).append((folder, source))
    return folders


def _patchset_folders(place: str) -> Iterator[tuple[str, str]]:
    """The name and the path of a place where it is a patchset's folder, else of those in it."""
    if not is_directory(place):
        return
    with os.scandir(place) as entries:
        names = sorted(entry.name for entry in entries)
    if MANIFEST in names:
        if is_file(f"{place}/{MANIFEST}"):
            folder = os.path.normpath(place)
            yield Path(folder).name, folder
        return
    for name in names:
        if is_file(f"{place}/{name}/{MANIFEST}"):
            yield name, str(Path(place, name))


# what a name is that is no patchset's ---------------------------------------------------------
class _Guess(Record):
    """What a name is, and what to write instead."""

    kind: str
    hint: str


def _quoted_error(name: str) -> _Guess | None:
    """The words of an error, which stand in no name."""
    if " " not in name or is_file(name):
        return None
    hint = Message("what is known of an error: sitepatch list {text}{here}", text=shlex.quote(name))
    return _Guess(Message("it is a sentence"), hint)


def _file(name: str) -> _Guess | None:
    path = Path(name)
    quoted = shlex.quote(name)
    if path.suffix == ".py":
        hint = Message(
            "what was edited in it by hand: sitepatch diff --edited {file}{env}", file=quoted
        )
        return _Guess(Message("it is a Python file"), hint)
    if not is_file(name):
        return None
    is_diff = path.suffix in (".diff", ".patch")
    hint = Message(
        "a diff becomes a patchset with: sitepatch import {file} --name NAME{env}", file=quoted
    )
    return _Guess(Message("it is a diff" if is_diff else "it is a file"), hint)


def _folder(name: str) -> _Guess | None:
    if "/" not in name:
        return None
    if not is_directory(name):
        hint = Message("name a patchset, and its directory with --patch-dir")
        return _Guess(Message("there is no such folder"), hint)
    kind = Message("it is a folder without {manifest}", manifest=MANIFEST)
    hint = Message("a folder with one is made with: sitepatch edit PACKAGE --name NAME{env}")
    return _Guess(kind, hint)


def _unsearched(name: str) -> _Guess | None:
    """The name of a patchset that is the current directory, or in a folder of it, not searched."""
    if Path.cwd().name == name and is_file(MANIFEST):
        kind = Message("it is the current directory, which is not searched")
        return _Guess(kind, Message("name it: --patch-dir ."))
    for folder in sorted(path.name for path in Path().iterdir()):
        if is_file(f"{folder}/{name}/{MANIFEST}"):
            hint = Message("name its directory: --patch-dir {folder}", folder=shlex.quote(folder))
            kind = Message("it is in ./{folder}, which is not searched", folder=folder)
            return _Guess(kind, hint)
    return None

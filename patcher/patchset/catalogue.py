"""The patchsets that can be named: the folders of all places by name, and what a name is that none of them has."""

from __future__ import annotations

import os
from typing import Iterable, NamedTuple, Sequence

from patcher.errors import SitepatchError, UsageError, raise_all
from patcher.message import Message, joined
from patcher.model import Patchset, PatchsetSource
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
from patcher.system.ownership import others_may_write
from patcher.text.listed import listed, normalized, suggest

OTHERS_HINT = Message(
    "what is applied is code that you run: take that right away (chmod go-w, chown), "
    "or copy the patchset, once you have read it, where only you may write"
)


class FoundPatchset(NamedTuple):
    """A patchset found by name; `shadows` are remarks about those of the same name in later places, which it hides."""

    patchset: Patchset
    shadows: tuple[str, ...]

    @property
    def notes(self) -> list[str]:
        """All remarks: `shadows`, and about what its code hides."""
        from patcher.text.hidden import remarks  # what looks at names alone has no use for it

        return [*self.shadows, *remarks(self.patchset)]


class Catalogue:
    """All patchsets that can be named, the folders listed once; no manifest is read before one is asked for.

    The first place that has a name wins. They are, in this order: `patch_dirs` (each a directory of patchset folders, or one
    such folder), `./patchsets`, the entry points of group `sitepatch.patchsets`, the built-in ones. The built-in directory
    always counts as built in unless it is named in `patch_dirs`. A folder with the texts of the first one of its name is not
    said to be hidden: it may be the same one, reached twice.

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
        for patch_dir in patch_dirs:
            if not os.path.isdir(patch_dir):
                template = "--patch-dir {each}: found no such directory"
                raise UsageError(
                    template, Message("name a directory of patchset folders"), each=patch_dir
                )
            self.places.append(
                (os.path.join(os.getcwd(), patch_dir), PatchsetSource(PATCH_DIR, str(patch_dir)))
            )
        local = os.path.join(os.getcwd(), "patchsets")
        if os.path.realpath(local) != os.path.realpath(builtin_dir()):
            self.places.append((local, LOCAL))
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
        from patcher.patchset.manifest import load_patchset  # costs more than the rest of `status`

        if name not in self.folders:
            raise self.unknown(name)
        (folder, source), *hidden_places = self.folders[name]
        patchset = load_patchset(folder, source)
        template = "{found.name} ({found.source}) is used; it hides {name} ({other}) in {where}"
        shadows = [
            Message(template, found=patchset, name=name, other=hidden, where=where)
            for where, hidden in hidden_places
            if not has_texts(where, patchset.folder.files)
        ]
        return FoundPatchset(patchset, tuple(shadows))

    def load(self) -> tuple[list[FoundPatchset], dict[str, SitepatchError]]:
        """Every patchset by name, and what is wrong with those, and the entry points, that cannot be read."""
        patchsets, broken = [], dict(self.broken)
        for name in sorted(self.folders):
            try:
                patchsets.append(self.find(name))
            except SitepatchError as error:
                broken[name] = error
        return patchsets, broken

    def named(self, name: str) -> bool:
        """Whether a patchset lies in one of the `patch_dirs` or in `./patchsets`."""
        return any(
            source == LOCAL or source.kind == PATCH_DIR
            for _, source in self.folders.get(name, ())[:1]
        )

    def others_change(self, names: Iterable[str]) -> list[str]:
        """How other users could change patchsets, which are code; nothing for those that are installed, beside other code."""
        folders = (os.path.abspath(self.folders[name][0][0]) for name in names if self.named(name))
        return others_may_write(*folders, inside=True)

    def check_trusted(self, names: Iterable[str]) -> None:
        """Refuse patchsets that others may change: what they write would run as this user.

        Raises:
            SitepatchError: naming what others may write to.
        """
        problems = self.others_change(dict.fromkeys(names))
        if problems:
            raise SitepatchError(joined("\n", problems), OTHERS_HINT)

    def check_names(self, names: Iterable[str], applied: Iterable[str]) -> None:
        """Refuse names of patchsets that are neither applied nor found anywhere; nothing is loaded.

        Raises:
            UsageError: with the nearest name for each of them.
        """
        available = {*applied, *self.folders}
        errors = [
            self.unknown(name, available) for name in dict.fromkeys(names) if name not in available
        ]
        for error in errors:
            error.hint = joined(
                "\n", (error.hint, Message("what is applied: sitepatch status{env}"))
            )
        raise_all(errors)

    def unknown(self, name: str, available: Iterable[str] | None = None) -> UsageError:
        """The error for a name that no place has: what it is, or the nearest name; else all names, and where was searched.

        Args:
            name: the name.
            available: all names that there are, if not those of the places.
        """
        from pathlib import Path  # slow to import, and seldom needed

        names = sorted(self.folders if available is None else available)
        words = name.replace(";", ",").split(",")
        if len(words) > 1 and {*words} <= {*names}:
            return UsageError(
                "several patchsets are named with blanks between them: {words}",
                words=" ".join(words),
            )
        near = "" if "/" in name else suggest(normalized(name), names)
        problem, hint = self._meant(name.replace("\\", "/"))
        hints = [hint, *(error.message for error in self.broken.values())]
        if near or problem:
            hints.append(Message("all patchsets: sitepatch list"))
        else:
            looked = []
            for place, source in self.places:
                state = "" if os.path.isdir(place) else Message(", not there")
                template = (
                    "{source} of the current directory{state}" if source == LOCAL else "{source}"
                )
                description = Message(
                    template, source=source if source == LOCAL else str(source), state=state
                )
                looked.append(
                    Message(
                        "{absolute} ({which})", absolute=Path(place).absolute(), which=description
                    )
                )
            all_names = ", ".join(names) or Message("none")
            hints = [
                Message(
                    "a patchset for a package is made with: sitepatch edit PACKAGE --name NAME{env}"
                ),
                Message(
                    "known patchsets: {names}; what each is for: sitepatch list{here}",
                    names=all_names,
                ),
                Message("searched: {places}", places=joined(", ", looked)),
                *hints,
            ]
        template = 'there is no patchset "{name}"{suggestion}'
        template = template if near or not problem else 'there is no patchset "{name}": {problem}'
        return UsageError(
            template, joined("\n", hints), name=name, suggestion=near, problem=problem
        )

    def _meant(self, name: str) -> tuple[str, str]:
        """What a name is that is no patchset's (a file, a directory, a package), and what to write; "" for neither."""
        import shlex
        from pathlib import Path

        path = Path(name)
        path = path.parent if path.name == MANIFEST or path.suffix == ".spatch" else path
        inside = _by_name([(str(path.absolute()), LOCAL)])
        if inside:
            folder = path.parent if (path / MANIFEST).is_file() else path
            firsts = {name: self.folders[name][0][0] for name in inside if name in self.folders}
            named = len(firsts) == len(inside) and all(
                os.path.samefile(firsts[name], inside[name][0][0]) for name in inside
            )
            words = (
                " ".join(inside)
                if named
                else f"{' '.join(inside)} --patch-dir {shlex.quote(str(folder))}"
            )
            single, multiple = (
                Message("it is the folder of a patchset"),
                Message("it is a folder of patchsets"),
            )
            kind = (
                Message("it is a file of a patchset")
                if path != Path(name)
                else single
                if len(inside) == 1
                else multiple
            )
            return kind, Message("write its name: {words}", words=words)
        if path.suffix == ".py":
            how = Message(
                "what was edited in it by hand: sitepatch diff --edited {file}{env}",
                file=shlex.quote(name),
            )
            return Message("it is a Python file"), how
        if os.path.isfile(name):
            kind = Message("it is a diff" if path.suffix in (".diff", ".patch") else "it is a file")
            how = Message(
                "a diff becomes a patchset with: sitepatch import {file} --name NAME{env}",
                file=shlex.quote(name),
            )
            return kind, how
        if "/" in name:
            how = Message("a folder with one is made with: sitepatch edit PACKAGE --name NAME{env}")
            if os.path.isdir(name):
                return Message("it is a folder without {manifest}", manifest=MANIFEST), how
            return Message("there is no such folder"), Message(
                "name a patchset, and its directory with --patch-dir"
            )
        elsewhere = sorted(
            folder
            for folder in os.listdir()
            if os.path.isfile(os.path.join(folder, name, MANIFEST))
        )
        if elsewhere:
            how = Message(
                "name its directory: --patch-dir {folder}", folder=shlex.quote(elsewhere[0])
            )
            return Message("it is in ./{folder}, which is not searched", folder=elsewhere[0]), how
        variants = [
            (item.patchset.name, variant)
            for item in self.load()[0]
            for variant in item.patchset.variants
        ]
        targets = [
            (named, target)
            for named, variant in variants
            for target in (variant.package, *variant.distributions)
        ]
        names = sorted(
            {patchset for patchset, target in targets if normalized(target) == normalized(name)}
        )
        template = "it is patched by {names}; what is for it: sitepatch list {name}{here}"
        return (
            (Message("it is a package"), Message(template, names=listed(names), name=name))
            if names
            else ("", "")
        )


def _by_name(
    places: Sequence[tuple[str, PatchsetSource]],
) -> dict[str, list[tuple[str, PatchsetSource]]]:
    """The folders of patchsets in places, by name."""
    folders: dict[str, list[tuple[str, PatchsetSource]]] = {}
    for place, source in places:
        names = sorted(os.listdir(place)) if os.path.isdir(place) else []
        inside = (
            [os.path.normpath(place)]
            if MANIFEST in names
            else [os.path.join(place, name) for name in names]
        )
        for folder in inside:
            if os.path.isfile(os.path.join(folder, MANIFEST)):
                folders.setdefault(os.path.basename(folder), []).append((folder, source))
    return folders

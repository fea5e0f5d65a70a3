"""A patchset folder -> `Patchset`: `patchset.toml` and the files it names, read strictly; all problems are reported."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import AbstractSet, Any, Mapping, Sequence

from patcher.engine.spatch.hunk import parse_spatch
from patcher.errors import Location, PatchError, SitepatchError
from patcher.installed.versions import is_range, is_version
from patcher.message import Message
from patcher.model import (
    KINDS,
    About,
    FilePatch,
    Option,
    Patchset,
    PatchsetFolder,
    PatchsetSource,
    Variant,
    Verify,
)
from patcher.patchset.places import MANIFEST
from patcher.patchset.symptoms import SYMPTOM, SYMPTOMS, decode_symptoms
from patcher.patchset.toml import decode_toml, read_text
from patcher.system.decode import (
    STRINGS,
    Reader,
    Table,
    Values,
    anything,
    integer,
    one_of,
    shown_value,
    string,
    tables,
)
from patcher.system.reading import TEXT as LIMIT
from patcher.system.reading import check_size, is_inside, patchset_digest
from patcher.text.listed import AnyPath

NAME, NAME_FORM = (
    "[a-z0-9][a-z0-9-]*",
    Message('a name made of a-z, 0-9 and "-" that does not begin with "-"'),
)
"""The name of a patchset, a word of command lines, as a regular expression and in words."""
OPTION_TYPES: Mapping[str, type] = {"int": int, "float": float, "bool": bool, "str": str}
PROVENANCE = ("origin", "bug", "forwarded", "author", "last_update", "remove_when")
TABLES: dict[str, Table] = {
    "provenance": Table(dict.fromkeys(PROVENANCE, string), optional=PROVENANCE),
    "options": Table(
        {"type": one_of(*OPTION_TYPES), "default": anything, "help": string, "choices": anything},
        optional=("choices",),
    ),
    "variant": Table(
        {
            "package": string,
            "versions": string,
            "patches": STRINGS,
            "names": STRINGS,
            "distributions": STRINGS,
        },
        optional=("names", "distributions"),
    ),
    "verify": Table({"imports": STRINGS, "probe": string}, optional=("imports", "probe")),
    "symptom": SYMPTOM,
}
TABLES[""] = Table(
    {
        "schema": integer,
        "name": string,
        "version": string,
        "kind": one_of(*KINDS),
        "summary": string,
        "provenance": TABLES["provenance"],
        "options": Values(TABLES["options"]),
        "variant": tables("variant", TABLES["variant"]),
        "verify": TABLES["verify"],
        "symptom": SYMPTOMS,
    },
    optional=("provenance", "options", "verify", "symptom"),
)
"""The kinds of tables of a manifest by name, "" for the whole; the JSON Schema has the same."""


class _Reader(Reader):
    """The reader of a patchset's folder: `files` are the texts that it has read, `prose` what stands above their patches."""

    def __init__(self, folder: Path, texts: Mapping[str, str] | None = None) -> None:
        super().__init__(folder / MANIFEST)
        self.folder, self._texts = folder, texts or {}
        self.files: dict[str, str] = {}
        self.prose: list[str] = []
        self._patches: dict[str, tuple[FilePatch, ...]] = {}

    def text(self, name: str) -> str:
        """The text of a file of the folder, "" where it cannot be read."""
        path = self.folder / name
        self.files[name] = ""
        try:
            if name in self._texts:
                check_size(str(path), len(self._texts[name].encode("utf-8")), LIMIT)
            self.files[name] = self._texts[name] if name in self._texts else read_text(path)
        except SitepatchError as error:
            self.problems.append(error)
        except OSError as error:
            template = "found no readable file ({error}), expected the one that {manifest} names"
            reason = Message.whole(error.strerror)
            self.problems.append(
                PatchError.at(Location(str(path)), template, error=reason, manifest=MANIFEST)
            )
        return self.files[name]

    def patches(self, name: str) -> tuple[FilePatch, ...]:
        """The patches of a .spatch, which is read once however many variants name it."""
        if name not in self._patches:
            before, source = len(self.problems), self.text(name)
            self._patches[name] = ()
            try:
                if len(self.problems) == before:
                    prose, self._patches[name] = parse_spatch(source, str(self.folder / name))
                    self.prose += [prose] if prose else []
            except PatchError as error:
                self.problems.append(error)
        return self._patches[name]


def load_patchset(
    folder: AnyPath, source: PatchsetSource, texts: Mapping[str, str] | None = None
) -> Patchset:
    """Read a patchset folder.

    Args:
        folder: the folder that holds `patchset.toml`; its name must be the patchset's.
        source: where it was found, kept for messages and for deciding whether a probe is trusted.
        texts: the texts of its files, where the folder itself may be gone (a store's own copy).

    Raises:
        PatchError: with every problem of `patchset.toml` and of its .spatch files, one after the other.
    """
    folder = Path(folder)
    reader = _Reader(folder, texts)
    content = reader.text(MANIFEST)
    reader.stop(PatchError)
    top = reader.read(decode_toml(content, folder / MANIFEST), TABLES[""])
    _check_head(reader, top, folder.absolute().name)
    options = tuple(
        filter(
            None, (_option(reader, name, table) for name, table in top.get("options", {}).items())
        )
    )
    variants = []
    if top.get("variant") == []:
        reader.wrong("variant", Message("an empty list"), Message("at least one [[variant]]"))
    packages = {table.get("package") for table in top.get("variant", ())}
    for index, table in enumerate(top.get("variant", ())):
        variants.append(_variant(reader, table, f"variant[{index}]", packages))
    verify = top.get("verify", {})
    for index, module in enumerate(verify.get("imports", ())):
        _check_name(
            reader,
            f"verify.imports[{index}]",
            module,
            Message("a dotted module name"),
            module.split("."),
        )
    probe = verify.get("probe", "")
    if "probe" in verify and _inside(reader, "verify.probe", probe, ".py"):
        reader.text(probe)
    symptoms = decode_symptoms(reader, top.get("symptom", ()), options)
    reader.stop(PatchError)
    about = About(
        kind=top["kind"],
        summary=Message.whole(top["summary"]),
        prose="\n\n".join(reader.prose),
        provenance=top.get("provenance", {}),
        symptoms=symptoms,
    )
    return Patchset(
        name=top["name"],
        version=top["version"],
        about=about,
        options=options,
        variants=tuple(variants),
        verify=Verify(tuple(verify.get("imports", ())), probe),
        folder=PatchsetFolder(source, reader.files, digest=patchset_digest(reader.files)),
    )


def _check_head(reader: _Reader, top: Mapping[str, Any], folder: str) -> None:
    if top.get("schema", 1) != 1:
        reader.wrong("schema", str(top["schema"]), Message("1 (a newer sitepatch may know more)"))
    name = top.get("name", folder)
    good = re.fullmatch(NAME, name)
    template = '"{folder}", the name of its folder'
    reader.check(
        "name",
        name,
        good and name == folder,
        Message(template, folder=folder) if good else NAME_FORM,
    )
    reader.check(
        "summary", top.get("summary", ""), top.get("summary", "x").strip(), Message("one sentence")
    )
    version = top.get("version", "1")
    reader.check(
        "version",
        version,
        _short(version) and is_version(version),
        Message('a PEP 440 version such as "1.0"'),
    )


def _option(reader: _Reader, name: str, table: Mapping[str, Any]) -> Option | None:
    """One `[options.NAME]`, None where something of it is wrong."""
    where, before = f"options.{name}", len(reader.problems)
    good = re.fullmatch("[a-z][a-z0-9_]*", name)
    reader.check(
        where,
        name,
        good,
        Message('a name made of a-z, 0-9 and "_" (it is written $name in a .spatch)'),
    )
    kind, choices = table.get("type", ""), table.get("choices", [])
    if not isinstance(choices, list) or (not choices and "choices" in table):
        reader.wrong(
            f"{where}.choices", shown_value(choices), Message("a list of at least one value")
        )
        choices = []
    if len(reader.problems) > before or not {"type", "default", "help"} <= table.keys():
        return None
    typed = []
    for key, choice in [
        ("default", table["default"]),
        *((f"choices[{i}]", value) for i, value in enumerate(choices)),
    ]:
        if kind == "float" and type(choice) is int:
            choice = float(choice)
        typed.append(choice)
        # inf and nan have no Python literal
        finite = type(choice) is not float or abs(choice) < float("inf")
        expected = Message("a finite {kind}" if kind == "float" else "of type {kind}", kind=kind)
        reader.check(
            f"{where}.{key}", choice, type(choice) is OPTION_TYPES[kind] and finite, expected
        )
    one_choice = Message("one of {choices}", choices=", ".join(map(shown_value, typed[1:])))
    reader.check(f"{where}.default", typed[0], not typed[1:] or typed[0] in typed[1:], one_choice)
    return Option(name, kind, typed[0], Message.whole(table["help"]), tuple(typed[1:]))


def _variant(
    reader: _Reader, table: Mapping[str, Any], where: str, packages: AbstractSet[object]
) -> Variant:
    """One `[[variant]]`; it takes of each .spatch the patches of its own package: they are for one of `packages`."""
    package, versions = table.get("package", "x"), table.get("versions", "")
    _check_name(
        reader,
        f"{where}.package",
        package,
        Message("the name that is imported, without dots"),
        [package],
    )
    readable = _short(versions) and is_range(versions)
    reader.check(
        f"{where}.versions",
        versions,
        readable,
        Message('a PEP 440 specifier set such as ">=2.0,<3", or ""'),
    )
    names = table.get("names", [])
    for index, name in enumerate(names):
        _check_name(reader, f"{where}.names[{index}]", name, Message("a Python name"), [name])
    distributions = table.get("distributions", [])
    for index, name in enumerate(distributions):
        good = re.fullmatch(r"(?ai)[a-z0-9]([a-z0-9._-]*[a-z0-9])?", name)
        reader.check(
            f"{where}.distributions[{index}]", name, good, Message("a name that pip installs")
        )
    patches: list[FilePatch] = []
    before = len(reader.problems)
    others: list[tuple[str, Path, FilePatch]] = []
    listed = table.get("patches", ["x"])
    if not listed:
        reader.wrong(
            f"{where}.patches", Message("an empty list"), Message("at least one .spatch file")
        )
    for index, name in enumerate(listed if "patches" in table else ()):
        place = f"{where}.patches[{index}]"
        if name in listed[:index]:
            reader.wrong(place, shown_value(name), Message("every file once"))
        elif _inside(reader, place, name, ".spatch"):
            for patch in reader.patches(name):
                home = re.sub(r"(?:\.py)?(?:/.*)?$", "", patch.paths[0], count=1)
                if home in packages - {package}:
                    others.append((place, reader.folder / name, patch))
                    continue
                patches.append(patch)
                if "package" in table:
                    _check_paths(reader, place, reader.folder / name, patch, package)
    if not patches and len(reader.problems) == before:
        for place, file, patch in others[:1]:
            _check_paths(reader, place, file, patch, package)
    return Variant(package, versions, tuple(patches), tuple(names), tuple(distributions))


def _check_paths(reader: _Reader, where: str, file: Path, patch: FilePatch, package: str) -> None:
    """Refuse files that are not of the package."""
    for line, path in enumerate(patch.paths, patch.line):
        ahead, _, tail = path.partition("/")
        if ahead in ("a", "b") and ahead != package and tail.startswith(f"{package}/"):
            template = "found {finding}, expected {expectation}: without git's `{ahead}/`"
            words = {"finding": shown_value(path), "expectation": shown_value(tail), "ahead": ahead}
            reader.problems.append(PatchError.at(Location(str(file), line), template, **words))
        elif ahead not in (package, f"{package}.py"):
            actual = Message("{path} (line {line})", path=shown_value(path), line=patch.line)
            reader.wrong(where, actual, Message("a file of the package {package}", package=package))


def _short(value: str) -> bool:
    """Whether a version or a range is of a length that somebody writes, and of ASCII: `int` takes digits of any script."""
    return value.isascii() and len(value) <= 1000


def _check_name(
    reader: _Reader, where: str, name: str, expected: str, parts: Sequence[str]
) -> None:
    """Refuse parts that are no Python names of ASCII: any other letter may look like one."""
    good = all(part.isascii() and part.isidentifier() for part in parts)
    reader.check(where, name, good, Message("{expected}, of ASCII letters", expected=expected))


def _inside(reader: _Reader, where: str, name: str, suffix: str) -> bool:
    """Whether `name` is a relative path below the folder, with that suffix, also after following links."""
    parts = name.split("/")
    good = name.endswith(suffix) and "\\" not in name and name.isprintable() and len(name) < 256
    good = good and not {"", ".", ".."} & set(parts)
    places = (os.path.join(reader.folder, *parts[:depth]) for depth in range(1, len(parts) + 1))
    if good and any(map(os.path.islink, places)):
        good = is_inside(reader.folder / name, reader.folder)
    reader.check(
        where,
        name,
        good,
        Message('the relative path of a {suffix} file inside the folder, with "/"', suffix=suffix),
    )
    return good

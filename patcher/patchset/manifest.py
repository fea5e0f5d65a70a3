"""A patchset folder -> `Patchset`: `patchset.toml` and the files it names, read strictly.

All problems are reported.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import AbstractSet, Any, Iterator, Mapping, Sequence

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

NAME = "[a-z0-9][a-z0-9-]*"
NAME_FORM = Message('a name made of a-z, 0-9 and "-" that does not begin with "-"')
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
    """The reader of a patchset's folder.

    `files` are the texts that it has read, `prose` what stands above their patches.
    """

    def __init__(self, folder: Path, texts: Mapping[str, str] | None = None) -> None:
        super().__init__(folder / MANIFEST)
        self.folder = folder
        self.files: dict[str, str] = {}
        self.prose: list[str] = []
        self._texts = texts or {}
        self._patches: dict[str, tuple[FilePatch, ...]] = {}

    def text(self, name: str) -> str:
        """The text of a file of the folder, empty where it cannot be read."""
        self.files[name] = ""
        try:
            self.files[name] = self._text(name)
        except SitepatchError as error:
            self.problems.append(error)
        except OSError as error:
            problem = PatchError.at(
                Location(str(self.folder / name)),
                "found no readable file ({error}), expected the one that {manifest} names",
                error=Message.whole(error.strerror),
                manifest=MANIFEST,
            )
            self.problems.append(problem)

        return self.files[name]

    def _text(self, name: str) -> str:
        path = self.folder / name
        if name not in self._texts:
            return read_text(path)

        text = self._texts[name]
        check_size(str(path), len(text.encode("utf-8")), LIMIT)
        return text

    def patches(self, name: str) -> tuple[FilePatch, ...]:
        """The patches of a .spatch, which is read once however many variants name it."""
        if name not in self._patches:
            self._patches[name] = self._parsed(name)
        return self._patches[name]

    def _parsed(self, name: str) -> tuple[FilePatch, ...]:
        before = len(self.problems)
        source = self.text(name)
        if len(self.problems) > before:
            return ()

        try:
            prose, patches = parse_spatch(source, str(self.folder / name))
        except PatchError as error:
            self.problems.append(error)
            return ()

        if prose:
            self.prose.append(prose)
        return patches


def load_patchset(
    folder: AnyPath,
    source: PatchsetSource,
    texts: Mapping[str, str] | None = None,
) -> Patchset:
    """Read a patchset folder.

    Args:
        folder: the folder that holds `patchset.toml`; its name must be the patchset's.
        source: where it was found, kept for messages and for deciding whether a probe is trusted.
        texts: the texts of its files, where the folder itself may be gone (a store's own copy).

    Raises:
        PatchError: with every problem of `patchset.toml` and of its .spatch files, one after the
            other.
    """
    folder = Path(folder)
    reader = _Reader(folder, texts)
    content = reader.text(MANIFEST)
    reader.stop(PatchError)
    top = reader.read(decode_toml(content, folder / MANIFEST), TABLES[""])
    _check_head(reader, top, folder.absolute().name)
    options = _read_options(reader, top.get("options", {}))
    variants = _read_variants(reader, top)
    verify = _read_verify(reader, top.get("verify", {}))
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
        variants=variants,
        verify=verify,
        folder=PatchsetFolder(source, reader.files, digest=patchset_digest(reader.files)),
    )


def _check_head(reader: _Reader, top: Mapping[str, Any], folder: str) -> None:
    if top.get("schema", 1) != 1:
        expected = Message("1 (a newer sitepatch may know more)")
        reader.wrong("schema", str(top["schema"]), expected=expected)

    name = top.get("name", folder)
    expected = NAME_FORM
    if re.fullmatch(NAME, name):
        expected = Message('"{folder}", the name of its folder', folder=folder)
    good = re.fullmatch(NAME, name) and name == folder
    reader.check("name", name, good=good, expected=expected)

    reader.check(
        "summary",
        top.get("summary", ""),
        good=top.get("summary", "x").strip(),
        expected=Message("one sentence"),
    )

    version = top.get("version", "1")
    reader.check(
        "version",
        version,
        good=_is_short(version) and is_version(version),
        expected=Message('a PEP 440 version such as "1.0"'),
    )


def _is_short(value: str) -> bool:
    """Whether a version or a range is of a length that somebody writes, and of ASCII.

    `int` takes digits of any script.
    """
    return value.isascii() and len(value) <= 1000


# options --------------------------------------------------------------------------------------
def _read_options(reader: _Reader, tables: Mapping[str, Mapping[str, Any]]) -> tuple[Option, ...]:
    options = []
    for name, table in tables.items():
        option = _option(reader, name, table)
        if option:
            options.append(option)

    return tuple(options)


def _option(reader: _Reader, name: str, table: Mapping[str, Any]) -> Option | None:
    """One `[options.NAME]`, None where something of it is wrong."""
    where = f"options.{name}"
    before = len(reader.problems)
    reader.check(
        where,
        name,
        good=re.fullmatch("[a-z][a-z0-9_]*", name),
        expected=Message('a name made of a-z, 0-9 and "_" (it is written $name in a .spatch)'),
    )

    choices = table.get("choices", [])
    if not isinstance(choices, list) or table.get("choices") == []:
        expected = Message("a list of at least one value")
        reader.wrong(f"{where}.choices", shown_value(choices), expected=expected)

    if len(reader.problems) > before or not {"type", "default", "help"} <= table.keys():
        return None

    kind = table["type"]
    default = _typed(reader, f"{where}.default", kind, table["default"])
    typed = []
    for index, choice in enumerate(choices):
        typed.append(_typed(reader, f"{where}.choices[{index}]", kind, choice))

    reader.check(
        f"{where}.default",
        default,
        good=not typed or default in typed,
        expected=Message("one of {choices}", choices=", ".join(map(shown_value, typed))),
    )
    return Option(
        name,
        kind,
        default=default,
        help=Message.whole(table["help"]),
        choices=tuple(typed),
    )


def _typed(reader: _Reader, where: str, kind: str, value: Any) -> Any:
    """A value of an option, an integer as a float where that is the kind."""
    if kind == "float" and type(value) is int:
        value = float(value)
    # inf and nan have no Python literal
    is_finite = type(value) is not float or abs(value) < float("inf")
    expected = Message("a finite {kind}" if kind == "float" else "of type {kind}", kind=kind)
    good = type(value) is OPTION_TYPES[kind] and is_finite
    reader.check(where, value, good=good, expected=expected)
    return value


# variants -------------------------------------------------------------------------------------
def _read_variants(reader: _Reader, top: Mapping[str, Any]) -> tuple[Variant, ...]:
    if top.get("variant") == []:
        expected = Message("at least one [[variant]]")
        reader.wrong("variant", Message("an empty list"), expected=expected)

    tables = top.get("variant", ())
    packages = {table.get("package") for table in tables}
    variants = []
    for index, table in enumerate(tables):
        variants.append(_variant(reader, table, f"variant[{index}]", packages))

    return tuple(variants)


def _variant(
    reader: _Reader,
    table: Mapping[str, Any],
    where: str,
    packages: AbstractSet[object],
) -> Variant:
    """One `[[variant]]`.

    It takes of each .spatch the patches of its own package: they are for one of `packages`.
    """
    package = table.get("package", "x")
    _check_name(
        reader,
        f"{where}.package",
        package,
        expected=Message("the name that is imported, without dots"),
    )

    versions = table.get("versions", "")
    expected = Message('a PEP 440 specifier set such as ">=2.0,<3", or ""')
    good = _is_short(versions) and is_range(versions)
    if not good and is_version(versions):
        expected = Message('"=={version}" for that release alone, or a range', version=versions)
    reader.check(f"{where}.versions", versions, good=good, expected=expected)

    names = table.get("names", [])
    for index, name in enumerate(names):
        _check_name(
            reader,
            f"{where}.names[{index}]",
            name,
            expected=Message("a Python name"),
        )

    distributions = table.get("distributions", [])
    for index, name in enumerate(distributions):
        reader.check(
            f"{where}.distributions[{index}]",
            name,
            good=re.fullmatch(r"(?ai)[a-z0-9]([a-z0-9._-]*[a-z0-9])?", name),
            expected=Message("a name that pip installs"),
        )

    return Variant(
        package,
        versions,
        patches=_variant_patches(reader, table, where, packages=packages),
        names=tuple(names),
        distributions=tuple(distributions),
    )


def _variant_patches(
    reader: _Reader,
    table: Mapping[str, Any],
    where: str,
    packages: AbstractSet[object],
) -> tuple[FilePatch, ...]:
    """The patches for the files of a variant's package.

    Those for another one of `packages` are left to its variants, unless there is nothing else.
    """
    package = table.get("package", "x")
    before = len(reader.problems)
    patches: list[FilePatch] = []
    others: list[tuple[str, str, FilePatch]] = []
    for place, name in _spatches(reader, table, where):
        for patch in reader.patches(name):
            home = re.sub(r"(?:\.py)?(?:/.*)?$", "", patch.paths[0], count=1)
            if home in packages - {package}:
                others.append((place, name, patch))
                continue

            patches.append(patch)
            if "package" in table:
                _check_paths(reader, place, name, patch, package)

    if others and not patches and len(reader.problems) == before:
        _check_paths(reader, *others[0], package)
    _check_deleted(reader, patches)
    return tuple(patches)


def _check_deleted(reader: _Reader, patches: Sequence[FilePatch]) -> None:
    """Refuse a file that is deleted and changed in one .spatch, or changed after that.

    One that an earlier .spatch adds is not deleted again.
    """
    known: dict[str, FilePatch] = {}
    for patch in patches:
        for line, path in enumerate(patch.paths, patch.line):
            package, _, name = path.partition("/")
            if patch.deletes and name in ("", "__init__.py"):
                problem = PatchError.at(
                    Location(patch.hunks[0].origin, line),
                    "{path} is the file by which {package} is imported: it is not deleted, as "
                    "that would be no package any more",
                    path=path,
                    package=package,
                )

                reader.problems.append(problem)

            other = known.get(path)
            known[path] = patch
            if other is None or not (other.deletes or patch.deletes):
                continue

            is_one = other.hunks[0].origin == patch.hunks[0].origin
            if other.deletes or other.adds or is_one:
                problem = PatchError.at(
                    Location(patch.hunks[0].origin, line),
                    "{path} is named by {origin}:{line}, too: a file is deleted by the last "
                    ".spatch that names it, and by that alone",
                    path=path,
                    origin=Path(other.hunks[0].origin).name,
                    line=other.line,
                )

                reader.problems.append(problem)


def _spatches(
    reader: _Reader,
    table: Mapping[str, Any],
    where: str,
) -> Iterator[tuple[str, str]]:
    """The places in the manifest and the names of the .spatch files of a variant."""
    names = table.get("patches", ())
    if names == []:
        expected = Message("at least one .spatch file")
        reader.wrong(f"{where}.patches", Message("an empty list"), expected=expected)

    for index, name in enumerate(names):
        place = f"{where}.patches[{index}]"
        if name in names[:index]:
            reader.wrong(place, shown_value(name), expected=Message("every file once"))
        elif _check_inside(reader, place, name, ".spatch"):
            yield place, name


def _check_paths(
    reader: _Reader,
    where: str,
    name: str,
    patch: FilePatch,
    package: str,
) -> None:
    """Refuse files that are not of the package."""
    for line, path in enumerate(patch.paths, patch.line):
        top, _, rest = path.partition("/")
        if top in ("a", "b") and top != package and rest.startswith(f"{package}/"):
            problem = PatchError.at(
                Location(str(reader.folder / name), line),
                "found {finding}, expected {expectation}: without git's `{ahead}/`",
                finding=shown_value(path),
                expectation=shown_value(rest),
                ahead=top,
            )

            reader.problems.append(problem)
        elif top not in (package, f"{package}.py"):
            actual = Message("{path} (line {line})", path=shown_value(path), line=patch.line)
            expected = Message("a file of the package {package}", package=package)
            reader.wrong(where, actual, expected=expected)


# verify ---------------------------------------------------------------------------------------
def _read_verify(reader: _Reader, table: Mapping[str, Any]) -> Verify:
    imports = table.get("imports", ())
    for index, module in enumerate(imports):
        _check_name(
            reader,
            f"verify.imports[{index}]",
            module,
            expected=Message("a dotted module name"),
            parts=module.split("."),
        )

    probe = table.get("probe", "")
    if "probe" in table and _check_inside(reader, "verify.probe", probe, ".py"):
        reader.text(probe)
    return Verify(tuple(imports), probe)


# names and paths ------------------------------------------------------------------------------
def _check_name(
    reader: _Reader,
    where: str,
    name: str,
    expected: str,
    parts: Sequence[str] = (),
) -> None:
    """Refuse a name whose parts are no Python names of ASCII: any other letter may look like one.

    Without `parts` the name is the only one.
    """
    good = all(part.isascii() and part.isidentifier() for part in parts or [name])
    expected = Message("{expected}, of ASCII letters", expected=expected)
    reader.check(where, name, good=good, expected=expected)


def _check_inside(
    reader: _Reader,
    where: str,
    name: str,
    suffix: str,
) -> bool:
    """Refuse what is not the relative path of a file below the folder, with that suffix.

    Returns:
        whether it is one, also after following links.
    """
    good = _is_relative(name) and name.endswith(suffix)
    if good and _has_link(reader.folder, name):
        good = is_inside(reader.folder / name, reader.folder)
    expected = Message(
        'the relative path of a {suffix} file inside the folder, with "/"',
        suffix=suffix,
    )

    reader.check(where, name, good=good, expected=expected)
    return good


def _is_relative(name: str) -> bool:
    """Whether a text is a plain relative path."""
    if "\\" in name or not name.isprintable() or len(name) >= 256:
        return False
    return not {"", ".", ".."} & set(name.split("/"))


def _has_link(folder: Path, name: str) -> bool:
    """Whether a part of a path below a folder is a link."""
    path = folder
    for part in name.split("/"):
        path /= part
        if path.is_symlink():
            return True

    return False

"""Changes of a patchset.toml that somebody wrote.

What is not named stays as it is, comments and line ends too.
"""

from __future__ import annotations

from typing import Any, Sequence


def patch_files(manifest: str) -> list[list[str]]:
    """The `.spatch` files of each variant of a manifest."""
    return [list(variant["patches"]) for variant in _parsed(manifest).unwrap()["variant"]]


def with_version(manifest: str, version: str) -> str:
    """A manifest with another version of the patchset."""
    document = _parsed(manifest)
    document["version"] = version
    return str(document.as_string())


def with_versions(manifest: str, number: int, versions: str) -> str:
    """A manifest with another range in the variant of that index."""
    document = _parsed(manifest)
    document["variant"][number]["versions"] = versions
    return str(document.as_string())


def with_patch_files(manifest: str, number: int, names: Sequence[str]) -> str:
    """A manifest with other `.spatch` files in the variant of that index."""
    document = _parsed(manifest)
    _fill(document["variant"][number]["patches"], names)
    return str(document.as_string())


def with_imports(manifest: str, modules: Sequence[str]) -> str:
    """A manifest with other modules that are imported to verify it."""
    document = _parsed(manifest)
    _fill(document["verify"]["imports"], modules)
    return str(document.as_string())


def with_variant(manifest: str, variant: str) -> str:
    """A manifest with a further `[[variant]]` below the last one.

    A comment above the next table stays above that.
    """
    line_end = "\r\n" if "\r\n" in manifest else "\n"
    document = _parsed(manifest if manifest.endswith("\n") else manifest + line_end)
    addition = _parsed(variant.replace("\n", line_end) + line_end)["variant"][0]
    variants = document["variant"]
    blank = addition.value.body.pop()[1]
    above: list[Any] = []
    if list(document)[-1] != "variant":
        above = _cut_end(variants[-1])
    variants[-1].add(blank)
    variants.append(addition)
    for item in above:
        addition.add(item)
    return str(document.as_string())


def _cut_end(table: Any) -> list[Any]:
    """Take the comments and blank lines off the end of a table.

    TOML has them there, a reader above the next table.
    """
    body = table.value.body
    items: list[Any] = []
    while body and body[-1][0] is None:
        items.insert(0, body.pop()[1])
    inner = body[-1][1] if body else None
    if getattr(inner, "is_table", bool)():
        items = [*_cut_end(inner), *items]
    return items


def _fill(array: Any, texts: Sequence[str]) -> None:
    """Have these texts in an array, in this order; those that it has keep their comments."""
    for text in list(array):
        if text not in texts:
            array.remove(text)
    for index, text in enumerate(texts):
        if index < len(array) and array[index] == text:
            continue
        if text in array:
            array.remove(text)
        array.insert(index, text)


def _parsed(manifest: str) -> Any:
    import tomlkit  # six starts of Python, for who changes a manifest alone

    return tomlkit.parse(manifest)

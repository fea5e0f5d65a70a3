"""The range of a variant, widened or ended by what was proven, and written into a manifest that else stays as it is."""

from __future__ import annotations

import re
from typing import Iterable, List, Sequence, Tuple

from patcher.errors import SitepatchError
from patcher.installed.versions import accepts, oldest_first, overlap, says_nothing
from patcher.message import Message
from patcher.model import Variant
from patcher.patchset.toml import written_toml

_CLAUSE = r"(>=|<=|>|<|===|==|!=|~=)\s*(\S+)"
_TABLE = re.compile(r"[ \t]*\[")
_VARIANT = re.compile(r"[ \t]*\[\[[ \t]*variant[ \t]*\]\]")
_VERSIONS = re.compile(r"""(?P<key>[ \t]*versions[ \t]*=[ \t]*)("[^"\r\n]*"|'[^'\r\n]*')""")


def widened(versions: str, proven: Sequence[str], failed: Sequence[str] = ()) -> str:
    """A range (PEP 440) with further releases; as it is written where it has all of them.

    A bound that excludes one is moved to it. Releases that are known to fail and would be included thereby get a `!=`.

    Args:
        versions: the range, "" for any release.
        proven: versions for which the patchset is proven; of a vendor's build (`2.7.1+cu128`) the release counts.
        failed: versions for which it is proven not to hold.
    """
    wanted = oldest_first({each.split("+")[0] for each in proven})
    outside = [each for each in wanted if not accepts(versions, each)]
    if not outside:
        return versions
    lower, upper, others = _bounds(versions)
    if lower and not accepts(lower, outside[0]):
        lower = f">={outside[0]}"
    if upper and not accepts(upper, outside[-1]):
        upper = f"<={outside[-1]}"
    others = [each for each in others if all(accepts(each, version) for version in outside)]
    made = ",".join(filter(None, [lower, upper, *others]))
    excluded = {each.split("+")[0] for each in failed if not accepts(versions, each)} - set(wanted)
    return ",".join([made, *(f"!={each}" for each in oldest_first(excluded) if accepts(made, each))])


def proven_range(versions: Iterable[str], failed: Sequence[str] = ()) -> str:
    """The narrowest range (PEP 440) from the lowest to the highest proven release, as `widened` writes it.

    Args:
        versions: the releases for which it is proven; one that says nothing (`patcher.installed.versions.says_nothing`) is
            passed over.
        failed: releases for which it is proven not to hold: left out by name where they lie in between.

    Returns:
        `==X`, `>=LOWEST,<=HIGHEST`, or "" (any version) where no release says which one it is.
    """
    known = [each for each in versions if not says_nothing(each)]
    first = f"=={known[0].split('+')[0]}" if known else ""
    return widened(first, known, [each for each in failed if not says_nothing(each)])


def ended(versions: str, version: str, known: str = "") -> str:
    """A range without a release and those beyond it.

    Args:
        versions: the range.
        version: the release; those after it are excluded too, or those before it if the range begins with it.
        known: a version that is to stay in the range, "" for none: those on the other side of the release are excluded.
    """
    release = version.split("+")[0]
    lower, upper, others = _bounds(versions)
    begins = bool(lower) and not accepts(lower.replace(">=", ">"), release)
    if begins or (known and oldest_first([release, known]) == [release, known] != [known, known]):
        lower = f">{release}"
    else:
        upper = f"<{release}"
    return ",".join(filter(None, [lower, upper, *others]))


def _bounds(versions: str) -> Tuple[str, str, List[str]]:
    """The lower and the upper bound of a range, "" for none, and its other clauses."""
    lower, upper, others = "", "", []
    for sign, version in re.findall(_CLAUSE, versions.replace(",", " ")):
        if sign == "~=" or (sign == "==" and version.endswith(".*")):
            first = version.replace(".*", "")
            series = first.rpartition(".")[0] if sign == "~=" else first
            lower, upper = f">={first}", f"<{re.sub('[0-9]+$', lambda last: str(int(last[0]) + 1), series)}"
        elif sign in ("==", "==="):
            lower, upper = f">={version}", f"<={version}"
        elif sign[0] == ">":
            lower = f"{sign}{version}"
        elif sign[0] == "<":
            upper = f"{sign}{version}"
        else:
            others.append(f"{sign}{version}")
    return lower, upper, others


def overlapping(variants: Sequence[Variant], number: int, versions: str) -> List[Variant]:
    """The other variants of a package whose range overlaps with this range for variant `number`."""
    others = [variant for at, variant in enumerate(variants) if at != number and variant.package == variants[number].package]
    return [variant for variant in others if overlap(variant.versions, versions)]


# in the manifest ------------------------------------------------------------------------------------------------------
def with_versions(manifest: str, number: int, versions: str) -> str:
    """A manifest with another range in the variant of that index; every other character of it stays.

    Raises:
        SitepatchError: the line is not written in the usual form.
    """
    lines = manifest.splitlines(keepends=True)
    starts = [at for at, line in enumerate(lines) if _VARIANT.match(line)]
    for at in range(starts[number] + 1, _end(lines, starts[number])) if number < len(starts) else ():
        found = _VERSIONS.match(lines[at])
        if found:
            lines[at] = f"{found['key']}{written_toml(versions)}{lines[at][found.end() :]}"
            return "".join(lines)
    what = Message("variant[{number}]: found no line `versions = ...` below a line [[variant]] of the manifest", number=number)
    raise SitepatchError(what, "write it there by hand: versions = {versions}", versions=written_toml(versions))


def with_patches_list(manifest: str, number: int, names: Sequence[str]) -> str:
    """A manifest with other `.spatch` files in the variant of that index; every other character of it stays.

    Raises:
        SitepatchError: they are not written in the usual form.
    """
    lists = list(re.finditer(r"^patches[ \t]*=[ \t]*\[[^\]]*\]", manifest, re.MULTILINE))
    if number >= len(lists):
        raise SitepatchError("variant[{number}]: found no `patches = [...]` of its own in the manifest", number=number)
    rows = "".join(f"    {written_toml(name)},\n" for name in names)
    return f"{manifest[: lists[number].start()]}patches = [\n{rows}]{manifest[lists[number].end() :]}"


def with_version(manifest: str, version: str) -> str:
    """A manifest with another version of the patchset; every other character of it stays."""
    line = re.compile(r"""^(version[ \t]*=[ \t]*)("[^"\n]*"|'[^'\n]*')""", re.MULTILINE)
    return line.sub(lambda key: key[1] + written_toml(version), manifest, count=1)


def with_variant(manifest: str, variant: str) -> str:
    """A manifest with a further `[[variant]]`, below the last one; every other character of it stays."""
    lines = manifest.splitlines(keepends=True)
    starts = [at for at, line in enumerate(lines) if _VARIANT.match(line)]
    at = _end(lines, starts[-1]) if starts else len(lines)
    while at and at < len(lines) and lines[at - 1].lstrip()[:1] in ("", "#"):
        at -= 1  # comments and blank lines above the table that follows are that table's
    end = "\r\n" if "\r\n" in manifest else "\n"
    if at and not lines[at - 1].endswith("\n"):
        lines[at - 1] += end
    return "".join([*lines[:at], end, variant.replace("\n", end), *lines[at:]])


def _end(lines: Sequence[str], start: int) -> int:
    """The index of the line at which the table ends that begins at `start`."""
    return next((at for at in range(start + 1, len(lines)) if _TABLE.match(lines[at])), len(lines))

"""The range of a variant, widened or ended by what was tried."""

from __future__ import annotations

import re
from typing import Iterable, Sequence

from patcher.installed.versions import accepts, oldest_first, overlap, says_nothing
from patcher.model import Variant

_CLAUSE = r"(>=|<=|>|<|===|==|!=|~=)\s*(\S+)"


def widened(versions: str, fitting: Sequence[str], failed: Sequence[str] = ()) -> str:
    """A range (PEP 440) with further releases; as it is written where it has all of them.

    A bound that excludes one is moved to it. Releases that are known to fail and would be included thereby get a `!=`.

    Args:
        versions: the range, "" for any release.
        fitting: versions that the patchset fits; of a vendor's build (`2.7.1+cu128`) the release counts.
        failed: versions that it does not fit.
    """
    wanted = oldest_first({each.split("+")[0] for each in fitting})
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
    return ",".join(
        [made, *(f"!={each}" for each in oldest_first(excluded) if accepts(made, each))]
    )


def fitting_range(versions: Iterable[str], failed: Sequence[str] = ()) -> str:
    """The narrowest range (PEP 440) from the lowest to the highest release that it fits, as `widened` writes it.

    Args:
        versions: the releases that it fits; one that says nothing (`patcher.installed.versions.says_nothing`) is
            passed over.
        failed: releases that it does not fit: left out by name where they lie in between.

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


def _bounds(versions: str) -> tuple[str, str, list[str]]:
    """The lower and the upper bound of a range, "" for none, and its other clauses."""
    lower, upper, others = "", "", []
    for sign, version in re.findall(_CLAUSE, versions.replace(",", " ")):
        if sign == "~=" or (sign == "==" and version.endswith(".*")):
            first = version.replace(".*", "")
            series = first.rpartition(".")[0] if sign == "~=" else first
            lower, upper = (
                f">={first}",
                f"<{re.sub('[0-9]+$', lambda last: str(int(last[0]) + 1), series)}",
            )
        elif sign in ("==", "==="):
            lower, upper = f">={version}", f"<={version}"
        elif sign[0] == ">":
            lower = f"{sign}{version}"
        elif sign[0] == "<":
            upper = f"{sign}{version}"
        else:
            others.append(f"{sign}{version}")
    return lower, upper, others


def overlapping(variants: Sequence[Variant], number: int, versions: str) -> list[Variant]:
    """The other variants of a package whose range overlaps with this range for variant `number`."""
    others = [
        variant
        for at, variant in enumerate(variants)
        if at != number and variant.package == variants[number].package
    ]
    return [variant for variant in others if overlap(variant.versions, versions)]

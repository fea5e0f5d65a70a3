"""The range of a variant, widened or ended by what was tried."""

from __future__ import annotations

import re
from typing import Iterable, Sequence

from patcher.installed.versions import accepts, oldest_first, overlap, says_nothing
from patcher.model import Variant
from patcher.record import Record

_CLAUSE = r"(>=|<=|>|<|===|==|!=|~=)\s*(\S+)"


class _Bounds(Record):
    """The lower and the upper bound of a range, "" for none, and its other clauses."""

    lower: str
    upper: str
    others: list[str]

    def written(self) -> str:
        """The range."""
        return ",".join(filter(None, [self.lower, self.upper, *self.others]))


def widened(versions: str, fitting: Sequence[str], failed: Sequence[str] = ()) -> str:
    """A range (PEP 440) widened to further releases; unchanged if it has all of them already.

    A bound that excludes one is moved to it. Releases that are known to fail and would come in are
    excluded by `!=`.

    Args:
        versions: the range, "" for any release.
        fitting: versions that the patchset fits; of a vendor's build (`2.7.1+cu128`) the release
            counts.
        failed: versions that it does not fit.
    """
    included = oldest_first({version.split("+")[0] for version in fitting})
    outside = [version for version in included if not accepts(versions, version)]
    if not outside:
        return versions

    lower, upper, others = _bounds(versions)
    if lower and not accepts(lower, outside[0]):
        lower = f">={outside[0]}"
    if upper and not accepts(upper, outside[-1]):
        upper = f"<={outside[-1]}"
    kept: list[str] = []
    for clause in others:
        if all(accepts(clause, version) for version in outside):
            kept.append(clause)
    wider = _Bounds(lower, upper, kept).written()

    excluded: set[str] = set()
    for version in failed:
        if not accepts(versions, version):
            excluded.add(version.split("+")[0])
    clauses = [wider]
    for version in oldest_first(excluded - set(included)):
        if accepts(wider, version):
            clauses.append(f"!={version}")
    return ",".join(clauses)


def fitting_range(versions: Iterable[str], failed: Sequence[str] = ()) -> str:
    """The narrowest range (PEP 440) from the lowest to the highest release that a patchset fits.

    It is written as by `widened`.

    Args:
        versions: the releases that it fits; one that says nothing
            (`patcher.installed.versions.says_nothing`) is passed over.
        failed: releases that it does not fit: left out by name where they lie in between.

    Returns:
        `==X`, `>=LOWEST,<=HIGHEST`, or "" (any version) where no release says which one it is.
    """
    known = _identified(versions)
    first = f"=={known[0].split('+')[0]}" if known else ""
    return widened(first, known, failed=_identified(failed))


def _identified(versions: Iterable[str]) -> list[str]:
    """The versions that identify a release."""
    return [version for version in versions if not says_nothing(version)]


def ended(versions: str, version: str, known: str = "") -> str:
    """A range without a release and those beyond it.

    Args:
        versions: the range.
        version: the release; those after it are excluded too, or those before it if the range
            begins with it.
        known: a version that is to stay in the range, "" for none: those on the other side of the
            release are excluded.
    """
    release = version.split("+")[0]
    bounds = _bounds(versions)
    begins_range = bool(bounds.lower) and not accepts(bounds.lower.replace(">=", ">"), release)
    is_below_known = False
    if known and known != release:
        is_below_known = oldest_first([release, known])[0] == release
    if begins_range or is_below_known:
        return bounds._replace(lower=f">{release}").written()
    return bounds._replace(upper=f"<{release}").written()


def _bounds(versions: str) -> _Bounds:
    """A range taken apart; `~=`, `==` and `==X.*` become a lower and an upper bound."""
    lower, upper = "", ""
    others: list[str] = []
    for sign, version in re.findall(_CLAUSE, versions.replace(",", " ")):
        if sign == "~=" or (sign == "==" and version.endswith(".*")):
            first = version.replace(".*", "")
            series = first.rpartition(".")[0] if sign == "~=" else first
            lower, upper = f">={first}", f"<{_next_series(series)}"
        elif sign in ("==", "==="):
            lower, upper = f">={version}", f"<={version}"
        elif sign[0] == ">":
            lower = f"{sign}{version}"
        elif sign[0] == "<":
            upper = f"{sign}{version}"
        else:
            others.append(f"{sign}{version}")
    return _Bounds(lower, upper, others)


def _next_series(series: str) -> str:
    """The series of releases after one: 1.3 after 1.2."""
    return re.sub("[0-9]+$", lambda last: str(int(last[0]) + 1), series)


def overlapping(variants: Sequence[Variant], number: int, versions: str) -> list[Variant]:
    """The other variants of a package whose range overlaps with this range for variant `number`."""
    overlaps: list[Variant] = []
    for index, variant in enumerate(variants):
        is_other = index != number and variant.package == variants[number].package
        if is_other and overlap(variant.versions, versions):
            overlaps.append(variant)
    return overlaps

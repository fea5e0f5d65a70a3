"""PEP 440 ranges as patchsets mean them: vendor builds, nightlies and pre-releases count.

packaging decides; only where all versions are plain (`2.13.0`) and all bounds are `>=`, `>`, `<=`,
`<`, as nearly always, it is not imported, since that costs one and a half starts of Python.
"""

from __future__ import annotations

import operator
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Callable, Iterable, Iterator, Sequence, Tuple

from patcher.text.listed import untagged

if TYPE_CHECKING:
    from packaging.specifiers import Specifier, SpecifierSet
    from packaging.version import Version

_PLAIN = r"\d+(?:\.\d+)*"
_BOUND = r"\s*(>=|<=|>|<)\s*(\d+(?:\.\d+)*)\s*"
_CLAUSE = r"\s*(?:>=|<=|>|<|==|!=)\s*\d+(?:\.\d+)*(?:(?:a|b|rc)\d+)?\s*"
"""The clauses of nearly all ranges; what else is valid, packaging says."""
_Release = Tuple[int, ...]
_COMPARE: dict[str, Callable[[_Release, _Release], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


def _version(version: str) -> Version:
    """A version as packaging reads it. Raises ValueError for an invalid one."""
    from packaging.version import Version

    return Version(version)


def _range(versions: str) -> SpecifierSet:
    """A specifier set as packaging reads it. Raises ValueError for an invalid one."""
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(versions)


# versions -------------------------------------------------------------------------------------
def is_version(version: str) -> bool:
    """Whether a text is a PEP 440 version."""
    if re.fullmatch(_PLAIN, version):
        return True
    with suppress(ValueError):
        _version(version)
        return True
    return False


def canonical(version: str) -> str:
    """A version as PEP 440 normalises it, as in the file names of distributions.

    Raises:
        ValueError: it is invalid.
    """
    return str(_version(version))


def says_nothing(version: str) -> bool:
    """Whether a version does not identify a release.

    That is an empty one, none of PEP 440, and `0.0.0` or `0+untagged` of a build without a tag.
    """
    return not is_version(version) or untagged(version)


def oldest_first(versions: Iterable[str]) -> list[str]:
    """Versions in the order of PEP 440. Raises ValueError for an invalid one."""
    return sorted(versions, key=_version)


def matching_versions(requested: str, versions: Iterable[str]) -> list[str]:
    """The versions that `requested` refers to: itself, else the vendor builds of it.

    `2.7.1` refers to `2.7.1+cu128` where there is no `2.7.1`.

    Raises:
        ValueError: one of them is not PEP 440.
    """
    sought = _version(requested)
    exact: list[str] = []
    builds: list[str] = []
    for spelling in dict.fromkeys(versions):
        version = _version(spelling)
        if version == sought:
            exact.append(spelling)
        elif _version(version.public) == sought:
            builds.append(spelling)
    return exact or builds


def newest(versions: Iterable[str]) -> list[str]:
    """All builds of the newest release (`2.7.1+cpu`, `2.7.1+cu128`).

    Pre-releases count only where there is nothing else.
    """
    parsed = {spelling: _version(spelling) for spelling in versions}
    if not parsed:
        return []
    latest = max(parsed.values(), key=lambda version: (not version.is_prerelease, version))
    return [spelling for spelling, version in parsed.items() if version.public == latest.public]


# ranges ---------------------------------------------------------------------------------------
def is_range(versions: str) -> bool:
    """Whether a text is a PEP 440 specifier set; an empty one is, for any version."""
    clauses = versions.split(",") if versions.strip() else []
    if all(re.fullmatch(_CLAUSE, clause) for clause in clauses):
        return True
    with suppress(ValueError):
        _range(versions)
        return True
    return False


def _bounds(versions: str) -> list[tuple[str, _Release]] | None:
    """The (operator, release) pairs of a range of plain bounds, None for any other."""
    if not versions.strip():
        return []
    bounds = []
    for part in versions.split(","):
        match = re.fullmatch(_BOUND, part)
        if not match:
            return None
        bounds.append((match.group(1), _release(match.group(2))))
    return bounds


def _release(version: str) -> _Release:
    """The numbers of a plain version without the zeros at its end, which do not count."""
    numbers = [int(part) for part in version.split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def accepts(versions: str, version: str) -> bool:
    """Whether a release is in a range.

    A pre-release counts as its release for `>=`, `~=`, `==` and `!=`: the vendor build
    `2.0.0a0+git123` has the code of 2.0. A bound that is itself a pre-release is taken as
    written; `<2.0` never takes a pre-release of 2.0 (PEP 440).

    Args:
        versions: a PEP 440 specifier set, empty for any version.
        version: a PEP 440 version.

    Raises:
        ValueError: either is not PEP 440 (packaging's InvalidSpecifier and InvalidVersion).
    """
    bounds = _bounds(versions)
    if bounds is not None and re.fullmatch(_PLAIN, version):
        release = _release(version)
        return all(_COMPARE[sign](release, bound) for sign, bound in bounds)
    return all(_accepts(specifier, _version(version)) for specifier in _range(versions))


def _accepts(specifier: Specifier, version: Version) -> bool:
    """Whether one clause of a range accepts a version, by the rules of `accepts`."""
    accepted = specifier.contains(version, prereleases=True)
    if not version.is_prerelease:
        return accepted
    # the release itself may be accepted where its pre-release is not, or excluded where it is not
    deciding = ("!=",) if accepted else (">=", "~=", "==")
    if specifier.operator not in deciding or _bound(specifier).is_prerelease:
        return accepted
    return specifier.contains(version.base_version, prereleases=True)


def released(versions: str, inside: Sequence[str]) -> list[str]:
    """The releases of a range as pip takes them.

    Pre-releases are left out, unless the range names one or has nothing else.

    Args:
        versions: a PEP 440 specifier set.
        inside: the releases that it accepts.
    """
    final = [version for version in inside if not _version(version).is_prerelease]
    return list(inside) if _range(versions).prereleases or not final else final


def _bound(specifier: Specifier) -> Version:
    """The version of a specifier. Raises InvalidVersion, as `===` may have any text."""
    version = specifier.version
    if version.endswith(".*"):
        version = version[: -len(".*")]
    return _version(version)


# what two ranges have in common ---------------------------------------------------------------
def overlap(versions: str, other_versions: str) -> str | None:
    """A version that two specifier sets both accept, or None.

    What both accept is a union of intervals in PEP 440's order, each of which begins at a version
    of a specifier, right after one, or at the very first version: it is enough to try those.

    Raises:
        ValueError: one is not a specifier set.
    """
    joint = ",".join(filter(None, (versions, other_versions)))
    for version in _beginnings(joint):
        if accepts(joint, version):
            return version
    return None


def _beginnings(versions: str) -> Iterator[str]:
    """Where an interval of versions can begin.

    With and without `.dev0`: pre-releases have rules of their own.
    """
    bounds: list[Version] = []
    for specifier in sorted(_range(versions), key=str):
        # `===` takes any text, and matches no version that can be compared
        with suppress(ValueError):
            bounds.append(_bound(specifier))

    yield from map(str, bounds)
    # for packaging < 26.1, `<1.0.post1` holds no pre-release of 1.0
    yield from (bound.base_version for bound in bounds)
    yield from ("0", "0.dev0")
    length = 1 + max((len(bound.release) for bound in bounds), default=0)
    for bound in bounds:
        for version in _after(bound, length):
            yield version
            if ".dev" not in version:
                yield f"{version}.dev0"


def _after(bound: Version, length: int) -> Iterator[str]:
    """The versions right after one, by each of `length` numbers of its release and its suffixes."""
    numbers = [*bound.release, *[0] * (length - len(bound.release))]
    yield from _next_releases(numbers, f"{bound.epoch}!" if bound.epoch else "")
    # the number behind the last letter of a, b, rc, post or dev
    for number in re.finditer(r"(?<=a|b|c|t|v)\d+", bound.public):
        yield f"{bound.public[: number.start()]}{int(number.group()) + 1}"
    if bound.dev is None:
        yield bound.public
        if bound.post is None:
            yield f"{bound.public}.post0"


def _next_releases(numbers: Sequence[int], epoch: str) -> Iterator[str]:
    for index, number in enumerate(numbers):
        release = [*numbers[:index], number + 1]
        yield epoch + ".".join(map(str, release))

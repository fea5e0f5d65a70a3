"""PEP 440 ranges as patchsets mean them: vendor builds, nightlies and pre-releases inside a range count.

packaging decides; only where all versions are plain (`2.13.0`) and all bounds are `>=`, `>`, `<=`, `<`, as nearly always,
it is not imported, since that costs one and a half starts of the interpreter.
"""

from __future__ import annotations

import operator
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Iterable, Iterator

from patcher.text.listed import untagged

if TYPE_CHECKING:
    from packaging.specifiers import Specifier, SpecifierSet
    from packaging.version import Version

_PLAIN = r"\d+(?:\.\d+)*"  # compiled on first use: `status` does not use it
_BOUND = r"\s*(>=|<=|>|<)\s*(\d+(?:\.\d+)*)\s*"


def _version(version: str) -> Version:
    """A version as packaging reads it. Raises ValueError for an invalid one."""
    from packaging.version import Version

    return Version(version)


def _range(versions: str) -> SpecifierSet:
    """A specifier set as packaging reads it. Raises ValueError for an invalid one."""
    from packaging.specifiers import SpecifierSet  # with subprocess

    return SpecifierSet(versions)


def is_version(version: str) -> bool:
    """Whether a text is a PEP 440 version."""
    with suppress(ValueError):
        return bool(re.fullmatch(_PLAIN, version) or _version(version))
    return False


def canonical(version: str) -> str:
    """A version as PEP 440 normalises it, as in the file names of distributions. Raises ValueError for an invalid one."""
    return str(_version(version))


def says_nothing(version: str) -> bool:
    """Whether a version does not identify a release: "", no PEP 440 version, `0.0.0` or `0+untagged` of a build."""
    return not is_version(version) or untagged(version)


def is_range(versions: str) -> bool:
    """Whether a text is a PEP 440 specifier set; "" is one, for any version."""
    with suppress(ValueError):
        return _bounds(versions) is not None or _range(versions) is not None
    return False


def _bounds(versions: str) -> list[tuple[str, tuple[int, ...]]] | None:
    """The (operator, release) pairs of a range of plain bounds, None for any other."""
    matches = (
        [re.fullmatch(_BOUND, part) for part in versions.split(",")] if versions.strip() else []
    )
    return (
        None
        if None in matches
        else [(match.group(1), _release(match.group(2))) for match in matches if match]
    )


def _release(version: str) -> tuple[int, ...]:
    """The numbers of a plain version without the zeros at its end, which do not count."""
    numbers = [int(part) for part in version.split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def accepts(versions: str, version: str) -> bool:
    """Whether a release is in a range.

    A pre-release counts as its release for `>=`, `~=`, `==` and `!=`: the vendor build `2.0.0a0+git123` has the code of
    2.0. A bound that is itself a pre-release is taken as written; `<2.0` never takes a pre-release of 2.0 (PEP 440).

    Args:
        versions: a PEP 440 specifier set, "" for any version.
        version: a PEP 440 version.

    Raises:
        ValueError: when either is not PEP 440 (packaging's InvalidSpecifier and InvalidVersion).
    """
    bounds = _bounds(versions)
    if bounds is not None and re.fullmatch(_PLAIN, version):
        have = _release(version)
        holds = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}
        return all(holds[sign](have, bound) for sign, bound in bounds)
    return all(_accepts(specifier, _version(version)) for specifier in _range(versions))


def _accepts(specifier: Specifier, version: Version) -> bool:
    plain = specifier.contains(version, prereleases=True)
    by_release = ("!=",) if plain else (">=", "~=", "==")
    if (
        not version.is_prerelease
        or specifier.operator not in by_release
        or _bound(specifier).is_prerelease
    ):
        return plain
    return specifier.contains(version.base_version, prereleases=True)


def _bound(specifier: Specifier) -> Version:
    """The version of a specifier. Raises InvalidVersion, as `===` may have any text."""
    return _version(
        specifier.version[:-2] if specifier.version.endswith(".*") else specifier.version
    )


def oldest_first(versions: Iterable[str]) -> list[str]:
    """Versions in the order of PEP 440. Raises ValueError for an invalid one."""
    return sorted(versions, key=_version)


def matching_versions(requested: str, versions: Iterable[str]) -> list[str]:
    """The versions that `requested` refers to: that version itself, else the vendor builds of it (`2.7.1+cu128`).

    Raises:
        ValueError: when one of them is not PEP 440.
    """
    parsed = {spelling: _version(spelling) for spelling in versions}
    exact = [spelling for spelling, version in parsed.items() if version == _version(requested)]
    return exact or [
        spelling
        for spelling, version in parsed.items()
        if _version(version.public) == _version(requested)
    ]


def newest(versions: Iterable[str]) -> list[str]:
    """All builds of the newest release (`2.7.1+cpu`, `2.7.1+cu128`); of pre-releases only where there is nothing else."""
    parsed = {spelling: _version(spelling) for spelling in versions}
    newest_version = max(
        parsed.values(), key=lambda version: (not version.is_prerelease, version), default=None
    )
    public = newest_version.public if newest_version is not None else ""
    return [spelling for spelling, version in parsed.items() if version.public == public]


def overlap(versions: str, other_versions: str) -> str | None:
    """A version that two specifier sets both accept, or None.

    What both accept is a union of intervals in PEP 440's order, each of which begins at a version of a specifier, right after
    one, or at the very first version: it is enough to try those.

    Raises:
        ValueError: when one is not a specifier set.
    """
    joint = ",".join(filter(None, (versions, other_versions)))
    return next((version for version in _beginnings(joint) if accepts(joint, version)), None)


def _beginnings(versions: str) -> Iterator[str]:
    """Where an interval of versions can begin, with and without `.dev0`: pre-releases have rules of their own."""
    named: list[Version] = []
    for specifier in sorted(_range(versions), key=str):
        try:
            named.append(_bound(specifier))
        except ValueError:
            continue  # `===` takes any text, and matches no version that can be compared
    yield from map(str, named)
    # for packaging < 26.1, `<1.0.post1` holds no pre-release of 1.0
    yield from (version.base_version for version in named)
    yield from ("0", "0.dev0")
    length = max((len(version.release) for version in named), default=0) + 1
    for version in named:
        release = [*version.release, *[0] * (length - len(version.release))]
        epoch = f"{version.epoch}!" if version.epoch else ""
        after = [
            f"{epoch}{'.'.join(map(str, [*release[:index], release[index] + 1]))}"
            for index in range(length)
        ]
        # of aN, bN, rcN, .postN, .devN
        for number in re.finditer(r"(?<=a|b|c|t|v)\d+", version.public):
            after.append(f"{version.public[: number.start()]}{int(number.group()) + 1}")
        if version.dev is None:
            after += (
                [version.public]
                if version.post is not None
                else [version.public, f"{version.public}.post0"]
            )
        for beginning in after:
            yield beginning
            if ".dev" not in beginning:
                yield f"{beginning}.dev0"

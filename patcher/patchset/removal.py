"""What a program can check of `remove_when`: a release has the change, or a patch for upstream; or it is a certain one."""

from __future__ import annotations

import re

from patcher.installed.versions import accepts, is_range, is_version
from patcher.model import Patchset

_PATCH = r"(?s)upstream ([a-z0-9][a-z0-9-]*-upstream)(?:/([A-Za-z0-9][A-Za-z0-9_-]*))?: .*"
_RELEASE = r"(?s)([A-Za-z0-9][A-Za-z0-9._-]*)\s*([<>=!~][^:]*)(?::.*)?"


def when_upstream(patchset: Patchset) -> bool:
    """Whether a patchset can go where all its hunks answer *upstream*."""
    text = patchset.provenance.get("remove_when", "")
    return re.match(r"upstream\b", text) is not None and not re.fullmatch(_PATCH, text)


def upstream_patch(patchset: Patchset) -> tuple[str, str]:
    """The series of `fixtures/upstream` and its patch, "" for all, with which a patchset can go; ("", "") where there is none.

    For a patchset that inserts helpers of its own: no release will have those, so its hunks never answer *upstream*.
    """
    named = re.fullmatch(_PATCH, patchset.provenance.get("remove_when", ""))
    return (named.group(1), named.group(2) or "") if named else ("", "")


def when_released(patchset: Patchset) -> str:
    """The release with which a patchset can go, as `mmengine >=0.11`; "" where `remove_when` names none."""
    release = re.fullmatch(_RELEASE, patchset.provenance.get("remove_when", ""))
    return (
        f"{release.group(1)} {release.group(2).strip()}"
        if release and is_range(release.group(2))
        else ""
    )


def can_go(patchset: Patchset, distribution: str, version: str) -> bool:
    """Whether a release is the one with which a patchset can go; each distribution of a package counts as the package."""
    name, _, versions = when_released(patchset).partition(" ")
    groups = ({variant.package, *variant.distributions} for variant in patchset.variants)
    return (
        any({name, distribution} <= group for group in groups)
        and is_version(version)
        and accepts(versions, version)
    )

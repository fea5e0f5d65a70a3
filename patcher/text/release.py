"""The name and the version of a release: as they are compared, and as a message has them."""

from __future__ import annotations

import re


def untagged(version: str) -> bool:
    """Whether a version is that of a build without one: "", `0.0.0`, `0+untagged`, or nothing like a version."""
    return not re.match(r"v?[\d.]*[1-9]", version)


def release_name(package: str, distribution: str, version: str) -> str:
    """A release as a message names it: the distribution, where one is known, and the version."""
    return f"{distribution or package} {version}".rstrip()


def normalized(name: str) -> str:
    """The name of a distribution as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()

"""Patchsets in words: their provenance, and the releases that they are for."""

from __future__ import annotations

from typing import Iterable

from patcher.message import Message, joined
from patcher.model import Variant

FIELDS = {
    "origin": Message("origin"),
    "bug": Message("bug"),
    "forwarded": Message("forwarded"),
    "author": Message("author"),
    "last_update": Message("last update"),
    "remove_when": Message("remove when"),
}
"""The keys of `[provenance]` as people read them."""


def release_range(variant: Variant) -> str:
    """The package of a variant and the releases that it is for: `mmengine >=0.1,<1`."""
    versions = variant.versions or Message("(any version)")
    return Message("{package} {versions}", package=variant.package, versions=versions)


def release_ranges(variants: Iterable[Variant]) -> str:
    """Those of several variants."""
    return joined(", ", [release_range(variant) for variant in variants])

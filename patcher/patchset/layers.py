"""The layers of a series: hunks that are matched against what those of the patches before have made. Pure."""

from __future__ import annotations

from itertools import groupby
from posixpath import basename, splitext
from typing import Callable, Sequence

from patcher.model import HunkText, Patchset, Rewrite, Splice
from patcher.text.splices import compose


def layers_of(hunks: Sequence[HunkText]) -> list[tuple[HunkText, ...]]:
    """The hunks for a file, layer by layer."""
    return [tuple(layer) for _, layer in groupby(hunks, key=lambda hunk: hunk.layer)]


def rewrite_layers(
    data: bytes,
    hunks: Sequence[HunkText],
    rewrite: Callable[[bytes, tuple[HunkText, ...]], Rewrite],
) -> Rewrite:
    """Rewrite a text layer by layer: each hunk is matched against what the layers before have made; all or none of them.

    A layer of which a hunk fails changes nothing for the later ones. With several layers the answers have no splices, and
    their places are lines of the text that was matched.
    """
    layers = layers_of(hunks)
    if len(layers) < 2:
        return rewrite(data, tuple(hunks))
    source, results = data, []
    splices: tuple[Splice, ...] = ()
    for layer in layers:
        result = rewrite(source, layer)
        source, splices = result.data, compose(len(data), splices, result.splices)
        results.append(result)
    answers = tuple(answer._replace(splices=()) for result in results for answer in result.answers)
    failed = any(answer.state.failed for answer in answers)
    return Rewrite(data, (), answers) if failed else Rewrite(source, splices, answers)


def is_series(patchset: Patchset) -> bool:
    """Whether a patchset is a series."""
    return any(variant.series for variant in patchset.variants)


def patch_name(origin: str) -> str:
    """The name of a patch by its `.spatch` file."""
    return splitext(basename(origin.replace("\\", "/")))[0]


def patch_names(patchset: Patchset) -> list[str]:
    """The patches of a series in their order."""
    hunks = (
        hunk for variant in patchset.variants for patch in variant.patches for hunk in patch.hunks
    )
    return list(
        dict.fromkeys(
            patch_name(hunk.origin) for hunk in sorted(hunks, key=lambda hunk: hunk.layer)
        )
    )

"""The layers of a patchset: the hunks of each .spatch are matched against what those before made.

Pure.
"""

from __future__ import annotations

from itertools import groupby
from posixpath import basename, splitext
from typing import Callable, Sequence

from patcher.model import HunkText, Patchset, Rewrite, Splice
from patcher.text.splices import compose


def layers_of(hunks: Sequence[HunkText]) -> list[tuple[HunkText, ...]]:
    """The hunks for a file, .spatch by .spatch."""
    return [tuple(layer) for _, layer in groupby(hunks, key=lambda hunk: hunk.origin)]


def rewrite_layers(
    data: bytes,
    hunks: Sequence[HunkText],
    rewrite: Callable[[bytes, tuple[HunkText, ...]], Rewrite],
) -> Rewrite:
    """Rewrite a text layer by layer: all layers or none.

    A layer of which a hunk fails changes nothing for the later ones.

    Args:
        data: the text before.
        hunks: those for it, in the order of their .spatch files.
        rewrite: rewrites a text by the hunks of one layer.

    Returns:
        With several layers the answers have no splices, and their places are lines of the text
        that was matched.
    """
    layers = layers_of(hunks)
    if len(layers) < 2:
        return rewrite(data, tuple(hunks))

    text = data
    gone = False
    splices: tuple[Splice, ...] = ()
    answers = []
    for layer in layers:
        result = rewrite(text, layer)
        text, gone = result.data, result.gone
        splices = compose(len(data), splices, result.splices)
        answers += [answer._replace(splices=()) for answer in result.answers]
    if any(answer.presumed.failed for answer in answers):
        return Rewrite(data, (), tuple(answers))
    return Rewrite(text, splices, tuple(answers), gone=gone)


# names of patches -----------------------------------------------------------------------------
def patch_name(origin: str) -> str:
    """The name of a patch by its `.spatch` file."""
    return splitext(basename(origin.replace("\\", "/")))[0]


def patch_names(patchset: Patchset) -> list[str]:
    """The patches of a patchset in their order."""
    names: list[str] = []
    for variant in patchset.variants:
        of_variant = [patch_name(patch.hunks[0].origin) for patch in variant.patches]
        names = in_order(names, list(dict.fromkeys(of_variant)))
    return names


def in_order(present: Sequence[str], names: Sequence[str]) -> list[str]:
    """The names that are present, and the others of `names`, each where it is in that order."""
    order = list(present)
    for number, name in enumerate(names):
        if name not in order:
            order.insert(_position(order, names[:number], names[number + 1 :]), name)
    return order


def _position(order: Sequence[str], before: Sequence[str], after: Sequence[str]) -> int:
    """Where a name comes in an order: behind those before it, else ahead of those after it."""
    for name in reversed(before):
        if name in order:
            return order.index(name) + 1
    for name in after:
        if name in order:
            return order.index(name)
    return len(order)

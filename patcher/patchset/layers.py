"""The layers of a patchset: the hunks of each .spatch are matched against what those before it have made. Pure."""

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
    """Rewrite a text layer by layer: each hunk is matched against what the layers before have made; all or none of them.

    A layer of which a hunk fails changes nothing for the later ones. A deletion whose code is gone is no failure of the
    others: either all of its .spatch is upstream, in every file (format rule 25), or nothing is written at all. With several
    layers the answers have no splices, and their places are lines of the text that was matched.
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
    failed = any(answer.state.failed and not answer.gone for answer in answers)
    return Rewrite(data, (), answers) if failed else Rewrite(source, splices, answers)


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


def in_order(there: Sequence[str], names: Sequence[str]) -> list[str]:
    """The patches that are there and those that come, each of these where it is in its own order."""
    order = list(there)
    for number, name in enumerate(names):
        if name not in order:
            before = next((other for other in reversed(names[:number]) if other in order), "")
            after = next((other for other in names[number:] if other in order), "")
            order.insert(
                order.index(before) + 1 if before else order.index(after) if after else len(order),
                name,
            )
    return order

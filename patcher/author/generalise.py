"""An edit -> hunks: the most general form that is still proven to make the edit, and only it."""

from __future__ import annotations

from typing import Mapping, Sequence

from patcher.author.draft import Draft, FileEdit


def generalise(edits: Sequence[FileEdit], others: Sequence[Mapping[str, bytes]] = ()) -> Draft:
    """Turn edits of installed files into hunks.

    Args:
        edits: the files of one release before and after the edit.
        others: the same files (path -> pristine bytes) of further releases that the hunks should hold for.

    Returns:
        the hunks; what could not be expressed is in `DraftFile.left`.
    """
    raise NotImplementedError

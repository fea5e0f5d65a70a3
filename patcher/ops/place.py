"""Where a verb works."""

from __future__ import annotations

import os
from typing import NamedTuple, Optional, Tuple

from patcher.patchset.places import AnyPath
from patcher.target.interpreter import Environment, discover, image_root
from patcher.text.listed import Texts, one_or_more


class _Place(NamedTuple):
    python: Optional[str]
    target: Optional[str]
    patch_dirs: Tuple[str, ...]
    system: bool


class Place(_Place):
    """Which environment is meant, and further directories of patchsets, which are searched first.

    `python` is an interpreter or a virtual environment, `target` a directory of packages (as of `pip install --target`) or
    the root directory of an unpacked image; without both it is the active virtual environment, else that of the running
    interpreter. With `system` also what a virtual environment shares with others is meant. Paths may be texts or `Path`s.
    """

    __slots__ = ()

    def __new__(
        cls, python: Optional[AnyPath] = None, target: Optional[AnyPath] = None, patch_dirs: Texts = (), system: bool = False
    ) -> Place:
        """The place, its paths as texts."""
        first, second = (None if path is None else os.fspath(path) for path in (python, target))
        return super().__new__(cls, first, second, one_or_more(patch_dirs), system)

    def environment(self) -> Environment:
        """The environment that is meant (see `patcher.target.interpreter.discover`); with `system` all of it is its own.

        Raises:
            UsageError: there is no such directory, or it is no interpreter that answers, or no image with one Python.
        """
        found = None
        if self.target and image_root(self.target):
            from patcher.target.rootfs import image

            found = image(self.target)
        env = discover(self.python, found.sites[0] if found else self.target)
        if found:
            env = env._replace(sites=found.sites, search=found.sites, version=found.version or env.version, root=found.root)
        return env._replace(outer=()) if self.system else env

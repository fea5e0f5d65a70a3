"""Where a verb works."""

from __future__ import annotations

from typing import NamedTuple, Optional, Tuple

from patcher.target.interpreter import Environment, discover


class Place(NamedTuple):
    """Which environment is meant, and further directories of patchsets, which are searched first.

    `python` is an interpreter or a virtual environment, `target` a directory of packages (as of `pip install --target`) or
    the root directory of an unpacked image; without both it is the active virtual environment, else that of the running
    interpreter. With `system` also what a virtual environment shares with others is meant.
    """

    python: Optional[str] = None
    target: Optional[str] = None
    patch_dirs: Tuple[str, ...] = ()
    system: bool = False

    def environment(self) -> Environment:
        """The environment that is meant (see `patcher.target.interpreter.discover`); with `system` all of it is its own.

        Raises:
            UsageError: there is no such directory, or it is no interpreter that answers, or no image with one Python.
        """
        found = None
        if self.target:
            from patcher.target.rootfs import image

            found = image(self.target)
        env = discover(self.python, found.sites[0] if found else self.target)
        if found:
            env = env._replace(sites=found.sites, search=found.sites, version=found.version or env.version, root=found.root)
        return env._replace(outer=()) if self.system else env

"""What the checks of `doctor` look at: patchsets, their packages and files, what is applied.

Each thing is read once, when a check first asks for it.
"""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import Sequence

from patcher.errors import AbsentError, SitepatchError, StoreError
from patcher.facts import FileStatus
from patcher.installed.accelerators import Accelerator, installed_accelerators
from patcher.installed.environment import find_file, locate
from patcher.installed.interpreter import Environment
from patcher.model import Located
from patcher.patchset.catalogue import Catalogue
from patcher.store.folder import HOME
from patcher.store.status import statuses

_MODULES = (".py", ".so", ".pyd")


class Examination:
    """An environment: the target files of the patchsets at hand, and what is applied.

    Args:
        env: the environment.
        patch_dirs: the values of `--patch-dir`.

    Raises:
        UsageError: one of `patch_dirs` is no directory.
    """

    def __init__(self, env: Environment, patch_dirs: Sequence[str]) -> None:
        self.env = env
        self.patch_dirs = tuple(patch_dirs)
        self.catalogue = Catalogue(self.patch_dirs)
        loaded, self.broken = self.catalogue.load()
        self.patchsets = [item.patchset for item in loaded]

    @cached_property
    def places(self) -> tuple[str, ...]:
        """Every directory that a package may have been patched in."""
        return tuple(dict.fromkeys([*self.env.sites, *self.env.search]))

    @cached_property
    def accelerators(self) -> list[Accelerator]:
        """The accelerators whose packages are installed."""
        return installed_accelerators(self.env)

    # what is applied ------------------------------------------------------------------------------
    @cached_property
    def homes(self) -> tuple[str, ...]:
        """The site directories that have a store."""
        return tuple(place for place in self.places if (Path(place) / HOME).is_dir())

    @cached_property
    def _receipts(self) -> tuple[list[FileStatus], list[StoreError]]:
        damaged: list[StoreError] = []
        env = self.env._replace(sites=self.homes, search=(), outer=())
        return statuses(env, damaged), damaged

    @property
    def statuses(self) -> list[FileStatus]:
        """The files that stand patched, as far as their receipts can be read."""
        return self._receipts[0]

    @property
    def damaged(self) -> list[StoreError]:
        """The receipts that are invalid."""
        return self._receipts[1]

    # packages -------------------------------------------------------------------------------------
    @cached_property
    def packages(self) -> list[tuple[str, list[str]]]:
        """The import packages of each patchset at hand and of what is applied.

        With target files, all of one distribution of the package.
        """
        paths: dict[tuple[str, ...], dict[str, None]] = {}
        for patchset in self.patchsets:
            for variant in patchset.variants:
                of_patchset = paths.setdefault((variant.package, patchset.name), {})
                for patch in variant.patches:
                    of_patchset.update(dict.fromkeys(patch.places))
        for item in self.statuses:
            receipt = item.receipt
            of_applied = paths.setdefault(
                (receipt.release.package, "", receipt.release.distribution), {}
            )
            of_applied[receipt.path] = None
        return [(package, list(of_package)) for (package, *_), of_package in paths.items()]

    @cached_property
    def ghosts(self) -> dict[str, str]:
        """Packages of which a directory without any module is left, and that directory."""
        ghosts: dict[str, str] = {}
        for package in dict(self.packages):
            folders = [Path(place, package) for place in self.places]
            folders = [folder for folder in folders if folder.is_dir()]
            if folders and not any(map(_has_modules, folders)):
                ghosts[package] = str(folders[0])
        return ghosts

    @cached_property
    def _located(self) -> tuple[dict[Located, list[str]], dict[str, SitepatchError]]:
        """The installed packages, with the target files there; why others cannot be patched."""
        located: dict[Located, list[str]] = {}
        errors: dict[str, SitepatchError] = {}
        for package, paths in self.packages:
            if package in self.ghosts:
                continue
            try:
                home = locate(self.env, package, paths)
                located.setdefault(home, []).extend(find_file(home, paths))
            except AbsentError:
                continue
            except SitepatchError as error:
                errors.setdefault(package, error)
        return located, errors

    @property
    def located(self) -> list[Located]:
        """The packages that are installed here."""
        return list(self._located[0])

    @property
    def unpatchable(self) -> list[SitepatchError]:
        """Why packages that are here in some way cannot be patched."""
        return list(self._located[1].values())

    def installed(self, package: str) -> Located | None:
        """A package, None where it is not installed."""
        for located in self.located:
            if located.package == package:
                return located
        return None

    # files ----------------------------------------------------------------------------------------
    @cached_property
    def targets(self) -> list[tuple[Located, str, Path]]:
        """The target files: of each the package, the path in the site directory, where it lies."""
        targets = []
        for located, paths in self._located[0].items():
            for path in dict.fromkeys(paths):
                targets.append((located, path, Path(located.site, path)))
        return targets

    @cached_property
    def sites(self) -> dict[str, list[str]]:
        """The site directories that would be written into, with the target files in each."""
        paths_of: dict[str, dict[str, None]] = {site: {} for site in self.homes}
        for located, path, _ in self.targets:
            paths_of.setdefault(located.site, {})[path] = None
        for item in self.statuses:
            if (Path(item.site) / item.receipt.path).is_file():
                paths_of[item.site][item.receipt.path] = None
        if not paths_of:
            paths_of = {site: {} for site in self.env.sites[:1]}
        return {site: list(paths) for site, paths in paths_of.items()}


def _has_modules(folder: Path) -> bool:
    """Whether there is any module below a directory."""
    all_names: list[str] = []
    for _, _, names in os.walk(folder):
        all_names += names
    return any(name.endswith(_MODULES) for name in all_names)

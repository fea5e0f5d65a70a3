"""What `doctor` examines and what it reports; every check runs, whatever the others do."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import Callable, Dict, Iterable, Iterator, List, NamedTuple, Sequence, Tuple

from patcher.errors import AbsentError, SitepatchError, StoreError
from patcher.facts import FileStatus
from patcher.installed.environment import find_file, locate
from patcher.installed.interpreter import Environment
from patcher.message import Message
from patcher.model import Located, Progress
from patcher.patchset.sources import find_patchsets
from patcher.store.folder import HOME
from patcher.store.status import statuses

OK, NOTE, PROBLEM = "ok", "note", "problem"
Found = Iterator[Tuple[str, str, str]]
"""What a check finds: (severity, what, hint) for each thing."""


class Finding(NamedTuple):
    """One thing that was found: how bad it is (OK, NOTE, PROBLEM), by which check, what, and what to do ("" for nothing)."""

    severity: str
    check: str
    what: str
    hint: str = ""


class DoctorOutcome(NamedTuple):
    """What was found in an environment, in the order of the checks."""

    env: Environment
    findings: Tuple[Finding, ...]

    @property
    def problems(self) -> int:
        """How many of the findings are problems."""
        return sum(finding.severity == PROBLEM for finding in self.findings)


class Check(NamedTuple):
    """A check: its name, the text where nothing is found, and what finds: (severity, what, hint) for each thing."""

    name: str
    fine: str
    look: Callable[[Examination], Iterable[Tuple[str, str, str]]]


class PatchableFile(NamedTuple):
    """A file that a patchset at hand would change."""

    located: Located
    path: str

    @property
    def file(self) -> Path:
        """Where it lies."""
        return Path(self.located.site) / self.path


def examine(case: Examination, checks: Sequence[Check], progress: Progress = lambda done, total, work: None) -> List[Finding]:
    """Run every check; one that cannot run is a finding itself."""
    findings: List[Finding] = []
    for number, check in enumerate(checks, 1):
        of_check: List[Finding] = []
        try:
            for severity, message, hint in check.look(case):  # one by one: what was found before it failed is kept
                of_check.append(Finding(severity, check.name, message, hint))
        except SitepatchError as error:
            template = "this could not be looked at: {message}"
            of_check.append(Finding(PROBLEM, check.name, Message(template, message=error.message), error.hint))
        except Exception as error:  # whatever it is, it is reported, and the other checks are run
            problem = "this could not be looked at: {name}: {error}"
            of_check.append(Finding(PROBLEM, check.name, Message(problem, name=type(error).__name__, error=error)))
        findings += list(dict.fromkeys(of_check)) or [Finding(OK, check.name, check.fine)]
        progress(number, len(checks), Message("checks done"))
    return findings


class Examination:
    """An environment and what of it is looked at: the target files of the patchsets at hand, and what is applied.

    Args:
        env: the environment.
        patch_dirs: the values of `--patch-dir`.

    Raises:
        UsageError: one of `patch_dirs` is no directory.
    """

    def __init__(self, env: Environment, patch_dirs: Sequence[str]) -> None:
        self.env = env
        self.patch_dirs = tuple(patch_dirs)
        sources, broken = find_patchsets(self.patch_dirs, Path.cwd())
        self.patchsets, self.broken = [source.patchset for source in sources], broken

    @cached_property
    def places(self) -> Tuple[str, ...]:
        """Every directory that a package may have been patched in."""
        return tuple(dict.fromkeys([*self.env.sites, *self.env.search]))

    @cached_property
    def homes(self) -> Tuple[str, ...]:
        """The site directories that have a store."""
        return tuple(place for place in self.places if (Path(place) / HOME).is_dir())

    @cached_property
    def packages(self) -> Tuple[Tuple[str, Tuple[str, ...]], ...]:
        """The import packages of each patchset at hand and of what is applied, with target files of one distribution of it."""
        paths: Dict[Tuple[str, ...], List[str]] = {}
        for patchset in self.patchsets:
            for variant in patchset.variants:
                of = paths.setdefault((variant.package, patchset.name), [])
                of += [path for patch in variant.patches for path in patch.paths]
        for item in self.statuses:
            paths.setdefault((item.receipt.package, "", item.receipt.distribution), []).append(item.receipt.path)
        return tuple((package, tuple(dict.fromkeys(of_package))) for (package, *_), of_package in paths.items())

    @cached_property
    def ghosts(self) -> Dict[str, str]:
        """Packages of which a directory without any module is left, and that directory."""
        folder_of = {}
        for package in dict(self.packages):
            folders_ = [Path(place) / package for place in self.places if (Path(place) / package).is_dir()]
            if folders_ and not any(_has_code(folder) for folder in folders_):
                folder_of[package] = str(folders_[0])
        return folder_of

    @cached_property
    def _located(self) -> Tuple[Dict[Located, List[str]], Dict[str, SitepatchError]]:
        good: Dict[Located, List[str]] = {}
        bad: Dict[str, SitepatchError] = {}
        for package, paths in self.packages:
            try:
                if package not in self.ghosts:
                    located = locate(self.env, package, paths)
                    good.setdefault(located, []).extend(find_file(located, paths))
            except AbsentError:
                pass
            except SitepatchError as error:
                bad.setdefault(package, error)
        return good, bad

    @property
    def located(self) -> List[Located]:
        """The packages that are installed here."""
        return list(self._located[0])

    @property
    def unpatchable(self) -> List[SitepatchError]:
        """Why packages that are here in some way cannot be patched."""
        return list(self._located[1].values())

    @cached_property
    def targets(self) -> List[PatchableFile]:
        """The target files that are there."""
        return [PatchableFile(located, path) for located, paths in self._located[0].items() for path in dict.fromkeys(paths)]

    @cached_property
    def sites(self) -> Dict[str, List[str]]:
        """The site directories that would be written into, with the target files in each."""
        paths_of: Dict[str, List[str]] = {site: [] for site in self.homes}
        for target in self.targets:
            paths_of.setdefault(target.located.site, []).append(target.path)
        for item in self.statuses:
            if (Path(item.site) / item.receipt.path).is_file():
                paths_of[item.site].append(item.receipt.path)
        paths_of = paths_of or {site: [] for site in self.env.sites[:1]}
        return {site: list(dict.fromkeys(paths)) for site, paths in paths_of.items()}

    @cached_property
    def _read(self) -> Tuple[List[FileStatus], List[StoreError]]:
        bad: List[StoreError] = []
        return statuses(self.env._replace(sites=self.homes, search=(), outer=()), bad), bad

    @property
    def damaged(self) -> List[StoreError]:
        """The receipts that are invalid."""
        return self._read[1]

    @property
    def statuses(self) -> List[FileStatus]:
        """The files that stand patched, as far as their receipts can be read."""
        return self._read[0]


def _has_code(folder: Path) -> bool:
    return any(name.endswith((".py", ".so", ".pyd")) for _, _, names in os.walk(folder) for name in names)

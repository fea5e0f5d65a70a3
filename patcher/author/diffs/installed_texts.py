"""The installed Python files that a diff may be for, and their texts as earlier diffs make them.

Reads only.
"""

from __future__ import annotations

from pathlib import Path
from typing import Mapping, Sequence

from patcher.errors import AbsentError, SitepatchError
from patcher.installed.environment import locate
from patcher.installed.interpreter import Environment
from patcher.installed.record import recorded_sources
from patcher.model import Located, Receipt
from patcher.record import Record
from patcher.store.status import read_installed
from patcher.store.store import Store


class FileCandidate(Record):
    """An installed file that a section of a diff may be for.

    Attributes:
        path: the file.
        located: its package.
        common: how many parts at the end of its path are as in the diff.
        whole: whether those are all of either path.
    """

    path: str
    located: Located
    common: int = 0
    whole: bool = True


class InstalledTexts:
    """The Python files of an environment.

    Attributes:
        env: the environment.
        patched: the package and the text of each file that was changed, by path; the text is None
            for one that was deleted.
    """

    def __init__(self, env: Environment) -> None:
        self.env = env
        self.patched: dict[str, tuple[Located, bytes | None]] = {}
        self._names: dict[str, dict[str, list[str]]] = {}
        self._receipts: dict[str, dict[str, Receipt]] = {}
        self._packages: dict[str, Located | SitepatchError | None] = {}

    def text(self, file: FileCandidate) -> bytes:
        """The text that hunks are for: after earlier sections, else pristine, else as installed."""
        if file.path in self.patched:
            return self.patched[file.path][1] or b""
        site = file.located.site
        receipt = self.receipt(site, file.path)
        if receipt:
            return Store(site).pristine(receipt.pristine.sha256)
        return read_installed(site, file.path) or b""

    def receipt(self, site: str, path: str) -> Receipt | None:
        """The receipt for a file, None for none."""
        if site not in self._receipts:
            self._receipts[site] = Store(site).receipts()
        return self._receipts[site].get(path)

    def is_there(self, site: str, path: str) -> bool:
        """Whether a file is installed, or an earlier section adds it, and none deletes it."""
        if path in self.patched:
            located, text = self.patched[path]
            return located.site == site and text is not None
        if Path(site, path).is_file():
            return True
        receipt = self.receipt(site, path)
        return receipt is not None and receipt.deletes

    def candidates(self, parts: Sequence[str]) -> list[FileCandidate]:
        """The installed files that may be the one with this path in a repository."""
        found: dict[str, FileCandidate] = {}
        ends = ["/".join(parts[at:]) for at in range(len(parts))]
        for site in self.env.sites:
            direct = [path for path in ends if self.is_there(site, path)]
            named = self._recorded(site).get(parts[-1], [])
            for path in dict.fromkeys([*direct, *named]):
                located = self.package(path)
                if not isinstance(located, Located) or located.site != site:
                    continue
                if path in found or not self.is_there(site, path):
                    continue
                installed = path.split("/")
                common = _common_end(installed, parts)
                whole = common in (len(installed), len(parts))
                found[path] = FileCandidate(path, located, common=common, whole=whole)
        return list(found.values())

    def of_package(self, located: Located) -> list[FileCandidate]:
        """The Python files of a package that are there."""
        files: list[FileCandidate] = []
        for paths in self._recorded(located.site).values():
            for path in paths:
                inside = path.startswith(f"{located.package}/")
                if inside and self.is_there(located.site, path):
                    files.append(FileCandidate(path, located))
        return files

    def _recorded(self, site: str) -> Mapping[str, list[str]]:
        """The Python files that the RECORD files of a site directory list.

        They are by their name without the folders.
        """
        if site not in self._names:
            names: dict[str, list[str]] = {}
            for info in sorted(Path(site).glob("*.dist-info")):
                for row in recorded_sources(info):
                    if not row.path.startswith(("/", "../")):
                        names.setdefault(row.path.rpartition("/")[2], []).append(row.path)
            self._names[site] = names
        return self._names[site]

    def package(self, path: str) -> Located | SitepatchError | None:
        """Where the package of a file is installed, or why it cannot be patched."""
        name = path.split("/")[0]
        package = name[: -len(".py")] if name.endswith(".py") else name
        found = self._located(package, package, files=())
        if is_refused(found):  # only of a namespace package the file matters
            found = self._located(path, package, files=(path,))
        return found

    def _located(
        self, key: str, package: str, files: Sequence[str]
    ) -> Located | SitepatchError | None:
        """Where a package is installed; what is found is kept under the key."""
        if key not in self._packages:
            found: Located | SitepatchError | None = None
            try:
                if package.isidentifier():
                    found = locate(self.env, package, files=files)
            except SitepatchError as error:
                found = error
            self._packages[key] = found
        return self._packages[key]


def is_refused(found: Located | SitepatchError | None) -> bool:
    """Whether a package is installed, and cannot be patched: it is editable, say."""
    return isinstance(found, SitepatchError) and not isinstance(found, AbsentError)


def _common_end(one: Sequence[str], other: Sequence[str]) -> int:
    """How many parts two paths have in common at their end."""
    common = 0
    for part, other_part in zip(reversed(one), reversed(other)):
        if part != other_part:
            break
        common += 1
    return common

"""Which installed file a section of a diff is for: the one with the longest common suffix to which it applies. Reads only."""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path
from typing import Mapping, NamedTuple, Sequence

from patcher.author.diffs.apply import DiffResult, apply_hunks
from patcher.author.diffs.unified import Section, UnifiedHunk
from patcher.errors import AbsentError, SitepatchError
from patcher.installed.environment import blocker, locate
from patcher.installed.interpreter import Environment
from patcher.installed.record import recorded_sources
from patcher.message import Message
from patcher.model import Located, Receipt
from patcher.planner.survey import read_target
from patcher.store.status import read_installed
from patcher.store.store import Store
from patcher.text.listed import listed

_FEWEST = 3  # old lines, not blank, without which a file is not taken by its name alone
_BESIDE = (
    "test",
    "tests",
    "doc",
    "docs",
    "example",
    "examples",
    "script",
    "scripts",
    "tools",
    "benchmarks",
    "setup.py",
)
_TEST = re.compile(r"test_.*\.py|.*_test\.py|conftest\.py")
_UNREAD = (".pyi", ".md", ".rst")
_ABOVE = ("a", "b", "src", "lib", "python")
_WHOLE = Message("write its whole path into the diff")
NOT_INSTALLED = Message("no installed file")


class FileMatch(NamedTuple):
    """The installed file `path` that a section is for, its pristine text and what the hunks make of it.

    Else `left_out` says why it is no change of an installed Python file, with `shipped` whether the package has the file, or
    the folder of one that comes; or `problem` and `hint` say why it cannot be applied. With `adds` the file is a new one.
    `candidate` is the one other file of the package to which the hunks apply where the one that is named is not there.
    """

    section: Section
    path: str = ""
    located: Located | None = None
    before: bytes = b""
    after: bytes = b""
    notes: tuple[str, ...] = ()
    left_out: str = ""
    shipped: bool = False
    problem: str = ""
    hint: str = ""
    adds: bool = False
    candidate: str = ""


class _Candidate(NamedTuple):
    """An installed file; the last `common` parts of its path are as in the diff, all of either path if `whole`."""

    path: str
    located: Located
    common: int
    whole: bool


class InstalledSources:
    """The Python files of an environment; a section that was found a file is applied to it for the sections that follow.

    `moved` has other paths for those that diffs name.
    """

    def __init__(self, env: Environment, fuzz: int = 0, moved: Mapping[str, str] = {}) -> None:
        self.env, self.fuzz, self.moved = env, fuzz, moved
        self.patched: dict[str, tuple[Located, bytes]] = {}
        self._levels: set[int] = set()
        self._names: dict[str, dict[str, list[str]]] = {}
        self._receipts: dict[str, dict[str, Receipt]] = {}
        self._packages: dict[str, Located | SitepatchError | None] = {}

    def find_all(self, sections: Sequence[Section]) -> list[FileMatch]:
        """The installed file of each section of a patch, with its hunks applied.

        Raises:
            StoreError: a receipt is invalid.
        """
        self._levels = set()
        if any(section.new is not None for section in sections):
            for section in sections:
                self._levels |= self._levels_of(section)
        return [self._find(section) for section in sections]

    def _levels_of(self, section: Section) -> set[int]:
        """How many leading parts of its path a section has above an installed file to which it applies (`patch -p`)."""
        if section.new is not None or not section.hunks:
            return set()
        parts = self._parts(section)
        levels = set()
        for each in self._candidates(parts):
            level = len(parts) - len(each.path.split("/"))
            if each.common == len(parts) - level and not self._result(each, section.hunks).problems:
                levels.add(level)
        return levels

    def _parts(self, section: Section) -> list[str]:
        """The parts of the path that a section names, or that is given in its place."""
        path = self.moved.get(section.path, section.path)
        return [part for part in path.replace("\\", "/").split("/") if part not in ("", ".", "..")]

    def _find(self, section: Section) -> FileMatch:
        parts = self._parts(section)
        added = self._added(section, parts)
        if added:
            return added
        found = (
            self._candidates(parts)
            if section.hunks and not section.path.endswith(_UNREAD[1:])
            else []
        )
        if (
            not section.path.endswith(".py") and not any(each.whole for each in found)
        ) or not section.hunks:
            shipped = bool(section.hunks or not section.bare) and self._is_shipped(section, parts)
            return FileMatch(
                section, left_out=section.refused or Message("no Python file"), shipped=shipped
            )
        for common in sorted({each.common for each in found}, reverse=True):
            fits = []
            for each in (each for each in found if each.common == common):
                made = self._result(each, section.hunks)
                sure = each.whole and (common > 1 or "/" not in each.path)
                if not made.problems and (sure or _is_distinctive(section.hunks)):
                    fits.append(each)
            # `requests/a.py`, not pip's copy
            whole = [each for each in fits if each.common == each.path.count("/") + 1]
            fits = whole or fits
            if len(fits) > 1:  # some of them perhaps with fuzz
                fits = [
                    each
                    for each in fits
                    if not apply_hunks(self._text(each), section.hunks).problems
                ] or fits
            if len(fits) > 1:
                names = listed(sorted(match.path for match in fits))
                return FileMatch(
                    section,
                    problem=Message("it applies to several installed files: {names}", names=names),
                    hint=_WHOLE,
                )
            if fits:
                return self._apply(fits[0], section)
        return self._missing(section, parts, [each for each in found if each.whole])

    def text(self, path: str) -> tuple[Located, bytes] | None:
        """The package of a file, and its text for the sections that follow; None where it is not installed."""
        located = self._package(path)
        if not isinstance(located, Located) or not (Path(located.site) / path).is_file():
            return None
        return located, self._text(_Candidate(path, located, 0, whole=True))

    def _added(self, section: Section, parts: Sequence[str]) -> FileMatch | None:
        """The answer for a file that comes with a package that is installed; None for any other section.

        Its path begins where those of the patch's other files do, if that is known.
        """
        if section.new is None or _is_beside(parts) or _TEST.fullmatch(parts[-1]):
            return None
        homes = [
            ("/".join(parts[at:]), self._package("/".join(parts[at:])))
            for at in range(len(parts) - 1)
            if not self._levels or at in self._levels
        ]
        packages = [(path, located) for path, located in homes if isinstance(located, Located)]
        # else the commit makes its folder
        packages.sort(key=lambda home: not Path(home[1].site, home[0]).parent.is_dir())
        for path, located in packages[:1]:
            match = FileMatch(section, path, located, after=section.new, adds=True)
            if path in self.patched or Path(located.site, path).exists():
                return match._replace(problem=Message("a file of that name is there already"))
            self.patched[path] = located, section.new
            return match
        return None

    def _is_shipped(self, section: Section, parts: Sequence[str]) -> bool:
        """Whether the package has the file of a section, or has the folder of one that comes or is in another release.

        What no program reads, such as a stub, is not looked for.
        """
        if _is_beside(parts) or section.path.endswith(_UNREAD):
            return False
        comes = (section.path.endswith(".py") or bool(section.refused)) and not _TEST.fullmatch(
            parts[-1]
        )
        begins = [at for at in range(len(parts)) if not self._levels or at in self._levels]
        for path in ("/".join(parts[at:]) for at in begins):
            located = self._package(path)
            file = Path(located.site, path) if isinstance(located, Located) else None
            if file and (file.is_file() or (comes and "/" in path and file.parent.is_dir())):
                return True
        return False

    def _candidates(self, parts: Sequence[str]) -> list[_Candidate]:
        found: dict[str, _Candidate] = {}
        direct = ["/".join(parts[at:]) for at in range(len(parts))]
        for site in self.env.sites:
            found_here = [each for each in direct if self._is_there(site, each)]
            for path in dict.fromkeys([*found_here, *self._sources(site).get(parts[-1], [])]):
                located = self._package(path)
                if (
                    isinstance(located, Located)
                    and located.site == site
                    and self._is_there(site, path)
                ):
                    theirs = path.split("/")
                    pairs = zip(reversed(theirs), reversed(parts))
                    common = next(
                        (at for at, (one, other) in enumerate(pairs) if one != other),
                        min(len(theirs), len(parts)),
                    )
                    found.setdefault(
                        path, _Candidate(path, located, common, common in (len(theirs), len(parts)))
                    )
        return list(found.values())

    def _is_there(self, site: str, path: str) -> bool:
        """Whether a file is installed, or an earlier section adds it."""
        return Path(site, path).is_file() or (
            path in self.patched and self.patched[path][0].site == site
        )

    def _sources(self, site: str) -> Mapping[str, list[str]]:
        """The Python files that the RECORD files of a site directory list, by their name without the folders."""
        if site not in self._names:
            names = self._names[site] = {}
            rows = (
                row
                for info in sorted(Path(site).glob("*.dist-info"))
                for row in recorded_sources(info)
            )
            for row in (each for each in rows if not each.path.startswith(("/", "../"))):
                names.setdefault(row.path.rpartition("/")[2], []).append(row.path)
        return self._names[site]

    def _package(self, path: str) -> Located | SitepatchError | None:
        """Where the package of a file is installed, or why it cannot be patched."""
        name = path.split("/")[0]
        package = name[: -len(".py")] if name.endswith(".py") else name
        # only of a namespace package the file matters
        for key, files in (
            (package, ()),
            (path, (path,)),
        ):
            if key not in self._packages:
                try:
                    self._packages[key] = (
                        locate(self.env, package, files) if package.isidentifier() else None
                    )
                except SitepatchError as error:
                    self._packages[key] = error
            if not isinstance(self._packages[key], SitepatchError) or isinstance(
                self._packages[key], AbsentError
            ):
                break
        return self._packages[key]

    def _refused(self, package: str) -> SitepatchError | None:
        """Why an installed package cannot be patched: it is editable, say, or in an archive; None where it can."""
        found = self._package(package)
        return (
            found
            if isinstance(found, SitepatchError) and not isinstance(found, AbsentError)
            else None
        )

    def _receipt(self, site: str, path: str) -> Receipt | None:
        if site not in self._receipts:
            self._receipts[site] = Store(site).receipts()
        return self._receipts[site].get(path)

    def _text(self, one: _Candidate) -> bytes:
        """The text that the hunks are for: after earlier sections, else pristine, else as installed."""
        if one.path in self.patched:
            return self.patched[one.path][1]
        receipt = self._receipt(one.located.site, one.path)
        if receipt:
            return Store(one.located.site).pristine(receipt.pristine.sha256)
        return read_installed(one.located.site, one.path) or b""

    def _result(self, one: _Candidate, hunks: Sequence[UnifiedHunk]) -> DiffResult:
        return apply_hunks(self._text(one), hunks, self.fuzz)

    def _apply(self, one: _Candidate, section: Section) -> FileMatch:
        """Apply a section to its file, unless that was edited by hand, or another file is imported in its place."""
        located, before, made = one.located, self._text(one), self._result(one, section.hunks)
        match = FileMatch(section, one.path, located, before, made.after, made.notes)
        found = (
            None
            if one.path in self.patched
            else read_target(located, one.path, self._receipt(located.site, one.path))
        )
        if found and found.problem:
            return match._replace(problem=found.problem.message, hint=found.problem.hint)
        problem = blocker(located, one.path, self.env) or _encoding_problem(
            before, made.after, section.hunks
        )
        if problem:
            return match._replace(problem=problem)
        self.patched[one.path] = located, made.after
        return match._replace(notes=(*made.notes, *(found.notes if found else ())))

    def _other(self, section: Section, parts: Sequence[str]) -> str:
        """The only file of the package of a file that is not installed to which a section applies, "" for none."""
        homes = (self._package("/".join(parts[at:])) for at in range(len(parts) - 1))
        located = next((home for home in homes if isinstance(home, Located)), None)
        if (
            located is None
            or not section.path.endswith(".py")
            or not _is_distinctive(section.hunks)
        ):
            return ""
        paths = (path for paths in self._sources(located.site).values() for path in paths)
        inside = (
            path
            for path in paths
            if path.startswith(f"{located.package}/") and self._is_there(located.site, path)
        )
        files = (_Candidate(path, located, 0, whole=True) for path in inside)
        found = [
            file.path for file in files if not apply_hunks(self._text(file), section.hunks).problems
        ]
        return found[0] if len(found) == 1 else ""

    def _missing(
        self, section: Section, parts: Sequence[str], found: Sequence[_Candidate]
    ) -> FileMatch:
        """The answer where a section applies to none of the files that it may be for."""
        if not found or _is_beside(parts):
            if not _is_beside(parts):
                error = self._refused(_first(parts))
                if error:
                    return FileMatch(section, problem=error.message, hint=error.hint)
                path = self._other(section, parts)
                if path:
                    problem = Message(
                        "it is not installed; of its package {path} alone has the lines", path=path
                    )
                    hint = Message(
                        "if that is the file, write its path into the diff: {path}", path=path
                    )
                    return FileMatch(section, problem=problem, hint=hint, candidate=path)
            return FileMatch(
                section, left_out=NOT_INSTALLED, shipped=self._is_shipped(section, parts)
            )
        most = max(each.common for each in found)
        nearest = [each for each in found if each.common == most]
        if len(nearest) > 1:
            names = listed(sorted(match.path for match in nearest), "nor")
            return FileMatch(
                section, problem=Message("it applies neither to {names}", names=names), hint=_WHOLE
            )
        (one,) = nearest
        before, made = self._text(one), self._result(one, section.hunks)
        encoding = _encoding_problem(before, before, section.hunks)
        if made.done:
            what = Message(
                "the file has all of its changes already: the diff is applied, or reversed"
            )
            hint = Message("one made by hand becomes a patchset with: sitepatch capture")
            return FileMatch(section, one.path, one.located, before, problem=what, hint=hint)
        return FileMatch(
            section,
            one.path,
            one.located,
            before,
            problem="\n".join(filter(None, (encoding, *made.problems))),
        )


def _first(parts: Sequence[str]) -> str:
    """The first part of a path in a repository that may be a package."""
    return next((part for part in parts if part not in _ABOVE), "")


def _is_beside(parts: Sequence[str]) -> bool:
    """Whether a path in a repository is beside the packages, like `test/unit/test_m.py`."""
    return _first(parts) in _BESIDE


def _is_distinctive(hunks: Sequence[UnifiedHunk]) -> bool:
    """Whether hunks have enough old lines to identify a file."""
    return sum(bool(line.strip()) for hunk in hunks for line in hunk.side("-")) >= _FEWEST


def _encoding_problem(before: bytes, after: bytes, hunks: Sequence[UnifiedHunk]) -> str:
    """How the encoding of a diff conflicts with that of the file, "" where it does not."""
    try:
        encoding, changed = _encoding(before), _encoding(after)
    except SyntaxError as error:
        return Message("the encoding that the file declares cannot be read: {error}", error=error)
    if changed != encoding:
        return Message(
            "it changes the encoding that the file declares, from {encoding} to {changed}",
            encoding=encoding,
            changed=changed,
        )
    for hunk in hunks:
        for at, (_, line) in enumerate(hunk.lines):
            try:
                line.decode(encoding)
            except ValueError:
                differ = "conflicting encodings: line {line} of the diff is not {encoding}, as the file is: convert the diff"
                return Message(differ, line=hunk.line + 1 + at, encoding=encoding)
    return ""


def _encoding(data: bytes) -> str:
    return tokenize.detect_encoding(io.BytesIO(data).readline)[0]

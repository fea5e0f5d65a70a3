"""Which installed file a section of a diff is for.

That is the one with the longest common suffix to which it applies. Reads only.
"""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path
from typing import Iterator, Mapping, Sequence

from patcher.author.diffs.apply import DiffResult, apply_hunks
from patcher.author.diffs.installed_texts import FileCandidate, InstalledTexts, is_refused
from patcher.author.diffs.unified import Section, UnifiedHunk
from patcher.errors import SitepatchError
from patcher.installed.environment import blocker
from patcher.installed.interpreter import Environment
from patcher.installed.record import recorded_hash
from patcher.message import Message, joined
from patcher.model import Located
from patcher.planner.targets import read_target
from patcher.record import Record, reported
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
_STUB, _PROSE = ".pyi", (".md", ".rst")
_ABOVE = ("a", "b", "src", "lib", "python")
_WHOLE = Message("write its whole path into the diff")
NOT_INSTALLED = Message("no installed file")


class FileChange(Record):
    """What a section makes of an installed file.

    Attributes:
        path: the file.
        located: its package.
        before: its pristine text.
        after: what the hunks make of it.
        notes: what is to be said of it.
        adds: whether the file is a new one.
        deletes: whether it goes.
    """

    path: str
    located: Located
    before: bytes = b""
    after: bytes = b""
    notes: tuple[str, ...] = ()
    adds: bool = False
    deletes: bool = False


@reported("named path problem hint")
class FileMatch(Record):
    """The installed file that a section is for.

    Attributes:
        section: the section.
        change: what becomes of the file, None where none was found.
        left_out: why it is no change of an installed Python file.
        shipped: whether the package has that file, or the folder of one that comes.
        problem: why the section cannot be applied.
        hint: what to do about that.
        candidate: the one other file of the package to which the hunks apply where the one that is
            named is not there.
    """

    section: Section
    change: FileChange | None = None
    left_out: str = ""
    shipped: bool = False
    problem: str = ""
    hint: str = ""
    candidate: str = ""

    @property
    def path(self) -> str:
        """The installed file, "" for none."""
        return self.change.path if self.change else ""

    @property
    def named(self) -> str:
        """The path that the diff names."""
        return self.section.path

    @property
    def located(self) -> Located | None:
        """Its package."""
        return self.change.located if self.change else None

    @property
    def after(self) -> bytes:
        """What the hunks make of it."""
        return self.change.after if self.change else b""

    @property
    def adds(self) -> bool:
        """Whether the file is a new one."""
        return self.change is not None and self.change.adds

    @property
    def deletes(self) -> bool:
        """Whether the file goes."""
        return self.change is not None and self.change.deletes

    @property
    def fits(self) -> bool:
        """Whether the section was applied to a file."""
        return self.change is not None and not self.problem


class InstalledSources:
    """Finds the file of a section, and applies it to that for the sections that follow.

    Args:
        env: the environment.
        fuzz: how many lines of context at either end of a hunk may differ.
        moved: other paths for those that diffs name.
    """

    def __init__(self, env: Environment, fuzz: int = 0, moved: Mapping[str, str] = {}) -> None:
        self.env, self.fuzz, self.moved = env, fuzz, moved
        self.texts = InstalledTexts(env)
        self._levels: set[int] = set()

    def find_all(self, sections: Sequence[Section]) -> list[FileMatch]:
        """The installed file of each section of a patch, with its hunks applied.

        Raises:
            StoreError: a receipt is invalid.
        """
        self._levels = set()
        if any(section.new is not None for section in sections):
            for section in sections:
                self._levels |= self._levels_of(section)
        matches: list[FileMatch] = []
        for section in sections:
            matches += self._renamed(section) if section.origin else [self._find(section)]
        return _one_each(matches)

    def text(self, path: str) -> tuple[Located, bytes] | None:
        """The package of a file, and its text for the sections that follow.

        None where it is not installed.
        """
        located = self.texts.package(path)
        if not isinstance(located, Located) or not (Path(located.site) / path).is_file():
            return None
        return located, self.texts.text(FileCandidate(path, located))

    # the file that is meant ---------------------------------------------------------------------
    def _find(self, section: Section) -> FileMatch:
        section = self._as_installed(section)
        parts = self._parts(section)
        found_whole = self._added(section, parts) or self._deleted(section, parts)
        if found_whole:
            return found_whole

        found: list[FileCandidate] = []
        if section.hunks and not section.gone:
            found = self.texts.candidates(parts)
        if section.path.endswith(_PROSE):
            found = [file for file in found if recorded_hash(file.located, file.path)]
        whole = [file for file in found if file.whole]
        if not found and section.gone:
            return FileMatch(section, left_out=NOT_INSTALLED)
        if not section.hunks or (not section.path.endswith(".py") and not whole):
            is_change = bool(section.hunks) or not section.bare
            shipped = is_change and self._is_shipped(section, parts)
            why = section.refused or Message("no Python file")
            return FileMatch(section, left_out=why, shipped=shipped)

        by_common: dict[int, list[FileCandidate]] = {}
        for file in found:
            by_common.setdefault(file.common, []).append(file)
        for common in sorted(by_common, reverse=True):
            fits = self._fitting(by_common[common], section)
            if len(fits) > 1:
                names = listed(sorted(file.path for file in fits))
                problem = Message("it applies to several installed files: {names}", names=names)
                return FileMatch(section, problem=problem, hint=_WHOLE)
            if fits:
                return self._apply(fits[0], section)
        if section.path.endswith(_PROSE):
            why = Message("documentation that ships with other lines")
            return FileMatch(section, left_out=why)
        return self._missing(section, parts, found=whole)

    def _as_installed(self, section: Section) -> Section:
        """A section with the path that is installed, of the two that it may have.

        Where none is and nothing is deleted, it is a new file.
        """
        if not section.other and not section.may_be_new:
            return section
        is_there = self._is_there(section)
        if section.other and not is_there:
            other = section._replace(path=section.other, other="")
            if self._is_there(other):
                return other.settled(is_there=True)
        return section.settled(is_there=is_there)

    def _is_there(self, section: Section) -> bool:
        """Whether a file is installed that a section names with its whole path."""
        return any(file.whole for file in self.texts.candidates(self._parts(section)))

    def _fitting(self, files: Sequence[FileCandidate], section: Section) -> list[FileCandidate]:
        """Those of some files to which a section applies, the best of them where they differ."""
        is_distinctive = _is_distinctive(section.hunks)
        fits: list[FileCandidate] = []
        for file in files:
            is_sure = file.whole and (file.common > 1 or "/" not in file.path)
            if (is_sure or is_distinctive) and not self._result(file, section.hunks).problems:
                fits.append(file)

        # `requests/a.py`, not pip's copy
        whole = [file for file in fits if file.common == file.path.count("/") + 1]
        fits = whole or fits
        if len(fits) < 2:
            return fits
        exact: list[FileCandidate] = []  # the others need fuzz
        for file in fits:
            if not apply_hunks(self.texts.text(file), section.hunks).problems:
                exact.append(file)
        return exact or fits

    def _parts(self, section: Section) -> list[str]:
        """The parts of the path that a section names, or that is given in its place."""
        path = self.moved.get(section.path, section.path)
        return [part for part in path.replace("\\", "/").split("/") if part not in ("", ".", "..")]

    def _levels_of(self, section: Section) -> set[int]:
        """How many leading parts of its path a section has above an installed file (`patch -p`).

        Only files count to which it applies.
        """
        if section.new is not None or not section.hunks:
            return set()
        parts = self._parts(section)
        levels: set[int] = set()
        for file in self.texts.candidates(parts):
            level = len(parts) - len(file.path.split("/"))
            is_end = file.common == len(parts) - level
            if is_end and not self._result(file, section.hunks).problems:
                levels.add(level)
        return levels

    def _ends(self, parts: Sequence[str]) -> Iterator[str]:
        """The paths in a site directory that a path in a repository may stand for.

        They begin where those of the patch's other files do, if that is known.
        """
        for at in range(len(parts)):
            if not self._levels or at in self._levels:
                yield "/".join(parts[at:])

    # files that come, and files that are not there ----------------------------------------------
    def _added(self, section: Section, parts: Sequence[str]) -> FileMatch | None:
        """The answer for a file that comes with a package that is installed.

        None for any other section.
        """
        if section.new is None or _is_beside(parts):
            return None
        homes: list[tuple[str, Located]] = []
        for path in self._ends(parts):
            located = self.texts.package(path) if "/" in path else None
            if isinstance(located, Located):
                homes.append((path, located))
        if _TEST.fullmatch(parts[-1]):  # only beside tests that the package ships
            homes = [home for home in homes if _has_tests(Path(home[1].site, home[0]).parent)]
        if not homes:
            return None
        # else the commit makes its folder
        homes.sort(key=lambda home: not Path(home[1].site, home[0]).parent.is_dir())

        path, located = homes[0]
        change = FileChange(path, located, after=section.new, adds=True)
        if path in self.texts.patched and not self.texts.is_there(located.site, path):
            problem = Message("an earlier patch deletes the file of that name")
            return FileMatch(section, change, problem=problem)
        if self.texts.is_there(located.site, path) or Path(located.site, path).exists():
            problem = Message("a file of that name is there already")
            return FileMatch(section, change, problem=problem)
        self.texts.patched[path] = located, section.new
        return FileMatch(section, change)

    def _deleted(self, section: Section, parts: Sequence[str]) -> FileMatch | None:
        """The answer for an installed file that goes; None for any other section."""
        if not section.gone:
            return None
        file = self._whole(section, parts)
        if file is None:
            return None
        before = self.texts.text(file)
        result = self._result(file, section.hunks)
        change = FileChange(file.path, file.located, before=before, deletes=True)
        problem = joined("\n", result.problems)
        if not problem and result.after:
            problem = Message("the file has lines that the diff does not delete")
        return self._gone(section, change, problem)

    def _gone(self, section: Section, change: FileChange, problem: str) -> FileMatch:
        """The answer for a file that goes, from which earlier sections must not have come."""
        path, located = change.path, change.located
        if not problem and not Path(located.site, path).is_file():
            receipt = self.texts.receipt(located.site, path)
            if receipt is None or not receipt.deletes:
                problem = Message("an earlier patch adds the file")
        if not problem and path not in self.texts.patched:
            target = read_target(located, path, receipt=self.texts.receipt(located.site, path))
            if target.problem:
                return FileMatch(
                    section, change, problem=target.problem.message, hint=target.problem.hint
                )
        if problem:
            return FileMatch(section, change, problem=problem)
        self.texts.patched[path] = located, None
        return FileMatch(section, change)

    def _whole(self, section: Section, parts: Sequence[str]) -> FileCandidate | None:
        """The one installed file that a section names with its whole path, None for none."""
        whole = [file for file in self.texts.candidates(parts) if file.whole]
        if not whole:
            return None
        most = max(file.common for file in whole)
        files = [file for file in whole if file.common == most]
        fits = [file for file in files if not self._result(file, section.hunks).problems]
        files = fits or files
        return files[0] if len(files) == 1 else None

    def _renamed(self, section: Section) -> list[FileMatch]:
        """The answers for a file that goes, and for the one of its text that comes."""
        old = section._replace(path=section.origin, origin="", gone=True)
        parts = self._parts(old)
        file = self._whole(old, parts)
        if file is None:
            return [self._find(section._replace(hunks=()))]

        before, result = self.texts.text(file), self._result(file, section.hunks)
        change = FileChange(file.path, file.located, before=before, deletes=True)
        gone = self._gone(old, change, joined("\n", result.problems))
        if gone.problem:
            return [gone]
        new_parts = self._parts(section)[len(parts) - len(file.path.split("/")) :]
        path = "/".join(new_parts)
        home = self.texts.package(path) if "/" in path else None
        if not isinstance(home, Located):
            return [gone, self._find(section._replace(hunks=()))]
        added = FileChange(path, home, after=result.after, notes=result.notes, adds=True)
        if self.texts.is_there(home.site, path) or path in self.texts.patched:
            problem = Message("a file of that name is there already")
            return [gone, FileMatch(section, added, problem=problem)]
        self.texts.patched[path] = home, result.after
        return [gone, FileMatch(section, added)]

    def _is_shipped(self, section: Section, parts: Sequence[str]) -> bool:
        """Whether the package has the file of a section, or the folder of one that comes.

        Such a one may be in another release, too. What no program reads, such as a stub, is not
        looked for.
        """
        if _is_beside(parts) or section.path.endswith((_STUB, *_PROSE)):
            return False
        is_source = section.path.endswith(".py") or bool(section.refused)
        may_come = is_source and not _TEST.fullmatch(parts[-1])
        for path in self._ends(parts):
            located = self.texts.package(path)
            if not isinstance(located, Located):
                continue
            file = Path(located.site, path)
            if file.is_file() or (may_come and "/" in path and file.parent.is_dir()):
                return True
        return False

    def _missing(
        self, section: Section, parts: Sequence[str], found: Sequence[FileCandidate]
    ) -> FileMatch:
        """The answer where a section applies to none of the files that it may be for."""
        if not found or _is_beside(parts):
            return self._not_installed(section, parts)
        most = max(file.common for file in found)
        nearest = [file for file in found if file.common == most]
        if len(nearest) > 1:
            names = listed(sorted(file.path for file in nearest), "nor")
            problem = Message("it applies neither to {names}", names=names)
            return FileMatch(section, problem=problem, hint=_WHOLE)

        (file,) = nearest
        before, result = self.texts.text(file), self._result(file, section.hunks)
        change = FileChange(file.path, file.located, before=before)
        if result.done:
            problem = Message(
                "the file has all of its changes already: the diff is applied, or reversed"
            )
            hint = Message("one made by hand becomes a patchset with: sitepatch capture")
            return FileMatch(section, change, problem=problem, hint=hint)
        encoding = _encoding_problem(before, before, hunks=section.hunks)
        problems = [encoding, *result.problems] if encoding else result.problems
        return FileMatch(section, change, problem="\n".join(problems))

    def _not_installed(self, section: Section, parts: Sequence[str]) -> FileMatch:
        if not _is_beside(parts):
            error = self.texts.package(_first(parts))
            if isinstance(error, SitepatchError) and is_refused(error):
                return FileMatch(section, problem=error.message, hint=error.hint)
            path = self._other(section, parts)
            if path:
                text = "it is not installed; of its package {path} alone has the lines"
                problem = Message(text, path=path)
                text = "if that is the file, write its path into the diff: {path}"
                hint = Message(text, path=path)
                return FileMatch(section, problem=problem, hint=hint, candidate=path)
        shipped = self._is_shipped(section, parts)
        return FileMatch(section, left_out=NOT_INSTALLED, shipped=shipped)

    def _other(self, section: Section, parts: Sequence[str]) -> str:
        """The only other file of the package to which a section applies, "" for none."""
        if not section.path.endswith(".py") or not _is_distinctive(section.hunks):
            return ""
        located: Located | SitepatchError | None = None
        for at in range(len(parts) - 1):
            located = self.texts.package("/".join(parts[at:]))
            if isinstance(located, Located):
                break
        if not isinstance(located, Located):
            return ""
        found: list[str] = []
        for file in self.texts.of_package(located):
            if not apply_hunks(self.texts.text(file), section.hunks).problems:
                found.append(file.path)
        return found[0] if len(found) == 1 else ""

    # applying it --------------------------------------------------------------------------------
    def _result(self, file: FileCandidate, hunks: Sequence[UnifiedHunk]) -> DiffResult:
        return apply_hunks(self.texts.text(file), hunks, fuzz=self.fuzz)

    def _apply(self, file: FileCandidate, section: Section) -> FileMatch:
        """Apply a section to its file.

        Unless that was edited by hand, or another file is imported in its place.
        """
        path, located = file.path, file.located
        before, result = self.texts.text(file), self._result(file, section.hunks)
        change = FileChange(path, located, before=before, after=result.after, notes=result.notes)
        notes: tuple[str, ...] = ()
        if path not in self.texts.patched:
            target = read_target(located, path, receipt=self.texts.receipt(located.site, path))
            if target.problem:
                problem, hint = target.problem.message, target.problem.hint
                return FileMatch(section, change, problem=problem, hint=hint)
            notes = target.remarks.notes

        problem = blocker(located, path, env=self.env) or ""
        problem = problem or _encoding_problem(before, result.after, hunks=section.hunks)
        if problem:
            return FileMatch(section, change, problem=problem)
        self.texts.patched[path] = located, result.after
        return FileMatch(section, change._replace(notes=(*result.notes, *notes)))


def _one_each(matches: Sequence[FileMatch]) -> list[FileMatch]:
    """The matches of a patch, without those for a copy of a file that another one is for.

    A repository may have `python2/m.py` and `python3/m.py`, of which one is installed.
    """
    fitting = {match.path: match.named for match in matches if match.fits}
    kept: list[FileMatch] = []
    for match in matches:
        other = fitting.get(match.path, match.named)
        if match.problem and other != match.named:
            why = Message("the installed file is {other}", other=other)
            match = FileMatch(match.section, left_out=why)
        kept.append(match)
    return kept


def _has_tests(folder: Path) -> bool:
    """Whether a directory has tests."""
    if not folder.is_dir():
        return False
    return any(_TEST.fullmatch(path.name) for path in folder.iterdir())


def _first(parts: Sequence[str]) -> str:
    """The first part of a path in a repository that may be a package."""
    return next((part for part in parts if part not in _ABOVE), "")


def _is_beside(parts: Sequence[str]) -> bool:
    """Whether a path in a repository is beside the packages, like `test/unit/test_m.py`."""
    return _first(parts) in _BESIDE


def _is_distinctive(hunks: Sequence[UnifiedHunk]) -> bool:
    """Whether hunks have enough old lines to identify a file."""
    written = 0
    for hunk in hunks:
        written += sum(1 for line in hunk.side("-") if line.strip())
    return written >= _FEWEST


def _encoding_problem(before: bytes, after: bytes, hunks: Sequence[UnifiedHunk]) -> str:
    """How the encoding of a diff conflicts with that of the file, "" where it does not."""
    try:
        encoding, changed = _encoding(before), _encoding(after)
    except SyntaxError as error:
        return Message("the encoding that the file declares cannot be read: {error}", error=error)
    if changed != encoding:
        text = "it changes the encoding that the file declares, from {encoding} to {changed}"
        return Message(text, encoding=encoding, changed=changed)
    for hunk in hunks:
        for number, (_, line) in enumerate(hunk.lines, hunk.line + 1):
            try:
                line.decode(encoding)
            except ValueError:
                text = (
                    "conflicting encodings: line {line} of the diff is not {encoding},"
                    " as the file is: convert the diff"
                )
                return Message(text, line=number, encoding=encoding)
    return ""


def _encoding(data: bytes) -> str:
    return tokenize.detect_encoding(io.BytesIO(data).readline)[0]

"""Which installed file a section of a diff means: the one with the longest common suffix at which it applies. Reads only."""

from __future__ import annotations

import io
import tokenize
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from patcher.author.diffs.fit import DiffFit, fit
from patcher.author.diffs.unified import Section, UnifiedHunk
from patcher.errors import AbsentError, SitepatchError
from patcher.model import Located, Receipt
from patcher.planner.resolve import read_target
from patcher.store.status import read
from patcher.store.store import Store
from patcher.target.distribution import recorded_sources
from patcher.target.environment import Environment, blocker, locate

_TELLING = 3  # lines that are not blank which a diff has to name where nothing but the name of the file is the same
_BESIDE = ("test", "tests", "doc", "docs", "example", "examples", "script", "scripts", "tools", "benchmarks", "setup.py")
_ABOVE = ("a", "b", "src", "lib", "python")
_WHOLE = "write its whole path into the diff"


class Meant(NamedTuple):
    """What a section means: the installed file `path`, its pristine text and what the hunks make of it.

    Otherwise `left` says why it is no change of an installed Python file, or `problem` and `hint` why it cannot be taken.
    """

    section: Section
    path: str = ""
    located: Optional[Located] = None
    before: bytes = b""
    after: bytes = b""
    notes: Tuple[str, ...] = ()
    left: str = ""
    problem: str = ""
    hint: str = ""


class _Candidate(NamedTuple):
    """An installed file with `common` last parts of its path as the diff has them; `whole` if those are all of either."""

    path: str
    located: Located
    common: int
    whole: bool


class Installed:
    """The Python files of an environment, as a diff is held against them; what was taken is what the next diff finds."""

    def __init__(self, env: Environment, fuzz: int = 0) -> None:
        self.env, self.fuzz = env, fuzz
        self.taken: Dict[str, Tuple[Located, bytes]] = {}
        self._names: Dict[str, Dict[str, List[str]]] = {}
        self._receipts: Dict[str, Dict[str, Receipt]] = {}
        self._packages: Dict[str, Union[Located, SitepatchError, None]] = {}

    def find(self, section: Section) -> Meant:
        """The installed file of a section, with its hunks applied.

        Raises:
            StoreError: a receipt is invalid.
        """
        parts = [part for part in section.path.replace("\\", "/").split("/") if part not in ("", ".", "..")]
        if not section.path.endswith(".py") or not section.hunks:
            return Meant(section, left=section.refused or "no Python file")
        found = self._candidates(parts)
        for common in sorted({each.common for each in found}, reverse=True):
            fits = []
            for each in (each for each in found if each.common == common):
                made = self._fit(each, section.hunks)
                sure = each.whole and (common > 1 or "/" not in each.path)
                if not made.problems and (sure or _telling(section.hunks)):
                    fits.append(each)
            whole = [each for each in fits if each.common == each.path.count("/") + 1]  # `requests/a.py`, not pip's copy of it
            fits = whole or fits
            if len(fits) > 1:
                names = " and ".join(sorted(each.path for each in fits))
                return Meant(section, problem=f"it applies to several installed files: {names}", hint=_WHOLE)
            if fits:
                return self._take(fits[0], section)
        return self._missing(section, parts, [each for each in found if each.whole])

    def _candidates(self, parts: Sequence[str]) -> List[_Candidate]:
        found: Dict[str, _Candidate] = {}
        direct = ["/".join(parts[at:]) for at in range(len(parts))]
        for site in self.env.sites:
            found_here = [each for each in direct if (Path(site) / each).is_file()]
            for path in dict.fromkeys([*found_here, *self._named(site, parts[-1])]):
                located = self._package(path)
                if isinstance(located, Located) and located.site == site and (Path(site) / path).is_file():
                    theirs = path.split("/")
                    pairs = zip(reversed(theirs), reversed(parts))
                    common = next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(theirs), len(parts)))
                    found.setdefault(path, _Candidate(path, located, common, common in (len(theirs), len(parts))))
        return list(found.values())

    def _named(self, site: str, name: str) -> List[str]:
        """The recorded Python files of a site directory whose last part is `name`."""
        if site not in self._names:
            names = self._names[site] = {}
            rows = (row for info in sorted(Path(site).glob("*.dist-info")) for row in recorded_sources(info))
            for row in (each for each in rows if not each.path.startswith(("/", "../"))):
                names.setdefault(row.path.rpartition("/")[2], []).append(row.path)
        return self._names[site].get(name, [])

    def _package(self, path: str) -> Union[Located, SitepatchError, None]:
        """Where the package of a file is installed, or why it cannot be patched."""
        name = path.split("/")[0]
        package = name[: -len(".py")] if name.endswith(".py") else name
        for key, files in ((package, ()), (path, (path,))):  # only of a namespace package the file matters
            if key not in self._packages:
                try:
                    self._packages[key] = locate(self.env, package, files) if package.isidentifier() else None
                except SitepatchError as error:
                    self._packages[key] = error
            if not isinstance(self._packages[key], SitepatchError) or isinstance(self._packages[key], AbsentError):
                break
        return self._packages[key]

    def _refused(self, package: str) -> Optional[SitepatchError]:
        """Why an installed package cannot be patched: editable, in an archive, of the standard library."""
        found = self._package(package)
        return found if isinstance(found, SitepatchError) and not isinstance(found, AbsentError) else None

    def _receipt(self, site: str, path: str) -> Optional[Receipt]:
        if site not in self._receipts:
            self._receipts[site] = Store(site).receipts()
        return self._receipts[site].get(path)

    def _text(self, one: _Candidate) -> bytes:
        """The text that the hunks are for: what was made of it before, what upstream shipped, else what lies there."""
        if one.path in self.taken:
            return self.taken[one.path][1]
        receipt = self._receipt(one.located.site, one.path)
        return Store(one.located.site).pristine(receipt.pristine) if receipt else read(one.located.site, one.path) or b""

    def _fit(self, one: _Candidate, hunks: Sequence[UnifiedHunk]) -> DiffFit:
        return fit(self._text(one), hunks, self.fuzz)

    def _take(self, one: _Candidate, section: Section) -> Meant:
        """The file with the hunks, where it is what upstream shipped and is what is imported."""
        located, before, made = one.located, self._text(one), self._fit(one, section.hunks)
        meant = Meant(section, one.path, located, before, made.after, made.notes)
        notes: List[str] = []
        try:
            if one.path not in self.taken:
                read_target(located, one.path, self._receipt(located.site, one.path), notes, force=False)
        except SitepatchError as error:
            return meant._replace(problem=error.message, hint=error.hint)
        problem = blocker(located, one.path, self.env) or _encoding_problem(before, made.after, section.hunks)
        if problem:
            return meant._replace(problem=problem)
        self.taken[one.path] = located, made.after
        return meant._replace(notes=(*made.notes, *notes))

    def _missing(self, section: Section, parts: Sequence[str], meant: Sequence[_Candidate]) -> Meant:
        """What is said where no installed file fits."""
        if not meant or parts[0] in _BESIDE:
            error = self._refused(next((part for part in parts if part not in _ABOVE), ""))
            if error:
                return Meant(section, problem=error.message, hint=error.hint)
            return Meant(section, left="no installed file")
        most = max(each.common for each in meant)
        nearest = [each for each in meant if each.common == most]
        if len(nearest) > 1:
            names = " nor ".join(sorted(each.path for each in nearest))
            return Meant(section, problem=f"it applies neither to {names}", hint=_WHOLE)
        (one,) = nearest
        before, made = self._text(one), self._fit(one, section.hunks)
        encoding = _encoding_problem(before, before, section.hunks)
        if made.done:
            what = "the file has all of it already: it is applied, or the diff is reversed"
            hint = "one made by hand becomes a patchset with: sitepatch capture"
            return Meant(section, one.path, one.located, before, problem=what, hint=hint)
        return Meant(section, one.path, one.located, before, problem="\n".join(filter(None, (encoding, *made.problems))))


def _telling(hunks: Sequence[UnifiedHunk]) -> bool:
    """Whether the diff names enough lines to know a file by them alone."""
    return sum(bool(line.strip()) for hunk in hunks for line in hunk.side("-")) >= _TELLING


def _encoding_problem(before: bytes, after: bytes, hunks: Sequence[UnifiedHunk]) -> str:
    """How the encoding of the diff conflicts with that of the file, "" where it does not."""
    try:
        encoding, changed = _encoding(before), _encoding(after)
    except SyntaxError as error:
        return f"the encoding that the file declares cannot be read: {error}"
    if changed != encoding:
        return f"it changes the encoding that the file declares, from {encoding} to {changed}"
    for hunk in hunks:
        for at, (_, line) in enumerate(hunk.lines):
            try:
                line.decode(encoding)
            except UnicodeDecodeError:
                where = f"line {hunk.line + 1 + at} of the diff"
                return f"conflicting encodings: {where} is not {encoding}, as the file is: convert the diff"
    return ""


def _encoding(data: bytes) -> str:
    return tokenize.detect_encoding(io.BytesIO(data).readline)[0]

"""An edit -> hunks: the most general form that is still proven to make the edit, and only it."""

from __future__ import annotations

from itertools import chain
from typing import Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from patcher.author.draft import Draft, DraftFile, DraftHunk, FileEdit, Left, Lost
from patcher.author.hunks.candidates import Candidates
from patcher.author.hunks.context import Candidate
from patcher.author.hunks.leaves import Leaf, Pair, leaves
from patcher.author.hunks.loose import loose, moved_paths
from patcher.author.hunks.spans import Text
from patcher.author.hunks.trial import Trial, Tried
from patcher.engine.engine import rewrite
from patcher.engine.names import unbound
from patcher.engine.node import SyntaxProblem
from patcher.errors import PatchError
from patcher.text.lines import line_edits

_AHEAD = 6  # candidates that are looked at after the first that works, in the hope for one that proves itself
_MOST = 60  # candidates that are tried for one difference
_ROUNDS = 12  # times that hunks which clash are replaced by their next candidates


class _Part(NamedTuple):
    """One or several differences that one hunk is for, with its candidates that work, the best one first."""

    leaves: Tuple[Leaf, ...]
    ways: Tuple[Tried, ...]
    lost: Tuple[Tried, ...]

    def without_first(self, why: str) -> _Part:
        """The part without its best candidate, which was lost for a reason that is found among all parts."""
        return self._replace(ways=self.ways[1:], lost=(*self.lost, self.ways[0]._replace(problem=why)))


def generalise(edits: Sequence[FileEdit], others: Sequence[Mapping[str, bytes]] = ()) -> Draft:
    """Turn edits of installed files into hunks.

    Args:
        edits: the files of one release before and after the edit.
        others: the same files (path -> pristine bytes) of further releases that the hunks should hold for; of one that lacks
            some of them all Python files of the package, to find where they moved.

    Returns:
        the hunks; what could not be expressed is in `DraftFile.left`.
    """
    return Draft(tuple(_file(edit, others) for edit in edits))


def _file(edit: FileEdit, others: Sequence[Mapping[str, bytes]]) -> DraftFile:
    try:
        before, after = Text(edit.before), Text(edit.after)
    except SyntaxProblem as problem:
        why = f"the file cannot be read as Python: {problem.message}"
        return DraftFile((edit.path,), (), (Left(problem.line or 1, "", why),))
    return _Choice(edit, before, after, others).made()


class _Choice:
    """Chooses the hunks for one file."""

    def __init__(self, edit: FileEdit, before: Text, after: Text, others: Sequence[Mapping[str, bytes]]) -> None:
        self.edit, self.before, self.after, self.others = edit, before, after, others
        self.candidates, self.trial = Candidates(before, after), Trial(edit.path, before, others)
        self.left: List[Left] = []

    def made(self) -> DraftFile:
        parts, made = self.combined(list(self.parts(self.bound(leaves(self.before, self.after)))))
        hunks = tuple(
            DraftHunk(
                part.ways[0].candidate.text,
                self.after.source.lines.number(self.after.code_from(part.leaves[0].made)),
                part.ways[0].candidate.form,
                tuple(
                    Lost(each.candidate.text, each.problem or "a more general one works")
                    for each in (*part.lost, *part.ways[1:])
                ),
            )
            for part in parts
        )
        difference = self.difference(parts, made)
        places = moved_paths(self.edit.path, [self.trial.parsed(hunk.text) for hunk in hunks], self.others)
        return DraftFile((self.edit.path, *places), hunks, tuple(self.left), difference)

    def bound(self, found: Sequence[Leaf]) -> List[Leaf]:
        """The differences whose new code reads no name that nothing binds: such a hunk is never applied (format rule 27)."""
        ranges = [(leaf.made, leaf.made + len(leaf.new)) for leaf in found]
        missing = unbound(self.before.source, self.after.source, ranges, [])
        kept: List[Leaf] = []
        for leaf, (start, end) in zip(found, ranges):
            lines = range(self.after.source.lines.number(start), self.after.source.lines.number(end) + 1)
            names = ", ".join(f"`{item.name}` (line {item.line})" for item in missing if item.line in lines)
            if names:
                self.leave(leaf, f"the new code reads names that nothing binds there: {names}")
            else:
                kept.append(leaf)
        return kept

    # one difference after another -----------------------------------------------------------------------------------------
    def parts(self, found: Sequence[Leaf]) -> Iterator[_Part]:
        """The differences with their candidates; the same change everywhere in a scope is one."""
        options = [list(self.candidates.of(leaf)) for leaf in found]
        shared: Dict[str, List[int]] = {}  # by a candidate's text the differences that have it
        for index, ways in enumerate(options):
            for text in dict.fromkeys(way.text for way in ways):
                shared.setdefault(text, []).append(index)
        done: Set[int] = set()
        for index, leaf in enumerate(found):
            if index in done:
                continue
            groups = [(way, shared[way.text]) for way in options[index]] if leaf.kind == "change" else []
            for candidate, group in groups:
                part = self.everywhere(candidate, [found[at] for at in group]) if len(group) > 1 else None
                if part:
                    done.update(group)
                    yield part
                    break
            else:
                yield self.ranked((leaf,), options[index])

    def everywhere(self, candidate: Candidate, group: Sequence[Leaf]) -> Optional[_Part]:
        """A candidate for all places of a scope, None where that would not be these differences."""
        wide = candidate._replace(everywhere=True, form=f"{candidate.form}, everywhere in the scope")
        tried = self.trial.of(wide, group)
        return None if tried.problem else _Part(tuple(group), (tried,), ())

    def ranked(self, group: Tuple[Leaf, ...], candidates: Iterable[Candidate]) -> _Part:
        """Try the candidates in their order: the first that proves itself is the best, else the first that works."""
        works: List[Tried] = []
        lost: List[Tried] = []
        after_first = 0
        for number, candidate in enumerate(candidates):
            tried = self.trial.of(candidate, group)
            (lost if tried.problem else works).append(tried)
            after_first += bool(works)
            holds = not self.trial.others or any(each.holds == len(self.trial.others) for each in works)
            if number >= _MOST or (after_first > _AHEAD and holds):
                break
        best = max((each.holds for each in works), default=0)
        for candidate in loose([each.candidate for each in works]) if best < len(self.trial.others) else ():
            tried = self.trial.of(candidate, group)
            if tried.holds > best:  # what fails at home holds nowhere
                works.append(tried)
        works.sort(key=_rank)
        return _Part(group, tuple(works), tuple(lost))

    # all of them together -------------------------------------------------------------------------------------------------
    def combined(self, parts: List[_Part]) -> Tuple[List[_Part], bytes]:
        """The parts whose hunks can be applied together, and what they make; what clashes moves on, or is merged or left."""
        for _ in range(_ROUNDS):
            parts = self.filled(parts)
            made, failed = self.together(parts)
            if not failed:
                return parts, made
            parts = [part.without_first(failed[index]) if index in failed else part for index, part in enumerate(parts)]
        parts = self.filled(parts)
        made, failed = self.together(parts)
        while failed:
            for index, why in failed.items():
                self.leave_all(parts[index], why)
            parts = [part for index, part in enumerate(parts) if index not in failed]
            made, failed = self.together(parts)
        return parts, made

    def filled(self, parts: List[_Part]) -> List[_Part]:
        """The parts without those for which no candidate works: they become part of a hunk for the statement around them."""
        empty = next((part for part in parts if not part.ways), None)
        while empty is not None:
            parts = self.merged(parts, empty)
            empty = next((part for part in parts if not part.ways), None)
        return parts

    def together(self, parts: Sequence[_Part]) -> Tuple[bytes, Dict[int, str]]:
        """What all hunks make, and by index the parts whose hunk fails among them, and why."""
        hunks = [self.trial.parsed(part.ways[0].candidate.text)._replace(line=number) for number, part in enumerate(parts, 1)]
        try:
            made = rewrite(self.edit.before, hunks, {})
        except PatchError as error:  # two hunks insert at one place: its line is that of the second, here its number
            return self.edit.before, {error.line - 1: error.brief}
        return made.data, {index: answer.problem for index, answer in enumerate(made.answers) if answer.state.failed}

    def merged(self, parts: List[_Part], empty: _Part) -> List[_Part]:
        """Replace all parts inside the statement around one by a hunk for that statement."""
        for old, new in _owners(empty.leaves[0]):
            inside = [
                part
                for part in parts
                if any(old.begin <= leaf.span[0] and leaf.span[1] <= old.outer_end + 1 for leaf in part.leaves)
            ]
            group = tuple(chain.from_iterable(part.leaves for part in inside))
            made = self.ranked(group, self.candidates.whole(old, new))
            if made.ways and empty in inside:
                rest = [part for part in parts if part not in inside]
                return [*rest, made]
        self.leave_all(empty, empty.lost[-1].problem if empty.lost else "no hunk can be written for it")
        return [part for part in parts if part is not empty]

    def leave_all(self, part: _Part, why: str) -> None:
        """Note the differences of a part that no hunk makes."""
        for leaf in part.leaves:
            self.leave(leaf, why)

    def leave(self, leaf: Leaf, why: str) -> None:
        """Note a difference that is in no hunk."""
        text = self.before.text[leaf.span[0] : leaf.span[1]].strip("\n"), leaf.new.strip("\n")
        shown = "".join(f"{tag}{line}\n" for tag, side in zip("-+", text) for line in side.splitlines() if line.strip())
        self.left.append(Left(self.after.source.lines.number(self.after.code_from(leaf.made)), shown, why))

    # what is different after all ------------------------------------------------------------------------------------------
    def difference(self, parts: Sequence[_Part], made: bytes) -> str:
        """What differs between the edited file and what the hunks make, in words; comments alone are noted as left."""
        if made == self.edit.after:
            return ""
        far = any(part.ways[0].candidate.far for part in parts)
        if not self.left and not self.trial.alike(made, self.edit.after, far):
            self.left.append(Left(1, "", "the hunks together would not make the edited code"))
        old, new = made.splitlines(keepends=True), self.edit.after.splitlines(keepends=True)
        comments: List[int] = []
        blank = moved = 0
        for i1, i2, j1, j2 in line_edits(old, new):
            lines = [line.strip() for line in [*old[i1:i2], *new[j1:j2]]]
            if not any(lines):
                blank += 1
            elif all(line.startswith(b"#") or not line for line in lines):
                comments.append(j1 + 1)
            else:
                moved += 1
        words = [f"comments differ in line {', '.join(map(str, comments))}: they are not matched, so no hunk changes them"]
        words = words if comments else []
        words += [f"{_places(moved)} in the layout or the position of code"] if moved else []
        words += [f"{_places(blank)} in blank lines"] if blank else []
        if not parts and not self.left:
            self.left.append(Left(1, "", f"nothing but comments and layout: {'; '.join(words)}"))
        return "; ".join(words)


def _places(number: int) -> str:
    return "1 place differs" if number == 1 else f"{number} places differ"


def _rank(tried: Tried) -> Tuple[int, bool, bool, bool]:
    """What is chosen among candidates that work: first what holds in other releases, then what proves itself."""
    neat = tried.exact or tried.candidate.far
    return -tried.holds, not (tried.proves and neat), not tried.proves, not neat


def _owners(leaf: Leaf) -> Iterator[Pair]:
    """The statements around a difference, the nearest first, up to the function that holds it."""
    old, new = leaf.blocks[0].parent, leaf.blocks[1].parent
    while old is not None and new is not None and old.kind == new.kind != "ClassDef":
        if old.kind != "Block" and old.parent is not None and old.parent.kind == "Block":
            yield old, new
        old, new = old.parent, new.parent

"""An edit -> hunks: of each the most general form that makes the edit and nothing else."""

from __future__ import annotations

from typing import Mapping, Sequence

from patcher.author.hunks.candidates import Candidates
from patcher.author.hunks.checker import Checker
from patcher.author.hunks.combination import Combination
from patcher.author.hunks.context import Candidate, Flags
from patcher.author.hunks.differences import Difference, differences, unbroken
from patcher.author.hunks.excerpts import tagged
from patcher.author.hunks.insertions import is_standard
from patcher.author.hunks.leftovers import Leftovers
from patcher.author.hunks.lines import line_file
from patcher.author.hunks.moves import NOWHERE, OtherFiles, find_moves
from patcher.author.hunks.names import imports_of_new_code, read_around
from patcher.author.hunks.parts import Part, PartMaker, differences_of
from patcher.author.spatch_draft import Draft, DraftFile, DraftHunk, FileEdit, LeftOut, Rejected
from patcher.engine.engine import rewrite
from patcher.engine.tree import SyntaxProblem, Tree
from patcher.errors import PatchError
from patcher.message import Message
from patcher.model import SOURCE, HunkText, Rewrite


def generalise(
    edits: Sequence[FileEdit],
    others: Sequence[Mapping[str, bytes]] = (),
    injected: Sequence[str] = (),
    *,
    carries: bool = False,
    elsewhere: OtherFiles = NOWHERE,
) -> Draft:
    """Turn edits of installed files into hunks.

    Args:
        edits: the files of one release before and after the edit.
        others: of each further release that the hunks should hold for the same files (path ->
            pristine bytes).
        injected: names that new code may read although nothing binds them.
        carries: whether imports that the new code reads are carried along for releases that are not
            known.
        elsewhere: reads other files, to find where code moved.

    Returns:
        the hunks, and what is in none of them.
    """
    files: list[DraftFile] = []
    for edit in edits:
        files.append(_file(edit, others, injected, carries=carries, elsewhere=elsewhere))
    return Draft(tuple(files))


def _file(
    edit: FileEdit,
    others: Sequence[Mapping[str, bytes]],
    injected: Sequence[str],
    *,
    carries: bool,
    elsewhere: OtherFiles,
) -> DraftFile:
    if not edit.path.endswith(SOURCE):
        return line_file(edit, others)
    try:
        before, after = Tree(edit.before).whole(), Tree(edit.after).whole()
        file = _PythonFile(edit, before, after, others=others, injected=injected)
        return file.draft(carries=carries, elsewhere=elsewhere)
    except SyntaxProblem as problem:
        why = Message("the file cannot be read as Python: {problem}", problem=problem.message)
        return DraftFile(
            (edit.path,), (), left_out=(LeftOut(edit.path, problem.line or 1, text="", why=why),)
        )


class _PythonFile:
    """Makes the hunks for one Python file."""

    def __init__(
        self,
        edit: FileEdit,
        before: Tree,
        after: Tree,
        *,
        others: Sequence[Mapping[str, bytes]],
        injected: Sequence[str],
    ) -> None:
        self.edit, self.before, self.after = edit, before, after
        self.others, self.injected = others, injected
        self.candidates = Candidates(before, after)
        self.checker = Checker(edit.path, before, others)
        self.maker = PartMaker(before, after, self.candidates, self.checker)
        self.leftovers = Leftovers(edit, before, after)

    def draft(self, *, carries: bool, elsewhere: OtherFiles) -> DraftFile:
        """The hunks; the arguments are those of `generalise`."""
        found = self.leftovers.bound(differences(self.before, self.after), self.injected)
        combination = Combination(self.edit.before, self.maker, self.leftovers, self.injected)
        parts, result = combination.combined(self.parts(found))
        moves_code = any(part.best.elsewhere for part in parts)
        difference = self.leftovers.difference(result, has_hunks=bool(parts), elsewhere=moves_code)

        carried: Sequence[DraftHunk] = ()
        if self.others or carries:
            carried = self.carried(parts, result, carries=carries)
        hunks = list(map(self.hunk, parts))
        paths = [self.edit.path]
        if self.others and parts:
            texts = self.maker.hunks(parts)
            moves = find_moves(self.edit.path, texts, self.others, elsewhere=elsewhere)
            paths += moves.of_file
            for index, homes in moves.of_hunks.items():
                hunks[index] = hunks[index]._replace(moved=homes)
        return DraftFile(
            paths=tuple(paths),
            hunks=(*carried, *hunks),
            left_out=tuple(self.leftovers.parts),
            difference=difference,
        )

    def hunk(self, part: Part) -> DraftHunk:
        rejected: list[Rejected] = []
        for each in (*part.rejected, *part.work[1:]):
            why = each.problem or Message("a more general one works")
            rejected.append(Rejected(each.candidate.text, why))
        return DraftHunk(
            text=part.best.text,
            line=self.leftovers.line(part.differences[0]),
            form=part.best.words,
            rejected=tuple(rejected),
        )

    def carried(
        self, parts: Sequence[Part], result: bytes, *, carries: bool
    ) -> Sequence[DraftHunk]:
        """A hunk with the imports that new code reads, where another release has need of it.

        There is none where they stand. For releases that are not known it has with `carries` those
        of the standard library, which every release can make, and `import a.b`: nothing else tells
        that a release has `import a` alone.
        """
        found = differences_of(parts)
        needed = imports_of_new_code(self.before, self.after, found)
        spare: list[str] = []
        if carries and needed:
            around = read_around(self.before, found)
            for name, line in needed.items():
                is_dotted = "." in name
                if name not in around and (is_dotted or _is_standard(line)):
                    spare.append(line)
        others = self.checker.others
        if others:
            more: list[str] = []
            for name, line in needed.items():
                is_bound = all(other.binds({name}) for other in others)
                if line not in spare and not is_bound:
                    more.append(line)
            hunk = self.import_hunk([*spare, *more], parts, result=result, helps=True)
            if hunk:
                return [hunk]
        hunk = self.import_hunk(spare, parts, result=result, helps=False)
        return [hunk] if hunk else []

    def import_hunk(
        self, imports: Sequence[str], parts: Sequence[Part], *, result: bytes, helps: bool
    ) -> DraftHunk | None:
        """A hunk with these imports; None where it would change the result.

        With `helps` also where no other release has need of it.
        """
        if not imports:
            return None
        words = Message("imports that the new code reads, for releases that do not have them")
        lines = (*tagged("+", imports), (" ", "..."))
        text = Candidate("<module>", lines, form=words, flags=Flags(optional=True)).text
        hunks = self.maker.hunks(parts)
        with_imports = [self.checker.parsed(text), *hunks]
        try:
            here = rewrite(self.edit.before, with_imports, {}, self.injected)
            if here.data != result:
                return None
            helped = [each for each in self.checker.others if self.helps(each, hunks, with_imports)]
        except PatchError:  # the edit inserts at the top of the module, too
            return None
        return DraftHunk(text, 1, form=words) if helped or not helps else None

    def helps(
        self, release: Tree, hunks: Sequence[HunkText], with_imports: Sequence[HunkText]
    ) -> bool:
        """Whether hunks can be applied to another release with imports alone."""
        if not _any_failed(rewrite(release.data, hunks, {}, self.injected)):
            return False
        return not _any_failed(rewrite(release.data, with_imports, {}, self.injected))

    # one difference after another ---------------------------------------------------------------
    def parts(self, found: Sequence[Difference]) -> list[Part]:
        """The differences with their candidates, those together that one hunk is for."""
        candidates = [list(self.candidates.of(difference)) for difference in found]
        parts = self.shared(found, candidates)
        order = {id(difference): number for number, difference in enumerate(found)}
        done = set(map(id, differences_of(parts)))
        for group in unbroken(found):
            rest = [difference for difference in group if id(difference) not in done]
            if len(rest) == len(group) > 1:
                together = self.maker.part(group, self.candidates.together(group))
                if together.work:
                    parts.append(together)
                    continue
            for difference in rest:
                own = candidates[order[id(difference)]]
                parts.append(self.maker.part((difference,), own))
        return sorted(parts, key=lambda part: order[id(part.differences[0])])

    def shared(
        self, found: Sequence[Difference], candidates: Sequence[Sequence[Candidate]]
    ) -> list[Part]:
        """The differences that are the same change everywhere in a scope.

        Args:
            found: the differences.
            candidates: those of each.
        """
        having: dict[str, list[int]] = {}  # a candidate's text -> the differences that have it
        for index, own in enumerate(candidates):
            for candidate in own:
                having.setdefault(candidate.text, []).append(index)

        parts: list[Part] = []
        done: set[int] = set()
        for index, difference in enumerate(found):
            if index in done or difference.kind != "change":
                continue
            for candidate in candidates[index]:
                group = [at for at in having[candidate.text] if at not in done]
                # a neighbour may change as well
                if len(group) < 2 or any(candidate.sides):
                    continue
                part = self.maker.everywhere(candidate, [found[at] for at in group])
                if part is not None:
                    done.update(group)
                    parts.append(part)
                    break
        return parts


def _is_standard(line: str) -> bool:
    """Whether a line imports from the standard library alone."""
    text = Tree(line.encode())
    return is_standard(text, text.root.statements()[0])


def _any_failed(rewritten: Rewrite) -> bool:
    return any(answer.state.failed for answer in rewritten.answers)

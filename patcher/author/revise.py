"""A patchset again, after further edits: the hunks that still hold stay as they are written, what they lack is added."""

from __future__ import annotations

import re
from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from patcher.author.draft import Draft, DraftFile, FileEdit, added_file
from patcher.author.hunks.generalise import generalise
from patcher.author.hunks.trial import same_code
from patcher.engine.engine import rewrite
from patcher.engine.spatch.hunk import parse_spatch
from patcher.errors import PatchError
from patcher.facts import Assignment
from patcher.model import HunkText
from patcher.text.diffs import diff_texts


class RevisedFile(NamedTuple):
    """The hunks of a patchset for one file that do not hold any more (`gone`), and those that are new."""

    gone: Tuple[HunkText, ...]
    draft: DraftFile


def revise(edit: FileEdit, assignment: Optional[Assignment], others: Sequence[Mapping[str, bytes]] = ()) -> RevisedFile:
    """The hunks for a file after an edit.

    A hunk stays where all that it changes is a part of the edit, and the hunks that stay make the same code as new ones
    together with what is added; else all of them go.

    Args:
        edit: the file without the patchset, and as it is to make it.
        assignment: the hunks that the patchset has for it, None for none.
        others: of each further release the texts, as `generalise` takes them.
    """
    hunks = assignment.hunks if assignment else ()
    if assignment and assignment.adds:
        draft = added_file(edit.path, edit.after)
        same = [hunk.text for hunk in draft.hunks] == ["".join(f"+{line}\n" for _, line, _ in hunks[0].lines)]
        return RevisedFile((), DraftFile((edit.path,), ())) if same else RevisedFile(hunks, draft)
    (draft,) = generalise([edit], others).files
    text = Draft((draft,)).spatch()
    fresh = [hunk for patch in (parse_spatch(text, edit.path)[1] if draft.hunks else ()) for hunk in patch.hunks]

    def result(some: Sequence[HunkText]) -> bytes:
        try:
            options, names = (assignment.requested.options, assignment.names) if assignment else ({}, ())
            rewritten = rewrite(edit.before, some, options, names)
        except PatchError:  # two hunks insert at one place
            return b""
        return b"" if any(answer.state.failed for answer in rewritten.answers) else rewritten.data

    def within(hunk: HunkText, after: bytes) -> bool:
        between = result([hunk])
        return bool(between) and _distance(edit.before, between) + _distance(between, after) == _distance(edit.before, after)

    wanted = result(fresh) if fresh else edit.before
    kept = [hunk for hunk in hunks if within(hunk, wanted)]
    reached = result(kept) if kept else edit.before
    added = [not within(hunk, reached) for hunk in fresh]
    together = [*kept, *(hunk for hunk, new in zip(fresh, added) if new)]
    if kept and same_code(result(together) if together else edit.before, wanted, anywhere=True):
        new = tuple(hunk for hunk, is_new in zip(draft.hunks, added) if is_new)
        return RevisedFile(tuple(hunk for hunk in hunks if hunk not in kept), draft._replace(hunks=new))
    return RevisedFile(tuple(hunks), draft)


def _distance(before: bytes, after: bytes) -> int:
    """How many lines differ."""
    diff = diff_texts("", "", before, after)
    return diff.added + diff.removed


def revised_spatch(text: str, origin: str, gone: Set[int], added: Mapping[str, str]) -> str:
    """The text of a `.spatch` without the hunks that begin on some lines (1-based), and with further ones.

    Args:
        text: the text; what does not change stays as it is written.
        origin: its name.
        gone: the lines.
        added: the hunks for a file, by path; in a section of their own where it has none.

    Returns:
        the text, "" where no hunk is left.
    """
    lines = text.split("\n")
    _, patches = parse_spatch(text, origin)
    ends = [*(patch.line - 1 for patch in patches[1:]), len(lines)]
    last = {path: number for number, patch in enumerate(patches) for path in patch.paths}
    sections: List[str] = []
    for number, (patch, end) in enumerate(zip(patches, ends)):
        more = [hunks for path, hunks in added.items() if last.get(path) == number]
        if not more and not gone & {hunk.line for hunk in patch.hunks}:
            sections.append("\n".join(lines[patch.line - 1 : end]).strip("\n"))
            continue
        starts = [hunk.line - 1 for hunk in patch.hunks]
        blocks = ["\n".join(lines[start:stop]).strip("\n") for start, stop in zip(starts, [*starts[1:], end])]
        blocks = [block for block, hunk in zip(blocks, patch.hunks) if hunk.line not in gone]
        header = "\n".join(lines[patch.line - 1 : starts[0]])
        blocks += [hunks.strip("\n") for hunks in more]
        sections += ["\n".join(filter(None, (header, "\n\n".join(blocks))))] if blocks else []
    fresh = ((path, hunks.strip("\n")) for path, hunks in added.items() if path not in last)
    sections += [hunks if hunks.startswith("+++ ") else f"--- {path}\n{hunks}" for path, hunks in fresh]
    prose = "\n".join(lines[: patches[0].line - 1]).strip("\n")
    return "\n\n".join(filter(None, (prose, *sections))) + "\n" if sections else ""


def raised(version: str) -> str:
    """A version, its last number raised by one."""
    return re.sub(r"\d+(?=\D*$)", lambda number: str(int(number[0]) + 1), version)


def by_spatch(files: Sequence[RevisedFile], homes: Mapping[str, str]) -> Tuple[Dict[str, Set[int]], Dict[str, Dict[str, str]]]:
    """By `.spatch` file: the lines of the hunks that go, and the hunks that come; `homes` has the `.spatch` of a path."""
    gone: Dict[str, Set[int]] = {}
    added: Dict[str, Dict[str, str]] = {}
    for file in files:
        for hunk in file.gone:
            gone.setdefault(hunk.origin, set()).add(hunk.line)
        if file.draft.hunks:
            path, texts = file.draft.paths[0], [hunk.text for hunk in file.draft.hunks]
            added.setdefault(homes[path], {})[path] = f"+++ {path}\n{texts[0]}" if file.draft.adds else "\n".join(texts)
    return gone, added

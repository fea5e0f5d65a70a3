"""What was made of an edit, as text and as JSON: hunks and why each has its form, what is in none, and further releases."""

from __future__ import annotations

from typing import Any, Dict, List, Sequence

from patcher.author.draft import Draft
from patcher.message import Message
from patcher.text.listed import count
from patcher.text.terminal import join_styled
from patcher.verbs.console import Console
from patcher.verbs.releases.outcome import ReleaseOutcome
from patcher.verbs.styles import Row, color_diff, style


def show_hunks(console: Console, draft: Draft, *, explain: bool) -> None:
    """Write the hunks file by file, each with its form; with `explain` also those that were not taken, and why."""
    lines: List[str] = []
    for file in draft.files:
        lines += ["", style(f"--- {' or '.join(file.paths)}", bold=True)] if file.hunks else []
        for hunk in file.hunks:
            lines += [*color_diff(hunk.text.rstrip("\n")), Message("  # line {hunk.line}: {hunk.form}", hunk=hunk)]
            for each in hunk.rejected if explain else ():
                lines += [
                    Message("  # not taken, as {each.why}:", each=each),
                    *(join_styled("  # ", line) for line in each.text.splitlines()),
                ]
    console.page([] if console.quiet else lines, pager=False)


def hunks_json(draft: Draft, *, explain: bool = False) -> List[Dict[str, Any]]:
    """The hunks; with `explain` each with those that were not taken."""
    found: List[Dict[str, Any]] = []
    for file in draft.files:
        for hunk in file.hunks:
            rejected = {"lost": [each._asdict() for each in hunk.rejected]} if explain else {}
            found.append({"paths": list(file.paths), "text": hunk.text, "line": hunk.line, "form": hunk.form, **rejected})
    return found


def left_rows(draft: Draft) -> List[Row]:
    """A row for each part of the edit that is in no hunk."""
    return [
        Row(Message("not captured"), (f"{each.path}:{each.line}", each.why), tuple(color_diff(each.text.rstrip("\n"))))
        for each in draft.left_out
    ]


def left_json(draft: Draft) -> List[Dict[str, Any]]:
    """The parts of the edit that are in no hunk."""
    return [{"path": each.path, "line": each.line, "text": each.text, "why": each.why} for each in draft.left_out]


def release_rows(releases: Sequence[ReleaseOutcome]) -> List[Row]:
    """A row for each further release."""
    return [Row(one.word, (f"{one.distribution} {one.version}",), (one.problem,) if one.problem else ()) for one in releases]


def releases_json(releases: Sequence[ReleaseOutcome]) -> List[Dict[str, Any]]:
    """What came of further releases."""
    return [
        {"distribution": one.distribution, "version": one.version, "state": one.word, "problem": one.problem}
        for one in releases
    ]


def number_of_hunks(draft: Draft) -> str:
    """How many hunks a draft has, in words."""
    return count(sum(len(file.hunks) for file in draft.files), "hunk")

"""What `lint` found, as text, as JSON and as an exit code."""

from __future__ import annotations

from typing import Iterator

from patcher.author import lint
from patcher.cli.answers.annotations import ERROR, NOTICE, WARNING, annotation, of_error
from patcher.cli.answers.patchsets import broken_json, broken_rows
from patcher.cli.console import Console
from patcher.cli.styles import Row, hint_lines
from patcher.ops.authoring.linting import LintOutcome, lint_all
from patcher.ops.authoring.requests import LintRequest
from patcher.text.listed import count

_KINDS = {lint.ERROR: ERROR, lint.ADVICE: WARNING, lint.NOTE: NOTICE}


def run_lint(console: Console, request: LintRequest, form: str) -> int:
    """Lint patchsets, and report it; `form` is `text` or `github`."""
    made = lint_all(request)
    if form == "github":
        for line in _annotated(made):
            console.out(line)
        return 0 if made.ok else 1
    rows, findings = [], []
    for name, found in made.findings.items():
        for one in found:
            where = f"{one.file}:{one.line}" if one.line else one.file
            rows.append(Row(one.level, (name, where, one.rule), (one.text, *hint_lines(one.hint))))
            findings.append({"patchset": name, **one._asdict()})
    console.rows([row for row in rows if row.word != "note" or not console.quiet])
    console.rows(broken_rows(made.broken))
    if not rows and not made.broken:
        console.info(f"nothing to say of {count(len(made.findings), 'patchset')}")
    console.data(made.ok, {"findings": findings, "broken": broken_json(made.broken)})
    return 0 if made.ok else 1


def _annotated(made: LintOutcome) -> Iterator[str]:
    for name, found in made.findings.items():
        for one in found:
            text = "\n".join(filter(None, (one.text, one.hint)))
            yield annotation(_KINDS[one.level], f"{name}: {one.rule}", text, made.folders[name] / one.file, one.line)
    for name, error in made.broken.items():
        yield of_error(f"{name} is broken", error)

"""What is wrong with a patchset in itself.

Options that no hunk uses, hunks that change the same code, ranges and files that are never used.
"""

from __future__ import annotations

from pathlib import Path
from typing import Iterator, Sequence

from patcher.engine.engine import rewrite
from patcher.engine.overlap import overlaps
from patcher.engine.spatch.notation import holes
from patcher.errors import PatchError
from patcher.installed.versions import overlap
from patcher.message import Message
from patcher.model import FilePatch, HunkText, OptionValue, Patchset
from patcher.patchset.places import MANIFEST
from patcher.record import Record


class LintFinding(Record):
    """Something that is wrong with what a patchset says.

    Attributes:
        file: the file of the patchset.
        line: the line, from 1; 0 for none.
        rule: the name of the rule.
        text: what is wrong.
        hint: what to do about it.
    """

    file: str
    line: int
    rule: str
    text: str
    hint: str = ""


def lint(patchset: Patchset, folder: Path) -> list[LintFinding]:
    """Check a patchset in its folder.

    Returns:
        the findings: those about the manifest, then those by file and line.
    """
    patches: dict[tuple[str, int], FilePatch] = {}
    for variant in patchset.variants:
        for patch in variant.patches:
            patches[patch.hunks[0].origin, patch.line] = patch

    findings = [*_empty_ranges(patchset), *_unused_options(patchset, list(patches.values()))]
    options = {option.name: option.default for option in patchset.options}
    for (origin, _), patch in patches.items():
        file = Path(origin).relative_to(folder).as_posix()
        findings += _findings_of(patch, options, file=file)

    def place(finding: LintFinding) -> tuple[bool, str, int]:
        return finding.file != MANIFEST, finding.file, finding.line

    unique = dict.fromkeys(findings)  # several variants may use one file
    return sorted(unique, key=place)


def _empty_ranges(patchset: Patchset) -> Iterator[LintFinding]:
    for variant in patchset.variants:
        if overlap(variant.versions, "") is None:
            text = Message('no release is in the range "{versions}"', versions=variant.versions)
            yield LintFinding(MANIFEST, line=0, rule="unreachable", text=text)


def _unused_options(patchset: Patchset, patches: Sequence[FilePatch]) -> Iterator[LintFinding]:
    used: set[str] = set()
    for patch in patches:
        for hunk in patch.hunks:
            for form in hunk.forms:
                used |= _holes(form)
    for option in patchset.options:
        if option.name not in used:
            text = Message("no hunk writes ${name}", name=option.name)
            hint = Message("remove [options.{name}]", name=option.name)
            yield LintFinding(MANIFEST, line=0, rule="unused-option", text=text, hint=hint)


def _holes(form: HunkText) -> set[str]:
    """The options and placeholders on both sides of a hunk."""
    names: set[str] = set()
    for side in "-+":
        lines = [line for tag, line, _ in form.lines if tag in (" ", side)]
        names.update(name for name, _, _ in holes("\n".join(lines)))
    return names


def _findings_of(
    patch: FilePatch, options: dict[str, OptionValue], file: str
) -> Iterator[LintFinding]:
    """What is wrong with the hunks for one file."""
    for path in sorted(set(patch.paths)):
        if patch.paths.count(path) > 1:
            text = Message("{path} is named twice", path=path)
            hint = Message("remove one of the two `---` lines")
            yield LintFinding(file, patch.line, rule="unreachable", text=text, hint=hint)
    try:
        rewrite(
            b"", patch.hunks, options
        )  # raises what is wrong with the hunks together, whatever the text
        for hunk_line, other_line in overlaps(patch.hunks, options):
            template = "it changes code that the hunk in line {line} changes too"
            text = Message(template, line=other_line)
            hint = Message("write one hunk for both")
            yield LintFinding(file, hunk_line, rule="overlap", text=text, hint=hint)
    except PatchError as error:
        yield LintFinding(file, patch.line, rule="wrong", text=error.message)

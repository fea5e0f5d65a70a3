"""What is wrong with a patchset by itself: options that no hunk uses, hunks that meet, what cannot be reached."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator, NamedTuple, Sequence

from patcher.engine.engine import overlaps, rewrite
from patcher.engine.spatch.notation import holes
from patcher.errors import PatchError
from patcher.installed.versions import overlap
from patcher.message import Message
from patcher.model import FilePatch, HunkText, OptionValue, Patchset
from patcher.patchset.places import MANIFEST


class LintFinding(NamedTuple):
    """What is wrong: `line` is 1-based (0 for none), `rule` a name for it, `text` what is wrong, `hint` what to do."""

    file: str
    line: int
    rule: str
    text: str
    hint: str = ""


def lint(patchset: Patchset, folder: Path) -> list[LintFinding]:
    """Check a patchset in its folder; the findings are sorted by file and line."""
    options = {option.name: option.default for option in patchset.options}
    patches = {
        (patch.hunks[0].origin, patch.line): patch
        for variant in patchset.variants
        for patch in variant.patches
    }
    found = [*_ranges(patchset), *_options(patchset, list(patches.values()))]
    for (origin, line), patch in patches.items():
        file = Path(origin).relative_to(folder).as_posix()
        found += _patch(patch, options, file, line)
    return sorted(
        dict.fromkeys(found), key=lambda each: (each.file != MANIFEST, each.file, each.line)
    )


def _ranges(patchset: Patchset) -> Iterator[LintFinding]:
    for variant in patchset.variants:
        if overlap(variant.versions, "") is None:
            text = Message('no release is in the range "{versions}"', versions=variant.versions)
            yield LintFinding(MANIFEST, 0, "unreachable", text)


def _options(patchset: Patchset, patches: Sequence[FilePatch]) -> Iterator[LintFinding]:
    used = {
        name
        for patch in patches
        for hunk in patch.hunks
        for form in hunk.forms
        for name in _holes(form)
    }
    for option in patchset.options:
        if option.name not in used:
            text = Message("no hunk writes ${name}", name=option.name)
            hint = Message("remove [options.{name}]", name=option.name)
            yield LintFinding(MANIFEST, 0, "unused-option", text, hint)


def _holes(form: HunkText) -> list[str]:
    sides = ("\n".join(line for tag, line, _ in form.lines if tag in (" ", side)) for side in "-+")
    return [name for text in sides for name, _, _ in holes(text)]


def _patch(
    patch: FilePatch, options: dict[str, OptionValue], file: str, line: int
) -> Iterator[LintFinding]:
    """What is wrong with the hunks for one file."""
    for path in sorted({path for path in patch.paths if patch.paths.count(path) > 1}):
        twice = Message("{path} is named twice", path=path)
        remove = Message("remove one of the two `---` lines")
        yield LintFinding(file, line, "unreachable", twice, remove)
    try:
        rewrite(b"", patch.hunks, options)  # what is wrong with them together is seen with any text
        for hunk_line, other_line in overlaps(patch.hunks, options):
            text = Message(
                "it changes code that the hunk in line {line} changes too", line=other_line
            )
            hint = Message("write one hunk for both")
            yield LintFinding(file, hunk_line, "overlap", text, hint)
    except PatchError as error:
        yield LintFinding(file, line, "wrong", error.message)

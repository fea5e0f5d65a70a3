"""Checks of a patchset that need no environment: errors, and what makes it hold for fewer releases than it could."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator, NamedTuple, Sequence

from patcher.author.cases import AFTER, FOLDER, find_cases, read_case
from patcher.engine.engine import advise, rewrite
from patcher.engine.spatch.notation import holes
from patcher.errors import PatchError, SitepatchError
from patcher.installed.versions import overlap
from patcher.message import Message
from patcher.model import FilePatch, HunkText, OptionValue, Patchset
from patcher.patchset.places import MANIFEST

ERROR, ADVICE, NOTE = "error", "advice", "note"
_LEVELS = {"overlap": ERROR, "mark": NOTE, "unguarded": NOTE}  # of what the engine says of a hunk


class LintFinding(NamedTuple):
    """What was found: `line` is 1-based (0 for none), `rule` a name for it, `text` what is wrong, `hint` what to do."""

    level: str
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
    found = [
        *_manifest(patchset, folder),
        *_ranges(patchset),
        *_options(patchset, list(patches.values())),
    ]
    cases = _cases(folder)
    for (origin, line), patch in patches.items():
        file = Path(origin).relative_to(folder).as_posix()
        found += _patch(
            patch, options, file, line, [text for path, text in cases if path in patch.paths]
        )
    return sorted(
        dict.fromkeys(found), key=lambda each: (each.file != MANIFEST, each.file, each.line)
    )


def _manifest(patchset: Patchset, folder: Path) -> Iterator[LintFinding]:
    if not patchset.provenance.get("remove_when"):
        hint = Message('add to [provenance]: remove_when = "upstream ..."')
        yield LintFinding(
            ADVICE, MANIFEST, 0, "remove-when", Message("nothing says when it can be removed"), hint
        )
    if not {"author", "origin", "bug"} & set(patchset.provenance):
        hint = Message("add one of author, origin and bug to [provenance]")
        yield LintFinding(
            ADVICE, MANIFEST, 0, "provenance", Message("nothing says where it comes from"), hint
        )
    if not (folder / FOLDER).is_dir():
        yield LintFinding(
            NOTE,
            MANIFEST,
            0,
            "cases",
            Message("it has no cases"),
            Message("see `sitepatch check --help`"),
        )


def _ranges(patchset: Patchset) -> Iterator[LintFinding]:
    for variant in patchset.variants:
        if overlap(variant.versions, "") is None:
            text = Message('no release is in the range "{versions}"', versions=variant.versions)
            yield LintFinding(ERROR, MANIFEST, 0, "unreachable", text)


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
            hint = Message("remove [options.{name}]", name=option.name)
            yield LintFinding(
                ERROR,
                MANIFEST,
                0,
                "unused-option",
                Message("no hunk writes ${name}", name=option.name),
                hint,
            )


def _holes(form: HunkText) -> list[str]:
    sides = ("\n".join(line for tag, line, _ in form.lines if tag in (" ", side)) for side in "-+")
    return [name for text in sides for name, _, _ in holes(text)]


def _cases(folder: Path) -> list[tuple[str, bytes]]:
    """The paths and texts that the cases of a patchset change; none where they cannot be read: `sitepatch check` says why."""
    try:
        cases = [read_case(path) for path in find_cases(folder)]
        return [(case.head[0], case.text) for case in cases if case.expected == AFTER]
    except (SitepatchError, OSError):
        return []


def _patch(
    patch: FilePatch, options: dict[str, OptionValue], file: str, line: int, cases: Sequence[bytes]
) -> Iterator[LintFinding]:
    """The findings about the hunks for one file; `cases` are texts that they change."""
    for path in sorted({path for path in patch.paths if patch.paths.count(path) > 1}):
        twice, remove = (
            Message("{path} is named twice", path=path),
            Message("remove one of the two `---` lines"),
        )
        yield LintFinding(ERROR, file, line, "unreachable", twice, remove)
    try:
        rewrite(b"", patch.hunks, options)  # what is wrong with them together is seen with any text
        for advice in advise(patch.hunks, options, cases):
            yield LintFinding(_LEVELS.get(advice.rule, ADVICE), file, *advice)
    except PatchError as error:
        yield LintFinding(ERROR, file, line, "wrong", error.message)

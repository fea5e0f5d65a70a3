"""Checks of a patchset that need no environment: errors, and what makes it hold for fewer releases than it could."""

from __future__ import annotations

from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Sequence, Tuple

from patcher.author.cases import AFTER, FOLDER, find_cases, read_case
from patcher.author.hunks.excerpts import is_identity
from patcher.engine.engine import rewrite
from patcher.engine.match.find import surroundings
from patcher.engine.match.match import Matcher
from patcher.engine.node import COMPOUND, Node, SyntaxProblem, is_expression, same
from patcher.engine.source import Source
from patcher.engine.spatch import notation
from patcher.engine.spatch.compile import compile_hunks
from patcher.engine.spatch.hunk import inside_flag
from patcher.engine.spatch.side import Hunk
from patcher.errors import PatchError, SitepatchError
from patcher.installed.versions import overlap
from patcher.message import Message
from patcher.model import FilePatch, HunkText, OptionValue, Patchset
from patcher.patchset.places import MANIFEST

ERROR, ADVICE, NOTE = "error", "advice", "note"
_MANY_LINES, _MANY_ARGUMENTS, _LONG = 4, 3, 40  # context lines; arguments that stay; characters of a string
_FEW_NAMES = 2  # of a statement that may stand in another branch as well
_LITERALS = ("Integer", "Float", "String")


class LintFinding(NamedTuple):
    """What was found: `line` is 1-based (0 for none), `rule` a name for it, `text` what is wrong, `hint` what to do."""

    level: str
    file: str
    line: int
    rule: str
    text: str
    hint: str = ""


def lint(patchset: Patchset, folder: Path) -> List[LintFinding]:
    """Check a patchset in its folder; the findings are sorted by file and line."""
    options = {option.name: option.default for option in patchset.options}
    patches = {(patch.hunks[0].origin, patch.line): patch for variant in patchset.variants for patch in variant.patches}
    found = [*_manifest(patchset, folder), *_ranges(patchset), *_options(patchset, list(patches.values()))]
    cases = _cases(folder)
    for (origin, line), patch in patches.items():
        file = Path(origin).relative_to(folder).as_posix()
        found += _patch(patch, options, file, line, [text for path, text in cases if path in patch.paths])
    return sorted(dict.fromkeys(found), key=lambda each: (each.file != MANIFEST, each.file, each.line))


def _manifest(patchset: Patchset, folder: Path) -> Iterator[LintFinding]:
    if not patchset.provenance.get("remove_when"):
        hint = Message('add to [provenance]: remove_when = "upstream ..."')
        yield LintFinding(ADVICE, MANIFEST, 0, "remove-when", Message("nothing says when it can be removed"), hint)
    if not {"author", "origin", "bug"} & set(patchset.provenance):
        hint = Message("add one of author, origin and bug to [provenance]")
        yield LintFinding(ADVICE, MANIFEST, 0, "provenance", Message("nothing says where it comes from"), hint)
    if not (folder / FOLDER).is_dir():
        yield LintFinding(NOTE, MANIFEST, 0, "cases", Message("it has no cases"), Message("see `sitepatch check --help`"))


def _ranges(patchset: Patchset) -> Iterator[LintFinding]:
    for variant in patchset.variants:
        if overlap(variant.versions, "") is None:
            text = Message('no release is in the range "{versions}"', versions=variant.versions)
            yield LintFinding(ERROR, MANIFEST, 0, "unreachable", text)


def _options(patchset: Patchset, patches: Sequence[FilePatch]) -> Iterator[LintFinding]:
    used = {name for patch in patches for hunk in patch.hunks for form in hunk.forms for name in _holes(form)}
    for option in patchset.options:
        if option.name not in used:
            hint = Message("remove [options.{name}]", name=option.name)
            yield LintFinding(ERROR, MANIFEST, 0, "unused-option", Message("no hunk writes ${name}", name=option.name), hint)


def _holes(form: HunkText) -> List[str]:
    sides = ("\n".join(line for tag, line, _ in form.lines if tag in (" ", side)) for side in "-+")
    return [name for text in sides for name, _, _ in notation.holes(text)]


def _cases(folder: Path) -> List[Tuple[str, Source]]:
    """The paths and texts that the cases of a patchset change; none where they cannot be read: `sitepatch check` says why."""
    try:
        cases = [read_case(path) for path in find_cases(folder)]
        return [(case.head[0], Source(case.text)) for case in cases if case.expected == AFTER]
    except (SitepatchError, SyntaxProblem, OSError):
        return []


def _patch(
    patch: FilePatch, options: Dict[str, OptionValue], file: str, line: int, cases: Sequence[Source]
) -> Iterator[LintFinding]:
    """The findings about the hunks for one file; `cases` are texts that they change."""
    for path in sorted({path for path in patch.paths if patch.paths.count(path) > 1}):
        twice, remove = Message("{path} is named twice", path=path), Message("remove one of the two `---` lines")
        yield LintFinding(ERROR, file, line, "unreachable", twice, remove)
    try:
        rewrite(b"", patch.hunks, options)  # what is wrong with them together is seen with any text
        compiled = compile_hunks(patch.hunks, options)
    except PatchError as error:
        yield LintFinding(ERROR, file, line, "wrong", error.message)
        return
    for hunk in [form for each in compiled for form in each.forms]:
        found = (*_general(hunk), *_specific(hunk), *_literals(hunk), *_unmarked(hunk), *_unguarded(hunk, cases))
        for rule, level, text, hint in found:
            yield LintFinding(level, file, hunk.text.line, rule, text, hint)
    for one, other in ((one, other) for one in compiled for other in compiled if one is not other):
        if one.text.scope == other.text.scope and _meet(one, other):
            text = Message("it changes code that the hunk in line {line} changes too", line=other.text.line)
            yield LintFinding(ERROR, file, one.text.line, "overlap", text, Message("write one hunk for both"))


_Found = Iterator[Tuple[str, str, str, str]]  # rule, level, text, hint


def _general(hunk: Hunk) -> _Found:
    nodes = [part for top in hunk.before.nodes for part in top.walk()]
    runs = all(node.role == "run" for node in hunk.before.nodes)
    strings = [node for node in nodes if node.kind == "String" and not node.role]
    if not (runs or strings or frozenset().union(*hunk.before.identifiers())):
        hint = Message("write a name or a string that only this place has")
        yield "too-general", ADVICE, Message("it is looked for by placeholders alone, which stand for any code"), hint


def _specific(hunk: Hunk) -> _Found:
    kept = [text for tag, text, _ in hunk.text.lines if tag == " " and text.strip()]
    if len(kept) > _MANY_LINES and not any([*notation.holes(text)] or "..." in text for text in kept):
        text = Message(
            "{number} lines of context are written out: a release that changes one of them is refused", number=len(kept)
        )
        yield "too-specific", ADVICE, text, Message("keep the line that names the place; `...` stands for others")
    for call in _calls(hunk.before.nodes):
        for other in _calls(hunk.after.nodes):
            args = call.items("args")
            stays = [each for each in args if any(same(each, now) for now in other.items("args"))]
            last = max((at for at, each in enumerate(args) if each not in stays), default=len(args))
            names = [each for each in args[:last] if is_identity(each)]  # they say which call it is
            stays = [each for each in stays if each not in names and not any(part.role for part in each.walk())]
            if same(call.node("func"), other.node("func")) and len(stays) >= _MANY_ARGUMENTS:
                stay = "{number} arguments that stay are written out: a release that changes one of them is refused"
                text = Message(stay, number=len(stays))
                yield "too-specific", ADVICE, text, Message("write `...` for those that do not matter")
                return


def _literals(hunk: Hunk) -> _Found:
    """Literals on both sides that name no place: long strings, the values of keyword arguments."""
    after = [part for top in hunk.after.nodes for part in top.walk()]
    for node in (part for top in hunk.before.nodes for part in top.walk()):
        value = node.fields.get("value")
        literal = node if node.kind == "String" else value if node.kind == "Keyword" and isinstance(value, Node) else None
        if literal is None or literal.role or literal.kind not in _LITERALS or not any(same(node, other) for other in after):
            continue
        written = str(literal.fields["value"])
        if node.kind == "Keyword":
            name = node.node("arg").fields.get("value")
            text = Message(
                "the value of `{name}` stays {written}: a release with another one is refused", name=name, written=written
            )
            yield "needless-literal", ADVICE, text, Message("write `{name}=$_`, or `...` for the argument", name=name)
        elif len(written) > _LONG:
            text = Message("a long string stays as it is: a release that words it anew is refused")
            yield "needless-literal", ADVICE, text, Message("write `$_`")


def _unmarked(hunk: Hunk) -> _Found:
    tags = {tag for tag, text, _ in hunk.text.lines if text.strip()}
    if "-" not in tags and not any("# sitepatch" in text for tag, text, _ in hunk.text.lines if tag == "+"):
        yield "mark", NOTE, Message("inserted statements are not marked as such"), Message("add a comment: # sitepatch: NAME")


def _unguarded(hunk: Hunk, cases: Sequence[Source]) -> _Found:
    """A place that is one statement with few names and, in the cases, stands inside others, which the hunk does not write."""
    alone = hunk.form == "statements" and len(hunk.before.nodes) == 1 and hunk.before.nodes[0].kind not in COMPOUND
    if alone and hunk.text.inside is None and len(frozenset().union(*hunk.before.identifiers())) <= _FEW_NAMES:
        made = {inside for source in cases for _, inside in surroundings(source, hunk)}
        if len(made) == 1 and made != {()}:
            text = Message("one statement is its place, in whatever branch or loop of the scope a release has it")
            yield "unguarded", NOTE, text, Message("write `{flag}` to hold it where it stands", flag=inside_flag(made.pop()))


def _calls(nodes: Sequence[Node]) -> List[Node]:
    return [part for top in nodes for part in top.walk() if part.kind == "Call" and not part.role]


def _meet(one: Hunk, other: Hunk) -> bool:
    """Whether a hunk is for the same code as another one of its scope, or for an expression in what that removes."""
    if [repr(node) for node in one.before.nodes] == [repr(node) for node in other.before.nodes]:
        return one.form == other.form and not all(node.role == "run" for node in one.before.nodes)
    if one.form != "expression" or one.text.when_present or other.text.when_present:
        return False
    pattern = one.before.nodes[0]
    stays = [part for top in other.after.nodes for part in top.walk()]
    return any(
        any(True for _ in Matcher().node(pattern, part)) and not any(same(part, each) for each in stays)
        for top in other.before.nodes
        for part in top.walk()
        if is_expression(part) and not part.role and other.before.number(part) not in other.before.context
    )

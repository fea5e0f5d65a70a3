"""The lines of a hunk -> its two sides as syntax trees, all placeholders checked (rules 3 to 7)."""

from __future__ import annotations

from functools import lru_cache
from typing import Mapping, Sequence

from patcher.engine import lex
from patcher.engine.match import METHODS, REMOVED, Matcher
from patcher.engine.node import DEFINITIONS, KNOWN, Node, same
from patcher.engine.spatch.hunk import reject
from patcher.engine.spatch.parse import raise_marked, read_side
from patcher.engine.spatch.runs import pair_runs
from patcher.engine.spatch.side import Hunk, HunkForm, Side, Upstream
from patcher.errors import Location, PatchError
from patcher.message import Message
from patcher.model import HunkText, OptionValue

_SHORT = 3  # characters of a string; a shorter one is too common to be searched for
_TRIVIAL = frozenset(["Pass", "Break", "Continue", "Name", "Integer", "Float", "Ellipsis"])
_BARE_STATEMENTS = frozenset(["Pass", "Break", "Continue", "Return"])
_TEXTS = ("String", "FText")


def compile_hunks(hunks: Sequence[HunkText], options: Mapping[str, OptionValue]) -> list[Hunk]:
    """Parse and check hunks, but for those that are no syntax.

    Raises:
        PatchError: with the problems of all of them, one a line.
    """
    sorted_options = tuple(sorted(options.items()))
    compiled: list[Hunk] = []
    problems: list[PatchError] = []
    for hunk in hunks:
        if hunk.plain:
            continue

        forms: list[Hunk] = []
        for form in hunk.forms:
            try:
                forms.append(_compiled(form, sorted_options))
            except PatchError as error:
                problems.append(error)
            except RecursionError:
                message = Message("the hunk is nested too deeply or too long to be read")
                location = Location(form.origin, form.line)
                problems.append(PatchError.at(location, message))

        if forms:
            first, *further = forms
            compiled.append(first._replace(text=hunk, further_forms=tuple(further)))

    if problems:
        raise PatchError.joined(problems)

    renamed: dict[str, str] = {}
    for each in compiled:
        renamed.update(_renamed_by(each))

    if not renamed:
        return compiled
    return [_in_scopes(each, renamed) for each in compiled]


def _in_scopes(hunk: Hunk, renamed: Mapping[str, str]) -> Hunk:
    """A hunk with its scope after the change; `renamed` has what other hunks make of scopes."""
    names = hunk.upstream.scope.split(".")
    for index in range(len(names)):
        around = ".".join(names[: index + 1])
        new_scope = renamed.get(around, around)
        _, _, name = new_scope.rpartition(".")
        names[index] = name

    upstream = hunk.upstream._replace(scope=".".join(names))
    further_forms = tuple(_in_scopes(form, renamed) for form in hunk.further_forms)
    return hunk._replace(upstream=upstream, further_forms=further_forms)


@lru_cache(maxsize=256)
def _compiled(hunk: HunkText, options: tuple[tuple[str, OptionValue], ...]) -> Hunk:
    """A compiled hunk; those of one text and one set of options are one object."""
    return compile_hunk(hunk, dict(options))


def compile_hunk(hunk_text: HunkText, options: Mapping[str, OptionValue]) -> Hunk:
    """Parse both sides of a hunk and check every reference in it.

    Raises:
        PatchError: a side that does not parse, an unbound metavariable, an unknown option, a
            trivial before side and the like; the message names file and line and marks the place.
    """
    before = read_side(hunk_text, "-", options=options)
    after = read_side(hunk_text, "+", options=options)
    form = _form(hunk_text, before, after=after)
    if form is HunkForm.EXPRESSION:
        before = _expression_alone(before)
        after = _expression_alone(after)
        _refuse_comments(hunk_text)

    _compare_escapes(before, after)
    _name_wildcards(before)
    _name_wildcards(after)
    _check_names(hunk_text, before, after=after)
    _check_comments(hunk_text, before, is_after=False)
    _check_comments(hunk_text, after, is_after=True)
    pair_runs(hunk_text, before, after=after)
    _release_options(before, options)
    _check_size(hunk_text, form, before=before)
    _check_change(hunk_text, before, after=after)
    if form is HunkForm.STATEMENTS:
        _require_absent(before.nodes, after.nodes)
    _mark_methods(after)
    upstream = Upstream(
        scope=_renamed_scope(hunk_text.scope, before, after=after),
        is_proof=_proves_upstream(form, before, after=after),
    )

    hunk = Hunk(
        text=hunk_text,
        form=form,
        before=before,
        after=after,
        upstream=upstream,
        options=options,
    )

    _check_scope_line(hunk)
    return hunk


def _compare_escapes(before: Side, after: Side) -> None:
    """Let strings count as written of which a hunk changes the escapes, as where they become raw.

    Of all others the value counts, whether Python knows the escapes or not (rule 8).
    """
    spelled, respelled = _spellings(before), _spellings(after)
    for node in (*before.walk(), *after.walk()):
        if node.kind not in _TEXTS:
            continue
        value, escape = str(node.fields["value"]), node.fields.pop("escape", KNOWN)
        if value in respelled and spelled.get(value, respelled[value]) != respelled[value]:
            node.fields["escape"] = escape


def _spellings(side: Side) -> dict[str, set[object]]:
    """For the value of each text of a side, whether Python knows its escapes where it stands."""
    spellings: dict[str, set[object]] = {}
    for node in side.walk():
        if node.kind in _TEXTS:
            escape = node.fields.get("escape", KNOWN)
            spellings.setdefault(str(node.fields["value"]), set()).add(escape)
    return spellings


def _release_options(before: Side, options: Mapping[str, OptionValue]) -> None:
    """Let a placeholder of a `-` line that an option has no value for there match any literal."""
    for option in before.placeholders("option"):
        if option.name not in options:
            option.role = "literal"
        elif before.number(option) not in before.context:
            option.name = ""  # a `+` line has the option's value in its place (rule 6)


def _expression_alone(side: Side) -> Side:
    """A side of one expression: that, and not the statement around it."""
    statement = side.nodes[0]
    return side._replace(nodes=[statement.node("value")])


def _form(hunk: HunkText, before: Side, after: Side) -> HunkForm:
    """The form of a hunk, by what its sides have."""
    if not before.nodes:
        message = Message(
            "the before side has no code, and comments are not matched: write the code beside "
            "which the `+` lines go"
        )
        reject(hunk.origin, hunk.line, message=message)

    if _is_expression(before) and _is_expression(after) and not before.nodes[0].role:
        placeholders = [*before.placeholders("meta"), *before.placeholders("option")]
        bound = {node.name for node in placeholders}
        new = after.nodes[0]
        # `$X` is bound to an expression there
        if new.role in ("", "option") or new.name in bound:
            return HunkForm.EXPRESSION

    old_are_clauses = all(node.is_clause for node in before.nodes)
    new_are_clauses = all(node.is_clause for node in after.nodes)
    if old_are_clauses and new_are_clauses:
        return HunkForm.CLAUSES

    has_new_clauses = bool(after.nodes) and new_are_clauses
    if old_are_clauses or has_new_clauses:
        message = Message(
            "one side begins with a clause (`else`, `except`, …) and the other does not"
        )
        reject(hunk.origin, hunk.line, message=message)

    return HunkForm.STATEMENTS


def _is_expression(side: Side) -> bool:
    """Whether a side is one expression."""
    if len(side.nodes) != 1:
        return False

    statement = side.nodes[0]
    return statement.kind == "Expr" and statement.role != "run"


# what is refused ---------------------------------------------------------------------------------
def _refuse_comments(hunk: HunkText) -> None:
    """Refuse the comments of a hunk of expressions."""
    for tag, line, number in hunk.lines:
        if tag != "+":
            continue
        for token in lex.tokens(line):
            if token.kind == "comment":
                message = Message(
                    "a comment in an expression hunk has no place to go: write the whole statement"
                )
                reject(
                    hunk.origin,
                    number,
                    message=message,
                    source=line,
                    start=token.start,
                    end=token.end,
                )


def _check_change(hunk: HunkText, before: Side, after: Side) -> None:
    """Refuse two sides of one syntax."""
    olds = [repr(node) for node in before.nodes]
    news = [repr(node) for node in after.nodes]
    if olds == news:
        message = Message(
            "the two sides differ only in layout or comments: nothing would change (comments are "
            "not matched)"
        )
        reject(hunk.origin, hunk.line, message=message)


def _check_comments(hunk: HunkText, side: Side, *, is_after: bool) -> None:
    """Refuse comments that are inserted without code, or deleted (rules 18 and 19)."""
    inside: set[int] = set()  # the rows of nodes
    for node in side.nodes:
        first = side.lines.number(node.begin)
        last = side.lines.number(node.end)
        inside.update(range(first, last + 1))

    rows = side.text.split("\n")
    for row, line in enumerate(rows[: len(side.numbers)], 1):
        number = side.numbers[row - 1]
        is_comment = line.lstrip().startswith("#")
        if not is_comment or row in inside or number in side.context:
            continue

        joins_code = _joins_code(side, row, step=-1) or _joins_code(side, row, step=1)
        if is_after and joins_code:
            continue

        message = Message(
            "a comment alone is not {what}: comments are not matched, they come along with "
            "inserted code",
            what="inserted" if is_after else "removed",
        )

        reject(
            hunk.origin,
            number,
            message=message,
            source=line,
            start=0,
            end=len(line),
        )


def _joins_code(side: Side, row: int, step: int) -> bool:
    """Whether code of the same `+` lines is next to a row (1-based).

    Only comments and blank lines may be between.
    """
    rows = side.text.split("\n")
    row += step
    while 1 <= row <= len(side.numbers):
        if side.numbers[row - 1] in side.context:
            return False

        line = rows[row - 1].lstrip()
        is_code = line[:1] not in ("", "#")
        if is_code:
            return True
        row += step

    return False


def _check_names(hunk: HunkText, before: Side, after: Side) -> None:
    """Refuse a metavariable of the after side that the before side does not bind."""
    bound = {node.name for node in before.placeholders("meta")}
    for node in after.placeholders("meta"):
        if node.name == "_":
            message = Message("`$_` stands for anything and cannot be written")
        elif node.name not in bound:
            known = sorted(f"${name}" for name in bound if name[0] != "_")
            message = Message(
                "`${name}` is not bound by the before side; bound there: {known}",
                name=node.name,
                known=", ".join(known) or Message("none"),
            )
        else:
            continue
        raise_marked(hunk, after, message=message, start=node.start, end=node.end)


def _name_wildcards(side: Side) -> None:
    """Give a `$_` on a context line a name of its own.

    So the after side keeps the code that it matches.
    """
    counted: dict[int, int] = {}
    for node in side.placeholders("meta"):
        line = side.number(node)
        if node.name == "_" and line in side.context:
            counted[line] = counted.get(line, 0) + 1
            node.name = f"_{line}.{counted[line]}"


def _check_size(hunk: HunkText, form: HunkForm, before: Side) -> None:
    """Refuse a before side that is too little to name a place."""
    nodes = before.nodes
    is_scoped = hunk.scope != "<module>"
    are_runs = all(node.role == "run" for node in nodes)
    if are_runs and form is not HunkForm.CLAUSES:
        if is_scoped:
            message = Message(
                "`...` alone is a before side only in `<module>`: write the header above it"
            )
            reject(hunk.origin, hunk.line, message=message)

        return

    is_expected_once = is_scoped and hunk.flags.expected == 1
    may_be_small = is_expected_once and _is_bare_statement(nodes)
    if _is_trivial(nodes) and not may_be_small:
        message = Message(
            "the before side is too little to name a place (`return`, `pass`, one name): add what "
            "stands beside it"
        )
        reject(hunk.origin, before.number(nodes[0]), message=message)


def _check_scope_line(hunk: Hunk) -> None:
    """Refuse what stands beside the `def` or `class` line of the hunk's own scope (rule 2).

    It belongs to the scope around.
    """
    around, _, name = hunk.text.scope.rpartition(".")
    if not any(_defines(node, name) for node in hunk.before.nodes):
        return
    for side in (hunk.before, hunk.after):
        others = [node for node in side.nodes if not node.is_definition]
        if len(side.nodes) < 2 or not others:
            continue

        problem = Message(
            "this stands beside `{name}` itself, outside of the scope `{scope}`",
            name=name,
            scope=hunk.text.scope,
        )

        message = Message("{what}: write `@@ {scope} @@`", what=problem, scope=around or "<module>")
        first = others[0]
        end = min(first.end, side.lines.end(first.start))
        raise_marked(
            hunk.text,
            side,
            message=message,
            start=first.start,
            end=end,
        )


def _defines(node: Node, name: str) -> bool:
    """Whether a statement defines a function or class of this name."""
    if not node.is_definition:
        return False
    return node.node("name").fields.get("value") == name


# what proves nothing -----------------------------------------------------------------------------
def _is_bare_statement(nodes: list[Node]) -> bool:
    """Whether a side is one statement such as `return False`.

    It may stand once in a function, which the file decides.
    """
    return len(nodes) == 1 and nodes[0].kind in _BARE_STATEMENTS


def _is_trivial(nodes: list[Node], words: int = 1) -> bool:
    """Whether code is so common that a match proves nothing (rule 26).

    So is a string alone of fewer than `words` words.
    """
    written = [node for node in nodes if node.role != "run"]
    if len(written) > 1:
        return False
    return all(_is_common(node, words) for node in written)


def _is_common(node: Node, words: int) -> bool:
    """Whether a statement or expression is too common to be searched for."""
    if node.kind == "Expr" and not node.role:
        node = node.node("value")
    if node.role in ("meta", "option", "literal") or node.kind in _TRIVIAL:
        return True

    if node.kind == "String":
        literal = str(node.fields["value"]).lstrip("b")
        text = literal[1:-1]
        return len(text) < _SHORT or len(text.split()) < words

    if node.kind == "Return":
        if node.fields["value"] is None:
            return True
        return node.node("value").kind in ("Name", "Integer")

    return False


def _proves_upstream(form: HunkForm, before: Side, after: Side) -> bool:
    """Whether a match of the after side shows that upstream made the change (rule 22)."""
    words = 2 if form is HunkForm.EXPRESSION else 1
    if _is_trivial(after.nodes, words):
        return False

    is_small = _is_bare_statement(before.nodes) and _is_trivial(before.nodes)
    if is_small:
        statement = before.nodes[0]
        is_kept = any(same(part, statement) for part in after.walk())
        if not is_kept:  # it may be gone for another reason
            return False

    return not _is_more_general(form, after, before=before)


def _is_more_general(form: HunkForm, after: Side, before: Side) -> bool:
    """Whether the after side matches its own before side (rule 22).

    Then it proves nothing about upstream.
    """
    pattern = after.nodes[0]
    for node in before.walk():
        is_alike = form is HunkForm.EXPRESSION and node.kind == pattern.kind
        if (is_alike or pattern.role) and _matches(pattern, node):
            return True

    if form is HunkForm.EXPRESSION:
        return False

    span = (0, 0, 0, 0)
    block = Node("Block", span, doc=None, body=before.nodes)
    has_clauses = form is HunkForm.CLAUSES
    if has_clauses:
        block = Node("If", span, clauses=before.nodes)

    places = Matcher().runs(after.nodes, block, module=False, clauses=has_clauses)
    return bool(places)


def _matches(pattern: Node, node: Node) -> bool:
    """Whether a pattern matches a node in any way."""
    return any(True for _ in Matcher().node(pattern, node))


# what the after side has to be without, and where it is ------------------------------------------
def _require_absent(before: list[Node], after: list[Node]) -> None:
    """Mark the optional parts that only the before side writes (rule 23).

    The after side is in place only without them.

    Where the hunk removes a run of decorators, only those of the after side may be there.
    """
    for old, new in zip(before, after):
        if old.kind != new.kind or old.role or new.role:
            continue

        for key in old.fields:
            if _goes(old, new, key=key):
                new.absent = (*new.absent, key)

        old_body = old.fields.get("body")
        new_body = new.fields.get("body")
        if _is_block(old_body) and _is_block(new_body):
            old_statements = old.node("body").items("body")
            new_statements = new.node("body").items("body")
            _require_absent(old_statements, new_statements)


def _goes(old: Node, new: Node, key: str) -> bool:
    """Whether an optional part of a statement goes."""
    if key == "decorators" and any(part.name == REMOVED for part in old.items(key)):
        return True
    if not old.fields[key] or new.fields.get(key):
        return False
    if key in ("decorators", "returns", "annotation", "clauses"):
        return True
    return key == "args" and old.kind == "ClassDef"


def _is_block(value: object) -> bool:
    return isinstance(value, Node) and value.kind == "Block"


def _mark_methods(after: Side) -> None:
    """Mark the class bodies that definitions are added to below a `...`.

    They are upstream wherever they are in the body.
    """
    for node in after.walk():
        if node.kind != "ClassDef" or node.role:
            continue

        block = node.node("body")
        body = block.items("body")
        added: list[Node] = []
        for statement in body:
            if after.number(statement) not in after.context:
                added.append(statement)

        count = len(body) - len(added)
        stays = body[:count]
        is_below_run = stays and stays[-1].role == "run" and body[count:] == added
        are_definitions = all(statement.kind in DEFINITIONS for statement in added)
        if added and is_below_run and are_definitions:
            block.name = METHODS


def _renamed_by(hunk: Hunk) -> dict[str, str]:
    """The scopes that a hunk renames: its own, or one whose definition it has among others."""
    scope = hunk.text.scope
    if scope != hunk.upstream.scope:
        return {scope: hunk.upstream.scope}

    old = _definitions(hunk.before)
    new = _definitions(hunk.after)
    gone = [name for name in old if name not in new]
    come = [name for name in new if name not in old]
    if len(gone) != 1 or len(come) != 1 or old[gone[0]] != new[come[0]]:
        return {}

    around = "" if scope == "<module>" else f"{scope}."
    return {around + gone[0]: around + come[0]}


def _definitions(side: Side) -> dict[str, str]:
    """The kinds of the definitions that a side consists of, by their names."""
    kinds: dict[str, str] = {}
    for node in side.nodes:
        if node.is_definition and not node.node("name").role:
            kinds[str(node.node("name").fields["value"])] = node.kind
    return kinds


def _renamed_scope(scope: str, before: Side, after: Side) -> str:
    """The scope of a hunk after the change, which differs where it renames its own definition."""
    if len(before.nodes) != 1 or len(after.nodes) != 1:
        return scope

    old = before.nodes[0]
    new = after.nodes[0]
    if not old.is_definition or old.kind != new.kind:
        return scope

    old_name = old.node("name")
    new_name = new.node("name")
    if old_name.role or new_name.role:
        return scope

    around, _, name = scope.rpartition(".")
    if old_name.fields["value"] != name:
        return scope

    renamed = str(new_name.fields["value"])
    return f"{around}.{renamed}" if around else renamed

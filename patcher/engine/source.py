"""The bytes of a target file -> text, scopes and ranges; edits of the text -> splices of bytes.

The stdlib `ast` finds a scope in the whole file, and libcst parses that scope only: with the same
result, seven times faster on a file of 100 KB. If the running interpreter is older than the
syntax of the file, `ast` fails and libcst parses the whole file.
"""

from __future__ import annotations

import ast
import fnmatch
import io
import tokenize
import warnings
from contextlib import contextmanager, suppress
from typing import Iterator, Sequence, cast

from patcher.engine.lex import Lines
from patcher.engine.node import Deferred, Node, SyntaxProblem
from patcher.engine.parsing import check_for_ast, parse_source
from patcher.message import Message
from patcher.model import Splice
from patcher.record import Record

BOM = b"\xef\xbb\xbf"
_BLOCKS = ("body", "orelse", "finalbody")
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Removed(Record):
    """Deleted code: its character range, and the block that it is deleted from.

    `block` is the start offset and the number of statements; None if the block may be empty.
    """

    start: int
    end: int
    block: tuple[int, int] | None


class Edit(Record):
    """Replace the characters `[start, end)` of a text by `text`.

    `removed` is the code whose lines this deletes, if any.
    """

    start: int
    end: int
    text: str
    removed: Removed | None = None


class Conflict(Exception):
    """The change cannot be made safely at this place; the message says why."""


class Definition(Record):
    """A `def` or `class`: its qualified name and the offsets of its text, decorators included."""

    name: str
    start: int
    end: int


class _Memory:
    """The files that were read, and the parts of files that were parsed, by their text.

    Those used last are kept, up to `_MOST_KEPT` characters of each.
    """

    def __init__(self) -> None:
        self._parts: dict[tuple[str, str, str], Node] = {}
        self._size = 0
        self._sources: dict[bytes, Source] = {}
        self._sources_size = 0

    def source(self, data: bytes) -> Source:
        """The file with these bytes."""
        source = self._sources.pop(data, None)
        if source is None:
            source = Source(data)
            self._sources_size += len(data)

        self._sources[data] = source
        while self._sources_size > _MOST_KEPT and len(self._sources) > 1:
            oldest = next(iter(self._sources))
            del self._sources[oldest]
            self._sources_size -= len(oldest)

        return source

    def parse(self, code: str, newline: str, indent: str) -> Node:
        """The block of a part of a file, at offset 0; nobody may change it."""
        key = (code, newline, indent)
        block = self._parts.pop(key, None)
        if block is None:
            block = parse_source(code, newline=newline, indent=indent)
            self._size += len(code)

        self._parts[key] = block
        while self._size > _MOST_KEPT and len(self._parts) > 1:
            oldest = next(iter(self._parts))
            oldest_code, _, _ = oldest
            del self._parts[oldest]
            self._size -= len(oldest_code)

        return block


_memory: _Memory | None = None
_MOST_KEPT = 400_000
"""Characters of code of which the trees are kept; they take about 200 bytes each."""


def read_source(data: bytes) -> Source:
    """A file, read for matching: within `remembered` the same one for the same bytes.

    Raises:
        SyntaxProblem: not text in its encoding, a null byte, or not Python.
    """
    return Source(data) if _memory is None else _memory.source(data)


@contextmanager
def remembered() -> Iterator[None]:
    """Within this context no file is read twice, nor a part that several files share.

    For callers that read many versions of a few files, as a series of patches makes them.
    """
    global _memory
    outer = _memory
    _memory = outer or _Memory()
    try:
        yield
    finally:
        _memory = outer


class Source:
    """A Python file, read for matching.

    All offsets are character offsets into `text` unless they are called bytes. `has_ast` is whether
    the running interpreter can parse the file.

    Args:
        data: the file's bytes; the encoding is detected as Python does (BOM, PEP 263, UTF-8).

    Raises:
        SyntaxProblem: not text in its encoding, a null byte, or not Python.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.bom_length = len(BOM) if data.startswith(BOM) else 0
        self.encoding = _encoding(data)
        try:
            self.text = data[self.bom_length :].decode(self.encoding)
        except (ValueError, LookupError) as error:
            raise _undecodable(error) from None

        # byte offsets are character offsets then
        self._has_one_byte_characters = len(self.text) == len(data) - self.bom_length
        self.lines = Lines(self.text)
        self.indent = "    "

        # what was parsed: definitions by range; statements of the module, with or without bodies
        self._slices: dict[tuple[int, int], Node] = {}
        self._statements: dict[tuple[int, bool], list[Node]] = {}
        self._whole: Node | None = None
        # what `block` returns, by the start of a statement
        self._blocks: dict[int, tuple[int, int] | None] = {}
        self._named: list[tuple[str, ast.stmt]] = []
        self._error_line = 0
        self._tree = self._ast()
        self.has_ast = self._tree is not None
        if self._tree is not None:
            self.indent = self._indentation(self._tree)
            return

        try:
            self.whole()
        except SyntaxProblem as problem:
            # libcst has no line for an error in a token
            problem.line = problem.line or self._error_line
            raise

    @property
    def tree(self) -> ast.Module | None:
        """The file as parsed by `ast`; None if that is not possible (`has_ast` is false)."""
        if self.has_ast and self._tree is None:
            self._tree = self._ast()
        return self._tree

    def release(self) -> None:
        """Free the tree, which is 200 times as large as the text; `tree` makes it again.

        Within `remembered` it stays.
        """
        if _memory is None:
            self._tree = None
            self._named = []

    def _indentation(self, tree: ast.Module) -> str:
        """The indentation of the first indented block."""
        for node in tree.body:
            for child in getattr(node, "body", []):
                start = self.lines.starts[child.lineno - 1]
                blank = self.text[start : start + child.col_offset]
                if blank and not blank.strip(" \t"):
                    return blank

        return self.indent

    def _ast(self) -> ast.Module | None:
        """The tree of the file, None if the running interpreter cannot parse it.

        Raises:
            SyntaxProblem: it is nested too deeply.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in the target are not ours to report
            try:
                check_for_ast(self.text)
                return ast.parse(self.text)
            except (RecursionError, MemoryError):
                # libcst would overflow the stack and crash the process
                raise SyntaxProblem(Message("the code is nested too deeply to be read")) from None
            except (SyntaxError, ValueError) as error:
                self._error_line = getattr(error, "lineno", None) or 0
                return None

    def statement_ranges(self) -> list[tuple[int, int]]:
        """The lines of each statement of the module; those that share a line are one range.

        There are none where `ast` cannot read it.
        """
        ranges: list[tuple[int, int]] = []
        for group in _groups(self.tree.body if self.tree else []):
            ranges.append((self._statement_start(group[0]), self._statement_end(group[-1])))

        return ranges

    # offsets --------------------------------------------------------------------------------------
    def byte(self, offset: int) -> int:
        """The byte offset in the file of a character offset in the text."""
        if self._has_one_byte_characters:
            return self.bom_length + offset

        ahead = self.text[:offset].encode(self.encoding)
        return self.bom_length + len(ahead)

    def character(self, byte: int) -> int:
        """The character offset in the text of a byte offset in the file."""
        byte = max(byte, self.bom_length)
        if self._has_one_byte_characters:
            return byte - self.bom_length

        ahead = self.data[self.bom_length : byte].decode(self.encoding, "ignore")
        return len(ahead)

    def splice(self, start: int, end: int, new: str) -> Splice:
        """A splice of the file's bytes, from character offsets and text.

        Raises:
            SyntaxProblem: `new` cannot be written in the file's encoding.
        """
        try:
            encoded = new.encode(self.encoding)
            return Splice(self.byte(start), self.byte(end), new=encoded)
        except UnicodeError as error:
            problem = Message(
                "the inserted code cannot be written in the file's encoding: {error}",
                error=error,
            )
            raise SyntaxProblem(problem) from None

    def one_line(self, node: Node) -> str:
        """The text of a node on one line."""
        return " ".join(self.text[node.start : node.end].split())

    def line(self, offset: int) -> str:
        """The line of an offset, without the blanks around it."""
        start = self.lines.start(offset)
        end = self.lines.end(offset)
        return self.text[start:end].strip()

    def offset(self, line: int, column: int) -> int:
        """The offset of a position of `ast`: a line (1-based) and a column in bytes of UTF-8."""
        start = self.lines.starts[line - 1]
        content = self.text[start : self.lines.end(start)]
        before = content.encode("utf-8")[:column]
        return start + len(before.decode("utf-8", "ignore"))

    def _statement_start(self, node: ast.stmt) -> int:
        """Where the first line of a statement begins, its decorators included."""
        first_line, _ = lines_of(node)
        start = self.lines.starts[first_line - 1]
        # libcst does not give back a form feed that begins a definition's line
        while self.text[start : start + 1] == "\f":
            start += 1

        return start

    def _statement_end(self, node: ast.stmt) -> int:
        """Where the line below a statement begins."""
        _, last_line = lines_of(node)
        if last_line < len(self.lines.starts):
            return self.lines.starts[last_line]
        return len(self.text)

    def _body_start(self, node: ast.stmt) -> int:
        """Where the body of a definition begins, behind the indentation of its first statement."""
        child: ast.stmt = node.body[0]  # type: ignore[attr-defined]
        if getattr(child, "decorator_list", []):
            return self.text.index("@", self._statement_start(child))
        return self.offset(child.lineno, child.col_offset)

    # scopes ---------------------------------------------------------------------------------------
    def whole(self) -> Node:
        """The whole file as one block.

        Raises:
            SyntaxProblem: libcst cannot read it.
        """
        if self._whole is None and self.tree is not None:
            self._whole = self._assembled(self.tree)
        if self._whole is None:
            self._whole = parse_source(self.text, newline=self.lines.newline, indent=self.indent)
        return self._whole

    def _assembled(self, tree: ast.Module) -> Node | None:
        """The whole file, from its top-level statements; definitions are read when asked for.

        None where another statement cannot be read, or there is none.
        """
        try:
            statements = self._statements_of(tree.body)
        except SyntaxProblem:
            return None

        return _block(statements) if statements else None

    def _statements_of(self, body: list[ast.stmt], *, at_once: bool = False) -> list[Node]:
        """The statements of the body of a module or class.

        Definitions are read when asked for, or at once.
        """
        statements: list[Node] = []
        for group in _groups(body):
            if isinstance(group[0], _DEFINITIONS):
                if at_once:
                    statements.append(self._definition(group[0], at_once=True))
                else:
                    statements.append(self._deferred(group[0]))

                continue

            start = self._statement_start(group[0])
            end = self._statement_end(group[-1])
            statements += self._parse_slice(start, end).items("body")

        return statements

    def _deferred(self, node: ast.stmt) -> Node:
        """A definition that is read when somebody asks what is in it."""
        kind = "ClassDef" if isinstance(node, ast.ClassDef) else "FunctionDef"
        opaque = self._opaque(node)
        begin = opaque.start
        decorators = getattr(node, "decorator_list", [])
        if decorators:
            begin = self.text.index("@", self._statement_start(node))
        span = (opaque.start, opaque.start, opaque.end, opaque.end)
        return Deferred(kind, span, begin=begin, read=lambda: self._definition(node))

    def _definition(self, node: ast.stmt, *, at_once: bool = False) -> Node:
        """A definition, read; of a class the header is, and its statements one by one."""
        if isinstance(node, ast.ClassDef) and self._begins_line(self._body_start(node)):
            with suppress(SyntaxProblem):  # as a whole it may be readable
                return self._class(node, at_once=at_once)

        start = self._statement_start(node)
        end = self._statement_end(node)
        block = self._parse_slice(start, end)
        return block.items("body")[0]

    def _class(self, node: ast.ClassDef, *, at_once: bool) -> Node:
        """A class, of which the header is read, and the statements of its body one by one."""
        definition = self._header(node).items("body")[0]
        body = _block(self._statements_of(node.body, at_once=at_once))
        statements = body.items("body")
        if statements[0].is_text:
            body.fields["doc"] = statements.pop(0)
        definition.fields["body"] = body
        body.parent = definition
        return definition

    def _begins_line(self, offset: int) -> bool:
        """Whether nothing but blanks is before an offset in its line."""
        return not self.text[self.lines.start(offset) : offset].strip()

    def definitions(self) -> list[Definition]:
        """Every `def` and `class` of the file, in the order of the text, duplicates included."""
        definitions = []
        if self.has_ast:
            for name, statement in self._named_definitions():
                start = self._statement_start(statement)
                end = self._statement_end(statement)
                definitions.append(Definition(name, start, end))
        else:
            for name, node in _definition_nodes(self.whole(), ""):
                definitions.append(Definition(name, node.begin, node.end))

        return definitions

    def _named_definitions(self) -> list[tuple[str, ast.stmt]]:
        """Every definition with its qualified name, in the order of the text."""
        self._named = self._named or list(_ast_definitions(self.tree))
        return self._named

    def block(self, start: int) -> tuple[int, int] | None:
        """The block around a definition of which only the definition itself was parsed.

        Args:
            start: where the definition begins.

        Returns:
            where the block begins and how many statements it has; None for the module. Without
            `ast` it is None as well: the whole file is parsed then, and its nodes have their block.
        """
        if self.has_ast and not self._blocks:
            for node in ast.walk(cast(ast.Module, self.tree)):
                for field in _BLOCKS:
                    body = getattr(node, field, None)
                    if isinstance(body, list) and body:
                        self._add_block(body, is_module=node is self.tree)

        return self._blocks.get(start)

    def _add_block(self, body: list[ast.stmt], *, is_module: bool) -> None:
        """Record what `block` returns for each statement of a block."""
        extent: tuple[int, int] | None = None
        if not is_module:
            extent = self._statement_start(body[0]), len(body)

        for child in body:
            start = self._statement_start(child)
            self._blocks.setdefault(start, extent)

    def scopes(
        self,
        scope: str,
        identifiers: Sequence[frozenset[str]],
        *,
        bodies: bool,
    ) -> list[Node]:
        """The blocks to search for a hunk.

        Args:
            scope: a qualified name with globs, or `<module>`.
            identifiers: for each statement of the pattern, the identifiers that it has. Of the
                module, only statements with all identifiers of one set are parsed; any other is a
                node of kind `Opaque`.
            bodies: whether the bodies of definitions are needed where the module is searched.

        Returns:
            one `Block` for each definition (that statement alone), or one for the whole module.
        """
        if scope == "<module>":
            return [self._module(identifiers, bodies)]

        scopes = []
        if self.has_ast:
            for name, definition in self._named_definitions():
                if in_scope(name, scope):
                    scopes.append(self._parsed(definition))
        else:
            for name, node in _definition_nodes(self.whole(), ""):
                if in_scope(name, scope):
                    scopes.append(_block_of(node))

        return scopes

    def _parsed(self, definition: ast.stmt) -> Node:
        """A block of a definition alone."""
        start = self._statement_start(definition)
        end = self._statement_end(definition)
        if (start, end) not in self._slices:
            if _memory is None:
                block = self._parse_slice(start, end)
            else:
                block = _block([self._definition(definition, at_once=True)])

            self._slices[start, end] = block

        return self._slices[start, end]

    def _parse_slice(self, start: int, end: int) -> Node:
        """The statements of `[start, end)` as a block."""
        return self._parse(self.text[start:end], start)

    def _parse(self, code: str, start: int) -> Node:
        """Statements that begin at an offset, as a block."""
        newline, indent = self.lines.newline, self.indent
        if _memory is None:
            return parse_source(code, offset=start, newline=newline, indent=indent)
        return _memory.parse(code, newline=newline, indent=indent).copied(start)

    # the module's own scope -----------------------------------------------------------------------
    def _module(self, identifiers: Sequence[frozenset[str]], bodies: bool) -> Node:
        """The block of the module; in it, what cannot match is not parsed (see `scopes`)."""
        if self.tree is None:
            return self.whole()

        statements: list[Node] = []
        for group in _groups(self.tree.body):
            start = self._statement_start(group[0])
            end = self._statement_end(group[-1])
            code = self.text[start:end]
            if not _has_all_of_one(code, identifiers):
                statements += [self._opaque(node) for node in group]
                continue

            if (start, bodies) not in self._statements:
                is_header = not bodies and isinstance(group[0], _DEFINITIONS)
                parsed = self._header(group[0]) if is_header else self._parse_slice(start, end)
                self._statements[start, bodies] = parsed.items("body")

            statements += self._statements[start, bodies]

        end = len(self.text)
        block = Node("Block", (0, 0, end, end), doc=None, body=statements)

        for statement in statements:
            statement.parent = block

        return block

    def _opaque(self, node: ast.stmt) -> Node:
        """A statement that is not parsed.

        It is named `future` for an import from `__future__`, `text` for a string alone.
        """
        start = self.offset(node.lineno, node.col_offset)
        end = self.offset(cast(int, node.end_lineno), cast(int, node.end_col_offset))
        opaque = Node("Opaque", (start, start, end, end))
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            opaque.name = "future"
        elif isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str):
            opaque.name = "text"

        return opaque

    def _header(self, node: ast.stmt) -> Node:
        """A block with one definition: its header is parsed, its body is not."""
        start = self._statement_start(node)
        body_start = self._body_start(node)
        code = self.text[start:body_start] + "pass"
        block = self._parse(code, start)
        definition = block.items("body")[0]

        # the `pass` becomes the body that was left out, up to where that ends in the file
        end = self._opaque(node).end
        body = definition.node("body")
        body.fields["body"] = [Node("Opaque", (body_start, body_start, end, end))]
        body.fields["doc"] = None
        for part in (body, definition):
            part.end = part.outer_end = end

        return block


def _encoding(data: bytes) -> str:
    """The encoding of a file, without the BOM.

    Raises:
        SyntaxProblem: an unknown encoding, or a null byte.
    """
    if b"\0" in data:
        raise SyntaxProblem(Message("the file has a null byte: it is not Python source"))

    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except (SyntaxError, ValueError, LookupError) as error:
        raise _undecodable(error) from None

    return encoding.replace("utf-8-sig", "utf-8")


def _undecodable(error: Exception) -> SyntaxProblem:
    """What is raised for a file that is not text in its encoding."""
    return SyntaxProblem(Message("the file is not text in its encoding: {error}", error=error))


def lines_of(node: ast.stmt) -> tuple[int, int]:
    """The first and the last line of a statement, its decorators included."""
    decorators = getattr(node, "decorator_list", [])
    start = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    return start, cast(int, node.end_lineno)


def definition_lines(data: bytes, scope: str) -> tuple[int, ...]:
    """The first lines (1-based) of the definitions of a file that a scope names (`*` is a glob).

    A file that is not Python has none.
    """
    try:
        source = read_source(data)
    except SyntaxProblem:
        return ()

    lines = []
    for definition in source.definitions():
        if in_scope(definition.name, scope):
            lines.append(source.lines.number(definition.start))

    return tuple(lines)


def in_scope(name: str, scope: str) -> bool:
    """Whether `scope` names the definition with this qualified name; `*` is a glob in one part."""
    parts = name.split(".")
    patterns = scope.split(".")
    if len(parts) != len(patterns):
        return False
    return all(map(fnmatch.fnmatchcase, parts, patterns))


def _has_all_of_one(code: str, identifiers: Sequence[frozenset[str]]) -> bool:
    """Whether a text has every name of one of these sets."""

    def has_all(names: frozenset[str]) -> bool:
        return all(name in code for name in names)

    return any(map(has_all, identifiers))


def _groups(body: list[ast.stmt]) -> Iterator[list[ast.stmt]]:
    """The top-level statements, in groups of those that share a line (`a; b`)."""
    group: list[ast.stmt] = []
    for node in body:
        if group and node.lineno > cast(int, group[-1].end_lineno):
            yield group
            group = []

        group.append(node)

    if group:
        yield group


def _ast_definitions(tree: ast.Module | None) -> Iterator[tuple[str, ast.stmt]]:
    """Every definition with its qualified name, in the order of the text.

    Not recursive: a chain of `elif` nests deep.
    """
    waiting: list[tuple[ast.AST | None, str]] = [(tree, "")]
    while waiting:
        node, prefix = waiting.pop()
        if isinstance(node, _DEFINITIONS):
            yield prefix + node.name, node
            prefix = f"{prefix}{node.name}."

        children: list[ast.AST] = []
        for field in (*_BLOCKS, "handlers", "cases"):
            children += getattr(node, field, ())

        waiting += [(child, prefix) for child in reversed(children)]


def _definition_nodes(node: Node, prefix: str) -> Iterator[tuple[str, Node]]:
    """Every definition below a node with its qualified name, in the order of the text."""
    for child in node.children():
        name = prefix
        if child.is_definition:
            own_name = child.node("name").fields["value"]
            qualified = f"{prefix}{own_name}"
            yield qualified, child
            name = f"{qualified}."

        yield from _definition_nodes(child, name)


def _block(statements: list[Node]) -> Node:
    """A block of statements, which becomes their parent."""
    start, end = statements[0].begin, statements[-1].outer_end
    block = Node("Block", (start, start, end, end), doc=None, body=statements)
    for statement in statements:
        statement.parent = block

    return block


def _block_of(node: Node) -> Node:
    """A block of one statement, which keeps its parent."""
    span = (node.outer_start, node.start, node.end, node.outer_end)
    return Node("Block", span, doc=None, body=[node])

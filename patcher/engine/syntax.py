"""Python text -> a tree of `Node`s. The only module that names libcst."""

from __future__ import annotations

import gc
import re
import sys
from importlib import import_module
from typing import Any

from patcher.engine.convert import Converter
from patcher.engine.lex import Token, expressions
from patcher.engine.node import Node, SyntaxProblem
from patcher.errors import SitepatchError
from patcher.message import Message

try:
    import libcst as cst
    from libcst._nodes.internal import CodegenState

    import_module("libcst.native")  # which libcst itself imports at the first parse
except ImportError as error:
    raise SitepatchError(
        "libcst, which reads Python code, cannot be imported: {error}",
        "install it again, for this interpreter: "
        "{executable} -m pip install --force-reinstall libcst",
        error=error,
        executable=sys.executable,
    ) from error

# The line is read from the message: the error's `raw_line` is one too high, or 1 without a line.
_ERROR = (
    r"(?:parser error: error at (?P<line>\d+):(?P<column>\d+): |tokenizer error: )?(?P<words>.*)"
)
_MAX_BRACKETS = 200  # CPython reads no deeper nesting either (its tokenizer's MAXLEVEL)
_MAX_CHAIN = 500  # from about 400 on the parser runs into Python's recursion limit
# characters: before Python 3.11 `ast.parse` crashes on a chain of some hundred thousand
_DANGEROUS = 40_000
_MAX_IN_CASE = 7  # brackets in a pattern of `case`: for each level libcst takes ten times as long
_STRING = r"""[A-Za-z]{0,3}(?:'''(?:[^\\]|\\.)*?'''|\"\"\"(?:[^\\]|\\.)*?\"\"\"
    |'(?:[^'\\\r\n]|\\.)*'|"(?:[^"\\\r\n]|\\.)*")"""
_PART = re.compile(
    rf"""{_STRING}|\#[^\r\n]*|\\\r?\n|[\r\n][ \t]*|[^\w\s]
    |\b(?:and|or|not|if|else|elif|for|lambda|await|in|is|case(?!\s*[.=,:]))\b""",
    re.VERBOSE | re.DOTALL,
)
_LINE_BREAK = re.compile(r"\r\n|\r|\n")


class _Recorder(CodegenState):
    """Runs libcst's code generation and records where the text of each node begins and ends.

    `libcst.metadata` is several times slower, and its positions lack parts (a parameter's default).
    """

    def __init__(self, newline: str, indent: str) -> None:
        super().__init__(default_indent=indent, default_newline=newline)
        self.offset = 0
        self.outer: dict[int, tuple[int, int]] = {}
        self.inner: dict[int, tuple[int, int]] = {}
        self.starts: dict[int, int] = {}

    def add_token(self, value: str) -> None:
        self.tokens.append(value)
        self.offset += len(value)

    def add_indent_tokens(self) -> None:
        self.tokens.extend(self.indent_tokens)
        self.offset += sum(map(len, self.indent_tokens))

    def pop_trailing_newline(self) -> None:
        if self.tokens:
            self.offset -= len(self.tokens.pop())

    def before_codegen(self, node: Any) -> None:
        self.starts[id(node)] = self.offset

    def after_codegen(self, node: Any) -> None:
        self.outer[id(node)] = (self.starts[id(node)], self.offset)

    def record_syntactic_position(
        self, node: Any, *, start_node: Any = None, end_node: Any = None
    ) -> Any:
        return _Position(self, node)


class _Position:
    """Records where the text of a node begins and ends without layout and parentheses."""

    start: int

    def __init__(self, state: _Recorder, node: Any) -> None:
        self.state, self.node = state, node

    def __enter__(self) -> None:
        self.start = self.state.offset

    def __exit__(self, *_: object) -> None:
        self.state.inner[id(self.node)] = (self.start, self.state.offset)


# parsing ------------------------------------------------------------------------------------------
def parse_source(code: str, *, offset: int = 0, newline: str = "\n", indent: str = "    ") -> Node:
    """Parse module text (or an indented part of one) into a `Block`.

    Args:
        code: source text; an indented part begins at the start of a line.
        offset: the character offset of `code` in its file, which is added to every span.
        newline: the file's line break, which libcst cannot always detect in a part of a file.
        indent: the file's indentation unit.

    Raises:
        SyntaxProblem: not valid Python, or libcst does not reproduce the text byte for byte.
    """
    # libcst takes a lone CR for a line break, but not at the end
    code = code[:-1] if code.endswith("\r") else code
    # an indented part gets a header: dedenting it would change its multi-line strings
    scaffold = f"if 1:{newline}" if code[:1] in (" ", "\t") else ""
    config = cst.PartialParserConfig(default_newline=newline, default_indent=indent)
    collects = gc.isenabled()
    gc.disable()  # a third of the time would go to collections that find nothing
    try:
        check_depth(code)
        module = cst.parse_module(scaffold + code, config)
        block = _converted(module, scaffold, code, offset)
    except RecursionError:
        raise SyntaxProblem(Message("the code is nested too deeply to be read")) from None
    except cst.ParserSyntaxError as error:
        raise _syntax_problem(error.message, bool(scaffold)) from None
    except cst.CSTValidationError as error:  # which the parser does not see: `"a" b"b"`
        raise SyntaxProblem(str(error)) from None
    finally:
        if collects:
            gc.enable()
    for node in block.walk():
        for child in node.children():
            child.parent = node
    return block


def _converted(module: Any, scaffold: str, code: str, offset: int) -> Node:
    """A parsed module as a block, without its scaffold."""
    state = _Recorder(module.default_newline, module.default_indent)
    module._codegen(state)
    if "".join(state.tokens) != scaffold + code:
        problem = Message(
            "the parser does not give this text back byte for byte "
            "(a form feed or an odd line break?)"
        )
        raise SyntaxProblem(problem)
    body: Any = module.body
    if scaffold:
        if len(body) != 1 or body[0].orelse is not None:
            problem = Message("a part of the code is indented less than its first line")
            raise SyntaxProblem(problem)
        body = body[0].body.body
    shift = offset - len(scaffold)
    return Converter(scaffold + code, shift, outer=state.outer, inner=state.inner).statements(body)


def _syntax_problem(message: str, has_scaffold: bool) -> SyntaxProblem:
    """The problem for a message of libcst's parser."""
    match = re.match(_ERROR, message)
    assert match is not None  # any text is an error
    words = match["words"]
    if words.startswith("expected one of "):
        words = Message("unexpected code")
    line = max(0, int(match["line"] or 0) - has_scaffold)
    return SyntaxProblem(words, line, column=int(match["column"] or 0))


# limits: libcst would overflow the stack on text that nests deeper, or take hours -----------------
def check_depth(code: str) -> None:
    """Refuse a text that nests too deeply, or has too long a chain.

    A chain is one of operators, attributes, calls or `elif`.

    Raises:
        SyntaxProblem: it does, with the line.
    """
    if len(code) <= _MAX_BRACKETS and "case" not in code:
        return
    nesting = _Nesting()
    for match in _PART.finditer(code):
        nesting.add(match.group())
        if nesting.is_too_deep():
            line = len(_LINE_BREAK.findall(code[: match.start()])) + 1
            raise SyntaxProblem(Message("the code is nested too deeply to be read"), line)


class _Nesting:
    """How deep the code is at one part of a text (a match of `_PART`) after the other.

    `base` is the depth of the innermost open bracket, `chain` the number of parts that are chained
    in it so far. `outer` has both for each bracket around.
    """

    def __init__(self) -> None:
        self.base = 0
        self.chain = 0
        self.outer: list[tuple[int, int]] = []
        self.in_string = 0  # the chain inside an f-string that was just added
        self.elifs: dict[str, int] = {}  # their number by indentation
        self.indent = ""
        self.begins_line = True
        self.in_case = False

    def add(self, part: str) -> None:
        """Go on to the next part."""
        letter = part[0]
        if letter in "([{":
            self.outer.append((self.base, self.chain + 1))
            self.base += self.chain + 1
            self.chain = 0
        elif letter in ")]}":
            self.base, self.chain = self.outer.pop() if self.outer else (0, 0)
        elif letter in ",;":
            self.chain = 0
        elif letter in "\r\n":
            self._begin_line(part)
        elif letter == ":":
            self.in_case = self.in_case and bool(self.outer)
        elif part == "case":
            self.in_case = not self.outer
        elif letter not in "=#\\":  # these chain nothing
            self._link(part)
        self.begins_line = letter in "\r\n"
        self.in_string = _chain_inside(part) if "{" in part[1:] else 0

    def _begin_line(self, part: str) -> None:
        """A line break and the blanks behind it; in brackets the statement goes on."""
        if not self.outer:
            self.indent = part[1:]
            self.chain = 0
            self.in_case = False

    def _link(self, part: str) -> None:
        """An operator, a string or a keyword, which makes the chain longer."""
        self.chain += 1
        if part == "if":  # the guard of a case is no pattern
            self.in_case = False
        if self.begins_line and part == "if":
            self.elifs[self.indent] = 0
        elif self.begins_line and part == "elif":
            self.elifs[self.indent] = self.elifs.get(self.indent, 0) + 1

    def is_too_deep(self) -> bool:
        """Whether libcst could not read a text that is as deep as this."""
        most_brackets = _MAX_IN_CASE if self.in_case else _MAX_BRACKETS
        if len(self.outer) > most_brackets:
            return True
        depth = self.base + self.chain + self.in_string
        return max(depth, self.elifs.get(self.indent, 0)) > _MAX_CHAIN


def check_for_ast(code: str) -> None:
    """`check_depth` for a whole file, before `ast.parse` reads it.

    Only where `ast.parse` does not check the depth itself.

    Raises:
        SyntaxProblem: see `check_depth`.
    """
    if sys.version_info < (3, 11) and len(code) > _DANGEROUS:
        check_depth(code)


def _chain_inside(string: str) -> int:
    """An upper bound for the longest chain in the braces of an f-string; 0 for other strings."""
    parts = expressions(Token("string", string, 0, len(string)))
    if not parts:
        return 0
    return sum(part.kind in ("op", "run", "string") for part in parts) + string.count("{")

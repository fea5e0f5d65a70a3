"""Python text -> a tree of `Node`s. The only module that names libcst."""

from __future__ import annotations

import gc
import re
import sys
from importlib import import_module
from typing import Any

from patcher.engine.convert import Converter
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
def parse_module(code: str, *, offset: int, newline: str, indent: str) -> Node:
    """What `patcher.engine.parsing.parse_source` does, for text that does not nest too deeply.

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

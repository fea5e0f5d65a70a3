"""Python text -> a tree of `Node`s. The only module that names libcst."""

from __future__ import annotations

import gc
import re
import sys
from importlib import import_module
from typing import Any, Dict, Tuple

from patcher.engine.bounds import check_depth
from patcher.engine.convert import Converter
from patcher.engine.node import Node, SyntaxProblem
from patcher.errors import SitepatchError

try:
    import libcst as cst
    from libcst._nodes.internal import CodegenState

    import_module("libcst.native")  # which libcst itself imports at the first parse
except ImportError as error:
    raise SitepatchError(
        f"libcst, which reads Python code, cannot be imported: {error}",
        f"install it again, for this interpreter: {sys.executable} -m pip install --force-reinstall libcst",
    ) from error

# The line is read here: `raw_line` is one too many, or 1 where the tokenizer gives none.
_ERROR = re.compile(r"(?:parser error: error at (?P<line>\d+):(?P<column>\d+): |tokenizer error: )?(?P<words>.*)")


class _Recorder(CodegenState):
    """Runs libcst's code generation and records the offsets at which each node's text begins and ends.

    `libcst.metadata` is several times slower, and leaves parts out of its positions (a parameter's default).
    """

    def __init__(self, newline: str, indent: str) -> None:
        super().__init__(default_indent=indent, default_newline=newline)
        self.offset = 0
        self.outer: Dict[int, Tuple[int, int]] = {}
        self.inner: Dict[int, Tuple[int, int]] = {}
        self.begun: Dict[int, int] = {}

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
        self.begun[id(node)] = self.offset

    def after_codegen(self, node: Any) -> None:
        self.outer[id(node)] = (self.begun[id(node)], self.offset)

    def record_syntactic_position(self, node: Any, *, start_node: Any = None, end_node: Any = None) -> Any:
        return _Position(self, node)


class _Position:
    start: int

    def __init__(self, state: _Recorder, node: Any) -> None:
        self.state, self.node = state, node

    def __enter__(self) -> None:
        self.start = self.state.offset

    def __exit__(self, *_: object) -> None:
        self.state.inner[id(self.node)] = (self.start, self.state.offset)


def parse_source(text: str, *, offset: int = 0, newline: str = "\n", indent: str = "    ") -> Node:
    """Parse module text (or an indented part of one) into a `Block`.

    Args:
        text: source text; an indented part begins at the start of a line.
        offset: the character offset of `text` in its file, which is added to every span.
        newline: the file's line break, which libcst cannot always detect in a part of a file.
        indent: the file's indentation unit.

    Raises:
        SyntaxProblem: not valid Python, or libcst does not reproduce the text byte for byte.
    """
    text = text[:-1] if text.endswith("\r") else text  # libcst takes a lone CR for a line break, but not at the end
    # An indented part gets a header: dedenting it would change its multi-line strings.
    scaffold = f"if 1:{newline}" if text[:1] in (" ", "\t") else ""
    config = cst.PartialParserConfig(default_newline=newline, default_indent=indent)
    enabled = gc.isenabled()
    gc.disable()  # a third of the time would go to collections that find nothing
    try:
        check_depth(text)
        module = cst.parse_module(scaffold + text, config)
        state = _Recorder(module.default_newline, module.default_indent)
        module._codegen(state)
        if "".join(state.tokens) != scaffold + text:
            raise SyntaxProblem("the parser does not give this text back byte for byte (a form feed or an odd line break?)")
        body: Any = module.body
        if scaffold:
            if len(body) != 1 or body[0].orelse is not None:
                raise SyntaxProblem("a part of the code is indented less than its first line")
            body = body[0].body.body
        converter = Converter(scaffold + text, offset - len(scaffold), state.outer, state.inner)
        block = converter.statements(body)
    except RecursionError:
        raise SyntaxProblem("the code is nested too deeply to be read") from None
    except cst.ParserSyntaxError as error:
        found = _ERROR.match(error.message)
        assert found is not None  # any text is an error
        words = "unexpected code" if found["words"].startswith("expected one of ") else found["words"]
        raise SyntaxProblem(words, max(0, int(found["line"] or 0) - bool(scaffold)), int(found["column"] or 0)) from None
    except cst.CSTValidationError as error:  # accepted by libcst's parser, and refused by its nodes: `"a" b"b"`
        raise SyntaxProblem(str(error)) from None
    finally:
        if enabled:
            gc.enable()
    for node in block.walk():
        for child in node.children():
            child.parent = node
    return block

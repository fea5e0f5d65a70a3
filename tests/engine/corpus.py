"""Real functions of the interpreter's standard library and of every installed package, and hunks made from them."""

import ast
import importlib.metadata
import io
import re
import sysconfig
import tokenize
import warnings
from collections import Counter
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

BOM = b"\xef\xbb\xbf"
EXPRESSIONS = (ast.Call, ast.BinOp, ast.Compare, ast.BoolOp, ast.Subscript, ast.Dict, ast.List, ast.Lambda, ast.IfExp)
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Function(NamedTuple):
    """A function whose qualified name occurs once in its file."""

    path: Path
    data: bytes
    scope: str
    node: ast.AST


class MadeHunk(NamedTuple):
    """A hunk made from a piece of a function: its lines, and the bytes that it may change.

    `line` is where the piece begins, 1-based. `start` and `end` hold the piece, `begin` and `stop` its whole lines.
    """

    kind: str
    body: str
    line: int
    start: int
    end: int
    begin: int
    stop: int


def files(largest: int = 120_000, *, installed: bool = True) -> List[Path]:
    """The `.py` files of at most so many bytes of the standard library, and of every installed distribution, in a fixed order."""
    stdlib = Path(sysconfig.get_path("stdlib"))
    paths = [path for path in stdlib.rglob("*.py") if "site-packages" not in path.parts]
    for distribution in importlib.metadata.distributions() if installed else ():
        paths += [Path(str(item.locate())) for item in distribution.files or () if item.suffix == ".py"]
    files = {path.resolve() for path in paths if path.is_file()}
    return sorted(file for file in files if 200 < file.stat().st_size < largest)


@lru_cache(maxsize=32)
def functions(path: Path) -> Tuple[Function, ...]:
    """The functions of a file; none where the running interpreter cannot read it."""
    data = path.read_bytes()
    definitions: List[Tuple[str, ast.AST]] = []

    def collect(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, DEFINITIONS):
                definitions.append((prefix + child.name, child))
                collect(child, f"{prefix}{child.name}.")
            else:
                collect(child, prefix)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            text_of(data)
            collect(ast.parse(data), "")
        except (SyntaxError, ValueError, LookupError, RecursionError):
            return ()
    count = Counter(name for name, _ in definitions)
    functions = [(name, node) for name, node in definitions if not isinstance(node, ast.ClassDef)]
    return tuple(Function(path, data, name, node) for name, node in functions if count[name] == 1)


def text_of(data: bytes) -> str:
    encoding = tokenize.detect_encoding(io.BytesIO(data).readline)[0]
    return data.decode(encoding)


@lru_cache(maxsize=32)
def line_starts(data: bytes) -> Tuple[int, ...]:
    first = len(BOM) if data.startswith(BOM) else 0
    return (first, *(newline.end() for newline in re.finditer(rb"\r\n|\r|\n", data)))


def piece(function: Function, node: ast.AST) -> str:
    """The source of a node, moved to the left margin as a person would write it into a hunk; "" if that is not possible.

    Left out is what no hunk can quote byte for byte: strings over several lines, and a `$`.
    """
    starts, data = line_starts(function.data), function.data
    first, last = position(node)
    rows = data[starts[first - 1] : starts[last] if last < len(starts) else len(data)]
    begin, end = span(function, node)
    text = data[begin:end].decode("utf-8", "replace").replace("\r\n", "\n")
    if not rows.isascii() or any(sign in text for sign in ("$", '"""', "'''", "\f", "\r")):
        return ""
    margin = rows[: node.col_offset].decode()  # type: ignore[attr-defined]
    others = [line for line in text.split("\n")[1:] if line.strip()]
    if "\n" in text and margin.strip():
        return ""
    if not all(line.startswith(margin) for line in others):
        return ""
    return text.replace("\n" + margin, "\n")


def position(node: ast.AST) -> Tuple[int, int]:
    """The first and last line of a node."""
    first: int = node.lineno  # type: ignore[attr-defined]
    last: int = node.end_lineno  # type: ignore[attr-defined]
    return first, last


def span(function: Function, node: ast.AST) -> Tuple[int, int]:
    """The byte offsets of a node on ASCII lines."""
    starts = line_starts(function.data)
    first, last = position(node)
    begin: int = node.col_offset  # type: ignore[attr-defined]
    end: int = node.end_col_offset  # type: ignore[attr-defined]
    return starts[first - 1] + begin, starts[last - 1] + end


def signed(sign: str, text: str) -> str:
    return "".join(f"{sign}{line}\n" for line in text.split("\n"))


def hunk_of(function: Function, node: ast.AST, kind: str, body: str) -> MadeHunk:
    starts = line_starts(function.data)
    first, last = position(node)
    stop = starts[last] if last < len(starts) else len(function.data)
    return MadeHunk(kind, body, first, *span(function, node), starts[first - 1], stop)


# whole pieces ---------------------------------------------------------------------------------------------------------
STATEMENT_KINDS = ("before", "after", "wrapped", "replaced", "deleted")


def expression(function: Function, random: Random) -> Optional[MadeHunk]:
    """An expression put into a call."""
    nodes = expressions(function.node)
    if not nodes:
        return None
    node = random.choice(nodes)
    text = piece(function, node)
    if not text or "\n" in text:
        return None
    return hunk_of(function, node, "expression", signed("-", text) + signed("+", f"print(1, {text})"))


def statement(function: Function, random: Random, kind: str) -> Optional[MadeHunk]:
    """Something done to one statement and the lines around it."""
    if kind == "deleted":
        return deletion(function, random)
    node = random.choice(statements(function.node))
    text = piece(function, node)
    if not text or text.startswith("elif "):  # a clause
        return None
    is_docstring = node is function.node.body[0] and ast.get_docstring(function.node)
    if kind == "wrapped" and is_docstring:  # in a block it is none
        return None
    body = {
        "before": "+print(1)\n" + signed(" ", text),
        "after": signed(" ", text) + "+print(1)\n",
        "wrapped": signed("-", text) + "+if 1:\n" + signed("+    ", text),
        "replaced": signed("-", text) + "+print(0)\n+print(1)\n",
    }[kind]
    return hunk_of(function, node, kind, body)


def deletion(function: Function, random: Random) -> Optional[MadeHunk]:
    """A statement removed from above another. A docstring is no part of a run of statements."""
    usable = {id(node) for node in statements(function.node) if not is_string(node)}
    candidates = [(node, below) for node, below in pairs(function.node) if id(node) in usable]
    if not candidates:
        return None
    node, below = random.choice(candidates)
    text, rest = piece(function, node), piece(function, below)
    if not text or not rest:
        return None
    return hunk_of(function, node, "deleted", signed("-", text) + signed(" ", rest))


def signature(function: Function, random: Random) -> Optional[MadeHunk]:
    """One more parameter, the others as they are."""
    name = function.scope.split(".")[-1]
    word = "async def" if isinstance(function.node, ast.AsyncFunctionDef) else "def"
    return hunk_of(function, function.node, "signature", f"-{word} {name}(...):\n+{word} {name}(..., made_up_by_a_test=None):\n")


def stored(node: ast.AST) -> bool:
    return isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del))


def within_strings(tree: ast.AST) -> Set[int]:
    """The ids of the nodes inside f-strings: before Python 3.12 their positions are not those in the file."""
    inside: Set[int] = set()
    for string in ast.walk(tree):
        if isinstance(string, ast.JoinedStr):
            inside.update(id(node) for node in ast.walk(string) if node is not string)
    return inside


def expressions(function: ast.AST) -> List[ast.AST]:
    """The expressions that a hunk can change."""
    inside = within_strings(function)
    nodes = [node for node in ast.walk(function) if isinstance(node, EXPRESSIONS) and not stored(node)]
    return [node for node in nodes if id(node) not in inside]


def statements(function: ast.AST) -> List[ast.stmt]:
    """The statements that a hunk can change."""
    nodes = [node for node in ast.walk(function) if isinstance(node, ast.stmt) and node is not function]
    nodes = [node for node in nodes if not isinstance(node, (ast.Global, ast.Nonlocal))]
    return [node for node in nodes if not getattr(node, "decorator_list", [])]


def is_string(statement: ast.stmt) -> bool:
    """Whether it is a string, or assigns or returns one."""
    value = getattr(statement, "value", None)
    return isinstance(getattr(value, "value", None), str)


def blocks(tree: ast.AST) -> Iterator[List[ast.stmt]]:
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list) and block:
                yield block


def pairs(tree: ast.AST) -> Iterator[Tuple[ast.stmt, ast.stmt]]:
    for block in blocks(tree):
        yield from zip(block, block[1:])


# pieces with holes ----------------------------------------------------------------------------------------------------
class Hole(NamedTuple):
    """Characters of a piece that are to be written as `text`."""

    start: int
    end: int
    text: str

    def overlaps(self, other: "Hole") -> bool:
        return self.start < other.end and other.start < self.end


def pattern(function: Function, random: Random) -> Optional[MadeHunk]:
    """A piece with names, arguments and statements written as `$X` and `...`, and a change beside or around it."""
    whole = random.random() < 0.6
    nodes: Sequence[ast.AST] = statements(function.node) if whole else expressions(function.node)
    if not nodes:
        return None
    node = random.choice(nodes)
    text = piece(function, node)
    if not text or (not whole and "\n" in text):
        return None
    text = holed(text, random)
    if not whole:
        return hunk_of(function, node, "pattern of an expression", signed("-", text) + signed("+", f"print(1, {text})"))
    return hunk_of(function, node, "pattern of a statement", "+print(1)\n" + signed(" ", text))


def holed(text: str, random: Random) -> str:
    """A piece of code with some of its parts, never overlapping ones, written as placeholders."""
    try:
        tree = ast.parse(text)
        ast.dump(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # `return` outside of a function is one only for the compiler; an `elif` is one here
        return text
    starts = [0, *(newline.end() for newline in re.finditer("\n", text))]

    def at(node: ast.AST) -> Tuple[int, int]:
        first, last = position(node)
        begin: int = node.col_offset  # type: ignore[attr-defined]
        end: int = node.end_col_offset  # type: ignore[attr-defined]
        return starts[first - 1] + begin, starts[last - 1] + end

    holes: List[Hole] = []
    names: Dict[str, str] = {}
    inside = within_strings(tree)
    candidates = [node for node in ast.walk(tree) if id(node) not in inside]
    random.shuffle(candidates)
    for node in candidates:
        hole: Optional[Hole] = None
        if isinstance(node, ast.Call) and node.args and random.random() < 0.3:
            hole = arguments(node, at, random)
        elif isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Compare, ast.Constant)) and random.random() < 0.25:
            key = ast.dump(node)  # the same syntax may be the same placeholder
            names.setdefault(key, f"$X{len(names)}")
            hole = Hole(*at(node), names[key])
        elif isinstance(node, (ast.If, ast.For, ast.While, ast.With, ast.Try)) and random.random() < 0.5:
            hole = body(node, starts, text, random)
        if hole and hole.start < hole.end and not any(hole.overlaps(other) for other in holes):
            holes.append(hole)
    for hole in sorted(holes, reverse=True):
        text = text[: hole.start] + hole.text + text[hole.end :]
    return text


def arguments(node: ast.Call, at, random: Random) -> Optional[Hole]:  # type: ignore[no-untyped-def]
    """Some of the arguments that follow each other, as `...`."""
    parts: List[ast.AST] = sorted([*node.args, *node.keywords], key=lambda part: getattr(part, "col_offset", 0))
    if not all(hasattr(part, "lineno") for part in parts):  # Python 3.8 does not say where a keyword is
        return None
    if len({part.lineno for part in parts}) > 1:  # type: ignore[attr-defined]
        return None
    if any(isinstance(part, ast.GeneratorExp) for part in parts):
        return None
    first = random.randrange(len(parts))
    last = random.randrange(first, len(parts))
    return Hole(at(parts[first])[0], at(parts[last])[1], "...")


def body(node: ast.AST, starts: Sequence[int], text: str, random: Random) -> Optional[Hole]:
    """Some of the statements of a block that follow each other, as a line `...`."""
    block: List[ast.stmt] = node.body  # type: ignore[attr-defined]
    first = random.randrange(len(block))
    last = random.randrange(first, len(block))
    begin, stop = starts[position(block[first])[0] - 1], position(block[last])[1]
    end = starts[stop] if stop < len(starts) else len(text)
    rows = text[begin:end]
    indent = rows[: len(rows) - len(rows.lstrip())]
    is_below_header = position(block[0])[0] > position(node)[0]
    if not is_below_header or ";" in rows or getattr(block[first], "decorator_list", []):
        return None
    newline = "\n" if rows.endswith("\n") else ""
    return Hole(begin, end, f"{indent}...{newline}")

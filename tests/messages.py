"""What the code says to people: every text in it of two words or more, but for what is listed here with its reason."""

import ast
import re
from functools import lru_cache
from itertools import product
from pathlib import Path
from string import Formatter

import patcher
from patcher import errors
from patcher.display.styles import COLORS
from patcher.text.listed import count
from patcher.verbs.commands import SECTIONS

PACKAGE = Path(patcher.__file__).parent
HOLE = "{}"
CLASSES = {name: kind for name, kind in vars(errors).items() if isinstance(kind, type)}
ERRORS = {name for name, kind in CLASSES.items() if issubclass(kind, errors.SitepatchError)} | {"NoPip", "NoWheel"}
SILENT = {  # modules whose texts nobody reads on a terminal of ours
    "engine/convert.py": "names of syntax",
    "engine/lex.py": "patterns",
    "engine/node.py": "names of syntax",
    "engine/rewrite/precedence.py": "names of syntax",
    "hook/backend.py": "run by pip, without the command line",
    "hook/boot.py": "run at the start of other programs",
    "diagnosis/child.py": "exceptions of a rank, as Python shows them",
    "overlay/boot.py": "run at the start of other programs",
    "__init__.py": "what Python says",
    "display/highlight.py": "patterns",
}
BECOME = ("verify/child.py:",)  # modules without `Message`, whose sentences become messages in the process that reads them
NO_MESSAGES = {  # what is no message, though it has two words
    "# edited by hand",
    "@@ or @@",
    "@@ or {} @@",
    "Content-Type: text/plain; charset=UTF-8",
    "DistributedDataParallel device_ids and output_device",
    "Generator: sitepatch",
    "No module named 'torch'",
    "Root-Is-Purelib: true",
    "Tag: py3-none-any",
    "The server socket has failed to listen on any local network address",
    "Waiting in store based barrier to initialize process group",
    "overlapping splices",
    "case _: ...",
    "apply NAME",
    "cat {}",
    "class {}:",
    "code    {} | {}",
    "default-src 'none'; {}; base-uri 'none'; form-action 'none'",
    "diff NAME",
    "echo '{}' >> {}",
    "import json",
    "in {}",
    "pip install --force-reinstall --no-deps {}=={}",
    "restore NAME",
    "this hunk is missing here: change the code below, lines that begin so are taken out again",
    "sitepatch-hook 1 {} {}",
    "style-src '{}'; img-src data:",
    "{ file = {} },",
    '{"format": {}, "texts": [',
    '], "results": {',
    "{}def {}({}):",
    "; script-src '{}'",
    "applied upstream:",
    "commit {}",
    "or {}",
    "its version was compared",
    "of {}",
}
_PARSES = {"startswith", "endswith", "partition", "rpartition", "split", "rsplit", "replace", "find", "get", "getenv", "index"}
_CODE = re.compile(
    r"\\|\(\?|\^|\*\*|\.\*"  # patterns
    r"|^[\w.{}-]+ = |^<|^# \w+:"  # TOML, HTML, comments that are read
    r"|^(import torch|match _:|if _:|except _:|if 1:.*|.*finally: \.\.\.|.* pass)$"
)
_OURS = re.compile(r"(?<![\w.\[-])[a-z]{2,}(?![\w=\[.(]\w)")  # a word, and no part of a name
_FIELD = re.compile(r"\{(?:\w[\w.]*(?:![rs])?(?::[^{}]*)?)?\}")
_LONG = 4  # lines, from which on a text is a file or a program
_STATES = {"checks", "doctor", "fit", "lint", "patchsets", "trying", "verdict"}  # modules that name some in a tuple
_FIRST, _SECOND = slice(1), slice(1, 2)
_SPOKEN = {
    "Message": _FIRST,
    "Row": _FIRST,
    "Check": _FIRST,
    "part": _FIRST,
    "labelled": _FIRST,
    "label": _FIRST,
    "term": _FIRST,
    "note": _SECOND,
    "notes": _SECOND,
}
_TERMS = {*SECTIONS, " and ", " or ", " nor "}
_UNSEEN = {"class_", "rel", "help", "transform", "epilog"}  # what a keyword is given that nobody sees, or that help says


@lru_cache(maxsize=None)
def trees():
    """(path below the package, syntax tree) of each module."""
    paths = [path.relative_to(PACKAGE) for path in sorted(PACKAGE.rglob("*.py"))]
    return [
        (path, ast.parse((PACKAGE / path).read_bytes())) for path in paths if path.parts[0] not in ("_patchsets", "_fixtures")
    ]


@lru_cache(maxsize=None)
def messages():
    """Each line that has to be translated, with `{}` where a field stands."""
    return {line for line in template_lines() if is_message(line)} - NO_MESSAGES


@lru_cache(maxsize=None)
def template_lines():
    """Every line of a template in the code."""
    lines = {text for place, text in plain() if place.startswith(BECOME)}
    for path, tree in trees():
        if path.as_posix() not in SILENT:
            for text in templates(tree):
                lines |= bare_lines(text)
    return lines


@lru_cache(maxsize=None)
def plain(all_of_them=False):
    """(place, text) of each sentence in the code that is no template: nobody could say it in another language."""
    sentences = set()
    for path, tree in trees():
        if path.as_posix() in SILENT:
            continue
        silent = _ids_of_silent(tree)
        for value in _named(tree):
            silent.update(id(part) for part in ast.walk(value))
        for node in ast.walk(tree):
            if id(node) in silent or _has_fields(node):
                continue
            for text in _spelled(node):
                if text in _TERMS | words() or text.count("\n") >= _LONG:
                    continue
                for line in bare_lines(text):
                    if all_of_them or (is_message(line) and line not in NO_MESSAGES):
                        sentences.add((f"{path}:{node.lineno}", line))
    return sentences


def _ids_of_silent(tree):
    """The ids of the nodes that nobody reads."""
    ids = set()
    for node in ast.walk(tree):
        ids.update(id(part) for part in _silent(node))
    return ids


def bare_lines(text):
    return {bare_line(line) for line in text.split("\n")}


def bare_line(line):
    """A line of a template as the catalogue has it: without the names of its fields."""
    return _FIELD.sub(HOLE, line).strip().replace("{{", "{").replace("}}", "}")


def templates(tree):
    """The template of each message in a module: what is given to a message or an error, and any constant with fields."""
    silent = _ids_of_silent(tree)
    for value in _named(tree):
        yield from _all_spelled(value)
    for node in ast.walk(tree):
        for argument in _templates(node):
            yield from _all_spelled(argument)
        if _has_fields(node) and id(node) not in silent:
            yield node.value
        if _counts(node) and isinstance(node.args[1], ast.Constant):
            noun = node.args[1].value
            for number in (1, 2):
                yield str(count(number, noun)).replace(str(number), "{}", 1)


def _all_spelled(tree):
    """The texts of a node and of all nodes below it."""
    for part in ast.walk(tree):
        yield from _spelled(part)


def _counts(node):
    """Whether a node is a call of `count` with a number and a noun."""
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("count", "_count") and len(node.args) == 2


def _named(tree):
    """The values of the variables that are given to messages and errors as their templates."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        names = set()
        for node in ast.walk(function):
            names.update(argument.id for argument in _texts_given(node) if isinstance(argument, ast.Name))
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in names:
                yield node.value


def _has_fields(node):
    return (
        _is_text(node)
        and "\n" not in node.value
        and bool(re.search(r"\{[a-z]\w*[\w.]*(?::,)?\}", node.value))
        and " " in node.value
    )


def _templates(node):
    """The arguments of a call that are templates, and no f-strings."""
    return [argument for argument in _texts_given(node) if not _has_f_string(argument)]


def _has_f_string(node):
    return any(isinstance(part, ast.JoinedStr) for part in ast.walk(node))


def _texts_given(node):
    """The texts that are given to a call: to a message, to an error with its hint, to a console."""
    called = getattr(node, "func", None)
    owner = getattr(getattr(called, "value", None), "id", "")
    name = getattr(called, "id", f"{owner}.{getattr(called, 'attr', '')}")
    if name in ("Message", "console.info"):
        return node.args[:1]
    if name.endswith(".at") and owner in ERRORS:
        return node.args[1:3]
    if name == "self._wrong":
        return node.args[1:2]
    return node.args[:2] if name == "console.note" or name in ERRORS else []


def filled_templates():
    """(place, template, the names of its fields, what is given to them) of each message that is made of a text in the code."""
    for path, tree in trees():
        for node in ast.walk(tree):
            for argument in _texts_given(node):
                if _is_text(argument):
                    yield f"{path}:{node.lineno}", argument.value, _fields(argument.value), _given_to(node)
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef):
                for node, template in _by_variables(function):
                    yield f"{path}:{node.lineno}", template, _fields(template), _given_to(node)


def _by_variables(function):
    """(call, template) where a variable holds the template: each text that it was assigned since it was last given to a call."""
    texts, used = {}, set()
    steps = [node for node in ast.walk(function) if isinstance(node, (ast.Assign, ast.Call))]
    for node in sorted(steps, key=lambda node: (node.lineno, node.col_offset)):
        if isinstance(node, ast.Assign):
            for target, value in _pairs(node):
                if target in used:
                    used.remove(target)
                    texts[target] = []
                texts.setdefault(target, []).extend(part.value for part in (value, *_branches(value)) if _is_text(part))
            continue
        for argument in _texts_given(node):
            if isinstance(argument, ast.Name):
                used.add(argument.id)
                yield from ((node, text) for text in texts.get(argument.id, ()))


def _pairs(assignment):
    """(name, value) of each variable that is assigned."""
    target, value = assignment.targets[0], assignment.value
    pairs = [(target, value)]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = zip(target.elts, value.elts)
    return [(name.id, each) for name, each in pairs if isinstance(name, ast.Name)]


def _branches(value):
    return (value.body, value.orelse) if isinstance(value, ast.IfExp) else ()


def _fields(template):
    return {name for _, name, _, _ in Formatter().parse(template) if name is not None}


def _given_to(call):
    """The names of the fields that a call gives; all that there are where they come in a mapping."""
    names = {keyword.arg for keyword in call.keywords}
    return None if None in names else names | {"env", "dirs", "here"}


@lru_cache(maxsize=None)
def words():
    """What stands by itself: states, kinds of remarks, names of checks, titles."""
    texts = set(COLORS)
    for path, tree in trees():
        for node in ast.walk(tree):
            texts.update(each.value for each in _spoken(node, has_states=path.stem in _STATES) if _is_text(each))
    return {text.strip() for text in texts if re.fullmatch("[a-z -]+", text)}


def _spoken(node, has_states):
    """The nodes that stand by themselves where they are printed; `has_states`: a tuple of constants names states."""
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        return node.args[_SPOKEN[name]] if name in _SPOKEN else []
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple) and isinstance(node.targets[0], ast.Tuple):
        names = [getattr(target, "id", "_") for target in node.targets[0].elts]
        return node.value.elts if has_states and all(name.isupper() for name in names) else []
    if isinstance(node, ast.ClassDef) and node.name in ("State", "Condition"):
        return [each.value for each in node.body if isinstance(each, ast.Assign)]
    return []


def _is_text(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def is_message(line):
    """Whether a line has a word of ours beside other things: it is no command, no pattern and no code."""
    return " " in line and line[:10] != "sitepatch " and not _CODE.search(line) and bool(_OURS.search(line))


def _silent(node):
    """The parts of a node that nobody reads: docstrings, annotations, what is compared and parsed; and parts of f-strings."""
    for statement in node.body if isinstance(getattr(node, "body", None), list) else ():
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            yield statement.value
    for field in ("annotation", "returns"):
        yield from ast.walk(getattr(node, field, None) or ast.Pass())
    if isinstance(node, ast.JoinedStr):
        for value in node.values:
            yield from [value] if isinstance(value, ast.Constant) else ast.walk(value.format_spec or ast.Pass())
            if isinstance(value, ast.FormattedValue) and _suffixes(value.value):
                yield from ast.walk(value.value)
    if isinstance(node, ast.Compare):
        yield from ast.walk(node)
    if isinstance(node, ast.Call):
        for keyword in node.keywords:
            if keyword.arg in _UNSEEN:
                yield from ast.walk(keyword.value)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        for argument in (*_templates(node), *(node.args if name == "reported" else ())):
            yield from ast.walk(argument)
        if name in ("count", "_count") and len(node.args) == 2:
            yield from ast.walk(node.args[1])
        owner = getattr(getattr(node.func, "value", None), "id", "")
        if name in _PARSES or owner == "re" or name in ("NamedTuple", "TypeVar", "cast"):
            for argument in node.args:
                yield from ast.walk(argument)


def _spelled(node):
    """The texts that a constant or an f-string can be; the endings of a plural are spelled out."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        parts = []
        for value in node.values:
            text = getattr(value, "value", None)
            parts.append([text] if isinstance(value, ast.Constant) else _suffixes(text) or [HOLE])
        yield from map("".join, product(*parts))


def _suffixes(node):
    """Both texts of `'' if number == 1 else 's'`; nothing for anything else."""
    if not isinstance(node, ast.IfExp):
        return []
    ends = [getattr(end, "value", None) for end in (node.body, node.orelse)]
    are_suffixes = all(isinstance(end, str) and re.fullmatch(r"[a-z]{0,3}", end) for end in ends)
    return ends if are_suffixes else []

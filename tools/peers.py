"""What others make of an edit at another release.

GNU patch, `git merge-file`, and two references of our own to judge by.
"""

from __future__ import annotations

import ast
import io
import subprocess
import tempfile
import token
import tokenize
from pathlib import Path
from typing import Sequence

from tools.changes import DEFINITIONS, FUNCTIONS, Edit, definitions, parsed, rows, same, unified


def gnu_patch(before: bytes, after: bytes, target: bytes, *words: str) -> bytes | None:
    """What `patch` with its usual fuzz makes of the target, None where a hunk is rejected."""
    with tempfile.TemporaryDirectory(prefix="sitepatch-") as folder:
        place = Path(folder)
        (place / "target.py").write_bytes(target)
        (place / "edit.diff").write_bytes(
            unified(before, after, "target.py").encode("utf-8", "surrogateescape")
        )
        options = ["-s", "-f", "--binary", "--no-backup-if-mismatch", "-r", "-", *words]
        ended = subprocess.run(
            ["patch", *options, "target.py", "edit.diff"],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        return (place / "target.py").read_bytes() if ended.returncode == 0 else None


def merge_file(before: bytes, after: bytes, target: bytes) -> bytes | None:
    """The three-way merge by lines, None where there are conflicts."""
    with tempfile.TemporaryDirectory(prefix="sitepatch-") as folder:
        for name, text in (("target", target), ("before", before), ("after", after)):
            (Path(folder) / name).write_bytes(text)
        ended = subprocess.run(
            ["git", "merge-file", "-p", "-q", "target", "before", "after"],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
        return ended.stdout if ended.returncode == 0 else None


def same_definition(before: bytes, after: bytes, target: bytes) -> bytes | None:
    """The target with the edited functions put in; None unless it has each as before the edit."""
    trees = [parsed(text) for text in (before, after, target)]
    if any(tree is None for tree in trees):
        return None
    old, new, present = (definitions(tree) for tree in trees if tree)
    if list(old) != list(new):
        return None
    edited = []
    for name in old:
        if isinstance(old[name], FUNCTIONS) and not same(old[name], new[name]):
            edited.append(name)
    for name in edited:
        if name not in present or not same(old[name], present[name]):
            return None
    if not edited:
        return None

    lines, old_lines, new_lines = (text.splitlines(True) for text in (target, before, after))
    for name in sorted(edited, key=lambda name: -rows(present[name])[0]):
        lines[slice(*rows(present[name]))] = new_lines[slice(*rows(new[name]))]
    for name in reversed(edited):  # nothing else may have changed
        old_lines[slice(*rows(old[name]))] = new_lines[slice(*rows(new[name]))]
    return b"".join(lines) if b"".join(old_lines) == after else None


def merged_by_tokens(before: bytes, after: bytes, target: bytes) -> bytes | None:
    """The three-way merge with a token for a line and no comments.

    It is finer than one by lines, and sometimes wrong.
    """
    try:
        merged = merge_file(_tokens(before), _tokens(after), _tokens(target))
    except (SyntaxError, tokenize.TokenError, UnicodeDecodeError):
        return None
    if merged is None:
        return None
    text = _untokenized(merged.decode().splitlines()).encode()
    return text if parsed(text) else None


def _tokens(text: bytes) -> bytes:
    """A text with a token for a line: its kind, and what is written unless that is indentation."""
    skipped = (tokenize.COMMENT, tokenize.NL, tokenize.ENCODING)
    lines = ""
    for each in tokenize.tokenize(io.BytesIO(text).readline):
        if each.type not in skipped:
            written = "" if each.type == token.INDENT else each.string
            lines += f"{each.type} {written!r}\n"
    return lines.encode()


def _untokenized(lines: Sequence[str]) -> str:
    """The text of such lines, with a blank between any two tokens."""
    text = ""
    depth = 0
    for line in lines:
        number, _, written = line.partition(" ")
        kind = int(number)
        if kind == token.INDENT:
            depth += 1
        elif kind == token.DEDENT:
            depth -= 1
        elif kind == token.NEWLINE:
            text += "\n"
        elif kind != token.ENDMARKER:
            text += " " if text and not text.endswith("\n") else "    " * depth
            text += ast.literal_eval(written)
    return text


def verbatim(edit: Edit) -> bool:
    """Whether the next release has each function and each other statement as the edit makes it."""
    before, after, upstream = (_pieces(text) for text in (edit.before, edit.after, edit.upstream))
    return after - before <= upstream and not (before - after) & upstream


def _pieces(text: bytes) -> set[tuple[str, bytes]]:
    """The statements of a module and of its classes, each with its qualified name.

    Of a class it is the head.
    """
    tree, lines = parsed(text), text.splitlines()
    found: set[tuple[str, bytes]] = set()

    def collect(block: Sequence[ast.stmt], scope: str) -> None:
        for node in block:
            name = node.name if isinstance(node, DEFINITIONS) else ""
            start, end = rows(node)
            if isinstance(node, ast.ClassDef):
                collect(node.body, f"{scope}{node.name}.")
                end = node.body[0].lineno - 1
            found.add((scope + name, b"\n".join(lines[start:end])))

    collect(tree.body if tree else (), "")
    return found

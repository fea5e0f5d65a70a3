"""What others make of an edit at another release: GNU patch, `git merge-file`, and two references of our own to judge by."""

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
        command = [
            "patch",
            "-s",
            "-f",
            "--binary",
            "--no-backup-if-mismatch",
            "-r",
            "-",
            *words,
            "target.py",
            "edit.diff",
        ]
        ended = subprocess.run(
            command,
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
    """The target with the edited functions put in, where it has each of them as it was before the edit; else None."""
    trees = [parsed(text) for text in (before, after, target)]
    if any(tree is None for tree in trees):
        return None
    old, new, there = (definitions(tree) for tree in trees if tree)
    if list(old) != list(new):
        return None
    changed = [
        name for name in old if isinstance(old[name], FUNCTIONS) and not same(old[name], new[name])
    ]
    lines, old_lines, new_lines = (text.splitlines(True) for text in (target, before, after))
    if not changed or any(
        name not in there or not same(old[name], there[name]) for name in changed
    ):
        return None
    for name in sorted(changed, key=lambda name: -rows(there[name])[0]):
        start, end = rows(there[name])
        lines[start:end] = new_lines[slice(*rows(new[name]))]
    for name in reversed(changed):  # nothing else may have changed
        old_lines[slice(*rows(old[name]))] = new_lines[slice(*rows(new[name]))]
    return b"".join(lines) if b"".join(old_lines) == after else None


def merged_by_tokens(before: bytes, after: bytes, target: bytes) -> bytes | None:
    """The three-way merge with a token for a line and no comments: finer than lines, and sometimes wrong."""
    try:
        merged = merge_file(*(_tokens(text) for text in (before, after, target)))
    except (SyntaxError, tokenize.TokenError, UnicodeDecodeError):
        return None
    text = _untokenized(merged.decode().splitlines()) if merged is not None else ""
    return text.encode() if merged is not None and parsed(text.encode()) else None


def _tokens(text: bytes) -> bytes:
    skipped = (tokenize.COMMENT, tokenize.NL, tokenize.ENCODING)
    found = [
        each for each in tokenize.tokenize(io.BytesIO(text).readline) if each.type not in skipped
    ]
    return "".join(
        f"{each.type} {'' if each.type == token.INDENT else each.string!r}\n" for each in found
    ).encode()


def _untokenized(lines: Sequence[str]) -> str:
    text: list[str] = []
    depth = 0
    for line in lines:
        number, _, written = line.partition(" ")
        kind = int(number)
        if kind in (token.INDENT, token.DEDENT):
            depth += 1 if kind == token.INDENT else -1
        elif kind == token.NEWLINE:
            text.append("\n")
        elif kind != token.ENDMARKER:
            text.append(
                ("    " * depth if not text or text[-1] == "\n" else " ")
                + ast.literal_eval(written)
            )
    return "".join(text)


def verbatim(edit: Edit) -> bool:
    """Whether the next release has each function and each other statement of a module or class as the edit makes it."""
    before, after, upstream = (_pieces(text) for text in (edit.before, edit.after, edit.upstream))
    return after - before <= upstream and not (before - after) & upstream


def _pieces(text: bytes) -> set[tuple[str, bytes]]:
    tree, lines, found = parsed(text), text.splitlines(), set()

    def collect(block: Sequence[ast.stmt], scope: str) -> None:
        for node in block:
            if isinstance(node, ast.ClassDef):
                collect(node.body, f"{scope}{node.name}.")
            name = node.name if isinstance(node, DEFINITIONS) else ""
            start, end = rows(node)
            found.add(
                (
                    scope + name,
                    b"\n".join(
                        lines[
                            start : node.body[0].lineno - 1
                            if isinstance(node, ast.ClassDef)
                            else end
                        ]
                    ),
                )
            )

    collect(tree.body if tree else (), "")
    return found

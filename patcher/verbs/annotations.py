"""Workflow commands of GitHub: annotations of a run, of a file and of a line."""

from __future__ import annotations

import os
from pathlib import Path

from patcher.errors import Location, SitepatchError
from patcher.text.terminal import Styled, printable

ERROR, WARNING, NOTICE = "error", "warning", "notice"


def annotation(kind: str, title: str, message: str, file: str | Path = "", line: int = 0) -> Styled:
    """One line that the runner turns into an annotation.

    Args:
        kind: `error`, `warning` or `notice`.
        title: its heading.
        message: what is said, in one line or several.
        file: what it is about, if anything; GitHub shows it beside the text of a file of the repository.
        line: the line in it, from 1; 0 for none.
    """
    named = _in_repository(file) if file else ""
    place = {"file": named, "line": str(line or "")} if named else {}
    properties = ",".join(
        f"{key}={_escaped(value, ':', ',')}"
        for key, value in {**place, "title": title}.items()
        if value
    )
    return Styled(f"::{kind} {properties}::{_escaped(message)}")


def of_error(title: str, error: SitepatchError) -> Styled:
    """What stops a command, or keeps it from reading a patchset, at the place that it is about."""
    where = error.location or Location("")
    return annotation(ERROR, title, error.message, where.file, where.line)


def _in_repository(file: str | Path) -> str:
    """The path of a file from the root of the repository on, "" for one outside of it, or installed in it."""
    root = Path(os.environ.get("GITHUB_WORKSPACE") or ".").resolve()
    path = Path(file).resolve()
    inside = path.parts[: len(root.parts)] == root.parts and not {
        "site-packages",
        "dist-packages",
    } & set(path.parts)
    return path.relative_to(root).as_posix() if inside else ""


def _escaped(part: str, *separators: str) -> str:
    """A value as https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions takes it."""
    for char in ("%", "\r", "\n", *separators):
        part = part.replace(char, f"%{ord(char):02X}")
    return printable(part)

"""What `schema` does: `patcher/answers.schema.json`, or the part of it that is about one command."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Dict, List

import patcher
from patcher.cli.console import Console
from patcher.errors import UsageError
from patcher.text.drawn import drawn_lines
from patcher.text.listed import suggest

_REF = re.compile(r'"#/\$defs/([\w-]+)"')


def show_schema(console: Console, command: str) -> int:
    """Print it."""
    made = answer_schema(command)
    console.out(drawn_lines(json.dumps(made, indent=2)))
    console.data(True, {"json_schema": made})
    return 0


def answer_schema(command: str = "") -> Dict[str, Any]:
    """The JSON Schema of what a command answers, of all without a name.

    Raises:
        UsageError: there is no such command.
    """
    path = Path(patcher.__file__).with_name("answers.schema.json")
    every: Dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    names: List[str] = _REF.findall(json.dumps(every["anyOf"]))
    if not command:
        return every
    if command not in names[1:]:
        raise UsageError(f'there is no command "{command}"{suggest(command, names[1:])}', "all of them: sitepatch --help")
    needed = ["failure", command]
    for name in needed:  # grows meanwhile
        needed += [each for each in _REF.findall(json.dumps(every["$defs"][name])) if each not in needed]
    title = f"The answer of sitepatch {command} --json"
    parts = {"anyOf": [{"$ref": f"#/$defs/{name}"} for name in (command, "failure")]}
    return {**every, "title": title, **parts, "$defs": {name: every["$defs"][name] for name in sorted(set(needed))}}

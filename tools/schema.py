"""patcher/answers.schema.json, made from the types.

`python -m tools.schema` writes it, `--check` compares. The records that commands return say which
fields an answer has, of which types, and what they mean: by `patcher.record.reported`, annotations,
the section `Attributes:` of a docstring, docstrings of properties. Python 3.10 and later can
evaluate them. What every answer has, and what an error is, is written by hand: ENVELOPE.
"""

from __future__ import annotations

import enum
import importlib
import inspect
import json
import os
import pkgutil
import re
import sys
import types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import patcher
from patcher.author.copies import Copies
from patcher.display.differences import DiffOutcome
from patcher.errors import SitepatchError
from patcher.record import reported_names
from patcher.verbs.apply import ApplyOutcome
from patcher.verbs.capture_report import CaptureAnswer
from patcher.verbs.check import CheckOutcome
from patcher.verbs.demo import DemoAnswer
from patcher.verbs.diagnose_answer import DiagnoseAnswer
from patcher.verbs.doctor import DoctorOutcome
from patcher.verbs.export import ExportOutcome
from patcher.verbs.hook import InitAnswer, StatusAnswer
from patcher.verbs.import_ import ImportOutcome
from patcher.verbs.list import ListOutcome
from patcher.verbs.overlay import OverlayOutcome
from patcher.verbs.restore import RestoreOutcome
from patcher.verbs.show import ShowOutcome
from patcher.verbs.status import StatusOutcome
from patcher.verbs.sync import SyncOutcome
from patcher.verbs.update import UpdateOutcome

PATH = Path(patcher.__file__).with_name("answers.schema.json")
ENVELOPE = Path(__file__).with_name("every_answer.json")
ANSWERS: Mapping[str, Sequence[type]] = {
    "apply": (ApplyOutcome, RestoreOutcome),  # with --restore
    "restore": (RestoreOutcome,),
    "sync": (SyncOutcome,),
    "run": (ApplyOutcome, SyncOutcome, OverlayOutcome),
    "diff": (DiffOutcome,),
    "status": (StatusOutcome,),
    "list": (ListOutcome,),
    "show": (ShowOutcome,),
    "check": (CheckOutcome,),
    "diagnose": (DiagnoseAnswer,),
    "doctor": (DoctorOutcome,),
    "hook-init": (InitAnswer,),
    "hook-status": (StatusAnswer,),
    "capture": (CaptureAnswer,),
    "edit": (CaptureAnswer, Copies),  # with --no-editor
    "import": (ImportOutcome,),
    "update": (UpdateOutcome,),
    "export": (ExportOutcome,),
    "demo": (DemoAnswer,),
}
"""By command: the records that it answers with."""
_TEXTS = (str, bytes, os.PathLike)
_SCALARS = {bool: "boolean", int: "integer", float: "number", type(None): "null"}


class Undocumented(Exception):
    """A field of an answer without a description or a type."""


class _Schema:
    """The definitions, as far as they are made."""

    def __init__(self) -> None:
        self.definitions: dict[str, Any] = {}
        self._names = _names()
        self._problems: list[str] = []

    def whole(self) -> dict[str, Any]:
        """The whole schema.

        Raises:
            Undocumented: for every field that lacks a description.
        """
        by_hand = json.loads(ENVELOPE.read_text(encoding="utf-8"))
        self.definitions.update(by_hand.pop("$defs"))
        for command, records in ANSWERS.items():
            self.definitions[command] = self._answer(command, records)
        if self._problems:
            raise Undocumented("\n".join(self._problems))
        commands = ["failure", *ANSWERS]
        any_of = [{"$ref": f"#/$defs/{command}"} for command in commands]
        definitions = dict(sorted(self.definitions.items()))
        return {**by_hand, "anyOf": any_of, "$defs": definitions}

    def _answer(self, command: str, records: Sequence[type]) -> dict[str, Any]:
        """What a command answers: the fields of every answer, and those of one of these records."""
        own = [self._reference(record, closed=False) for record in records]
        return {
            "description": f"`{command.replace('-', ' ')}`.",
            "allOf": [
                {"$ref": "#/$defs/every_answer"},
                own[0] if len(own) == 1 else {"anyOf": own},
            ],
            "unevaluatedProperties": False,
            "properties": {"command": {"const": command}},
        }

    def _reference(self, record: type, *, closed: bool = True) -> dict[str, Any]:
        """A reference to the definition of a record; a `closed` one has no other fields."""
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", record.__name__).lower()
        if name not in self.definitions:
            self.definitions[name] = {}  # it may have itself inside
            properties = self._properties(record)
            definition: dict[str, Any] = {
                "description": _summary(record),
                "type": "object",
                "required": list(properties),
                "properties": properties,
            }
            if closed:
                definition["additionalProperties"] = False
            self.definitions[name] = definition
        return {"$ref": f"#/$defs/{name}"}

    def _properties(self, record: type) -> dict[str, Any]:
        """The schema of each field of a record."""
        properties: dict[str, Any] = {}
        hints = self._hints(record)
        about = _attributes(record)
        for name in reported_names(record):
            if name.startswith("*"):
                properties.update(self._properties(hints[name[1:]]))
                continue
            attribute = inspect.getattr_static(record, name, None)
            if isinstance(attribute, property) and name not in hints:
                assert attribute.fget is not None
                annotation = self._evaluated(attribute.fget).get("return")
                description = " ".join((inspect.getdoc(attribute.fget) or "").split())
            else:
                annotation, description = hints[name], about.get(name, "")
            if annotation is None or not description:
                self._problems.append(f"{record.__module__}.{record.__name__}.{name}")
                continue
            properties[name] = {**self._schema(annotation), "description": description}
        return properties

    def _hints(self, record: type) -> dict[str, Any]:
        """The types of the fields of a record, also of those that it inherits."""
        hints: dict[str, Any] = {}
        for base in reversed(record.__mro__):
            if base.__module__.startswith("patcher"):
                hints.update(self._evaluated(base))
        return hints

    def _evaluated(self, owner: Any) -> dict[str, Any]:
        """The annotations of a class or function, with names that only mypy imports."""
        known = {**self._names, **vars(sys.modules[owner.__module__])}
        return typing.get_type_hints(owner, globalns=known)

    def _schema(self, annotation: Any) -> dict[str, Any]:
        origin, inside = typing.get_origin(annotation), typing.get_args(annotation)
        if annotation is Any:
            return {}
        if origin in (typing.Union, types.UnionType):
            return self._union(inside)
        if origin is not None and issubclass(origin, Mapping):
            return {"type": "object", "additionalProperties": self._schema(inside[1])}
        if origin is not None and issubclass(origin, Sequence):
            return {"type": "array", "items": self._schema(inside[0])}
        if annotation in _SCALARS:
            return {"type": _SCALARS[annotation]}
        if issubclass(annotation, enum.Enum):
            return self._enumeration(annotation)
        if issubclass(annotation, SitepatchError):
            return {"$ref": "#/$defs/problem"}
        if reported_names(annotation):
            return self._reference(annotation)
        if issubclass(annotation, _TEXTS):
            return {"type": "string"}
        raise Undocumented(f"no answer can have {annotation}")

    def _union(self, parts: Sequence[Any]) -> dict[str, Any]:
        schemas = [self._schema(part) for part in parts]
        if all(set(schema) == {"type"} for schema in schemas):
            return {"type": [schema["type"] for schema in schemas]}
        return {"anyOf": schemas}

    def _enumeration(self, kind: type[enum.Enum]) -> dict[str, Any]:
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind.__name__).lower()
        values = [member.value for member in kind]
        self.definitions[name] = {"description": _summary(kind), "enum": values}
        return {"$ref": f"#/$defs/{name}"}


def _names() -> dict[str, Any]:
    """All classes of ours by name: what a module imports for mypy alone is among them."""
    names: dict[str, Any] = {}
    for module in pkgutil.walk_packages(patcher.__path__, "patcher."):
        if module.name.endswith((".boot", ".child", "__main__")):
            continue  # scripts for the user's interpreter
        for name, value in vars(importlib.import_module(module.name)).items():
            if inspect.isclass(value) and value.__module__.startswith("patcher"):
                names[name] = value
    return names


def _summary(owner: type) -> str:
    """The first paragraph of a docstring."""
    return " ".join((inspect.getdoc(owner) or "").split("\n\n")[0].split())


def _attributes(record: type) -> dict[str, str]:
    """What the section `Attributes:` of a record, or of one that it inherits from, says of each."""
    about: dict[str, str] = {}
    for base in reversed(record.__mro__):
        if not base.__module__.startswith("patcher"):
            continue
        _, _, section = (inspect.getdoc(base) or "").partition("\nAttributes:\n")
        for entry in re.split(r"\n(?=    \w)", section):
            name, colon, text = entry.strip().partition(": ")
            if colon:
                words = " ".join(text.split())
                about[name] = words[:1].upper() + words[1:]
    return about


def made() -> str:
    """The text of the file."""
    return json.dumps(_Schema().whole(), indent=1) + "\n"


def main() -> int:
    """Write the file, or with `--check` say whether it is as it would be written."""
    text = made()
    if "--check" in sys.argv:
        return 0 if PATH.read_text(encoding="utf-8") == text else 1
    PATH.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

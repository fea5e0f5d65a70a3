"""The answer of a command in JSON: records, and what they hold, as JSON has it."""

from __future__ import annotations

import os
from enum import Enum
from typing import Any, Mapping

from patcher.errors import SitepatchError
from patcher.record import reported_names


def to_json(value: Any) -> Any:
    """A value as JSON has it.

    Records and mappings are objects, sequences arrays; paths, the bytes of files and the values of
    enumerations are texts. Of an error there is its problem and its place. Which fields of a record
    there are says `patcher.record.reported`.
    """
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, bytes):
        return decoded(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, SitepatchError):
        return {"problem": value.message, **value.place}
    names = reported_names(type(value))
    if names:
        return _record(value, names)
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    return value


def _record(value: Any, names: tuple[str, ...]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name in names:
        if name.startswith("*"):
            fields.update(to_json(getattr(value, name[1:])))
        else:
            fields[name] = to_json(getattr(value, name))
    return fields


def decoded(data: bytes) -> str:
    """Bytes of a file as text; what is not UTF-8 becomes lone surrogates: nothing is lost."""
    return data.decode("utf-8", "surrogateescape")

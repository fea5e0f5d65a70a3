"""Which fields and properties of a record an answer in JSON has."""

# without `from __future__ import annotations`, as `patcher.model`
from typing import Any, Callable, Optional, Tuple, Type, TypeVar

_Record = TypeVar("_Record")
_NAMES = "__reported__"


def reported(
    names: str, beside: Optional[Type[Any]] = None
) -> Callable[[Type[_Record]], Type[_Record]]:
    """Have an answer in JSON show these fields and properties of a record.

    Without it there are all fields of a record.

    Args:
        names: the names, with blanks between them; with `*` before it, that of a record of which
            the fields are shown in its place.
        beside: a record of which the names come first, as that inherits from it.
    """

    def mark(record: Type[_Record]) -> Type[_Record]:
        first = reported_names(beside) if beside else ()
        setattr(record, _NAMES, (*first, *names.split()))
        return record

    return mark


def reported_names(record: Type[Any]) -> Tuple[str, ...]:
    """The fields and properties of a record in JSON; () for what is no record."""
    names: Tuple[str, ...] = getattr(record, _NAMES, ())
    if names:
        return names
    fields: Tuple[str, ...] = getattr(record, "_fields", ())
    return fields or tuple(getattr(record, "__dataclass_fields__", ()))

"""Records: frozen tuples with names, which modules hand each other, and what JSON shows of them."""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING, Any, Callable, TypeVar

__all__ = ["Record", "reported", "reported_names"]
_Record = TypeVar("_Record")
_NAMES = "__reported__"

if TYPE_CHECKING:
    from typing import NamedTuple as Record
else:

    class _Making(type):
        """Makes the class of a record: a named tuple, with what the body of the class has."""

        def __new__(cls, name, bases, body):
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = body.get("__annotations__", {})
            defaults = [body[field] for field in fields if field in body]
            made = namedtuple(name, fields, defaults=defaults, module=body["__module__"])
            for key, value in body.items():
                if key not in fields:
                    setattr(made, key, value)
            return made

    class Record(metaclass=_Making):
        """What `typing.NamedTuple` is, made in half of the time.

        That one compiles each annotation to see whether it is a type, which mypy knows better. A
        command makes about a hundred classes of records when it starts: two starts of Python.
        """


def reported(
    names: str, beside: type[Any] | None = None
) -> Callable[[type[_Record]], type[_Record]]:
    """Have an answer in JSON show these fields and properties of a record.

    Without it there are all fields of a record.

    Args:
        names: the names, with blanks between them; with `*` before it, that of a record of which
            the fields are shown in its place.
        beside: a record of which the names come first, as that inherits from it.
    """

    def mark(record: type[_Record]) -> type[_Record]:
        first = reported_names(beside) if beside else ()
        setattr(record, _NAMES, (*first, *names.split()))
        return record

    return mark


def reported_names(record: type[Any]) -> tuple[str, ...]:
    """The fields and properties of a record in JSON; () for what is no record."""
    names: tuple[str, ...] = getattr(record, _NAMES, ())
    if names:
        return names
    fields: tuple[str, ...] = getattr(record, "_fields", ())
    return fields or tuple(getattr(record, "__dataclass_fields__", ()))

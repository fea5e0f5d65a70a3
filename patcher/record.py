"""Records: frozen tuples with names, which modules hand each other, and what JSON shows of them."""

from __future__ import annotations

from operator import itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Callable, TypeVar

__all__ = ["ExtensibleRecord", "Record", "reported", "reported_names"]
_Record = TypeVar("_Record")
_NAMES = "__reported__"

if TYPE_CHECKING:
    from typing import NamedTuple as Record

    from typing_extensions import Self, dataclass_transform

    @dataclass_transform(frozen_default=True)
    class ExtensibleRecord:
        """See below."""

        def _replace(self, **named: Any) -> Self: ...

else:

    class _Making(type):
        """Makes the class of a record: its fields are those of its base, then those annotated."""

        def __new__(cls, name, bases, body):
            if "__annotations__" not in body:  # it inherits its fields
                return super().__new__(cls, name, bases, body)
            own = tuple(body["__annotations__"])
            inherited = bases[0]._fields
            defaults = dict(bases[0]._defaults)
            for index, field in enumerate(own, len(inherited)):
                if field in body:
                    defaults[field] = body[field]
                body[field] = property(itemgetter(index))
            body["_defaults"] = defaults
            body["_fields"] = body["__match_args__"] = (*inherited, *own)
            body["__slots__"] = ()
            return super().__new__(cls, name, bases, body)

    class Record(tuple, metaclass=_Making):
        """What `typing.NamedTuple` is; to make such a class takes a fifth of the time.

        That one compiles each annotation, and code for each class. A command makes a hundred
        classes of records when it starts, which took three starts of Python, and then a few
        hundred records.
        """

        __slots__ = ()
        _fields = ()
        _defaults = MappingProxyType({})

        def __new__(cls, *values, **named):
            """A record of these values; what is not named has its default."""
            if len(values) == len(cls._fields) and not named:
                return tuple.__new__(cls, values)
            if len(values) > len(cls._fields):
                raise TypeError(f"{cls.__name__} has {len(cls._fields)} fields, not {len(values)}")
            taken = list(values)
            for field in cls._fields[len(values) :]:
                if field in named:
                    taken.append(named.pop(field))
                elif field in cls._defaults:
                    taken.append(cls._defaults[field])
                else:
                    raise TypeError(f"{cls.__name__} lacks its field {field}")
            if named:
                raise TypeError(f"{cls.__name__} has no field {', '.join(named)} left")
            return tuple.__new__(cls, taken)

        def __repr__(self):
            fields = [f"{name}={value!r}" for name, value in self._asdict().items()]
            return f"{type(self).__name__}({', '.join(fields)})"

        def __getnewargs__(self):
            return tuple(self)

        def _asdict(self):
            return dict(zip(self._fields, self))

        def _replace(self, **named):
            values = [named.pop(name, value) for name, value in zip(self._fields, self)]
            if named:
                raise TypeError(f"{type(self).__name__} has no field {', '.join(named)}")
            return tuple.__new__(type(self), values)

    class ExtensibleRecord(Record):
        """A record that others extend by fields of their own, which a `NamedTuple` cannot be."""

        __slots__ = ()


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
    return fields

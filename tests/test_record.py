"""A record behaves like a NamedTuple of the same class: values, defaults, copies, and what it refuses."""

from __future__ import annotations

import copy
import pickle
from typing import NamedTuple

import pytest

from patcher.record import ExtensibleRecord, Record, reported, reported_names


class Theirs(NamedTuple):
    path: str
    line: int = 1
    more: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"


class Ours(Record):
    path: str
    line: int = 1
    more: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"


def facts(kind):
    one = kind("a.py", more=("x",))
    path, *rest = one
    return {
        "values": [tuple(each) for each in (one, kind("b"), kind("b", 2, ()), kind(line=3, path="c"), one._replace(line=9))],
        "parts": [path, rest, one.line, one[-1], one.place, one._asdict(), one._fields, list(kind.__annotations__)],
        "equal": [one == ("a.py", 1, ("x",)), one == kind("a.py", 1, ("x",)), hash(one) == hash(tuple(one)), one < kind("b")],
        "copies": [type(each) is kind and each == one for each in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one)))],
        "repr": repr(one).replace(kind.__name__, ""),
        "closed": not hasattr(one, "__dict__"),
    }


def test_a_record_behaves_like_a_named_tuple():
    assert facts(Ours) == facts(Theirs)


@pytest.mark.parametrize("words", [((), {}), (("a", 1, (), 4), {}), (("a",), {"path": "b"}), (("a",), {"size": 1})])
def test_wrong_arguments_are_refused(words):
    values, named = words
    for kind in (Ours, Theirs):
        with pytest.raises(TypeError):
            kind(*values, **named)


def test_a_field_that_is_none_is_not_replaced_and_none_can_be_set():
    with pytest.raises(TypeError, match="no field size"):
        Ours("a")._replace(size=1)
    with pytest.raises(AttributeError):
        Ours("a").path = "b"


def test_a_record_that_makes_its_values_keeps_the_fields_it_inherits():
    class Upper(Ours):
        __slots__ = ()

        def __new__(cls, path):
            return super().__new__(cls, path.upper())

    assert tuple(Upper("a")) == ("A", 1, ()) and Upper("a")._replace(line=2) == ("A", 2, ())


@reported("place")
class Base(ExtensibleRecord):
    path: str
    line: int = 1

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"


@reported("more", beside=Base)
class Extended(Base):
    more: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        return f"{super().place} {len(self.more)}"


def test_a_record_that_extends_another_has_its_fields_first_and_its_defaults():
    extended = Extended("a.py", more=("x",))
    assert (extended.path, extended.line, extended.more, extended.place) == ("a.py", 1, ("x",), "a.py:1 1")
    assert extended == ("a.py", 1, ("x",)) == pickle.loads(pickle.dumps(extended))
    assert Base("a.py").place == "a.py:1" and isinstance(extended, Base)
    assert extended._replace(line=2) == Extended("a.py", 2, ("x",))
    assert reported_names(Extended) == ("place", "more")
    with pytest.raises(AttributeError):
        extended.line = 3
    with pytest.raises(TypeError, match="lacks its field path"):
        Extended(more=())
    with pytest.raises(TypeError, match="has no field more"):
        Base("a.py", more=())

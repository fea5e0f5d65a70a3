"""How values are written in a JSON answer."""

from pathlib import Path
from typing import NamedTuple

import pytest

from patcher.display.answer import to_json
from patcher.errors import Location, SitepatchError
from patcher.message import Message
from patcher.model import State
from patcher.record import reported

pytestmark = pytest.mark.once


class Size(NamedTuple):
    width: int
    height: int


@reported("name area *size")
class Box(NamedTuple):
    name: str
    size: Size
    secret: str = "never shown"

    @property
    def area(self):
        return self.size.width * self.size.height


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Size(2, 3), {"width": 2, "height": 3}), (Box("b", Size(2, 3)), {"name": "b", "area": 6, "width": 2, "height": 3}),
        ((Size(1, 1),), [{"width": 1, "height": 1}]), ({1: (2, None)}, {"1": [2, None]}), (State.NOT_FOUND, "not found"),
        (Path("a/b"), "a/b"), (b"caf\xc3\xa9 \xff", "café \udcff"), (Message("{n} files", n=3), "3 files"), (True, True), (0.5, 0.5),
        (SitepatchError.at(Location("f", 3), "it is wrong"), {"problem": "f:3: it is wrong", "file": "f", "line": 3}),
    ],
)  # fmt: skip
def test_a_value_becomes_this_json(value, expected):
    assert to_json(value) == expected

"""Every rule of the format has its table, and its place and an example in docs/format.md; the examples do what they say."""

import importlib
import re
from pathlib import Path

import pytest

from patcher.engine.engine import rewrite
from patcher.engine.spatch.hunk import parse_spatch
from patcher.errors import PatchError
from patcher.model import State
from tests.engine.helpers import block, every_case, hold

PAGE = (Path(__file__).parents[2] / "docs/format.md").read_text(encoding="utf-8")
SOURCE = """
    def load(*path, **mode): "could not be loaded"
    def build(path): return path
    def index_of(device): return device
    def report(model): pass
    def reduce_storage(storage):
        return storage.is_musa
    class Runner:
        def build(self, path, device):
            data = load( path,strict=True, mode='r' )
            model = build(path)  # kept
            model = Wrapper(module=model, dim=1)
            return device.index, device.index
        def train(self, limit=10):
            pass
"""
WRITTEN = (
    ('return getattr(storage, "is_musa", False)',),
    ('data = load( path,strict=True, mode="rb" )',),
    ("model = Wrapper(module=model.eval(), dim=1)",),
    ("report(model)",),
    ("return index_of(device), index_of(device)",),
    ("def train(self, limit=7):",),
)
# What the example of a rule makes of a text: another text, a state in which nothing is written, or the words of a refusal.
BODY = "def call(*a): pass\nconnect = warn = check = report = start = call\nstorage = 1\nclass Runner:\n    def build(self, ready, device, sep, a, b):\n        "
DIM = "class Runner:\n    def build(self): pass\n    def __init__(self, dim: int = {}) -> None:\n        'Doc.'\n"
PAIR = "class Runner:\n    @property\n    def device(self):\n        self._device = value\n    @device.setter\n    def device(self, value):\n        self._device = {}\n"
OPEN = "class Runner:\n    def open(self):\n        pass\n    def close(self):\n        self.open()\n"
EXAMPLES = {
    1: ("connect(timeout=10)", "connect(timeout=60)"),
    2: (PAIR.format("value"), PAIR.format("str(value)")),
    3: ("if ready:\n            start()", "if ready and device:\n            start()"),
    4: ("if ready:\n            start()\n            call(a)", "if ready:\n            start(device)\n            call(a)"),
    5: ("call(a)\n        warn('x', a)", "call(a)"),
    6: ("connect(timeout=30)", "connect(timeout=7, retry=True)"),
    7: ("call(a, sep, b, 1)", "call(b, 1, a)"),
    8: ("connect( ('gpu'), retry=True, timeout=10, )", "connect( ('gpu'), retry=True, timeout=60, )"),
    9: ("return sep and (ready and device)", "return sep and ready"),
    10: (DIM.format(8), DIM.format(16)),
    11: ("def load( path ):  # why\n            return path", "def read( path ):  # why\n            return path"),
    12: ("if ready:\n            start()\n        else:\n            warn()\n        call(a)", "call(a)"),
    13: ("return call(a + b)", "return (a + b) * 2"),
    14: ("ready = check()\n        return ready", "ready = check(device)\n        return bool(ready)"),
    15: ("if ready:\n            start()", "if ready:\n            pass"),
    16: ("connect(\n            a,\n            b,\n        )", "connect(\n            a,\n            b,\n            retry=True,\n        )"),
    17: ("def load(path):\n            path = a\n            # end", "def load(path):\n            path = a\n            # end\n            report(path)"),
    18: ("start()  # why", "if ready:\n            start()  # why"),
    19: ("# first\n        start()", "# the driver needs a warm-up\n        report(device)\n        # first\n        start()"),
    20: (OPEN, State.CONFLICT),
    21: ("start()", State.CONFLICT),
    22: ("call(a)", State.NOT_FOUND),
    23: ("connect(timeout=60)", State.UPSTREAM),
    24: ("call(call(a))", "call(call(a, device), device)"),
    25: ("return a", State.NOT_NEEDED),
    26: ("return device", "too little to name a place"),
    27: ("limit = 7", State.UPSTREAM),
    28: ("start()\n        for a in b:\n            if a: start()", "start()\n        for a in b:\n            if a: start(device)"),
    29: ("model = a\n        return model", "model = a\n        report(model)\n        return model"),
}


CASES = every_case()


@pytest.mark.parametrize("name", CASES)
def test_a_rule_holds_in_each_of_its_cases(name: str) -> None:
    hold(CASES[name])


def test_each_rule_from_1_to_29_has_a_table_of_cases() -> None:
    tables = {}
    for path in Path(__file__).parent.glob("test_rules_*.py"):
        module = importlib.import_module(f"tests.engine.{path.stem}")
        tables.update({name: table for name, table in vars(module).items() if name.startswith("RULE_")})
    assert sorted(tables, key=lambda name: int(name[5:])) == [f"RULE_{number}" for number in range(1, 30)]
    assert all(len(table) >= 4 for table in tables.values()), "a rule with hardly a case"


def test_the_rules_are_numbered_in_the_order_of_the_page() -> None:
    assert [int(number) for number in re.findall(r"^\*\*(\d+)\. ", PAGE, re.M)] == list(range(1, 30))


@pytest.mark.parametrize("rule", EXAMPLES)
def test_the_example_of_a_rule_does_what_it_says(rule: int) -> None:
    _, _, below = PAGE.partition(f"\n**{rule}. ")
    text = re.split(r"^\*\*|^## ", below, maxsplit=1, flags=re.M)[0]
    (example,) = re.findall(r"(?:^    .*\n)+", text, re.M)
    hunk = re.sub("^    ", "", example, flags=re.M)
    if "@@" not in hunk:
        scope = "Runner" if rule == 10 else "Runner.build"
        hunk = f"@@ {scope} @@\n{hunk}"
    spatch = hunk if hunk.startswith("---") else f"--- package/module.py\n{hunk}"
    code, written = EXAMPLES[rule]
    whole = code.startswith("class")
    source = code if whole else f"{BODY}{code}\n"
    if isinstance(written, str) and rule == 26:
        with pytest.raises(PatchError, match=written):
            rewrite(source.encode(), parse_spatch(spatch, "page.spatch")[1][0].hunks, {})
        return
    result = rewrite(source.encode(), parse_spatch(spatch, "page.spatch")[1][0].hunks, {"limit": 7})
    states = [answer.state for answer in result.answers]
    if isinstance(written, State):
        assert states == [written]
    else:
        assert result.data.decode() == (written if whole else f"{BODY}{written}\n"), result.answers


def test_the_examples_of_the_six_rules_do_what_they_say() -> None:
    examples = [re.sub("^    ", "", text, flags=re.M) for text in re.findall(r"(?:^    .*\n)+", PAGE, re.M)]
    source = block(SOURCE)
    for example, written in zip(examples, WRITTEN):
        text = example if "@@" in example else f"@@ Runner.build @@\n{example}"
        _, files = parse_spatch(text if text.startswith("---") else f"--- package/module.py\n{text}", "page.spatch")
        result = rewrite(source.encode(), files[0].hunks, {"limit": 7})
        assert [answer.problem for answer in result.answers if answer.state.failed] == [], example
        inserted = [line.strip() for line in result.data.decode().splitlines() if line not in source.splitlines()]
        assert tuple(inserted) == written, example

"""Every rule of the format has its table, and its place in docs/format.md, whose examples do what they say."""

import importlib
import re
from pathlib import Path

import pytest

from patcher.engine.engine import rewrite
from patcher.engine.spatch.hunk import parse_spatch
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
    ("report(model)",),
)


CASES = every_case()


@pytest.mark.parametrize("name", CASES)
def test_a_rule(name: str) -> None:
    hold(CASES[name])


def test_each_rule_from_1_to_29_has_a_table_of_cases() -> None:
    tables = {}
    for path in Path(__file__).parent.glob("test_rules_*.py"):
        module = importlib.import_module(f"tests.engine.{path.stem}")
        tables.update({name: table for name, table in vars(module).items() if name.startswith("RULE_")})
    assert sorted(tables, key=lambda name: int(name[5:])) == [f"RULE_{number}" for number in range(1, 30)]
    assert all(len(table) >= 4 for table in tables.values()), "a rule with hardly a case"


def test_each_rule_has_its_place_in_the_page() -> None:
    assert sorted(map(int, re.findall(r"^\*\*(\d+)\. ", PAGE, re.M))) == list(range(1, 30))


def test_the_examples_of_the_page_do_what_they_say() -> None:
    examples = [re.sub("^    ", "", text, flags=re.M) for text in re.findall(r"(?:^    .*\n)+", PAGE, re.M)]
    source = block(SOURCE)
    for example, written in zip(examples, WRITTEN):
        text = example if "@@" in example else f"@@ Runner.build @@\n{example}"
        _, files = parse_spatch(text if text.startswith("---") else f"--- package/module.py\n{text}", "page.spatch")
        result = rewrite(source.encode(), files[0].hunks, {"limit": 7})
        assert [answer.problem for answer in result.answers if answer.state.failed] == [], example
        inserted = [line.strip() for line in result.data.decode().splitlines() if line not in source.splitlines()]
        assert tuple(inserted) == written, example
    assert "<text>" in examples[len(WRITTEN)] and len(examples) == len(WRITTEN) + 2

"""Every rule of the format has its table."""

from __future__ import annotations

import importlib
from pathlib import Path


def test_each_rule_from_1_to_30_has_a_table_of_cases() -> None:
    tables = {}
    for path in Path(__file__).parent.glob("test_rules_*.py"):
        module = importlib.import_module(f"tests.semantic.{path.stem}")
        tables.update({name: table for name, table in vars(module).items() if name.startswith("RULE_")})
    assert sorted(tables, key=lambda name: int(name[5:])) == [f"RULE_{number}" for number in range(1, 31)]
    assert all(len(table) >= 4 for table in tables.values()), "a rule with hardly a case"

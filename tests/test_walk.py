"""A short walk, always the same one; `python -m tools.walk --steps 5000 --seed 51` is a long one."""

import pytest

from tools.walk import walk


@pytest.mark.once
def test_a_short_random_walk_finds_no_fault(tmp_path):
    walk(60, 7, tmp_path)

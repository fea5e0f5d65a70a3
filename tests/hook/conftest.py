"""Shared by the tests of the hook."""

import pytest

from tests.hooks import Place


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)

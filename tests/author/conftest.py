"""Shared by the tests of how patchsets are made."""

import pytest

from tests.author.world import World


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)

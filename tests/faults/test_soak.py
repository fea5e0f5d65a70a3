"""A short run of `python -m tools.soak`."""

import pytest

from tools.soak import soak

pytestmark = pytest.mark.once


def test_rounds_of_commands_killed_at_random_lose_nothing(tmp_path, counted):
    figures = soak(60, 1, tmp_path, pip_every=25)
    assert (figures.rounds, figures.torn, figures.lost, figures.reinstalls) == (60, 0, 0, 2)
    assert figures.kills > 20
    assert figures.recoveries > 10
    counted("rounds of the soak", figures.rounds)
    counted("kills", figures.kills)

"""Counts how many points the fault tests have tried, and says so at the end of the run."""

import pytest

_TRIED = pytest.StashKey()


@pytest.fixture
def counted(request):
    """Call `counted(what, number)` with the points that a test has tried."""
    tried = request.config.stash.setdefault(_TRIED, {})

    def count(what, number):
        assert number > 0, what
        tried[what] = tried.get(what, 0) + number
        print(f"{request.node.name}: {number} {what}")

    return count


def pytest_terminal_summary(terminalreporter, config):
    tried = config.stash.get(_TRIED, {})
    if tried:
        terminalreporter.section("faults")
        terminalreporter.line(", ".join(f"{what}: {number}" for what, number in sorted(tried.items())))

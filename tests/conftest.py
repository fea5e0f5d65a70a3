"""Shared by all tests: assertions in helper modules are explained like those in tests; what was tried is counted."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.register_assert_rewrite("tests.semantic.helpers")

REAL = Path(__file__).parent / "real"
_TRIED = pytest.StashKey()


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items):
    """With `-n`, one worker takes all that shares the environment with torch."""
    for item in items:
        if REAL in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("real"))


@pytest.fixture
def counted(request):
    """Call `counted(what, number)` with the points that a test has tried; their sums stand at the end of the run."""
    tried = request.config.stash.setdefault(_TRIED, {})

    def count(what, number):
        assert number > 0, what
        tried[what] = tried.get(what, 0) + number
        print(f"{request.node.name}: {number} {what}")

    return count


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["tried"] = session.config.stash.get(_TRIED, {})


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    tried = node.config.stash.setdefault(_TRIED, {})
    for what, number in getattr(node, "workeroutput", {}).get("tried", {}).items():
        tried[what] = tried.get(what, 0) + number


def pytest_terminal_summary(terminalreporter, config):
    tried = config.stash.get(_TRIED, {})
    if tried:
        terminalreporter.section("tried")
        terminalreporter.line(", ".join(f"{what}: {number}" for what, number in sorted(tried.items())))

"""Shared by all tests: assertions in helper modules are explained like those in tests; what was tried is counted."""

from __future__ import annotations

import signal

import pytest

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell starts what runs in its background so, and children inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)
pytest.register_assert_rewrite("tests.semantic.helpers")

_TRIED = pytest.StashKey()


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

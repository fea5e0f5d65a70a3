"""All checks of `doctor` run, even if one of them fails."""

from patcher.errors import SitepatchError
from patcher.installed.interpreter import Environment
from patcher.verbs.health.checks import NOTE, OK, PROBLEM, Check, examine
from patcher.verbs.health.examination import Examination


def test_a_check_that_cannot_run_says_so_and_the_others_run():
    def fails(case):
        yield NOTE, "first", ""
        raise ZeroDivisionError("by zero")

    def refuses(case):
        raise SitepatchError("no answer", "ask again")

    checks = [Check("a", "", fails), Check("b", "", refuses), Check("c", "fine", lambda case: [])]
    rows = examine(Examination(Environment("", (), (), (3, 11)), ()), checks)
    assert [tuple(row) for row in rows] == [
        (NOTE, "a", "first", ""),
        (PROBLEM, "a", "this check failed: ZeroDivisionError: by zero", ""),
        (PROBLEM, "b", "this check failed: no answer", "ask again"),
        (OK, "c", "fine", ""),
    ]

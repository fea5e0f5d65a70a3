"""Plans of an environment, as the verbs make them."""

from typing import Sequence

from patcher.facts import FileStatus, HandEdits, Wanted
from patcher.installed.interpreter import Environment
from patcher.model import Plan, Requested
from patcher.planner.survey import make_plan

NOWHERE = Environment("", (), (), (3, 11))


def plan_apply(env: Environment, requested: Sequence[Requested], *, force: bool = False) -> Plan:
    return make_plan(env, Wanted(tuple(requested), force=force))


def plan_sync(env: Environment, requested: Sequence[Requested], *, force: bool = False) -> Plan:
    return make_plan(env, Wanted(tuple(requested), None, force))


def plan_pristine(env: Environment, requested: Sequence[Requested]) -> Plan:
    return make_plan(env, Wanted(tuple(requested), fresh=True))


def plan_restore(items: Sequence[FileStatus], names: Sequence[str] = (), *, force: bool = False) -> Plan:
    return make_plan(NOWHERE, Wanted((), tuple(names) or None, force), items)


def plan_adopt(env: Environment, requested: Requested, edits: HandEdits) -> Plan:
    return make_plan(env, Wanted((requested,), force=True, edits=edits))

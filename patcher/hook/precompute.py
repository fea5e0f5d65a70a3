"""Patchsets + an environment -> the precomputed changes of a hook: what each file there becomes. Writes nothing."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Sequence, Tuple

from patcher.errors import SitepatchError
from patcher.facts import sha256
from patcher.hook.content import Precomputed
from patcher.hook.directory import hook_patchset
from patcher.model import Answer, Located, LockedFile, Requested
from patcher.planner.plan import decide_files
from patcher.store.status import read_installed
from patcher.survey.plans import REWRITER, read_facts
from patcher.target.environment import locate
from patcher.target.interpreter import Environment


class Precomputation(NamedTuple):
    """The changes by path, an answer for each hunk, remarks."""

    changes: Tuple[Precomputed, ...]
    answers: Tuple[Answer, ...]
    notes: Tuple[str, ...]


def precompute(env: Environment, requested: Sequence[Requested]) -> Precomputation:
    """Work out what the patchsets make of the files of an environment, from their pristine bytes.

    A package that is not there is no failure: its files are left to sitepatch itself.

    Raises:
        PatchError: a hunk is wrong in itself.
        StoreError: a receipt is invalid.
    """
    facts = read_facts(env, requested, fresh=True)
    answers: List[Answer] = []
    notes = list(facts.notes)
    by_name = {one.patchset.name: one for one in requested}
    for answer in facts.answers:
        if not answer.scope and not _is_there(env, by_name[answer.patchset], answer.path):  # no hunk's: a package's
            notes.append(f"{answer.patchset}: {answer.problem}; where it is, sitepatch itself has to patch it")
        else:
            answers.append(answer)
    changes: List[Precomputed] = []
    plan, locked_files = decide_files(facts._replace(answers=tuple(answers), notes=tuple(notes)), REWRITER)
    for file, locked in zip(plan.files, locked_files):
        every = (assignment.requested.patchset for assignment in facts.assignments[file.site, file.path])
        exact = any(variant.versions for patchset in every for variant in patchset.variants)
        changes.append(Precomputed(locked, exact, file.steps))
    changes += _others(requested, [each[0].located for each in facts.assignments.values()], [one.file.path for one in changes])
    changes.sort(key=lambda one: one.file.path)
    return Precomputation(tuple(changes), plan.answers, plan.notes)


def _is_there(env: Environment, one: Requested, package: str) -> bool:
    try:
        locate(env, package)
    except SitepatchError:
        paths = hook_patchset(one).paths.get(package, ())
        return any(read_installed(site, path) is not None for site in env.sites for path in paths)
    return True


def _others(requested: Sequence[Requested], places: Sequence[Located], done: Sequence[str]) -> List[Precomputed]:
    """Files that a patchset names for other releases and that are there: nothing is to be changed in them."""
    found: Dict[str, Precomputed] = {}
    for located in places:
        for one in requested:
            for path in hook_patchset(one).paths.get(located.package, ()):
                data = read_installed(located.site, path)
                if data is not None and path not in done:
                    digest = sha256(data)
                    file = LockedFile(located.package, located.distribution, located.version, path, digest, digest)
                    found[path] = Precomputed(file, True, ())
    return list(found.values())

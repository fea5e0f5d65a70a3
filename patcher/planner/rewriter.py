"""What the planner asks for while it decides: results of hunks, patchsets of applied steps."""

from __future__ import annotations

from pathlib import Path

from patcher.errors import Location, SitepatchError
from patcher.facts import Assignment
from patcher.message import Message
from patcher.model import (
    SOURCE,
    HunkAnswer,
    HunkText,
    Located,
    Patchset,
    PatchsetSource,
    Requested,
    Rewrite,
    State,
    Step,
)
from patcher.patchset import results
from patcher.patchset.manifest import load_patchset
from patcher.planner.merge import parses
from patcher.store.folder import HOME
from patcher.store.store import Store


class _Rewriter:
    """A `Rewriter` of known results, the engine, and the copies in the store."""

    def rewrite(self, data: bytes, assignment: Assignment) -> Rewrite:
        """The result of an assignment's hunks on a text."""
        request = results.request_of(assignment.requested, assignment.hunks, names=assignment.names)
        result = results.rewrite_with_known(data, request)
        is_new_module = assignment.adds and assignment.path.endswith(SOURCE)
        if not is_new_module or not result.splices or parses(result.data):
            return result

        # with libcst: for an error, or for the syntax of a newer Python
        from patcher.engine.check import source_problem

        problem = source_problem(result.data)
        if not problem:
            return result
        answers: list[HunkAnswer] = []
        for answer in result.answers:
            answers.append(answer._replace(state=State.CONFLICT, splices=(), problem=problem))
        return Rewrite(data, (), answers=tuple(answers))

    def recorded(self, site: str, path: str, step: Step) -> Assignment:
        """The assignment of an applied step, from the copy of its patchset in the store."""
        patchset = stored_patchset(site, step)
        for variant in patchset.variants:
            hunks: list[HunkText] = []
            for patch in variant.patches:
                hunks += patch.hunks if path in patch.places else ()
            if hunks:
                return Assignment(
                    requested=Requested(patchset, step.options),
                    located=Located(
                        variant.package, site, distribution="", version="", dist_info=""
                    ),
                    path=path,
                    hunks=tuple(hunks),
                    names=variant.names,
                )
        problem = Message(
            "the stored copy of {patchset} does not mention this file", patchset=step.patchset
        )
        raise SitepatchError.at(Location(path), problem, "restore all patchsets")


REWRITER = _Rewriter()


def stored_patchset(site: str, step: Step) -> Patchset:
    """The patchset of an applied step, from its copy in the store; its `source` is `the store`.

    Raises:
        StoreError: the copy is missing or damaged.
    """
    folder = Path(site) / HOME / "patchsets" / step.digest / step.patchset
    source = PatchsetSource(Message("the store"))
    return load_patchset(folder, source, texts=Store(site).patchset_files(step.digest))

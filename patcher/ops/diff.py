"""What patchsets change, or would change, and what people edited by hand, file by file. Reads only."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from patcher.errors import SitepatchError
from patcher.facts import Condition, FileStatus, Wanted
from patcher.message import Message
from patcher.model import Answer, OptionValue, Patchset, Requested
from patcher.ops.events import SILENT, Events
from patcher.ops.patchsets import compatibility_table
from patcher.ops.place import Place
from patcher.patchset.places import folders_by_name, named_places
from patcher.patchset.sources import find_patchsets
from patcher.planner.survey import make_plan, stored_patchset
from patcher.project.pyproject import read_project
from patcher.project.request import PROJECT
from patcher.project.selection import choose, find_all
from patcher.store.retry import settled
from patcher.store.status import applied_names, before_and_after, describe_unfinished, statuses
from patcher.target.interpreter import Environment
from patcher.text.confusable import diff_remarks
from patcher.text.diffs import FileDiff, diff_texts, plan_diffs


class DiffRequest(NamedTuple):
    """Show what the named patchsets change, or would change; what is changed without names, by patchsets and by hand.

    With `edited` only what was edited by hand is shown: in the packages, distributions and files that `names` are then, in
    those of patchsets without any. With `everywhere` all that is installed is looked at. With `fetch` what a file was before
    is also fetched from the index.
    """

    place: Place
    names: Tuple[str, ...] = ()
    edited: bool = False
    everywhere: bool = False
    fetch: bool = False


class HandEditDiff(NamedTuple):
    """A file that somebody edited; `compared` is what the text of before is, `diff` None where nothing here gives that.

    `release` is its distribution with the version, `proven` whether RECORD's sha256 is that of the text of before.
    """

    site: str
    path: str
    release: str
    compared: str = ""
    proven: bool = True
    diff: Optional[FileDiff] = None


class DiffOutcome(NamedTuple):
    """What differs: `applied` by patchsets, `planned` by those that would be applied, `edits` by hand.

    `items` are the files that are patched by those that were meant, `requested` what would be applied, `answers` those about
    its hunks, `notes` what is to be known besides, runs that have not ended among it.
    """

    env: Environment
    applied: Tuple[FileDiff, ...] = ()
    planned: Tuple[FileDiff, ...] = ()
    edits: Tuple[HandEditDiff, ...] = ()
    items: Tuple[FileStatus, ...] = ()
    requested: Tuple[Requested, ...] = ()
    answers: Tuple[Answer, ...] = ()
    notes: Tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether a patchset that was named does not fit."""
        return any(answer.state.failed for answer in self.answers)

    @property
    def differs(self) -> bool:
        """Whether anything does."""
        return bool(self.applied or self.planned or self.edits)


class Reason(NamedTuple):
    """A patchset with its options; `applied` is whether it is applied, `checked` the table of releases in its folder."""

    patchset: Patchset
    options: Mapping[str, OptionValue]
    applied: bool
    checked: str = ""


def diff(request: DiffRequest, events: Events = SILENT) -> DiffOutcome:
    """Find what differs.

    Raises:
        SitepatchError: a name that means nothing, a hunk that is wrong in itself, a receipt or a copy that is damaged.
    """
    env = request.place.environment()
    events.started(env)
    names = () if request.edited else request.names
    outcome = settled(env, lambda: _applied(env, names))
    live = applied_names(item for item in outcome.items if item.live)
    others = [name for name in dict.fromkeys(names) if name not in live]
    if others:
        outcome = _planned(outcome, request.place, others)
    if request.edited:
        outcome = outcome._replace(applied=(), notes=())
    if request.edited or not request.names:
        outcome = _edited(outcome, request, events)
    return outcome._replace(notes=(*describe_unfinished(env), *outcome.notes))


def _applied(env: Environment, names: Sequence[str]) -> DiffOutcome:
    """What is changed by these patchsets, by all without names."""
    diffs: List[FileDiff] = []
    notes: List[str] = []
    found: List[FileStatus] = []
    for item in statuses(env):
        here = [step.patchset for step in item.receipt.steps if not names or step.patchset in names]
        found += [item] if here else []
        if here and item.condition is not Condition.APPLIED:
            notes.append(Message("{item.receipt.path}: {item.condition.value}; see sitepatch status", item=item))
        if here and item.live:
            texts = before_and_after(item.site, item.receipt, here)
            diffs.append(diff_texts(item.site, item.receipt.path, *texts, here)._replace(release=item.release))
            notes += diff_remarks(item.receipt.path, diffs[-1].text)
    return DiffOutcome(env, tuple(diffs), items=tuple(found), notes=tuple(notes))


def _planned(outcome: DiffOutcome, place: Place, names: Sequence[str]) -> DiffOutcome:
    """The outcome with what patchsets would change that are not applied; nothing where one of them does not fit."""
    requested, shadows = choose(names, (), place.patch_dirs)
    plan = settled(outcome.env, lambda: make_plan(outcome.env, Wanted(tuple(requested))))
    diffs = () if plan.failed else tuple(plan_diffs(plan))
    notes = (*outcome.notes, *shadows, *plan.notes)
    return outcome._replace(planned=diffs, requested=tuple(requested), answers=plan.answers, notes=notes)


# what was edited by hand ----------------------------------------------------------------------------------------------
def _edited(outcome: DiffOutcome, request: DiffRequest, events: Events) -> DiffOutcome:
    """The outcome with the files that are not as RECORD, or a receipt, says."""
    from patcher.author.changed import find_changed  # neither for a patchset that is named

    env = outcome.env
    words = request.names
    if not words and not request.everywhere:
        words = tuple(each for each in sorted(_packages(outcome.items, request.place)) if _is_here(env, each))
        if not words:
            return outcome
    try:
        search = settled(env, lambda: find_changed(env, words, events.progress))
    except SitepatchError as error:
        if request.names:
            raise
        return outcome._replace(notes=(*outcome.notes, *error.message.split("\n")))
    edits: List[HandEditDiff] = []
    notes = [*outcome.notes, *search.notes]
    if search.files:
        from patcher.author.pristine import search_pristine as search_before  # with the index, which few need

        before, lost = search_before(search.files, events.note, fetch=request.fetch)
        notes += [Message("{path}: {tried}", path=one.file.path, tried=one.tried[-1]) for one in lost] if request.fetch else []
        for file in search.files:
            text = before.get((file.site, file.path))
            edit = HandEditDiff(file.site, file.path, file.release)
            if text:
                made = diff_texts(file.site, file.path, text.data, file.data)._replace(release=file.release)
                edit = edit._replace(compared=text.where, proven=text.proven, diff=made)
                notes += diff_remarks(file.path, made.text)
            edits.append(edit)
    return outcome._replace(edits=tuple(edits), notes=tuple(notes))


def _packages(items: Sequence[FileStatus], place: Place) -> Set[str]:
    """The import packages that are looked at without being named.

    Those that something is applied in, and those of the project's patchsets: where there is neither, those of all that are
    known.
    """
    packages = {item.receipt.package for item in items}
    packages |= {variant.package for one in _of_project(place) for variant in one.variants}
    if not packages:
        every, _ = find_patchsets(place.patch_dirs, Path.cwd())
        packages = {variant.package for one in every for variant in one.patchset.variants}
    return packages


def _of_project(place: Place) -> List[Patchset]:
    """The patchsets in `--patch-dir` and `./patchsets`, and those that the project asks for.

    What is wrong with them is reported by `list` and `sync`; here they only name packages.
    """
    project = None
    with suppress(SitepatchError):
        project = read_project(Path(PROJECT)) if Path(PROJECT).is_file() else None
    dirs = (*place.patch_dirs, *(project.patch_dirs if project else ()))
    names: Dict[str, object] = dict(folders_by_name(named_places(dirs, Path.cwd())))
    names.update((entry.name, entry) for entry in (project.entries if project else ()))
    found: List[Patchset] = []
    for name in names:
        with suppress(SitepatchError):
            found += find_all([name], dirs)[0]
    return found


def _is_here(env: Environment, package: str) -> bool:
    return any(Path(site, each).exists() for site in env.own for each in (package, f"{package}.py"))


def reasons(outcome: DiffOutcome, patch_dirs: Sequence[str]) -> List[Reason]:
    """The patchsets that make a difference, each once: what is applied is read from the copy that the store has of it.

    Raises:
        StoreError: such a copy is missing or damaged.
    """
    made = {name for diff in outcome.applied for name in diff.patchsets}
    found: Dict[str, Reason] = {}
    for item in outcome.items:
        for step in item.receipt.steps:
            if step.patchset in made and step.patchset not in found:
                found[step.patchset] = Reason(stored_patchset(item.site, step), step.options, True)
    for one in outcome.requested:
        found[one.patchset.name] = Reason(one.patchset, one.options, False)
    return [each._replace(checked=compatibility_table(each.patchset, patch_dirs)) for each in found.values()]

"""Environment + what is wanted -> a plan: reads the facts, and has `patcher.planner.plan` decide."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Sequence

from patcher.engine.text import STANDS_THERE
from patcher.errors import AbsentError, Location, SitepatchError, StoreError
from patcher.facts import Assignment, Condition, Facts, FileStatus, TargetFile, Wanted, sha256
from patcher.installed.distribution import edited_message
from patcher.installed.environment import (
    blocker,
    check_not_shared,
    compiled_modules,
    find_file,
    locate,
    nearest_file,
)
from patcher.installed.interpreter import Environment
from patcher.installed.record import recorded_hash
from patcher.message import Message, joined
from patcher.model import (
    SOURCE,
    Answer,
    FilePatch,
    HunkText,
    Located,
    Patchset,
    PatchsetSource,
    Plan,
    Receipt,
    ReportedHunk,
    Requested,
    Rewrite,
    State,
    Step,
    Variant,
)
from patcher.patchset.manifest import load_patchset
from patcher.patchset.variants import matching_variants, pick_variants
from patcher.planner.plan import plan
from patcher.store.folder import HOME
from patcher.store.receipt import ADDED_FILE, new_receipt
from patcher.store.status import (
    applied_names,
    classify,
    read_installed,
    recorded_now,
    statuses,
)
from patcher.store.store import Store
from patcher.system.reading import read_file


class _Rewriter:
    """A `patcher.planner.resolve.Rewriter` of known results, the engine, and the copies in the store."""

    def rewrite(self, data: bytes, assignment: Assignment) -> Rewrite:
        """The result of an assignment's hunks on a text."""
        # with json, which a `restore` of nothing need not import
        from patcher.patchset import (
            results,
        )

        result = results.rewrite_cached(
            data, results.request_of(assignment.requested, assignment.hunks, assignment.names)
        )
        if not (assignment.adds and assignment.path.endswith(SOURCE) and result.splices):
            return result
        from patcher.planner.merge import parses  # with diff

        if parses(result.data):
            return result
        # with libcst: for an error, or for the syntax of a newer Python
        from patcher.engine.check import (
            source_problem,
        )

        problem = source_problem(result.data)
        refused = (
            answer._replace(state=State.CONFLICT, splices=(), problem=problem)
            for answer in result.answers
        )
        return Rewrite(data, (), tuple(refused)) if problem else result

    def recorded(self, site: str, path: str, step: Step) -> Assignment:
        """The assignment of an applied step, from the copy of its patchset in the store."""
        patchset = stored_patchset(site, step)
        for variant in patchset.variants:
            hunks = tuple(
                hunk for patch in variant.patches if path in patch.paths for hunk in patch.hunks
            )
            if hunks:
                located = Located(variant.package, site, "", "", "")
                return Assignment(
                    Requested(patchset, step.options), located, path, hunks, variant.names
                )
        problem = Message(
            "the stored copy of {patchset} does not mention this file", patchset=step.patchset
        )
        raise SitepatchError.at(Location(path), problem, "restore all patchsets")


REWRITER = _Rewriter()
PLAIN = Wanted()
"""What is wanted of a file that is only looked at."""


def make_plan(env: Environment, wanted: Wanted, items: Sequence[FileStatus] | None = None) -> Plan:
    """Read an environment, and plan what is wanted of it; the arguments and errors are those of `read_facts` and `plan`."""
    return plan(read_facts(env, wanted, items), wanted, REWRITER)


def read_facts(
    env: Environment, wanted: Wanted, items: Sequence[FileStatus] | None = None
) -> Facts:
    """What the planner needs.

    Args:
        env: the environment.
        wanted: what is to become of it.
        items: the files in which patchsets are applied (`statuses`); None to look.

    Raises:
        PatchError: a hunk is wrong in itself.
        StoreError: a receipt or a pristine copy is invalid.
    """
    survey = _Survey(env, of_project=wanted.reverted is None)
    assignments: dict[tuple[str, str], tuple[Assignment, ...]] = {}
    for requested in wanted.requested:
        for assignment in survey.assignments(requested):
            key = (assignment.located.site, assignment.path)
            assignments[key] = (*assignments.get(key, ()), assignment)
    seen = {(item.site, item.receipt.path): item for item in items or ()}
    receipts: dict[str, dict[str, Receipt]] = {}
    for site in {site for site, _ in assignments}:
        known = {path: item.receipt for (place, path), item in seen.items() if place == site}
        receipts[site] = Store(site).receipts() if items is None else known
    files = {}
    for (site, path), (assignment, *_) in sorted(assignments.items()):
        located, receipt = assignment.located, receipts[site].get(path)
        if assignment.adds:
            files[site, path] = read_added(located, path, receipt, wanted)
        else:
            files[site, path] = read_target(located, path, receipt, wanted, seen.get((site, path)))
    other_items: Sequence[FileStatus] = ()
    # then nothing is written
    failed = wanted.reverted == () and any(answer.state.failed for answer in survey.answers)
    if not (wanted.fresh or wanted.edits is not None or failed):
        other_items = statuses(env, but=assignments, read=receipts) if items is None else items
    going = [
        item
        for item in other_items
        if (item.site, item.receipt.path) not in files
        and any(wanted.goes(step.patchset) for _, step in item.patchsets)
    ]
    patched = {(item.site, item.receipt.path): _read_patched(item, wanted) for item in going}
    return Facts(assignments, {**patched, **files}, tuple(survey.answers), tuple(survey.notes))


# files that patchsets are for -----------------------------------------------------------------------------------------
def read_target(
    located: Located,
    path: str,
    receipt: Receipt | None,
    wanted: Wanted = PLAIN,
    item: FileStatus | None = None,
) -> TargetFile:
    """A file that patchsets are for.

    Its `problem` is that it was changed by hand, or that its receipt cannot be trusted, so that its pristine bytes are not
    known.

    Args:
        located: the package.
        path: of the file, below the site directory.
        receipt: of the file, if there is one.
        wanted: with `force` a file is accepted that was edited by hand: before it was patched, with the edit; after that,
            without it.
        item: what was seen of the file a moment ago; None to look.
    """
    notes: list[str] = []
    try:
        file = _read(located, path, receipt, notes, wanted, item)
    except SitepatchError as error:
        return TargetFile(b"", b"", problem=error, notes=tuple(notes))
    if wanted.fresh:
        file, receipt = TargetFile(file.pristine, file.pristine), None
    # A reinstall may have given the same bytes another mode, owner and mtime: those of the file are the pristine ones.
    blank = new_receipt(located, path, receipt if file.steps else None)
    return file._replace(receipt=receipt, blank=blank, notes=tuple(notes))


def read_added(located: Located, path: str, receipt: Receipt | None, wanted: Wanted) -> TargetFile:
    """A file that a patchset adds: as `read_target`, with no pristine bytes, or those of a file that stands there."""
    data = read_installed(located.site, path)
    ours = receipt if receipt and receipt.pristine.origin == ADDED_FILE else None
    item = classify(located.site, ours, data) if ours else None
    blank = new_receipt(located, path, ours)
    file = TargetFile(
        b"", data or b"", origin=ADDED_FILE, receipt=receipt, blank=blank, missing=data is None
    )
    if wanted.fresh and (item or data is None):
        return TargetFile(b"", b"", origin=ADDED_FILE, blank=blank, missing=True)
    if data is None:
        return file
    if item and item.live:
        edited = item.condition is Condition.EDITED
        kept = SitepatchError(*_KEPT) if edited and not wanted.force else None
        file = file._replace(steps=item.receipt.steps, problem=kept)
        return file._replace(aside=data if edited else b"")
    foreign = SitepatchError(
        STANDS_THERE,
        Message("remove it if nobody needs it, or give the file of the patchset another name"),
    )
    return file._replace(
        pristine=data,
        origin="unrecorded",
        problem=None if data and (item or not receipt) else foreign,
    )


_KEPT = (
    Message("the file was edited by hand after it was patched"),
    Message(
        "`sitepatch restore` takes our change out and keeps the edit, unless they overlap; "
        "--force drops the edit and keeps a copy of it"
    ),
)


def _read(
    located: Located,
    path: str,
    receipt: Receipt | None,
    notes: list[str],
    wanted: Wanted,
    item: FileStatus | None,
) -> TargetFile:
    site = located.site
    edit = wanted.edits.get((site, path)) if wanted.edits else None
    if edit or (item and item.condition is Condition.MISSING):  # it is there since
        item = None
    data = edit.now if edit else item.data if item else read_installed(site, path) or b""
    if wanted.edits is not None and not edit:
        raise SitepatchError("the patchset is for this file too, and it was not edited")
    if receipt is not None:
        item = item or classify(site, receipt, data)
        if item.condition is Condition.ASTRAY:
            raise SitepatchError(*item.why)
        if item.condition is Condition.EDITED and not wanted.force:
            raise SitepatchError(*_KEPT)
        if item.live:
            aside = data if item.condition is Condition.EDITED else b""
            pristine = Store(site).pristine(receipt.pristine.sha256)
            return TargetFile(pristine, data, receipt.steps, receipt.pristine.origin, aside)
        notes.append(_taken_away(item, [each.patchset.name for each in wanted.requested]))
    recorded = recorded_hash(located, path)
    if edit:
        origin = "recorded" if recorded == sha256(edit.pristine) else "unrecorded"
        return TargetFile(edit.pristine, data, origin=origin, aside=data)
    file = TargetFile(data, data, aside=_edit_before_patch(site, receipt, data))
    if recorded is None:
        if located.recorded:  # else a note about the whole package says so
            notes.append(
                Message(
                    "{path}: no hash is recorded for it, so nothing proves that it is as upstream shipped it",
                    path=path,
                )
            )
        return file._replace(origin="unrecorded")
    if recorded != sha256(data):
        if wanted.force:
            template = "{path}: was edited by hand; restore gives the edited file back, the store keeps it as {place}"
            kept = Message(template, path=path, place=f"{site}/{HOME}/pristine/{sha256(data)}")
            return file._replace(origin="edited", if_changed=kept)
        problem, hint = edited_message(located, path)
        names = " ".join(item.patchset.name for item in wanted.requested)
        kept = Message(
            "{hint}; or keep it: sitepatch apply {names} --force{here}", hint=hint, names=names
        )
        raise SitepatchError(problem, kept if wanted.requested else hint)
    return file


def _taken_away(item: FileStatus, named: Sequence[str]) -> str:
    """A remark on a file that was replaced: what was applied in it, and what of that stays away."""
    names = applied_names([item])
    others = [name for name in names if name not in named]
    template = (
        "{path}: {replacement} and took {name} away; still overwritten: {others}"
        if others
        else "{path}: {replacement} and took {name} away; what is named now is for the new file"
    )
    return Message(
        template,
        path=item.receipt.path,
        replacement=item.replacement,
        name=", ".join(names),
        others=", ".join(others),
    )


# files in which patchsets are to be reverted --------------------------------------------------------------------------
def _read_patched(item: FileStatus, wanted: Wanted) -> TargetFile:
    """A file in which patchsets are to be reverted.

    Raises:
        StoreError: its pristine copy is needed and missing or damaged.
    """
    site, receipt = item.site, item.receipt
    missing, edited = item.condition is Condition.MISSING, item.condition is Condition.EDITED
    # where nothing that is in the file goes, an edit is in nobody's way
    force = wanted.force and any(wanted.goes(step.patchset) for step in receipt.steps)
    shipped = item.condition is Condition.APPLIED and sha256(item.data) in recorded_now(
        site, receipt.path
    )
    file = TargetFile(
        b"", item.data, (), receipt.pristine.origin, receipt=receipt, blank=receipt, missing=missing
    )
    if item.condition is Condition.ASTRAY:
        return file._replace(problem=SitepatchError(*item.why))
    if item.deleted:
        words = {"path": receipt.path, "reason": item.why[0]}
        note = Message("{path}: {reason}; it is put back as it was before it was patched", **words)
        return file._replace(pristine=Store(site).pristine(receipt.pristine.sha256), notes=(note,))
    if item.live and not shipped:
        aside = item.data if edited and force else b""
        file = file._replace(
            pristine=Store(site).pristine(receipt.pristine.sha256), steps=receipt.steps, aside=aside
        )
        return file._replace(edited=edited and not force)
    release = item.installed or Message("what is installed")
    reason = Message("{release} has it as patched", release=release) if shipped else item.why[0]
    note = Message(
        "{path}: {reason}; only the receipt is left to drop", path=receipt.path, reason=reason
    )
    aside = _edit_before_patch(site, receipt, item.data)
    return file._replace(pristine=item.data, aside=aside, notes=(note,), forget=True)


def _edit_before_patch(site: str, receipt: Receipt | None, data: bytes) -> bytes:
    """The bytes of a file that was edited by hand before it was patched, where only the store has them; else b""."""
    if (
        receipt is None
        or receipt.pristine.origin != "edited"
        or receipt.pristine.sha256 == sha256(data)
    ):
        return b""
    with suppress(StoreError):  # `status` reports that it is lost
        return Store(site).pristine(receipt.pristine.sha256)
    return b""


def stored_patchset(site: str, step: Step) -> Patchset:
    """The patchset of an applied step, from its copy in the store; its `source` is `the store`.

    Raises:
        StoreError: the copy is missing or damaged.
    """
    folder = Path(site) / HOME / "patchsets" / step.digest / step.patchset
    return load_patchset(
        folder, PatchsetSource(Message("the store")), Store(site).patchset_files(step.digest)
    )


# which hunks are for which file ----------------------------------------------------------------------------------------
class _Survey:
    """Finds the files of an environment that hunks are for.

    `answers` gets an answer for each package and file that is not there, or cannot be patched; `notes` gets remarks.
    """

    def __init__(self, env: Environment, *, of_project: bool) -> None:
        self._env, self._of_project = env, of_project
        self._compiled = lru_cache(maxsize=None)(compiled_modules)
        self.answers: list[Answer] = []
        self.notes: list[str] = []

    def assignments(self, requested: Requested) -> list[Assignment]:
        """The assignments of one patchset.

        Raises:
            PatchError: a hunk is wrong in itself.
            StoreError: a receipt or a pristine copy is invalid.
        """
        assignments: list[Assignment] = []
        name = requested.patchset.name
        for package, variants in pick_variants(requested.patchset).items():
            try:
                paths = [
                    path
                    for variant in variants
                    for patch in variant.patches
                    for path in patch.paths
                    if not patch.adds
                ]
                located = locate(self._env, package, paths)
                variant = _variant(requested, variants, located)
            except SitepatchError as error:
                absent = isinstance(error, AbsentError)
                if requested.optional and absent:
                    left_out = "{name} is optional and left out: {message}"
                    self.notes.append(Message(left_out, name=name, message=error.message))
                else:
                    hint = error.hint
                    if absent and self._of_project:
                        optional = Message(
                            'or ask for "{name} optional", where it may be absent', name=name
                        )
                        hint = joined("\n", filter(None, (hint, optional)))
                    self.answers.append(
                        Answer(
                            name, package, ReportedHunk(), State.NOT_FOUND, (), error.message, hint
                        )
                    )
                continue
            self.notes += located.notes
            if not (located.version or located.notes):
                template = "{package} has no version in its metadata: whether {name} is for it ({versions}) was not checked"
                self.notes.append(
                    Message(template, package=package, name=name, versions=variant.versions)
                )
            hunks: dict[
                str, tuple[HunkText, ...]
            ] = {}  # a file may be named by several sections or .spatch files
            added = {patch.paths[0] for patch in variant.patches if patch.adds}
            for patch in variant.patches:
                path = (
                    patch.paths[0]
                    if patch.paths[0] in added
                    else self._path(requested, located, patch)
                )
                if path:
                    hunks[path] = hunks.get(path, ()) + patch.hunks
            assignments += [
                Assignment(requested, located, path, of_file, variant.names)
                for path, of_file in hunks.items()
            ]
        return assignments

    def _path(self, requested: Requested, located: Located, patch: FilePatch) -> str:
        """The one of the alternative paths that is meant; "" (and an answer) where there is none or several."""
        state, problem, hint = State.CONFLICT, "", ""
        try:
            paths = _with_code(requested, located, patch, find_file(located, patch.paths))
            if len(paths) == 1:
                check_not_shared(located, paths[0], self._env)
                problem = blocker(located, paths[0], self._env, self._compiled) or ""
                if not problem:
                    return paths[0]
            elif paths:
                state = State.AMBIGUOUS
                problem = Message(
                    "the code to change is in several places of this file: {paths}",
                    paths=", ".join(paths),
                )
                hint = Message("name the one that is meant in a variant of its own")
            elif all(hunk.flags.when_present for hunk in patch.hunks):
                state = State.NOT_NEEDED
            else:
                state, words = (
                    State.NOT_FOUND,
                    {"package": located.package, "version": located.version},
                )
                problem = Message("{package} {version} has no such file", **words)
                near = nearest_file(located, patch.paths[0])
                hint = Message(
                    "the nearest name there is {near}: write that path if it is meant"
                    if near
                    else "the file was moved or removed in this release: see `sitepatch show` for the releases it is for",
                    near=near,
                )
        except SitepatchError as error:
            problem, hint = error.message, error.hint
        for scope in dict.fromkeys(hunk.scope for hunk in patch.hunks):
            answer = Answer(
                patchset=requested.patchset.name,
                path=patch.paths[0],
                hunk=ReportedHunk(scope, patch.hunks[0].origin, line=patch.line),
                state=state,
                problem=problem,
                hint=hint,
            )
            self.answers.append(answer)
        return ""


def _with_code(
    requested: Requested, located: Located, patch: FilePatch, paths: Sequence[str]
) -> Sequence[str]:
    """Those of several existing paths that have the code, as rule 1 says; the first where none has: its answers say so."""
    if len(paths) < 2:
        return paths
    having = [path for path in paths if _fits(requested, located, path, patch.hunks, ())]
    return having or paths[:1]


def _variant(requested: Requested, variants: Sequence[Variant], located: Located) -> Variant:
    """The variant for the installed release; where its version does not say which one that is, the first one that fits.

    Raises:
        AbsentError: none is for it.
    """
    matching = matching_variants(variants, located.version)
    if len(matching) == 1:
        return matching[0]
    ranges = ", ".join(variant.versions for variant in variants)
    have = Message(
        "{package} {version} is installed",
        package=located.package,
        version=located.version or Message("(version unknown)"),
    )
    for variant in matching:
        if _variant_fits(requested, variant, located):
            return variant
    template = "{names}; this patchset is for {package} {ranges}"
    problem = Message(template, names=have, package=located.package, ranges=ranges)
    raise AbsentError(problem, update_hint(requested, located.distribution, located.version))


def update_hint(requested: Requested, distribution: str, version: str) -> str:
    """What to do where a release is in no range of a patchset."""
    words = {"name": requested.patchset.name, "version": version}
    return (
        Message("does it hold for it? sitepatch update {name} --to {version}{here}", **words)
        if version
        else ""
    )


def _variant_fits(requested: Requested, variant: Variant, located: Located) -> bool:
    """Whether every file of a variant is there and has the code."""
    hunks: dict[str, tuple[HunkText, ...]] = {}
    for patch in variant.patches:
        if patch.adds:
            continue
        paths = _with_code(requested, located, patch, find_file(located, patch.paths))
        if not paths:
            return False
        hunks[paths[0]] = (*hunks.get(paths[0], ()), *patch.hunks)
    return all(
        _fits(requested, located, path, of_file, variant.names) for path, of_file in hunks.items()
    )


def _fits(
    requested: Requested,
    located: Located,
    path: str,
    hunks: tuple[HunkText, ...],
    names: tuple[str, ...],
) -> bool:
    """Whether the pristine bytes of a file have the code of these hunks, on one of its sides."""
    from patcher.patchset import results  # with json, which a `restore` of nothing need not import

    store, data = Store(located.site), read_file(Path(located.site) / path)
    receipt = store.receipts().get(path)
    if receipt is not None and receipt.current == sha256(data):
        data = store.pristine(receipt.pristine.sha256)
    answers = results.rewrite_cached(data, results.request_of(requested, hunks, names)).answers
    states = {answer.state for answer in answers}
    return not any(state.failed for state in states) and states != {State.NOT_NEEDED}

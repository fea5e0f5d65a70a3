"""`capture`: what was edited in an environment -> a patchset; `adopt`: applies that patchset in place of the edit."""

from __future__ import annotations

from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from patcher.author.changed import InstalledFile, find_changed
from patcher.author.copies import Copies, copied, copy_out
from patcher.author.draft import Draft, FileEdit
from patcher.author.folder import PATCHSETS, Head, output_folder, write_folder
from patcher.author.hunks.generalise import generalise
from patcher.author.hunks.trial import same_code
from patcher.author.pristine import Original, find_originals
from patcher.errors import SitepatchError, StoreError, UsageError
from patcher.facts import Wanted
from patcher.installed.interpreter import Environment
from patcher.message import Message, joined
from patcher.model import Located, PatchsetSource, Plan, Requested
from patcher.ops.authoring.proving import by_package, check_also, further_releases, prove_draft
from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import MANIFEST
from patcher.patchset.sources import resolve_options
from patcher.planner.survey import HandEdit, HandEdits, make_plan
from patcher.project.selection import check_sources
from patcher.store.retry import settled
from patcher.store.status import read_installed, statuses
from patcher.text.listed import listed, shortened
from patcher.verbs.change import carry_out, note_interrupted, verify_settings
from patcher.verbs.place import SILENT, Events, Outcome, Place
from patcher.verbs.releases.outcome import ReleaseOutcome


class CaptureRequest(NamedTuple):
    """Make a patchset of edits.

    `words` are packages, distributions or files, all that is installed without any. `output` is as `output_folder` takes it.
    `pristine` is a file, a wheel or a directory that has the original text, "" to find it. `copy` is a directory with edited
    copies of installed files, "" where the installed files themselves were edited. With `partial` a patchset is made also
    where parts of the edit cannot be put into it. `summary` is that of the patchset, "" for one that names the files.
    `also` are releases (`1.2`, `NAME==1.2`) and directories of packages that it should hold for as well.
    With `adopt` a patchset of that name that stands already is taken as it is, to be put in the place of the edits.
    """

    place: Place
    name: str
    words: Tuple[str, ...] = ()
    output: Optional[str] = None
    pristine: str = ""
    copy: str = ""
    partial: bool = False
    summary: str = ""
    also: Tuple[str, ...] = ()
    adopt: bool = False


class EditRequest(NamedTuple):
    """Copy the Python files of an import package, or that one of its files, to be edited."""

    place: Place
    package: str
    file: str = ""


class Captured(NamedTuple):
    """One edited file: what it was `before` the edit, and what the patchset makes of that (`made`)."""

    file: InstalledFile
    before: Original
    made: bytes = b""

    @property
    def edit(self) -> FileEdit:
        """The text before and after the edit."""
        return FileEdit(self.file.path, self.before.data, self.file.data)


class CaptureOutcome(NamedTuple):
    """The outcome of `capture`.

    Attributes:
        request: the request.
        env: the environment.
        files: the edited files.
        draft: the hunks; without any where an existing patchset is to be adopted.
        plan: applies the patchset in place of the edits, or, if copies were edited, to the installed files.
        notes: remarks for the user.
        folder: the folder of the patchset; None where it was not written, as `draft` or `plan` explains.
        requested: the patchset.
        releases: what it does to the further releases.
    """

    request: CaptureRequest
    env: Environment
    files: Tuple[Captured, ...]
    draft: Draft
    plan: Plan
    notes: Tuple[str, ...]
    folder: Optional[Path] = None
    requested: Optional[Requested] = None
    releases: Tuple[ReleaseOutcome, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the patchset was written."""
        return self.folder is not None


def capture(request: CaptureRequest, events: Events = SILENT) -> CaptureOutcome:
    """Make a patchset of what was edited; the environment is only read.

    Raises:
        UsageError: the name is taken, or there is no such package or file.
        SitepatchError: nothing was edited, or what a file was before is not found.
    """
    existing = _existing(request)
    folder = existing or output_folder(request.name, request.output, events.note)
    check_also(request.also)
    env = request.place.environment()
    events.started(env)
    note_interrupted(env, events)
    if any(step.patchset == request.name for item in statuses(env) for step in item.receipt.steps):
        raise UsageError("{name}: a patchset of this name is applied here", Message("choose another name"), name=request.name)
    if request.copy:
        files = [Captured(*each) for each in copied(env, Path(request.copy))]
        notes: List[str] = []
    else:
        files, notes = _edited(env, request, events)
    _check_apart(files)
    outcome = CaptureOutcome(request, env, tuple(files), Draft(()), Plan((), ()), tuple(notes))
    texts: Dict[str, str] = {}
    if not existing:
        outcome, texts = _drafted(outcome, folder, events)
        if not texts:
            return outcome
    patchset = load_patchset(folder, PatchsetSource(str(folder)), texts)
    outcome = _planned(outcome, Requested(patchset, resolve_options(patchset, {})))
    if outcome.plan.failed:
        return outcome
    if existing and not request.partial:
        _check_same(outcome, existing)
    _check_unchanged(request, files)
    patchset = write_folder(folder, texts) if texts else patchset
    return outcome._replace(folder=folder, requested=Requested(patchset, resolve_options(patchset, {})))


def _existing(request: CaptureRequest) -> Optional[Path]:
    """With `adopt` the folder of the patchset of this name, if it was captured before."""
    folder = Path(PATCHSETS if request.output is None else request.output)
    places = [folder, folder / request.name] if request.adopt else []
    return next((each for each in places if each.absolute().name == request.name and (each / MANIFEST).is_file()), None)


def _drafted(outcome: CaptureOutcome, folder: Path, events: Events) -> Tuple[CaptureOutcome, Dict[str, str]]:
    """The outcome with its hunks and the further releases; and the texts of the folder, {} where none is to be written."""
    request, files = outcome.request, outcome.files
    releases, unread = further_releases(request.also, _packages(files), events)
    draft = generalise([one.edit for one in files], [release.texts for release in releases])
    outcome = outcome._replace(draft=draft, notes=(*outcome.notes, *unread))
    written = {path for file in draft.files if file.hunks for path in file.paths}
    if not written or not (draft.complete or request.partial):
        return outcome, {}
    kept = [one for one in files if one.file.path in written]
    homes, head = list(_packages(kept)), _head(request, kept)
    proof = prove_draft(folder, head, draft, homes, ((each, {}) for each in releases))
    return outcome._replace(releases=proof.releases), proof.texts


def _planned(outcome: CaptureOutcome, requested: Requested) -> CaptureOutcome:
    """The outcome with the plan, and with what the patchset makes of each file."""
    edits = None if outcome.request.copy else _hand_edits(outcome.files)
    plan = make_plan(outcome.env, Wanted((requested,), force=edits is not None), edits=edits)
    made = {(file.site, file.path): file.after for file in plan.files}
    done = tuple(one._replace(made=made.get((one.file.site, one.file.path), one.before.data)) for one in outcome.files)
    return outcome._replace(files=done, plan=plan)


def _check_same(outcome: CaptureOutcome, folder: Path) -> None:
    """Refuse a patchset that makes other code than the edits."""
    planned = {(file.site, file.path) for file in outcome.plan.files}
    mine = [one for one in outcome.files if (one.file.site, one.file.path) in planned]
    other = [one.file.path for one in mine if not same_code(one.made, one.file.data, anywhere=True)]
    if other:
        hint = Message("capture the edit under another name; or --partial: the edited text is kept in the store")
        raise SitepatchError(
            Message(
                "{place}: the patchset {folder} makes other code of it than the edit", place=", ".join(other), folder=folder
            ),
            hint,
        )


def edit(request: EditRequest, events: Events = SILENT) -> Copies:
    """Copy installed files to a new temporary directory, to be edited there and captured with `CaptureRequest.copy`.

    Raises:
        SitepatchError: see `copy_out`.
    """
    env = request.place.environment()
    events.started(env)
    return copy_out(env, request.package, request.file)


def adopt(captured: CaptureOutcome, verify: str, events: Events = SILENT) -> Outcome:
    """Apply a captured patchset in place of the edits, which are tracked from then on.

    Pristine copies, receipts and files are written in one commit. Where the patchset does not make an edited file byte for
    byte, that is kept in the store.

    Raises:
        StoreError: a file was changed since it was captured, or cannot be written.
    """
    place, env, requested = captured.request.place, captured.env, captured.requested
    if captured.folder is None or requested is None:
        raise SitepatchError("{name}: was not written, so it cannot be applied", name=captured.request.name)
    name, dirs = captured.request.name, (str(captured.folder.parent), *place.patch_dirs)
    check_sources([name], dirs)
    how = verify_settings(place, env, verify, [requested.patchset], events)
    events.started(env, [requested])
    edits = _hand_edits(captured.files)

    def look() -> Outcome:
        try:
            _check_unchanged(captured.request, captured.files)
        except SitepatchError as error:
            hint = Message("{folder} holds what was captured before: remove it, then run this again", folder=captured.folder)
            raise StoreError(error.message, hint) from error
        plan = make_plan(env, Wanted((requested,), force=True), edits=edits)
        return Outcome(place._replace(patch_dirs=dirs), env, plan, (name,), (requested,))

    return carry_out(look, env, how, events)


def _hand_edits(files: Sequence[Captured]) -> HandEdits:
    return {(one.file.site, one.file.path): HandEdit(one.before.pristine, one.file.data) for one in files}


def _edited(env: Environment, request: CaptureRequest, events: Events) -> Tuple[List[Captured], List[str]]:
    """The installed files that were edited, and remarks."""
    unproven = bool(request.words and request.pristine)
    search = settled(env, lambda: find_changed(env, request.words, events.progress, unproven=unproven))
    texts = find_originals(search.files, request.pristine, events.note)
    files = [Captured(*each) for each in zip(search.files, texts) if each[0].data != each[1].data]
    if not files:
        what = Message(
            "nothing was edited; Python files: {search.looked}, each as it was installed or as a patchset made it",
            search=search,
        )
        raise SitepatchError(joined("\n", [what, *search.notes]), "to edit a copy: sitepatch edit PACKAGE --name NAME")
    notes: List[str] = [Message("{one.file.path}: compared with {one.before.where}", one=one) for one in files]
    for one in files:
        if not one.before.proven:
            what = Message(
                "nothing proves that {place} is what was installed (its sha256 is not in RECORD)", place=one.before.where
            )
            notes.append(Message("{path}: {what}", path=one.file.path, what=what))
    return files, [*notes, *search.notes]


def _check_apart(files: Sequence[Captured]) -> None:
    paths = [one.file.path for one in files]
    twice = sorted({path for path in paths if paths.count(path) > 1})
    if twice:
        sites = listed(list(dict.fromkeys(one.file.site for one in files)))
        raise SitepatchError(
            "{name}: edited in {sites}; Python imports the first",
            Message("name one with --target"),
            name=", ".join(twice),
            sites=sites,
        )


def _check_unchanged(request: CaptureRequest, files: Sequence[Captured]) -> None:
    for one in files:
        now = read_installed(request.copy or one.file.site, one.file.path)
        if now != one.file.data:
            where = Path(request.copy or one.file.site, one.file.path)
            raise SitepatchError(
                "{where}: was edited again while it was captured", Message("run this again when that is finished"), where=where
            )


def _head(request: CaptureRequest, files: Sequence[Captured]) -> Head:
    named = shortened([one.file.path for one in files], 2)
    releases = ", ".join(dict.fromkeys(one.file.release for one in files))
    return Head(
        request.name,
        request.summary or Message("Edits made by hand in {named}", named=named),
        Message("Captured from {releases}.", releases=releases),
    )


def _packages(files: Sequence[Captured]) -> Dict[Located, Set[str]]:
    return by_package((one.file.located, one.file.path) for one in files)

"""`export`: what patchsets make of an installed release, for those who have no sitepatch."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path
from typing import Any, Mapping, Sequence

import click

from patcher.author.diffs.patchfile import read_head
from patcher.author.export import PatchedFile, mail, patch
from patcher.display.answer import decoded
from patcher.display.console import Console, requirement
from patcher.display.rows import answer_rows
from patcher.display.styles import color_diff
from patcher.display.usage import Choice
from patcher.engine.spatch.hunk import parse_spatch
from patcher.errors import SitepatchError, UsageError
from patcher.facts import Assignment, Wanted
from patcher.installed.interpreter import Environment
from patcher.message import Message, joined
from patcher.model import ADDED, Answer, Plan, Requested, State
from patcher.patchset.layers import layers_of, patch_name, patch_names
from patcher.patchset.selection import choose
from patcher.patchset.variants import choose_variant, pick_variants
from patcher.place import HERE, SILENT, Events, Place
from patcher.planner.rewriter import REWRITER
from patcher.planner.survey import make_plan, read_facts
from patcher.record import Record, reported
from patcher.store.retry import settled
from patcher.system.output import write_output
from patcher.text.diffs import diff_texts
from patcher.text.listed import AnyPath, Texts, listed, one_or_more
from patcher.verbs.export_wheels import patchset_wheel, write_wheels
from patcher.verbs.options import common_options, complete_names, settings_option
from patcher.verbs.releases.choice import check_against
from patcher.verbs.releases.trials import fetched_releases

_PATCH, _WHEEL, _PATCHSET_WHEEL = _FORMATS = ("patch", "wheel", "patchset-wheel")
_WHEELS = "dist"  # the folder that wheels are written to where none is named


class WrittenFile(Record):
    """A file that was written.

    Attributes:
        path: its path.
        sha256: the sha256 (hex) of its bytes.
    """

    path: str
    sha256: str


@reported("text written answers notes")
class ExportOutcome(Record):
    """What was exported.

    Attributes:
        plan: what the patchsets would change.
        text: the patch, "" where it was written or there is none.
        written: the files that were written.
    """

    plan: Plan
    text: bytes = b""
    written: tuple[WrittenFile, ...] = ()

    @property
    def answers(self) -> tuple[Answer, ...]:
        """The answer for each hunk."""
        return self.plan.answers

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks."""
        return self.plan.notes

    @property
    def ok(self) -> bool:
        """Whether the patchsets fit, so that there is something to export."""
        return not self.plan.failed


def export(
    names: Texts,
    settings: Texts = (),
    *,
    format: str = _PATCH,
    place: Place = HERE,
    output: AnyPath | None = None,
    wheels: Texts = (),
    against: str = "",
    events: Events = SILENT,
) -> ExportOutcome:
    """Export what patchsets make of the release that is installed, for those without sitepatch.

    Args:
        names: of patchsets.
        settings: values of options, as `--set` takes them.
        format: `patch`, `wheel` or `patchset-wheel`.
        place: the environment.
        output: a file, for wheels and several patches a folder; without one wheels go to `dist`, a
            patch is in the outcome.
        wheels: those of the releases as they are installed; without the one that is needed pip
            fetches it.
        against: the release of the index that a patch is for, "" for what is installed.
        events: takes what is done.

    Raises:
        SitepatchError: nothing would change; the wheel cannot be had, or is not the one that is
            installed.
        UsageError: an unknown name, option or format; several patchsets for one patch.
    """
    _check_options(format, names, has_settings=bool(settings), has_wheels=bool(wheels))
    if against:
        _check_release(format, against)
    requested, notes = choose(names, settings, place.patch_dirs)
    folder = Path(output or _WHEELS)
    if format == _PATCHSET_WHEEL:
        packed = [patchset_wheel(item.patchset) for item in requested]
        written = _write({folder / wheel.name: wheel.pack() for wheel in packed})
        return ExportOutcome(Plan((), (), tuple(notes)), written=written)

    if against:
        env, requested = _release_of_index(requested, against, events)
    else:
        env = place.environment()
        events.started(env)
    wanted = Wanted(tuple(requested), fresh=True)
    plan = settled(env, lambda: make_plan(env, wanted))
    plan = plan._replace(notes=(*notes, *plan.notes))
    if plan.failed:
        return ExportOutcome(plan)
    files = _changed_files(plan)
    plan = plan._replace(notes=(*plan.notes, *_idle_notes(requested, files)))
    if format == _WHEEL:
        wheel_files = write_wheels(env, files, folder, one_or_more(wheels), events=events)
        written = tuple(WrittenFile(path, sha256=digest) for path, digest in wheel_files)
        return ExportOutcome(plan, written=written)
    return _patch_outcome(plan, env, requested[0], files, output=output)


def _check_options(format: str, names: Texts, *, has_settings: bool, has_wheels: bool) -> None:
    """Refuse options that a format does not take."""
    if format == _PATCH and len(set(one_or_more(names))) > 1:
        problem = Message("--format patch: found several patchsets, expected one")
        raise UsageError(problem, "export one after the other")
    if format == _PATCHSET_WHEEL and (has_settings or has_wheels):
        problem = Message("--format patchset-wheel: takes neither --set nor --wheel")
        raise UsageError(problem, "options are given where it is applied")
    if format == _PATCH and has_wheels:
        raise _takes_no("--wheel", format)


def _check_release(format: str, against: str) -> None:
    """Refuse a text that is no release, and formats that are made of the installed one."""
    check_against([against])
    if format != _PATCH:
        raise _takes_no("--against", format)


def _takes_no(option: str, format: str) -> UsageError:
    problem = Message("--format {format}: takes no {option}", format=format, option=option)
    return UsageError(problem, "it is made of what is installed")


def _release_of_index(
    requested: Sequence[Requested], against: str, events: Events
) -> tuple[Environment, list[Requested]]:
    """A release of the index as an environment, and the patchset for it, whatever its ranges say.

    Raises:
        SitepatchError: there is no such release, or it cannot be fetched.
    """
    (request,) = requested
    packages = list(pick_variants(request.patchset))
    if len(packages) > 1:
        problem = "--against: found patches of {packages}, expected one package"
        raise UsageError(problem, "install the releases", packages=listed(packages))
    releases, problems = fetched_releases(request.patchset, [against], events)
    if len({release.version for release in releases}) != 1:
        names = ", ".join(f"{release.distribution} {release.version}" for release in releases)
        reason = Message("found {folders}", folders=names or Message("none"))
        if problems and not releases:
            reason = joined("\n", problems)
        template = "--against {against}: {problem}"
        problem = Message(template, against=against, problem=reason)
        raise SitepatchError(problem, "name one release")

    variants = request.patchset.variants
    variant = choose_variant(variants, releases[0].version) or variants[-1]
    patchset = request.patchset._replace(variants=(variant._replace(versions=""),))
    return Environment.alone(releases[0].site), [request._replace(patchset=patchset)]


def _changed_files(plan: Plan) -> list[PatchedFile]:
    """The files that change.

    Raises:
        SitepatchError: there are none.
    """
    files = []
    for file in plan.files:
        if file.release is None or file.to_commit is None or not file.changes:
            continue
        patched = PatchedFile(
            path=file.path,
            distribution=file.release.distribution,
            version=file.release.version,
            before=file.before if file.to_commit.old else None,
            steps=file.steps,
        )
        files.append(patched)
    if not files:
        states = dict.fromkeys(answer.state.value for answer in plan.answers)
        names = list(states) or [State.NOT_NEEDED.value]
        template = "nothing to export: no file would change here ({states})"
        raise SitepatchError(template, states=joined(", ", map(Message, names)))
    return files


def _idle_notes(requested: Sequence[Requested], files: Sequence[PatchedFile]) -> list[str]:
    """A note for each patchset that changes no file."""
    changing = {step.patchset for file in files for step in file.steps}
    notes: list[str] = []
    for item in requested:
        name = item.patchset.name
        if name not in changing:
            notes.append(Message("{name} changes nothing here and is left out", name=name))
    return notes


# patches ------------------------------------------------------------------------------------------
def _patch_outcome(
    plan: Plan,
    env: Environment,
    requested: Requested,
    files: Sequence[PatchedFile],
    *,
    output: AnyPath | None,
) -> ExportOutcome:
    """Export a patch, or, if several patches of the patchset are for this release, mails.

    There is a mail for each of them that changes something.
    """
    facts = read_facts(env, Wanted((requested,), fresh=True))
    # one patchset is requested: a file has one assignment
    assignments = [assignment for (assignment,) in facts.assignments.values()]
    names = _names_of_patches_here(requested, assignments)
    if len(names) < 2:
        diff = patch(requested, files)
        if output:
            return ExportOutcome(plan, written=_write({Path(output): diff}))
        return ExportOutcome(plan, text=diff)

    diffs = _diffs_by_patch(plan, names, assignments)
    notes: list[str] = []
    for name in names:
        if not diffs[name]:
            notes.append(Message("{name} changes nothing there and is left out", name=name))
    plan = plan._replace(notes=(*plan.notes, *notes))
    mails = _mails(requested, {name: texts for name, texts in diffs.items() if texts})
    if output:
        return ExportOutcome(plan, written=_write_mails(Path(output), mails))
    return ExportOutcome(plan, text=b"".join(mails.values()))


def _names_of_patches_here(requested: Requested, assignments: Sequence[Assignment]) -> list[str]:
    """The patches that are for what is installed, in their order."""
    here: set[str] = set()
    for assignment in assignments:
        here.update(patch_name(hunk.origin) for hunk in assignment.hunks)
    return [name for name in patch_names(requested.patchset) if name in here]


def _diffs_by_patch(
    plan: Plan, names: Sequence[str], assignments: Sequence[Assignment]
) -> dict[str, list[bytes]]:
    """The diffs that each patch makes, by its name; an empty list for one that changes nothing."""
    diffs: dict[str, list[bytes]] = {name: [] for name in names}
    pristine = {(file.site, file.path): file.before for file in plan.files}
    for assignment in assignments:
        path = assignment.path
        before = pristine[assignment.located.site, path]
        for layer in layers_of(assignment.hunks):
            result = REWRITER.rewrite(before, assignment._replace(hunks=layer))
            after = result.data
            if after != before or result.gone:
                is_new = layer[0].scope == ADDED
                diff = diff_texts(
                    "",
                    path,
                    before=None if is_new else before,
                    after=None if result.gone else after,
                )
                diffs[patch_name(layer[0].origin)].append(diff.text)
            before = after
    return diffs


def _mails(requested: Requested, diffs: Mapping[str, list[bytes]]) -> dict[str, bytes]:
    """A mail for each patch by its name, in their order."""
    spatches: dict[str, str] = {}
    for file, text in requested.patchset.folder.files.items():
        if file.endswith(".spatch"):
            spatches[patch_name(file)] = text
    mails: dict[str, bytes] = {}
    for number, (name, texts) in enumerate(diffs.items(), 1):
        prose, *_ = parse_spatch(spatches[name], f"{name}.spatch")
        mails[name] = mail(name, read_head(prose), number, total=len(diffs), diffs=texts)
    return mails


def _write_mails(folder: Path, mails: Mapping[str, bytes]) -> tuple[WrittenFile, ...]:
    """Write mails as `git format-patch` names them.

    Raises:
        UsageError: the folder has other patches, which somebody would take for some of these.
    """
    texts: dict[Path, bytes] = {}
    for number, (name, text) in enumerate(mails.items(), 1):
        subject = re.sub("^[0-9]+-", "", name)
        texts[folder / f"{number:04}-{subject}.patch"] = text
    others = sorted(path.name for path in folder.glob("*.patch") if path not in texts)
    if others:
        problem = "{folder}: found other patches there, {names}"
        hint = Message("name another folder, or remove them")
        raise UsageError(problem, hint, folder=folder, names=", ".join(others))
    return _write(texts)


def _write(texts: Mapping[Path, bytes]) -> tuple[WrittenFile, ...]:
    """Write each text to its path, and return what was written."""
    written = []
    for path, data in texts.items():
        write_output(path, data)
        written.append(WrittenFile(str(path), sha256=sha256(data).hexdigest()))
    return tuple(written)


# the command --------------------------------------------------------------------------------------
@click.command(
    "export",
    epilog=(
        "\b\nExamples:\n"
        "  sitepatch export mmengine-ddp-debug > ddp.patch\n"
        "  sitepatch export mmengine-ddp-debug --format wheel --output wheels\n"
        "  sitepatch export vendor --output patches --against 0.10.0"
    ),
)
@click.argument("names", metavar="NAME...", nargs=-1, required=True, shell_complete=complete_names)
@click.option(
    "--format",
    "format",
    type=Choice(_FORMATS),
    default=_PATCH,
    show_default=True,
    help="What to export.",
)
@click.option(
    "--output",
    metavar="PATH",
    default="",
    help="A file; for wheels and several patches a folder.  [default: standard output; dist]",
)
@click.option(
    "--against", metavar="RELEASE", default="", help="The release of the index that a patch is for."
)
@click.option(
    "--wheel",
    "wheels",
    metavar="FILE",
    multiple=True,
    help="The wheel of the release; else pip fetches it.",
)
@settings_option
@common_options()
def command(console: Console, names: tuple[str, ...], format: str, **options: Any) -> int:
    """Export what patchsets make of the release that is installed, for those without sitepatch.

    As a patch for git apply and patch -p1, of several a mail for each of them, for git am as well;
    or the wheel of the release with the files changed and a local version (+sitepatch.hDIGEST).

    A patchset-wheel is for those who have sitepatch: it holds the patchset itself, for every
    release, and is installed beside sitepatch, which then lists it.
    """
    outcome = export(names, format=format, place=console.place, events=console, **options)
    failed = outcome.plan.failed
    console.notes(outcome.plan.notes)
    console.rows(answer_rows(failed), err=True)
    console.suggest_explain(failed, console.place.patch_dirs, release=options["against"])

    text = decoded(outcome.text)
    if format == _PATCH and not console.plain:
        console.page(color_diff(text))
    elif not console.as_json:
        console.raw(outcome.text)
    for path, digest in outcome.written:
        if format == _PATCH:
            console.out(Message("wrote {path}", path=path))
        else:
            console.out(requirement(path, digest))
    return console.answer(outcome.ok, outcome)

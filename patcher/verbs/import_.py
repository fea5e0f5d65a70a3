"""`import`: a diff becomes a patchset, or several a series of patches."""

from __future__ import annotations

import sys
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Mapping, NamedTuple, Sequence

import click

from patcher.author.diffs.apply import FUZZ
from patcher.author.diffs.locate import NOT_INSTALLED, FileMatch, InstalledSources
from patcher.author.draft import Draft, LeftOut
from patcher.author.folder import (
    Head,
    PackageRange,
    find_series,
    more_series_files,
    output_folder,
    series_files,
    write_folder,
)
from patcher.author.manifest import with_patch_files
from patcher.author.patches import GivenPatch, given_patches
from patcher.author.ranges import widened
from patcher.display.console import Console
from patcher.display.styles import Row, color_diff, hint_lines
from patcher.display.usage import Whole
from patcher.errors import UsageError
from patcher.installed.versions import says_nothing
from patcher.message import Message
from patcher.model import Patchset
from patcher.patchset.places import MANIFEST
from patcher.place import HERE, SILENT, Events, Place
from patcher.text.diffs import FileDiff
from patcher.text.listed import Texts, listed, one_or_more
from patcher.verbs.authoring import (
    also_option,
    attributes,
    hunks_json,
    number_of_hunks,
    release_json,
    release_rows,
    show_how_to_apply,
    show_hunks,
    show_unlike,
    show_written,
)
from patcher.verbs.options import common_options
from patcher.verbs.releases.outcome import ReleaseOutcome

if TYPE_CHECKING:
    from patcher.author.folder import SeriesFolder
    from patcher.author.proof import Release
    from patcher.author.series import Importer, PatchResult
    from patcher.text.listed import AnyPath


class ImportOutcome(NamedTuple):
    """The outcome of an import.

    Attributes:
        folder: the folder of the patchset.
        results: what came of each patch.
        single: whether it is one patch, which becomes a patchset, and no series.
        patchset: what was written to `folder`; None where nothing was, for `problems` or `missing`.
        files: what the patchset makes of the installed files.
        releases: what it does to the further releases.
        notes: remarks for the user.
    """

    folder: Path
    results: tuple[PatchResult, ...]
    single: bool
    patchset: Patchset | None = None
    files: tuple[FileDiff, ...] = ()
    releases: tuple[ReleaseOutcome, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the patchset was written, with all patches."""
        return self.patchset is not None and not any(result.failed for result in self.results)

    @property
    def patches(self) -> tuple[PatchResult, ...]:
        """What came of each patch of a series."""
        return () if self.single else self.results

    @property
    def draft(self) -> Draft:
        """The hunks."""
        return Draft(tuple(file for result in self.results for file in result.draft.files))

    @property
    def problems(self) -> list[FileMatch]:
        """The sections of the diff that cannot be applied."""
        return [match for result in self.results for match in result.problems]

    @property
    def left_out(self) -> list[LeftOut]:
        """The parts of the diff that are in no hunk and that nothing needs."""
        return [part for result in self.results for part in result.left_out]

    @property
    def missing(self) -> list[LeftOut]:
        """Those that the rest may need, which stop it."""
        return [part for result in self.results for part in result.missing]


def import_(
    patches: Texts,
    *,
    name: str,
    place: Place = HERE,
    data: bytes | None = None,
    output: AnyPath | None = None,
    also: Texts = (),
    leave_out: Texts = (),
    fuzz: int = FUZZ,
    moved: Mapping[str, str] = {},
    events: Events = SILENT,
) -> ImportOutcome:
    """Make a patchset of patches; one that is there already gets those that it lacks.

    Args:
        patches: files, quilt `series` and directories; with `data` only what that is called.
        name: that of the patchset.
        place: the environment.
        data: the patch itself.
        output: the directory in which its folder is put, `./patchsets` without one.
        also: releases (`1.2`, `NAME==1.2`) and directories of packages that the hunks should hold for as well.
        leave_out: the parts that cannot be put into a hunk and need not be: `PATH:LINE`, or the path of a whole file.
        fuzz: how many lines of context may differ.
        moved: where files are that the diffs name otherwise.
        events: takes what is done.

    Raises:
        UsageError: no patch can be read; the name or the folder cannot be used.
        SitepatchError: the environment or a release cannot be read; a patch that is there does not fit any more.
    """
    from patcher.author.series import Importer  # with the engine
    from patcher.verbs.proving import check_also

    words, further = one_or_more(patches), one_or_more(also)
    series = find_series(name, output)
    folder = series.folder if series else output_folder(name, output, events.note)
    check_also(further)
    inputs = given_patches(words, data)
    env = place.environment()
    events.started(env)
    series = series.installed(env) if series else None
    releases, problems = _further(
        inputs, further, InstalledSources(env, fuzz, moved), series, events
    )
    importer = Importer(
        InstalledSources(env, fuzz, moved), series, one_or_more(leave_out), releases
    )
    importer.notes.update(dict.fromkeys(problems))
    outcome = ImportOutcome(folder, importer.results(inputs, events.progress), importer.single)
    outcome = outcome._replace(files=importer.diffs(name), notes=tuple(importer.notes))
    _check_left_out(one_or_more(leave_out), outcome)
    if not importer.patches:
        return outcome
    patch = inputs[0].patch
    source = "" if data is not None else Message(", from {name}", name=Path(words[0]).name)
    summary = (
        patch.subject or f"Changes {listed([home.package for home in importer.homes])}{source}"
    )
    return _written(outcome, importer, Head(name, summary, provenance=patch.provenance))


def _further(
    inputs: Sequence[GivenPatch],
    also: Sequence[str],
    sources: InstalledSources,
    series: SeriesFolder | None,
    events: Events,
) -> tuple[list[Release], list[str]]:
    """The further releases of the packages that the patches change, and a message for each that cannot be fetched.

    Those that are named, and where a series gets a new patch the ends of its ranges.
    """
    from patcher.author.series import packages_of  # with the engine
    from patcher.verbs.proving import further_releases, range_ends

    is_new = series and any(f"{patch.name}.spatch" not in series.patchset.files for patch in inputs)
    if not (also or is_new):
        return [], []
    matches = [match for patch in inputs for match in sources.find_all(patch.patch.sections)]
    homes = packages_of(matches)
    releases, problems = further_releases(also, homes, events)
    if series and is_new:
        versions = {(release.located.distribution, release.located.version) for release in releases}
        ends, unfetched = range_ends(series.patchset, homes, events)
        releases += [
            end for end in ends if (end.located.distribution, end.located.version) not in versions
        ]
        problems += unfetched
    return releases, problems


def _check_left_out(names: Sequence[str], outcome: ImportOutcome) -> None:
    """Refuse a name of `--leave-out` that no part has."""
    part_names = {part.name for part in (*outcome.left_out, *outcome.missing)}
    unknown = [name for name in names if not outcome.problems and name not in part_names]
    if unknown:
        parts = ", ".join(part.name for part in outcome.missing)
        hint = Message("what stops it is: {parts}" if parts else "nothing stops it", parts=parts)
        raise UsageError(
            Message("--leave-out {name}: no such part is left out", name=unknown[0]), hint
        )


def _written(outcome: ImportOutcome, importer: Importer, head: Head) -> ImportOutcome:
    """The outcome, with what is imported written to the folder; `head` is that of a patchset of one patch."""
    from patcher.verbs.proving import prove  # with the engine

    series, changed, homes = importer.series, importer.changed, importer.homes
    packages = listed([home.package for home in homes])

    def files(targets: Sequence[PackageRange]) -> dict[str, str]:
        summary = Message("A series of patches on {packages}", packages=packages)
        own = head if importer.single else Head(head.name, summary)
        return series_files(own, importer.patches, changed, targets)

    proof = prove(outcome.folder, files, homes, outcome.files, importer.expected)
    outcome = outcome._replace(releases=proof.releases)
    if series is None:
        return outcome._replace(patchset=write_folder(outcome.folder, proof.texts))
    if list(importer.patches) == list(series.patches):
        return outcome._replace(patchset=series.patchset)
    variants = series.patchset.variants
    numbers = {variants[number].package: number for number in series.numbers}
    targets: dict[int, PackageRange] = {}
    for at, (home, target) in enumerate(zip(homes, proof.targets)):
        number = numbers.get(home.package, len(variants) + at)
        # no release goes from the range: a patch that one does not fit is not imported
        if number < len(variants):
            of_home = [
                release for release in proof.releases if release.distribution == home.distribution
            ]
            fitting = [release.version for release in of_home if release.fits]
            fitting += [] if says_nothing(home.version) else [home.version]
            failed = [release.version for release in of_home if release.failed]
            target = target._replace(versions=widened(variants[number].versions, fitting, failed))
        targets[number] = target
    texts = more_series_files(series, importer.patches, changed, targets)
    for number, names in importer.other_variants(series).items():
        texts[MANIFEST] = with_patch_files(texts[MANIFEST], number, names)
    return outcome._replace(
        patchset=write_folder(outcome.folder, texts, replace=True), notes=tuple(importer.notes)
    )


@click.command(
    "import",
    epilog="\b\nExamples:\n  sitepatch import fix.patch --name runner-fix\n"
    "  git show 1a2b3c | sitepatch import - --name runner-fix --also 0.10.5\n"
    "  sitepatch import debian/patches --name vendor\n"
    "  curl -fsSL https://github.com/open-mmlab/mmengine/pull/1.diff | sitepatch import - --name fix",
)
@click.argument("patches", metavar="FILE|DIR...", nargs=-1, required=True, type=click.Path())
@click.option("--name", required=True, help="The name of the new patchset.")
@click.option(
    "--output",
    metavar="DIR",
    type=click.Path(),
    help="Where its folder goes (default ./patchsets).",
)
@also_option
@click.option(
    "--leave-out",
    metavar="PATH:LINE",
    multiple=True,
    help="A part of the code that no hunk can have, as it is named where it stops the import; repeatable.",
)
@click.option(
    "--fuzz",
    metavar="N",
    type=Whole(0, 10),
    default=2,
    help="How many lines of context may differ at either end of a hunk (default 2).",
)
@common_options(sources=False)
def command(console: Console, patches: tuple[str, ...], **options: Any) -> int:
    """Make a patchset of a diff, or of a series of patches.

    FILE is what git diff, git format-patch or diff -u write, or - for standard input; DIR has patches or a quilt
    series. The subject, prose and DEP-3 header of a patch become those of the patchset, its changes hunks that are
    matched by syntax. They are proven on what is installed, and tried on each release of --also. The environment is
    not touched.

    Of several patches each becomes a .spatch of its own, which is read after those before it. One that cannot be imported is
    named, and the others are; the same command, once it is mended, imports what is not in the patchset yet.
    """
    data = None
    if "-" in patches:
        if len(patches) > 1:
            raise UsageError(
                "standard input: found other files beside it, expected it alone",
                "name files, or - alone",
            )
        if sys.stdin is None:
            raise UsageError("standard input is closed", "name a file")
        data, patches = sys.stdin.buffer.read(), (Message("standard input"),)
    outcome = import_(patches, place=console.place, data=data, events=console, **options)
    moved = {match.section.path: match.candidate for match in outcome.problems if match.candidate}
    if moved and console.asks and _agreed(console, moved):
        outcome = import_(
            patches, place=console.place, data=data, moved=moved, events=console, **options
        )
    console.notes(outcome.notes)
    if outcome.single or console.verbose:
        show_hunks(console, outcome.draft)
    console.rows(
        [
            *_rows(console, outcome),
            *([] if outcome.single else release_rows(outcome.releases, in_full=console.verbose)),
        ]
    )
    show_unlike(console, outcome.releases)
    console.hints(
        match.hint or (_of_other_release(match) if outcome.single else "")
        for match in outcome.problems
    )
    _show_end(console, outcome)
    return console.answer(outcome.ok, _json(outcome))


def _agreed(console: Console, moved: Mapping[str, str]) -> bool:
    """Ask whether other files are those that a diff names."""
    rows = [
        Row("not found", (path, Message("{path} alone has its lines", path=other)))
        for path, other in moved.items()
    ]
    console.rows(rows)
    return console.confirm(Message("is that the file?"))


def _of_other_release(match: FileMatch) -> str:
    """How a diff is imported that may be for another release, "" where it is something else that does not fit."""
    template = "for another release? pip install --no-deps --target DIR {release}, then import --target DIR --also {version}"
    home = None if match.after else match.located
    release = f"{home.distribution}==RELEASE" if home else ""
    return Message(template, release=release, version=home.version) if home and home.version else ""


def _show_end(console: Console, outcome: ImportOutcome) -> None:
    """What was written and how it is applied; else what is missing and how to go on."""
    if outcome.patchset:
        good = sum(result.state in ("imported", "in place") for result in outcome.patches)
        patches = Message("{good} of {number} patches", good=good, number=len(outcome.patches))
        content = number_of_hunks(outcome.draft) if outcome.single else patches
        summary = Message("{hunks} in {folder}", hunks=content, folder=outcome.folder)
        show_written(console, "imported", summary=summary, patchset=outcome.patchset)
        show_how_to_apply(console, outcome.patchset.name, outcome.folder)
    if outcome.patches and not outcome.ok:
        failed = sum(result.failed for result in outcome.patches)
        template = "{failed} of {number} patches; once mended, the same command imports them"
        console.note(template, "not imported", failed=failed, number=len(outcome.patches))
    elif not outcome.patchset:
        is_partial = outcome.missing and any(file.hunks for file in outcome.draft.files)
        words = " ".join(
            f"--leave-out {quote(name)}"
            for name in dict.fromkeys(part.name for part in outcome.missing)
        )
        more_text = (
            Message("; one of the rest is made with {words}", words=words) if is_partial else ""
        )
        console.note("no patchset was written{rest}", "stopped", rest=more_text)


def _rows(console: Console, outcome: ImportOutcome) -> list[Row]:
    if not outcome.single:
        return [
            _patch_row(result) for result in outcome.patches if result.failed or not console.quiet
        ]
    rows = (
        []
        if console.quiet
        else [
            Row("changes", (diff.path, f"+{diff.added} -{diff.removed}")) for diff in outcome.files
        ]
    )
    rows += release_rows(outcome.releases, in_full=console.verbose)
    nothing = not (outcome.draft.files or outcome.missing or outcome.problems)
    advice = hint_lines(
        Message("install the package, or name its environment with --python or --target")
    )
    for part in outcome.left_out:
        hints = tuple(advice) if nothing and part.why == NOT_INSTALLED else ()
        rows.append(Row(Message("left out"), (part.name, part.why), hints))
    for part in outcome.missing:
        rows.append(
            Row(
                Message("not imported"),
                (part.name, part.why),
                tuple(color_diff(part.text.rstrip("\n"))),
            )
        )
    for match in outcome.problems:
        rows.append(
            Row(Message("does not fit"), (match.path or match.section.path,), (match.problem,))
        )
    return rows


def _patch_row(result: PatchResult) -> Row:
    size = (
        (number_of_hunks(result.draft),) if any(file.hunks for file in result.draft.files) else ()
    )
    details = [result.problem, *hint_lines(result.hint)] if result.problem else []
    details += [
        Message("left out: {name}, {why}", name=part.name, why=part.why) for part in result.left_out
    ]
    return Row(result.state, (result.name, *size), tuple(details))


def _json(outcome: ImportOutcome) -> dict[str, Any]:
    return {
        "patchset": outcome.folder.absolute().name,
        "folder": str(outcome.folder) if outcome.ok else "",
        "versions": {item.package: item.versions for item in outcome.patchset.variants}
        if outcome.patchset
        else {},
        "hunks": hunks_json(outcome.draft),
        "files": [
            {**attributes(diff, "path", "added", "removed"), "diff": diff.text}
            for diff in outcome.files
        ],
        "releases": list(map(release_json, outcome.releases)),
        "left": [
            {"patch": result.name, **attributes(part, "path", "line", "why"), "stops": stops}
            for stops in (False, True)
            for result in outcome.results
            for part in (result.missing if stops else result.left_out)
        ],
        "problems": [
            {
                "path": match.section.path,
                "installed": match.path,
                "problem": match.problem,
                "hint": match.hint,
            }
            for match in outcome.problems
        ],
        "patches": [
            attributes(result, "name", "subject", "state", "problem", "hint")
            for result in outcome.patches
        ],
        "remarks": outcome.notes,
    }

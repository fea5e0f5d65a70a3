"""`import`: a diff becomes a patchset, or several a series of patches."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any, Mapping, Sequence

import click

from patcher.author.diffs.apply import FUZZ
from patcher.author.diffs.locate import NOT_INSTALLED, FileMatch, InstalledSources
from patcher.author.folder import (
    Head,
    PackageRange,
    SeriesFolder,
    find_series,
    more_series_files,
    output_folder,
    series_files,
    write_folder,
)
from patcher.author.hunks.names import unbound_names
from patcher.author.manifest import with_patch_files
from patcher.author.patched_texts import Release
from patcher.author.patches import NamedPatch, named_patches
from patcher.author.ranges import widened
from patcher.author.series import (
    Importer,
    PatchResult,
    Remark,
    names_option,
    packages_of,
)
from patcher.author.spatch_draft import Draft, LeftOut
from patcher.compatibility import ReleaseOutcome
from patcher.display.console import Console
from patcher.display.styles import Row, color_diff, hint_lines
from patcher.display.usage import Whole
from patcher.errors import UsageError
from patcher.installed.versions import says_nothing
from patcher.message import Message
from patcher.model import Located, Patchset
from patcher.patchset.places import MANIFEST
from patcher.place import HERE, SILENT, Events, Place
from patcher.record import Record, reported
from patcher.text.diffs import FileDiff
from patcher.text.listed import AnyPath, Texts, count, listed, one_or_more
from patcher.verbs.authoring import (
    also_option,
    number_of_hunks,
    release_rows,
    show_how_to_apply,
    show_hunks,
    show_unlike,
    show_written,
)
from patcher.verbs.options import common_options
from patcher.verbs.releases.further import check_also, further_releases, prove, range_ends


@reported("name folder versions draft files releases left_out missing problems patches notes")
class ImportOutcome(Record):
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
    def name(self) -> str:
        """The name of the patchset."""
        return self.folder.absolute().name

    @property
    def versions(self) -> dict[str, str]:
        """The range of each package that was written; none where nothing was."""
        if self.patchset is None:
            return {}
        return {variant.package: variant.versions for variant in self.patchset.variants}

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
    names: Texts = (),
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
        also: further releases (`1.2`, `NAME==1.2`) and directories that the hunks should hold for.
        leave_out: parts that no hunk can have and need not be there: `PATH:LINE`, or a whole file.
        names: those that new code may read although nothing binds them: something injects them at
            run time, or the author forgot them.
        fuzz: how many lines of context may differ.
        moved: where files are that the diffs name otherwise.
        events: takes what is done.

    Raises:
        UsageError: no patch can be read; the name or the folder cannot be used.
        SitepatchError: the environment or a release cannot be read; a patch that is there does not
            fit any more.
    """
    series = find_series(name, output)
    folder = series.folder if series else output_folder(name, output, events.note)
    check_also(one_or_more(also))

    inputs = named_patches(one_or_more(patches), data)
    env = place.environment()
    events.started(env)
    if series:
        series = series.installed(env)

    # sources apply what they find for the patches that follow: the importer has its own
    sources = InstalledSources(env, fuzz, moved)
    releases, unread = _further(inputs, one_or_more(also), sources, series, events=events)
    omitted = one_or_more(leave_out)
    injected = one_or_more(names)
    if series and injected:
        problem = Message("--names: the patchset {name} is there already", name=name)
        hint = "write them into `names` of its variant: {path}"
        raise UsageError(problem, Message(hint, path=folder / MANIFEST))

    importer = Importer(InstalledSources(env, fuzz, moved), series, omitted, releases, injected)
    importer.notes.update(dict.fromkeys(unread))
    results = importer.results(inputs, events.progress)

    files = tuple(importer.diffs(name))
    notes = tuple(importer.notes)
    outcome = ImportOutcome(folder, results, importer.single, files=files, notes=notes)
    _check_left_out(omitted, outcome)
    if not importer.patches:
        return outcome

    file_name = "" if data is not None else Path(one_or_more(patches)[0]).name
    head = _head(name, inputs[0], importer.homes, file_name=file_name)
    return _written(outcome, importer, head)


def _further(
    inputs: Sequence[NamedPatch],
    also: Sequence[str],
    sources: InstalledSources,
    series: SeriesFolder | None,
    *,
    events: Events,
) -> tuple[list[Release], list[str]]:
    """The further releases of the packages that patches change.

    And a message for each that cannot be fetched.

    Those that are named, and where a series gets a new patch the ends of its ranges.
    """
    grows = False
    if series:
        known = series.patchset.folder.files
        grows = any(f"{patch.name}.spatch" not in known for patch in inputs)
    if not (also or grows):
        return [], []

    matches: list[FileMatch] = []
    for patch in inputs:
        matches += sources.find_all(patch.patch.sections)
    homes = packages_of(matches)
    releases, problems = further_releases(also, homes, events)
    if series and grows:
        named = {(release.located.distribution, release.located.version) for release in releases}
        ends, unfetched = range_ends(series.patchset, homes, events)
        for end in ends:
            if (end.located.distribution, end.located.version) not in named:
                releases.append(end)
        problems += unfetched
    return releases, problems


def _check_left_out(names: Sequence[str], outcome: ImportOutcome) -> None:
    """Refuse a name of `--leave-out` that no part has."""
    if outcome.problems:
        return
    part_names = {part.name for part in (*outcome.left_out, *outcome.missing)}
    for name in names:
        if name not in part_names:
            problem = Message("--leave-out {name}: no such part is left out", name=name)
            parts = ", ".join(part.name for part in outcome.missing)
            hint = Message("nothing stops it")
            if parts:
                hint = Message("what stops it is: {parts}", parts=parts)
            raise UsageError(problem, hint)


def _head(name: str, first: NamedPatch, homes: Sequence[Located], *, file_name: str) -> Head:
    """The head of a manifest: what the first patch says of itself.

    Where that is nothing, the packages that are changed, and the name of its file, "" for none.
    """
    summary = first.patch.subject
    if not summary:
        source = Message(", from {name}", name=file_name) if file_name else ""
        summary = f"Changes {listed([home.package for home in homes])}{source}"
    return Head(name, summary, provenance=first.patch.provenance)


# what is written ----------------------------------------------------------------------------------
def _written(outcome: ImportOutcome, importer: Importer, head: Head) -> ImportOutcome:
    """The outcome, with what is imported written to the folder.

    `head` is that of a patchset of one patch.
    """
    homes = importer.homes
    if not importer.single:
        packages = listed([home.package for home in homes])
        head = Head(head.name, Message("A series of patches on {packages}", packages=packages))

    def texts(targets: Sequence[PackageRange]) -> dict[str, str]:
        return series_files(
            head, importer.patches, importer.changed, targets, injected=importer.injected
        )

    proof = prove(
        outcome.folder, texts, homes=homes, home_diffs=outcome.files, releases=importer.expected
    )
    series = importer.series
    if series is None:
        patchset = write_folder(outcome.folder, proof.texts)
    elif list(importer.patches) == list(series.patches):
        patchset = series.patchset
    else:
        targets = _targets(series, homes, proof.targets, proof.releases)
        patchset = _add_to_series(series, importer, targets)
    return outcome._replace(patchset=patchset, releases=proof.releases, notes=tuple(importer.notes))


def _targets(
    series: SeriesFolder,
    homes: Sequence[Located],
    proven: Sequence[PackageRange],
    releases: Sequence[ReleaseOutcome],
) -> dict[int, PackageRange]:
    """The package and range of each variant that changes or is new, by its index.

    No release goes from a range: a patch that one does not fit is not imported.
    """
    variants = series.patchset.variants
    numbers = {variants[number].package: number for number in series.numbers}
    targets: dict[int, PackageRange] = {}
    for index, (home, target) in enumerate(zip(homes, proven)):
        number = numbers.get(home.package, len(variants) + index)
        if number < len(variants):
            versions = _widened(variants[number].versions, home, releases)
            target = target._replace(versions=versions)
        targets[number] = target
    return targets


def _widened(versions: str, home: Located, releases: Sequence[ReleaseOutcome]) -> str:
    """A range, with what is installed and the further releases that fit."""
    fitting: list[str] = []
    failed: list[str] = []
    for release in releases:
        if release.distribution != home.distribution:
            continue
        if release.fits:
            fitting.append(release.version)
        if not release.ok:
            failed.append(release.version)
    if not says_nothing(home.version):
        fitting.append(home.version)
    return widened(versions, fitting, failed)


def _add_to_series(
    series: SeriesFolder, importer: Importer, targets: Mapping[int, PackageRange]
) -> Patchset:
    """Write a patchset that is there with the patches that it lacked."""
    texts = more_series_files(series, importer.patches, importer.changed, targets)
    for number, names in importer.other_variants(series).items():
        texts[MANIFEST] = with_patch_files(texts[MANIFEST], number, names)
    return write_folder(series.folder, texts, replace=True)


# the command --------------------------------------------------------------------------------------
@click.command(
    "import",
    epilog=(
        "\b\nExamples:\n"
        "  sitepatch import fix.patch --name runner-fix\n"
        "  git show 1a2b3c | sitepatch import - --name runner-fix --also 0.10.5\n"
        "  sitepatch import debian/patches --name vendor\n"
        "  curl -fsSL https://github.com/open-mmlab/mmengine/pull/1.diff "
        "| sitepatch import - --name fix"
    ),
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
    help=(
        "A part of the code that no hunk can have, as it is named where it stops the import; "
        "repeatable."
    ),
)
@click.option(
    "--names",
    metavar="NAME",
    multiple=True,
    help=(
        "A name that new code may read although nothing binds it, which the manifest then says; "
        "repeatable."
    ),
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

    FILE is what git diff, git format-patch or diff -u write, or - for standard input; DIR has
    patches or a quilt series. The subject, prose and DEP-3 header of a patch become those of the
    patchset, its changes hunks that are matched by syntax. They are proven on what is installed,
    and tried on each release of --also. The environment is not touched.

    Of several patches each becomes a .spatch of its own, which is read after those before it. One
    that cannot be imported is named, and the others are; the same command, once it is mended,
    imports what is not in the patchset yet.
    """
    again = _command(patches, options)
    data = None
    if "-" in patches:
        data = _standard_input(patches)
        patches = (Message("standard input"),)

    def run(moved: Mapping[str, str]) -> ImportOutcome:
        return import_(
            patches, place=console.place, data=data, moved=moved, events=console, **options
        )

    outcome = run({})
    moved = {match.section.path: match.candidate for match in outcome.problems if match.candidate}
    if moved and console.asks and _confirms(console, moved):
        outcome = run(moved)

    remarks: list[str] = []
    if not console.verbose:
        remarks = [note for note in outcome.notes if isinstance(note, Remark)]
    console.notes([note for note in outcome.notes if note not in remarks])
    if outcome.single or console.verbose:
        show_hunks(console, outcome.draft)
    if outcome.single:
        console.rows(_single_rows(console, outcome))
    else:
        console.rows(_series_rows(console, outcome))
        console.rows(_series_details(outcome))
        console.rows(release_rows(outcome.releases, in_full=console.verbose))
    if remarks:
        template = "{remarks} on layout, comments and places: -v shows them"
        console.note(template, remarks=count(len(remarks), "remark"))
    show_unlike(console, outcome.releases)
    console.hints(_hint(match, again if outcome.single else "") for match in outcome.problems)
    _show_written(console, outcome)
    if not outcome.ok:
        _show_missing(console, outcome)
    return console.answer(outcome.ok, outcome)


def _standard_input(patches: Sequence[str]) -> bytes:
    """A patch from standard input.

    Raises:
        UsageError: files are named, too, or it is closed.
    """
    if len(patches) > 1:
        problem = Message("standard input: found other files beside it, expected it alone")
        raise UsageError(problem, "name files, or - alone")
    if sys.stdin is None:
        raise UsageError("standard input is closed", "name a file")
    return sys.stdin.buffer.read()


def _confirms(console: Console, moved: Mapping[str, str]) -> bool:
    """Ask whether other files are those that a diff names."""
    rows = []
    for path, other in moved.items():
        match = Message("{path} alone has its lines", path=other)
        rows.append(Row("not found", (path, match)))
    console.rows(rows)
    return console.confirm(Message("is that the file?"))


# as text ------------------------------------------------------------------------------------------
def _single_rows(console: Console, outcome: ImportOutcome) -> list[Row]:
    """What a patch changes, what it does to further releases, and what is not in the patchset."""
    rows = []
    if not console.quiet:
        for diff in outcome.files:
            rows.append(Row("changes", (diff.path, f"+{diff.added} -{diff.removed}")))
    rows += release_rows(outcome.releases, in_full=console.verbose)

    is_nothing = not (outcome.draft.files or outcome.missing or outcome.problems)
    hint = Message("install the package, or name its environment with --python or --target")
    advice = tuple(hint_lines(hint))
    for part in outcome.left_out:
        hints = advice if is_nothing and part.why == NOT_INSTALLED else ()
        rows.append(Row(Message("left out"), (part.name, part.why), hints))
    for part in outcome.missing:
        shown: list[str] = [*color_diff(part.text.rstrip("\n"))]
        unbound = unbound_names(part.why)
        if unbound:
            shown += hint_lines(names_option(unbound))
        rows.append(Row(Message("not imported"), (part.name, part.why), tuple(shown)))
    for match in outcome.problems:
        path = match.path or match.section.path
        rows.append(Row(Message("does not fit"), (path,), (match.problem,)))
    return rows


def _series_rows(console: Console, outcome: ImportOutcome) -> list[Row]:
    """A line for each patch of a series."""
    rows = []
    for result in outcome.patches:
        if result.failed or not console.quiet:
            cells = [result.name]
            if any(file.hunks for file in result.draft.files):
                cells.append(number_of_hunks(result.draft))
            rows.append(Row(result.state, tuple(cells)))
    return rows


def _series_details(outcome: ImportOutcome) -> list[Row]:
    """Why a patch is not imported, and all that is left out, patch by patch."""
    rows = []
    for result in outcome.patches:
        details: list[str] = []
        if result.problem:
            details += [result.problem, *hint_lines(result.hint)]
        for part in result.left_out:
            details.append(Message("left out: {name}, {why}", name=part.name, why=part.why))
        if details:
            rows.append(Row(result.state, (result.name,), tuple(details)))
    return rows


def _command(patches: Sequence[str], options: Mapping[str, Any]) -> str:
    """The command line of this import, without its environment."""
    words = ["sitepatch", "import", *patches, "--name", options["name"]]
    if options["output"]:
        words += ["--output", options["output"]]
    for option, key in (("--leave-out", "leave_out"), ("--names", "names"), ("--also", "also")):
        for value in options[key]:
            words += [option, value]
    if options["fuzz"] != FUZZ:
        words += ["--fuzz", str(options["fuzz"])]
    return shlex.join(words)


def _hint(match: FileMatch, command: str) -> str:
    """What to do about a section that does not fit; a single patch may be for another release.

    `command` is that of the import, "" where it was no single patch.
    """
    if match.hint or not command:
        return match.hint
    home = None if match.after else match.located
    if home is None or not home.version:
        return ""
    template = (
        "for another release? put it in place of RELEASE: "
        "pip install --no-deps --target {folder} {release} && {command}"
    )
    folder = shlex.quote(f"{home.distribution}-RELEASE")
    release = shlex.quote(f"{home.distribution}==RELEASE")
    again = f"{command} --target {folder} --also {shlex.quote(home.version)}"
    return Message(template, folder=folder, release=release, command=again)


def _show_written(console: Console, outcome: ImportOutcome) -> None:
    """Say what was written, and how it is applied."""
    if outcome.patchset is None:
        return
    content = number_of_hunks(outcome.draft)
    if not outcome.single:
        good = sum(result.state in ("imported", "in place") for result in outcome.patches)
        template = "{good} of {number} patches"
        content = Message(template, good=good, number=len(outcome.patches))
    summary = Message("{hunks} in {folder}", hunks=content, folder=outcome.folder)
    show_written(console, "imported", summary=summary, patchset=outcome.patchset)
    show_how_to_apply(console, outcome.patchset.name, outcome.folder)


def _show_missing(console: Console, outcome: ImportOutcome) -> None:
    """Say what was not imported, and how to go on."""
    if outcome.patches:
        failed = sum(result.failed for result in outcome.patches)
        template = "{failed} of {number} patches; once mended, the same command imports them"
        console.note(template, "not imported", failed=failed, number=len(outcome.patches))
    elif outcome.patchset is None:
        console.note("no patchset was written{rest}", "stopped", rest=_advice(outcome))


def _advice(outcome: ImportOutcome) -> str:
    """How a message that nothing was written goes on, where a part could be."""
    if not outcome.missing or not any(file.hunks for file in outcome.draft.files):
        return ""
    names = dict.fromkeys(part.name for part in outcome.missing)
    words = " ".join(f"--leave-out {shlex.quote(name)}" for name in names)
    return Message("; one of the rest is made with {words}", words=words)

"""`import`: a patch becomes a patchset for what is installed, several a series: each is read after those before it."""

from __future__ import annotations

from pathlib import Path
from typing import Dict, Iterable, List, Mapping, Optional, Sequence, Set, Tuple

from patcher.author.diffs.locate import FileMatch, InstalledSources
from patcher.author.diffs.patchfile import Patch, read_head
from patcher.author.draft import Draft, LeftOut
from patcher.author.folder import (
    Head,
    PackageRange,
    SeriesFolder,
    find_series,
    more_series_files,
    output_folder,
    patchset_files,
    series_files,
    spatch_text,
    write_folder,
)
from patcher.author.hunks.generalise import generalise
from patcher.author.hunks.trial import same_code
from patcher.engine.spatch.hunk import parse_spatch
from patcher.errors import Location, SitepatchError, UsageError
from patcher.installed.interpreter import Environment
from patcher.message import Message, joined
from patcher.model import FilePatch, Located
from patcher.ops.authoring.importing import (
    IMPORTED,
    IN_PLACE,
    LEFT_OUT,
    NOT_IMPORTED,
    ImportOutcome,
    ImportRequest,
    PatchResult,
    edits_of,
    left_of,
    notes_on,
    packages_of,
    with_releases,
    with_sections,
)
from patcher.ops.authoring.patches import GivenPatch, given_patches
from patcher.ops.authoring.proving import Release, by_package, check_also, further_releases, prove, with_patches
from patcher.store.retry import settled
from patcher.text.diffs import diff_texts
from patcher.text.listed import listed
from patcher.verbs.place import SILENT, Events
from patcher.verbs.releases.patches import patch_name

_SUFFIX = ".spatch"


def import_(request: ImportRequest, events: Events = SILENT) -> ImportOutcome:
    """Make a patchset of a patch, or a series of several; one that is there already gets the patches that it lacks.

    Raises:
        UsageError: no patch can be read; the name or the folder cannot be used.
        SitepatchError: the environment or a release cannot be read; a patch of the series that is there does not fit any more.
    """
    series = find_series(request.name, request.output)
    folder = series.folder if series else output_folder(request.name, request.output, events.note)
    check_also(request.also)
    given = given_patches(request.patches, request.data, request.digest)
    env = request.place.environment()
    events.started(env)
    importer = _Importer(request, env, folder, series, events)
    outcome = importer.outcome(given)
    _check_left_out(request.leave_out, outcome)
    return importer.written(outcome, given[0].patch)


def _check_left_out(names: Sequence[str], outcome: ImportOutcome) -> None:
    """Refuse a name of `--leave-out` that no part has."""
    known = {part.name for part in (*outcome.left_out, *outcome.missing)}
    unknown = [name for name in names if not outcome.problems and name not in known]
    if unknown:
        parts = ", ".join(part.name for part in outcome.missing)
        hint = Message("what stops it is: {parts}" if parts else "nothing stops it", parts=parts)
        raise UsageError(Message("--leave-out {name}: no such part is left out", name=unknown[0]), hint)


def _ordered(names: Sequence[str], there: Sequence[str]) -> List[str]:
    """The patches of a series that are there and those that come, each of these where it is in its own order."""
    order = list(there)
    for number, name in enumerate(names):
        if name not in order:
            before = next((other for other in reversed(names[:number]) if other in order), "")
            after = next((other for other in names[number:] if other in order), "")
            order.insert(order.index(before) + 1 if before else order.index(after) if after else len(order), name)
    return order


class _Release:
    """A further release: its files after the patches so far, and as the diffs make them, as far as they can."""

    def __init__(self, release: Release) -> None:
        self.release = release
        self.texts, self.expected = dict(release.texts), {}  # type: Tuple[Dict[str, bytes], Dict[str, bytes]]

    @property
    def now(self) -> Release:
        """The release with the patches so far."""
        return self.release._replace(texts=self.texts)

    @property
    def proof(self) -> Tuple[Release, Dict[str, bytes]]:
        """The release, and what the patches must make of it, as far as that is known."""
        return self.release, {path: text for path, text in self.expected.items() if text}

    def advance(self, patches: Sequence[FilePatch], taken: Sequence[FileMatch]) -> None:
        self.texts = {path: with_patches(path, text, patches)[0] for path, text in self.texts.items()}
        for match in taken:
            before = self.expected.get(match.path, self.release.texts.get(match.path, b""))
            self.expected[match.path] = with_sections(before, [match])


class _Importer:
    """Imports patch after patch.

    `sources` has the files as the diffs make them, to which the next diff is applied, `texts` as the hunks make them, which
    may differ in comments and layout; `patches` are the texts of the `.spatch` files.
    """

    def __init__(
        self, request: ImportRequest, env: Environment, folder: Path, series: Optional[SeriesFolder], events: Events
    ) -> None:
        self.single = False  # one patch, which becomes a patchset
        self.request, self.env, self.folder, self.series, self.events = request, env, folder, series, events
        self.sources = InstalledSources(env, request.fuzz)
        self.pristine: Dict[str, Tuple[Located, bytes]] = {}
        self.texts: Dict[str, bytes] = {}
        self.partial: Set[str] = set()  # files of which a part was left out
        self.patches: Dict[str, str] = {}
        self.releases: List[_Release] = []
        self.notes: Dict[str, None] = {}
        self.failed: Dict[str, List[str]] = {}  # the patches that are not imported, by the paths that they name

    def outcome(self, given: Sequence[GivenPatch]) -> ImportOutcome:
        """Import them; nothing is written yet."""
        self.single = len(given) == 1 and self.series is None
        there = list(map(patch_name, self.series.patches)) if self.series else []
        by_name = {patch.name: patch for patch in given}
        order = _ordered(list(by_name), there)
        self.releases = self.further(given) if self.request.also else []
        results: List[PatchResult] = []
        for number, name in enumerate(order, 1):
            keep = self.series and name in there
            results.append(self.kept(name, by_name.get(name)) if keep else self.imported(by_name[name]))
            self.events.progress(number, len(order), Message("patches read"))
        drafts = tuple(file for result in results for file in result.draft.files)
        files = [
            diff_texts("", path, before, self.texts[path], [self.request.name])
            for path, (_, before) in sorted(self.pristine.items())
            if self.texts[path] != before
        ]
        return ImportOutcome(
            self.folder,
            Draft(drafts),
            problems=tuple(match for result in results for match in result.problems),
            left_out=tuple(part for result in results for part in result.left_out),
            missing=tuple(part for result in results for part in result.missing),
            files=tuple(files),
            notes=tuple(self.notes),
            patches=() if self.single else tuple(results),
        )

    def further(self, given: Sequence[GivenPatch]) -> List[_Release]:
        sources = InstalledSources(self.env, self.request.fuzz)
        matches = [sources.find(section) for patch in given for section in patch.patch.sections]
        releases, problems = further_releases(self.request.also, packages_of(matches), self.events)
        self.notes.update(dict.fromkeys(problems))
        return [_Release(release) for release in releases]

    # one patch --------------------------------------------------------------------------------------------------------
    def kept(self, name: str, given: Optional[GivenPatch]) -> PatchResult:
        """A patch that the folder has already: it stays as it is."""
        assert self.series
        text = self.series.patches[name + _SUFFIX]
        prose, patches = parse_spatch(text, name + _SUFFIX)
        problem = self.hunks_applied(patches)
        if problem:
            hint = Message(
                "remove {folder}{suffix} from the folder and the manifest, and import it again",
                folder=self.folder / name,
                suffix=_SUFFIX,
            )
            raise SitepatchError(
                Message(
                    "{name}{suffix}: does not fit after the patches before it: {problem}",
                    name=name,
                    suffix=_SUFFIX,
                    problem=problem,
                ),
                hint,
            )
        self.patches[name + _SUFFIX] = text
        before = dict(self.sources.patched)
        taken = self.found(given) if given and not given.error else []
        if any(match.problem for match in taken) or not taken:  # it was written or changed by hand
            self.sources.patched = before
            for path in self.paths_of(patches):
                self.sources.patched[path] = self.pristine[path][0], self.texts[path]
        for release in self.releases:
            release.advance(patches, [match for match in taken if match.located and not match.problem])
        return PatchResult(name, read_head(prose).subject, IN_PLACE)

    def imported(self, given: GivenPatch) -> PatchResult:
        """A patch that is new: its `.spatch`, or why there is none, with everything as it was before."""
        before, texts = dict(self.sources.patched), dict(self.texts)
        result = self.tried(given)
        if result.state != IMPORTED and not self.single:
            self.sources.patched, self.texts = before, texts
        if result.failed:
            others = [name for section in given.patch.sections for name in self.failed.get(section.path, ())]
            if others and not result.hint:
                result = result._replace(
                    hint=Message("it may need {fromkeys}, which is not imported", fromkeys=", ".join(dict.fromkeys(others)))
                )
            for section in given.patch.sections:
                self.failed.setdefault(section.path, []).append(given.name)
        return result

    def tried(self, given: GivenPatch) -> PatchResult:
        result = PatchResult(given.name, given.patch.subject, NOT_IMPORTED)
        if given.error:
            return result._replace(problem=given.error.message, hint=given.error.hint)
        matches = self.found(given)
        releases = [release.now for release in self.releases]
        problems = tuple(with_releases(match, releases) for match in matches if match.problem)
        taken = [match for match in matches if match.located and not match.problem]
        self.noted(given.name, notes_on(taken))
        parts = left_of(matches)
        if problems:
            result = self.sorted(result._replace(problems=problems), parts)
            paths = [(match.path or match.section.path, match.problem) for match in problems]
            reasons = joined("\n", (Message("{path}: {problem}", path=path, problem=problem) for path, problem in paths))
            return result._replace(problem=reasons, hint=joined("\n", (match.hint for match in problems)))
        edits = edits_of(taken)
        draft = generalise(edits, [release.texts for release in releases])
        unlike = (
            Message(
                "{paths}: it is not byte for byte as with the diff: {difference}",
                paths=file.paths[0],
                difference=file.difference,
            )
            for file in draft.unlike
        )
        self.noted(given.name, unlike)
        result = self.sorted(result._replace(draft=draft), [*parts, *draft.left_out])
        if result.missing and not self.single:  # of one patch what the rest would change is shown
            missing = (Message("{name}: {why}", name=part.name, why=part.why) for part in result.missing)
            return result._replace(problem=joined("\n", missing))
        if not any(file.hunks for file in draft.files):
            return result._replace(state=LEFT_OUT, problem=Message("it changes no code that is installed"))
        text = spatch_text(given.patch, draft)
        patches = parse_spatch(text, given.name + _SUFFIX)[1]
        problem = self.hunks_applied(patches) or self.differing(draft, {edit.path: edit.after for edit in edits})
        if problem and self.single:
            path, why = problem.split(": ", 1)
            raise SitepatchError.at(Location(path), why, "write the patchset by hand: see docs/howto/change.md")
        if problem:
            return result._replace(draft=Draft(()), problem=problem)
        if result.missing:
            return result
        self.patches[given.name + _SUFFIX] = text
        for release in self.releases:
            release.advance(patches, taken)
        return result._replace(state=IMPORTED)

    def noted(self, name: str, notes: Iterable[str]) -> None:
        self.notes.update((note if self.single else Message("{name}: {note}", name=name, note=note), None) for note in notes)

    def sorted(self, result: PatchResult, parts: Sequence[LeftOut]) -> PatchResult:
        """The result with the parts that are in no hunk, by whether they stop the import."""
        missing = tuple(part for part in parts if part.code and part.name not in self.request.leave_out)
        return result._replace(missing=missing, left_out=tuple(part for part in parts if part not in missing))

    def found(self, given: GivenPatch) -> List[FileMatch]:
        """The sections of a patch, applied to the files as the diffs before have made them."""
        before = dict(self.sources.patched)

        def look() -> List[FileMatch]:
            self.sources.patched = dict(before)
            return [self.sources.find(section) for section in given.patch.sections]

        return settled(self.env, look)

    def paths_of(self, patches: Sequence[FilePatch]) -> List[str]:
        """The installed files of patches."""
        return list(dict.fromkeys(path for patch in patches for path in patch.paths if path in self.pristine))

    def hunks_applied(self, patches: Sequence[FilePatch]) -> str:
        """Apply hunks to the files as the hunks before have made them; gives why they cannot be applied, "" where they can."""
        made: Dict[str, bytes] = {}
        for patch in patches:
            for path in patch.paths:
                source = None if path in self.pristine else self.shipped(path)
                if source:
                    self.pristine[path] = source
                    self.texts[path] = source[1]
            path = next((path for path in patch.paths if path in self.pristine), "")
            if not path:
                return Message("{paths}: no installed file", paths=patch.paths[0])
            made[path], problem = with_patches(path, self.texts[path], patches)
            if problem:
                return Message("{path}: {problem}", path=path, problem=problem)
        self.texts.update(made)
        return ""

    def shipped(self, path: str) -> Optional[Tuple[Located, bytes]]:
        """The package of a file, and its text without the patches of the series."""
        patched, self.sources.patched = self.sources.patched, {}
        try:
            return self.sources.text(path)
        finally:
            self.sources.patched = patched

    def differing(self, draft: Draft, after: Mapping[str, bytes]) -> str:
        """Why the hunks do not make the code that the diffs make, "" where they do."""
        self.partial.update(file.paths[0] for file in draft.files if file.left_out)
        for path, text in after.items():
            if path in self.texts and path not in self.partial and not same_code(self.texts[path], text, anywhere=True):
                return Message("{path}: the hunks do not make the edited file: other code comes of them", path=path)
        return ""

    # the folder -------------------------------------------------------------------------------------------------------
    def written(self, outcome: ImportOutcome, patch: Patch) -> ImportOutcome:
        """The outcome, with what is imported written to the folder; `patch` is the first one."""
        if not self.patches:
            return outcome
        used = [path for path, (_, before) in self.pristine.items() if self.texts[path] != before]
        homes = list(by_package((self.pristine[path][0], path) for path in used))
        request = self.request
        packages = listed([home.package for home in homes])

        def files(targets: Sequence[PackageRange]) -> Dict[str, str]:
            if not self.single:
                return series_files(
                    Head(request.name, Message("A series of patches on {packages}", packages=packages)),
                    self.patches,
                    used,
                    targets,
                )
            prose = "\n\n".join(filter(None, (patch.subject, patch.prose)))
            source = "" if request.data is not None else Message(", from {name}", name=Path(request.patches[0]).name)
            head = Head(request.name, patch.subject or f"Changes {packages}{source}", prose, patch.provenance)
            return patchset_files(head, outcome.draft, targets)

        proof = prove(self.folder, files, homes, [release.proof for release in self.releases])
        outcome = outcome._replace(releases=proof.releases, notes=tuple(self.notes))
        if self.series is None:
            return outcome._replace(patchset=write_folder(self.folder, proof.texts))
        if list(self.patches) == list(self.series.patches):
            return outcome._replace(patchset=self.series.patchset)
        texts = more_series_files(self.series, self.patches, used, proof.targets)
        return outcome._replace(patchset=write_folder(self.folder, texts, replace=True))

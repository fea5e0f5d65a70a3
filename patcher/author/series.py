"""Patches -> the `.spatch` files of a patchset or a series.

Each patch is read after those before it.
"""

from __future__ import annotations

from itertools import chain, count
from typing import Iterable, Iterator, Mapping, Sequence

from patcher.author.diffs.locate import FileMatch, InstalledSources
from patcher.author.diffs.patchfile import read_head
from patcher.author.folder import SeriesFolder, spatch_text
from patcher.author.hunks.generalise import generalise
from patcher.author.hunks.moves import OtherFiles
from patcher.author.hunks.names import unbound_names
from patcher.author.imported_texts import ImportedTexts
from patcher.author.patched_texts import Release, by_package
from patcher.author.patches import NamedPatch
from patcher.author.release_texts import Attempt, ReleaseTexts
from patcher.author.spatch_draft import (
    Draft,
    DraftFile,
    FileEdit,
    LeftOut,
    added_file,
    deleted_file,
    with_optional_tests,
)
from patcher.author.undone import SeriesStep, with_end_forms
from patcher.engine.spatch.hunk import parse_spatch
from patcher.engine.tree import remembered
from patcher.errors import Location, SitepatchError
from patcher.installed.versions import is_version, says_nothing
from patcher.message import Message, joined
from patcher.model import SOURCE, Located, Progress, Variant
from patcher.patchset.layers import in_order, patch_name
from patcher.patchset.places import MANIFEST
from patcher.patchset.variants import choose_variant, resolve_options
from patcher.record import Record, reported
from patcher.store.retry import settled
from patcher.text.diffs import FileDiff

IMPORTED = "imported"
IN_PLACE = Message("in place")
LEFT_OUT = Message("left out")
NOT_IMPORTED = Message("not imported")
_SUFFIX = ".spatch"
_BY_HAND = Message("write the patchset by hand: see docs/howto/change.md")


class Remark(Message):
    """A note on layout, comments or places, of which a series may have many."""


class PatchParts(Record):
    """What is made of the parts of a patch.

    Attributes:
        draft: the hunks.
        problems: the sections of the diff that cannot be applied.
        left_out: the parts that are in no hunk and that nothing needs.
        missing: those that the rest may need, which stop it.
    """

    draft: Draft = Draft(())
    problems: tuple[FileMatch, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    missing: tuple[LeftOut, ...] = ()


@reported("name subject state problem hint left_out missing")
class PatchResult(Record):
    """What came of one patch.

    Attributes:
        name: that of its `.spatch`, without the suffix.
        subject: its subject.
        state: `IMPORTED`, `IN_PLACE` (it is in the folder already), `LEFT_OUT` (nothing of it is
            installed) or `NOT_IMPORTED`.
        parts: its hunks, and what is in none.
        problem: why it is not imported.
        hint: what to do.
    """

    name: str
    subject: str
    state: str
    parts: PatchParts = PatchParts()
    problem: str = ""
    hint: str = ""

    @property
    def failed(self) -> bool:
        """Whether the series lacks it."""
        return self.state == NOT_IMPORTED

    @property
    def draft(self) -> Draft:
        """The hunks."""
        return self.parts.draft

    @property
    def problems(self) -> tuple[FileMatch, ...]:
        """The sections of the diff that cannot be applied."""
        return self.parts.problems

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """The parts that are in no hunk and that nothing needs."""
        return self.parts.left_out

    @property
    def missing(self) -> tuple[LeftOut, ...]:
        """The parts that are in no hunk and that the rest may need."""
        return self.parts.missing


def names_option(names: Sequence[str]) -> str:
    """What lets names pass that nothing binds."""
    words = " ".join(f"--names {name}" for name in names)
    return Message("{words} lets it pass", words=words)


class Importer:
    """Imports patch after patch.

    Args:
        sources: the installed files, then as the diffs make them: these may differ from the `texts`
            in comments and layout.
        series: the patches that are there already, None for none.
        leave_out: names the parts that cannot be put into a hunk and need not be.
        releases: those that the hunks should hold for as well; those in the range of a variant of
            the series that is not for what is installed are for that one.
        injected: names that new code may read although nothing binds them.

    Attributes:
        single: whether it is one patch, which becomes a patchset.
        patches: the texts of the `.spatch` files by name.
        texts: the files that are looked at.
        notes: remarks for the user, each once.
    """

    def __init__(
        self,
        sources: InstalledSources,
        series: SeriesFolder | None,
        leave_out: Sequence[str],
        releases: Sequence[Release],
        injected: Sequence[str] = (),
    ) -> None:
        self.sources = sources
        self.series = series
        self.leave_out = leave_out
        self.single = False
        options = resolve_options(series.patchset, {}) if series else {}
        self.injected = tuple(injected)
        if series:
            for own in series.numbers:
                self.injected += series.patchset.variants[own].names
        self.texts = ImportedTexts(sources, options, self.injected)
        self.patches: dict[str, str] = {}
        self.notes: dict[str, None] = {}
        self.steps: list[SeriesStep] = []
        # the patches that are not imported, by the files that they are for
        self.failed: dict[str, list[str]] = {}

        self.releases: list[ReleaseTexts] = []
        # by the index of a variant that is not for what is installed
        self.others: dict[int, list[ReleaseTexts]] = {}
        for release in releases:
            number = self._variant_of(release)
            texts = ReleaseTexts(release, options, self.injected, held=number is not None)
            if series is None or number is None or number in series.numbers:
                self.releases.append(texts)
            else:
                self.others.setdefault(number, []).append(texts)

    def _variant_of(self, release: Release) -> int | None:
        """The index of the variant of the series that is for a release, None for none."""
        variants = self.series.patchset.variants if self.series else ()
        of_package: list[Variant] = []
        for variant in variants:
            if variant.package == release.located.package:
                of_package.append(variant)
        chosen = choose_variant(of_package, release.located.version)
        if chosen is None:
            return None
        return variants.index(chosen)

    def results(self, entries: Sequence[NamedPatch], progress: Progress) -> tuple[PatchResult, ...]:
        """Import patches, in their order; nothing is written."""
        self.single = len(entries) == 1 and self.series is None
        known = list(map(patch_name, self.series.patches)) if self.series else []
        by_name: dict[str, NamedPatch] = {}
        for entry in entries:
            by_name[self._known_name(entry.name, known, entries=entries)] = entry

        order = in_order(known, list(by_name))
        results: list[PatchResult] = []
        with remembered():
            for number, name in enumerate(order):
                progress(number, len(order), Message("patches read, now {name}", name=name))
                if name in known:
                    results.append(self._kept(name, by_name.get(name)))
                else:
                    results.append(self._imported(by_name[name]))
            self._judge_by_end()
        progress(1, 1, Message("patches read"))
        return tuple(results)

    @property
    def changed(self) -> list[str]:
        """The files that the hunks change; in the place of one that they delete, its package."""
        paths: dict[str, None] = {}
        for path in self.texts.changed:
            if path in self.texts.deleted:
                path = f"{path.rpartition('/')[0]}/__init__.py"
            paths[path] = None
        return list(paths)

    def diffs(self, name: str) -> tuple[FileDiff, ...]:
        """What a patchset of that name makes of the files."""
        return self.texts.diffs(name)

    @property
    def homes(self) -> list[Located]:
        """The packages that are changed."""
        return self.texts.homes

    @property
    def expected(self) -> list[tuple[Release, dict[str, bytes]]]:
        """Each further release, and what the patches must make of it, as far as that is known."""
        return [(release.release, release.known) for release in self.releases]

    # variants that are not for what is installed ------------------------------------------------
    def other_variants(self, series: SeriesFolder) -> dict[int, list[str]]:
        """The `.spatch` files of each variant that is not for what is installed.

        Those of the new patches that fit there are among them. A patch that does not fit each
        release that was given for the variant is noted, and so is one that they all have.
        """
        packages = {home.package for home in self.homes}
        numbers: list[int] = []
        for number, variant in enumerate(series.patchset.variants):
            if number not in series.numbers and variant.package in packages:
                numbers.append(number)
        lists = series._replace(numbers=tuple(numbers)).lists
        for number, names in lists.items():
            lists[number] = self._other_variant(series, number, known=names)
        return lists

    def _other_variant(self, series: SeriesFolder, number: int, known: list[str]) -> list[str]:
        """The `.spatch` files of one such variant, of which it has those that are known."""
        new = [name for name in self.patches if name in known or name not in series.patches]
        texts = {**series.patchset.folder.files, **self.patches}
        releases = self.others.get(number, [])
        names = known
        for name in in_order(known, new):
            patches = parse_spatch(texts[name], name)[1]
            attempts = [release.attempt(patches) for release in releases]
            if name not in known:
                why = _why_not(releases, attempts)
                if why:
                    versions = series.patchset.variants[number].versions
                    template = "not in the variant for {versions}: {why}"
                    note = Message(template, versions=versions, why=why)
                    self._note(patch_name(name), [note])
                    continue
                fitting = {*names, name}
                names = in_order(names, [other for other in self.patches if other in fitting])
            for release, attempt in zip(releases, attempts):
                release.advance(attempt, ())
        return names

    # the names of patches -----------------------------------------------------------------------
    def _known_name(self, name: str, known: Sequence[str], entries: Sequence[NamedPatch]) -> str:
        """The name that a patch has in the series.

        What is `fix` in another variant may be `fix-1.2` in this one.
        """
        if (
            not self.series
            or name in known
            or name + _SUFFIX not in self.series.patchset.folder.files
        ):
            return name
        names = [entry.name for entry in entries]
        for other in known:
            is_own = other.startswith(f"{name}-") and is_version(other[len(name) + 1 :])
            if is_own and other not in names:
                return other
        return name

    def _free_name(self, name: str, text: str, version: str) -> str:
        """The name under which the text of a new patch is written.

        Another variant's of that name may have another text.
        """
        files = self.series.patchset.folder.files if self.series else {}
        release = f"{name}-{version.split('+')[0]}"
        numbered = (f"{release}-{number}" for number in count(2))
        names = chain((name, release), numbered)
        return next(other for other in names if files.get(other + _SUFFIX, text) == text)

    # one patch ----------------------------------------------------------------------------------
    def _kept(self, name: str, entry: NamedPatch | None) -> PatchResult:
        """A patch that the folder has already: it stays as it is."""
        assert self.series
        file = name + _SUFFIX
        text, patches = self.series.patchset.folder.files[file], self.series.patches[file]
        problem = self.texts.apply(patches)
        if problem:
            raise SitepatchError(
                "{name}: does not fit after the patches before it: {problem}",
                "remove {path} from the folder and the manifest, and import it again",
                name=file,
                path=self.series.folder / file,
                problem=problem,
            )
        self.patches[file] = text

        before = dict(self.sources.texts.patched)
        matches = self._matches(entry) if entry and not entry.error else []
        after = {match.path: match.after for match in matches if match.located}
        differing = self.texts.differing(Draft(()), after)
        # it was written or changed by hand
        if not matches or differing or any(match.problem for match in matches):
            for patch in patches:
                for path in patch.places:
                    if path in self.texts.pristine:
                        located, _ = self.texts.pristine[path]
                        is_gone = path in self.texts.deleted
                        before[path] = located, None if is_gone else self.texts.current[path]
            self.sources.texts.patched = before

        fitting = [match for match in matches if match.fits]
        for release in self.releases:
            release.advance(release.attempt(patches), fitting)
        return PatchResult(name, read_head(parse_spatch(text, name)[0]).subject, state=IN_PLACE)

    def _imported(self, entry: NamedPatch) -> PatchResult:
        """A patch that is new: its `.spatch`, or why there is none, with everything as before."""
        snapshot = self.texts.snapshot()
        try:
            result = self._attempted(entry)
        except SitepatchError as error:
            if self.single:
                raise
            result = _not_imported(entry, error)
        if result.state != IMPORTED and not self.single:
            self.texts.restore(snapshot)
        if not result.failed:
            return result

        others: dict[str, None] = {}
        for path in self._paths(entry):
            others.update(dict.fromkeys(self.failed.get(path, ())))
            self.failed.setdefault(path, []).append(entry.name)
        if not others or result.hint:
            return result
        hint = Message("it may need {names}, which is not imported", names=", ".join(others))
        return result._replace(hint=hint)

    def _paths(self, entry: NamedPatch) -> list[str]:
        """The installed files that a patch is for; of those that are not found what it says.

        Patches of one series may name a file from different directories.
        """
        try:
            matches = self._matches(entry)
        except SitepatchError:
            return [section.path for section in entry.patch.sections]
        return [match.path or match.section.path for match in matches]

    def _attempted(self, entry: NamedPatch) -> PatchResult:
        """Make the `.spatch` of a patch."""
        if entry.error:
            return _not_imported(entry, entry.error)
        matches = self._matches(entry)
        fitting = [match for match in matches if match.fits]
        self._note(entry.name, _notes_on(fitting), kind=Remark)

        sections = _left_of(matches)
        problems = tuple(match for match in matches if match.problem)
        if problems:
            return self._misfit(entry, problems, sections=sections)

        draft = self._draft(fitting)
        for file in draft.unlike:
            template = "{paths}: it is not byte for byte as with the diff: {difference}"
            note = Message(template, paths=file.paths[0], difference=file.difference)
            self._note(entry.name, [note], kind=Remark)
        left_out, missing = self._by_need([*sections, *draft.left_out])
        parts = PatchParts(draft, left_out=left_out, missing=missing)
        result = PatchResult(entry.name, entry.patch.subject, state=NOT_IMPORTED, parts=parts)
        if missing and not self.single:  # of one patch what the rest would change is shown
            reasons: list[str] = []
            for part in missing:
                reasons.append(Message("{name}: {why}", name=part.name, why=part.why))
            hint = self._names_hint(missing)
            return result._replace(problem=joined("\n", reasons), hint=hint)
        if not draft.has_hunks:
            problem = Message("it changes no code that is installed")
            if fitting:
                problem = Message("it changes nothing but comments and layout")
            return result._replace(state=LEFT_OUT, problem=problem)
        return self._checked(entry, result, matches=fitting)

    def _checked(
        self, entry: NamedPatch, result: PatchResult, matches: Sequence[FileMatch]
    ) -> PatchResult:
        """Check the hunks of a patch, and take its `.spatch` where they are right."""
        text = spatch_text(entry.patch, result.draft)
        version = next((match.located.version for match in matches if match.located), "")
        name = self._free_name(entry.name, text, version=version)
        patches = parse_spatch(text, name + _SUFFIX)[1]
        attempts = [release.attempt(patches) for release in self.releases]

        before = {path: text for path, (_, text) in self.texts.pristine.items()}
        before.update(self.texts.current)
        for match in matches:
            before.setdefault(match.path, match.change.before if match.change else b"")
        problem = self._narrowing(attempts) or self.texts.apply(patches)
        if not problem:
            after = {match.path: match.after for match in matches}
            problem = self.texts.differing(result.draft, after)
        if problem and self.single:
            path, why = problem.split(": ", 1)
            raise SitepatchError.at(Location(path), why, _BY_HAND)
        if problem:
            parts = result.parts._replace(draft=Draft(()))
            return result._replace(parts=parts, problem=problem)
        if result.missing:
            return result
        self.patches[name + _SUFFIX] = text
        for patch in patches:
            path = patch.paths[0]
            if path.endswith(SOURCE) and not (patch.adds or patch.deletes):
                step = SeriesStep(
                    name + _SUFFIX, path, before=before[path], after=self.texts.current[path]
                )
                self.steps.append(step)
        for release, attempt in zip(self.releases, attempts):
            release.advance(attempt, matches)
        return result._replace(name=name, state=IMPORTED)

    def _judge_by_end(self) -> None:
        """Give the new patches forms for releases that have what later ones left of them."""
        last = {step.path: step for step in self.steps}
        for step in self.steps:
            if step is not last[step.path]:
                text = self.patches[step.file]
                self.patches[step.file] = with_end_forms(text, step, last[step.path].after)

    def _misfit(
        self, entry: NamedPatch, problems: tuple[FileMatch, ...], sections: Sequence[LeftOut]
    ) -> PatchResult:
        """The result of a patch of which sections cannot be applied."""
        left_out, missing = self._by_need(sections)
        parts = PatchParts(problems=problems, left_out=left_out, missing=missing)
        reasons: list[str] = []
        for match in problems:
            path = match.path or match.section.path
            reasons.append(Message("{path}: {problem}", path=path, problem=match.problem))
        return PatchResult(
            name=entry.name,
            subject=entry.patch.subject,
            state=NOT_IMPORTED,
            parts=parts,
            problem=joined("\n", reasons),
            hint=joined("\n", (match.hint for match in problems)),
        )

    def _draft(self, matches: Sequence[FileMatch]) -> Draft:
        """The hunks for files that were found."""
        whole: list[DraftFile] = []
        changed: list[FileMatch] = []
        others = [release.texts for release in self.releases]
        rest = [release.release.rest for release in self.releases]
        for match in matches:
            if match.change and match.deletes:
                texts = [release[match.path] for release in others if match.path in release]
                whole.append(deleted_file(match.path, match.change.before, texts))
            elif match.adds:
                whole.append(added_file(match.path, match.after or b"\n"))
            else:
                changed.append(match)
        drafts = generalise(
            _edits_of(changed),
            others,
            self.injected,
            carries=True,
            elsewhere=OtherFiles(rest, self._installed_text),
        )
        return with_optional_tests(Draft((*drafts.files, *whole)))

    def _installed_text(self, path: str) -> bytes | None:
        """The text of an installed file, None where there is none."""
        found = self.sources.text(path)
        return found[1] if found else None

    def _note(self, name: str, notes: Iterable[str], kind: type[Message] = Message) -> None:
        """Note what is to be said of a patch."""
        for note in notes:
            if not self.single:
                note = kind("{name}: {note}", name=name, note=note)
            self.notes[note] = None

    def _by_need(self, parts: Sequence[LeftOut]) -> tuple[tuple[LeftOut, ...], tuple[LeftOut, ...]]:
        """The parts that are in no hunk: those that nothing needs, and those that stop it."""
        left_out: list[LeftOut] = []
        missing: list[LeftOut] = []
        for part in _once_each(parts):
            stops = part.code and part.name not in self.leave_out
            (missing if stops else left_out).append(part)
        return tuple(left_out), tuple(missing)

    def _names_hint(self, missing: Sequence[LeftOut]) -> str:
        """How names that nothing binds are let pass, "" where they are not what stops a patch."""
        names: dict[str, None] = {}
        for part in missing:
            names.update(dict.fromkeys(unbound_names(part.why)))
        if not names:
            return ""
        if self.series:
            quoted = ", ".join(f'"{name}"' for name in names)
            manifest = self.series.folder / MANIFEST
            template = "`names = [{names}]` of its variant in {manifest} lets it pass"
            return Message(template, names=quoted, manifest=manifest)
        return names_option(list(names))

    def _matches(self, entry: NamedPatch) -> list[FileMatch]:
        """The sections of a patch, applied to the files as the diffs before have made them."""
        before = dict(self.sources.texts.patched)

        def look() -> list[FileMatch]:
            self.sources.texts.patched = dict(before)
            return self.sources.find_all(entry.patch.sections)

        return settled(self.sources.env, look)

    def _narrowing(self, attempts: Sequence[Attempt]) -> str:
        """Where a new patch would end the range of the series, "" where it does not.

        That is a release that it does not fit, and the others do.
        """
        for release, attempt in zip(self.releases, attempts):
            if release.held and attempt.problem:
                return Message(
                    "the series is for this release, too, and would not be any more: {problem}",
                    problem=attempt.problem,
                )
        return ""


def _why_not(releases: Sequence[ReleaseTexts], attempts: Sequence[Attempt]) -> str:
    """Why a new patch is not for the variant of these releases, "" where it is.

    Args:
        releases: the releases.
        attempts: what the patch makes of each.
    """
    held: list[tuple[Mapping[str, bytes], Attempt]] = []
    for release, attempt in zip(releases, attempts):
        if release.held:
            held.append((release.texts, attempt))
    if not held:
        return Message("none of its releases could be tried: import it where one is installed")
    for _, attempt in held:
        if attempt.problem:
            return attempt.problem
    if all(before == attempt.texts for before, attempt in held):
        return Message("its releases have it")
    return ""


def _not_imported(entry: NamedPatch, error: SitepatchError) -> PatchResult:
    return PatchResult(
        name=entry.name,
        subject=entry.patch.subject,
        state=NOT_IMPORTED,
        problem=error.message,
        hint=error.hint,
    )


def _left_of(matches: Iterable[FileMatch]) -> list[LeftOut]:
    """The sections that are no change of an installed Python file, and why."""
    parts: list[LeftOut] = []
    for match in matches:
        why = match.left_out or match.section.refused
        if why and not match.adds and not match.deletes:
            parts.append(LeftOut(match.section.path, 0, text="", why=why, code=match.shipped))
    return parts


def _once_each(parts: Iterable[LeftOut]) -> list[LeftOut]:
    """The parts, those at one line that are left out for one reason as one."""
    found: dict[tuple[str, str], LeftOut] = {}
    for part in parts:
        key = part.name, part.why
        if key in found:
            first = found[key]
            part = first._replace(text=first.text + part.text, code=first.code or part.code)
        found[key] = part
    return list(found.values())


def packages_of(matches: Iterable[FileMatch]) -> dict[Located, set[str]]:
    """The packages of the files that were found, and which files of each."""
    return by_package((match.located, match.path) for match in matches if match.located)


def _notes_on(matches: Sequence[FileMatch]) -> Iterator[str]:
    """Remarks on files that were found."""
    for match in matches:
        for note in match.change.notes if match.change else ():
            yield Message("{path}: {note}", path=match.path, note=note)
        if match.section.path != match.path and not match.section.path.endswith(f"/{match.path}"):
            yield Message(
                "{path} is taken for {installed}", path=match.section.path, installed=match.path
            )
    for located in packages_of(matches):
        yield from located.notes
        if says_nothing(located.version):
            template = "nothing tells the version of {package}: the patchset is for any"
            yield Message(template, package=located.package)


def _edits_of(matches: Iterable[FileMatch]) -> list[FileEdit]:
    """Each file before the first section for it, and after the last."""
    edits: dict[str, FileEdit] = {}
    for match in matches:
        if match.change is None:
            continue
        path, before = match.path, match.change.before
        if path in edits:
            before = edits[path].before
        edits[path] = FileEdit(path, before, match.after)
    return list(edits.values())

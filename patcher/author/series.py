"""Patches -> the `.spatch` files of a patchset or a series: each patch is read after those before it."""

from __future__ import annotations

from itertools import chain, count
from typing import (
    Dict,
    Iterable,
    Iterator,
    Mapping,
    NamedTuple,
    Sequence,
    Tuple,
)

from patcher.author.changed import home_of
from patcher.author.diffs.apply import apply_hunks
from patcher.author.diffs.locate import FileMatch, InstalledSources
from patcher.author.diffs.patchfile import read_head
from patcher.author.draft import Draft, FileEdit, LeftOut, added_file
from patcher.author.folder import SeriesFolder, spatch_text
from patcher.author.hunks.generalise import generalise
from patcher.author.hunks.trial import same_code
from patcher.author.patches import GivenPatch
from patcher.author.proof import Release, by_package, with_patches
from patcher.engine.spatch.hunk import parse_spatch
from patcher.errors import Location, SitepatchError
from patcher.installed.versions import is_version, says_nothing
from patcher.message import Message, joined
from patcher.model import FilePatch, Located, OptionValue, Progress
from patcher.patchset.layers import in_order, patch_name
from patcher.patchset.variants import choose_variant, resolve_options
from patcher.store.retry import settled
from patcher.text.diffs import FileDiff, diff_texts

IMPORTED, IN_PLACE, LEFT_OUT, NOT_IMPORTED = (
    "imported",
    Message("in place"),
    Message("left out"),
    Message("not imported"),
)
_SUFFIX = ".spatch"


class PatchResult(NamedTuple):
    """What came of one patch; `problem` says why it is not imported, and `hint` what to do.

    Attributes:
        name: that of its `.spatch`, without the suffix.
        subject: its subject.
        state: `IMPORTED`, `IN_PLACE` (it is in the folder already), `LEFT_OUT` (nothing of it is installed) or `NOT_IMPORTED`.
        draft: the hunks.
        problems: the sections of the diff that cannot be applied.
        left_out: the parts that are in no hunk and that nothing needs.
        missing: those that the rest may need, which stop it.
        problem: see above.
        hint: see above.
    """

    name: str
    subject: str
    state: str
    draft: Draft = Draft(())
    problems: tuple[FileMatch, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    missing: tuple[LeftOut, ...] = ()
    problem: str = ""
    hint: str = ""

    @property
    def failed(self) -> bool:
        """Whether the series lacks it."""
        return self.state == NOT_IMPORTED


def _left_of(matches: Iterable[FileMatch]) -> list[LeftOut]:
    """The sections that are no change of an installed Python file, and why."""
    reasons = (
        (match, match.left_out or match.section.refused) for match in matches if not match.adds
    )
    return [
        LeftOut(match.section.path, 0, "", reason, match.shipped)
        for match, reason in reasons
        if reason
    ]


def packages_of(matches: Iterable[FileMatch]) -> dict[Located, set[str]]:
    """The packages of the files that were found, and which files of each."""
    return by_package((match.located, match.path) for match in matches if match.located)


def _notes_on(matches: Sequence[FileMatch]) -> Iterator[str]:
    """What is to be said of files that were found."""
    for match in matches:
        yield from (Message("{path}: {note}", path=match.path, note=note) for note in match.notes)
        if match.section.path != match.path and not match.section.path.endswith(f"/{match.path}"):
            yield Message("{one.section.path} is taken for {one.path}", one=match)
    for located in packages_of(matches):
        yield from located.notes
        if says_nothing(located.version):
            yield Message(
                "nothing tells the version of {package}: the patchset is for any",
                package=located.package,
            )


def _edits_of(matches: Iterable[FileMatch]) -> list[FileEdit]:
    """Each file before the first section for it, and after the last."""
    edits: dict[str, FileEdit] = {}
    for match in matches:
        before = edits[match.path].before if match.path in edits else match.before
        edits[match.path] = FileEdit(match.path, before, match.after)
    return list(edits.values())


def _with_section(text: bytes, match: FileMatch) -> bytes:
    """A file with the hunks of a section; b"" where not all can be applied."""
    result = apply_hunks(text, match.section.hunks)
    return b"" if result.problems else result.after


_Trial = Tuple[Dict[str, bytes], str]
"""The files of a release as patches make them, and why some cannot be applied, "" for none."""


class _Release:
    """A further release: its files after the patches so far, and as the diffs make them, as far as they can.

    `held` is whether the series is for it, and all patches so far fit.
    """

    def __init__(
        self, release: Release, options: Mapping[str, OptionValue], *, held: bool = False
    ) -> None:
        self.release, self.options, self.held = release, options, held
        self.texts = dict(release.texts)
        self.expected: dict[str, bytes] = {}

    def tried(self, patches: Sequence[FilePatch]) -> _Trial:
        """The files as patches make them, and why some cannot be applied, "" for none."""
        texts = {
            **{path: b"" for patch in patches if patch.adds for path in patch.paths},
            **self.texts,
        }
        results, unfit = with_patches(texts, patches, self.options)
        missing = [patch.paths[0] for patch in patches if not set(patch.paths) & set(texts)]
        problems: list[tuple[str, str]] = [
            (path, Message("there is no such file")) for path in missing
        ]
        problems += unfit
        release, (path, problem) = self.release.located, [*problems, ("", "")][0]
        template, fields = (
            "{name} {version}: {path}: {problem}",
            {"name": release.distribution, "version": release.version},
        )
        said = Message(template, **fields, path=path, problem=problem) if problem else ""
        return results, said

    def advance(self, trial: _Trial, matches: Sequence[FileMatch]) -> None:
        """Go on with the files as a trial has made them."""
        self.texts, problem = trial
        self.held = self.held and not problem
        for match in matches:
            before = self.expected.get(match.path, self.release.texts.get(match.path, b""))
            self.expected[match.path] = _with_section(before, match)


class Importer:
    """Imports patch after patch.

    Args:
        sources: the installed files, then as the diffs make them: these may differ from `texts` in comments and layout.
        series: the patches that are there already, None for none.
        leave_out: names the parts that cannot be put into a hunk and need not be.
        releases: those that the hunks should hold for as well; those in the range of a variant of the series that is not for
            what is installed are for that one.

    Attributes:
        single: whether it is one patch, which becomes a patchset.
        patches: the texts of the `.spatch` files by name.
        pristine: the package and the pristine text of each file that is looked at, by path.
        texts: these files as the hunks make them, by path.
        notes: remarks for the user, each once.
    """

    def __init__(
        self,
        sources: InstalledSources,
        series: SeriesFolder | None,
        leave_out: Sequence[str],
        releases: Sequence[Release],
    ) -> None:
        self.sources, self.series, self.leave_out, self.single = sources, series, leave_out, False
        self.pristine: dict[str, tuple[Located, bytes]] = {}
        self.texts: dict[str, bytes] = {}
        self.partial: set[str] = set()  # files of which a part was left out
        self.patches: dict[str, str] = {}
        self.releases: list[_Release] = []
        self.others: dict[
            int, list[_Release]
        ] = {}  # by the index of a variant that is not for what is installed
        variants = series.patchset.variants if series else ()
        self.options = resolve_options(series.patchset, {}) if series else {}
        for release in releases:
            of_package = [
                variant for variant in variants if variant.package == release.located.package
            ]
            variant = choose_variant(of_package, release.located.version)
            number = variants.index(variant) if variant else -1
            further = series is not None and variant is not None and number not in series.numbers
            home = self.others.setdefault(number, []) if further else self.releases
            home.append(_Release(release, self.options, held=variant is not None))
        self.notes: dict[str, None] = {}
        self.failed: dict[
            str, list[str]
        ] = {}  # the patches that are not imported, by the paths that they name

    def results(self, given: Sequence[GivenPatch], progress: Progress) -> tuple[PatchResult, ...]:
        """Import patches, in their order; nothing is written."""
        self.single = len(given) == 1 and self.series is None
        there = list(map(patch_name, self.series.patches)) if self.series else []
        by_name = {self._name_there(patch.name, there, given): patch for patch in given}
        order = in_order(there, list(by_name))
        results: list[PatchResult] = []
        for number, name in enumerate(order, 1):
            results.append(
                self._kept(name, by_name.get(name))
                if name in there
                else self._imported(by_name[name])
            )
            progress(number, len(order), Message("patches read"))
        return tuple(results)

    @property
    def changed(self) -> list[str]:
        """The files that the hunks change."""
        return [path for path, (_, before) in self.pristine.items() if self.texts[path] != before]

    def diffs(self, name: str) -> tuple[FileDiff, ...]:
        """What a patchset of that name makes of the files."""
        return tuple(
            diff_texts("", path, self.pristine[path][1], self.texts[path], [name])
            for path in sorted(self.changed)
        )

    @property
    def homes(self) -> list[Located]:
        """The packages that are changed."""
        return list(by_package((self.pristine[path][0], path) for path in self.changed))

    @property
    def expected(self) -> list[tuple[Release, dict[str, bytes]]]:
        """Each further release, and what the patches must make of it, as far as that is known."""
        pairs = ((item.release, item.expected) for item in self.releases)
        return [
            (release, {path: text for path, text in texts.items() if text})
            for release, texts in pairs
        ]

    def other_variants(self, series: SeriesFolder) -> dict[int, list[str]]:
        """The `.spatch` files of each variant that is not for what is installed, with those of the new patches that fit there.

        A patch that does not fit each release that was given for the variant is noted, and so is one that they all have.
        """
        variants, packages = series.patchset.variants, {home.package for home in self.homes}
        others = (number for number in range(len(variants)) if number not in series.numbers)
        lists = series._replace(
            numbers=tuple(number for number in others if variants[number].package in packages)
        ).lists
        for number, there in lists.items():
            releases = self.others.get(number, [])
            for name in in_order(
                there,
                [name for name in self.patches if name in there or name not in series.patches],
            ):
                patches = parse_spatch(
                    {**series.patchset.folder.files, **self.patches}[name], name
                )[1]
                trials = [release.tried(patches) for release in releases]
                if name not in there:
                    held = [
                        (release.texts, *trial)
                        for release, trial in zip(releases, trials)
                        if release.held
                    ]
                    why = next((problem for _, _, problem in held if problem), "")
                    if not held:
                        why = Message(
                            "none of its releases could be tried: import it where one is installed"
                        )
                    elif all(before == after for before, after, _ in held):
                        why = why or Message("its releases have it")
                    if why:
                        template = "not in the variant for {versions}: {why}"
                        self._noted(
                            patch_name(name),
                            [Message(template, versions=variants[number].versions, why=why)],
                        )
                        continue
                    names = {*lists[number], name}
                    lists[number] = in_order(
                        lists[number], [other for other in self.patches if other in names]
                    )
                for release, trial in zip(releases, trials):
                    release.advance(trial, ())
        return lists

    # one patch --------------------------------------------------------------------------------------------------------
    def _name_there(self, name: str, there: Sequence[str], given: Sequence[GivenPatch]) -> str:
        """The name that a patch has in the series: what is `fix` in another variant may be `fix-1.2` in this one."""
        if (
            not self.series
            or name in there
            or name + _SUFFIX not in self.series.patchset.folder.files
        ):
            return name
        own = [
            other
            for other in there
            if other.startswith(f"{name}-") and is_version(other[len(name) + 1 :])
        ]
        return next((other for other in own if other not in [patch.name for patch in given]), name)

    def _free_name(self, name: str, text: str, version: str) -> str:
        """The name under which the text of a new patch is written: another variant's of that name may have another text."""
        files = self.series.patchset.folder.files if self.series else {}
        release = f"{name}-{version.split('+')[0]}"
        names = chain((name, release), (f"{release}-{number}" for number in count(2)))
        return next(other for other in names if files.get(other + _SUFFIX, text) == text)

    def _kept(self, name: str, given: GivenPatch | None) -> PatchResult:
        """A patch that the folder has already: it stays as it is."""
        assert self.series
        file = name + _SUFFIX
        text, patches = self.series.patchset.folder.files[file], self.series.patches[file]
        problem = self._hunks_applied(patches)
        if problem:
            template, where = (
                "{path.name}: does not fit after the patches before it: {problem}",
                self.series.folder / file,
            )
            hint = "remove {path} from the folder and the manifest, and import it again"
            raise SitepatchError(template, hint, path=where, problem=problem)
        self.patches[file] = text
        before = dict(self.sources.patched)
        taken = self._found(given) if given and not given.error else []
        differing = self._differing(
            Draft(()), {match.path: match.after for match in taken if match.located}
        )
        # it was written or changed by hand
        if any(match.problem for match in taken) or differing or not taken:
            self.sources.patched = before
            for path in (
                path for patch in patches for path in patch.paths if path in self.pristine
            ):
                self.sources.patched[path] = self.pristine[path][0], self.texts[path]
        for release in self.releases:
            release.advance(
                release.tried(patches),
                [match for match in taken if match.located and not match.problem],
            )
        return PatchResult(name, read_head(parse_spatch(text, name)[0]).subject, IN_PLACE)

    def _imported(self, given: GivenPatch) -> PatchResult:
        """A patch that is new: its `.spatch`, or why there is none, with everything as it was before."""
        patched, pristine = dict(self.sources.patched), dict(self.pristine)
        texts, partial = dict(self.texts), set(self.partial)
        try:
            result = self._tried(given)
        except SitepatchError as error:
            if self.single:
                raise
            result = PatchResult(
                given.name,
                given.patch.subject,
                NOT_IMPORTED,
                problem=error.message,
                hint=error.hint,
            )
        if result.state != IMPORTED and not self.single:
            self.sources.patched, self.pristine = patched, pristine
            self.texts, self.partial = texts, partial
        if result.failed:
            others = [
                name
                for section in given.patch.sections
                for name in self.failed.get(section.path, ())
            ]
            if others and not result.hint:
                names = ", ".join(dict.fromkeys(others))
                result = result._replace(
                    hint=Message("it may need {names}, which is not imported", names=names)
                )
            for section in given.patch.sections:
                self.failed.setdefault(section.path, []).append(given.name)
        return result

    def _tried(self, given: GivenPatch) -> PatchResult:
        result = PatchResult(given.name, given.patch.subject, NOT_IMPORTED)
        if given.error:
            return result._replace(problem=given.error.message, hint=given.error.hint)
        matches = self._found(given)
        problems = tuple(match for match in matches if match.problem)
        taken = [match for match in matches if match.located and not match.problem]
        self._noted(given.name, _notes_on(taken))
        parts = _left_of(matches)
        if problems:
            result = self._sorted(result._replace(problems=problems), parts)
            paths = [(match.path or match.section.path, match.problem) for match in problems]
            reasons = joined(
                "\n",
                (
                    Message("{path}: {problem}", path=path, problem=problem)
                    for path, problem in paths
                ),
            )
            return result._replace(
                problem=reasons, hint=joined("\n", (match.hint for match in problems))
            )
        edits, added = (
            _edits_of(match for match in taken if not match.adds),
            [match for match in taken if match.adds],
        )
        files = generalise(edits, [item.texts for item in self.releases]).files
        draft = Draft((*files, *(added_file(match.path, match.after) for match in added)))
        text = "{paths}: it is not byte for byte as with the diff: {difference}"
        self._noted(
            given.name,
            (
                Message(text, paths=file.paths[0], difference=file.difference)
                for file in draft.unlike
            ),
        )
        result = self._sorted(result._replace(draft=draft), [*parts, *draft.left_out])
        if result.missing and not self.single:  # of one patch what the rest would change is shown
            missing = (
                Message("{name}: {why}", name=part.name, why=part.why) for part in result.missing
            )
            return result._replace(problem=joined("\n", missing))
        if not any(file.hunks for file in draft.files):
            return result._replace(
                state=LEFT_OUT, problem=Message("it changes no code that is installed")
            )
        text = spatch_text(given.patch, draft)
        name = self._free_name(
            given.name, text, next((match.located.version for match in taken if match.located), "")
        )
        patches = parse_spatch(text, name + _SUFFIX)[1]
        trials = [release.tried(patches) for release in self.releases]
        problem = self._narrowing(trials) or self._hunks_applied(patches)
        problem = problem or self._differing(draft, {match.path: match.after for match in taken})
        if problem and self.single:
            path, why = problem.split(": ", 1)
            raise SitepatchError.at(
                Location(path), why, "write the patchset by hand: see docs/howto/change.md"
            )
        if problem:
            return result._replace(draft=Draft(()), problem=problem)
        if result.missing:
            return result
        self.patches[name + _SUFFIX] = text
        for release, trial in zip(self.releases, trials):
            release.advance(trial, taken)
        return result._replace(name=name, state=IMPORTED)

    def _noted(self, name: str, notes: Iterable[str]) -> None:
        self.notes.update(
            (note if self.single else Message("{name}: {note}", name=name, note=note), None)
            for note in notes
        )

    def _sorted(self, result: PatchResult, parts: Sequence[LeftOut]) -> PatchResult:
        """The result with the parts that are in no hunk, by whether they stop the import."""
        missing = tuple(part for part in parts if part.code and part.name not in self.leave_out)
        return result._replace(
            missing=missing, left_out=tuple(part for part in parts if part not in missing)
        )

    def _found(self, given: GivenPatch) -> list[FileMatch]:
        """The sections of a patch, applied to the files as the diffs before have made them."""
        before = dict(self.sources.patched)

        def look() -> list[FileMatch]:
            self.sources.patched = dict(before)
            return self.sources.find_all(given.patch.sections)

        return settled(self.sources.env, look)

    def _hunks_applied(self, patches: Sequence[FilePatch]) -> str:
        """Apply hunks to the files as the hunks before have made them; gives why they cannot be applied, "" where they can."""
        texts: dict[str, bytes] = {}
        for patch in patches:
            for path in patch.paths:
                source = None if path in self.pristine else self._shipped(path, adds=patch.adds)
                if source:
                    self.pristine[path] = source
                    self.texts[path] = source[1]
            path = next((path for path in patch.paths if path in self.pristine), "")
            if not path:
                return Message("{paths}: no installed file", paths=patch.paths[0])
            texts[path] = self.texts[path]
        results, problems = with_patches(texts, patches, self.options)
        for path, problem in problems:
            return Message("{path}: {problem}", path=path, problem=problem)
        self.texts.update(results)
        return ""

    def _narrowing(self, trials: Sequence[_Trial]) -> str:
        """Where a new patch would end the range of the series: a release that it does not fit, and the others do."""
        problems = (problem for release, (_, problem) in zip(self.releases, trials) if release.held)
        template = "the series is for this release, too, and would not be any more: {problem}"
        return next((Message(template, problem=problem) for problem in problems if problem), "")

    def _shipped(self, path: str, *, adds: bool) -> tuple[Located, bytes] | None:
        """The package of a file, and its text without the patches of the series: none of one that a patch adds."""
        if adds:
            there = self.sources.patched.get(path)
            return there[0] if there else home_of(self.sources.env, path), b""
        patched, self.sources.patched = self.sources.patched, {}
        try:
            return self.sources.text(path)
        finally:
            self.sources.patched = patched

    def _differing(self, draft: Draft, after: Mapping[str, bytes]) -> str:
        """Why the hunks do not make the code that the diffs make, "" where they do."""
        self.partial.update(file.paths[0] for file in draft.files if file.left_out)
        for path, text in after.items():
            if (
                path in self.texts
                and path not in self.partial
                and not same_code(self.texts[path], text, anywhere=True)
            ):
                return Message(
                    "{path}: the hunks do not make the edited file: other code comes of them",
                    path=path,
                )
        return ""

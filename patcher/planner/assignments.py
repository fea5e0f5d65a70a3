"""Which hunks of a patchset are for which files of an environment."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Callable, Mapping, Sequence

from patcher.errors import AbsentError, SitepatchError
from patcher.facts import Assignment, sha256
from patcher.installed.environment import (
    Locator,
    blocker,
    check_not_shared,
    compiled_modules,
    find_file,
    nearest_file,
)
from patcher.installed.interpreter import Environment
from patcher.message import Message, joined
from patcher.model import (
    NO_HUNK,
    Answer,
    FilePatch,
    HunkText,
    Located,
    Receipt,
    Requested,
    State,
    Variant,
    refusal,
)
from patcher.patchset import results
from patcher.patchset.variants import matching_variants, pick_variants
from patcher.record import Record
from patcher.store.status import is_deleted_by
from patcher.store.store import Store
from patcher.system.reading import read_file

ReceiptsIn = Callable[[str], Mapping[str, Receipt]]


class _Refusal(Record):
    """Why a patch has no file, as an answer says it."""

    state: State
    problem: str = ""
    hint: str = ""


class Assigner:
    """Finds the files of an environment that hunks are for.

    `answers` gets an answer for each package and file that is not there, or cannot be patched;
    `notes` gets remarks.

    Args:
        env: the environment.
        receipts_in: returns the receipts of a site directory, by path.
        of_project: whether a project asks for the patchsets: it can call one optional.
    """

    def __init__(self, env: Environment, receipts_in: ReceiptsIn, *, of_project: bool) -> None:
        self.answers: list[Answer] = []
        self.notes: list[str] = []
        self._env = env
        self._receipts_in = receipts_in
        self._of_project = of_project
        self._locator = Locator(env)
        self._compiled = lru_cache(maxsize=None)(compiled_modules)

    def assignments(self, requested: Requested) -> list[Assignment]:
        """The assignments of one patchset.

        Raises:
            PatchError: a hunk is wrong in itself.
            StoreError: a receipt or a pristine copy is invalid.
        """
        assignments: list[Assignment] = []
        for package, variants in pick_variants(requested.patchset).items():
            try:
                located = self._locator.locate(package, _changed_paths(variants))
                variant = _variant(
                    requested, variants, located=located, receipts_in=self._receipts_in
                )
            except SitepatchError as error:
                self._refuse_package(requested, package, error=error)
                continue
            self.notes += located.notes
            if not located.version and not located.notes:
                self.notes.append(_unchecked_version(requested, variant, located))

            for path, hunks in self._hunks_by_path(requested, variant, located=located).items():
                assignment = Assignment(
                    requested=requested,
                    located=located,
                    path=path,
                    hunks=hunks,
                    names=variant.names,
                )
                assignments.append(assignment)
        return assignments

    def _refuse_package(self, requested: Requested, package: str, error: SitepatchError) -> None:
        """Report a package that is not there, or in no release that the patchset is for."""
        name = requested.patchset.name
        is_absent = isinstance(error, AbsentError)
        if requested.optional and is_absent:
            note = Message(
                "{name} is optional and left out: {message}", name=name, message=error.message
            )
            self.notes.append(note)
            return
        hint = error.hint
        if is_absent and self._of_project:
            optional = Message('or ask for "{name} optional", where it may be absent', name=name)
            hint = joined("\n", filter(None, (hint, optional)))
        message = error.message
        answer = refusal(name, package, State.NOT_FOUND, problem=message, hint=hint)
        self.answers.append(answer)

    def _hunks_by_path(
        self, requested: Requested, variant: Variant, located: Located
    ) -> dict[str, tuple[HunkText, ...]]:
        """The hunks for each file, which several sections or .spatch files may name."""
        added = {patch.paths[0] for patch in variant.patches if patch.adds}
        hunks: dict[str, tuple[HunkText, ...]] = {}
        for patch in variant.patches:
            path = patch.paths[0]
            if path not in added:
                path = self._path(requested, located, patch)
            if path:
                hunks[path] = hunks.get(path, ()) + patch.hunks
        return hunks

    def _path(self, requested: Requested, located: Located, patch: FilePatch) -> str:
        """The one of the alternative paths that is meant.

        Where there is none, or several, it is "", and there is an answer.
        """
        try:
            existing = _existing(located, patch.places, self._receipts_in)
            paths = _with_code(
                requested, located, patch=patch, paths=existing, receipts_in=self._receipts_in
            )
            if len(paths) == 1:
                check_not_shared(located, paths[0], self._env)
                problem = blocker(located, paths[0], env=self._env, compiled=self._compiled)
                if not problem:
                    return paths[0]
                reason = _Refusal(State.CONFLICT, problem)
            elif paths:
                reason = _several_places(paths)
            else:
                reason = _no_such_file(located, patch)
        except SitepatchError as error:
            reason = _Refusal(State.CONFLICT, error.message, hint=error.hint)

        answer = refusal(
            requested.patchset.name,
            patch.paths[0],
            state=reason.state,
            problem=reason.problem,
            hint=reason.hint,
            site=located.site,
        )
        if patch.deletes:
            self.answers.append(answer.with_result(hunk=patch.hunks[0]))
            return ""
        origin = patch.hunks[0].origin
        for scope in dict.fromkeys(hunk.scope for hunk in patch.hunks):
            hunk = NO_HUNK._replace(origin=origin, line=patch.line, scope=scope)
            self.answers.append(answer.with_result(hunk=hunk))
        return ""


def _changed_paths(variants: Sequence[Variant]) -> list[str]:
    """The paths of the files that variants change, alternative ones included."""
    paths: list[str] = []
    for variant in variants:
        for patch in variant.patches:
            paths += () if patch.adds else patch.places
    return paths


def _unchecked_version(requested: Requested, variant: Variant, located: Located) -> str:
    return Message(
        "{package} has no version in its metadata: whether {name} is for it ({versions}) was not "
        "checked",
        package=located.package,
        name=requested.patchset.name,
        versions=variant.versions,
    )


def _several_places(paths: Sequence[str]) -> _Refusal:
    problem = Message(
        "the code to change is in several places of this file: {paths}", paths=", ".join(paths)
    )
    hint = Message("name the one that is meant in a variant of its own")
    return _Refusal(State.AMBIGUOUS, problem, hint=hint)


def _existing(located: Located, paths: Sequence[str], receipts_in: ReceiptsIn) -> Sequence[str]:
    """Which of the alternative places of a file have it, or had it until a patchset deleted it."""
    return find_file(located, paths) or _deleted(located, paths, receipts_in)


def _deleted(located: Located, paths: Sequence[str], receipts_in: ReceiptsIn) -> Sequence[str]:
    """Which of the alternative places of a file a patchset has deleted."""
    receipts = receipts_in(located.site)
    found: list[str] = []
    for path in paths:
        receipt = receipts.get(path)
        if receipt is not None and is_deleted_by(located.site, receipt):
            found.append(path)
    return found


def _no_such_file(located: Located, patch: FilePatch) -> _Refusal:
    if patch.deletes:
        problem = Message("there is no such file, and no patchset has deleted it")
        return _Refusal(State.UPSTREAM, problem)
    if all(hunk.flags.when_present for hunk in patch.hunks):
        return _Refusal(State.NOT_NEEDED)
    problem = Message(
        "{package} {version} has no such file", package=located.package, version=located.version
    )
    near = nearest_file(located, patch.paths[0])
    if near:
        hint = Message(
            "the nearest name there is {near}: write that path if it is meant", near=near
        )
    else:
        hint = Message(
            "the file was moved or removed in this release: see `sitepatch show` for the releases "
            "it is for"
        )
    return _Refusal(State.NOT_FOUND, problem, hint=hint)


# the variant and the path that fit ---------------------------------------------------------------
def _variant(
    requested: Requested,
    variants: Sequence[Variant],
    located: Located,
    receipts_in: ReceiptsIn,
) -> Variant:
    """The variant for the installed release.

    Where the version does not say which release that is, it is the first variant that fits.

    Raises:
        AbsentError: none is for it.
    """
    matching = matching_variants(variants, located.version)
    if len(matching) == 1:
        return matching[0]
    for variant in matching:
        if _variant_fits(requested, variant, located=located, receipts_in=receipts_in):
            return variant

    installed = Message(
        "{package} {version} is installed",
        package=located.package,
        version=located.version or Message("(version unknown)"),
    )
    problem = Message(
        "{names}; this patchset is for {package} {ranges}",
        names=installed,
        package=located.package,
        ranges=", ".join(variant.versions for variant in variants),
    )
    hint = Message(
        "check whether it fits: sitepatch check {name} --explain{here}",
        name=requested.patchset.name,
    )
    raise AbsentError(problem, hint)


def update_hint(name: str, version: str) -> str:
    """What to do where a release is in no range of a patchset."""
    if not version:
        return ""
    return Message(
        "check whether it fits: sitepatch update {name} --to {version}{here}",
        name=name,
        version=version,
    )


def _variant_fits(
    requested: Requested, variant: Variant, located: Located, receipts_in: ReceiptsIn
) -> bool:
    """Whether every file of a variant is there and has the code."""
    hunks: dict[str, tuple[HunkText, ...]] = {}
    for patch in variant.patches:
        if patch.adds:
            continue
        existing = _existing(located, patch.places, receipts_in)
        paths = _with_code(requested, located, patch=patch, paths=existing, receipts_in=receipts_in)
        if not paths and patch.deletes:
            continue
        if not paths:
            return False
        hunks[paths[0]] = (*hunks.get(paths[0], ()), *patch.hunks)

    for path, hunks_of_file in hunks.items():
        fits = _fits(
            requested,
            located,
            path=path,
            hunks=hunks_of_file,
            names=variant.names,
            receipts_in=receipts_in,
        )
        if not fits:
            return False
    return True


def _with_code(
    requested: Requested,
    located: Located,
    patch: FilePatch,
    paths: Sequence[str],
    receipts_in: ReceiptsIn,
) -> Sequence[str]:
    """The existing paths that have the code, as rule 1 says.

    Where none of several has it, the first is returned: its answers say so.
    """
    if len(paths) < 2:
        return paths
    fitting: list[str] = []
    for path in paths:
        fits = _fits(
            requested,
            located,
            path=path,
            hunks=patch.hunks,
            names=(),
            receipts_in=receipts_in,
        )
        if fits:
            fitting.append(path)
    return fitting or paths[:1]


def _fits(
    requested: Requested,
    located: Located,
    path: str,
    hunks: tuple[HunkText, ...],
    names: tuple[str, ...],
    receipts_in: ReceiptsIn,
) -> bool:
    """Whether the pristine bytes of a file have the code of these hunks, on one of its sides."""
    file = Path(located.site) / path
    receipt = receipts_in(located.site).get(path)
    data = read_file(file) if file.is_file() else b""
    is_deleted = receipt is not None and receipt.deletes and not file.is_file()
    if receipt is not None and (is_deleted or receipt.current == sha256(data)):
        data = Store(located.site).pristine(receipt.pristine.sha256)

    request = results.request_of(requested, hunks, names=names)
    return results.rewrite_with_known(data, request).finds_code

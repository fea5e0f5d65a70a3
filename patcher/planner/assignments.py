"""Patchsets + environment -> assignments: which hunks are for which file."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Callable, Dict, List, Sequence, Tuple

from patcher.engine.engine import fit_score
from patcher.errors import AbsentError, SitepatchError
from patcher.facts import Assignment, sha256
from patcher.installed.environment import blocker, check_not_shared, compiled_modules, find_file, locate, nearest_file
from patcher.installed.interpreter import Environment
from patcher.message import Message
from patcher.model import Answer, FilePatch, HunkText, Located, Requested, State, Variant
from patcher.patchset.removal import can_go
from patcher.patchset.sources import matching_variants, pick_variants
from patcher.store.store import Store
from patcher.system.reading import read_file


def assignments_of(env: Environment, requested: Requested, answers: List[Answer], notes: List[str]) -> List[Assignment]:
    """The assignments of one patchset.

    Args:
        env: the environment.
        requested: the patchset.
        answers: gets an answer for each package and file that is not there, or cannot be patched.
        notes: gets remarks.

    Raises:
        PatchError: a hunk is wrong in itself.
        StoreError: a receipt or a pristine copy is invalid.
    """
    assignments: List[Assignment] = []
    name = requested.patchset.name
    for package, variants in pick_variants(requested.patchset).items():
        try:
            paths = [path for variant in variants for patch in variant.patches for path in patch.paths if not patch.adds]
            located = locate(env, package, paths)
            variant = _variant(requested, variants, located)
        except SitepatchError as error:
            if requested.optional and isinstance(error, AbsentError):
                notes.append(Message("{name} is optional and left out: {message}", name=name, message=error.message))
            else:
                answers.append(Answer(name, package, "", State.NOT_FOUND, (), error.message, error.hint))
            continue
        notes += located.notes
        hunks: Dict[str, Tuple[HunkText, ...]] = {}  # a file may be named by several sections or .spatch files
        added = {patch.paths[0] for patch in variant.patches if patch.adds}
        listing = lru_cache(maxsize=None)(compiled_modules)
        for patch in variant.patches:
            path = patch.paths[0] if patch.paths[0] in added else _path(env, requested, located, patch, answers, listing)
            if path:
                hunks[path] = hunks.get(path, ()) + patch.hunks
        assignments += [Assignment(requested, located, path, file_hunks, variant.names) for path, file_hunks in hunks.items()]
    return assignments


def _variant(requested: Requested, variants: Sequence[Variant], located: Located) -> Variant:
    """The variant for the installed release; where its version does not say which one that is, the one that fits the code.

    Raises:
        AbsentError: none is for it.
        SitepatchError: several fit equally well.
    """
    matching = matching_variants(variants, located.version)
    if len(matching) == 1:
        return matching[0]
    ranges = ", ".join(variant.versions for variant in variants)
    have = Message(
        "{package} {version} is installed", package=located.package, version=located.version or Message("(version unknown)")
    )
    scores = [_variant_score(requested, variant, located) for variant in matching]
    if not any(matched for _, matched, _ in scores):
        words = {"names": have, "package": located.package, "ranges": ranges}
        problem = Message("{names}; this patchset is for {package} {ranges}", **words)
        raise AbsentError(problem, update_hint(requested, located.distribution, located.version))
    best = [variant for variant, score in zip(matching, scores) if score == max(scores)]
    if len(best) > 1:
        words = {"names": have, "ranges": ranges}
        problem = Message("{names}, a version that says nothing, and its code fits the variants for {ranges} alike", **words)
        raise SitepatchError(problem, "install a build that has its version")
    return best[0]


def update_hint(requested: Requested, distribution: str, version: str) -> str:
    """What to do where a release is in no range of a patchset."""
    if can_go(requested.patchset, distribution, version):
        return Message("it can go: {reason}", reason=requested.patchset.provenance["remove_when"])
    words = {"name": requested.patchset.name, "version": version}
    return Message("does it hold for it? sitepatch update {name} --to {version}", **words) if version else ""


def _variant_score(requested: Requested, variant: Variant, located: Located) -> Tuple[int, int, int]:
    scores = []
    for patch in variant.patches:
        paths = () if patch.adds else find_file(located, patch.paths)
        scores.append(max((_score(requested, located, path, patch) for path in paths), default=(-len(patch.hunks), 0, 0)))
    missing, matched, scopes = map(sum, zip(*scores))
    return missing, matched, scopes


def _score(requested: Requested, located: Located, path: str, patch: FilePatch) -> Tuple[int, int, int]:
    """How well a patch fits the pristine bytes of a file (`patcher.engine.answers.FitScore`)."""
    store, data = Store(located.site), read_file(Path(located.site) / path)
    receipt = store.receipts().get(path)
    if receipt is not None and receipt.current == sha256(data):
        data = store.pristine(receipt.pristine)
    return fit_score(data, patch.hunks, requested.options)


def _path(
    env: Environment,
    requested: Requested,
    located: Located,
    patch: FilePatch,
    answers: List[Answer],
    compiled: Callable[[str], Sequence[str]],
) -> str:
    """The one of the alternative paths that is meant; "" (and an answer) where there is none or several."""
    state, problem, hint = State.CONFLICT, "", ""
    try:
        paths = _likeliest(requested, located, patch, find_file(located, patch.paths))
        if len(paths) == 1:
            check_not_shared(located, paths[0], env)
            problem = blocker(located, paths[0], env, compiled) or ""
            if not problem:
                return paths[0]
        elif paths:
            state = State.AMBIGUOUS
            problem = Message("the code to change is in several places of this file: {paths}", paths=", ".join(paths))
            hint = Message("name the one that is meant in a variant of its own")
        elif all(hunk.when_present for hunk in patch.hunks):
            state = State.NOT_NEEDED
        else:
            state, words = State.NOT_FOUND, {"package": located.package, "version": located.version}
            problem = Message("{package} {version} has no such file", **words)
            hint = Message("the file was moved or removed in this release: see `sitepatch show` for the releases it is for")
            near = nearest_file(located, patch.paths[0])
            hint = Message("the nearest name there is {near}: write that path if it is meant", near=near) if near else hint
    except SitepatchError as error:
        problem, hint = error.message, error.hint
    answer = Answer(requested.patchset.name, patch.paths[0], "", state, (), problem, hint)
    answer = answer._replace(written=(patch.hunks[0].origin, patch.line))
    answers += [answer._replace(scope=scope) for scope in dict.fromkeys(hunk.scope for hunk in patch.hunks)]
    return ""


def _likeliest(requested: Requested, located: Located, patch: FilePatch, paths: Sequence[str]) -> Sequence[str]:
    """The one of several existing paths that the hunks fit best; several only where they fit equally well."""
    if len(paths) < 2:
        return paths
    scores = {path: _score(requested, located, path, patch) for path in paths}
    best = [path for path in paths if scores[path] == max(scores.values())]
    return best if scores[best[0]][1] else best[:1]  # the first, where none has the code: its answers say so

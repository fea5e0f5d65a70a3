"""Patchsets + environment -> jobs: which hunks go to which file, and what is said where there is no such file."""

from __future__ import annotations

from typing import Dict, List, Mapping, NamedTuple, Sequence, Tuple

from patcher.environment import Environment, blocker, check_own, find_file, locate
from patcher.errors import AbsentError, SitepatchError
from patcher.model import Answer, FilePatch, HunkText, Located, OptionValue, Patchset, State, Step, Variant
from patcher.patchset import choose, pick_variants

KINDS = ("fix", "default", "debug")  # debug last: it shows what the fixes before it have made of the code


class Wanted(NamedTuple):
    """A patchset to apply, with the value of each of its options; where `optional`, its packages may be absent."""

    patchset: Patchset
    options: Mapping[str, OptionValue]
    optional: bool = False


class Job(NamedTuple):
    """One patchset's hunks for one file."""

    wanted: Wanted
    located: Located
    path: str
    hunks: Tuple[HunkText, ...]
    names: Tuple[str, ...]


def find_jobs(env: Environment, wanted: Wanted, answers: List[Answer], notes: List[str]) -> List[Job]:
    """The jobs of one patchset; what does not fit becomes an answer, what is unusual a note."""
    jobs: List[Job] = []
    name = wanted.patchset.name
    for package, variants in pick_variants(wanted.patchset).items():
        try:
            paths = [path for variant in variants for patch in variant.patches for path in patch.paths]
            located = locate(env, package, paths)
            variant = _variant(package, variants, located)
        except SitepatchError as error:
            if wanted.optional and isinstance(error, AbsentError):
                notes.append(f"{name} is optional and left out: {error.message}")
            else:
                answers.append(Answer(name, package, "", State.NOT_FOUND, (), error.message, error.hint))
            continue
        notes += located.notes
        hunks: Dict[str, Tuple[HunkText, ...]] = {}  # a file may be named by several sections or .spatch files
        for patch in variant.patches:
            path = _path(env, wanted, located, patch, answers)
            if path:
                hunks[path] = hunks.get(path, ()) + patch.hunks
        jobs += [Job(wanted, located, path, several, variant.names) for path, several in hunks.items()]
    return jobs


def _variant(package: str, variants: Sequence[Variant], located: Located) -> Variant:
    variant = choose(variants, located.version)
    if variant is None:
        ranges = ", ".join(variant.versions or "any version" for variant in variants)
        have = f"{package} {located.version or '(version unknown)'}"
        raise AbsentError(f"{have} is installed; this patchset is for {package} {ranges}", "there is nothing to change")
    return variant


def _path(env: Environment, wanted: Wanted, located: Located, patch: FilePatch, answers: List[Answer]) -> str:
    """The one place of a file that exists, "" (and an answer) where there is none or several."""
    state, problem, hint = State.CONFLICT, "", ""
    try:
        found = find_file(located, patch.paths)
        if len(found) == 1:
            check_own(located, found[0], env)
            problem = blocker(located, found[0], env) or ""
            if not problem:
                return found[0]
        elif found:
            state, problem = State.AMBIGUOUS, f"several places of this file exist: {', '.join(found)}"
        elif all(hunk.when_present for hunk in patch.hunks):
            state = State.NOT_NEEDED
        else:
            state, problem = State.NOT_FOUND, f"{located.package} {located.version} has no such file"
            hint = "the file was moved or removed in this release: see `sitepatch show` for the releases it is for"
    except SitepatchError as error:
        problem, hint = error.message, error.hint
    scopes = dict.fromkeys(hunk.scope for hunk in patch.hunks)
    answers += [Answer(wanted.patchset.name, patch.paths[0], scope, state, (), problem, hint) for scope in scopes]
    return ""


def rank(name: str, steps: Mapping[str, Step], jobs: Sequence[Job]) -> Tuple[int, str]:
    """The fixed order in which the patchsets of one file are applied: by kind, then by name."""
    kind = next((job.wanted.patchset.kind for job in jobs if job.wanted.patchset.name == name), "")
    return KINDS.index(kind or steps[name].kind), name


def refused(jobs: Sequence[Job], error: SitepatchError) -> List[Answer]:
    """A conflict for every scope of jobs that cannot be done, with the reason."""
    return [
        Answer(job.wanted.patchset.name, job.path, scope, State.CONFLICT, (), error.message, error.hint)
        for job in jobs
        for scope in dict.fromkeys(hunk.scope for hunk in job.hunks)
    ]

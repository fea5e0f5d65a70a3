"""Environment + patchsets + receipts -> Plan: decides everything, writes nothing.

The state of a file is always derived: `fold(apply, pristine, every patchset applied to it, in a fixed order)`. Adding,
updating and taking away a patchset are the same operation, so the order in which a person does them does not matter.
"""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from patcher.environment import Environment, blocker, find_file, locate, recorded_hash
from patcher.errors import SitepatchError
from patcher.manifest import load
from patcher.model import (
    Answer, Change, FilePatch, FilePlan, HunkText, Located, OptionValue, Patchset, Plan, Receipt, Rewrite, State, Step, Variant,
)  # fmt: skip
from patcher.patchset import choose, pick_variants
from patcher.semantic.splice import apply_splices
from patcher.standing import Condition, judge, read, standing
from patcher.store import Store

KINDS = ("fix", "default", "debug")  # debug last: it shows what the fixes before it have made of the code


class Wanted(NamedTuple):
    """A patchset to apply, with the value of each of its options."""

    patchset: Patchset
    options: Mapping[str, OptionValue]


class _Job(NamedTuple):
    """One patchset's hunks for one file."""

    wanted: Wanted
    located: Located
    path: str
    hunks: Tuple[HunkText, ...]
    names: Tuple[str, ...]


class _File(NamedTuple):
    """A target file as found: its pristine bytes, the bytes now, and the steps that lead from one to the other."""

    pristine: bytes
    now: bytes
    steps: Tuple[Step, ...]


def plan_apply(env: Environment, wanted: Sequence[Wanted]) -> Plan:
    """What applying patchsets would do.

    Returns:
        the plan; what does not fit is a failed answer in it, for every patchset and file, not only the first.

    Raises:
        PatchError: a hunk is wrong in itself.
        StoreError: a receipt cannot be believed.
    """
    answers: List[Answer] = []
    notes: List[str] = []
    jobs: Dict[Tuple[str, str], List[_Job]] = {}
    for one in wanted:
        for job in _jobs(env, one, answers, notes):
            jobs.setdefault((job.located.site, job.path), []).append(job)
    receipts = {site: Store(site).receipts() for site in env.sites}
    files = _left_behind(env, wanted, jobs, answers)
    for (site, path), here in sorted(jobs.items()):
        receipt = receipts[site].get(path)
        try:
            found = _read(site, path, here[0].located, receipt, notes)
        except SitepatchError as error:
            answers += _refused(here, error)
            continue
        steps = {step.patchset: step for step in found.steps}
        order = sorted({**steps, **{job.wanted.patchset.name: None for job in here}}, key=lambda name: _rank(name, steps, here))
        by_name = {job.wanted.patchset.name: job for job in here}
        data, made, said = _fold(site, path, found, order, by_name)
        answers += said
        files.append(_file_plan(site, path, found, data, made, receipt, here[0].located))
    return Plan(tuple(files), tuple(answers), tuple(dict.fromkeys(notes)))


def _left_behind(
    env: Environment, wanted: Sequence[Wanted], jobs: Mapping[Tuple[str, str], Sequence[_Job]], answers: List[Answer]
) -> List[FilePlan]:
    """Files that an earlier version of a wanted patchset changed and this one does not: its change is taken back there."""
    files: List[FilePlan] = []
    names = {one.patchset.name for one in wanted}
    for item in standing(env):
        stale = [step.patchset for step in item.receipt.steps if step.patchset in names]
        if stale and (item.site, item.receipt.path) not in jobs and not any(answer.state.failed for answer in answers):
            one = plan_restore(env, stale, only=item.receipt.path)
            files += one.files
            answers += one.answers
    return files


def plan_restore(env: Environment, names: Sequence[str], *, force: bool = False, only: str = "") -> Plan:
    """What taking patchsets back would do: those named, all where none is named.

    Args:
        env: the environment.
        names: of patchsets; one that stands nowhere is simply not found in the plan.
        force: also put the pristine file back where it was edited by hand.
        only: the path of the one file to look at, "" for all.

    Raises:
        StoreError: a receipt or a pristine copy cannot be believed.
    """
    files: List[FilePlan] = []
    answers: List[Answer] = []
    notes: List[str] = []
    for item in standing(env):
        receipt, site = item.receipt, item.site
        going = [step for step in receipt.steps if not names or step.patchset in names]
        if not going or (only and receipt.path != only):
            continue
        old = sha256(item.data).hexdigest() if item.condition is not Condition.MISSING else ""
        staying = [step for step in receipt.steps if step not in going]
        if item.condition in (Condition.MISSING, Condition.OVERWRITTEN):
            what = "is not there any more" if item.condition is Condition.MISSING else "was replaced by a reinstall"
            notes.append(f"{receipt.path} {what}: only the receipt is dropped")
            change = Change(receipt.path, old, None, None, forget=True)
            files.append(FilePlan(site, receipt.path, item.data, item.data, change, ()))
            continue
        if item.condition is Condition.EDITED and not force:
            problem = "the file was edited by hand after it was patched"
            hint = "move the edit elsewhere, or use --force: it puts the pristine file back and sets the edited copy aside"
            answers += [Answer(step.patchset, receipt.path, "", State.CONFLICT, (), problem, hint) for step in going]
            continue
        pristine = Store(site).pristine(receipt.pristine)
        if staying:
            found = _File(pristine, item.data, receipt.steps)
            data, made, said = _fold(site, receipt.path, found, [step.patchset for step in staying], {})
            answers += [answer for answer in said if answer.state.failed]
            current = sha256(data).hexdigest()
            change = Change(receipt.path, old, data, receipt._replace(current=current, steps=made))
            files.append(FilePlan(site, receipt.path, item.data, data, change, made))
        else:
            change = Change(receipt.path, old, None, None)
            files.append(FilePlan(site, receipt.path, item.data, pristine, change, ()))
    return Plan(tuple(files), tuple(answers), tuple(notes))


def before_and_after(site: str, receipt: Receipt, names: Sequence[str]) -> Tuple[bytes, bytes]:
    """What the named patchsets (all without a name) stand changed in a file: the text without and with them.

    Where a patchset that is not named stands between them, the texts are those around the first and the last named one.
    """
    data = before = after = Store(site).pristine(receipt.pristine)
    begun = False
    for step in receipt.steps:
        chosen = not names or step.patchset in names
        if chosen and not begun:
            before, begun = data, True
        data = apply_splices(data, step.splices)
        if chosen:
            after = data
    return before, after


def commit(plan: Plan, patchsets: Sequence[Patchset]) -> List[str]:
    """Carry a plan out, one store after the other; returns what had to be recovered first.

    Raises:
        StoreError: a file is no longer what the plan saw, or the store cannot write; nothing was changed in that store.
    """
    texts = {patchset.digest: patchset.files for patchset in patchsets}
    said: List[str] = []
    sites: Dict[str, List[Change]] = {}
    for file in plan.files:
        if file.change is not None:
            sites.setdefault(file.site, []).append(file.change)
    for site, changes in sites.items():
        said.append(Store(site).commit(changes, texts))
    return [sentence for sentence in said if sentence]


# which hunks for which file -------------------------------------------------------------------------------------------
def _jobs(env: Environment, wanted: Wanted, answers: List[Answer], notes: List[str]) -> List[_Job]:
    jobs: List[_Job] = []
    name = wanted.patchset.name
    for package, variants in pick_variants(wanted.patchset).items():
        try:
            paths = [path for variant in variants for patch in variant.patches for path in patch.paths]
            located = locate(env, package, paths)
            variant = _variant(package, variants, located)
        except SitepatchError as error:
            answers.append(Answer(name, package, "", State.NOT_FOUND, (), error.message, error.hint))
            continue
        notes += located.notes
        for patch in variant.patches:
            path = _path(env, wanted, located, patch, answers)
            if path:
                jobs.append(_Job(wanted, located, path, patch.hunks, variant.names))
    return jobs


def _variant(package: str, variants: Sequence[Variant], located: Located) -> Variant:
    variant = choose(variants, located.version)
    if variant is None:
        ranges = ", ".join(variant.versions or "any version" for variant in variants)
        have = f"{package} {located.version or '(version unknown)'}"
        raise SitepatchError(f"{have} is installed; this patchset is for {package} {ranges}", "there is nothing to apply it to")
    return variant


def _path(env: Environment, wanted: Wanted, located: Located, patch: FilePatch, answers: List[Answer]) -> str:
    """The one place of a file that exists, "" (and an answer) where there is none or several."""
    state, problem, hint = State.CONFLICT, "", ""
    try:
        found = find_file(located, patch.paths)
        if len(found) == 1:
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


def _rank(name: str, steps: Mapping[str, Step], jobs: Sequence[_Job]) -> Tuple[int, str]:
    kind = next((job.wanted.patchset.kind for job in jobs if job.wanted.patchset.name == name), "")
    return KINDS.index(kind or steps[name].kind), name


# the file as it is, and as it is to be --------------------------------------------------------------------------------
def _read(site: str, path: str, located: Located, receipt: Optional[Receipt], notes: List[str]) -> _File:
    """The file and what it is made of.

    Raises:
        SitepatchError: somebody else changed it, so that nobody can say what pristine is.
    """
    data = read(site, path) or b""
    recorded = recorded_hash(located, path)
    if receipt is not None:
        condition = judge(site, receipt, data).condition
        if condition is Condition.APPLIED:
            return _File(Store(site).pristine(receipt.pristine), data, receipt.steps)
        if condition is Condition.EDITED:
            raise SitepatchError(
                "the file was edited by hand after it was patched",
                "`sitepatch restore --force` sets the edited copy aside and puts the pristine file back",
            )
        lost = ", ".join(step.patchset for step in receipt.steps)
        notes.append(f"{path}: a reinstall took {lost} away; what is named now is applied to the new file")
    if recorded is None:
        notes.append(f"{path}: no hash is recorded for it, so nothing proves that it is as upstream shipped it")
    elif recorded != sha256(data).hexdigest():
        name = located.distribution or located.package
        raise SitepatchError(
            f"the file is not what {name} {located.version} installed: somebody edited it (its sha256 differs from RECORD)",
            f"put it back first: pip install --force-reinstall --no-deps {name}=={located.version}",
        )
    return _File(data, data, ())


def _fold(
    site: str, path: str, found: _File, order: Sequence[str], jobs: Mapping[str, _Job]
) -> Tuple[bytes, Tuple[Step, ...], List[Answer]]:
    """Apply the patchsets `order` to the pristine text; those in `jobs` as asked for, the others as they stood.

    Splices of the last run are used again as long as the text before them is the same, so that what is in place already
    needs no syntax tree.
    """
    kept = {step.patchset: step for step in found.steps}
    old_text, texts = found.pristine, {}
    for step in found.steps:
        texts[step.patchset] = old_text
        old_text = apply_splices(old_text, step.splices)
    data = found.pristine
    steps: List[Step] = []
    answers: List[Answer] = []
    for name in order:
        job = jobs.get(name)
        known = kept.get(name)
        if known is not None and texts[name] == data and (job is None or _stands(known, job)):
            data = apply_splices(data, known.splices)
            steps.append(known)
            answers += [] if job is None else [Answer(name, path, hunk.scope, State.APPLIED) for hunk in job.hunks]
            continue
        if job is None:
            job = _kept_job(site, path, kept[name])
        result = _rewrite(data, job)
        for answer in result.answers:
            scope, problem = answer.hunk.scope, answer.problem
            answers.append(Answer(name, path, scope, answer.state, answer.places, problem, answer.hint))
        if result.splices:
            patchset = job.wanted.patchset
            places = tuple(place for answer in result.answers for place in answer.places if answer.state is State.APPLICABLE)
            steps.append(
                Step(name, patchset.version, patchset.digest, patchset.kind, dict(job.wanted.options), result.splices, places)
            )
        data = result.data
    return data, tuple(steps), answers


def _stands(step: Step, job: _Job) -> bool:
    return step.digest == job.wanted.patchset.digest and dict(step.options) == dict(job.wanted.options)


def _rewrite(data: bytes, job: _Job) -> Rewrite:
    from patcher.semantic.engine import rewrite  # imports libcst, which costs more than everything else together

    return rewrite(data, job.hunks, job.wanted.options, job.names)


def _kept_job(site: str, path: str, step: Step) -> _Job:
    """The job of a patchset that stands applied, from the copy of it in the store."""
    folder = Path(site) / ".sitepatch" / "patchsets" / step.digest / step.patchset
    patchset = load(folder, "the store", Store(site).patchset_files(step.digest))
    for variant in patchset.variants:
        for patch in variant.patches:
            if path in patch.paths:
                located = Located(variant.package, site, "", "", "")
                return _Job(Wanted(patchset, step.options), located, path, patch.hunks, variant.names)
    raise SitepatchError(f"{path}: the stored copy of {step.patchset} does not mention this file", "restore all patchsets")


def _file_plan(
    site: str, path: str, found: _File, data: bytes, steps: Tuple[Step, ...], receipt: Optional[Receipt], located: Located
) -> FilePlan:
    change = None
    old = sha256(found.now).hexdigest()
    if data != found.now or (receipt is not None and receipt.steps != steps):
        if steps:
            stat = (Path(site) / path).lstat()
            fresh = receipt is None or receipt.pristine != sha256(found.pristine).hexdigest()
            link = os.readlink(Path(site) / path) if (Path(site) / path).is_symlink() else ""
            change = Change(path, old, data, Receipt(
                path, located.package, located.distribution, located.version, sha256(found.pristine).hexdigest(),
                sha256(data).hexdigest(), stat.st_mode & 0o7777 if fresh or receipt is None else receipt.mode,
                stat.st_mtime_ns if fresh or receipt is None else receipt.mtime_ns,
                link if fresh or receipt is None else receipt.link, steps,
            ))  # fmt: skip
        elif receipt is not None:
            change = Change(path, old, None, None, forget=data == found.now)
    return FilePlan(site, path, found.now, data, change, steps)


def _refused(jobs: Sequence[_Job], error: SitepatchError) -> List[Answer]:
    return [
        Answer(job.wanted.patchset.name, job.path, scope, State.CONFLICT, (), error.message, error.hint)
        for job in jobs
        for scope in dict.fromkeys(hunk.scope for hunk in job.hunks)
    ]

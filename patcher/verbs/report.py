"""A verb on the console: its progress, its plan, what it wrote and how that was verified; as text, JSON and exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

from patcher.display.console import Console
from patcher.display.rows import answer_rows, plan_json
from patcher.display.styles import Row, Verbatim, term
from patcher.message import Message, joined
from patcher.model import Plan, State
from patcher.place import Outcome
from patcher.text.listed import count, listed
from patcher.verbs.releases.outcome import is_absent
from patcher.verify import COMPILE, IMPORT, PROBE, CheckResult, Verified

if TYPE_CHECKING:
    from patcher.text.diffs import FileDiff


_APPLIED = Message("it is applied already")
RUNNING = Message("running processes keep the old code until they are restarted")


def show_applied(console: Console, outcome: Outcome) -> None:
    """Write what was applied, and the command that restores it; and why a patchset that stands in no file needs nothing."""
    applied = {step.patchset for file in outcome.plan.files for step in file.steps}
    names = [name for name in outcome.patchsets if name in applied]
    sites = [file.site for file in outcome.changed if file.steps]
    template = "{names}: {files} in {site}"
    for site in dict.fromkeys(sites):
        text = Message(
            template, names=", ".join(names), files=count(sites.count(site), "file"), site=site
        )
        console.info_rows([Row("applied", (text,))])
    for name in (name for name in outcome.patchsets if name not in applied):
        console.info("{name}: nothing to do, {reason}", name=name, reason=_why(outcome.plan, name))
    if names:
        console.info("restore with: {command}", command=console.command("restore", *names))
    note_running(console, outcome)
    for hook in outcome.hooks:
        console.note(
            "the next start of Python undoes this: {hook} asks for another version or other options",
            hook=hook,
        )


def show_plan(console: Console, outcome: Outcome) -> None:
    """Show the answer of a plan for each hunk, and its notes.

    Those that fail alone without -v, on a terminal and where there is nothing to do for several patchsets.
    """
    plan = outcome.plan
    is_news = console.plain and (bool(outcome.changed) or len(outcome.patchsets) < 2)
    in_full = not console.quiet and (console.verbose or outcome.dry_run or is_news)
    console.rows(answer_rows(answer for answer in plan.answers if answer.state.failed or in_full))
    console.suggest_explain(plan.answers, outcome.place.patch_dirs)
    console.notes(plan.notes)


def what_failed(plan: Plan) -> str:
    """How many hunks failed; and which packages have none, since they are not there or cannot be patched."""
    absent = [answer for answer in plan.failed if is_absent(answer)]
    number = len(plan.failed) - len(absent)
    hunks = count(len(plan.answers) - len(absent), "hunk")
    failed = Message("{number} of {hunks} failed", number=number, hunks=hunks)
    packages = listed(list(dict.fromkeys(answer.path for answer in absent)))
    unfit = Message("{packages} cannot be patched here", packages=packages)
    parts = [failed] * bool(number) + [unfit] * bool(absent)
    return joined("; ", parts)


def report_outcome(
    console: Console,
    outcome: Outcome,
    show: Callable[[Console, Outcome], None],
    **extra_fields: Any,
) -> int:
    """Report what came of a plan, with `show` what was written; `more` are further fields of the JSON answer."""
    plan, changed, verified = outcome.plan, outcome.changed, outcome.verified
    diffs: list[FileDiff] = []
    if outcome.dry_run:
        from patcher.text.diffs import plan_diffs  # a repeated `apply` shows none

        diffs = plan_diffs(plan)
    if plan.failed:
        console.note("nothing was written: {reason}", "stopped", reason=what_failed(plan))
    elif not changed:
        reasons = {name: _why(plan, name) for name in outcome.patchsets}
        others = {name: reason for name, reason in reasons.items() if reason != _APPLIED}
        applied = len(reasons) - len(others)
        if applied > 1 and not console.verbose:
            console.info(
                "{patchsets}: nothing to do, they are applied already",
                patchsets=count(applied, "patchset"),
            )
            reasons = others
        for name, reason in reasons.items():
            console.info("{name}: nothing to do, {reason}", name=name, reason=reason)
    elif outcome.dry_run:
        from patcher.display.differences import show_diffs

        show_diffs(console, diffs)
        console.note(
            "nothing was written; {files} would be changed",
            Message("dry run"),
            files=count(len(changed), "file"),
        )
    if verified:
        console.rows(verified_rows(console, verified))
        if verified.failed:
            console.note(
                "verification failed: nothing was written, {files} as before",
                "stopped",
                files=count(len(changed), "file"),
            )
    if outcome.written:
        show(console, outcome)
    if console.as_json:
        fields: dict[str, Any] = {
            "written": outcome.written,
            "patchsets": outcome.patchsets,
            **extra_fields,
        }
        fields.update(plan_json(plan), recovered=outcome.recovered)
        if verified:
            fields["verify"] = verified_json(verified)
        if outcome.dry_run:
            fields["diff"] = b"".join(diff.text for diff in diffs)
        console.answer(outcome.ok, fields)
    return 0 if outcome.ok else 1


def note_running(console: Console, outcome: Outcome) -> None:
    """Write that running processes keep the old code, the first time that a directory is patched."""
    if outcome.fresh or console.verbose:
        console.note(RUNNING)


def _why(plan: Plan, name: str) -> str:
    """Why there is nothing to do for a patchset."""
    states = {answer.state for answer in plan.answers if answer.patchset == name}
    if State.APPLIED in states:
        return _APPLIED
    if State.UPSTREAM in states:
        return Message(
            "the file has the code of its `+` lines already: fixed upstream, or `-` and `+` are swapped"
        )
    return Message("it is not needed here: the code that it changes is not there")


# verifying ------------------------------------------------------------------------------------------------------------
_KINDS = (COMPILE, IMPORT, PROBE)


def verified_rows(console: Console, verified: Verified) -> list[Row]:
    """What is good in one line with the seconds of each step, what is not with its last lines; if quiet failures alone.

    Modules that were broken before share a line where their problem is the same; the last lines come with -v.
    """
    parts = []
    for kind in _KINDS:
        good = [
            check.seconds for check in verified.checks if check.what == kind and not check.problem
        ]
        seconds = sum(good)
        summaries = {
            COMPILE: Message(
                "{files} compiled in {seconds:.2f} s",
                files=count(len(good), "file"),
                seconds=seconds,
            ),
            IMPORT: Message(
                "{modules} imported in {seconds:.2f} s",
                modules=count(len(good), "module"),
                seconds=seconds,
            ),
            PROBE: Message(
                "{probes} passed in {seconds:.2f} s",
                probes=count(len(good), "probe"),
                seconds=seconds,
            ),
        }
        parts += [summaries[kind]] if good else []
    rows = []
    if parts and not verified.failed:
        rows.append(Row("verified", (joined(", ", parts),), _not_imported(verified)))
    alike: dict[tuple[str, ...], list[CheckResult]] = {}
    for check in verified.checks:
        alike.setdefault(
            (check.what, check.problem, "" if check.before else check.name), []
        ).append(check)
    for check, *others in (checks for (_, problem, _), checks in alike.items() if problem):
        names = ", ".join(similar.name for similar in (check, *others))
        shown = check.output if console.verbose or not check.before else ""
        output = tuple(map(Verbatim, shown.split("\n"))) if shown else ()
        template = "{state} {names}: {check.problem}"
        if check.before:
            template = "{state} {names}, without the patch too: {check.problem}"
        rows.append(
            Row(
                check.state,
                (Message(template, state=term(check.what), names=names, check=check),),
                output,
            )
        )
    why = Message("not verified before writing: nothing can be mounted here")
    rows += [
        Row("unseen", (Message("{text}, and so sees the file without the patch", text=unseen), why))
        for unseen in verified.unseen
    ]
    return [row for row in rows if not console.quiet or row.word == "failed"]


def _not_imported(verified: Verified) -> tuple[str, ...]:
    """A sentence about the modules that were not imported, and one about the files that have no name to import them by."""
    sentences: list[str] = []
    if verified.left_out and verified.reason:
        template = "not imported: {names}: {reason}"
        names = ", ".join(verified.left_out)
        sentences.append(Message(template, names=names, reason=verified.reason))
    if verified.nameless:
        template = "not imported: {names}: no import can name such a file, it was compiled only"
        sentences.append(Message(template, names=", ".join(verified.nameless)))
    return tuple(sentences)


def verified_json(verified: Verified) -> dict[str, Any]:
    """The field `verify` of `apply` and `verify`."""
    steps = {
        kind: sum(check.seconds for check in verified.checks if check.what == kind)
        for kind in _KINDS
    }
    fields = ("what", "name", "state", "problem", "output")
    checks = [{name: getattr(check, name) for name in fields} for check in verified.checks]
    seconds = {
        name: round(value, 3) for name, value in (*steps.items(), ("total", verified.seconds))
    }
    return {
        "ok": not verified.failed,
        "checks": checks,
        "left_out": (*verified.left_out, *verified.nameless),
        "seconds": seconds,
        "unseen": verified.unseen,
    }

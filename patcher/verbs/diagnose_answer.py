"""The answer of `diagnose` in JSON: what of its findings a program reads."""

from __future__ import annotations

from typing import Mapping, Sequence

from patcher.diagnosis.conclusions import Conclusion
from patcher.diagnosis.failures import FailedRank
from patcher.diagnosis.log import Log, Sighting
from patcher.diagnosis.ranks import OK, EndedRank, Verdict
from patcher.diagnosis.report import Report
from patcher.diagnosis.runs import Run, Wrap
from patcher.diagnosis.table import device_of
from patcher.errors import SitepatchError
from patcher.patchset.symptoms import with_tools
from patcher.record import Record, reported
from patcher.verbs.log_findings import DiagnoseOutcome, FoundSymptom


# errors -------------------------------------------------------------------------------------------
class UnexplainedError(Record):
    """An error that nothing known explains.

    Attributes:
        error: the error in one line: its type and message, where it has both.
        at: the last frame that is not in an installed package: FILE:LINE in NAME.
        raised_at: the frame of the installed package that raised it; "" where none did.
        ranks: the ranks that raised it, as far as the log names them.
        log: the log of the first.
        line: its line there.
    """

    error: str
    at: str
    raised_at: str
    ranks: tuple[int, ...]
    log: str
    line: int


class Mention(Record):
    """A line that merely speaks of an error.

    Attributes:
        log: the log.
        line: the line there.
        text: that line.
    """

    log: str
    line: int
    text: str


class ErrorsTold(Record):
    """The errors of logs.

    Attributes:
        failures: the ranks that failed first, the earliest first: those that torchrun's summaries
            name, or those that they waited for; ranks that waited are last.
        unexplained: without a summary of torchrun: the errors in the logs that nothing known
            explains.
        mentions: lines that merely speak of an error: it has not happened, or was no end.
    """

    failures: tuple[FailedRank, ...]
    unexplained: tuple[UnexplainedError, ...]
    mentions: tuple[Mention, ...]


def _unexplained(error: Sighting) -> UnexplainedError:
    return UnexplainedError(
        error.text,
        error.at,
        raised_at=error.raised_at,
        ranks=error.ranks,
        log=error.log,
        line=error.line,
    )


# symptoms -----------------------------------------------------------------------------------------
class SymptomTold(Record):
    """What a symptom is.

    Attributes:
        symptom: its name.
        meaning: what it means.
        advice: what helps.
        follows: whether it mostly is the consequence of another one.
    """

    symptom: str
    meaning: str
    advice: str
    follows: bool


class SymptomSeen(Record):
    """Where a symptom was seen.

    Attributes:
        lines: how many lines show it, in all logs.
        ranks: the ranks that show it.
        log: the log that shows it first.
        line: the line there.
        text: that line.
    """

    lines: int
    ranks: tuple[int, ...]
    log: str
    line: int
    text: str


class SymptomCure(Record):
    """What cures a symptom.

    Attributes:
        patchset: the patchset that cures it, "" for none.
        fit: whether that one fits here: applies, applied, absent, does not fit, unknown, upstream,
            not needed; "" for no patchset.
        fit_text: the same in words.
        settings: options to be set, option=VALUE.
    """

    patchset: str
    fit: str = ""
    fit_text: str = ""
    settings: tuple[str, ...] = ()


@reported("*told *seen *cure")
class Diagnosed(Record):
    """A symptom that was found.

    Attributes:
        told: what it is.
        seen: where it was seen.
        cure: what cures it.
    """

    told: SymptomTold
    seen: SymptomSeen
    cure: SymptomCure


def _diagnosed(finding: FoundSymptom) -> Diagnosed:
    symptom, fit, lines = finding.symptom, finding.fit, finding.lines
    told = SymptomTold(
        symptom.name,
        symptom.meaning,
        advice=with_tools(symptom.advice, finding.devices),
        follows=symptom.follows,
    )
    seen = SymptomSeen(lines.number, lines.ranks, log=lines.log, line=lines.line, text=lines.text)
    cure = SymptomCure(finding.patchset.name if finding.patchset else "")
    if fit:
        cure = SymptomCure(cure.patchset, fit.word, fit_text=fit.text, settings=fit.settings)
    return Diagnosed(told, seen, cure=cure)


# runs ---------------------------------------------------------------------------------------------
class RankProcess(Record):
    """The process of a rank.

    Attributes:
        rank: its rank, null where not known.
        local_rank: its rank on its host.
        world_size: the number of ranks.
        host: its host.
        pid: its process.
    """

    rank: int | None
    local_rank: int | None
    world_size: int | None
    host: str
    pid: int | None


class RankModel(Record):
    """What a rank wraps.

    Attributes:
        site: where it reported.
        wrapper: the wrapper.
        model: the model's class.
        trainable: parameters that are trained.
        get_device: what MMEngine's get_device() says.
        mmengine: the version of MMEngine.
    """

    site: str
    wrapper: str | None
    model: str
    trainable: int | None
    get_device: str | None
    mmengine: str | None


class RankDevices(Record):
    """The devices of a rank.

    Attributes:
        parameters: how many parameters are on which device.
        buffers: buffers by device.
        device: the device that it works on: the accelerator that is initialised, else what
            get_device() says.
        device_ids: the device_ids that DDP was given.
    """

    parameters: Mapping[str, int]
    buffers: Mapping[str, int]
    device: str
    device_ids: tuple[str, ...] | None


@reported("*process *model *devices verdict")
class RankTold(Record):
    """What a rank reported.

    Attributes:
        process: its process.
        model: what it wraps.
        devices: its devices.
        verdict: the code of the first conclusion that names it, else ready.
    """

    process: RankProcess
    model: RankModel
    devices: RankDevices
    verdict: str


class WrapTold(Record):
    """One wrapping of a model.

    Attributes:
        wrap: its number.
        ranks: what each rank reported.
        conclusions: what follows, the most important first; none where all is well.
    """

    wrap: int
    ranks: tuple[RankTold, ...]
    conclusions: tuple[Conclusion, ...]


class RunTold(Record):
    """A run of a job.

    Attributes:
        run: its number, 1 is the oldest.
        time: when its first report was made, seconds since the epoch; null where not known.
        logs: its logs.
        wraps: where models were wrapped.
    """

    run: int
    time: float | None
    logs: tuple[str, ...]
    wraps: tuple[WrapTold, ...]


class RunsTold(Record):
    """The runs in the logs.

    Attributes:
        runs: how many runs the logs have reports of.
        shown: the runs that are shown.
    """

    runs: int
    shown: tuple[RunTold, ...]


def _run(run: Run) -> RunTold:
    return RunTold(run.number, run.time, logs=run.logs, wraps=tuple(map(_wrap, run.wraps)))


def _wrap(wrap: Wrap) -> WrapTold:
    ranks = [_rank(row, verdict) for row, verdict in zip(wrap.rows, wrap.verdicts)]
    return WrapTold(wrap.number, tuple(ranks), conclusions=wrap.conclusions)


def _rank(row: Report, verdict: str) -> RankTold:
    process = RankProcess(
        row.rank,
        row.process.local_rank,
        world_size=row.process.world_size,
        host=row.process.host,
        pid=row.process.pid,
    )
    model = RankModel(
        row.wrapping.site,
        row.wrapping.wrapper,
        model=row.wrapping.model,
        trainable=row.tensors.trainable,
        get_device=row.setup.get_device,
        mmengine=row.setup.mmengine,
    )
    devices = RankDevices(
        dict(row.tensors.parameters),
        dict(row.tensors.buffers),
        device=device_of(row),
        device_ids=row.device_ids.names,
    )
    return RankTold(process, model, devices=devices, verdict=verdict)


# logs ---------------------------------------------------------------------------------------------
class LogTold(Record):
    """A log that was read.

    Attributes:
        log: its name.
        lines: its lines.
        reports: reports of mmengine-ddp-debug in it.
        cut: how many of its reports end too early.
        cut_lines: in which lines, the first thousand.
        problem: why it could not be read to its end, else "".
    """

    log: str
    lines: int
    reports: int
    cut: int
    cut_lines: tuple[int, ...]
    problem: str


def _log(log: Log) -> LogTold:
    return LogTold(
        log.name,
        log.lines,
        reports=len(log.reports),
        cut=log.cut_count,
        cut_lines=log.cut,
        problem=log.problem,
    )


# ranks that were started --------------------------------------------------------------------------
class RankStep(Record):
    """A step of a rank.

    Attributes:
        name: the step.
        seconds: how long it took.
    """

    name: str
    seconds: float


class RankSteps(Record):
    """How far a rank came.

    Attributes:
        rank: its rank.
        state: how it ended: ok, failed (first), late (the others waited for it), waited.
        steps: what it has done.
        inside: the step that it did not come out of, else "".
    """

    rank: int
    state: str
    steps: tuple[RankStep, ...]
    inside: str


class RankSetup(Record):
    """What a rank ran with.

    Attributes:
        device: its device.
        backend: its backend.
        torch: its release of torch.
        notes: remarks.
    """

    device: str
    backend: str
    torch: str
    notes: tuple[str, ...]


class RankProblem(Record):
    """What is wrong with a rank.

    Attributes:
        problem: why it failed.
        output: the last lines that it wrote, or the calls that it is in.
    """

    problem: str
    output: str


@reported("*steps *setup *wrong")
class RankTried(Record):
    """A rank that was started.

    Attributes:
        steps: how far it came.
        setup: what it ran with.
        wrong: what is wrong with it.
    """

    steps: RankSteps
    setup: RankSetup
    wrong: RankProblem


class Trial(Record):
    """Ranks that were started.

    Attributes:
        ok: whether they can talk.
        verdict: in words.
        hint: what to do.
        timeout: seconds that they had.
        ranks: each rank.
    """

    ok: bool
    verdict: str
    hint: str
    timeout: float
    ranks: tuple[RankTried, ...]


def trial_told(ranks: Sequence[EndedRank], verdict: Verdict, limit: float) -> Trial:
    """What came of ranks that had `limit` seconds."""
    tried = [_tried(rank, state) for rank, state in zip(ranks, verdict.states)]
    return Trial(verdict.ok, verdict.text, hint=verdict.hint, timeout=limit, ranks=tuple(tried))


def _tried(rank: EndedRank, state: str) -> RankTried:
    steps = [RankStep(name, round(seconds, 3)) for name, seconds in rank.steps]
    output = "" if state == OK else rank.last_calls
    return RankTried(
        RankSteps(rank.number, state, steps=tuple(steps), inside=rank.inside),
        RankSetup(rank.device, rank.backend, torch=rank.torch, notes=tuple(rank.remarks)),
        wrong=RankProblem(rank.failure, output),
    )


# all of it ----------------------------------------------------------------------------------------
@reported("*errors findings cure *runs logs trial broken")
class DiagnoseAnswer(Record):
    """What was found in logs.

    Attributes:
        errors: the errors.
        findings: the troubles, the first in the logs first, consequences last.
        cure: the one command to run, "" for none.
        runs: the runs.
        logs: the logs.
        trial: with --ranks: what came of them.
        broken: patchsets that are wrong in themselves.
    """

    errors: ErrorsTold
    findings: tuple[Diagnosed, ...]
    cure: str
    runs: RunsTold
    logs: tuple[LogTold, ...]
    trial: Trial | None
    broken: tuple[SitepatchError, ...]


def answer_of(outcome: DiagnoseOutcome, cure: str, trial: Trial | None = None) -> DiagnoseAnswer:
    """The answer; `cure` is the command to run."""
    errors = ErrorsTold(
        outcome.errors.failures,
        tuple(map(_unexplained, outcome.errors.unexplained)),
        mentions=tuple(
            Mention(each.log, each.line, text=each.text) for each in outcome.errors.mentions
        ),
    )
    return DiagnoseAnswer(
        errors,
        tuple(map(_diagnosed, outcome.findings)),
        cure=cure,
        runs=RunsTold(len(outcome.runs), tuple(map(_run, outcome.shown))),
        logs=tuple(map(_log, outcome.logs)),
        trial=trial,
        broken=outcome.broken,
    )

"""Logs -> what is wrong in them, which patchset cures it, and whether that one fits this environment."""

from __future__ import annotations

from functools import cached_property
from itertools import product
from typing import NamedTuple, Sequence

from patcher.diagnosis.conclusions import is_wrong
from patcher.diagnosis.failures import Failure, Meaning, first_failures
from patcher.diagnosis.log import Log, Sighting
from patcher.diagnosis.rank_names import earlier_attempts
from patcher.diagnosis.runs import Run, find_runs
from patcher.diagnosis.signs import EXCEPTION, KNOWN, spoken_of
from patcher.errors import SitepatchError, UsageError
from patcher.facts import FileStatus
from patcher.installed.accelerators import installed_accelerators
from patcher.installed.interpreter import Environment
from patcher.message import Message
from patcher.model import Patchset, Symptom
from patcher.patchset.catalogue import Catalogue
from patcher.patchset.places import builtin_dir
from patcher.patchset.symptoms import general_symptoms
from patcher.place import Place
from patcher.store.retry import settled
from patcher.store.status import statuses
from patcher.text.patterns import matches_pattern
from patcher.verbs.fit import APPLICABLE, APPLIED, UNKNOWN, Fit, fit_of

# symptoms that are known better from a summary of torchrun
_OF_SUMMARY = (
    "a-rank-failed",
    "rank-ended-by-sigkill",
)
_OF_REPORTS = ("reported-on-a-card-before-ddp",)  # and from reports of where the ranks train
_WAITED = {  # symptoms of a rank that has waited for another one
    "collective-timed-out": Meaning.TIMED_OUT,
    "ranks-missing-at-start": Meaning.TIMED_OUT,
    "peer-gone": Meaning.PEER_GONE,
}
_MESSAGE = 20  # lines of a long message, from that of the exception on


class FoundSymptom(NamedTuple):
    """A symptom that was found: in `number` lines, of `ranks` as far as they are known; `log`, `line` and `text` of the first.

    `patchset` cures it, None where none does; `fit` is whether that one fits, None where there is none. `devices` are the
    kinds of accelerators that its text names, else those on which the logs have a tensor.
    """

    symptom: Symptom
    patchset: Patchset | None
    fit: Fit | None
    number: int
    ranks: tuple[int, ...]
    log: str
    line: int
    text: str
    devices: tuple[str, ...] = ()


class DiagnoseOutcome(NamedTuple):
    """What was found: in the order of the logs, consequences last. `cure` are the words of a command, or empty.

    `failures` are those that each launcher whose summary is in the logs saw first, the earliest first, or, where that is known
    better, those that came before; ranks that waited for others are last. Without such a summary, `unexplained` are the errors
    that nothing known explains. `mentions` are lines that merely speak of errors.
    `logs` are those that were read, `runs` come from the reports of mmengine-ddp-debug in them, and `shown` are those that
    were requested; `broken` are patchsets that cannot be read.
    """

    failures: tuple[Failure, ...]
    unexplained: tuple[Sighting, ...]
    mentions: tuple[Sighting, ...]
    findings: tuple[FoundSymptom, ...]
    cure: tuple[str, ...]
    logs: tuple[Log, ...]
    runs: tuple[Run, ...]
    shown: tuple[Run, ...]
    broken: tuple[SitepatchError, ...]

    @property
    def concluded(self) -> bool:
        """Whether anything is wrong in the runs that are shown."""
        return any(is_wrong(wrap.conclusions) for run in self.shown for wrap in run.wraps)

    @property
    def erred(self) -> bool:
        """Whether there is an error in the logs, or something in them that could not be read."""
        return bool(
            self.failures
            or self.unexplained
            or self.findings
            or any(log.is_damaged for log in self.logs)
        )

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong, as far as is known, and everything was read."""
        return not (self.erred or self.concluded)


class KnownSymptoms:
    """All known symptoms, and whether the patchsets that cure them fit an environment, which is read once."""

    def __init__(self, place: Place) -> None:
        self._place = place
        loaded, broken = Catalogue(place.patch_dirs).load()
        self.broken = tuple(broken.values())
        self.symptoms: list[tuple[Symptom, Patchset | None]] = [
            *(
                (symptom, item.patchset)
                for item in loaded
                for symptom in item.patchset.about.symptoms
            ),
            *((symptom, None) for symptom in general_symptoms(builtin_dir())),
        ]
        self.patterns = [
            pattern
            for symptom, _ in self.symptoms
            for pattern in (*symptom.signs.patterns, *symptom.signs.needs, *symptom.signs.unless)
        ]
        self._fits: dict[tuple[object, ...], Fit] = {}
        self._meanings: dict[str, Meaning] = {}

    @cached_property
    def _env(self) -> Environment:
        return self._place.environment()

    @cached_property
    def _statuses(self) -> list[FileStatus]:
        return settled(self._env, lambda: statuses(self._env))

    def outcome(self, logs: Sequence[Log], number: str | None = None) -> DiagnoseOutcome:
        """The outcome for these logs, with the runs that `number` names."""
        findings, runs = self._findings(logs), find_runs(logs)
        earlier = earlier_attempts(log.name for log in logs)
        current = [log for log in logs if log.name not in earlier]
        summaries = [summary for log in logs for summary in log.summaries]
        failures = first_failures(summaries, [log.tracebacks for log in current], self._meaning)
        unexplained = () if failures else _unexplained(current, findings)
        known_better = (*(_OF_SUMMARY if failures else ()), *(_OF_REPORTS if runs else ()))
        findings = [
            finding
            for finding in _most_specific(findings, logs)
            if finding.symptom.name not in known_better
        ]
        names = [log.name for log in logs]
        findings.sort(key=lambda finding: (_order(finding), names.index(finding.log), finding.line))
        return DiagnoseOutcome(
            failures=failures,
            unexplained=unexplained,
            mentions=self._mentions(logs),
            findings=tuple(findings),
            cure=_cure(findings),
            logs=tuple(logs),
            runs=runs,
            shown=tuple(_chosen(runs, number)),
            broken=self.broken,
        )

    @cached_property
    def _accelerators(self) -> list[str]:
        """The kinds of accelerators whose packages are installed."""
        return [accelerator.kind for accelerator in installed_accelerators(self._env)]

    def _findings(self, logs: Sequence[Log]) -> list[FoundSymptom]:
        """The symptoms of which the logs have an error, what else they need, and nothing that rules them out."""
        seen = {sighting.key for log in logs for sighting in log.sightings}
        evidence = seen.union(mention.key for log in logs for mention in log.mentions)
        on_tensors = sorted({device for log in logs for device in log.devices})
        findings = []
        for symptom, patchset in self.symptoms:
            if seen.isdisjoint(symptom.signs.patterns) or not evidence.isdisjoint(
                symptom.signs.unless
            ):
                continue
            if symptom.signs.needs and evidence.isdisjoint(symptom.signs.needs):
                continue
            if symptom.signs.accelerator and not (on_tensors or self._accelerators):
                continue
            if patchset:
                symptom = self._for_the_card(symptom, patchset, on_tensors)
            fit = self._fit(patchset, symptom) if patchset else None
            finding = _finding(symptom, patchset, fit, logs)
            devices = sorted(spoken_of(finding.text)) or on_tensors
            findings.append(finding._replace(devices=tuple(devices)))
        return findings

    def _for_the_card(
        self, symptom: Symptom, patchset: Patchset, on_tensors: Sequence[str]
    ) -> Symptom:
        """The symptom with the option `device` of its patchset, where one card is proven."""
        if all(option.name != "device" for option in patchset.options):
            return symptom
        kinds = on_tensors or self._accelerators
        if len(kinds) != 1:
            return symptom
        return symptom._replace(options={**symptom.options, "device": kinds[0]})

    def _mentions(self, logs: Sequence[Log]) -> tuple[Sighting, ...]:
        """Each line once that merely speaks of an error; not what symptoms need beside their errors."""
        patterns = {pattern for symptom, _ in self.symptoms for pattern in symptom.signs.patterns}
        mentions = [
            mention
            for log in logs
            for mention in log.mentions
            if mention.kind != KNOWN or mention.key in patterns
        ]
        lines = {(mention.log, mention.line): mention for mention in mentions}
        return tuple(lines[place] for place in sorted(lines))

    def _meaning(self, error: str) -> Meaning:
        """What an error says of the rank that has raised it."""
        if error not in self._meanings:
            about = [
                entry
                for entry, _ in self.symptoms
                if any(matches_pattern(pattern, error) for pattern in entry.signs.patterns)
            ]
            waited = [_WAITED[symptom.name] for symptom in about if symptom.name in _WAITED]
            meaning = Meaning.UNCLEAR if any(symptom.follows for symptom in about) else Meaning.OWN
            self._meanings[error] = (waited or [meaning])[0]
        return self._meanings[error]

    def _fit(self, patchset: Patchset, symptom: Symptom) -> Fit:
        key = patchset.name, symptom.name, *symptom.options.values()
        if key not in self._fits:
            try:
                self._fits[key] = fit_of(self._env, self._statuses, patchset, symptom)
            except UsageError:  # there is no such environment
                raise
            except SitepatchError as error:
                template = "whether it fits could not be looked at: {message}"
                self._fits[key] = Fit(UNKNOWN, Message(template, message=error.message))
        return self._fits[key]


def _order(finding: FoundSymptom) -> int:
    """What can be cured comes first, then other causes, what says that a rank has waited, and what may follow anything."""
    symptom, fit = finding.symptom, finding.fit
    if symptom.follows:
        return 2 if symptom.name in _WAITED else 3
    return 0 if fit and fit.word in (APPLICABLE, APPLIED) else 1


def _finding(
    symptom: Symptom, patchset: Patchset | None, fit: Fit | None, logs: Sequence[Log]
) -> FoundSymptom:
    """All lines of some logs that match one of the symptom's patterns, as one finding.

    Patterns that are first seen in the same line are taken to stand in the same lines, which are counted once.
    """
    sightings = [
        (log.name, sighting)
        for log in logs
        for sighting in sorted(log.sightings, key=lambda sighting: sighting.line)
        if sighting.key in symptom.signs.patterns
    ]
    ranks = sorted({rank for _, sighting in sightings for rank in sighting.ranks})
    name, sighting = sightings[0]
    numbers: dict[tuple[str, int], int] = {}
    for log_name, seen in sightings:
        numbers[log_name, seen.line] = max(seen.number, numbers.get((log_name, seen.line), 0))
    return FoundSymptom(
        symptom,
        patchset,
        fit,
        sum(numbers.values()),
        tuple(ranks),
        name,
        sighting.line,
        sighting.text,
    )


def _unexplained(logs: Sequence[Log], findings: Sequence[FoundSymptom]) -> tuple[Sighting, ...]:
    """The errors that nothing explains, each once; exit codes and what a logger calls an error, where there is no other."""
    errors = [(log, error) for log in logs for error in log.errors]
    least = min((error.kind for _, error in errors), default=EXCEPTION)
    if least > EXCEPTION and findings:
        return ()
    causes = (finding.symptom for finding in findings if finding.symptom.name not in _OF_SUMMARY)
    patterns = {pattern for symptom in causes for pattern in symptom.signs.patterns}
    alike: dict[tuple[str, str], Sighting] = {}
    for log, error in errors:
        if error.kind == least and not _is_explained(error, log, patterns):
            sighting = alike.setdefault((error.text, error.at), error)
            alike[error.text, error.at] = sighting._replace(
                ranks=tuple(sorted({*sighting.ranks, *error.ranks}))
            )
    with_code = {error for error, at in alike if at}
    return tuple(error for (message, at), error in alike.items() if at or message not in with_code)


def _is_explained(error: Sighting, log: Log, patterns: set[str]) -> bool:
    """Whether patterns of what is known are in its text, in the text around it, or in a line of its message."""
    near = range(error.line, error.line + _MESSAGE)
    return (
        not patterns.isdisjoint(error.patterns)
        or any(sighting.line in near for sighting in log.sightings if sighting.key in patterns)
        or any(matches_pattern(pattern, error.text) for pattern in patterns)
    )


def _chosen(runs: Sequence[Run], number: str | None) -> Sequence[Run]:
    if number is None:
        return runs[-1:]
    if number == "all":
        return runs
    if not (number.isdecimal() and 1 <= int(number) <= len(runs)):
        expected = Message("all or a number from 1 to {number}", number=len(runs))
        expected = expected if runs else Message("none: no log has a report of mmengine-ddp-debug")
        template = "--run: found {which}, expected {expected}"
        raise UsageError(template, Message("1 is the oldest run"), which=number, expected=expected)
    return runs[int(number) - 1 : int(number)]


def _most_specific(findings: Sequence[FoundSymptom], logs: Sequence[Log]) -> list[FoundSymptom]:
    """Of findings in one line the most specific: that for what is installed here, else those that a patchset cures."""

    def weight(finding: FoundSymptom) -> tuple[bool, bool, bool, bool]:
        cures = finding.patchset is not None and finding.patchset.about.kind != "debug"
        return (
            finding.symptom.signs.accelerator,
            finding.patchset is not None,
            cures,
            not finding.symptom.follows,
        )

    most: dict[tuple[str, int], tuple[bool, bool, bool, bool]] = {}
    for finding, log in product(findings, logs):
        keys = (*finding.symptom.signs.patterns, *finding.symptom.signs.needs)
        for place in {
            (log.name, sighting.line) for sighting in log.sightings if sighting.key in keys
        }:
            most[place] = max(weight(finding), most.get(place, weight(finding)))
    return [finding for finding in findings if weight(finding) == most[finding.log, finding.line]]


def _cure(findings: Sequence[FoundSymptom]) -> tuple[str, ...]:
    """The words of the one command that cures what can be cured here; beside a cause, not what hides its consequences."""
    causes = [finding for finding in findings if not finding.symptom.follows] or findings
    cures = [(cause.patchset.name, cause.fit) for cause in causes if cause.patchset and cause.fit]
    able = [(name, fit.settings) for name, fit in cures if fit.word == APPLICABLE]
    names = dict.fromkeys(name for name, _ in able)
    settings = dict.fromkeys(f"{name}.{setting}" for name, texts in able for setting in texts)
    return (
        ("apply", *names, *(word for setting in settings for word in ("--set", setting)))
        if names
        else ()
    )

"""What is wrong in logs, which patchset cures it, and whether that one fits here."""

from __future__ import annotations

from functools import cached_property
from typing import Sequence

from patcher.diagnosis.conclusions import is_wrong
from patcher.diagnosis.failures import FailedRank, Meaning, first_failures
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
from patcher.record import Record
from patcher.store.retry import settled
from patcher.store.status import statuses
from patcher.text.patterns import matches_pattern
from patcher.verbs.cure import APPLICABLE, APPLIED, UNKNOWN, Fit, fit_of

# symptoms that are known better from a summary of torchrun
_OF_SUMMARY = ("a-rank-failed", "rank-ended-by-sigkill")
# and from reports of where the ranks train
_OF_REPORTS = ("reported-on-a-card-before-ddp",)
# symptoms of a rank that has waited for another one
_WAITED = {
    "collective-timed-out": Meaning.TIMED_OUT,
    "ranks-missing-at-start": Meaning.TIMED_OUT,
    "peer-gone": Meaning.PEER_GONE,
}
_MESSAGE = 20  # lines of a long message, from that of the exception on


class SymptomLines(Record):
    """The lines of logs that show a symptom.

    Attributes:
        number: how many they are.
        ranks: the ranks that they name.
        log: the log of the first of them.
        line: its number.
        text: its text.
    """

    number: int
    ranks: tuple[int, ...]
    log: str
    line: int
    text: str


class FoundSymptom(Record):
    """A symptom that logs have.

    Attributes:
        symptom: the symptom.
        patchset: the patchset that cures it, None where none does.
        fit: whether that one fits, None where there is none.
        lines: where it was found.
        devices: the kinds of accelerators that its text names, else those on which the logs have a
            tensor.
    """

    symptom: Symptom
    patchset: Patchset | None
    fit: Fit | None
    lines: SymptomLines
    devices: tuple[str, ...] = ()


class LogErrors(Record):
    """The errors of logs, apart from the symptoms that are known.

    Attributes:
        failures: those that each launcher whose summary is in the logs saw first, the earliest
            first, or, where that is known better, those that came before; ranks that waited for
            others are last.
        unexplained: without such a summary, the errors that nothing known explains.
        mentions: lines that merely speak of errors.
    """

    failures: tuple[FailedRank, ...]
    unexplained: tuple[Sighting, ...]
    mentions: tuple[Sighting, ...]


class DiagnoseOutcome(Record):
    """What was found in logs.

    Attributes:
        errors: the errors.
        findings: the symptoms, in the order of the logs, consequences last.
        cure: the words of the command that cures what can be cured, or none.
        logs: the logs that were read.
        runs: the runs of which mmengine-ddp-debug has reports in them.
        shown: those that were requested.
        broken: patchsets that cannot be read.
    """

    errors: LogErrors
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
        if self.errors.failures or self.errors.unexplained or self.findings:
            return True
        return any(log.is_damaged for log in self.logs)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong, as far as is known, and everything was read."""
        return not (self.erred or self.concluded)


class KnownSymptoms:
    """All known symptoms, and whether the patchsets that cure them fit an environment.

    The environment is read once.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        loaded, broken = Catalogue(place.patch_dirs).load()
        self.broken = tuple(broken.values())
        self.symptoms: list[tuple[Symptom, Patchset | None]] = []
        for item in loaded:
            patchset = item.patchset
            self.symptoms += [(symptom, patchset) for symptom in patchset.about.symptoms]

        self.symptoms += [(symptom, None) for symptom in general_symptoms(builtin_dir())]
        self.patterns: list[str] = []
        for symptom, _ in self.symptoms:
            signs = symptom.signs
            self.patterns += [*signs.patterns, *signs.needs, *signs.unless]

        self._fits: dict[tuple[object, ...], Fit] = {}
        self._meanings: dict[str, Meaning] = {}

    @cached_property
    def _env(self) -> Environment:
        return self._place.environment()

    @cached_property
    def _statuses(self) -> list[FileStatus]:
        return settled(self._env, lambda: statuses(self._env))

    @cached_property
    def _accelerators(self) -> list[str]:
        """The kinds of accelerators whose packages are installed."""
        return [accelerator.kind for accelerator in installed_accelerators(self._env)]

    def outcome(
        self,
        logs: Sequence[Log],
        number: str | None = None,
    ) -> DiagnoseOutcome:
        """The outcome for these logs, with the runs that `number` names."""
        findings = self._findings(logs)
        runs = find_runs(logs)
        errors = self._errors(logs, findings)

        known_better: set[str] = set()
        if errors.failures:
            known_better.update(_OF_SUMMARY)
        if runs:
            known_better.update(_OF_REPORTS)
        findings = _most_specific(findings, logs)
        findings = [each for each in findings if each.symptom.name not in known_better]

        names = [log.name for log in logs]

        def place(finding: FoundSymptom) -> tuple[int, int, int]:
            lines = finding.lines
            return _order(finding), names.index(lines.log), lines.line

        findings.sort(key=place)
        return DiagnoseOutcome(
            errors=errors,
            findings=tuple(findings),
            cure=_cure(findings),
            logs=tuple(logs),
            runs=runs,
            shown=tuple(_chosen(runs, number)),
            broken=self.broken,
        )

    def _errors(
        self,
        logs: Sequence[Log],
        findings: Sequence[FoundSymptom],
    ) -> LogErrors:
        """The errors of logs: by the summaries of launchers, else those that nothing explains."""
        names = [log.name for log in logs]
        earlier = earlier_attempts(names)
        current = [log for log in logs if log.name not in earlier]
        summaries: list[Sequence[FailedRank]] = []
        for log in logs:
            summaries += log.summaries

        tracebacks = [log.tracebacks for log in current]
        failures = first_failures(summaries, tracebacks, self._meaning)
        unexplained: tuple[Sighting, ...] = ()
        if not failures:
            unexplained = _unexplained(current, findings)
        return LogErrors(failures, unexplained, mentions=self._mentions(logs))

    def _findings(self, logs: Sequence[Log]) -> list[FoundSymptom]:
        """The symptoms of which the logs have all that they need, and nothing against them."""
        seen: set[str] = set()
        spoken: set[str] = set()
        devices: set[str] = set()
        for log in logs:
            seen.update(sighting.key for sighting in log.sightings)
            spoken.update(mention.key for mention in log.mentions)
            devices.update(log.devices)

        evidence = seen | spoken
        on_tensors = sorted(devices)
        findings = []
        for symptom, patchset in self.symptoms:
            signs = symptom.signs
            if seen.isdisjoint(signs.patterns):
                continue
            if not evidence.isdisjoint(signs.unless):
                continue
            if signs.needs and evidence.isdisjoint(signs.needs):
                continue
            if signs.accelerator and not (on_tensors or self._accelerators):
                continue

            fit = None
            if patchset:
                symptom = self._for_the_card(symptom, patchset, on_tensors)
                fit = self._fit(patchset, symptom)

            lines = _lines(symptom, logs)
            cards = sorted(spoken_of(lines.text)) or on_tensors
            finding = FoundSymptom(
                symptom,
                patchset,
                fit,
                lines=lines,
                devices=tuple(cards),
            )

            findings.append(finding)

        return findings

    def _for_the_card(
        self,
        symptom: Symptom,
        patchset: Patchset,
        on_tensors: Sequence[str],
    ) -> Symptom:
        """The symptom with the option `device` of its patchset, where one card is proven."""
        if all(option.name != "device" for option in patchset.options):
            return symptom

        kinds = on_tensors or self._accelerators
        if len(kinds) != 1:
            return symptom
        return symptom._replace(options={**symptom.options, "device": kinds[0]})

    def _mentions(self, logs: Sequence[Log]) -> tuple[Sighting, ...]:
        """Each line that merely speaks of an error; not what symptoms need beside errors."""
        patterns: set[str] = set()
        for symptom, _ in self.symptoms:
            patterns.update(symptom.signs.patterns)

        lines: dict[tuple[str, int], Sighting] = {}
        for log in logs:
            for mention in log.mentions:
                if mention.kind != KNOWN or mention.key in patterns:
                    lines[mention.log, mention.line] = mention

        return tuple(lines[place] for place in sorted(lines))

    def _meaning(self, error: str) -> Meaning:
        """What an error says of the rank that has raised it."""
        if error not in self._meanings:
            self._meanings[error] = self._find_meaning(error)
        return self._meanings[error]

    def _find_meaning(self, error: str) -> Meaning:
        """`_meaning` of an error that was not looked at yet."""
        meaning = Meaning.OWN
        for symptom, _ in self.symptoms:
            is_shown = any(matches_pattern(pattern, error) for pattern in symptom.signs.patterns)
            if not is_shown:
                continue
            if symptom.name in _WAITED:
                return _WAITED[symptom.name]
            if symptom.follows:
                meaning = Meaning.UNCLEAR

        return meaning

    def _fit(self, patchset: Patchset, symptom: Symptom) -> Fit:
        """Whether a patchset fits that cures a symptom; looked at once."""
        key = patchset.name, symptom.name, *symptom.options.values()
        if key not in self._fits:
            try:
                self._fits[key] = fit_of(
                    self._env,
                    self._statuses,
                    patchset,
                    symptom=symptom,
                )
            except UsageError:  # there is no such environment
                raise
            except SitepatchError as error:
                template = "whether it fits could not be looked at: {message}"
                self._fits[key] = Fit(UNKNOWN, Message(template, message=error.message))

        return self._fits[key]


# symptoms ---------------------------------------------------------------------------------------
def _order(finding: FoundSymptom) -> int:
    """What can be cured is first, then other causes, waiting ranks, what may follow anything."""
    symptom = finding.symptom
    fit = finding.fit
    if symptom.follows:
        return 2 if symptom.name in _WAITED else 3

    is_cured = fit is not None and fit.word in (APPLICABLE, APPLIED)
    return 0 if is_cured else 1


def _lines(symptom: Symptom, logs: Sequence[Log]) -> SymptomLines:
    """All lines of some logs that match one of a symptom's patterns.

    Patterns that are first seen in the same line are taken to stand in the same lines, which are
    counted once.
    """
    first: tuple[str, Sighting] | None = None
    ranks: set[int] = set()
    numbers: dict[tuple[str, int], int] = {}
    for log in logs:
        for sighting in sorted(log.sightings, key=lambda each: each.line):
            if sighting.key in symptom.signs.patterns:
                first = first or (log.name, sighting)
                ranks.update(sighting.ranks)
                key = log.name, sighting.line
                numbers[key] = max(sighting.number, numbers.get(key, 0))

    assert first is not None  # whoever asks has seen one
    name, sighting = first
    return SymptomLines(
        sum(numbers.values()),
        ranks=tuple(sorted(ranks)),
        log=name,
        line=sighting.line,
        text=sighting.text,
    )


def _most_specific(findings: Sequence[FoundSymptom], logs: Sequence[Log]) -> list[FoundSymptom]:
    """Of findings in one line the most specific.

    That is the one for what is installed here, else those that a patchset cures.
    """

    def weight(finding: FoundSymptom) -> tuple[bool, bool, bool, bool]:
        cures = finding.patchset is not None and finding.patchset.about.kind != "debug"
        return (
            finding.symptom.signs.accelerator,
            finding.patchset is not None,
            cures,
            not finding.symptom.follows,
        )

    heaviest: dict[tuple[str, int], tuple[bool, bool, bool, bool]] = {}
    for finding in findings:
        keys = {*finding.symptom.signs.patterns, *finding.symptom.signs.needs}
        for log in logs:
            for sighting in log.sightings:
                if sighting.key not in keys:
                    continue

                place = log.name, sighting.line
                own_weight = weight(finding)
                heaviest[place] = max(own_weight, heaviest.get(place, own_weight))

    most = []
    for finding in findings:
        lines = finding.lines
        if weight(finding) == heaviest[lines.log, lines.line]:
            most.append(finding)

    return most


def _cure(findings: Sequence[FoundSymptom]) -> tuple[str, ...]:
    """The words of the one command that cures what can be cured here.

    Beside a cause, not what hides its consequences.
    """
    causes = [finding for finding in findings if not finding.symptom.follows] or findings
    names: dict[str, None] = {}
    settings: dict[str, None] = {}
    for cause in causes:
        fit = cause.fit
        if cause.patchset is None or fit is None or fit.word != APPLICABLE:
            continue

        name = cause.patchset.name
        names[name] = None
        for setting in fit.settings:
            settings[f"{name}.{setting}"] = None

    if not names:
        return ()

    words = ["apply", *names]
    for setting in settings:
        words += ["--set", setting]

    return tuple(words)


# errors that nothing explains -------------------------------------------------------------------
def _unexplained(logs: Sequence[Log], findings: Sequence[FoundSymptom]) -> tuple[Sighting, ...]:
    """The errors that nothing explains, each once.

    Exit codes and what a logger calls an error, where there is no other.
    """
    errors = [(log, error) for log in logs for error in log.errors]
    least = min((error.kind for _, error in errors), default=EXCEPTION)
    if least > EXCEPTION and findings:
        return ()

    patterns: set[str] = set()
    for finding in findings:
        if finding.symptom.name not in _OF_SUMMARY:
            patterns.update(finding.symptom.signs.patterns)

    alike: dict[tuple[str, str], Sighting] = {}
    for log, error in errors:
        if error.kind == least and not _is_explained(error, log, patterns):
            key = error.text, error.at
            sighting = alike.setdefault(key, error)
            ranks = tuple(sorted({*sighting.ranks, *error.ranks}))
            alike[key] = sighting._replace(ranks=ranks)

    with_code = {message for message, at in alike if at}
    unexplained = []
    for (message, at), error in alike.items():
        if at or message not in with_code:
            unexplained.append(error)

    return tuple(unexplained)


def _is_explained(error: Sighting, log: Log, patterns: set[str]) -> bool:
    """Whether known patterns are in its text, around it, or in a line of its message."""
    if not patterns.isdisjoint(error.patterns):
        return True

    near = range(error.line, error.line + _MESSAGE)
    for sighting in log.sightings:
        if sighting.line in near and sighting.key in patterns:
            return True

    return any(matches_pattern(pattern, error.text) for pattern in patterns)


# runs -------------------------------------------------------------------------------------------
def _chosen(runs: Sequence[Run], number: str | None) -> Sequence[Run]:
    """The runs that `--run` names, the last one without it.

    Raises:
        UsageError: it names none.
    """
    if number is None:
        return runs[-1:]
    if number == "all":
        return runs
    if number.isdecimal() and 1 <= int(number) <= len(runs):
        index = int(number) - 1
        return [runs[index]]

    expected = Message("none: no log has a report of mmengine-ddp-debug")
    if runs:
        expected = Message("all or a number from 1 to {number}", number=len(runs))
    template = "--run: found {which}, expected {expected}"
    raise UsageError(template, Message("1 is the oldest run"), which=number, expected=expected)

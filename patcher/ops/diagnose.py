"""`diagnose`: logs -> what is wrong in them, which patchset cures it, and whether that one fits this environment."""

from __future__ import annotations

import sys
import time
from functools import cached_property, partial
from io import BufferedReader
from pathlib import Path
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, cast

from patcher.diagnose.causes import Meaning, UnexplainedError, first_failures, unexplained
from patcher.diagnose.failures import Failure
from patcher.diagnose.files import STDIN, Tail, log_files
from patcher.diagnose.log import PIECE, Log, LoggedError, LogReader, read_log
from patcher.diagnose.origin import earlier_attempts
from patcher.diagnose.packed import packed_by
from patcher.diagnose.patterns import matches_pattern
from patcher.diagnose.rank import VENDORS
from patcher.diagnose.runs import Run, find_runs
from patcher.diagnose.table import ClassifiedWrap, classified_wraps, is_wrong
from patcher.errors import SitepatchError, UsageError
from patcher.facts import FileStatus
from patcher.installed.interpreter import Environment
from patcher.message import Message
from patcher.model import Patchset, Symptom
from patcher.patchset.places import builtin_dir
from patcher.patchset.sources import find_patchsets
from patcher.patchset.symptoms import general_symptoms
from patcher.store.retry import settled
from patcher.store.status import statuses
from patcher.verbs.fit import APPLICABLE, UNKNOWN, Fit, fit_of
from patcher.verbs.place import SILENT, Events, Place

_STDIN = Message("standard input")
_MB = 1_000_000
_OF_SUMMARY = ("a-rank-failed", "rank-ended-by-sigkill")  # symptoms that are known better from a summary of torchrun
_OF_REPORTS = ("reported-on-a-card-before-ddp",)  # and from reports of where the ranks train
_WAITED = {  # symptoms of a rank that has waited for another one
    "collective-timed-out": Meaning.TIMED_OUT,
    "ranks-missing-at-start": Meaning.TIMED_OUT,
    "peer-gone": Meaning.PEER_GONE,
}
_MESSAGE = 20  # lines of a long message, from that of the exception on
_PAUSE = 0.5  # seconds between two looks at a file that grows


class DiagnoseRequest(NamedTuple):
    """What to read: files, directories, `-` for standard input; and the environment that is to be cured.

    `run` says which runs are shown: "all", or a number as text, 1 being the oldest; None for the newest.
    """

    place: Place = Place()
    logs: Tuple[str, ...] = (STDIN,)
    run: Optional[str] = None


class FoundSymptom(NamedTuple):
    """A symptom that was found: in `number` lines, of `ranks` as far as they are known; `log`, `line` and `text` of the first.

    `patchset` cures it, None where none does; `fit` is whether that one fits, None where there is none. `devices` are the
    kinds of accelerators that the logs speak of.
    """

    symptom: Symptom
    patchset: Optional[Patchset]
    fit: Optional[Fit]
    number: int
    ranks: Tuple[int, ...]
    log: str
    line: int
    text: str
    devices: Tuple[str, ...] = ()


class Mentioned(NamedTuple):
    """A line of a log in which an error is spoken of that has not happened, or was no end."""

    log: str
    line: int
    text: str


class DiagnoseOutcome(NamedTuple):
    """What was found: in the order of the logs, consequences last. `cure` are the words of a command, or empty.

    `failures` are those that each launcher whose summary is in the logs saw first, the earliest first, or, where that is known
    better, those that came before; ranks that waited for others are last. Without such a summary, `unexplained` are the errors
    that tracebacks end in and nothing known explains. `mentions` are lines that merely speak of errors.
    `logs` are those that were read, `runs` come from the reports of mmengine-ddp-debug in them, and `shown` are those that
    were requested, each with the conclusions about its wrappings; `broken` are patchsets that cannot be read.
    """

    failures: Tuple[Failure, ...]
    unexplained: Tuple[UnexplainedError, ...]
    mentions: Tuple[Mentioned, ...]
    findings: Tuple[FoundSymptom, ...]
    cure: Tuple[str, ...]
    logs: Tuple[Log, ...]
    runs: Tuple[Run, ...]
    shown: Tuple[Tuple[Run, Tuple[ClassifiedWrap, ...]], ...]
    broken: Tuple[SitepatchError, ...]

    @property
    def concluded(self) -> bool:
        """Whether anything is wrong in the runs that are shown."""
        return any(is_wrong(wrap) for _, wraps in self.shown for wrap in wraps)

    @property
    def erred(self) -> bool:
        """Whether there is an error in the logs, or something in them that could not be read."""
        return bool(self.failures or self.unexplained or self.findings or any(log.is_damaged for log in self.logs))

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong, as far as is known, and everything was read."""
        return not (self.erred or self.concluded)


def diagnose(request: DiagnoseRequest, events: Events = SILENT) -> DiagnoseOutcome:
    """Read logs and find what is wrong in them; `events` takes how many megabytes were read.

    Raises:
        UsageError: logs that are not there or may not be read; a run that they do not have.
        SitepatchError: no such environment, where something is to be cured in it.
    """
    known = KnownSymptoms(request.place)
    files = log_files(request.logs)
    total, size = sum(Path(path).stat().st_size for path in files if path != STDIN), 0

    def read(more: int) -> None:
        nonlocal size
        size += more
        unknown = size > total  # standard input, and what is packed
        events.progress(size // _MB, 0 if unknown else -(-total // _MB), Message("MB of logs read"))

    logs = [_read(path, known.patterns, read) for path in files]
    events.progress(1, 1, Message("logs read"))
    return known.outcome(logs, request.run)


def follow(request: DiagnoseRequest) -> Iterator[DiagnoseOutcome]:
    """The outcome for logs that still grow: at once, and again whenever something was written. Only standard input ends.

    A log that is packed does not grow: in a directory it is left out.

    Raises:
        UsageError: as `diagnose` does; a log that is named is compressed.
    """
    known = KnownSymptoms(request.place)
    files = log_files(request.logs)
    if STDIN in files:
        if len(files) > 1:
            raise UsageError("--follow: found standard input and files, expected one or the other")
        reader = LogReader(_STDIN, known.patterns)
        while piece := _stdin().read1(PIECE):
            reader.feed(piece)
            yield known.outcome([reader.log()])
        reader.feed(b"", last=True)
        yield known.outcome([reader.log()])
        return
    for word in request.logs:
        how = packed_by(word)
        if how:
            raise UsageError(
                "--follow: found what {how} has compressed: {word}",
                Message("it does not grow: leave --follow out"),
                how=how,
                word=word,
            )
    tails: Dict[str, Optional[Tail]] = {}
    while True:
        for path in log_files(request.logs):  # a directory may have more of them now
            if path not in tails:
                tails[path] = None if packed_by(path) else Tail(path, known.patterns)
        growing = [tail for tail in tails.values() if tail]
        read = [tail.read() for tail in growing]
        if any(read):
            yield known.outcome([tail.log() for tail in growing])
        time.sleep(_PAUSE)


def _stdin() -> BufferedReader:
    if sys.stdin is None:
        raise UsageError("standard input is closed", "name a file")
    return cast(BufferedReader, sys.stdin.buffer)


def _read(path: str, patterns: Sequence[str], progress: Callable[[int], None]) -> Log:
    if path == STDIN:
        return read_log(_STDIN, _stdin(), patterns, progress)
    with Path(path).open("rb") as file:
        return read_log(path, file, patterns, progress)


class KnownSymptoms:
    """All known symptoms, and whether the patchsets that cure them fit an environment, which is read once."""

    def __init__(self, place: Place) -> None:
        self._place = place
        every, broken = find_patchsets(place.patch_dirs, Path.cwd())
        self.broken = tuple(broken.values())
        self.symptoms: List[Tuple[Symptom, Optional[Patchset]]] = [
            (symptom, one.patchset) for one in every for symptom in one.patchset.symptoms
        ]
        self.symptoms += [(symptom, None) for symptom in general_symptoms(builtin_dir())]
        self.patterns = [text for symptom, _ in self.symptoms for text in (*symptom.patterns, *symptom.needs)]
        self._fits: Dict[Tuple[object, ...], Fit] = {}
        self._meanings: Dict[str, Meaning] = {}

    @cached_property
    def _env(self) -> Environment:
        return self._place.environment()

    @cached_property
    def _statuses(self) -> List[FileStatus]:
        return settled(self._env, lambda: statuses(self._env))

    def outcome(self, logs: Sequence[Log], which: Optional[str] = None) -> DiagnoseOutcome:
        """The outcome for these logs, with the runs that `which` names."""
        seen = {each.pattern for log in logs for each in log.sightings}
        evidence = seen.union(each.pattern for log in logs for each in log.mentions)
        spoken_of = sorted({device for log in logs for device in log.devices})
        found = []
        for symptom, patchset in self.symptoms:
            lacking = symptom.needs and evidence.isdisjoint(symptom.needs)
            if not seen.isdisjoint(symptom.patterns) and not lacking and self._is_there(symptom, spoken_of):
                devices = spoken_of or self._installed(symptom)
                chosen = _with_device(symptom, patchset, devices)
                fit = self._fit(patchset, chosen) if patchset else None
                found.append(_finding(chosen, patchset, fit, logs)._replace(devices=tuple(devices)))
        names = [log.name for log in logs]
        summaries = [each for log in logs for each in log.summaries]
        earlier = earlier_attempts(names)
        tracebacks = [log.tracebacks for log in logs if log.name not in earlier]
        failures = first_failures(summaries, tracebacks, self._meaning)
        errors = [(log.name, error) for log in logs if log.name not in earlier for error in log.errors]
        explains = partial(_explains, found, logs)
        unknown = () if failures else unexplained(errors, explains, alone=not found)
        runs = find_runs(logs)
        known_better = (*(_OF_SUMMARY if failures else ()), *(_OF_REPORTS if runs else ()))
        found = [one for one in _most_specific(found) if one.symptom.name not in known_better]
        found.sort(key=lambda each: (each.symptom.follows, names.index(each.log), each.line))
        shown = tuple((run, classified_wraps(run)) for run in _chosen(runs, which))
        mentions, cure = self._mentions(logs), _cure(found)
        return DiagnoseOutcome(failures, unknown, mentions, tuple(found), cure, tuple(logs), runs, shown, self.broken)

    def _mentions(self, logs: Sequence[Log]) -> Tuple[Mentioned, ...]:
        """Each line once that merely speaks of an error; not what symptoms need beside their errors."""
        patterns = {"", *(pattern for symptom, _ in self.symptoms for pattern in symptom.patterns)}
        mentions = [(log.name, each) for log in logs for each in log.mentions if each.pattern in patterns]
        lines = {(name, each.line): Mentioned(name, each.line, each.text) for name, each in mentions}
        return tuple(sorted(lines.values()))

    def _meaning(self, error: str) -> Meaning:
        """What an error says of the rank that has raised it."""
        if error not in self._meanings:
            about = [each for each, _ in self.symptoms if any(matches_pattern(pattern, error) for pattern in each.patterns)]
            waited = [_WAITED[each.name] for each in about if each.name in _WAITED]
            self._meanings[error] = (waited or [Meaning.UNCLEAR if any(each.follows for each in about) else Meaning.OWN])[0]
        return self._meanings[error]

    def _is_there(self, symptom: Symptom, devices: Sequence[str]) -> bool:
        """Whether a package that the symptom is about is installed, or the text speaks of its device."""
        if not symptom.installed or any(VENDORS.get(name, ("", ""))[0] in devices for name in symptom.installed):
            return True
        return bool(self._installed(symptom))

    def _installed(self, symptom: Symptom) -> List[str]:
        """The kinds of devices whose packages are installed, of those that the symptom is about."""
        names = [name for name in symptom.installed if any((Path(site) / name).is_dir() for site in self._env.search)]
        return [VENDORS[name][0] for name in names if name in VENDORS]

    def _fit(self, patchset: Patchset, symptom: Symptom) -> Fit:
        key = patchset.name, symptom.name, *symptom.options.values()
        if key not in self._fits:
            try:
                self._fits[key] = fit_of(self._env, self._statuses, patchset, symptom)
            except UsageError:  # there is no such environment
                raise
            except SitepatchError as error:
                self._fits[key] = Fit(
                    UNKNOWN, Message("whether it fits could not be looked at: {message}", message=error.message)
                )
        return self._fits[key]


def _explains(findings: Sequence[FoundSymptom], logs: Sequence[Log], name: str, error: LoggedError) -> bool:
    """Whether one of the findings is about an error of a log: its text, the text around it, or a line of its message."""
    patterns = {pattern for finding in findings for pattern in finding.symptom.patterns}
    seen = [each.line for log in logs if log.name == name for each in log.sightings if each.pattern in patterns]
    near = range(error.line, error.line + _MESSAGE)
    return (
        not patterns.isdisjoint(error.patterns)
        or any(line in near for line in seen)
        or any(matches_pattern(pattern, error.error) for pattern in patterns)
    )


def _chosen(runs: Sequence[Run], which: Optional[str]) -> Sequence[Run]:
    if which is None:
        return runs[-1:]
    if which == "all":
        return runs
    if not (which.isdecimal() and 1 <= int(which) <= len(runs)):
        expected = (
            Message("all or a number from 1 to {number}", number=len(runs))
            if runs
            else Message("none: no log has a report of mmengine-ddp-debug")
        )
        raise UsageError(
            "--run: found {which}, expected {expected}", Message("1 is the oldest run"), which=which, expected=expected
        )
    return runs[int(which) - 1 : int(which)]


def _with_device(symptom: Symptom, patchset: Optional[Patchset], devices: Sequence[str]) -> Symptom:
    """The symptom with the one device that is known as an option, where its patchset has such an option."""
    asks = patchset and any(option.name == "device" for option in patchset.options)
    return symptom._replace(options={**symptom.options, "device": devices[0]}) if asks and len(devices) == 1 else symptom


def _finding(symptom: Symptom, patchset: Optional[Patchset], fit: Optional[Fit], logs: Sequence[Log]) -> FoundSymptom:
    """All lines of some logs that match one of the symptom's patterns, as one finding."""
    every = [(log.name, each) for log in logs for each in sorted(log.sightings, key=lambda each: each.line)]
    seen = [(name, each) for name, each in every if each.pattern in symptom.patterns]
    ranks = sorted({rank for _, each in seen for rank in each.ranks})
    name, first = seen[0]
    number = sum(each.number for _, each in seen)
    return FoundSymptom(symptom, patchset, fit, number, tuple(ranks), name, first.line, first.text)


def _most_specific(findings: Sequence[FoundSymptom]) -> List[FoundSymptom]:
    """Of findings in one line the most specific: that for what is installed here, else those that a patchset cures."""

    def weight(one: FoundSymptom) -> Tuple[bool, bool, bool, bool]:
        cures = one.patchset is not None and one.patchset.kind != "debug"
        return bool(one.symptom.installed), one.patchset is not None, cures, not one.symptom.follows

    most: Dict[Tuple[str, int], Tuple[bool, bool, bool, bool]] = {}
    for one in findings:
        most[one.log, one.line] = max(weight(one), most.get((one.log, one.line), weight(one)))
    return [one for one in findings if weight(one) == most[one.log, one.line]]


def _cure(findings: Sequence[FoundSymptom]) -> Tuple[str, ...]:
    """The words of the one command that cures what can be cured here; beside a cause, not what hides its consequences."""
    causes = [each for each in findings if not each.symptom.follows] or findings
    able = [each for each in causes if each.fit and each.fit.word == APPLICABLE]
    pairs = [(each.patchset.name, each.fit.settings) for each in able if each.patchset and each.fit]
    names = dict.fromkeys(name for name, _ in pairs)
    settings = dict.fromkeys(f"{name}.{text}" for name, texts in pairs for text in texts)
    return ("apply", *names, *(word for text in settings for word in ("--set", text))) if names else ()

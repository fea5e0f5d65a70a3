"""How many errors of public issues `diagnose` names and answers, and how many innocent texts it blames.

`python -m tests.diagnosis.test_issues` prints the table by text, and the figures.
"""

import os
import re
import tempfile
import textwrap
from typing import NamedTuple, Tuple

import pytest

from patcher.place import Place
from patcher.verbs.log_findings import KnownSymptoms
from tests.command import ROOT
from tests.diagnosis.logs import LOGS, PLAIN, REFUSED, log_of, of_docker, sections

UNKNOWN = "-"  # no patchset and no advice is about it
LEAST = {  # how many are named, and answered rightly
    "issues": (78, 73),
    "issues-held-out": (35, 28),
    "issues-held-out-again": (116, 98),
    "issues-developed": (57, 49),
    "issues-held-out-third": (124, 76),
    "issues-fourth": (56, 47),
    "issues-held-out-fourth": (65, 55),
}


def cut(text, width):
    return [text[at : at + width] for at in range(0, len(text), width)] or [""]


def folded(text, width):
    return textwrap.wrap(text, width, break_on_hyphens=False) or [""]


def padded(text, width):
    return [f"{part:{width}}" for part in cut(text, width)]


def uncut(text, width):
    return [text]


def around(wrap, width, begin="", end=""):
    """How a text is pasted: each line as `wrap` cuts it at this width, each part between `begin` and `end`."""

    def pasted(text):
        parts = []
        for line in text.splitlines():
            parts += wrap(line, width)
        return "".join(f"{begin}{part}{end}\n" for part in parts)

    return pasted


WAYS = {
    "a narrow terminal": around(cut, 40),
    "a terminal": around(cut, 80),
    "a wide terminal": around(cut, 133),
    "a chat": around(folded, 60),
    "a quoted mail": around(folded, 72, "> "),
    "a table": around(padded, 76, "| ", " |"),
    "a frame of rich": around(padded, 98, "│ ", " │"),
    "docker": of_docker,
    "kubectl": around(uncut, 0, "[pod/train-0/main] 2026-11-22T10:00:00+08:00 "),
    "a worker of vLLM": around(uncut, 0, "(VllmWorker rank=3 pid=48) ERROR 02-24 17:09:23 [multiproc_executor.py:546] "),
    "half of it prose": lambda text: f"你好，请问这个怎么解决？运行到一半就报错了：\n\n```\n{text}```\n谢谢大家！\n",
}


class Text(NamedTuple):
    """A text of an issue: where it stands, the symptom that answers it, and what was found."""

    issue: str
    expected: str
    symptoms: Tuple[str, ...]
    named: bool

    @property
    def right(self) -> bool:
        """Whether the first answer is the right one; for an unknown error, whether it alone is named."""
        if self.expected == UNKNOWN:
            return self.named and not self.symptoms
        return self.symptoms[:1] == (self.expected,)


def read(known, name, changed=str):
    texts = []
    for heading, text in sections(name):
        issue, _, expected = heading.rpartition(" ")
        text = changed(text)
        outcome = known.outcome([log_of(text, known.patterns)])
        symptoms = tuple(finding.symptom.name for finding in outcome.findings)
        texts.append(Text(issue, expected, symptoms, not outcome.ok))
    return texts


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """All symptoms, and an environment in which nothing is installed."""
    return KnownSymptoms(Place(target=str(tmp_path_factory.mktemp("nothing"))))


def test_the_collection_is_large_enough_and_holds_no_issue_twice():
    issues = [heading.split()[0] for heading, _ in sections(*LEAST)]
    assert len(issues) >= 200 and len(issues) == len(set(issues))
    assert len(sections("issues-innocent")) >= 95


def figures(texts):
    """How many texts are named, how many of those with an answer here are answered rightly, and the totals of both."""
    answerable = [text for text in texts if text.expected != UNKNOWN]
    return sum(text.named for text in texts), len(texts), sum(text.right for text in answerable), len(answerable)


@pytest.mark.parametrize("name", LEAST)
def test_errors_of_public_issues_are_named_and_answered(known, name, counted):
    texts = read(known, name)
    named, size, right, answerable = figures(texts)
    for what, number in ((f"{name}: texts", size), ("named", named), ("answerable", answerable), ("answered rightly", right)):
        counted(what, number)
    table = "\n".join(f"{text.issue}: {text.expected} {text.symptoms}" for text in texts if not text.right)
    least_named, least_right = LEAST[name]
    assert named >= least_named and right >= least_right, table


@pytest.mark.once
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_errors_are_read_however_they_are_pasted(known, way):
    texts = read(known, "issues", way)
    table = "\n".join(f"{text.issue}: {text.expected} {text.symptoms} {text.named}" for text in texts if not text.right)
    named, size, right, _ = figures(texts)
    assert named >= 0.95 * size, table
    assert right >= 0.9 * 71, table


@pytest.mark.parametrize("width", range(20, 240, 11))
@pytest.mark.parametrize("wrap", [cut, folded])
def test_an_error_is_found_wrapped_at_any_column(known, wrap, width):
    text = "\n".join(wrap(REFUSED, width)) + "\n"
    outcome = known.outcome([log_of(text, known.patterns)])
    assert [(finding.symptom.name, finding.lines.line <= 4) for finding in outcome.findings] == [(PLAIN, True)]
    assert not outcome.errors.unexplained


def test_innocent_texts_are_not_blamed(known):
    texts = read(known, "issues-innocent")
    assert sum(text.named for text in texts) <= 0.02 * len(texts), [text for text in texts if text.named]


GOLDEN = ROOT / "tests/golden/texts.txt"


def answer(outcome):
    """An answer as lines: what is found where, in how many lines of which ranks, who failed first, what nobody knows, what is mentioned."""
    for finding in outcome.findings:
        yield f"{finding.symptom.name} {finding.lines.line} x{finding.lines.number} {finding.lines.ranks} {finding.devices} {finding.lines.text}"
    for failure in outcome.errors.failures:
        ending, raised = failure.ending, failure.traceback
        facts = (failure.rank, ending.exitcode, ending.signal, raised.line, raised.error, raised.at, failure.named)
        yield f"failed {facts} waited {failure.waited} late {failure.late} victim {failure.victim}"
    for error in outcome.errors.unexplained:
        yield f"unknown {error.line} x{error.number} {error.ranks} at {error.at!r}, raised at {error.raised_at!r}: {error.text}"
    yield from (f"mentioned {mention.line}: {mention.text}" for mention in outcome.errors.mentions)
    for run in outcome.runs:
        for wrap in run.wraps:
            for conclusion in wrap.conclusions:
                yield f"run {run.number} wrap {wrap.number} {conclusion.code} {conclusion.ranks}: {conclusion.text}"
    yield from (f"log {log.lines} lines, cut {log.cut}, {log.problem!r}" for log in outcome.logs)
    yield f"run: {' '.join(outcome.cure)}"


@pytest.mark.once
@pytest.mark.parametrize("name", sorted(path.stem for path in LOGS.glob("*.log")))
def test_every_text_is_answered_word_for_word(known, name):
    """The effect of a changed rule is the diff of tests/golden/texts.txt, which SITEPATCH_WRITE_GOLDEN=1 rewrites."""
    answers = []
    for heading, text in sections(name):
        outcome = known.outcome([log_of(text, known.patterns)])
        answers.append("\n  ".join([f"{name}: {heading}", *answer(outcome)]) + "\n")
    golden = re.split(r"^(?=\S)", GOLDEN.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    expected = [each for each in golden if each.startswith(f"{name}: ")]
    if os.environ.get("SITEPATCH_WRITE_GOLDEN") == "1":
        others = [each for each in golden if not each.startswith(f"{name}: ")]
        expected = answers
        by_file = sorted([*others, *answers], key=lambda each: each[: each.index(":") + 1])
        GOLDEN.write_text("".join(by_file), encoding="utf-8")
    assert answers == expected


def main():
    with tempfile.TemporaryDirectory() as nothing:
        known = KnownSymptoms(Place(target=nothing))
        for name in LEAST:
            texts = read(known, name)
            for text in texts:
                verdict = "wrong" if text.named else "not named"
                if text.right:
                    verdict = "right"
                print(f"{text.issue:58} {verdict}  {', '.join(text.symptoms) or 'not known here'}")
            named, size, right, answerable = figures(texts)
            print(f"{name}: {named} of {size} named ({named / size:.0%}), {right} of {answerable} answered rightly ({right / answerable:.0%})\n")
        texts = read(known, "issues-innocent")
        blamed = [text for text in texts if text.named]
        print(f"innocent texts: {len(blamed)} of {len(texts)} blamed ({len(blamed) / len(texts):.0%})", *(text.issue for text in blamed))


if __name__ == "__main__":
    main()

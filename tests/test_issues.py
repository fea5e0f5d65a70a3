"""How many errors of public issues `diagnose` names and answers, and how many innocent texts it blames: the table by text."""

import io
from typing import NamedTuple, Tuple

import pytest

from patcher.diagnose.log import read_log
from patcher.ops.diagnose import KnownSymptoms
from patcher.ops.place import Place
from tests.test_diagnose import sections

UNKNOWN = "-"  # no patchset and no advice is about it


class Text(NamedTuple):
    """A text of an issue: where it stands, the symptom that answers it, and what was found."""

    issue: str
    expected: str
    symptoms: Tuple[str, ...]
    named: bool

    @property
    def right(self) -> bool:
        """Whether the first answer is the right one; of an error that nobody knows, that it is named and nothing else said."""
        return self.named and not self.symptoms if self.expected == UNKNOWN else self.symptoms[:1] == (self.expected,)


def read(known, name):
    texts = []
    for heading, text in sections(name):
        issue, _, expected = heading.rpartition(" ")
        outcome = known.outcome([read_log("log", io.BufferedReader(io.BytesIO(text.encode())), known.patterns)])
        symptoms = tuple(finding.symptom.name for finding in outcome.findings)
        texts.append(Text(issue, expected, symptoms, not outcome.ok))
    return texts


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """All symptoms, and an environment in which nothing is installed."""
    return KnownSymptoms(Place(target=str(tmp_path_factory.mktemp("nothing"))))


def test_the_collection_is_large_enough_and_holds_no_issue_twice():
    issues = [heading.split()[0] for name in ("issues", "issues-held-out") for heading, _ in sections(name)]
    assert len(issues) >= 60 and len(issues) == len(set(issues))
    assert len(sections("issues-innocent")) >= 40


@pytest.mark.parametrize(("name", "named", "answered"), [("issues", 30, 30), ("issues-held-out", 14, 12)])
def test_errors_of_public_issues_are_named_and_answered(known, name, named, answered):
    texts = read(known, name)
    table = "\n".join(f"{text.issue}: {text.expected} {text.symptoms}" for text in texts if not text.right)
    assert sum(text.named for text in texts) >= named, table
    assert sum(text.right for text in texts if text.expected != UNKNOWN) >= answered, table


def test_innocent_texts_are_not_blamed(known):
    assert sum(text.named for text in read(known, "issues-innocent")) <= 4

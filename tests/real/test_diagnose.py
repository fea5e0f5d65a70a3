"""`sitepatch diagnose` on the errors that the real packages raise, as they are kept for the tests without them."""

import io
import os
import re
from pathlib import Path

import pytest
from conftest import Environment
from wheels import slow

from patcher.diagnosis.files import read_log
from patcher.place import Place
from patcher.verbs.log_findings import KnownSymptoms

pytestmark = pytest.mark.real

LOG = Path(__file__).parents[1] / "logs" / "errors.log"
HEAD = "Texts as PyTorch 2.13.0 and MMEngine 0.10.7 print them, without the quoted lines of code. `===` and the symptom begin each."
WRITE = os.environ.get("SITEPATCH_WRITE_LOGS") == "1"


@pytest.mark.parametrize("which", ["", pytest.param("compiles", marks=slow)])
def test_the_errors_that_are_raised_are_recognised(kept_environment, tmp_path, which, counted):
    environment = Environment(kept_environment, tmp_path)
    known = KnownSymptoms(Place(python=str(environment.python)))
    ended = environment.script("error_script.py", *which.split(), PYTHONHASHSEED="0", TORCHINDUCTOR_CACHE_DIR=str(tmp_path / "inductor"))
    assert ended.code == 0 and "raised nothing" not in ended.out, ended
    errors = sections(ended.out)
    for symptom, text in errors:
        (finding,) = known.outcome([read_log("log", io.BytesIO(text.encode()), known.patterns)]).findings
        assert finding.symptom.name == symptom, text
    counted("errors raised and recognised", len(errors))
    kept = kept_errors(errors, environment)
    if WRITE:
        LOG.write_text(LOG.read_text() + kept if which else f"{HEAD}\n\n{kept}")
    message = f"{LOG} is not what is raised: SITEPATCH_WRITE_LOGS=1 writes it anew"
    assert without_numbers(kept) in without_numbers(LOG.read_text()), message


def without_numbers(text):
    """A text without what differs from run to run: numbers, and blanks before a comment that PyTorch aligns by them."""
    return re.sub(" {2,}", "  ", re.sub(r"\d+", "0", text))


def sections(text):
    """(symptom, text) of each error."""
    parts = re.split(r"^=== (.*)\n", text, flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], parts[1::2]))


def kept_errors(errors, environment):
    """Errors as they are kept for the tests without PyTorch: without quoted code, with paths as anybody has them."""
    lines = []
    for symptom, text in errors:
        text = re.sub(r"^    .*\n", "", text.rstrip() + "\n", flags=re.MULTILINE)
        text = text.replace(str(environment.root), "/opt/venv")
        text = re.sub(r"[^\s\"(]*tests/real/error_script\.py", "train.py", text)  # PyTorch shortens a long path
        lines.append(f"=== {symptom}\n{text}")
    return "".join(lines)

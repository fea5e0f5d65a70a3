"""The hunks written for more than a hundred edits, word for word: tests/golden/edits.txt.

After a change that is meant: `SITEPATCH_WRITE_GOLDEN=1 python -m pytest tests/author/test_written.py -p no:xdist`, and review the diff.
"""

import hashlib
import os
import re

import pytest

from patcher.author.hunks.generalise import generalise
from patcher.author.spatch_draft import FileEdit
from tests.command import ROOT

pytestmark = pytest.mark.once

PATH = ROOT / "tests/golden/edits.txt"
WRITE = os.environ.get("SITEPATCH_WRITE_GOLDEN") == "1"


def sections(text):
    """(heading, parts) of the source file and then of each edit; the parts are the code before and after it, and what is written."""
    return [(heading, dict(headed("~~~", body))) for heading, body in headed("===", text)]


def headed(mark, text):
    """(heading, body) of each part of a text; `mark` is what headings begin with."""
    parts = re.split(rf"^{mark} (.*)\n", text, flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], parts[1::2]))


(_, SOURCE), *EDITS = sections(PATH.read_text(encoding="utf-8"))
WHOLE = SOURCE["file"]


def others():
    """Two further releases: one has more code and other names, one has moved and renamed a class and a function."""
    more = WHOLE.replace("    def wrap_model", "    def set_up(self):\n        pass\n\n    def wrap_model")
    more = more.replace('kind = "cuda"\n', 'kind = "cuda"  # first\n').replace("parsed", "total").replace("LOGGER.", "logger.")
    start, end = WHOLE.index("def collate"), WHOLE.index("def pack")
    moved = WHOLE[:start] + WHOLE[end:] + "\n\n" + WHOLE[start:end]
    moved = moved.replace("class Runner", "class Trainer").replace("drop_last", "drop")
    return [{"m.py": more.encode()}, {"m.py": moved.encode()}]


def written(parts, releases):
    """The hunks of an edit, how each is written, before how many others and which (a digest), what is left out, and what differs."""
    assert WHOLE.count(parts["before"]) == 1
    after = WHOLE.replace(parts["before"], parts["after"], 1)
    draft = generalise([FileEdit("m.py", WHOLE.encode(), after.encode())], releases)
    (file,) = draft.files
    lines = [draft.spatch()]
    for hunk in file.hunks:
        rejected = hashlib.sha256(repr(hunk.rejected).encode()).hexdigest()[:8]
        lines.append(f"{hunk.line}: {hunk.form}; before {len(hunk.rejected)} others ({rejected})\n")
    lines += [f"left out {part.name}: {part.why}\n" for part in file.left_out]
    if file.difference:
        lines.append(f"{file.difference}\n")
    return "".join(lines)


def answers(parts):
    """What is written for an edit; and with other releases, where its section asks for that."""
    texts = {"written": written(parts, [])}
    if "for others" in parts:
        more = written(parts, others())
        texts["for others"] = "the same\n" if more == texts["written"] else more
    return texts


@pytest.mark.skipif(WRITE, reason="it is written anew")
@pytest.mark.parametrize("number", range(len(EDITS)), ids=[f"{number}-{heading}" for number, (heading, _) in enumerate(EDITS)])
def test_edits_become_the_hunks_of_the_golden_file(number):
    parts = EDITS[number][1]
    assert answers(parts) == {name: parts[name] for name in ("written", "for others") if name in parts}


@pytest.mark.skipif(not WRITE, reason="SITEPATCH_WRITE_GOLDEN=1 writes it")
def test_the_golden_file_is_rewritten():
    text = [PATH.read_text(encoding="utf-8").split("=== ")[0], f"=== source\n~~~ file\n{WHOLE}"]
    for heading, parts in EDITS:
        texts = {"before": parts["before"], "after": parts["after"], **answers(parts)}
        text.append(f"=== {heading}\n" + "".join(f"~~~ {name}\n{body}" for name, body in texts.items()))
    PATH.write_text("".join(text), encoding="utf-8")

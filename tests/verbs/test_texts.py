"""Golden files of what people read: the scenarios of `test_golden.py` with -v into a file, and on a terminal.

tests/golden/verbose and tests/golden/terminal are written anew as its files are.
"""

import re
import sys

import pytest

from tests.command import shown, sitepatch
from tests.verbs.golden import GOLDEN, SCENARIOS, World, compared, normalizer

pytestmark = pytest.mark.once
PYTHON = "Python {}.{}".format(*sys.version_info)
FORMS = {"verbose": (["-v"], sitepatch), "terminal": ([], shown)}


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("form", FORMS)
def test_the_texts_are_those_of_the_golden_file(name, form, tmp_path):
    world = World(tmp_path)
    try:
        text = "".join(world.tell(step, *FORMS[form]) for step in SCENARIOS[name])
    finally:
        if world.index:
            world.index.close()
    compared(GOLDEN / form / f"{name}.txt", plain(normalizer(world)(text)))


def plain(text):
    """The text without what depends on the speed of the machine, the length of its paths and the place of sitepatch."""
    text = re.sub(r"(?m)^sitepatch @ .*\n", "", text)
    text = re.sub(r"\d+\.\d\d s\b", "<seconds> s", text.replace("\x1b", "^")).replace(PYTHON, "Python 3.X")
    return re.sub(r"(?<=\S) {3,}", "  ", text)


def test_every_golden_text_belongs_to_a_scenario():
    assert {path.parent.name for path in GOLDEN.glob("*/*")} == set(FORMS)
    for form in FORMS:
        assert {path.name for path in (GOLDEN / form).iterdir()} == {f"{name}.txt" for name in SCENARIOS}

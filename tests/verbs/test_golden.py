"""Golden files of every `--json`: tests/golden/SCENARIO.json has what the real commands print, and their exit codes.

A test fails where an answer changes. After a change that is meant, write the files anew and review their diff like code:
`SITEPATCH_WRITE_GOLDEN=1 python -m pytest tests/verbs/test_golden.py`. What depends on the machine, the interpreter or the time
is replaced by a word in angle brackets; hashes of contents that are the same everywhere stay. A stream without JSON is
recorded as lines, stderr only where stdout has no JSON.
"""

import json
import re
from pathlib import Path

import pytest

from tests.command import done, sitepatch
from tests.verbs.golden import GOLDEN, SCENARIOS, World, compared, normalizer

pytestmark = pytest.mark.once

# what the commands are run on ------------------------------------------------------------------------------------------


# steps that are no commands of ours -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_answers_are_those_of_the_golden_file(name, tmp_path):
    steps, path = SCENARIOS[name], GOLDEN / f"{name}.json"
    if not Path("/proc/locks").exists() and any(step[:6] == "doctor" for step in steps if isinstance(step, str)):
        pytest.skip("doctor has another answer where the kernel has no /proc/locks")
    world = World(tmp_path)
    normal = normalizer(world)
    try:
        records = [normal(record) for record in map(world.do, steps) if record]
    finally:
        if world.index:
            world.index.close()
    compared(path, json.dumps(records, indent=1) + "\n")


def test_every_command_has_a_scenario_and_every_golden_file_is_of_one():
    def commands(*group):
        text = done(sitepatch(*group, "--help", cwd=GOLDEN)).out
        listed = re.findall(r"^  ([a-z][a-z-]*)  ", text.partition("Options:")[2], re.MULTILINE)
        return [" ".join([*group, each]) for each in listed if each != "hook"]

    lines = []
    for steps in SCENARIOS.values():
        lines += [f"{step} " for step in steps if isinstance(step, str)]
    for command in [*commands(), *commands("hook")]:
        assert any(line.startswith(f"{command} ") for line in lines), command
    assert {path.name for path in GOLDEN.glob("*.json")} == {f"{name}.json" for name in SCENARIOS}

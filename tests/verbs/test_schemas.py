"""The JSON Schemas of the answers: made from the types, valid for every golden file, and every field is documented."""

import json
import re
import sys

import pytest

from tests.command import ROOT, sitepatch
from tests.verbs.golden import GOLDEN
from tests.verbs.helpers import every_command

jsonschema = pytest.importorskip("jsonschema", reason="pip install sitepatch[test]")
pytestmark = pytest.mark.once
EVERY = json.loads((ROOT / "patcher/answers.schema.json").read_text())
MEASURED = {"size": 1, "used": 1.5, "seconds": 0.5, "sha256": "00", "digest": "00"}


def measured(value, key=""):
    """The value as it was, before what depends on the machine was replaced."""
    if value == f"<{key}>":
        return MEASURED[key]
    if isinstance(value, dict):
        return {name: measured(each, name) for name, each in value.items()}
    return [measured(each) for each in value] if isinstance(value, list) else value


def schema(name):
    """The schema of one command's answers."""
    return {**EVERY, "anyOf": [{"$ref": f"#/$defs/{word}"} for word in (name, "failure") if word in EVERY["$defs"]]}


def validator(command):
    return jsonschema.Draft202012Validator(schema(command))


@pytest.mark.skipif(sys.version_info < (3, 10), reason="Python 3.10 and later can evaluate the types")
def test_the_schema_is_the_one_generated_from_the_types():
    from tools import schema

    assert schema.PATH.read_text(encoding="utf-8") == schema.made(), "python -m tools.schema"


def test_every_golden_file_is_valid_by_the_schema_of_its_command():
    validators, seen = {}, set()
    for path in sorted(GOLDEN.glob("*.json")):
        for answer in golden_answers(path):
            command = answer["command"]
            if "error" not in answer:  # a group has no other answer
                seen.add(command)
            if command not in validators:
                validators[command] = validator(command)
            errors = validators[command].iter_errors(measured(answer))
            assert [f"{path.name}: {command}: {list(error.path)}: {error.message}" for error in errors] == []
    answering = [name for name, one in every_command() if not hasattr(one, "commands") or one.invoke_without_command]
    assert seen == {name.replace(" ", "-") for name in answering}
    assert seen == {each["$ref"].rpartition("/")[2] for each in EVERY["anyOf"]} - {"failure"}


def golden_answers(path):
    """The answers in a golden file, of stdout and of stderr."""
    for record in json.loads(path.read_text()):
        for stream in ("stdout", "stderr"):
            if isinstance(record.get(stream), dict):
                yield record[stream]


def test_a_report_with_few_facts_is_valid_by_the_schema(tmp_path):
    line = 'sitepatch-ddp {"schema": 7, "parameters": {"cpu": 1}, "buffers": {}, "device_ids": null}'
    (tmp_path / "log").write_text(line + "\n")
    answer = json.loads(sitepatch("diagnose", "log", "--json", cwd=tmp_path).out)
    (run,) = answer["shown"]
    (wrap,) = run["wraps"]
    (rank,) = wrap["ranks"]
    assert rank["parameters"] == {"cpu": 1}
    assert [each.message for each in validator("diagnose").iter_errors(answer)] == []


def test_an_undocumented_or_missing_field_is_an_error():
    (answer,) = (each["stdout"] for each in json.loads((GOLDEN / "list.json").read_text())[:1])
    good = measured(answer)
    for wrong in ({**good, "more": 1}, {**good, "notes": None}, {**good, "patchsets": [{**good["patchsets"][0], "state": 1}]}):
        assert not validator("list").is_valid(wrong) and validator("list").is_valid(good)


def test_every_field_is_documented_and_the_schema_is_whole():
    jsonschema.Draft202012Validator.check_schema(EVERY)
    used = set(re.findall(r'"#/\$defs/([\w-]+)"', json.dumps(EVERY)))
    assert used == set(EVERY["$defs"]), "all that is defined is used, and the other way round"
    for name, one in EVERY["$defs"].items():
        assert one["description"], name
        for field, about in one.get("properties", {}).items():
            if not about.get("description"):
                assert (field, about.get("const")) == ("command", name), (name, field)

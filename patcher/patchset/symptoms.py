"""`[[symptom]]` tables -> `Symptom`s: those of a patchset, and those that no patchset cures, beside the built-in ones.

A pattern is text of one line in which `*` stands for any text. There is no more to it: it is found by searching for its
literal parts, in time that is linear in the log.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Iterable, Mapping, Sequence

from patcher.errors import PatchError
from patcher.message import Message
from patcher.model import Option, Signs, Symptom
from patcher.patchset.toml import read_toml
from patcher.system.decode import (
    STRINGS,
    Reader,
    Table,
    Values,
    anything,
    boolean,
    shown_value,
    string,
    tables,
)
from patcher.text.listed import suggest

SYMPTOMS_TOML = "symptoms.toml"
SYMPTOM = Table(
    {
        "name": string,
        "patterns": STRINGS,
        "meaning": string,
        "advice": string,
        "options": Values(anything),
        "needs": STRINGS,
        "unless": STRINGS,
        "accelerator": boolean,
        "follows": boolean,
    },
    optional=("advice", "options", "needs", "unless", "accelerator", "follows"),
)
SYMPTOMS = tables("symptom", SYMPTOM)
_TOOLS = {  # that show the cards of a kind
    "cuda": "nvidia-smi",
    "npu": "npu-smi",
    "musa": "mthreads-gmi",
    "gcu": "efsmi",  # named where no kind is known
    "xpu": "xpu-smi",
    "hpu": "hl-smi",
    "mlu": "cnmon",
    "rocm": "rocm-smi",
}
_COMMON_TOOLS = 4
_LEAST, _MOST, _STARS = (
    10,
    400,
    8,
)


def general_symptoms(folder: str) -> tuple[Symptom, ...]:
    """The symptoms that no patchset cures: the file `symptoms.toml` of a directory of patchsets, none where it has none.

    Raises:
        PatchError: with every problem of that file.
    """
    path = Path(folder) / SYMPTOMS_TOML
    if not path.is_file():
        return ()
    reader = Reader(path)
    top = reader.read(read_toml(path), Table({"symptom": SYMPTOMS}, optional=("symptom",)))
    symptoms = decode_symptoms(reader, top.get("symptom", ()), ())
    for index, symptom in enumerate(symptoms):
        reader.check(
            f"symptom[{index}].advice",
            symptom.advice,
            symptom.advice,
            Message("what to do: no patchset cures it"),
        )
    reader.stop(PatchError)
    return symptoms


def with_tools(advice: str, kinds: Iterable[str] = ()) -> str:
    """An advice in which `{smi}` is the tools of these kinds of cards, of common ones where none is known."""
    names = [_TOOLS[kind] for kind in kinds if kind in _TOOLS]
    if not names:
        names = [*list(_TOOLS.values())[:_COMMON_TOOLS], "..."]
    return advice.replace("{smi}", ", ".join(names))


def decode_symptoms(
    reader: Reader, tables: Sequence[Mapping[str, Any]], options: Sequence[Option]
) -> tuple[Symptom, ...]:
    """The symptoms of a file; what is wrong with them becomes problems of `reader`.

    Args:
        reader: of the file.
        tables: those that it has read, of the kind `SYMPTOM`.
        options: those of the patchset.
    """
    symptoms: list[Symptom] = []
    for index, table in enumerate(tables):
        where = f"symptom[{index}]"
        name = table.get("name", "x")
        lines = {key: table.get(key, []) for key in ("patterns", "needs", "unless")}
        reader.check(
            f"{where}.name",
            name,
            re.fullmatch("[a-z0-9-]+", name),
            Message('a name made of a-z, 0-9 and "-"'),
        )
        is_new = name not in [symptom.name for symptom in symptoms]
        reader.check(
            f"{where}.name", name, is_new, Message("a name that no other symptom here has")
        )
        reader.check(
            f"{where}.meaning",
            table.get("meaning", ""),
            table.get("meaning", "x").strip(),
            Message("one sentence"),
        )
        if "patterns" in table and not lines["patterns"]:
            reader.wrong(
                f"{where}.patterns", Message("an empty list"), Message("at least one pattern")
            )
        for key, patterns in lines.items():
            for at, pattern in enumerate(patterns):
                _check_pattern(reader, f"{where}.{key}[{at}]", pattern)
        suggested = {}
        for key, value in table.get("options", {}).items():
            option = next((option for option in options if option.name == key), None)
            if option is None:
                names = [option.name for option in options]
                expected = Message(
                    "one of {names}{suggestion}", names=names, suggestion=suggest(key, names)
                )
                reader.wrong(f"{where}.options.{key}", Message("an unknown option"), expected)
            elif type(value) is not type(option.default) or value not in (
                option.choices or (value,)
            ):
                reader.wrong(
                    f"{where}.options.{key}",
                    shown_value(value),
                    Message("a value of the option {key}", key=key),
                )
            else:
                suggested[key] = value
        symptoms.append(
            Symptom(
                name=name,
                signs=Signs(
                    patterns=tuple(lines["patterns"]),
                    needs=tuple(lines["needs"]),
                    unless=tuple(lines["unless"]),
                    accelerator=table.get("accelerator", False),
                ),
                meaning=Message.whole(table.get("meaning", "")),
                advice=Message.whole(table.get("advice", "")),
                options=suggested,
                follows=table.get("follows", False),
            )
        )
    return tuple(symptoms)


def _check_pattern(reader: Reader, where: str, pattern: str) -> None:
    good = pattern.isprintable() and len(pattern) <= _MOST and pattern.count("*") <= _STARS
    longest = max(len(part.encode()) for part in pattern.split("*"))
    template = 'text of one line, at most {limit} characters and {stars} "*", with {least} bytes or more of it in one piece'
    expected = Message(template, limit=_MOST, stars=_STARS, least=_LEAST)
    reader.check(
        where, pattern, good and longest >= _LEAST and pattern.strip("*") == pattern, expected
    )

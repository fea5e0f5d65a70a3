"""`[[symptom]]` tables -> `Symptom`s: those of a patchset, and those that no patchset cures.

A pattern is text of one line in which `*` stands for any text. There is no more to it: it is found
by searching for its literal parts, in time that is linear in the log.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Container, Iterable, Mapping, Sequence

from patcher.errors import PatchError
from patcher.message import Message
from patcher.model import Option, OptionValue, Signs, Symptom
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
# the commands that show the cards of a kind; the first ones are named where no kind is known
_TOOLS = {
    "cuda": "nvidia-smi",
    "npu": "npu-smi",
    "musa": "mthreads-gmi",
    "gcu": "efsmi",
    "xpu": "xpu-smi",
    "hpu": "hl-smi",
    "mlu": "cnmon",
    "rocm": "rocm-smi",
}
_COMMON_TOOLS = 4
_LEAST, _MOST, _STARS = 10, 400, 8
"""Of a pattern: bytes of its longest piece at least, characters and stars at most."""


def general_symptoms(folder: str) -> tuple[Symptom, ...]:
    """The symptoms that no patchset cures: the file `symptoms.toml` of a directory of patchsets.

    Returns:
        None of them where there is no such file.

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
            good=symptom.advice,
            expected=Message("what to do: no patchset cures it"),
        )
    reader.stop(PatchError)
    return symptoms


def with_tools(advice: str, kinds: Iterable[str] = ()) -> str:
    """An advice with the tools of these kinds of cards in place of `{smi}`.

    Common ones are named where no kind is known.
    """
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
        _check_head(reader, where, table, {symptom.name for symptom in symptoms})
        for key in ("patterns", "needs", "unless"):
            for number, pattern in enumerate(table.get(key, ())):
                _check_pattern(reader, f"{where}.{key}[{number}]", pattern)
        signs = Signs(
            patterns=tuple(table.get("patterns", ())),
            needs=tuple(table.get("needs", ())),
            unless=tuple(table.get("unless", ())),
            accelerator=table.get("accelerator", False),
        )
        symptom = Symptom(
            name=table.get("name", "x"),
            signs=signs,
            meaning=Message.whole(table.get("meaning", "")),
            advice=Message.whole(table.get("advice", "")),
            options=_decode_options(reader, f"{where}.options", table, options),
            follows=table.get("follows", False),
        )
        symptoms.append(symptom)
    return tuple(symptoms)


def _check_head(
    reader: Reader, where: str, table: Mapping[str, Any], names: Container[str]
) -> None:
    """Check the name, which is none of `names`, the meaning, and that there are patterns."""
    name = table.get("name", "x")
    reader.check(
        f"{where}.name",
        name,
        good=re.fullmatch("[a-z0-9-]+", name),
        expected=Message('a name made of a-z, 0-9 and "-"'),
    )
    reader.check(
        f"{where}.name",
        name,
        good=name not in names,
        expected=Message("a name that no other symptom here has"),
    )
    reader.check(
        f"{where}.meaning",
        table.get("meaning", ""),
        good=table.get("meaning", "x").strip(),
        expected=Message("one sentence"),
    )
    if table.get("patterns") == []:
        reader.wrong(
            f"{where}.patterns",
            Message("an empty list"),
            expected=Message("at least one pattern"),
        )


def _check_pattern(reader: Reader, where: str, pattern: str) -> None:
    good = (
        pattern.isprintable()
        and len(pattern) <= _MOST
        and pattern.count("*") <= _STARS
        and pattern.strip("*") == pattern
        and max(len(piece.encode()) for piece in pattern.split("*")) >= _LEAST
    )
    expected = Message(
        'text of one line, at most {limit} characters and {stars} "*", '
        "with {least} bytes or more of it in one piece",
        limit=_MOST,
        stars=_STARS,
        least=_LEAST,
    )
    reader.check(where, pattern, good=good, expected=expected)


def _decode_options(
    reader: Reader, where: str, table: Mapping[str, Any], options: Sequence[Option]
) -> dict[str, OptionValue]:
    """The values that a symptom suggests, as far as they are options of the patchset."""
    by_name = {option.name: option for option in options}
    suggested: dict[str, OptionValue] = {}
    for name, value in table.get("options", {}).items():
        option = by_name.get(name)
        if option is None:
            names = list(by_name)
            expected = Message(
                "one of {names}{suggestion}", names=names, suggestion=suggest(name, names)
            )
            reader.wrong(f"{where}.{name}", Message("an unknown option"), expected=expected)
        elif not _fits(value, option):
            expected = Message("a value of the option {key}", key=name)
            reader.wrong(f"{where}.{name}", shown_value(value), expected=expected)
        else:
            suggested[name] = value
    return suggested


def _fits(value: object, option: Option) -> bool:
    if type(value) is not type(option.default):
        return False
    return not option.choices or value in option.choices

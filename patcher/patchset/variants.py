"""The variant of a patchset for a version, and the values of its options."""

from __future__ import annotations

import re
from typing import Mapping, Sequence

from patcher.errors import UsageError
from patcher.installed.versions import accepts, says_nothing
from patcher.message import Message, joined
from patcher.model import Option, OptionValue, Patchset, Variant
from patcher.patchset.toml import option_text
from patcher.system.decode import shown_value
from patcher.text.listed import listed, suggest

_TRUTH = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}


def pick_variants(patchset: Patchset) -> dict[str, list[Variant]]:
    """The variants of each package, both in the order of `patchset.toml`."""
    picked: dict[str, list[Variant]] = {}
    for variant in patchset.variants:
        picked.setdefault(variant.package, []).append(variant)
    return picked


def paths_of(variants: Sequence[Variant]) -> list[str]:
    """The files of variants, with their alternative places."""
    return list(
        dict.fromkeys(
            path for variant in variants for patch in variant.patches for path in patch.paths
        )
    )


def targets_of(patchset: Patchset) -> list[tuple[str, str, list[Variant]]]:
    """All that a patchset is for: each import package with each distribution that provides it, and the package's variants."""
    return [
        (package, name, variants)
        for package, variants in pick_variants(patchset).items()
        for name in dict.fromkeys(
            name for variant in variants for name in variant.distributions or (package,)
        )
    ]


def matching_variants(variants: Sequence[Variant], version: str) -> list[Variant]:
    """The first variant whose range holds `version`, if there is one; all where the version is none (`says_nothing`).

    Local labels, pre-releases and vendor builds of a release in the range count (`patcher.installed.versions.accepts`).
    """
    if says_nothing(version):
        return list(variants)
    return [variant for variant in variants if accepts(variant.versions, version)][:1]


def choose_variant(variants: Sequence[Variant], version: str) -> Variant | None:
    """The one variant of `matching_variants`, None where there is none, or no version to choose by."""
    matching = matching_variants(variants, version)
    return matching[0] if len(matching) == 1 else None


def resolve_options(patchset: Patchset, settings: Mapping[str, str]) -> dict[str, OptionValue]:
    """The value of every option: the text of `--set NAME.option=VALUE` read by the option's type, else the default.

    Args:
        patchset: the patchset whose options are asked for.
        settings: VALUE by the name of the option.

    Raises:
        UsageError: with all problems, one line each: an option that does not exist, a value that is not of its type
            or not one of its choices.
    """
    values: dict[str, OptionValue] = {option.name: option.default for option in patchset.options}
    options = {option.name: option for option in patchset.options}
    problems: list[str] = []
    for name, setting in settings.items():
        key = f"{patchset.name}.{name}"
        if name not in options:
            near = suggest(name, options)
            alternatives = Message(
                "one of {options}{suggestion}", options=", ".join(options), suggestion=near
            )
            alternatives = alternatives if options else Message("none: it has no options")
            problems.append(
                Message(
                    "--set {key}: found an unknown option, expected {known}",
                    key=key,
                    known=alternatives,
                )
            )
            continue
        value = _parse(options[name], setting)
        choices = options[name].choices
        if value is None or (choices and value not in choices):
            kind = options[name].type
            values_text = (
                listed([*map(option_text, choices)], "or")
                if choices
                else Message("of type {kind}", kind=kind)
            )
            near = suggest(setting, map(option_text, choices)) if choices else ""
            problem = "--set {key}: found {finding}, expected a value {values_text}{near}"
            problems.append(
                Message(
                    problem,
                    key=key,
                    finding=shown_value(setting),
                    values_text=values_text,
                    near=near,
                )
            )
        else:
            values[name] = value
    if problems:
        raise UsageError(
            joined("\n", problems), Message("see: sitepatch show {name}{dirs}", name=patchset.name)
        )
    return values


def _parse(option: Option, setting: str) -> OptionValue | None:
    """The value that `setting` stands for, None when it is not of the option's type."""
    if option.type == "str":
        return setting
    if option.type == "bool":
        return _TRUTH.get(setting.strip().lower())
    if option.type == "int":
        return int(setting) if re.fullmatch(r"\s*[+-]?[0-9]{1,18}\s*", setting) else None
    try:
        value = float(setting)
    except ValueError:
        return None
    return value if abs(value) < float("inf") else None  # inf and nan have no Python literal

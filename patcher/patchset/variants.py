"""The variant of a patchset for a version, and the values of its options."""

from __future__ import annotations

import re
from typing import Mapping, Sequence

from patcher.errors import UsageError
from patcher.installed.versions import accepts, says_nothing
from patcher.message import Message, joined
from patcher.model import Option, OptionValue, Patchset, Variant
from patcher.patchset.toml import option_text
from patcher.record import Record
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


# variants -------------------------------------------------------------------------------------
def pick_variants(patchset: Patchset) -> dict[str, list[Variant]]:
    """The variants of each package, both in the order of `patchset.toml`."""
    variants: dict[str, list[Variant]] = {}
    for variant in patchset.variants:
        variants.setdefault(variant.package, []).append(variant)
    return variants


def paths_of(variants: Sequence[Variant]) -> list[str]:
    """The files of variants, with their alternative places, each once."""
    paths: dict[str, None] = {}
    for variant in variants:
        for patch in variant.patches:
            paths.update(dict.fromkeys(patch.places))
    return list(paths)


class Target(Record):
    """An import package, a distribution that provides it, and the variants for the package."""

    package: str
    distribution: str
    variants: list[Variant]


def targets_of(patchset: Patchset) -> list[Target]:
    """All that a patchset is for: each package with each distribution that provides it."""
    targets = []
    for package, variants in pick_variants(patchset).items():
        distributions: dict[str, None] = {}
        for variant in variants:
            distributions.update(dict.fromkeys(variant.distributions or (package,)))
        for distribution in distributions:
            targets.append(Target(package, distribution, variants))
    return targets


def matching_variants(variants: Sequence[Variant], version: str) -> list[Variant]:
    """The first variant whose range holds `version`, if there is one.

    Local labels, pre-releases and vendor builds of a release in the range count
    (`patcher.installed.versions.accepts`).

    Returns:
        All variants where the version is none (`says_nothing`), else at most one.
    """
    if says_nothing(version):
        return list(variants)
    for variant in variants:
        if accepts(variant.versions, version):
            return [variant]
    return []


def choose_variant(variants: Sequence[Variant], version: str) -> Variant | None:
    """The one variant of `matching_variants`; None for none, or if no version tells which."""
    matching = matching_variants(variants, version)
    return matching[0] if len(matching) == 1 else None


# options --------------------------------------------------------------------------------------
def resolve_options(patchset: Patchset, settings: Mapping[str, str]) -> dict[str, OptionValue]:
    """The value of every option: what `--set` says, read by the option's type, else the default.

    Args:
        patchset: the patchset whose options are asked for.
        settings: the text VALUE of `--set NAME.option=VALUE` by the name of the option.

    Raises:
        UsageError: with all problems, one line each: an option that does not exist, a value that
            is not of its type or not one of its choices.
    """
    options = {option.name: option for option in patchset.options}
    values: dict[str, OptionValue] = {option.name: option.default for option in patchset.options}
    problems: list[str] = []
    for name, setting in settings.items():
        key = f"{patchset.name}.{name}"
        if name not in options:
            problems.append(_unknown_option(key, name, list(options)))
            continue
        value = _parse(options[name], setting)
        choices = options[name].choices
        if value is None or (choices and value not in choices):
            problems.append(_wrong_value(key, options[name], setting))
        else:
            values[name] = value
    if problems:
        hint = Message("see: sitepatch show {name}{dirs}", name=patchset.name)
        raise UsageError(joined("\n", problems), hint)
    return values


def _unknown_option(key: str, name: str, options: Sequence[str]) -> str:
    known = Message("none: it has no options")
    if options:
        known = Message(
            "one of {options}{suggestion}",
            options=", ".join(options),
            suggestion=suggest(name, options),
        )
    return Message("--set {key}: found an unknown option, expected {known}", key=key, known=known)


def _wrong_value(key: str, option: Option, setting: str) -> str:
    expected: str = Message("of type {kind}", kind=option.type)
    near = ""
    if option.choices:
        choices = [option_text(choice) for choice in option.choices]
        expected = listed(choices, "or")
        near = suggest(setting, choices)
    return Message(
        "--set {key}: found {finding}, expected a value {values_text}{near}",
        key=key,
        finding=shown_value(setting),
        values_text=expected,
        near=near,
    )


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

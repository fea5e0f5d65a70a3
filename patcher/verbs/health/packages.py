"""Checks of packages: whether they can be patched, and are what is imported."""

from __future__ import annotations

from pathlib import Path

from patcher.installed.environment import blocker
from patcher.message import Message
from patcher.text.listed import normalized
from patcher.verbs.health.checks import NOTE, PROBLEM, Observations
from patcher.verbs.health.examination import Examination


def unpatchable(case: Examination) -> Observations:
    """Packages that cannot be patched, or are uninstalled and can be imported all the same."""
    for error in case.unpatchable:
        yield PROBLEM, error.message, error.hint
    for package, folder in case.ghosts.items():
        template = (
            "{folder} holds no module: {package} is uninstalled, "
            "and `import {package}` still succeeds"
        )
        what = Message(template, folder=folder, package=package)
        yield PROBLEM, what, Message("remove that directory, or install the package again")
    for located in case.located:
        for note in located.notes:
            yield NOTE, note, ""


def recorded_twice(case: Examination) -> Observations:
    """Packages of which several releases are recorded in one directory."""
    for located in case.located:
        name = normalized(located.distribution)
        records: list[str] = []
        for path in sorted(Path(located.site).glob("*.dist-info")):
            if normalized(path.name.split("-")[0]) == name:
                records.append(path.name)
        if len(records) > 1:
            template = "{distribution} is recorded {number} times in {site}: {records}"
            names = ", ".join(records)
            what = Message(
                template,
                distribution=located.distribution,
                site=located.site,
                number=len(records),
                records=names,
            )
            hint = Message("an install was interrupted: install it again, with --force-reinstall")
            yield PROBLEM, what, hint


def outside(case: Examination) -> Observations:
    """Packages that a virtual environment takes from outside of it."""
    prefix = Path(case.env.python).parent.parent
    is_target = case.env.search == case.env.sites
    if is_target or not (prefix / "pyvenv.cfg").is_file():
        return
    for located in case.located:
        is_inside = prefix.resolve() in Path(located.site).resolve().parents
        if located.site in case.env.sites and not is_inside:
            template = (
                "{package} is not of the virtual environment: "
                "it would be patched in {site}, for everybody"
            )
            hint = (
                "to patch it for this environment alone, install it here: {python} -m pip install"
            )
            what = Message(template, package=located.package, site=located.site)
            yield NOTE, what, Message(hint, python=case.env.python)


def not_imported(case: Examination) -> Observations:
    """Target files in whose place something else is imported, such as a compiled module."""
    hint = Message(
        "a change of it would have no effect: install the package without compiled modules"
    )
    for located, path, _ in case.targets:
        problem = blocker(located, path, case.env)
        if problem:
            yield PROBLEM, problem, hint

"""`edit`: copies of installed files, or of what a patchset makes of them, to be edited and captured."""

from __future__ import annotations

from pathlib import Path
from typing import Sequence

import click

from patcher.author.copies import Copies, check_clean, copy_out, laid_out
from patcher.author.draft import package_of
from patcher.author.folder import named_folder, output_folder, own_folder
from patcher.display.console import Console
from patcher.errors import SitepatchError, UsageError
from patcher.facts import Wanted
from patcher.installed.interpreter import Environment
from patcher.message import Message, joined
from patcher.model import Patchset, Requested
from patcher.patchset.places import MANIFEST
from patcher.patchset.variants import resolve_options
from patcher.place import HERE, SILENT, Events, Place
from patcher.planner.survey import make_plan, read_facts
from patcher.verbs.authoring import edit_copies, output_option
from patcher.verbs.capture import capture, report_copies
from patcher.verbs.options import common_options


def edit(package: str, file: str = "", *, place: Place = HERE, events: Events = SILENT) -> Copies:
    """Copy installed files to a new temporary directory, to be edited there and captured by `capture(copy=...)`.

    Args:
        package: an import package; without `file` also the path of a file, or the name of a module.
        file: one of its Python files, "" for all.
        place: the environment.
        events: takes what is done.

    Raises:
        UsageError: there is no such file.
        SitepatchError: the package is not installed, or a file was edited by hand, which has to be captured first.
    """
    env = place.environment()
    events.started(env)
    package, file = _named(env, package, file)
    return copy_out(env, package, file)


def _named(env: Environment, package: str, file: str) -> tuple[str, str]:
    """The package and the file of what may be one path, in a site directory or whole, or the name of a module."""
    if file:
        return package, file
    given = Path(package).absolute()
    for site in env.sites if given.is_file() else ():
        for top in (Path(site), Path(site).resolve()):
            if top in given.parents:
                path = given.relative_to(top).as_posix()
                return package_of(path), path
    if "/" in package:
        return package.split("/")[0], package
    first, *more = package.split(".")
    names = (f"{'/'.join([first, *more])}{end}" for end in (".py", "/__init__.py"))
    found = [path for path in names for site in env.sites if more and Path(site, path).is_file()]
    return (first, found[0]) if found else (package, file)


def edit_patchset(name: str, *, place: Place = HERE, events: Events = SILENT) -> Copies:
    """Copy the files of a patchset, as it makes them, to a new directory: `capture(name=..., copy=...)` revises it.

    Raises:
        UsageError: there is no patchset of that name.
        SitepatchError: it does not belong to the user, or does not fit; a file was edited by hand.
    """
    _, patchset = own_folder(name, place.patch_dirs)
    env = place.environment()
    events.started(env)
    requested = Requested(patchset, resolve_options(patchset, {}))
    plan = make_plan(env, Wanted((requested,)))
    if plan.failed:
        events.unfit(plan.failed)
        raise SitepatchError(
            "{name}: does not fit here", "sitepatch check {name} --explain{here}", name=name
        )
    check_clean(env, [file.path for file in plan.files if file.change and file.change.old])
    files = read_facts(env, Wanted((requested,))).assignments
    first = next(assignment.located for (assignment,) in files.values())
    installed = {
        file.path: file.before for file in plan.files if file.change is None or file.change.old
    }
    return laid_out(first, {file.path: file.after for file in plan.files}, installed)


def _of_patchset(patchset: Patchset, package: str, file: str) -> str:
    """The path of a file that a patchset changes, named as it was when the patchset was made.

    Raises:
        UsageError: it changes another one.
    """
    patches = (patch for variant in patchset.variants for patch in variant.patches)
    paths = dict.fromkeys(path for patch in patches for path in patch.paths)
    names = (file, f"{package}/{file}")
    found = [path for path in paths if path in names or file.endswith(f"/{path}")]
    if not found:
        hint = Message("give the edit of another file a name of its own: --name NAME")
        text = "{file}: the patchset {name} is there already, and changes {paths}"
        raise UsageError(text, hint, file=file, name=patchset.name, paths=", ".join(paths))
    return found[0]


def _own_folder(name: str, patch_dirs: Sequence[str]) -> Path:
    """The folder of the patchset that is to be edited; of an unknown name the error says how a package is edited, too."""
    try:
        return own_folder(name, patch_dirs)[0]
    except UsageError as error:
        template = "to edit the files of a package, name the new patchset: sitepatch edit {name} --name NAME{env}"
        how = Message(template, name=name)
        error.hint = joined("\n", (how, error.hint))
        raise


@click.command(
    "edit",
    epilog="\b\nExamples:\n  sitepatch edit mmengine runner/runner.py --name runner-debug\n"
    "  sitepatch edit mmengine --name runner-debug --no-editor\n  sitepatch edit runner-debug",
)
@click.argument("package", metavar="PACKAGE|NAME")
@click.argument("file", required=False, default="")
@click.option("--name", metavar="NAME", default="", help="The name of the patchset.")
@output_option
@click.option(
    "--no-editor",
    is_flag=True,
    help="Make the copies and print where they are; capture --from goes on from there.",
)
@common_options()
def command(
    console: Console, package: str, file: str, name: str, output: str | None, no_editor: bool
) -> int:
    """Edit a copy of installed files, and make a patchset of that.

    Copies the Python files of an import package, or one of them, to a temporary directory and opens them in $VISUAL or
    $EDITOR. The environment is not touched.

    Without --name it is the patchset NAME that is edited: its files are opened as it makes them, and it is revised. With
    --name the same is done where that patchset is there already.
    """
    if name and (named_folder(name, output) / MANIFEST).is_file():
        folder = named_folder(name, output)
        place = console.place._replace(patch_dirs=(str(folder.parent), *console.place.patch_dirs))
        patchset = own_folder(name, place.patch_dirs)[1]
        file = _of_patchset(patchset, package, file) if file else ""
        copies = edit_patchset(name, place=place, events=console)
    elif name:
        output_folder(name, output)  # fails before an hour of editing
        copies = edit(package, file, place=console.place, events=console)
    elif file or output:
        words = " ".join(filter(None, (package, file)))
        hint = "sitepatch edit {words} --name NAME{env}"
        raise UsageError("--name is missing: a new patchset needs a name", hint, words=words)
    else:
        name, output = package, str(_own_folder(package, console.place.patch_dirs))
        copies = edit_patchset(package, place=console.place, events=console)
    more = ["--output", output] if output else []
    go_on = console.command("capture", "--from", str(copies.folder), "--name", name, *more)
    if no_editor:
        console.out(
            Message("edit what is in {folder}, then: {go_on}", folder=copies.folder, go_on=go_on)
        )
        return console.answer(True, {"folder": str(copies.folder), "paths": list(copies.paths)})

    def run() -> int:
        outcome = capture(
            name=name, place=console.place, output=output, copy=copies.folder, events=console
        )
        return report_copies(console, outcome)

    opened = file if file in copies.paths else copies.paths[0]
    is_one = bool(file) or len(copies.paths) == 1
    return edit_copies(console, copies.folder, file=opened if is_one else "", go_on=go_on, run=run)

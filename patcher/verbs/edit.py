"""`edit`: copies of installed files, or of what a patchset makes, to be edited and captured."""

from __future__ import annotations

from pathlib import Path
from typing import Sequence

import click

from patcher.author.copies import Copies, check_clean, copy_out, laid_out
from patcher.author.folder import named_folder, output_folder, own_folder
from patcher.author.spatch_draft import package_of
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
from patcher.verbs.capture import capture
from patcher.verbs.capture_report import report_copies
from patcher.verbs.options import common_options


# installed files ----------------------------------------------------------------------------------
def edit(package: str, file: str = "", *, place: Place = HERE, events: Events = SILENT) -> Copies:
    """Copy installed files to a new temporary directory, to be edited there.

    `capture(copy=...)` captures them.

    Args:
        package: an import package; without `file` also the path of a file, or the name of a module.
        file: one of its Python files, "" for all.
        place: the environment.
        events: takes what is done.

    Raises:
        UsageError: there is no such file.
        SitepatchError: the package is not installed, or a file was edited by hand, which has to be
            captured first.
    """
    env = place.environment()
    events.started(env)
    if not file:
        package, file = _named(env, package)
    return copy_out(env, package, file)


def _named(env: Environment, word: str) -> tuple[str, str]:
    """The package and the file that a word names, "" for all files.

    It is a package, a path in a site directory, a whole path, or the name of a module.
    """
    path = _path_in_site(env, Path(word).absolute())
    if path:
        return package_of(path), path
    if "/" in word:
        return word.split("/")[0], word
    first, *more = word.split(".")
    if more:
        module = "/".join([first, *more])
        for path in (f"{module}.py", f"{module}/__init__.py"):
            if any(Path(site, path).is_file() for site in env.sites):
                return first, path
    return word, ""


def _path_in_site(env: Environment, file: Path) -> str:
    """The path of a file below the site directory that it is in, "" where it is in none."""
    if not file.is_file():
        return ""
    for site in env.sites:
        for folder in (Path(site), Path(site).resolve()):
            if folder in file.parents:
                return file.relative_to(folder).as_posix()
    return ""


# a patchset's files -------------------------------------------------------------------------------
def edit_patchset(name: str, *, place: Place = HERE, events: Events = SILENT) -> Copies:
    """Copy the files of a patchset, as it makes them, to a new directory.

    `capture(name=..., copy=...)` revises the patchset.

    Raises:
        UsageError: there is no patchset of that name.
        SitepatchError: it does not belong to the user, or does not fit; a file was edited by hand.
    """
    _, patchset = own_folder(name, place.patch_dirs)
    env = place.environment()
    events.started(env)
    wanted = Wanted((Requested(patchset, resolve_options(patchset, {})),))
    plan = make_plan(env, wanted)
    if plan.failed:
        events.unfit(plan.failed)
        hint = "sitepatch check {name} --explain{here}"
        raise SitepatchError("{name}: does not fit here", hint, name=name)

    changing = [file.path for file in plan.files if file.change and file.change.old]
    check_clean(env, changing)
    assignments = read_facts(env, wanted).assignments.values()
    home = next(assignment.located for (assignment,) in assignments)
    texts = {file.path: file.after for file in plan.files}
    installed = {}
    for file in plan.files:
        if file.change is None or file.change.old:
            installed[file.path] = file.before
    return laid_out(home, texts, installed)


def _path_of(patchset: Patchset, package: str, file: str) -> str:
    """The path of a file that a patchset changes, named as it was when the patchset was made.

    Raises:
        UsageError: it changes another one.
    """
    paths: list[str] = []
    for variant in patchset.variants:
        for patch in variant.patches:
            paths += patch.paths
    for path in paths:
        if path in (file, f"{package}/{file}") or file.endswith(f"/{path}"):
            return path
    hint = Message("give the edit of another file a name of its own: --name NAME")
    problem = "{file}: the patchset {name} is there already, and changes {paths}"
    changed = ", ".join(dict.fromkeys(paths))
    raise UsageError(problem, hint, file=file, name=patchset.name, paths=changed)


def _folder_of(name: str, patch_dirs: Sequence[str]) -> Path:
    """The folder of the patchset that is to be edited.

    Raises:
        UsageError: there is none; it says how a package is edited, too.
    """
    try:
        return own_folder(name, patch_dirs)[0]
    except UsageError as error:
        template = (
            "to edit the files of a package, name the new patchset: "
            "sitepatch edit {name} --name NAME{env}"
        )
        error.hint = joined("\n", (Message(template, name=name), error.hint))
        raise


# the command --------------------------------------------------------------------------------------
@click.command(
    "edit",
    epilog=(
        "\b\nExamples:\n"
        "  sitepatch edit mmengine runner/runner.py --name runner-debug\n"
        "  sitepatch edit mmengine --name runner-debug --no-editor\n"
        "  sitepatch edit runner-debug"
    ),
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

    Copies the Python files of an import package, or one of them, to a temporary directory and opens
    them in $VISUAL or $EDITOR. The environment is not touched.

    Without --name it is the patchset NAME that is edited: its files are opened as it makes them,
    and it is revised. With --name the same is done where that patchset is there already.
    """
    if not name and (file or output):
        words = " ".join(filter(None, (package, file)))
        hint = "sitepatch edit {words} --name NAME{env}"
        raise UsageError("--name is missing: a new patchset needs a name", hint, words=words)
    if not name:
        name = package
        output = str(_folder_of(name, console.place.patch_dirs))
        copies = edit_patchset(name, place=console.place, events=console)
    elif (named_folder(name, output) / MANIFEST).is_file():
        folder = named_folder(name, output)
        place = console.place._replace(patch_dirs=(str(folder.parent), *console.place.patch_dirs))
        _, patchset = own_folder(name, place.patch_dirs)
        file = _path_of(patchset, package, file) if file else ""
        copies = edit_patchset(name, place=place, events=console)
    else:
        output_folder(name, output)  # fails before an hour of editing
        copies = edit(package, file, place=console.place, events=console)

    capture_words = ["capture", "--from", str(copies.folder), "--name", name]
    if output:
        capture_words += ["--output", output]
    go_on = console.command(*capture_words)
    if no_editor:
        template = "edit what is in {folder}, then: {go_on}"
        console.out(Message(template, folder=copies.folder, go_on=go_on))
        return console.answer(True, copies)

    def run() -> int:
        outcome = capture(
            name=name, place=console.place, output=output, copy=copies.folder, events=console
        )
        return report_copies(console, outcome)

    opened = _opened(copies, file)
    return edit_copies(console, copies.folder, file=opened, go_on=go_on, run=run)


def _opened(copies: Copies, file: str) -> str:
    """The copy that is opened, "" for the directory: the file that is named, or the only one."""
    if file in copies.paths:
        return file
    if file or len(copies.paths) == 1:
        return copies.paths[0]
    return ""

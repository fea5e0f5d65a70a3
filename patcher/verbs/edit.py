"""`edit`: copies of installed files, or of what a patchset makes, to be edited and captured."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Callable, Sequence

import click

from patcher.author.copies import Copies, check_clean, copied_paths, copy_out, laid_out
from patcher.author.folder import named_folder, output_folder, own_folder
from patcher.author.patchable import check_patchable
from patcher.author.spatch_draft import package_of
from patcher.display.console import Console
from patcher.errors import AbsentError, SitepatchError, UsageError
from patcher.facts import Wanted
from patcher.installed.environment import locate
from patcher.installed.interpreter import Environment
from patcher.message import Message, joined
from patcher.model import Patchset, Requested
from patcher.patchset.places import MANIFEST
from patcher.patchset.variants import resolve_options
from patcher.place import HERE, SILENT, Events, Place
from patcher.planner.survey import make_plan, read_facts
from patcher.record import Record
from patcher.verbs.authoring import output_option
from patcher.verbs.capture import capture
from patcher.verbs.capture_report import report_copies
from patcher.verbs.editor import earlier_copies, edit_copies
from patcher.verbs.options import common_options


# installed files ----------------------------------------------------------------------------------
def edit(
    package: str,
    file: str = "",
    *,
    name: str = "",
    place: Place = HERE,
    events: Events = SILENT,
) -> Copies:
    """Copy installed files to a new temporary directory, to be edited there.

    `capture(copy=...)` captures them.

    Args:
        package: an import package; without `file` also the path of a file, or the name of a module.
        file: one of its Python files, "" for all.
        name: that of the patchset to be, by which a later edit finds the copies again.
        place: the environment.
        events: takes what is done.

    Raises:
        UsageError: there is no such file, or it cannot be patched.
        SitepatchError: the package is not installed, or a file was edited by hand, which has to be
            captured first.
    """
    env = place.environment()
    events.started(env)
    if not file:
        package, file = _named(env, package)
    elif not file.endswith(".py"):
        file = _module_path(env, f"{package}.{file}") or file
    return copy_out(env, package, file, key=name or _key(package, file))


def _key(package: str, file: str) -> str:
    """What the copies of a package, or of one of its files, are called until they have a name."""
    return "-".join(re.findall("[a-z0-9]+", f"{package} {Path(file).stem}".lower()))


def _named(env: Environment, word: str) -> tuple[str, str]:
    """The package and the file that a word names, "" for all files.

    It is a package, a path in a site directory, a whole path, or the name of a module.

    Raises:
        UsageError: it is a file that cannot be patched.
    """
    if "/" in word:
        check_patchable(env, "", word)
    path = _path_in_site(env, Path(word).absolute())
    if path:
        return package_of(path), path
    if "/" in word:
        return word.split("/")[0], word
    path = _module_path(env, word) if "." in word else ""
    return (package_of(path), path) if path else (word, "")


def _module_path(env: Environment, module: str) -> str:
    """The path of the file of a module, "" where there is none."""
    if not all(part.isidentifier() for part in module.split(".")):
        return ""
    stem = module.replace(".", "/")
    for path in (f"{stem}.py", f"{stem}/__init__.py"):
        if any(Path(site, path).is_file() for site in env.sites):
            return path
    return ""


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

    changing = [file.path for file in plan.files if file.to_commit and file.to_commit.old]
    check_clean(env, changing)
    assignments = read_facts(env, wanted).assignments.values()
    home = next(assignment.located for (assignment,) in assignments)
    texts = {file.path: file.after for file in plan.files}
    installed = {}
    for file in plan.files:
        if file.to_commit is None or file.to_commit.old:
            installed[file.path] = file.before
    return laid_out(home, texts, installed, key=name)


def _path_of(patchset: Patchset, package: str, file: str) -> str:
    """The path of a file that a patchset changes, named as it was when the patchset was made.

    Raises:
        UsageError: it changes another one.
    """
    paths: list[str] = []
    for variant in patchset.variants:
        for patch in variant.patches:
            paths += patch.places
    for path in paths:
        if path in (file, f"{package}/{file}") or file.endswith(f"/{path}"):
            return path
    hint = Message("give the edit of another file a name of its own: --name NAME")
    problem = "{file}: the patchset {name} is there already, and changes {paths}"
    changed = ", ".join(dict.fromkeys(paths))
    raise UsageError(problem, hint, file=file, name=patchset.name, paths=changed)


class _Subject(Record):
    """What is edited.

    Attributes:
        copy: makes the copies.
        key: what `kept_copies` finds earlier ones by.
        name: the patchset, "" to have one proposed.
        output: where its folder is put, None for the usual place.
        file: the file that is opened, "" for the only one, or all.
    """

    copy: Callable[[], Copies]
    key: str
    name: str
    output: str | None = None
    file: str = ""


def _subject(console: Console, package: str, file: str, name: str, output: str | None) -> _Subject:
    """What the words of the command mean: files of a package, or those of a patchset.

    Raises:
        UsageError: neither is there; or the name is taken.
    """
    place = console.place
    if name and (named_folder(name, output) / MANIFEST).is_file():
        folder = named_folder(name, output)
        place = place._replace(patch_dirs=(str(folder.parent), *place.patch_dirs))
        _, patchset = own_folder(name, place.patch_dirs)
        opened = _path_of(patchset, package, file) if file else ""
        copy = partial(edit_patchset, name, place=place, events=console)
        return _Subject(copy, name, name=name, output=output, file=opened)

    if not (name or file or output):
        try:
            folder = own_folder(package, place.patch_dirs)[0]
            copy = partial(edit_patchset, package, place=place, events=console)
            return _Subject(copy, package, name=package, output=str(folder))
        except UsageError as error:
            _check_installed(place, package, error)
    if name:
        output_folder(name, output)  # fails before an hour of editing
    copy = partial(edit, package, file, name=name, place=place, events=console)
    env = place.environment()
    named_package, named_file = (package, file) if file else _named(env, package)
    key = name or _key(named_package, named_file)
    return _Subject(copy, key, name=name, output=output, file=file)


def _check_installed(place: Place, word: str, unknown: UsageError) -> None:
    """Refuse a word that names neither a patchset, as `unknown` says, nor what is installed.

    Raises:
        UsageError: it names neither; the hint is about packages, too.
    """
    env = place.environment()
    package, file = _named(env, word)
    try:
        locate(env, package, files=[file] if file else ())
    except AbsentError as absent:
        as_package = Message("{problem}: {hint}", problem=absent.message, hint=absent.hint)
        unknown.hint = joined("\n", (as_package, unknown.hint))
        raise unknown from None


# the command --------------------------------------------------------------------------------------
@click.command(
    "edit",
    epilog=(
        "\b\nExamples:\n"
        "  sitepatch edit mmengine runner/runner.py --name runner-debug\n"
        "  sitepatch edit mmengine.runner.runner\n"
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

    A new patchset is called NAME, or else after the package and the scope that was edited. The name
    of a patchset that is there already opens its files as it makes them, and revises it: alone, or
    with --name.
    """
    subject = _subject(console, package, file, name, output)

    def go_on(folder: Path) -> str:
        words = ["capture", "--from", str(folder)]
        if subject.name:
            words += ["--name", subject.name]
        if subject.output:
            words += ["--output", subject.output]
        return console.command(*words)

    folder = None if no_editor else earlier_copies(console, subject.key, go_on)
    if folder is None:
        copies = subject.copy()
        folder = copies.folder
        if no_editor:
            template = "edit what is in {folder}, then: {go_on}"
            console.out(Message(template, folder=folder, go_on=go_on(folder)))
            return console.answer(True, copies)
    opened = _opened(copied_paths(folder), subject.file)

    def run() -> int:
        outcome = capture(
            name=subject.name,
            place=console.place,
            output=subject.output,
            copy=folder or "",
            events=console,
        )
        return report_copies(console, outcome)

    return edit_copies(console, folder, file=opened, go_on=go_on(folder), run=run)


def _opened(paths: Sequence[str], file: str) -> str:
    """The copy that is opened, "" for the directory: the only one, or the file that is named."""
    if len(paths) == 1:
        return paths[0]
    return file if file in paths else ""

"""`export`: what patchsets make of an installed release, written for those who have no sitepatch."""

from __future__ import annotations

import re
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterator, NamedTuple, Sequence

import click

from patcher.author.diffs.patchfile import read_head
from patcher.author.draft import package_of
from patcher.author.export import (
    OpenWheel,
    PatchedFile,
    mail,
    new_name,
    open_wheel,
    patch,
    recorded,
    repack,
)
from patcher.display.console import Console, decoded, requirement
from patcher.display.rows import answer_json, answer_rows
from patcher.display.styles import color_diff
from patcher.display.usage import Choice
from patcher.engine.spatch.hunk import parse_spatch
from patcher.errors import SitepatchError, UsageError
from patcher.facts import Wanted
from patcher.hook.backend import Wheel
from patcher.installed.environment import locate
from patcher.installed.index import NoWheel, Pip
from patcher.installed.interpreter import Environment
from patcher.installed.releases import fetch_wheel
from patcher.installed.versions import canonical
from patcher.message import Message, joined
from patcher.model import ADDED, Patchset, Plan, Requested, State
from patcher.patchset.layers import layers_of, patch_name, patch_names
from patcher.patchset.places import GROUP
from patcher.patchset.selection import choose
from patcher.patchset.variants import choose_variant, pick_variants
from patcher.place import HERE, SILENT, Events, Place
from patcher.planner.survey import REWRITER, make_plan, read_facts
from patcher.store.retry import settled
from patcher.system.output import open_output, write_output
from patcher.text.diffs import diff_texts
from patcher.text.listed import Texts, listed, normalized, one_or_more
from patcher.verbs.options import common_options, complete_names, settings_option

if TYPE_CHECKING:
    from patcher.text.listed import AnyPath

PREFIX = "sitepatch-patchset-"
"""What the name of a distribution of a patchset begins with; the name of the patchset follows."""
_PATCH, _WHEEL, _PATCHSET_WHEEL = _FORMATS = ("patch", "wheel", "patchset-wheel")
_WHEELS = "dist"  # the folder that wheels are written to where none is named


class ExportOutcome(NamedTuple):
    """What was exported: `text` where no `output` was named, else the paths and the sha256 (hex) of what was `written`."""

    plan: Plan
    text: bytes = b""
    written: tuple[tuple[str, str], ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the patchsets fit, so that there is something to export."""
        return not self.plan.failed


def export(
    names: Texts,
    settings: Texts = (),
    *,
    form: str = _PATCH,
    place: Place = HERE,
    output: AnyPath | None = None,
    wheels: Texts = (),
    against: str = "",
    events: Events = SILENT,
) -> ExportOutcome:
    """Export what patchsets make of the release that is installed, for those without sitepatch.

    Args:
        names: of patchsets.
        settings: values of options, as `--set` takes them.
        form: `patch`, `wheel` or `patchset-wheel`.
        place: the environment.
        output: a file, for wheels and several patches a folder; without one wheels go to `dist`, a patch is in the outcome.
        wheels: those of the releases as they are installed; without the one that is needed pip fetches it.
        against: the release of the index that a patch is for, "" for what is installed.
        events: takes what is done.

    Raises:
        SitepatchError: nothing would change; the wheel cannot be had, or is not the one that is installed.
        UsageError: an unknown name, option or format; several patchsets for one patch.
    """
    if form == _PATCH and len(set(one_or_more(names))) > 1:
        raise UsageError(
            "--format patch: found several patchsets, expected one", "export one after the other"
        )
    if form == _PATCHSET_WHEEL and (settings or wheels):
        raise UsageError(
            "--format patchset-wheel: takes neither --set nor --wheel",
            "options are given where it is applied",
        )
    if form == _PATCH and wheels:
        raise _takes_no("--wheel", form)
    if against:
        from patcher.verbs.releases.against import check_against  # with the engine

        check_against([against])
        if form != _PATCH:
            raise _takes_no("--against", form)
    requested, notes = choose(names, settings, place.patch_dirs)
    folder = Path(output or _WHEELS)
    if form == _PATCHSET_WHEEL:
        packed = [patchset_wheel(wanted.patchset) for wanted in requested]
        texts = {folder / wheel.name: wheel.pack() for wheel in packed}
        return ExportOutcome(Plan((), (), tuple(notes)), written=_written(texts))
    if against:
        env, requested = _released(requested, against, events)
    else:
        env = place.environment()
        events.started(env)
    plan = settled(env, lambda: make_plan(env, Wanted(tuple(requested), fresh=True)))
    plan = plan._replace(notes=(*notes, *plan.notes))
    if plan.failed:
        return ExportOutcome(plan)
    files = _changed(plan)
    doing = {step.patchset for file in files for step in file.steps}
    idle = [wanted.patchset.name for wanted in requested if wanted.patchset.name not in doing]
    left_out = (Message("{name} changes nothing here and is left out", name=name) for name in idle)
    plan = plan._replace(notes=(*plan.notes, *left_out))
    if form == _WHEEL:
        return ExportOutcome(
            plan, written=tuple(_wheels(env, files, folder, one_or_more(wheels), events))
        )
    mails = _mails(plan, env, requested[0], output)
    if mails:
        return mails
    diff = patch(requested[0], files)
    return (
        ExportOutcome(plan, written=_written({Path(output): diff}))
        if output
        else ExportOutcome(plan, diff)
    )


def _takes_no(option: str, form: str) -> UsageError:
    return UsageError(
        "--format {format}: takes no {option}",
        "it is made of what is installed",
        format=form,
        option=option,
    )


def _changed(plan: Plan) -> list[PatchedFile]:
    """The files that change.

    Raises:
        SitepatchError: there are none.
    """
    files = [
        PatchedFile(
            file.path,
            *file.release,
            file.before if file.change.old else None,
            file.steps,
        )
        for file in plan.files
        if file.release and file.change and file.before != file.after
    ]
    if not files:
        states = dict.fromkeys(answer.state.value for answer in plan.answers) or (
            State.NOT_NEEDED.value,
        )
        template = "nothing to export: no file would change here ({states})"
        raise SitepatchError(template, states=joined(", ", map(Message, states)))
    return files


def _released(
    requested: Sequence[Requested], against: str, events: Events
) -> tuple[Environment, list[Requested]]:
    """A release of the index as an environment, and the patchset for it, whatever its ranges say.

    Raises:
        SitepatchError: there is no such release, or it cannot be fetched.
    """
    from patcher.verbs.proving import fetched_releases  # with the engine

    (wanted,) = requested
    packages = list(pick_variants(wanted.patchset))
    if len(packages) > 1:
        problem = "--against: found patches of {packages}, expected one package"
        raise UsageError(problem, "install the releases", packages=listed(packages))
    releases, problems = fetched_releases(wanted.patchset, [against], events)
    if len({release.version for release in releases}) != 1:
        names = ", ".join(f"{release.distribution} {release.version}" for release in releases)
        why = joined("\n", () if releases else problems) or Message(
            "found {folders}", folders=names or Message("none")
        )
        raise SitepatchError(
            "--against {against}: {problem}", "name one release", against=against, problem=why
        )
    variants, version = wanted.patchset.variants, releases[0].version
    variant = choose_variant(variants, version) or variants[-1]
    patchset = wanted.patchset._replace(variants=(variant._replace(versions=""),))
    return Environment.alone(releases[0].site), [wanted._replace(patchset=patchset)]


def _mails(
    plan: Plan, env: Environment, requested: Requested, output: AnyPath | None
) -> ExportOutcome | None:
    """A mail for each patch that changes something, in their order; None where there is one patch for what is installed.

    Raises:
        UsageError: the folder has other patches, which somebody would take for some of these.
    """
    assignments = read_facts(env, Wanted((requested,), fresh=True)).assignments
    present = {
        patch_name(hunk.origin)
        for (assignment,) in assignments.values()
        for hunk in assignment.hunks
    }
    if len(present) < 2:
        return None
    order = [name for name in patch_names(requested.patchset) if name in present]
    diffs: dict[str, list[bytes]] = {name: [] for name in order}
    pristine = {(file.site, file.path): file.before for file in plan.files}
    for (site, path), (assignment,) in assignments.items():
        source = pristine[site, path]
        for layer in layers_of(assignment.hunks):
            after = REWRITER.rewrite(source, assignment._replace(hunks=layer)).data
            before = None if layer[0].scope == ADDED else source
            diffs[patch_name(layer[0].origin)] += (
                [diff_texts("", path, before, after).text] if after != source else []
            )
            source = after
    texts = {
        name: spatch
        for name, spatch in requested.patchset.files.items()
        if name.endswith(".spatch")
    }
    heads = {
        patch_name(name): read_head(parse_spatch(spatch, name)[0]) for name, spatch in texts.items()
    }
    names = [name for name, texts_changed in diffs.items() if texts_changed]
    idle = [
        Message("{name} changes nothing there and is left out", name=name)
        for name in diffs
        if name not in names
    ]
    plan = plan._replace(notes=(*plan.notes, *idle))
    mails = {
        name: mail(name, heads[name], number, len(names), diffs[name])
        for number, name in enumerate(names, 1)
    }
    if not output:
        return ExportOutcome(plan, b"".join(mails.values()))
    folder = Path(output)
    paths = {
        folder / f"{number:04}-{re.sub('^[0-9]+-', '', name)}.patch": mails[name]
        for number, name in enumerate(names, 1)
    }
    leftovers = sorted(path.name for path in folder.glob("*.patch") if path not in paths)
    if leftovers:
        template = "{folder}: found other patches there, {names}"
        raise UsageError(
            template,
            "name another folder, or remove them",
            folder=folder,
            names=", ".join(leftovers),
        )
    return ExportOutcome(plan, written=_written(paths))


def _written(texts: dict[Path, bytes]) -> tuple[tuple[str, str], ...]:
    """Write each text to its path; gives the paths and the sha256 (hex) of each."""
    for path, data in texts.items():
        write_output(path, data)
    return tuple((str(path), sha256(data).hexdigest()) for path, data in texts.items())


def _wheels(
    env: Environment,
    files: Sequence[PatchedFile],
    folder: Path,
    wheels: Sequence[str],
    events: Events,
) -> Iterator[tuple[str, str]]:
    """Write a wheel for each distribution of which something changes; gives its path and sha256 (hex)."""
    with Pip() as pip, ExitStack() as stack:
        open_wheels = {
            normalized(Path(path).name.split("-")[0]): open_wheel(Path(path)) for path in wheels
        }
        for wheel in open_wheels.values():
            stack.enter_context(wheel.archive)
        changed: dict[str, list[PatchedFile]] = {}
        for file in files:
            changed.setdefault(normalized(file.distribution), []).append(file)
        unused = ", ".join(wheel.name for name, wheel in open_wheels.items() if name not in changed)
        if unused:
            template = "--wheel: found {unused}, of which nothing changes"
            raise UsageError(
                template, "expected: {wheels}", unused=unused, wheels=", ".join(changed)
            )
        for name, patched in changed.items():
            wheel = open_wheels.get(name) or _fetched(pip, env, patched[0], events)
            path = folder / new_name(wheel, patched)
            with wheel.archive, open_output(path) as out:
                repack(wheel, patched, out)
            yield str(path), _digest(path)


def _digest(path: Path) -> str:
    digest = sha256()
    with path.open("rb") as file:
        for chunk in iter(lambda: file.read(1 << 20), b""):
            digest.update(chunk)
    return digest.hexdigest()


def _fetched(pip: Pip, env: Environment, file: PatchedFile, events: Events) -> OpenWheel:
    """The wheel that a release was installed from, fetched by pip.

    Raises:
        SitepatchError: it cannot be had, or the one of the index is another build.
    """
    info = Path(locate(env, package_of(file.path), [file.path]).dist_info)
    hint = Message("name the wheel that it was installed from with --wheel")
    if not (info / "WHEEL").is_file():
        raise SitepatchError(
            Message(
                "{file.distribution} {file.version}: was not installed from a wheel", file=file
            ),
            hint,
        )
    events.note(Message("fetching the wheel of {file.distribution} {file.version}", file=file))
    try:
        wheel = open_wheel(fetch_wheel(pip, file.distribution, file.version, info))
    except NoWheel as error:  # it was built here from a source distribution, say
        raise SitepatchError(
            Message(
                "{file.distribution} {file.version}: {message}", file=file, message=error.message
            ),
            hint,
        ) from None
    installed, packed = recorded((info / "RECORD").read_bytes()), recorded(wheel.read("RECORD"))
    code = (path for path in packed if ".dist-info/" not in path and path in installed)
    odd = next((path for path in code if installed[path] != packed[path]), "")
    if odd:
        wheel.archive.close()
        raise SitepatchError(
            Message(
                "{name}: is another build than the one that is installed ({other} differs)",
                name=wheel.name,
                other=odd,
            ),
            hint,
        )
    return wheel


def patchset_wheel(patchset: Patchset) -> Wheel:
    """A wheel that holds the files of a patchset in a folder that an entry point names; reading them runs nothing of it.

    The same patchset gives the same bytes. The wheel depends on nothing, not even on sitepatch, so the two can be installed in
    any order. The module is a package though nobody imports it: pip leaves an empty folder when it uninstalls one without a
    file of its own.
    """
    version = canonical(patchset.version)
    name = f"{PREFIX}{patchset.name}"
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    texts: dict[str, list[str]] = {
        "METADATA": [
            "Metadata-Version: 2.1",
            f"Name: {name}",
            f"Version: {version}",
            f"Summary: {patchset.summary}",
        ],
        "WHEEL": [
            "Wheel-Version: 1.0",
            "Generator: sitepatch",
            "Root-Is-Purelib: true",
            "Tag: py3-none-any",
        ],
        "entry_points.txt": [f"[{GROUP}]", f"{patchset.name} = {module}"],
    }
    files = {
        f"{info}/{file}": "\n".join([*lines, ""]).encode("utf-8") for file, lines in texts.items()
    }
    files[f"{module}/__init__.py"] = b""
    files.update(
        (f"{module}/{patchset.name}/{path}", content.encode("utf-8"))
        for path, content in patchset.files.items()
    )
    return Wheel(f"{module}-{version}-py3-none-any.whl", files)


@click.command(
    "export",
    epilog="\b\nExamples:\n  sitepatch export mmengine-ddp-debug > ddp.patch\n"
    "  sitepatch export mmengine-ddp-debug --format wheel --output wheels\n"
    "  sitepatch export vendor --output patches --against 0.10.0",
)
@click.argument("names", metavar="NAME...", nargs=-1, required=True, shell_complete=complete_names)
@click.option(
    "--format",
    "form",
    type=Choice(_FORMATS),
    default=_PATCH,
    show_default=True,
    help="What to export.",
)
@click.option(
    "--output",
    metavar="PATH",
    default="",
    help="A file; for wheels and several patches a folder.  [default: standard output; dist]",
)
@click.option(
    "--against", metavar="RELEASE", default="", help="The release of the index that a patch is for."
)
@click.option(
    "--wheel",
    "wheels",
    metavar="FILE",
    multiple=True,
    help="The wheel of the release; else pip fetches it.",
)
@settings_option
@common_options()
def command(console: Console, names: tuple[str, ...], form: str, **options: Any) -> int:
    """Export what patchsets make of the release that is installed, for those without sitepatch.

    As a patch for git apply and patch -p1, of several a mail for each of them, for git am as well; or the wheel of the
    release with the files changed and a local version (+sitepatch.hDIGEST).

    A patchset-wheel is for those who have sitepatch: it holds the patchset itself, for every release, and is installed beside
    sitepatch, which then lists it.
    """
    outcome = export(names, form=form, place=console.place, events=console, **options)
    console.notes(outcome.plan.notes)
    console.rows(answer_rows(outcome.plan.failed), err=True)
    console.suggest_explain(outcome.plan.failed, console.place.patch_dirs, options["against"])
    diff = decoded(outcome.text)
    if form == "patch" and not console.plain:
        console.page(color_diff(diff))
    elif not console.as_json:
        console.raw(outcome.text)
    for path, digest in outcome.written:
        console.out(
            requirement(path, digest)
            if form.endswith("wheel")
            else Message("wrote {path}", path=path)
        )
    fields = {
        "format": form,
        "patchsets": list(names),
        "text": diff,
        "written": [{"path": path, "sha256": digest} for path, digest in outcome.written],
        "answers": [answer_json(answer) for answer in outcome.plan.answers],
        "notes": outcome.plan.notes,
    }
    return console.answer(outcome.ok, fields)

"""`export`: what patchsets make of an installed release, written for those who have no sitepatch."""

from __future__ import annotations

import re
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Sequence, Tuple

from patcher.author.diffs.patchfile import read_head
from patcher.author.draft import package_of
from patcher.author.export import LayerFile, PatchedFile, mail, patch
from patcher.author.wheel import OpenWheel, new_name, open_wheel, recorded, repack
from patcher.engine.spatch.hunk import parse_spatch
from patcher.errors import SitepatchError, UsageError
from patcher.facts import Wanted
from patcher.installed.environment import locate
from patcher.installed.index import NoWheel, Pip
from patcher.installed.interpreter import Environment
from patcher.installed.releases import fetch_wheel
from patcher.message import Message, joined
from patcher.model import ADDED, Plan, Requested, State
from patcher.ops.authoring.wheels import patchset_wheel
from patcher.patchset.layers import layers_of
from patcher.patchset.sources import choose_variant, pick_variants
from patcher.planner.survey import REWRITER, make_plan, read_facts
from patcher.project.selection import choose
from patcher.store.retry import settled
from patcher.system.output import open_output, write_output
from patcher.text.listed import listed, normalized
from patcher.verbs.place import SILENT, Events, Place
from patcher.verbs.releases.against import check_against, distributions, named_releases
from patcher.verbs.releases.patches import is_series, patch_name, patch_names

WHEELS = "dist"
"""The folder that wheels are written to where none is named."""


class ExportRequest(NamedTuple):
    """Which patchsets are exported for which environment, and as what; `output` is a folder for wheels.

    `wheels` are those of the releases as they are installed; without the one that is needed pip fetches it. A patch is for the
    release of the index `against`, else for what is installed.
    """

    place: Place
    names: Tuple[str, ...]
    format: str
    settings: Tuple[str, ...] = ()
    output: str = ""
    wheels: Tuple[str, ...] = ()
    against: str = ""


class ExportOutcome(NamedTuple):
    """What was exported: `text` where no `output` was named, else the paths and the sha256 (hex) of what was `written`."""

    plan: Plan
    text: bytes = b""
    written: Tuple[Tuple[str, str], ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the patchsets fit, so that there is something to export."""
        return not self.plan.failed


def export(request: ExportRequest, events: Events = SILENT) -> ExportOutcome:
    """Export patchsets.

    Raises:
        SitepatchError: nothing would change; the wheel cannot be had, or is not the one that is installed.
        UsageError: an unknown name, option or format; several patchsets for one patch.
    """
    if request.format == "patch" and len(set(request.names)) > 1:
        raise UsageError("--format patch: found several patchsets, expected one", "export one after the other")
    if request.format == "patchset-wheel" and (request.settings or request.wheels):
        raise UsageError("--format patchset-wheel: takes neither --set nor --wheel", "options are given where it is applied")
    if request.against:
        check_against([request.against])
        if request.format != "patch":
            raise UsageError("--format {format}: takes no --against", "it is made of what is installed", format=request.format)
    requested, notes = choose(request.names, request.settings, request.place.patch_dirs)
    if request.format == "patchset-wheel":
        packed = [patchset_wheel(one.patchset) for one in requested]
        folder = Path(request.output or WHEELS)
        return ExportOutcome(Plan((), (), tuple(notes)), written=_written({folder / one.name: one.pack() for one in packed}))
    env, requested = _environment(request, requested, events)
    plan = settled(env, lambda: make_plan(env, Wanted(tuple(requested), fresh=True)))
    plan = plan._replace(notes=(*notes, *plan.notes))
    if plan.failed:
        return ExportOutcome(plan)
    files = [
        PatchedFile(locked.path, locked.distribution, locked.version, file.before if file.change.old else None, file.steps)
        for file, locked in zip(plan.files, plan.locked)
        if file.change and file.before != file.after
    ]
    if not files:
        found = dict.fromkeys(answer.state.value for answer in plan.answers) or (State.NOT_NEEDED.value,)
        states = joined(", ", map(Message, found))
        raise SitepatchError("nothing to export: no file would change here ({states})", states=states)
    doing = {step.patchset for file in files for step in file.steps}
    idle = [one.patchset.name for one in requested if one.patchset.name not in doing]
    plan = plan._replace(
        notes=(*plan.notes, *(Message("{name} changes nothing here and is left out", name=name) for name in idle))
    )
    if request.format == "wheel":
        return ExportOutcome(plan, written=tuple(_wheels(request, env, files, events)))
    if is_series(requested[0].patchset):
        return _series(request, plan, env, requested[0])
    text = patch(requested[0], files)
    return ExportOutcome(plan, written=_written({Path(request.output): text})) if request.output else ExportOutcome(plan, text)


def _environment(request: ExportRequest, requested: List[Requested], events: Events) -> Tuple[Environment, List[Requested]]:
    """The environment; with `against` the release of the index, for which the patchset then is whatever its ranges say.

    Raises:
        SitepatchError: there is no such release, or it cannot be fetched.
    """
    if not request.against:
        env = request.place.environment()
        events.started(env)
        return env, requested
    (wanted,) = requested
    packages = pick_variants(wanted.patchset)
    if len(packages) > 1:
        raise UsageError(
            "--against: found patches of {packages}, expected one package",
            "install the releases",
            packages=listed(list(packages)),
        )
    ((package, variants),) = packages.items()
    paths = {path for variant in variants for patch in variant.patches for path in patch.paths}
    releases = named_releases(dict.fromkeys(distributions(wanted.patchset, package), paths), [request.against], events)
    folders = {key: folder for key, folder in releases.items() if isinstance(folder, Path)}
    if len(folders) != 1:
        failed = [(key, error) for key, error in releases.items() if isinstance(error, SitepatchError)]
        several = Message("found {folders}", folders=", ".join(" ".join(key) for key in folders))
        problems = (Message("{release}: {error.message}", release=" ".join(key), error=error) for key, error in failed)
        found = several if folders else joined("\n", problems)
        raise SitepatchError("--against {request.against}: {found}", "name one release", request=request, found=found)
    (((_, version), folder),) = folders.items()
    variant = choose_variant(variants, version) or variants[-1]
    patchset = wanted.patchset._replace(variants=(variant._replace(versions=""),))
    return Environment.alone(str(folder)), [wanted._replace(patchset=patchset)]


def _series(request: ExportRequest, plan: Plan, env: Environment, requested: Requested) -> ExportOutcome:
    """A mail for each patch of a series that changes something, in their order.

    Raises:
        UsageError: the folder has other patches, which somebody would take for some of these.
    """
    changed: Dict[str, List[LayerFile]] = {name: [] for name in patch_names(requested.patchset)}
    pristine = {(file.site, file.path): file.before for file in plan.files}
    for (site, path), (assignment,) in read_facts(env, Wanted((requested,), fresh=True)).assignments.items():
        text = pristine[site, path]
        for layer in layers_of(assignment.hunks):
            after = REWRITER.rewrite(text, assignment._replace(hunks=layer)).data
            before = None if layer[0].scope == ADDED else text
            changed[patch_name(layer[0].origin)] += [LayerFile(path, before, after)] if after != text else []
            text = after
    texts = {name: text for name, text in requested.patchset.files.items() if name.endswith(".spatch")}
    heads = {patch_name(name): read_head(parse_spatch(text, name)[0]) for name, text in texts.items()}
    names = [name for name, files in changed.items() if files]
    idle = [Message("{name} changes nothing there and is left out", name=name) for name in changed if name not in names]
    plan = plan._replace(notes=(*plan.notes, *idle))
    mails = {name: mail(name, heads[name], number, len(names), changed[name]) for number, name in enumerate(names, 1)}
    if not request.output:
        return ExportOutcome(plan, b"".join(mails.values()))
    folder = Path(request.output)
    paths = {folder / f"{number:04}-{re.sub('^[0-9]+-', '', name)}.patch": mails[name] for number, name in enumerate(names, 1)}
    others = sorted(path.name for path in folder.glob("*.patch") if path not in paths)
    if others:
        raise UsageError(
            "{folder}: found other patches there, {names}",
            "name another folder, or remove them",
            folder=folder,
            names=", ".join(others),
        )
    return ExportOutcome(plan, written=_written(paths))


def _written(texts: Dict[Path, bytes]) -> Tuple[Tuple[str, str], ...]:
    """Write each text to its path; gives the paths and the sha256 (hex) of each."""
    for path, text in texts.items():
        write_output(path, text)
    return tuple((str(path), sha256(text).hexdigest()) for path, text in texts.items())


def _wheels(
    request: ExportRequest, env: Environment, files: Sequence[PatchedFile], events: Events
) -> Iterator[Tuple[str, str]]:
    """Write a wheel for each distribution of which something changes; gives its path and sha256 (hex)."""
    with Pip() as pip, ExitStack() as stack:
        given = {normalized(Path(path).name.split("-")[0]): open_wheel(Path(path)) for path in request.wheels}
        for wheel in given.values():
            stack.enter_context(wheel.archive)
        changed: Dict[str, List[PatchedFile]] = {}
        for each in files:
            changed.setdefault(normalized(each.distribution), []).append(each)
        unused = ", ".join(wheel.name for name, wheel in given.items() if name not in changed)
        if unused:
            raise UsageError(
                "--wheel: found {unused}, of which nothing changes",
                "expected: {wheels}",
                unused=unused,
                wheels=", ".join(changed),
            )
        for name, mine in changed.items():
            wheel = given.get(name) or _fetched(pip, env, mine[0], events)
            path = Path(request.output or WHEELS) / new_name(wheel)
            with wheel.archive, open_output(path) as file:
                repack(wheel, mine, file)
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
        raise SitepatchError(Message("{file.distribution} {file.version}: was not installed from a wheel", file=file), hint)
    events.note(Message("fetching the wheel of {file.distribution} {file.version}", file=file))
    try:
        wheel = open_wheel(fetch_wheel(pip, file.distribution, file.version, info))
    except NoWheel as error:  # it was built here from a source distribution, say
        raise SitepatchError(
            Message("{file.distribution} {file.version}: {message}", file=file, message=error.message), hint
        ) from None
    here, there = recorded((info / "RECORD").read_bytes()), recorded(wheel.read("RECORD"))
    code = (path for path in there if ".dist-info/" not in path and path in here)
    other = next((path for path in code if here[path] != there[path]), "")
    if other:
        wheel.archive.close()
        raise SitepatchError(
            Message("{name}: is another build than the one that is installed ({other} differs)", name=wheel.name, other=other),
            hint,
        )
    return wheel

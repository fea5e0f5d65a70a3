"""`status`, here and of many hosts, and `sitepatch` without a command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Tuple

import click

from patcher.cli.console import Console
from patcher.cli.options import common_options, complete_names, verify_option
from patcher.cli.styles import Row, hint_lines, style
from patcher.cli.translation import term, translated
from patcher.errors import SitepatchError, UsageError
from patcher.message import Message, joined
from patcher.ops import status as ops
from patcher.ops.status import AppliedPatchset, FileState
from patcher.patchset.toml import options_text
from patcher.text.listed import count
from patcher.text.terminal import join_styled

if TYPE_CHECKING:
    from patcher.ops.fleet import HostPatchset
    from patcher.ops.verifying import VerifyOutcome

_FEW = 4  # names of hosts that one line has


@click.command(
    epilog="\b\nExamples:\n  sitepatch status --check || sitepatch apply mmengine-ddp-debug\n"
    "  sitepatch status mmengine-ddp-debug --verify import\n"
    "  sitepatch status --fleet reports --lock sitepatch.lock"
)
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_names)
@click.option("--check", is_flag=True, help="Exit with 1 if anything is not as it was applied.")
@click.option("--fleet", metavar="DIR", help="Of many hosts: read HOST.json of each, what its status --json answered.")
@click.option("--lock", metavar="FILE", help="With --fleet: also what differs from this lock.")
@verify_option("none")
@common_options()
def status(
    console: Console, names: Tuple[str, ...], check: bool, verify: str, fleet: Optional[str], lock: Optional[str]
) -> int:
    """Show which patchsets are applied, the state of their files, and what to do about it.

    One line for each patchset, or for each NAME; with -v also its files and lines.

    --verify also compiles, or imports, what is patched in the target interpreter. A module that cannot be imported without
    the patch either is reported, and is no failure.

    --fleet shows the patchsets and releases of hosts, those that are alike in one line (-v: with all their names), what is
    astray, and with --lock what differs from it; exit code 1 if anything is.
    """
    if fleet:
        if names or verify != "none":
            raise UsageError("--fleet: found a NAME or --verify too, which are for this environment")
        return _show_fleet(console, fleet, lock)
    if lock:
        raise UsageError("--lock: found no --fleet, which it belongs to")
    outcome = ops.status(console.place, names)
    console.about(outcome.env)
    console.notes(outcome.recovered, "recovered")
    console.notes((error.brief for error in outcome.broken.values()), "broken")
    rows = [Row(word, (site,), (problem,)) for word, site, problem in outcome.interrupted]
    rows += [Row("damaged", (), (problem, *hint_lines(hint))) for problem, hint in outcome.damaged]
    for patchset in outcome.patchsets:
        patches = ops.series_states(patchset, outcome.files) if console.verbose else {}
        rows.append(_row(patchset, patches, verbose=console.verbose))
    console.rows([row for row in rows if not console.quiet or row.word != "applied"])
    if not rows and not outcome.idle:
        console.info("nothing is applied in {place}", place=", ".join(outcome.env.own))
    console.notes(Message("{name} is not applied here", name=name) for name in outcome.idle)
    for one in outcome.backups:
        console.note("{one.message}; put it back: sitepatch restore --from-backup {one.path}", one=one)
    for path in outcome.recent:
        console.note("{path}, an edited text that was set aside; remove it when it is of no use any more", "kept", path=path)
    done = None if verify == "none" else _verify(console, names, verify)
    ok = not (outcome.unreadable or (check and (outcome.differs or outcome.idle)) or (done and not done.ok))
    fields: Dict[str, Any] = {"patchsets": [_patchset_json(each) for each in outcome.patchsets]}
    fields["files"] = [_file_json(each) for each in outcome.files]
    fields["interrupted"] = [{"site": site, "problem": problem} for _, site, problem in outcome.interrupted]
    if done:
        fields["verify"] = _verified_json(done)
    fields["damaged"] = [{"problem": problem, "hint": hint} for problem, hint in outcome.damaged]
    fields["backups"] = [{"site": each.site, "path": each.path, "backup": each.name} for each in outcome.backups]
    return console.answer(ok, {**fields, "recovered": list(outcome.recovered), "kept": list(outcome.kept)})


def _verify(console: Console, names: Tuple[str, ...], how: str) -> VerifyOutcome:
    """Verify what is applied, and show it."""
    from patcher.cli.answers.outcome import verified_rows
    from patcher.ops.outcome import VerifyRequest
    from patcher.ops.verifying import verify  # with subprocess

    done = verify(VerifyRequest(console.place, names, how), console)
    console.rows(verified_rows(done.verified, quiet=console.quiet))
    return done


def _verified_json(done: VerifyOutcome) -> Dict[str, Any]:
    from patcher.cli.answers.outcome import verified_json

    return verified_json(done.verified)


def _row(one: AppliedPatchset, patches: Mapping[str, Tuple[str, Tuple[str, ...]]], *, verbose: bool) -> Row:
    bad = sum(state != "applied" for _, _, state in one.files)
    files = (
        Message("{bad} of {files}", bad=bad, files=count(len(one.files), "file"))
        if 0 < bad < len(one.files)
        else count(len(one.files), "file")
    )
    details = [f"{path}:{','.join(map(str, places))}" for path, places, _ in one.files] if verbose else []
    details = [f"{term(state)}  {name}: {', '.join(paths)}" for name, (state, paths) in patches.items()] or details
    details += [*one.problems, *hint_lines(one.advice)]
    cells = (f"{one.name} {one.version}", ", ".join(one.releases), files, options_text(one.options))
    return Row(one.state, cells, tuple(details))


def _patchset_json(one: AppliedPatchset) -> Dict[str, Any]:
    files = [{"path": path, "places": list(places), "state": state} for path, places, state in one.files]
    lists = {"releases": list(one.releases), "problems": list(one.problems), "files": files}
    return {**one._asdict(), **lists, "options": dict(one.options)}


def _file_json(one: FileState) -> Dict[str, Any]:
    item, receipt = one.file, one.file.receipt
    steps = [
        {
            "name": step.patchset,
            "version": step.version,
            "state": state,
            "options": dict(step.options),
            "places": list(step.places),
        }
        for step, state in zip(receipt.steps, one.states)
    ]
    head = {"site": item.site, "path": receipt.path, "package": receipt.package, "distribution": receipt.distribution}
    head.update(installed=item.installed, origin=receipt.origin)
    return {**head, "version": receipt.version, "condition": item.condition.value, "patchsets": steps}


def _show_fleet(console: Console, folder: str, lock: Optional[str]) -> int:
    """Show what many hosts have; exit code 1 where something is astray or differs from the lock."""
    from pathlib import Path  # not for every `status`: importing it costs nearly a start of Python

    from patcher.ops import fleet
    from patcher.project.lockfile import load_lock

    hosts = fleet.fleet(Path(folder), load_lock(Path(lock)) if lock else None)
    alike: Dict[Tuple[Any, ...], List[str]] = {}
    for host in hosts:
        text = tuple(
            f"{applied.name} {applied.version} {options_text(applied.options)}".rstrip() for applied in host.patchsets
        )
        alike.setdefault((host.state, text, host.releases, host.problems, host.differences), []).append(host.host)
    rows = []
    for (state, patchsets, releases, problems, differences), names in alike.items():
        few = (
            names
            if console.verbose or len(names) <= _FEW
            else [*names[: _FEW - 1], Message("{number} more", number=len(names) - _FEW + 1)]
        )
        cells = (
            Message("{hosts}: {few}", hosts=count(len(names), "host"), few=joined(", ", few)),
            ", ".join(patchsets),
            ", ".join(releases),
        )
        rows.append(Row(state, cells, (*problems, *differences)))
    console.rows(rows)
    answer = [{**host._asdict(), "patchsets": [_host_json(applied) for applied in host.patchsets]} for host in hosts]
    return console.answer(all(host.ok for host in hosts), {"hosts": answer})


def _host_json(applied: HostPatchset) -> Dict[str, Any]:
    return {**applied._asdict(), "options": dict(applied.options)}


_FIRST = {
    "list": Message("what there is for this environment, and what is applied"),
    "diff NAME": Message("what a patchset would change"),
    "apply NAME": Message("apply it, and verify it"),
    "restore NAME": Message("put the files back exactly"),
}


def welcome(console: Console, about: str) -> int:
    """Show the commands to begin with, and what is applied here; nothing is recovered."""
    console.out(Message("{help}\n", help=Message.whole(about)))
    longest = max(map(len, _FIRST))
    for words, text in _FIRST.items():
        console.out(join_styled("  ", style(f"sitepatch {words:<{longest}}", bold=True), f"  {translated(text)}"))
    try:
        here = ops.summary(console.place)
    except (SitepatchError, OSError) as error:
        console.note(str(error))
    else:
        names = (
            Message("{patchsets} applied, {files}", patchsets=", ".join(here.patchsets), files=count(here.files, "file"))
            if here.patchsets
            else Message("nothing is applied")
        )
        astray = "" if here.ok else Message("; not all is as it should be: {command}", command=console.command("status"))
        console.out(Message("\n{name}: {names}{astray}", name=here.env.name, names=names, astray=astray))
    console.out(Message("The whole story on a throw-away copy: sitepatch demo. All commands: sitepatch --help"))
    return 0

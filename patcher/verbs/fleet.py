"""What is applied on many hosts: their answers of `sitepatch status --json` side by side, and beside a lock. Reads only."""

from __future__ import annotations

from operator import itemgetter
from pathlib import Path
from typing import Any, Mapping, NamedTuple

from patcher.display.console import Console
from patcher.display.styles import Row
from patcher.errors import Location, SitepatchError, UsageError
from patcher.message import Message, joined
from patcher.model import OptionValue
from patcher.patchset.toml import options_text
from patcher.project.lockfile import Lock, Pinned, host_differences, load_lock
from patcher.system.decode import (
    STRINGS,
    Items,
    Reader,
    Table,
    Values,
    decode_json,
    option_value,
    string,
)
from patcher.system.reading import read_file
from patcher.text.listed import count

APPLIED, NOTHING, DIFFERS, UNKNOWN = "applied", "nothing", "differs", "unknown"
"""What a host is, beside the states of patchsets: all is as it was applied, nothing is, not as locked, no answer of it."""

# when the role asked, as the file `play` says when it began: text that sorts by time
_REPORTED = {"reported": string}
_FAILED = Table(
    {"error": Table({"message": string, "hint": string}, other_keys=True), **_REPORTED},
    _REPORTED,
    other_keys=True,
)
_STANDING = Table(
    {
        **dict.fromkeys(("name", "version", "state", "digest", "advice"), string),
        **dict.fromkeys(("problems", "releases"), STRINGS),
        "options": Values(option_value),
    },
    other_keys=True,
)
_FILE = Table(dict.fromkeys(("package", "distribution", "installed"), string), other_keys=True)
_STATUS = Table(
    {
        "patchsets": Items(_STANDING),
        "files": Items(_FILE),
        "interrupted": Items(Table({"problem": string}, other_keys=True)),
        "damaged": Items(Table({"problem": string, "hint": string}, other_keys=True)),
        **_REPORTED,
    },
    _REPORTED,
    other_keys=True,
)
_PLAY = Table({"begun": string, "hosts": STRINGS})
_NOT_REACHED = Message(
    "the last play did not come to this host: what is applied there is not known"
)


class HostPatchset(NamedTuple):
    """A patchset on a host, as its `status` says it."""

    name: str
    version: str
    state: str
    options: Mapping[str, OptionValue]


class Host(NamedTuple):
    """A host: the worst of its states, what is applied, the releases, what is astray, how it differs from the lock."""

    host: str
    state: str
    patchsets: tuple[HostPatchset, ...] = ()
    releases: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is astray or differs."""
        return self.state in (APPLIED, NOTHING)


def fleet(folder: Path, lock: Lock | None = None) -> list[Host]:
    """The hosts of a directory: HOST.json is an answer of `status`, as it is or as the module patchset_info returns it.

    The role of the collection also writes `play`, the hosts of the last play: those it did not come to are unknown.

    Raises:
        UsageError: there is no such directory, or no such file in it.
        SitepatchError: the file `play` is not as the role writes it.
    """
    paths = {path.stem: path for path in folder.glob("*.json")}
    begun = _play(folder / "play")
    if not (paths or begun):
        hint = Message(
            "write one for each host: sitepatch status --json, or the module patchset_info"
        )
        raise UsageError(Message("{folder}: found no files HOST.json", folder=folder), hint)
    missing = [Host(host, UNKNOWN, problems=(_NOT_REACHED,)) for host in begun if host not in paths]
    return sorted(
        [*missing, *(_host(path, begun.get(host, ""), lock) for host, path in paths.items())]
    )


def _play(path: Path) -> dict[str, str]:
    """When the last play began, by the hosts that it was for; nothing where no play was told to report."""
    if not path.is_file():
        return {}
    reader = Reader(path)
    try:
        fields = reader.read(decode_json(read_file(path)), _PLAY)
    except ValueError as error:
        raise SitepatchError.at(Location(str(path)), "is no JSON: {error}", error=error) from error
    reader.stop(SitepatchError)
    return dict.fromkeys(fields["hosts"], fields["begun"])


def _host(path: Path, begun: str, lock: Lock | None) -> Host:
    origin = Message("{path} is no answer of sitepatch status --json", path=path)
    try:
        top = decode_json(read_file(path))
    except ValueError:
        return Host(path.stem, UNKNOWN, problems=(origin,))
    answer = top["answer"] if isinstance(top, dict) and "answer" in top else top
    failed = isinstance(answer, dict) and "error" in answer
    reader = Reader(origin)
    fields = reader.read(answer, _FAILED if failed else _STATUS)
    if reader.problems:
        return Host(
            path.stem, UNKNOWN, problems=tuple(problem.message for problem in reader.reported)
        )
    if fields.get("reported", "") < begun:
        return Host(path.stem, UNKNOWN, problems=(_NOT_REACHED,))
    if failed:
        return Host(
            path.stem,
            UNKNOWN,
            problems=tuple(filter(None, (fields["error"]["message"], fields["error"]["hint"]))),
        )
    return _of_answer(path.stem, fields, lock)


def _of_answer(host: str, answer: Mapping[str, Any], lock: Lock | None) -> Host:
    applied = answer["patchsets"]
    patchsets = tuple(HostPatchset(*map(fields.get, HostPatchset._fields)) for fields in applied)
    problems = [fields["problem"] for fields in answer["interrupted"]]
    problems += [joined("; ", (fields["problem"], fields["hint"])) for fields in answer["damaged"]]
    states = [key for key in ("interrupted", "damaged") if answer[key]]
    for fields in applied:
        if fields["state"] != APPLIED:
            states.append(fields["state"])
            reason = joined("; ", (*fields["problems"], fields["advice"])) or fields["state"]
            problems.append(Message("{name}: {reason}", name=fields["name"], reason=reason))
    differences: list[str] = []
    if lock:
        pinned = [
            Pinned(*itemgetter("name", "version", "digest", "options")(fields))
            for fields in applied
        ]
        installed = dict.fromkeys(
            map(itemgetter("package", "distribution", "installed"), answer["files"])
        )
        differences = host_differences(lock, pinned, installed)
    states += [DIFFERS] if differences else []
    state = states[0] if states else APPLIED if applied else NOTHING
    releases = tuple(dict.fromkeys(release for fields in applied for release in fields["releases"]))
    return Host(host, state, patchsets, releases, tuple(problems), tuple(differences))


_FEW = 4  # names of hosts that one line has


def show_fleet(console: Console, folder: str, lock: str | None) -> int:
    """Show what many hosts have; exit code 1 where something is astray or differs from the lock."""
    hosts = fleet(Path(folder), load_lock(Path(lock)) if lock else None)
    alike: dict[tuple[Any, ...], list[str]] = {}
    for host in hosts:
        patchsets = tuple(
            f"{item.name} {item.version} {options_text(item.options)}".rstrip()
            for item in host.patchsets
        )
        alike.setdefault(
            (host.state, patchsets, host.releases, host.problems, host.differences), []
        ).append(host.host)
    rows = []
    for (state, patchsets, releases, problems, differences), names in alike.items():
        number = count(len(names), "host")
        if len(names) > _FEW and not console.verbose:
            names = [*names[: _FEW - 1], Message("{number} more", number=len(names) - _FEW + 1)]
        hosts_of = Message("{hosts}: {few}", hosts=number, few=joined(", ", names))
        rows.append(
            Row(
                state,
                (hosts_of, ", ".join(patchsets), ", ".join(releases)),
                (*problems, *differences),
            )
        )
    console.rows(rows)
    return console.answer(all(host.ok for host in hosts), {"hosts": hosts})

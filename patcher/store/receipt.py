"""Receipts to JSON and back. What is read may be forged or damaged: every field is checked."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any, Callable, Mapping

from patcher import __version__
from patcher.errors import FormatError, Location, StoreError
from patcher.facts import sha256
from patcher.message import Message
from patcher.model import (
    AppliedHunks,
    Located,
    LostStep,
    PatchedRelease,
    PristineFile,
    Receipt,
    Splice,
    State,
    Step,
)
from patcher.store.folder import HOME, is_temporary
from patcher.system.decode import (
    Items,
    Reader,
    Table,
    Values,
    boolean,
    decode_json,
    integer,
    one_of,
    option_value,
    or_empty,
    sha256_hex,
    string,
)

RECEIPT_FORMAT = 1
ADDED_FILE = "added"
ORIGINS = ("recorded", "unrecorded", "edited", ADDED_FILE)


def path_problem(path: str) -> str:
    """Return what keeps `path` from being a `/`-separated path below a site directory; or empty."""
    parts = path.split("/")
    if path.startswith("/"):
        return Message("the path is absolute")
    has_special = "\0" in path or "\\" in path or ":" in parts[0]
    if has_special or not {"", ".", ".."}.isdisjoint(parts):
        return Message("the path is not a plain path below the site directory")
    if parts[0].lower() == HOME:
        return Message("the path lies inside sitepatch's own folder")
    if is_temporary(parts[-1]):
        return Message("the name is one that sitepatch itself gives to files for a while")
    return ""


def file_name(path: str) -> str:
    """Return the name of the receipt for the target file `path`."""
    return sha256(path.encode("utf-8", "surrogateescape")) + ".json"


def new_receipt(located: Located, path: str, past: Receipt | None) -> Receipt:
    """Return the receipt of a file, without hashes and steps.

    Args:
        located: the package.
        path: of the file.
        past: a receipt of the same pristine file, which knows its mode, mtime and link; without one
            they are read.
    """
    pristine = _pristine(Path(located.site, path), past)
    release = PatchedRelease(located.package, located.distribution, version=located.version)
    return Receipt(path, release, pristine=pristine, current="", steps=())


def _pristine(file: Path, past: Receipt | None) -> PristineFile:
    """What is known of a pristine file, by a receipt of it or by what is there; not its hash."""
    if past is not None:
        return past.pristine._replace(sha256="", origin="recorded")
    try:
        info = file.lstat()
    except OSError:  # it is added
        return PristineFile("", mode=0o644, mtime_ns=0)
    link = os.readlink(file) if stat.S_ISLNK(info.st_mode) else ""
    return PristineFile("", stat.S_IMODE(info.st_mode), mtime_ns=info.st_mtime_ns, link=link)


def encode_receipt(receipt: Receipt) -> bytes:
    """Return the JSON text of a receipt."""
    pristine = receipt.pristine._asdict()
    fields = {
        "path": receipt.path,
        **receipt.release._asdict(),
        "pristine": pristine.pop("sha256"),
        **pristine,
        "current": receipt.current,
        "steps": [step_fields(step) for step in receipt.steps],
        "folder": receipt.folder,
        "lost": [_lost_fields(lost) for lost in receipt.lost],
    }
    return encode_fields(fields)


def _lost_fields(lost: LostStep) -> dict[str, Any]:
    return {"step": step_fields(lost.step), "version": lost.version}


def step_fields(step: Step) -> dict[str, Any]:
    """Return a step as JSON has it."""
    fields = step._asdict()
    fields.update(fields.pop("hunks")._asdict())
    fields["options"] = dict(step.options)
    fields["splices"] = []
    for splice in step.splices:
        # Latin-1 gives each byte one character: exact, and a user can read it
        fields["splices"].append([splice.start, splice.end, splice.new.decode("latin-1")])
    return fields


def decode(data: bytes, where: str) -> Receipt:
    """Return the receipt in `data`.

    Args:
        data: the JSON text.
        where: the path of the receipt file, for messages; its last component must be the name for
            the receipt's path.

    Raises:
        StoreError: the receipt is damaged, forged or from a newer sitepatch; says which fields and
            what to do.
    """
    template = (
        "if it is damaged, reinstall the packages that were patched here, then delete {where}"
    )
    hint = Message(template, where=where)
    fields = decode_fields(data, where, hint=hint, kind=_RECEIPT)
    release = PatchedRelease(fields["package"], fields["distribution"], version=fields["version"])
    pristine = PristineFile(
        sha256=fields["pristine"],
        mode=fields["mode"],
        mtime_ns=fields["mtime_ns"],
        link=fields["link"],
        origin=fields["origin"],
    )
    receipt = Receipt(
        path=fields["path"],
        release=release,
        pristine=pristine,
        current=fields["current"],
        steps=tuple(map(step_of, fields["steps"])),
        folder=fields["folder"],
        lost=tuple(map(_lost_of, fields["lost"])),
    )
    if where.rpartition("/")[2] != file_name(receipt.path):
        problem = Message(
            "path: found {path!r}, expected the path that this file is named after",
            path=receipt.path,
        )
        raise StoreError.at(Location(where), problem, hint)
    return receipt


def step_of(fields: Mapping[str, Any]) -> Step:
    """Return the step that fields of the kind `STEP` describe."""
    splices: list[Splice] = []
    for start, end, code in fields["splices"]:
        splices.append(Splice(start, end, new=code.encode("latin-1")))
    hunks = AppliedHunks(
        places=tuple(fields["places"]), states=tuple(fields["states"]), gone=fields["gone"]
    )
    return Step(
        patchset=fields["patchset"],
        version=fields["version"],
        digest=fields["digest"],
        kind=fields["kind"],
        options=fields["options"],
        splices=tuple(splices),
        hunks=hunks,
    )


def _lost_of(fields: Mapping[str, Any]) -> LostStep:
    return LostStep(step_of(fields["step"]), fields["version"])


def encode_fields(fields: Mapping[str, Any], indent: int | None = 1) -> bytes:
    """Return `fields` as the JSON text that `decode_fields` reads; always the same for the same.

    Without `indent` it is on one line, which Python writes ten times as quickly.
    """
    record = {**fields, "format": RECEIPT_FORMAT, "sitepatch": __version__}
    return json.dumps(record, indent=indent, sort_keys=True).encode() + b"\n"


def decode_fields(data: bytes, where: str, hint: str, kind: Table) -> dict[str, Any]:
    """Return the fields, of that kind, of a JSON file of the store.

    Args:
        data: the JSON text.
        where: the path of the file, for messages.
        hint: what to do if it is damaged.
        kind: its fields, but for `format` and `sitepatch`, which each file has.

    Raises:
        FormatError: its `format` is one that this release does not know.
        StoreError: it is damaged or forged: every field that is wrong.
    """
    try:
        top = decode_json(data)
    except ValueError as error:
        problem = Message("is not the JSON that sitepatch writes: {error}", error=error)
        raise StoreError.at(Location(where), problem, hint) from error
    reader = Reader(where)
    head = reader.read(top, _HEAD)
    reader.stop(StoreError, hint)
    if head["format"] != RECEIPT_FORMAT:
        raise FormatError.at(
            Location(where),
            "written by sitepatch {writer} in format {format}; "
            "this one, {version}, reads format {known_format}",
            "use that release of sitepatch, or a newer one, for this environment",
            writer=head["sitepatch"],
            format=head["format"],
            version=__version__,
            known_format=RECEIPT_FORMAT,
        )
    for key in head:
        del top[key]
    fields = reader.read(top, kind)
    reader.stop(StoreError, hint)
    return dict(fields)


# the kinds of fields ---------------------------------------------------------------------------
def path_below(value: object) -> str:
    """The kind of `/`-separated paths below a site directory."""
    if not isinstance(value, str):
        return string(value)
    problem = path_problem(value)
    if problem:
        return Message("a path below a site directory ({problem})", problem=problem)
    return ""


FOLDER = or_empty(path_below)
"""The kind of such paths of directories; empty for none."""


def whole_from(low: int) -> Callable[[object], str]:
    """The kind of integers from `low` that fit 64 bits."""

    def check(value: Any) -> str:
        if not integer(value) and low <= value < 2**63:
            return ""
        return Message("a whole number from {low}", low=low)

    return check


def _mode(value: Any) -> str:
    if not integer(value) and 0 <= value <= 0o7777:
        return ""
    return Message("permission bits, at most 0o7777")


def _link(value: Any) -> str:
    if isinstance(value, str) and "\0" not in value:
        return ""
    return Message("the target of a symbolic link")


def _splices(value: Any) -> str:
    """The kind of sorted lists of `[start, end, text]`; each character of a text is a byte."""
    if not isinstance(value, list):
        return Message("a list")
    floor = 0
    for item in value:
        if not isinstance(item, list) or len(item) != 3 or integer(item[0]) or integer(item[1]):
            return Message("a list of [start, end, text]")
        start, end, code = item
        is_text = isinstance(code, str) and max(code, default="") <= "\xff"
        if not is_text or not floor <= start <= end:
            return Message("sorted splices [start, end, text]")
        floor = end
    return ""


OPTIONS = Values(option_value)
STEP = Table(
    {
        "patchset": string,
        "version": string,
        "digest": sha256_hex,
        "kind": string,
        "options": OPTIONS,
        "splices": _splices,
        "places": Items(whole_from(0)),
        "states": Items(one_of(*(state.value for state in State if not state.failed))),
        "gone": boolean,
    }
)
_HEAD = Table({"format": whole_from(0), "sitepatch": string}, other_keys=True)
_LOST_STEP = Table({"step": STEP, "version": string})
_RECEIPT = Table(
    {
        "path": path_below,
        "package": string,
        "distribution": string,
        "version": string,
        "pristine": sha256_hex,
        "current": or_empty(sha256_hex),
        "mode": _mode,
        "mtime_ns": whole_from(-(2**63)),
        "link": _link,
        "steps": Items(STEP),
        "origin": one_of(*ORIGINS),
        "folder": FOLDER,
        "lost": Items(_LOST_STEP),
    }
)

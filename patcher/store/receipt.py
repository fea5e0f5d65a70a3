"""Receipts to JSON and back. What is read may be forged or damaged: every field is checked before it is believed."""

from __future__ import annotations

import os
import stat
from typing import Any, Dict, List, NoReturn, Optional, Tuple

from patcher import __version__
from patcher.errors import FormatError, StoreError
from patcher.model import Located, OptionValue, Receipt, Splice, State, Step
from patcher.store.folder import OWN, sha256

FORMAT = 1
HOME = OWN
ORIGINS = ("recorded", "unrecorded", "edited")


def path_problem(path: str) -> str:
    """Return what keeps `path` from being a `/`-separated path below a site directory; "" if nothing does."""
    parts = path.split("/")
    if path.startswith("/"):
        return "the path is absolute"
    if "\0" in path or "\\" in path or ":" in parts[0] or any(part in ("", ".", "..") for part in parts):
        return "the path is not a plain path below the site directory"
    if parts[0].lower() == HOME:
        return "the path lies inside sitepatch's own folder"
    return ""


def file_name(path: str) -> str:
    """Return the name of the receipt for the target file `path`."""
    return sha256(path.encode("utf-8", "surrogateescape")) + ".json"


def new_receipt(located: Located, path: str, past: Optional[Receipt]) -> Receipt:
    """Return the receipt of a file, without hashes and steps.

    Args:
        located: the package.
        path: of the file.
        past: a receipt of the same pristine file, which knows its mode, mtime and link; without one they are read.
    """
    if past is None:
        full = f"{located.site}/{path}"
        info = os.lstat(full)
        mode, mtime_ns = stat.S_IMODE(info.st_mode), info.st_mtime_ns
        link = os.readlink(full) if stat.S_ISLNK(info.st_mode) else ""
    else:
        mode, mtime_ns, link = past.mode, past.mtime_ns, past.link
    return Receipt(path, located.package, located.distribution, located.version, "", "", mode, mtime_ns, link, ())


def encode(receipt: Receipt) -> bytes:
    """Return the JSON text of a receipt."""
    fields = dict(receipt._asdict(), format=FORMAT, sitepatch=__version__)
    fields["steps"] = [step_fields(step) for step in receipt.steps]
    return dump(fields)


def step_fields(step: Step) -> Dict[str, Any]:
    """Return a step as JSON has it."""
    # Latin-1 gives each byte one character: exact, and a user can read it
    splices = [[splice.start, splice.end, splice.new.decode("latin-1")] for splice in step.splices]
    return dict(step._asdict(), options=dict(step.options), splices=splices)


def decode(data: bytes, where: str) -> Receipt:
    """Return the receipt in `data`.

    Args:
        data: the JSON text.
        where: the path of the receipt file, for messages; its last component must be the name for the receipt's path.

    Raises:
        StoreError: the receipt is damaged, forged or from a newer sitepatch; says which field and what to do.
    """
    hint = f"if it is damaged, reinstall the package that it names, then delete {where}"
    top = Fields.load(data, where, hint)
    receipt = Receipt(
        path=top.path("path"),
        package=top.text("package"),
        distribution=top.text("distribution"),
        version=top.text("version"),
        pristine=top.sha256("pristine"),
        current=top.sha256("current"),
        mode=top.whole("mode"),
        mtime_ns=top.whole("mtime_ns", low=-(2**63)),
        link=top.text("link"),
        steps=tuple(read_step(item) for item in top.tables("steps")),
        origin=top.text("origin"),
    )
    top.end()
    if receipt.mode > 0o7777:
        top.refuse("mode", "permission bits, at most 0o7777")
    if receipt.origin not in ORIGINS:
        top.refuse("origin", " or ".join(ORIGINS))
    if "\0" in receipt.link:
        top.refuse("link", "the target of a symbolic link")
    if where.rpartition("/")[2] != file_name(receipt.path):
        top.refuse("path", f"the path that this file is named after, not {receipt.path!r}")
    return receipt


def read_step(table: Fields) -> Step:
    """Take a whole object as a step; StoreError for what is wrong with it."""
    step = Step(
        patchset=table.text("patchset"),
        version=table.text("version"),
        digest=table.sha256("digest"),
        kind=table.text("kind"),
        options=table.options("options"),
        splices=table.splices("splices"),
        places=table.numbers("places"),
        states=table.states("states"),
    )
    table.end()
    return step


def dump(fields: Dict[str, Any]) -> bytes:
    """Return `fields` as JSON text, the same text for the same fields."""
    import json

    return json.dumps(fields, indent=1, sort_keys=True).encode() + b"\n"


class Fields:
    """A JSON object read strictly: each method takes one field out, of one type, or raises StoreError naming it."""

    def __init__(self, value: object, where: str, hint: str) -> None:
        self._where, self._hint = where, hint
        if not isinstance(value, dict):
            self.refuse("", "a JSON object")
        self._left: Dict[str, Any] = dict(value)

    @classmethod
    def load(cls, data: bytes, where: str, hint: str) -> Fields:
        """Parse JSON text whose `format` must be one that this release knows; `where` and `hint` go into messages."""
        import json

        try:
            fields = cls(json.loads(data.decode("utf-8")), where, hint)
        except (ValueError, RecursionError) as error:
            raise StoreError(f"{where}: is not the JSON that sitepatch writes: {error}", hint) from error
        number, writer = fields.whole("format"), fields.text("sitepatch")
        if number != FORMAT:
            raise FormatError(
                f"{where}: written by sitepatch {writer} in format {number}; this one, {__version__}, reads format {FORMAT}",
                "use that release of sitepatch, or a newer one, for this environment",
            )
        return fields

    def refuse(self, key: str, expected: str) -> NoReturn:
        """Raise StoreError: the field `key` is not `expected`."""
        raise StoreError(f"{self._where}: {key or 'the file'}: expected {expected}", self._hint)

    def end(self) -> None:
        """Raise StoreError if there are fields that nobody took."""
        for key in sorted(self._left):
            self.refuse(key, "no such field")

    def text(self, key: str) -> str:
        """Take a string."""
        value = self._left.pop(key, None)
        return value if isinstance(value, str) else self.refuse(key, "a string")

    def whole(self, key: str, low: int = 0) -> int:
        """Take an integer of at least `low` that fits 64 bits."""
        value = self._left.pop(key, None)
        if not _is_whole(value) or not low <= value < 2**63:
            self.refuse(key, f"a whole number from {low}")
        return int(value)

    def sha256(self, key: str, *, empty: bool = False) -> str:
        """Take a sha256 in lower-case hex, or with `empty` perhaps ""."""
        value = self.text(key)
        if empty and not value:
            return value
        return value if is_sha256(value) else self.refuse(key, "a sha256 in hex")

    def path(self, key: str) -> str:
        """Take a path that stays below the site directory."""
        value = self.text(key)
        problem = path_problem(value)
        return self.refuse(key, f"a path below the site directory ({problem})") if problem else value

    def tables(self, key: str) -> List[Fields]:
        """Take a list of objects."""
        return [Fields(item, f"{self._where}: {key}[{i}]", self._hint) for i, item in enumerate(self._list(key))]

    def numbers(self, key: str) -> Tuple[int, ...]:
        """Take a list of integers of at least 0."""
        values = self._list(key)
        if not all(_is_whole(value) and value >= 0 for value in values):
            self.refuse(key, "a list of whole numbers")
        return tuple(values)

    def strings(self, key: str, missing: Optional[Tuple[str, ...]] = None) -> Tuple[str, ...]:
        """Take a list of strings; `missing` is for one that an older release did not write."""
        if missing is not None and key not in self._left:
            return missing
        values = self._list(key)
        if not all(isinstance(value, str) for value in values):
            self.refuse(key, "a list of strings")
        return tuple(values)

    def states(self, key: str) -> Tuple[str, ...]:
        """Take a list of states of hunks that did not fail."""
        values = self._list(key)
        if not all(value in [state.value for state in State if not state.failed] for value in values):
            self.refuse(key, "a list of states")
        return tuple(values)

    def texts(self, key: str) -> Dict[str, str]:
        """Take an object whose values are strings."""
        value = self._left.pop(key, None)
        if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
            self.refuse(key, "an object of strings")
        return dict(value)

    def options(self, key: str) -> Dict[str, OptionValue]:
        """Take an object whose values are option values."""
        value = self._left.pop(key, None)
        if not isinstance(value, dict) or not all(isinstance(one, (int, float, str)) for one in value.values()):
            self.refuse(key, "an object of numbers, strings, true and false")
        options: Dict[str, OptionValue] = dict(value)
        return options

    def splices(self, key: str) -> Tuple[Splice, ...]:
        """Take a list of `[start, end, text]`, sorted and without overlap."""
        found: List[Splice] = []
        for item in self._list(key):
            floor = found[-1].end if found else 0
            if not (isinstance(item, list) and len(item) == 3 and _is_whole(item[0]) and _is_whole(item[1])):
                self.refuse(key, "a list of [start, end, text]")
            start, end, text = item
            new = _latin(text)
            if new is None or not floor <= start <= end:
                self.refuse(key, "sorted splices [start, end, text]")
            found.append(Splice(start, end, new))
        return tuple(found)

    def _list(self, key: str) -> List[Any]:
        value = self._left.pop(key, None)
        return value if isinstance(value, list) else self.refuse(key, "a list")


def is_sha256(value: str) -> bool:
    """Tell whether `value` is a sha256 in lower-case hex, and so also a plain file name."""
    return len(value) == 64 and set(value) <= set("0123456789abcdef")


def _latin(text: object) -> Optional[bytes]:
    """The bytes that a text in Latin-1 stands for, None for anything else."""
    try:
        return text.encode("latin-1") if isinstance(text, str) else None
    except UnicodeEncodeError:
        return None


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)

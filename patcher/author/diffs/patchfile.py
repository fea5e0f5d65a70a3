"""A patch file -> its patches, each with subject, prose and provenance. Pure.

It may be a mailbox, what `git show` writes, a patch with a DEP-3 header, or a quilt series.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.utils import parsedate_to_datetime
from typing import Mapping, Sequence

from patcher.author.diffs.unified import DiffProblem, Section, parse_diff, pasted
from patcher.message import Message
from patcher.record import Record

_MAIL = re.compile(
    rb"^From (?:[0-9a-f]{40} |(?=\S*@)\S+ +(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) )", re.MULTILINE
)
_FIELD = re.compile(r"([A-Za-z][A-Za-z-]*):(?:\s+|$)(.*)")
_DEP3 = (
    "description",
    "subject",
    "origin",
    "bug",
    "forwarded",
    "author",
    "from",
    "last-update",
    "applied-upstream",
)
_MAIL_HEAD = (
    "date",
    "to",
    "cc",
    "message-id",
    "mime-version",
    "return-path",
    "received",
    "delivered-to",
    "reply-to",
)
_COMMIT = re.compile(r"(?:commit|From|# Node ID) ([0-9a-f]{7,40})\b.*")
_MERCURIAL = re.compile(r"# (HG changeset patch|User|Date|Parent|Branch)\b")
_USER = "# User "
_APPLIED = "applied upstream: "
_TAGS = re.compile(r"(?:\s*\[[^\]]*\]|\s*Re:)*\s*")


class Patch(Record):
    """One patch.

    Attributes:
        subject: in one line, "" for none.
        prose: what stands below it.
        provenance: the keys of `[provenance]`.
        sections: the diff, one for each file.
        problems: what is wrong with the diff.
    """

    subject: str
    prose: str
    provenance: Mapping[str, str]
    sections: tuple[Section, ...]
    problems: tuple[DiffProblem, ...] = ()

    @property
    def fields(self) -> dict[str, str]:
        """The provenance by the names that DEP-3 has."""
        fields: dict[str, str] = {}
        for key, value in self.provenance.items():
            name = key.replace("_", "-").title()
            if key == "remove_when":
                name = "Applied-Upstream"
            fields[name] = value.replace(_APPLIED, "", 1)
        return fields

    @property
    def head(self) -> str:
        """All that is said around the diff.

        That is a header of fields (DEP-3), which `read_head` reads again, and the prose.
        """
        header = ""
        for name, value in [("Description", self.subject), *self.fields.items()]:
            if value:
                header += f"{name}: {value}\n"
        return "\n".join(filter(None, (header, self.prose)))


class _Head(Record):
    """What stands above a diff: fields by their lower-case names, and prose."""

    fields: dict[str, list[str]]
    prose: str

    def first(self, name: str) -> str:
        """The first value of a field, "" for none."""
        return self.fields.get(name, [""])[0]

    def all(self, *names: str) -> str:
        """All values of fields in one line, each once."""
        values: dict[str, None] = {}
        for name in names:
            for value in self.fields.get(name, ()):
                values[_plain(" ".join(value.split()))] = None
        return ", ".join(filter(None, values))


def read_patches(data: bytes) -> tuple[list[Patch], list[DiffProblem]]:
    """The patches of a file, in its order, and what is wrong with it.

    A mail without a diff, such as a cover letter, is a patch without sections.
    """
    if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):  # written by a redirection in PowerShell
        data = data.decode("utf-16", "replace").encode("utf-8")
    if data.startswith(BOM_UTF8):
        data = data[len(BOM_UTF8) :]
    begins = [found.start() for found in _MAIL.finditer(data)] or [0]
    if data[: begins[0]].strip():
        begins.insert(0, 0)

    patches: list[Patch] = []
    problems: list[DiffProblem] = []
    for start, end in zip(begins, [*begins[1:], len(data)]):
        first = data[:start].count(b"\n") + 1
        text, charset = _decoded(data[start:end])
        sections, wrong, length = parse_diff(text, first)
        if not sections and not wrong:
            text = pasted(text)
            sections, wrong, length = parse_diff(text, first)
        problems += wrong
        patch = read_head(_text(text[:length], charset))
        patches.append(patch._replace(sections=tuple(sections), problems=tuple(wrong)))
    return patches, problems


def read_series(text: str) -> tuple[list[str], list[DiffProblem]]:
    """The file names in a quilt `series`, in its order.

    A patch that is applied in reverse is a problem.
    """
    names: list[str] = []
    problems: list[DiffProblem] = []
    for number, line in enumerate(text.splitlines(), 1):
        name, *options = line.split(" #")[0].split() or [""]
        if not name or name.startswith("#"):
            continue
        names.append(name)
        if "-R" in options or "--reverse" in options:
            problem = Message("{name} is to be applied in reverse (-R)", name=name)
            problems.append(DiffProblem(number, problem))
    return names, problems


def _decoded(mail: bytes) -> tuple[bytes, str]:
    """A mail with its body decoded, and the name of its character set, "" for none."""
    head = re.split(rb"\r?\n\r?\n", mail, maxsplit=1)[0]
    if not re.search(rb"^Content-T", head, re.MULTILINE | re.IGNORECASE):
        return mail, ""

    message = message_from_bytes(mail)
    charset = message.get_content_charset("")
    body = message.get_payload(decode=True)
    coding = message.get("Content-Transfer-Encoding", "").lower()
    if coding in ("base64", "quoted-printable") and isinstance(body, bytes):
        return head + b"\n\n" + body, charset
    return mail, charset


def _text(data: bytes, charset: str) -> str:
    for name in (charset, "utf-8"):
        try:
            return data.decode(name or "utf-8").replace("\r", "")
        except (ValueError, LookupError):  # not in it, or no name of one
            continue
    return data.decode("latin-1").replace("\r", "")


def read_head(text: str) -> Patch:
    """The patch whose `head` is this text, without its sections."""
    head = _read_fields(text)
    prose = head.prose
    if "description" in head.fields:
        subject, _, below = head.first("description").partition("\n")
        prose = f"{below}\n\n{prose}".strip()
    else:
        subject = " ".join(_TAGS.sub("", _plain(head.first("subject")), count=1).split())
    if not subject:
        subject, _, prose = prose.partition("\n")
    return Patch(subject.strip(), prose.strip("\n"), provenance=_provenance(head), sections=())


def _read_fields(text: str) -> _Head:
    """The fields of a header, and the prose; a diffstat (from `---` on) is left out."""
    fields: dict[str, list[str]] = {}
    prose: list[str] = []
    in_head, last = True, ""  # the last field, which may go on
    for line in text.strip("\n").split("\n"):
        if line.rstrip() == "---":
            break
        commit, field = _COMMIT.fullmatch(line), _FIELD.fullmatch(line)
        if commit and in_head:
            if commit.group(1).strip("0"):  # else a mail that no commit was made of
                fields.setdefault("commit", []).append(commit.group(1))
        elif field and _is_field(field.group(1).lower(), fields, in_head=in_head):
            last = field.group(1).lower()
            fields.setdefault(last, []).append(field.group(2))
        elif last and line[:1].isspace() and line.strip():
            fields[last][-1] += _continued(last, line)
        elif line.startswith(_USER):
            fields["author"] = [line[len(_USER) :]]
        elif not _MERCURIAL.match(line):
            in_head = in_head and not line.strip() and not fields
            last = ""
            prose.append(line)

    # as `git show` has it
    written = [line for line in prose if line.strip()]
    if "commit" in fields and written and all(line.startswith("    ") for line in written):
        prose = [line[4:] for line in prose]
    return _Head(fields, "\n".join(prose).strip("\n"))


def _is_field(name: str, fields: Mapping[str, object], *, in_head: bool) -> bool:
    """Whether a line that looks like a field is one: DEP-3 has them below the prose as well."""
    if name in _DEP3 or name.startswith("bug-"):
        return True
    return in_head and (bool(fields) or name in _MAIL_HEAD)


def _continued(name: str, line: str) -> str:
    """What a further line adds to a field; those of a description stay lines."""
    if name != "description":
        text = line.strip()
        return " " if text == "." else f" {text}"
    return "\n" if line.strip() == "." else f"\n{line[1:]}"


def _provenance(head: _Head) -> dict[str, str]:
    bugs = sorted(name for name in head.fields if name == "bug" or name.startswith("bug-"))
    commit, applied = head.first("commit"), head.all("applied-upstream")
    provenance = {
        "origin": head.all("origin") or (f"commit {commit}" if commit else ""),
        "bug": head.all(*bugs),
        "forwarded": head.all("forwarded"),
        "author": head.all("author") or head.all("from"),
        "last_update": head.all("last-update") or _first_day(head.fields.get("date", ())),
        "remove_when": f"{_APPLIED}{applied}" if applied else "",
    }
    return {key: value for key, value in provenance.items() if value}


def _first_day(dates: Sequence[str]) -> str:
    """The day (ISO 8601) of the first of these dates of mails that can be read, "" for none."""
    for date in dates:
        try:
            return parsedate_to_datetime(date).date().isoformat()
        except (TypeError, ValueError, IndexError):
            continue
    return ""


def _plain(text: str) -> str:
    """The text of a header; mails encode what is not ASCII as `=?utf-8?q?...?=`."""
    if "=?" not in text:
        return text

    try:
        return str(make_header(decode_header(text)))
    except (HeaderParseError, ValueError, LookupError):
        return text

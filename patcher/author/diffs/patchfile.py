"""A patch file -> its patches, each with subject, prose and provenance: mails, `git show`, DEP-3, a quilt series. Pure."""

from __future__ import annotations

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.utils import parsedate_to_datetime
from typing import Iterator, Mapping, NamedTuple, Sequence

from patcher.author.diffs.unified import DiffProblem, Section, parse_diff, pasted
from patcher.message import Message

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
_APPLIED = "applied upstream: "
_TAGS = re.compile(r"(?:\s*\[[^\]]*\]|\s*Re:)*\s*")


class Patch(NamedTuple):
    """One patch: its subject in one line ("" for none), its prose, the keys of `[provenance]`, and a section for each file.

    `problems` are what is wrong with its diff.
    """

    subject: str
    prose: str
    provenance: Mapping[str, str]
    sections: tuple[Section, ...]
    problems: tuple[DiffProblem, ...] = ()

    @property
    def fields(self) -> dict[str, str]:
        """The provenance by the names that DEP-3 has."""
        names = {key: key.replace("_", "-").title() for key in self.provenance}
        names["remove_when"] = "Applied-Upstream"
        return {
            names[key]: value.replace(_APPLIED, "", 1) for key, value in self.provenance.items()
        }

    @property
    def head(self) -> str:
        """All that is said around the diff: a header of fields (DEP-3), which `read_head` reads again, and the prose."""
        fields = [("Description", self.subject), *self.fields.items()]
        header = "".join(f"{name}: {value}\n" for name, value in fields if value)
        return "\n".join(filter(None, (header, self.prose)))


def read_patches(data: bytes) -> tuple[list[Patch], list[DiffProblem]]:
    """The patches of a file, in its order, and what is wrong with it.

    A mail without a diff, such as a cover letter, is a patch without sections.
    """
    if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):  # written by a redirection in PowerShell
        data = data.decode("utf-16", "replace").encode("utf-8")
    data = data[len(BOM_UTF8) :] if data.startswith(BOM_UTF8) else data
    begins = [found.start() for found in _MAIL.finditer(data)] or [0]
    begins = [0, *begins] if data[: begins[0]].strip() else begins
    found: list[Patch] = []
    problems: list[DiffProblem] = []
    for start, end in zip(begins, [*begins[1:], len(data)]):
        first = data[:start].count(b"\n") + 1
        text, charset = _decoded(data[start:end])
        sections, wrong, length = parse_diff(text, first)
        if not (sections or wrong):
            text = pasted(text)
            sections, wrong, length = parse_diff(text, first)
        problems += wrong
        found.append(
            _patch(_text(text[:length], charset), tuple(sections))._replace(problems=tuple(wrong))
        )
    return found, problems


def read_head(text: str) -> Patch:
    """The patch whose `head` is this text, without its sections."""
    return _patch(text, ())


def read_series(text: str) -> tuple[list[str], list[DiffProblem]]:
    """The file names in a quilt `series`, in its order; a patch that is applied in reverse is a problem."""
    names: list[str] = []
    problems: list[DiffProblem] = []
    for number, line in enumerate(text.splitlines(), 1):
        name, *options = line.split(" #")[0].split() or [""]
        if name and not name.startswith("#"):
            names.append(name)
            if {"-R", "--reverse"} & set(options):
                problems.append(
                    DiffProblem(
                        number, Message("{name} is to be applied in reverse (-R)", name=name)
                    )
                )
    return names, problems


def _decoded(mail: bytes) -> tuple[bytes, str]:
    """A mail with its body decoded, and the name of its character set, "" for none."""
    head = re.split(rb"\r?\n\r?\n", mail, maxsplit=1)[0]
    if not re.search(rb"^Content-T", head, re.MULTILINE | re.IGNORECASE):
        return mail, ""
    message = message_from_bytes(mail)
    charset = message.get_content_charset("")
    body = message.get_payload(decode=True)
    coded = message.get("Content-Transfer-Encoding", "").lower() in ("base64", "quoted-printable")
    return head + b"\n\n" + body if coded and isinstance(body, bytes) else mail, charset


def _text(data: bytes, charset: str) -> str:
    for name in (charset, "utf-8"):
        try:
            return data.decode(name or "utf-8").replace("\r", "")
        except (ValueError, LookupError):  # not in it, or no name of one
            continue
    return data.decode("latin-1").replace("\r", "")


def _patch(text: str, sections: tuple[Section, ...]) -> Patch:
    fields, prose = _split(text)
    subject = " ".join(_TAGS.sub("", _plain(fields.get("subject", [""])[0]), count=1).split())
    if "description" in fields:
        first, *more = fields["description"][0].split("\n")
        subject = first
        prose = "\n".join([*more, "", prose]).strip()
    lines = prose.split("\n")
    if not subject:
        subject, lines = lines[0], lines[1:]
    body = "\n".join(lines).strip("\n")
    return Patch(subject.strip(), body, _provenance(fields), sections)


def _split(text: str) -> tuple[dict[str, list[str]], str]:
    """The fields of a header by their lower-case names, and the prose; a diffstat (from `---` on) is left out."""
    fields: dict[str, list[str]] = {}
    prose: list[str] = []
    lines = iter(text.strip("\n").split("\n"))
    head, last = True, ""
    for line in lines:
        commit, field = _COMMIT.fullmatch(line), _FIELD.fullmatch(line)
        name = field.group(1).lower() if field else ""
        if line.rstrip() == "---":
            break
        if commit and head and not commit.group(1).strip("0"):
            continue  # a mail that no commit was made of
        if commit and head:
            fields.setdefault("commit", []).append(commit.group(1))
        elif field and (
            name in _DEP3 or name.startswith("bug-") or (head and (fields or name in _MAIL_HEAD))
        ):
            fields.setdefault(name, []).append(field.group(2))
            last = name
        elif last and line[:1].isspace() and line.strip():
            joint = "\n" if last == "description" else " "
            fields[last][-1] += joint + (
                "" if line.strip() == "." else line[1:] if last == "description" else line.strip()
            )
        elif not re.match(r"# (HG changeset patch|User|Date|Parent|Branch)\b", line):
            head = head and not line.strip() and not fields
            last = ""
            prose.append(line)
        elif line.startswith("# User "):
            fields["author"] = [line[len("# User ") :]]
    indented = [line for line in prose if line.strip()]
    # as `git show` has it
    if "commit" in fields and indented and all(line.startswith("    ") for line in indented):
        prose = [line[4:] for line in prose]
    return fields, "\n".join(prose).strip("\n")


def _provenance(fields: Mapping[str, list[str]]) -> dict[str, str]:
    def all_of(*names: str) -> str:
        values = (
            _plain(" ".join(value.split())) for name in names for value in fields.get(name, ())
        )
        return ", ".join(dict.fromkeys(filter(None, values)))

    bugs = sorted(name for name in fields if name == "bug" or name.startswith("bug-"))
    applied = all_of("applied-upstream")
    found = {
        "origin": all_of("origin")
        or "".join(f"commit {each}" for each in fields.get("commit", ())[:1]),
        "bug": all_of(*bugs),
        "forwarded": all_of("forwarded"),
        "author": all_of("author") or all_of("from"),
        "last_update": all_of("last-update") or next(_days(fields.get("date", ())), ""),
        "remove_when": f"{_APPLIED}{applied}" if applied else "",
    }
    return {key: value for key, value in found.items() if value}


def _days(dates: Sequence[str]) -> Iterator[str]:
    for date in dates:
        try:
            yield parsedate_to_datetime(date).date().isoformat()
        except (TypeError, ValueError, IndexError):
            continue


def _plain(text: str) -> str:
    """The text of a header; mails encode what is not ASCII as `=?utf-8?q?...?=`."""
    try:
        return str(make_header(decode_header(text))) if "=?" in text else text
    except (HeaderParseError, ValueError, LookupError):
        return text

"""How a random program is written down (`tools/programs.py`).

Lines have marks until they are written: what is inside a string, what continues a statement, and
what is in the file and not in the hunk.
"""

from __future__ import annotations

import re
from random import Random
from typing import Any, Sequence

IN_STRING = "\x01"  # begins a line that is inside a string, and keeps its indentation
CONTINUED = "\x03"  # ends a line that continues the statement or header above it
LOOSE = "\x02"  # what follows is in the file and not in the hunk: a comment, a blank line
_QUOTES = re.compile(r"'''|\"\"\"")


class Layout:
    """How a program is written: the same statement mostly in the same way.

    `flips` is how often not, `loose` how often something is in the file alone.
    """

    def __init__(self, random: Random) -> None:
        self.random = random
        self.flips = 0.0
        self.loose = random.choice([0, 0, 0.1, 0.4])
        self.number = 0
        self.shares = {
            "inline": random.choice([0, 0, 0.3, 1]),
            "semicolon": random.choice([0, 0, 0.3]),
            "comment": 0.1,
            "end": 0.05,
        }
        self.chosen: dict[tuple[str, str], bool] = {}

    def says(self, how: str, text: str) -> bool:
        """Whether this text is written in this way."""
        # drawn for each, also where it is chosen already
        drawn = self.random.random() < self.shares[how]
        chosen = self.chosen.setdefault((how, text), drawn)
        return chosen != (self.random.random() < self.flips)

    def placed(self, text: str, indent: str) -> list[str]:
        """The lines of a statement or header, with what is in the file alone above and behind."""
        placed: list[str] = []
        inside, opened = "", 0
        parts = text.split("\n")
        for at, line in enumerate(parts):
            mark = CONTINUED if opened > 0 else ""
            placed.append(IN_STRING + line if inside else indent + line + mark)
            opened += _opened(line)
            if at > 0 and parts[at - 1].endswith("\\"):
                opened -= 1
            for quotes in _QUOTES.findall(line):
                inside = "" if inside else quotes
            if not at and self.random.random() < self.loose:
                self.number += 1
                loose = self.random.choice(["", f"{indent}# loose {self.number}"])
                placed.insert(0, LOOSE + loose)
        if self.says("end", text) and "\n" not in text:
            placed[-1] += f"  # at {text[:5]}"
        elif self.random.random() < self.loose and not inside and not placed[-1].endswith("\\"):
            self.number += 1
            placed[-1] += f"{LOOSE}  # loose {self.number}"
        return placed

    def lines(self, body: Sequence[Any], indent: str = "") -> list[str]:
        """The lines of a body."""
        out: list[str] = []
        before = None
        for each in body:
            if isinstance(each, list):
                out += self._compound(each, indent)
            elif self._joins(before, each, out):
                out[-1] = f"{out[-1]}; {each}"
            else:
                out += self.placed(each, indent)
            before = each
        return out

    def _joins(self, before: Any, text: str, out: Sequence[str]) -> bool:
        """Whether a statement stands behind another one, with a semicolon."""
        if not isinstance(before, str) or not self.says("semicolon", text) or "#" in out[-1]:
            return False
        return "\n" not in text + before

    def _compound(self, clauses: Sequence[Any], indent: str) -> list[str]:
        out: list[str] = []
        first = clauses[0][0]
        if self.says("comment", first):
            out.append(f"{indent}# about {first.split()[0]}")
        deeper = indent
        for header, body in clauses:
            if self._is_inline(header, body):
                out.append(f"{deeper}{header} {'; '.join(body)}")
            else:
                out += [*self.placed(header, deeper), *self.lines(body, deeper + "    ")]
            deeper = indent + "    " if first.startswith("match") else indent
        return out

    def _is_inline(self, header: str, body: Sequence[Any]) -> bool:
        """Whether a body stands behind its header."""
        flat = [part for part in body if isinstance(part, str) and "\n" not in part]
        fits = len(flat) == len(body) > 0 and "\n" not in header
        return fits and self.says("inline", header)


def _opened(line: str) -> int:
    """How many brackets a line leaves open; a backslash at its end counts as one."""
    opened = int(line.endswith("\\"))
    for char in line:
        opened += (char in "([{") - (char in ")]}")
    return opened


def indented(line: str, unit: str, depth: int = 0) -> str:
    """A line without its marks, at so many levels more, in another unit of indentation."""
    if line.startswith(IN_STRING):
        return line[1:]
    line = line.replace(LOOSE, "").replace(CONTINUED, "")
    level = (len(line) - len(line.lstrip(" "))) // 4
    return unit * (depth + level) + line[4 * level :] if line else ""


def kept_comments(before: Sequence[str], hunk: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The comments in the file alone that are between two kept lines of a hunk, or behind one."""
    signs = [tag for tag, _ in hunk if tag != "+"]
    kept: list[str] = []
    row = 0
    for line in before:
        if line.startswith(LOOSE):
            if "#" in line and signs[max(0, row - 1) : row + 1] in ([" ", " "], [" "]):
                kept.append(line[1:].strip())
            continue
        if LOOSE in line and signs[row] == " ":
            kept.append(line.split(LOOSE)[1].strip())
        row += 1
    return tuple(kept)

"""How `tools.fuzz` changes texts: by lines, words and bytes, in an order that a seed decides."""

from __future__ import annotations

import re
from random import Random
from typing import Sequence

from tests.engine import corpus

_WORDS = r"""
... ... $X $Y $_ $O $option $x $Mixed $ " ' ''' ( ) [ ] { } , : ; = == := -> * ** @ . + - not
if elif else for while with try except finally case match def class lambda return yield await async
pass del global import from as in is and or print max old x a f 1 0x1 1.5 None True \ # f'{a}'
f"{a!r:>{b}}" b'a' r'\d' break nonlocal $X=1 *$X **$X *, /, é 中
"""
WORDS = [*_WORDS.split(), "\t", "\f", "\r", "\u2028", ""]
CONTROLS = ["\0", "\1", "\b", "\v", "\x1a", "\x1b[8m", "\x7f", "\x85", "\u200b", "\u202e", "\ufeff"]
INDENTS = [
    *("", " ", "  ", "   ", "    ", "     ", "        "),
    *("\t", "\t\t", " \t", "\t ", "    \t"),
    *("\f", "\f    ", "\\\n", " " * 99),
]
SIGNS = [" ", "-", "+", "@@ f @@\n-", " ...\n+", "", "  "]
AROUND = [
    ("(", ")"),
    ("[", "]"),
    ("{", "}"),
    ("f(", ")"),
    ("a[", ",]"),
    ("f'{", "}'"),
    ('f"""{', '}"""'),
    ("(lambda: ", ")"),
    ("{1: ", "}"),
    ("C(k=", ")"),
    ("not ", ""),
    ("-", ""),
    ("await ", ""),
    ("*", ""),
    ("lambda a=1: ", ""),
    ("b if c else ", ""),
    ("'a' ", ""),
    ("@", ""),
    ("a, ", ""),
    ("if a: ", ""),
    ("", ".b"),
    ("", "()"),
    ("", "[0]"),
    ("", " + a"),
    ("", " and a"),
    ("", " < a"),
    ("", " 'a'"),
    ("", ","),
    ("", ";a"),
    ("", "\n elif a: b"),
    ("", "\n+  a"),
    ("", " for a in b"),
    ("$X.", ""),
    ("..., ", ""),
    ("(", ""),
    ("", "}"),
    ("if a:\n ", ""),
    ("try:\n+", ""),
]
"""What is put before and behind a piece of code, many times."""
MORE = ["+print(1)\n", "+if 1:\n+    print(1)\n", "", "+ ...\n", "+# note\n+print(a)  # why\n"]
_TOKEN = re.compile(r"\$\w*|\w+|\.\.\.|[ \t]+|\n|.", re.DOTALL)


def quoted(random: Random, data: bytes) -> str | None:
    """A .spatch that quotes some lines of a target, or a piece of it with holes."""
    lines = data.decode("utf-8", "replace").splitlines()
    names = re.findall(r"^ *(?:def|class) (\w+)", "\n".join(lines), re.M)
    if not lines:
        return None
    first = random.randrange(len(lines))
    text = corpus.holed(_dedented(lines[first : first + random.choice([1, 1, 2, 3, 6])]), random)
    body = ""
    for line in text.split("\n"):
        body += random.choice(["-", " ", " "]) + line + "\n"
    more = random.choice(MORE)
    scope = random.choice([*names, "<module>", "*", "*.*"])
    lines = [more, body] if random.random() < 0.5 else [body, more]
    return f"--- p/m.py\n@@ {scope} @@ count=all\n" + "".join(lines)


def _dedented(lines: Sequence[str]) -> str:
    """Lines without the indentation of the first."""
    depth = len(lines[0]) - len(lines[0].lstrip())
    return "\n".join(line[depth:] for line in lines)


def changed(random: Random, text: str, other: str) -> str:
    """A text with one of its lines or words taken out, doubled, moved, or put in from elsewhere."""
    by_line = random.random() < 0.5
    parts = _parts(text, by_line)
    if not parts:
        return random.choice(WORDS)
    at, to = random.randrange(len(parts)), random.randrange(len(parts))
    how = random.randrange(10)
    if how == 0:
        del parts[at : at + random.choice([1, 1, 2, 5])]
    elif how == 1:
        parts.insert(to, parts[at])
    elif how == 2:
        parts[at], parts[to] = parts[to], parts[at]
    elif how == 3 and by_line:
        parts[at] = random.choice(SIGNS) + parts[at][random.choice([0, 1]) :]
    elif how == 4:
        parts.insert(at, random.choice(_parts(other, by_line) or [""]))
    elif how == 5 and by_line:
        parts[at] = random.choice([" ", "    ", "\t"]) + parts[at]
    elif how == 6 and by_line:
        sign, code = parts[at][:1], parts[at][1:]
        parts[at] = sign + random.choice(INDENTS) + code.lstrip(random.choice([" ", " \t", ""]))
    elif how == 7:
        parts[at] = nested(random, parts[at])
    elif how == 8:
        parts.insert(at, random.choice(CONTROLS))
    else:
        parts[at] = random.choice(WORDS)
    return "".join(parts)


def _parts(text: str, by_line: bool) -> list[str]:
    return text.splitlines(True) if by_line else _TOKEN.findall(text)


def nested(random: Random, code: str) -> str:
    """A piece of code in the middle of much that is opened around it, or chained to it."""
    times = random.choice([3, 12, 90, 150, 400, 1_000, 6_000])
    start, middle = code[:1], code[1:].rstrip("\n")
    end = "\n" if code.endswith("\n") else ""
    opening, closing = random.choice(AROUND)
    return start + opening * times + middle + closing * times + end


LINE_ENDS = [b"\r\n", b"\r", b"\n\n", b"\n\x0c\n", b";"]
BEGINNINGS = [b"\xef\xbb\xbf", b"# coding: latin-1\n", b"# coding: gbk\r\n", b"\n"]


def changed_bytes(random: Random, data: bytes) -> bytes:
    """Bytes with one exchanged, with other line ends or another beginning, or cut off."""
    how = random.randrange(6)
    at = random.randrange(len(data) + 1)
    if how == 0:
        return data[:at] + bytes([random.randrange(256)]) + data[at + random.choice([0, 1]) :]
    if how == 1:
        return data.replace(b"\n", random.choice(LINE_ENDS), random.choice([1, 3, -1]))
    if how == 2:
        return random.choice(BEGINNINGS) + data
    if how == 3:
        return data.rstrip()
    if how == 4:
        return data.replace(b"    ", random.choice([b"\t", b"  ", b" "]))
    return data[:at]

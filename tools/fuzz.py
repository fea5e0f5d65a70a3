"""A bounded fuzzer: whatever a .spatch, a patchset.toml and a target are made of, there is an answer, and no damage.

    python -m tools.fuzz [--seconds 60] [--seed 0] [--cases N] [--only CASE]

Cases are the tables of the engine's tests, the built-in patchsets on the stand-ins of fixtures/, and hunks made from pieces of
their own targets; each is changed a few times, by lines, words and bytes. What is a fault: an exception that is no
`SitepatchError`, more than ten CPU seconds, a failed answer with changed bytes, a result that does not compile though its
source did, a second application that changes the result. A fault is made smaller and printed with the number to repeat it by.
"""

from __future__ import annotations

import argparse
import faulthandler
import importlib
import pkgutil
import re
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from random import Random
from types import FrameType
from typing import Callable, Iterator, Mapping, NamedTuple

import tests.engine
from patcher.engine.engine import rewrite
from patcher.engine.spatch.hunk import parse_spatch
from patcher.errors import SitepatchError
from patcher.model import OptionValue, Rewrite, apply_splices
from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import BUILT_IN, builtin_dir
from patcher.patchset.variants import choose_variant, pick_variants, resolve_options
from tests.engine import corpus

CPU_SECONDS = 10.0
FIXTURES = Path(builtin_dir()).parent / "fixtures"
_WORDS = r"""... ... $X $Y $_ $O $option $x $Mixed $ " ' ''' ( ) [ ] { } , : ; = == := -> * ** @ . + - not if elif else for while with try
except finally case match def class lambda return yield await async pass del global import from as in is and or print max old x a f
1 0x1 1.5 None True \ # f'{a}' f"{a!r:>{b}}" b'a' r'\d' break nonlocal $X=1 *$X **$X *, /, é 中"""
WORDS = [*_WORDS.split(), "\t", "\f", "\r", "\u2028", ""]
CONTROLS = ["\0", "\1", "\b", "\v", "\x1a", "\x1b[8m", "\x7f", "\x85", "\u200b", "\u202e", "\ufeff"]
INDENTS = [
    "",
    " ",
    "  ",
    "   ",
    "    ",
    "     ",
    "        ",
    "\t",
    "\t\t",
    " \t",
    "\t ",
    "    \t",
    "\f",
    "\f    ",
    "\\\n",
    " " * 99,
]
SIGNS = [" ", "-", "+", "@@ f @@\n-", " ...\n+", "", "  "]
_TOKEN = re.compile(r"\$\w*|\w+|\.\.\.|[ \t]+|\n|.", re.DOTALL)


class Case(NamedTuple):
    """A target, a .spatch for it and the values of its options; or the text of a patchset.toml alone."""

    data: bytes
    spatch: str
    options: Mapping[str, OptionValue]
    manifest: str = ""


class Hang(BaseException):
    """A case took too long. Not an `Exception`, so that nothing takes it for an error of the target."""


class Finding(NamedTuple):
    """What is wrong with a case: `key` tells faults of one cause apart from others."""

    key: str
    text: str


# where cases come from ------------------------------------------------------------------------------------------------
def seeds() -> list[Case]:
    """All cases before they are changed, in a fixed order; about one in five is of a built-in patchset."""
    tables, built_in = list(_tables()), list(_built_in())
    return [*tables, *built_in * (1 + len(tables) // (4 * len(built_in)))]


def _tables() -> Iterator[Case]:
    """Every (source, hunk, …) in a table of the engine's tests."""
    for found in sorted(pkgutil.iter_modules(tests.engine.__path__), key=lambda found: found.name):
        if not found.name.startswith("test_") or found.name in ("test_properties", "test_fuzz"):
            continue
        module = importlib.import_module(f"tests.engine.{found.name}")
        for table in [value for value in vars(module).values() if isinstance(value, dict)]:
            for case in [case for case in table.values() if isinstance(case, tuple)]:
                texts = [part for part in case if isinstance(part, str) and part]
                hunks = [part for part in texts[1:] if part[0] in "+- @"]
                if hunks:
                    source = (
                        texts[0]
                        if re.search(r"^def |^class ", texts[0], re.M)
                        else f"def f(a, b, c):\n    {texts[0]}\n"
                    )
                    yield Case(
                        source.encode(), f"--- p/m.py\n@@ f @@\n{hunks[0]}", {"option": 1, "x": "a"}
                    )
                elif isinstance(case[0], bytes) and len(case[0]) < 20_000:
                    yield Case(case[0], "--- p/m.py\n@@ f @@\n-old(a)\n+max(a, 0)\n x = $V\n", {})


def _built_in() -> Iterator[Case]:
    for folder in sorted(path.parent for path in Path(builtin_dir()).glob("*/patchset.toml")):
        patchset = load_patchset(folder, BUILT_IN)
        options = resolve_options(patchset, {})
        yield Case(b"", "", {}, patchset.folder.files["patchset.toml"])
        for name, text in sorted(patchset.folder.files.items()):
            patches = parse_spatch(text, name)[1] if name.endswith(".spatch") else ()
            for patch in (patch for patch in patches if not patch.adds):
                start = text.index(f"--- {patch.paths[0]}")
                for target in sorted(FIXTURES.glob(f"*/{patch.paths[-1]}")):
                    yield Case(target.read_bytes(), text[start:], options)


def quoted(random: Random, data: bytes) -> str | None:
    """A .spatch that quotes some lines of a target, or a piece of it with holes."""
    lines = data.decode("utf-8", "replace").splitlines()
    names = re.findall(r"^ *(?:def|class) (\w+)", "\n".join(lines), re.M)
    if not lines:
        return None
    first = random.randrange(len(lines))
    chosen = lines[first : first + random.choice([1, 1, 2, 3, 6])]
    text = corpus.holed(
        "\n".join(line[len(chosen[0]) - len(chosen[0].lstrip()) :] for line in chosen), random
    )
    body = "".join(random.choice(["-", " ", " "]) + line + "\n" for line in text.split("\n"))
    more = random.choice(
        ["+print(1)\n", "+if 1:\n+    print(1)\n", "", "+ ...\n", "+# note\n+print(a)  # why\n"]
    )
    scope = random.choice([*names, "<module>", "*", "*.*"])
    return f"--- p/m.py\n@@ {scope} @@ count=all\n" + (
        more + body if random.random() < 0.5 else body + more
    )


# how they are changed -------------------------------------------------------------------------------------------------
def changed(random: Random, text: str, other: str) -> str:
    """A text with one of its lines or words taken out, doubled, moved, or put in from elsewhere."""
    by_line = random.random() < 0.5
    parts = text.splitlines(True) if by_line else _TOKEN.findall(text)
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
        source = other.splitlines(True) if by_line else _TOKEN.findall(other)
        parts.insert(at, random.choice(source or [""]))
    elif how == 5 and by_line:
        parts[at] = random.choice([" ", "    ", "\t"]) + parts[at]
    elif how == 6 and by_line:
        parts[at] = (
            parts[at][:1]
            + random.choice(INDENTS)
            + parts[at][1:].lstrip(random.choice([" ", " \t", ""]))
        )
    elif how == 7:
        parts[at] = nested(random, parts[at])
    elif how == 8:
        parts.insert(at, random.choice(CONTROLS))
    else:
        parts[at] = random.choice(WORDS)
    return "".join(parts)


def nested(random: Random, code: str) -> str:
    """A piece of code in the middle of much that is opened around it, or chained to it."""
    n = random.choice([3, 12, 90, 150, 400, 1_000, 6_000])
    start, code, end = code[:1], code[1:].rstrip("\n"), "\n" if code.endswith("\n") else ""
    opened, closed = random.choice(
        [
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
    )
    return start + opened * n + code + closed * n + end


def changed_bytes(random: Random, data: bytes) -> bytes:
    how = random.randrange(6)
    at = random.randrange(len(data) + 1)
    if how == 0:
        return data[:at] + bytes([random.randrange(256)]) + data[at + random.choice([0, 1]) :]
    if how == 1:
        return data.replace(
            b"\n",
            random.choice([b"\r\n", b"\r", b"\n\n", b"\n\x0c\n", b";"]),
            random.choice([1, 3, -1]),
        )
    if how == 2:
        return (
            random.choice([b"\xef\xbb\xbf", b"# coding: latin-1\n", b"# coding: gbk\r\n", b"\n"])
            + data
        )
    if how == 3:
        return data.rstrip()
    if how == 4:
        return data.replace(b"    ", random.choice([b"\t", b"  ", b" "]))
    return data[:at]


def make(random: Random, cases: list[Case]) -> Case:
    """One of the cases, changed a few times."""
    case, other = random.choice(cases), random.choice(cases)
    if random.random() < 0.35 and not case.manifest:
        case = case._replace(spatch=quoted(random, case.data) or case.spatch)
    elif random.random() < 0.05:
        case = case._replace(spatch=other.spatch)
    for _ in range(random.choice([0, 1, 1, 2, 3, 8])):
        if case.manifest:
            case = case._replace(
                manifest=changed(random, case.manifest, other.manifest or other.spatch)
            )
        elif random.random() < 0.5:
            case = case._replace(
                spatch=changed(random, case.spatch, random.choice([other.spatch, case.spatch]))
            )
        elif random.random() < 0.6:
            text = changed(random, case.data.decode("latin-1"), other.data.decode("latin-1"))
            case = case._replace(
                data=text.encode("utf-8", "replace") if not text.isascii() else text.encode()
            )
        else:
            case = case._replace(data=changed_bytes(random, case.data))
    return case


# what is a fault ------------------------------------------------------------------------------------------------------
def classified(case: Case, counts: Counter[str] | None = None) -> Finding | None:
    """What is wrong with the answer to a case."""
    counts = Counter() if counts is None else counts
    try:
        with limit(CPU_SECONDS):
            return _manifest(case, counts) if case.manifest else _hunks(case, counts)
    except SitepatchError as error:
        counts["refused when loaded"] += 1
        return None if error.message.strip() else Finding("no words", "an error without a message")
    except Hang:
        return Finding(
            "hang", f"more than {CPU_SECONDS:g} seconds\n{traceback.format_exc()[-2000:]}"
        )
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        key = f"{type(error).__name__} in {Path(place.filename).name} {place.name}"
        return Finding(key, traceback.format_exc()[-3000:])


def _hunks(case: Case, counts: Counter[str]) -> Finding | None:
    for patch in parse_spatch(case.spatch, "case.spatch")[1]:
        result = rewrite(case.data, patch.hunks, case.options)
        counts.update(answer.state.value for answer in result.answers)
        problem = _problem(case.data, result)
        if problem:
            return Finding(problem, f"{result.answers}\n{result.data!r}")
        if result.splices:
            counts["changed"] += 1
            again = rewrite(result.data, patch.hunks, case.options)
            if again.data != result.data:
                return Finding(
                    "a second application changes the result", f"{result.data!r}\n{again.data!r}"
                )
    return None


def _problem(data: bytes, result: Rewrite) -> str:
    failed = [answer for answer in result.answers if answer.state.failed]
    if failed and (result.data != data or result.splices):
        return "a failed answer and changed bytes"
    if any(not answer.problem for answer in failed):
        return "a failed answer without a reason"
    if apply_splices(data, result.splices) != result.data:
        return "the splices do not give the result"
    if bool(result.splices) != (result.data != data):
        return "splices that change nothing"
    if result.splices and compiles(data) and not compiles(result.data):
        return "the result does not compile"
    return ""


def compiles(data: bytes) -> bool:
    try:
        compile(data, "case", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return False
    return True


def _manifest(case: Case, counts: Counter[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="sitepatch-fuzz-") as folder:
        name = re.search(r'^name = "([a-z-]+)"', case.manifest, re.M)
        place = Path(folder) / (name.group(1) if name else "case")
        place.mkdir()
        for pattern in ("*/*.spatch", "*/probe.py"):  # what a manifest may name
            for built_in in sorted(Path(builtin_dir()).glob(pattern)):
                (place / built_in.name).write_bytes(built_in.read_bytes())
        (place / "patchset.toml").write_bytes(case.manifest.encode("utf-8", "surrogatepass"))
        patchset = load_patchset(place, "fuzz")
        resolve_options(patchset, {})
        for variants in pick_variants(patchset).values():
            for version in ("0.10.7", "2.13.0+cpu", "", "nonsense", "1!2.0rc1.post2.dev3"):
                choose_variant(variants, version)
        counts["patchset.toml read"] += 1


class limit:
    """At most so many CPU seconds; a library that holds the interpreter is ended with the place where it hangs."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __enter__(self) -> None:
        def stop(number: int, frame: FrameType | None) -> None:
            raise Hang

        self.before = signal.signal(signal.SIGPROF, stop)
        signal.setitimer(signal.ITIMER_PROF, self.seconds)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, self.before)


def smaller(case: Case, finding: Finding) -> Case:
    """The case without the lines that the fault does not need."""

    def without(text: str, put: Callable[[str], Case]) -> str:
        size = max(1, text.count("\n") // 2)
        while size:
            lines, at = text.splitlines(True), 0
            while at < len(lines):
                rest = lines[:at] + lines[at + size :]
                found = classified(put("".join(rest)))
                if found and found.key == finding.key:
                    lines = rest
                else:
                    at += size
            text, size = "".join(lines), size // 2
        return text

    if finding.key == "hang":
        return case
    if case.manifest:
        return case._replace(
            manifest=without(case.manifest, lambda text: case._replace(manifest=text))
        )
    case = case._replace(spatch=without(case.spatch, lambda text: case._replace(spatch=text)))
    kept = case
    data = without(
        case.data.decode("latin-1"), lambda text: kept._replace(data=text.encode("latin-1"))
    )
    return case._replace(data=data.encode("latin-1"))


def fuzz(
    seed: int, numbers: Iterator[int], goes_on: Callable[[], bool], say: Callable[[str], None]
) -> tuple[Counter[str], dict[str, Case]]:
    """Classify the cases of the given numbers; returns the states met, and for each fault its smallest case."""
    cases = seeds()
    counts: Counter[str] = Counter()
    found: dict[str, Case] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in numbers:
            if not goes_on():
                break
            case = make(Random(f"{seed} {number}"), cases)
            faulthandler.dump_traceback_later(20 * CPU_SECONDS, exit=True)
            finding = classified(case, counts)
            counts["cases"] += 1
            if finding and finding.key not in found:
                found[finding.key] = small = smaller(case, finding)
                say(
                    f"FAULT: {finding.key}\n--seed {seed} --only {number}\n{finding.text}\n{small}\n"
                )
            faulthandler.cancel_dump_traceback_later()
    return counts, found


def main() -> int:
    """Fuzz for some time; exit code 1 where there is a fault."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, help="stop after so many")
    parser.add_argument("--only", type=int, help="the number of one case to repeat")
    asked = parser.parse_args()
    end = time.monotonic() + asked.seconds
    numbers = (
        iter([asked.only]) if asked.only is not None else iter(range(asked.cases or sys.maxsize))
    )
    counts, found = fuzz(
        asked.seed, numbers, lambda: time.monotonic() < end, lambda text: print(text, flush=True)
    )
    print(", ".join(f"{count} {name}" for name, count in counts.most_common()))
    print(f"{len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

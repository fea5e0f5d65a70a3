"""A bounded fuzzer: whatever a .spatch, patchset.toml and target are made of, there is an answer.

    python -m tools.fuzz [--seconds 60] [--seed 0] [--cases N] [--only CASE]

Cases are the tables of the engine's tests, the built-in patchsets on the stand-ins of fixtures/,
and hunks made from pieces of their own targets; each is changed a few times, by lines, words and
bytes (`tools/changing.py`). What is a fault: an exception that is no `SitepatchError`, more than
ten CPU seconds, a failed answer with changed bytes, a result that does not compile though its
source did, a second application that changes the result. A fault is made smaller and printed with
the number to repeat it by.
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
from typing import Callable, Iterator, Mapping, NamedTuple, Sequence

import tests.engine
from patcher.engine.engine import rewrite
from patcher.engine.spatch.hunk import parse_spatch
from patcher.errors import SitepatchError
from patcher.model import OptionValue, Rewrite, apply_splices
from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import BUILT_IN, builtin_dir
from patcher.patchset.variants import choose_variant, pick_variants, resolve_options
from tools.changing import changed, changed_bytes, quoted

CPU_SECONDS = 10.0
FIXTURES = Path(builtin_dir()).parent / "fixtures"
SIMPLE_HUNK = "--- p/m.py\n@@ f @@\n-old(a)\n+max(a, 0)\n x = $V\n"
LARGEST = 20_000  # bytes of a target of a table
VERSIONS = ("0.10.7", "2.13.0+cpu", "", "nonsense", "1!2.0rc1.post2.dev3")


class Case(NamedTuple):
    """A target, a .spatch for it and its options; or the text of a patchset.toml alone."""

    data: bytes
    spatch: str
    options: Mapping[str, OptionValue]
    manifest: str = ""


class Hang(BaseException):
    """A case took too long.

    Not an `Exception`, so that nothing takes it for an error of the target.
    """


class Finding(NamedTuple):
    """What is wrong with a case: `key` tells faults of one cause apart from others."""

    key: str
    text: str


# where cases come from ------------------------------------------------------------------------
def seeds() -> list[Case]:
    """All cases before they are changed, in a fixed order.

    About one in five is of a built-in patchset.
    """
    tables, built_in = list(_tables()), list(_built_in())
    return [*tables, *built_in * (1 + len(tables) // (4 * len(built_in)))]


def _tables() -> Iterator[Case]:
    """Every (source, hunk, …) in a table of the engine's tests."""
    for found in sorted(pkgutil.iter_modules(tests.engine.__path__), key=lambda found: found.name):
        if not found.name.startswith("test_") or found.name in ("test_properties", "test_fuzz"):
            continue
        module = importlib.import_module(f"tests.engine.{found.name}")
        for table in vars(module).values():
            for row in table.values() if isinstance(table, dict) else ():
                case = _of_row(row) if isinstance(row, tuple) else None
                if case:
                    yield case


def _of_row(row: tuple[object, ...]) -> Case | None:
    """The case of a row of a table: a text and a hunk, or bytes."""
    texts = [part for part in row if isinstance(part, str) and part]
    hunks = [text for text in texts[1:] if text[0] in "+- @"]
    if hunks:
        source = texts[0]
        if not re.search(r"^def |^class ", source, re.M):
            source = f"def f(a, b, c):\n    {source}\n"
        spatch = f"--- p/m.py\n@@ f @@\n{hunks[0]}"
        return Case(source.encode(), spatch, {"option": 1, "x": "a"})
    if isinstance(row[0], bytes) and len(row[0]) < LARGEST:
        return Case(row[0], SIMPLE_HUNK, {})
    return None


def _built_in() -> Iterator[Case]:
    for manifest in sorted(Path(builtin_dir()).glob("*/patchset.toml")):
        patchset = load_patchset(manifest.parent, BUILT_IN)
        options = resolve_options(patchset, {})
        yield Case(b"", "", {}, patchset.folder.files["patchset.toml"])
        for name, text in sorted(patchset.folder.files.items()):
            patches = parse_spatch(text, name)[1] if name.endswith(".spatch") else ()
            for patch in patches:
                if patch.adds:
                    continue
                start = text.index(f"--- {patch.paths[0]}")
                for target in sorted(FIXTURES.glob(f"*/{patch.paths[-1]}")):
                    yield Case(target.read_bytes(), text[start:], options)


def make(random: Random, cases: Sequence[Case]) -> Case:
    """One of the cases, changed a few times."""
    case, other = random.choice(cases), random.choice(cases)
    if random.random() < 0.35 and not case.manifest:
        case = case._replace(spatch=quoted(random, case.data) or case.spatch)
    elif random.random() < 0.05:
        case = case._replace(spatch=other.spatch)
    for _ in range(random.choice([0, 1, 1, 2, 3, 8])):
        case = _changed_once(random, case, other)
    return case


def _changed_once(random: Random, case: Case, other: Case) -> Case:
    if case.manifest:
        text = changed(random, case.manifest, other.manifest or other.spatch)
        return case._replace(manifest=text)
    if random.random() < 0.5:
        source = random.choice([other.spatch, case.spatch])
        return case._replace(spatch=changed(random, case.spatch, source))
    if random.random() < 0.6:
        text = changed(random, case.data.decode("latin-1"), other.data.decode("latin-1"))
        return case._replace(data=text.encode("utf-8", "replace"))
    return case._replace(data=changed_bytes(random, case.data))


# what is a fault ------------------------------------------------------------------------------
def classified(case: Case, counts: Counter[str] | None = None) -> Finding | None:
    """What is wrong with the answer to a case; the states that it meets are counted."""
    counts = Counter() if counts is None else counts
    try:
        with limit(CPU_SECONDS):
            if case.manifest:
                _read_manifest(case.manifest)
                counts["patchset.toml read"] += 1
                return None
            return _of_hunks(case, counts)
    except SitepatchError as error:
        counts["refused when loaded"] += 1
        return None if error.message.strip() else Finding("no words", "an error without a message")
    except Hang:
        place = traceback.format_exc()[-2000:]
        return Finding("hang", f"more than {CPU_SECONDS:g} seconds\n{place}")
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        key = f"{type(error).__name__} in {Path(place.filename).name} {place.name}"
        return Finding(key, traceback.format_exc()[-3000:])


def _of_hunks(case: Case, counts: Counter[str]) -> Finding | None:
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
                key = "a second application changes the result"
                return Finding(key, f"{result.data!r}\n{again.data!r}")
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


def _read_manifest(text: str) -> None:
    with tempfile.TemporaryDirectory(prefix="sitepatch-fuzz-") as temporary:
        name = re.search(r'^name = "([a-z-]+)"', text, re.M)
        folder = Path(temporary) / (name.group(1) if name else "case")
        folder.mkdir()
        for pattern in ("*/*.spatch", "*/probe.py"):  # what a manifest may name
            for file in sorted(Path(builtin_dir()).glob(pattern)):
                (folder / file.name).write_bytes(file.read_bytes())
        (folder / "patchset.toml").write_bytes(text.encode("utf-8", "surrogatepass"))
        patchset = load_patchset(folder, "fuzz")
        resolve_options(patchset, {})
        for variants in pick_variants(patchset).values():
            for version in VERSIONS:
                choose_variant(variants, version)


class limit:
    """At most so many CPU seconds.

    A library that holds the interpreter is ended with the place where it hangs.
    """

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

    def has_fault(candidate: Case) -> bool:
        found = classified(candidate)
        return found is not None and found.key == finding.key

    if finding.key == "hang":
        return case
    if case.manifest:
        manifest = shortened(case.manifest, lambda text: has_fault(case._replace(manifest=text)))
        return case._replace(manifest=manifest)
    spatch = shortened(case.spatch, lambda text: has_fault(case._replace(spatch=text)))
    short = case._replace(spatch=spatch)
    data = shortened(
        case.data.decode("latin-1"),
        lambda text: has_fault(short._replace(data=text.encode("latin-1"))),
    )
    return short._replace(data=data.encode("latin-1"))


def shortened(text: str, will_do: Callable[[str], bool]) -> str:
    """A text without the lines that it will do without: half of them first, then fewer at once."""
    size = max(1, text.count("\n") // 2)
    while size:
        lines = text.splitlines(True)
        at = 0
        while at < len(lines):
            rest = lines[:at] + lines[at + size :]
            if will_do("".join(rest)):
                lines = rest
            else:
                at += size
        text = "".join(lines)
        size //= 2
    return text


# running --------------------------------------------------------------------------------------
def fuzz(
    seed: int, numbers: Iterator[int], goes_on: Callable[[], bool], say: Callable[[str], None]
) -> tuple[Counter[str], dict[str, Case]]:
    """Classify cases.

    Args:
        seed: with a number it makes a case again.
        numbers: of the cases.
        goes_on: whether to try another one.
        say: shows a fault.

    Returns:
        The states met, and for each fault its smallest case.
    """
    cases = seeds()
    counts: Counter[str] = Counter()
    faults: dict[str, Case] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in numbers:
            if not goes_on():
                break
            case = make(Random(f"{seed} {number}"), cases)
            faulthandler.dump_traceback_later(20 * CPU_SECONDS, exit=True)
            finding = classified(case, counts)
            counts["cases"] += 1
            if finding and finding.key not in faults:
                faults[finding.key] = small = smaller(case, finding)
                where = f"--seed {seed} --only {number}"
                say(f"FAULT: {finding.key}\n{where}\n{finding.text}\n{small}\n")
            faulthandler.cancel_dump_traceback_later()
    return counts, faults


def main() -> int:
    """Fuzz for some time; exit code 1 where there is a fault."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, help="stop after so many")
    parser.add_argument("--only", type=int, help="the number of one case to repeat")
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    numbers = iter(range(options.cases or sys.maxsize))
    if options.only is not None:
        numbers = iter([options.only])
    counts, faults = fuzz(
        options.seed,
        numbers,
        goes_on=lambda: time.monotonic() < end,
        say=lambda text: print(text, flush=True),
    )
    print(", ".join(f"{count} {name}" for name, count in counts.most_common()))
    print(f"{len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

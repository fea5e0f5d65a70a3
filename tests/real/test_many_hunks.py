"""Fifty hunks over twenty files of the real torch: one pass over each file, each scope parsed once, and back byte for byte."""

import ast
import json
import sys
from collections import Counter

import pytest
from conftest import COMMAND_ROOT, run

pytestmark = pytest.mark.real

NAME = "many-hunks"
FILES, HUNKS = 20, 50
LARGEST = 60_000  # bytes
MANIFEST = f"""schema = 1
name = "{NAME}"
version = "1.0"
kind = "debug"
summary = "Mark the beginning or the end of many functions"

[[variant]]
package = "torch"
versions = ">=2"
patches = ["all.spatch"]
"""
INDENTED = "if 1:\n"  # what a method is read below, since it cannot stand alone
# Runs the command and notes what is opened and what libcst is given.
WATCH = """
import atexit, json, sys
opened, parsed = [], []

def hook(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes)):
        opened.append(str(arguments[0]))

sys.addaudithook(hook)
import libcst
real = libcst.parse_module

def parse_module(text, config):
    parsed.append(text)
    return real(text, config)

libcst.parse_module = parse_module
out = sys.argv.pop(1)
atexit.register(lambda: print(json.dumps([opened, parsed]), file=open(out, "w")))
from patcher.__main__ import main
main()
"""


def functions(path):
    """(qualified name, text of the whole definition) of the functions of a file that can be named and marked."""
    data = path.read_bytes()
    lines = data.decode("utf-8").splitlines(True)
    definitions = []

    def collect(node, prefix):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                definitions.append((prefix + child.name, child))
                collect(child, f"{prefix}{child.name}.")

    collect(ast.parse(data), "")
    names = Counter(name for name, _ in definitions)
    for name, node in definitions:
        plain_function = isinstance(node, ast.FunctionDef) and not node.decorator_list and node.body[0].lineno > node.lineno
        if plain_function and names[name] == 1 and name.count(".") < 2:
            yield name, "".join(lines[node.lineno - 1 : node.end_lineno])


def choose_functions(site):
    """{path: {qualified name: text}} of as many functions of torch as there are hunks; names of files and functions occur once."""
    numbers = [HUNKS // FILES + (number < HUNKS % FILES) for number in range(FILES)]  # of hunks, file by file
    chosen, known = {}, set()
    for path in sorted((site / "torch").rglob("*.py")):
        if len(chosen) == FILES:
            break
        if path.stat().st_size >= LARGEST or "test" in path.name or len(path.name) <= 10 or path.name in known:
            continue
        fresh = {}  # by the last part of the name
        for name, text in functions(path):
            last_part = name.rpartition(".")[2]
            if last_part not in known:
                fresh[last_part] = name, text
        number = numbers[len(chosen)]
        if len(fresh) >= number:
            last_parts = list(fresh)[:number]
            known |= {path.name, *last_parts}
            chosen[path.relative_to(site).as_posix()] = dict(fresh[last_part] for last_part in last_parts)
    return chosen


def write_patchset(folder, chosen):
    """Write a patchset that marks the beginning or the end of each function."""
    parts = ["Marks.\n\n"]
    for path, scopes in chosen.items():
        parts.append(f"--- {path}\n")
        for name in scopes:
            last_part = name.rpartition(".")[2]
            mark, rest = f"+    pass  # sitepatch: {NAME}\n", "     ...\n"
            body = mark + rest if len(parts) % 2 else rest + mark
            parts.append(f"@@ {name} @@\n def {last_part}(...):\n{body}")
    folder.mkdir(parents=True)
    (folder / "patchset.toml").write_text(MANIFEST)
    (folder / "all.spatch").write_text("".join(parts))


def state(site, paths):
    """{path: (bytes, mode, mtime)}."""
    states = {}
    for path in paths:
        stat = (site / path).stat()
        states[path] = (site / path).read_bytes(), stat.st_mode, stat.st_mtime_ns
    return states


def test_fifty_hunks_over_twenty_files(environment, tmp_path):
    site, patches = environment.site, tmp_path / "patches"
    chosen = choose_functions(site)
    write_patchset(patches / NAME, chosen)
    texts = [text for scopes in chosen.values() for text in scopes.values()]
    assert (len(chosen), len(texts)) == (FILES, HUNKS)
    pristine = state(site, chosen)

    def sitepatch(*words):
        return environment.sitepatch(*words, "--patch-dir", patches)

    record = tmp_path / "record.json"
    words = ["apply", NAME, "--dry-run", "--patch-dir", patches, "--python", environment.python]
    planned = run([sys.executable, "-c", WATCH, record, *words], cwd=COMMAND_ROOT)
    assert planned.code == 0, planned
    assert planned.out.count("applicable") >= HUNKS, planned
    assert state(site, chosen) == pristine
    opened, parsed = json.loads(record.read_text())
    for path in chosen:
        name = path.rpartition("/")[2]
        times = sum(each == name or each.endswith("/" + path) for each in opened)
        assert 1 <= times <= 2, f"{path} was opened {times} times"  # to tell whose it is, and to plan
    parsed = [text[len(INDENTED) :] if text.startswith(INDENTED) else text for text in parsed]
    times_parsed = Counter(parsed)
    for text in texts:
        assert times_parsed[text] == 1, text
    others = [text for text in parsed if text not in texts]
    assert len(others) <= 3 * HUNKS  # the scopes of the result, to check them, and the two sides of each hunk
    assert sum(map(len, parsed)) < 3 * sum(map(len, texts)) + 500 * HUNKS

    applied = sitepatch("apply", NAME)
    assert applied.code == 0, applied
    now = state(site, chosen)
    for path, (data, _, _) in now.items():
        marks = len(chosen[path])
        assert data.count(f"pass  # sitepatch: {NAME}\n".encode()) == marks
        kept = [line for line in data.splitlines(True) if NAME.encode() not in line]
        assert b"".join(kept) == pristine[path][0]
        compile(data, path, "exec", dont_inherit=True)
    again = sitepatch("apply", NAME)
    assert again.code == 0, again
    assert state(site, chosen) == now
    restored = sitepatch("restore")
    assert restored.code == 0, restored
    assert state(site, chosen) == pristine
    assert not (site / ".sitepatch").exists()

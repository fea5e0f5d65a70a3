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
sys.addaudithook(lambda event, given: event == "open" and isinstance(given[0], (str, bytes)) and opened.append(str(given[0])))
import libcst
real = libcst.parse_module
libcst.parse_module = lambda text, config: parsed.append(text) or real(text, config)
out = sys.argv.pop(1)
atexit.register(lambda: print(json.dumps([opened, parsed]), file=open(out, "w")))
from patcher.__main__ import main
main()
"""


def functions(path):
    """(qualified name, text of the whole definition) of the functions of a file that can be named and marked."""
    data = path.read_bytes()
    lines = data.decode("utf-8").splitlines(True)
    found = []

    def collect(node, prefix):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                found.append((prefix + child.name, child))
                collect(child, f"{prefix}{child.name}.")

    collect(ast.parse(data), "")
    names = Counter(name for name, _ in found)
    for name, node in found:
        alone = isinstance(node, ast.FunctionDef) and names[name] == 1 and not node.decorator_list
        if alone and node.body[0].lineno > node.lineno and name.count(".") < 2:
            yield name, "".join(lines[node.lineno - 1 : node.end_lineno])


def made(site, folder):
    """Write the patchset; returns {path: [text of each scope]}."""
    parts, chosen, known = [], {}, set()
    hunks = [HUNKS // FILES + (number < HUNKS % FILES) for number in range(FILES)]
    for path in sorted((site / "torch").rglob("*.py")):
        usable = path.stat().st_size < LARGEST and "test" not in path.name and len(path.name) > 10
        if len(chosen) == FILES or not usable or path.name in known:
            continue
        requested = hunks[len(chosen)]
        scopes = {name.rpartition(".")[2]: (name, text) for name, text in functions(path)}
        fresh = [item for last, item in scopes.items() if last not in known][:requested]
        if len(fresh) < requested:
            continue
        relative = path.relative_to(site).as_posix()
        known |= {path.name, *(name.rpartition(".")[2] for name, _ in fresh)}
        chosen[relative] = [text for _, text in fresh]
        parts.append(f"--- {relative}\n")
        for name, _ in fresh:
            last = name.rpartition(".")[2]
            mark, rest = f"+    pass  # sitepatch: {NAME}\n", "     ...\n"
            body = mark + rest if len(parts) % 2 else rest + mark
            parts.append(f"@@ {name} @@\n def {last}(...):\n{body}")
    place = folder / NAME
    place.mkdir(parents=True)
    (place / "patchset.toml").write_text(MANIFEST)
    (place / "all.spatch").write_text("Marks.\n\n" + "".join(parts))
    return chosen


def state(site, paths):
    return {path: ((site / path).read_bytes(), (site / path).stat().st_mode, (site / path).stat().st_mtime_ns) for path in paths}


def test_fifty_hunks_over_twenty_files(environment, tmp_path):
    site, patches = environment.site, tmp_path / "patches"
    chosen = made(site, patches)
    assert len(chosen) == FILES
    assert sum(map(len, chosen.values())) == HUNKS
    pristine = state(site, chosen)

    def sitepatch(*words):
        return environment.sitepatch(*words, "--patch-dir", patches)

    noted = tmp_path / "noted.json"
    words = ["apply", NAME, "--dry-run", "--patch-dir", patches, "--python", environment.python]
    planned = run([sys.executable, "-c", WATCH, noted, *words], cwd=COMMAND_ROOT)
    assert planned.code == 0, planned
    assert planned.out.count("applicable") >= HUNKS, planned
    assert state(site, chosen) == pristine
    opened, parsed = json.loads(noted.read_text())
    for path in chosen:
        name = path.rpartition("/")[2]
        times = sum(each == name or each.endswith("/" + path) for each in opened)
        assert 1 <= times <= 2, f"{path} was opened {times} times"  # to tell whose it is, and to plan
    parsed = [text[len(INDENTED) :] if text.startswith(INDENTED) else text for text in parsed]
    counted = Counter(parsed)
    for path, scopes in chosen.items():
        for text in scopes:
            assert counted[text] == 1, f"{path}: a scope was parsed {counted[text]} times"
    slices = [text for text in parsed if text not in {scope for scopes in chosen.values() for scope in scopes}]
    assert len(slices) <= 3 * HUNKS  # the scopes of the result, to check them, and the two sides of each hunk
    assert sum(map(len, parsed)) < 3 * sum(len(text) for scopes in chosen.values() for text in scopes) + 500 * HUNKS

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

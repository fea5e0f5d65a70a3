"""How large the house is and how it hangs together: `python -m tools.house [FOLDER]`. Counts, by `ast` alone.

A module is a `.py` file below `patcher/`. An import counts once for each module of ours that is named, wherever it stands; lazy
is one inside a function. A chain is the longest path of imports that do not form a circle (circles are listed). The parameters
of a click command are its options, so commands are left out of the count of parameters.
"""

from __future__ import annotations

import argparse
import ast
import statistics
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Iterator

ROOT = Path(__file__).resolve().parents[1]
MOST_PARAMETERS = 6


def modules(folder: Path) -> dict[str, tuple[str, ast.Module]]:
    """Dotted name -> source text and tree of every module below a package's folder."""
    found = {}
    for path in sorted(folder.rglob("*.py")):
        inside = path.relative_to(folder.parent).with_suffix("")
        if not {"_patchsets", "_fixtures"} & set(inside.parts):  # what a built wheel carries
            parts = inside.parts[:-1] if inside.name == "__init__" else inside.parts
            text = path.read_text(encoding="utf-8")
            found[".".join(parts)] = text, ast.parse(text)
    return found


def imported(tree: ast.Module, known: dict[str, tuple[str, ast.Module]]) -> set[str]:
    """The modules of ours that a module names in an import."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.add(whole if whole in known else node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found & set(known)


def lazy(tree: ast.Module) -> int:
    """How many import statements stand inside of functions."""
    inside = (ast.FunctionDef, ast.AsyncFunctionDef)
    bodies = [node for node in ast.walk(tree) if isinstance(node, inside)]
    return len(
        {
            node
            for body in bodies
            for node in ast.walk(body)
            if isinstance(node, (ast.Import, ast.ImportFrom))
        }
    )


def wide(tree: ast.Module) -> Iterator[str]:
    """The functions with more than six parameters that are no click commands; keyword-only ones with a default do not count."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            every = node.args
            needed = [
                name
                for name, default in zip(every.kwonlyargs, every.kw_defaults)
                if default is None
            ]
            number = (
                len([*every.posonlyargs, *every.args, *needed])
                + bool(every.vararg)
                + bool(every.kwarg)
            )
            marks = " ".join(ast.dump(mark) for mark in node.decorator_list)
            if number > MOST_PARAMETERS and not any(
                word in marks for word in ("'command'", "'option'", "'argument'")
            ):
                yield f"{node.name} ({number})"


def longest(edges: dict[str, set[str]]) -> tuple[list[str], list[tuple[str, str]]]:
    """The longest chain of imports, and the imports that close a circle (which are left out of it)."""
    circles: list[tuple[str, str]] = []
    open_now: list[str] = []

    @lru_cache(maxsize=None)
    def below(name: str) -> tuple[str, ...]:
        open_now.append(name)
        best: tuple[str, ...] = ()
        for other in sorted(edges[name] - {name}):
            if other in open_now:
                circles.append((name, other))
            else:
                best = max(best, below(other), key=len)
        open_now.pop()
        return (name, *best)

    return list(max((below(name) for name in edges), key=len)), circles


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        default=ROOT / "patcher",
        help="a package's folder (default: ours)",
    )
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="name what is behind the figures"
    )
    asked = parser.parse_args()
    known = modules(asked.folder.resolve())
    edges = {name: imported(tree, known) for name, (_, tree) in known.items()}
    chain, circles = longest(edges)
    lines = {name: text.count("\n") for name, (text, _) in known.items()}
    packages = {parent for parent, _, _ in (name.rpartition(".") for name in known)}
    # an __init__ lies in its own
    folders = Counter(name if name in packages else name.rpartition(".")[0] for name in known)
    many = [f"{name}: {each}" for name, (_, tree) in known.items() for each in wide(tree)]
    skips = sum(text.count("fmt: " + "skip") for text, _ in known.values())
    print(f"lines                              {sum(lines.values()):6,}")
    print(f"modules                            {len(known):6,}")
    print(f"median lines of a module           {statistics.median(lines.values()):6.0f}")
    print(
        f"modules in the fullest folder      {max(folders.values()):6}  {max(folders, key=lambda name: folders[name])}"
    )
    print(f"mean imports of a module           {statistics.mean(map(len, edges.values())):6.1f}")
    print(f"longest import chain               {len(chain):6}")
    print(f"imports in a circle                {len(circles):6}")
    print(f"functions with over {MOST_PARAMETERS} parameters    {len(many):6}")
    print(f"imports inside of functions        {sum(lazy(tree) for _, tree in known.values()):6}")
    print(f"places that the formatter skips    {skips:6}")
    if asked.verbose:
        print("\nlongest chain:", *chain, sep="\n  ")
        print("\ncircles:", *(f"{one} -> {other}" for one, other in circles), sep="\n  ")
        print("\nmany parameters:", *many, sep="\n  ")
        print(
            "\nlargest:",
            *(
                f"{lines[name]:4} {name}"
                for name in sorted(lines, key=lambda name: -lines[name])[:15]
            ),
            sep="\n  ",
        )


if __name__ == "__main__":
    main()

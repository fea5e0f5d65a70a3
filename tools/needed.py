"""Takes each line out that a built-in patchset inserts, one at a time, and runs the tests of that patchset: which does no test need?

    python -m tools.needed [NAME...]          # with the real packages too; SITEPATCH_TEST_CACHE keeps them

Where a hunk is none without the line, the statement that begins there becomes `pass`, a condition becomes `True`, else the
whole hunk goes. Lines that no test needs are printed, and are the exit code 1; the cases beside a patchset do not count as tests,
since they hold every line by being its text.
"""

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

from patcher.errors import SitepatchError
from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import BUILT_IN, builtin_dir

ROOT = Path(__file__).parents[1]
TESTS = {  # the tests that are about a patchset; what these do not see is tried with those in tests/real
    "accelerate-ddp-hygiene": ("patchsets/test_accelerate_hygiene.py", "real/test_accelerate.py"),
    "mmengine-checkpoint-load": ("real/test_checkpoint.py",),
    "mmengine-ddp-debug": ("patchsets/test_ddp_helper.py", "real/test_ddp_report.py"),
    "mmengine-ddp-device": ("patchsets/test_device_helper.py", "real/test_mmengine_ddp.py"),
    "mmengine-device": ("patchsets/test_device_choice.py", "real/test_card.py"),
    "mmengine-pkg-resources": ("real/test_packages.py",),
    "torch-dynamo-disable": ("real/test_torch.py",),
    "torch-dynamo-suppress": ("real/test_torch.py",),
    "torch-musa-guard": ("real/test_torch.py",),
    "triton-libcuda-path": ("patchsets/test_triton_path.py", "real/test_triton.py"),
}
OPTIONS = ["-q", "--tb=no", "-p", "no:cacheprovider"]


def inserted(lines):
    """The indices of the lines that are inserted and say something: no blank ones, comments and docstrings."""
    begin = next(index for index, line in enumerate(lines) if line.startswith(("--- ", "+++ ")))
    for index in range(begin, len(lines)):
        text = lines[index][1:].strip()
        if (
            lines[index].startswith("+")
            and not lines[index].startswith("+++")
            and text
            and not text.startswith(("#", '"""'))
        ):
            yield index


def without(lines, index):
    """The texts to try in which a line is missing, the smallest change first."""
    yield lines[:index] + lines[index + 1 :]
    header = re.match(r"\+( *)(if|elif|while) .*:( +#.*)?$", lines[index])
    if header:
        yield [*lines[:index], f"+{header[1]}{header[2]} True:", *lines[index + 1 :]]
    first = last = index
    while lines[first - 1].startswith("+"):
        first -= 1
    while last + 1 < len(lines) and lines[last + 1].startswith("+"):
        last += 1
    block = [
        re.sub(r"\$([a-z_]+)", r"option_\1", line[1:]).replace("$", "")
        for line in lines[first : last + 1]
    ]
    try:
        tree = ast.parse(textwrap.dedent("\n".join(block)))
    except SyntaxError:
        tree = ast.Module([], [])
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and node.lineno - 1 == index - first:
            indent = re.match(" *", block[index - first])[0]
            yield [*lines[:index], f"+{indent}pass", *lines[first + node.end_lineno :]]
    begin = max(at for at in range(index) if lines[at].startswith(("@@", "+++ ")))
    end = next(
        (at for at in range(index, len(lines)) if lines[at].startswith(("@@", "--- ", "+++ "))),
        len(lines),
    )
    yield lines[:begin] + lines[end:]


def loads(folder):
    """Whether a folder is a patchset."""
    try:
        load_patchset(folder, BUILT_IN)
    except SitepatchError:
        return False
    return True


def copied(folder):
    """A copy of the checkout."""
    listed = subprocess.run(
        ["git", "ls-files", "-coz", "--exclude-standard"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def tested(checkout, file, *options):
    """What pytest says of a test file in a checkout, and its exit code."""
    environ = {
        **os.environ,
        "SITEPATCH_ALL_RELEASES": "1",
        "SITEPATCH_CACHE": str(checkout / "cache"),
    }
    command = [sys.executable, "-m", "pytest", *OPTIONS, *options, f"tests/{file}"]
    ended = subprocess.run(
        command, cwd=checkout, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return ended.stdout.decode("utf-8", "replace"), ended.returncode


def red_anyway(checkout, file):
    """Options that leave out the tests of a file that are red without any change."""
    return [
        f"--deselect={test}"
        for test in re.findall(r"^(?:FAILED|ERROR) (\S+)", tested(checkout, file)[0], re.MULTILINE)
    ]


def survivors(checkout, name):
    """Of one patchset, the lines that no test needs; what is red anyway is looked for once a line has come to that file."""
    folder, red = checkout / "patchsets" / name, {}
    for path in sorted(folder.glob("*.spatch")):
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        for index in inserted(lines):
            for file in TESTS[name]:
                if file not in red:
                    path.write_text(text, encoding="utf-8")
                    red[file] = red_anyway(checkout, file)
                for changed in without(lines, index):
                    path.write_text("\n".join(changed) + "\n", encoding="utf-8")
                    if loads(folder):
                        break
                if tested(checkout, file, "-x", *red[file])[1] in (1, 2):  # 5: all are left out
                    break
            else:
                file = ""
            print(
                f"{file or 'NO TEST':32}  {name}/{path.name}:{index + 1}  {lines[index][1:].strip()[:100]}",
                flush=True,
            )
            if not file:
                yield f"{name}/{path.name}:{index + 1}"
        path.write_text(text, encoding="utf-8")


def main():
    """Try the patchsets that are named, else all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", default=sorted(TESTS))
    names = parser.parse_args().names
    assert sorted(TESTS) == sorted(
        path.parent.name for path in Path(builtin_dir()).glob("*/patchset.toml")
    )
    with tempfile.TemporaryDirectory() as folder:
        checkout = copied(Path(folder) / "checkout")
        unneeded = [line for name in names for line in survivors(checkout, name)]
    print(f"{len(unneeded)} lines that no test needs", *unneeded, sep="\n")
    sys.exit(bool(unneeded))


if __name__ == "__main__":
    main()

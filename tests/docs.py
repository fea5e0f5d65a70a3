"""The pages of the documentation, whose commands are run as a reader would run them."""

import os
import re
import shlex
import stat
import subprocess
import sys
import venv

import libcst

from patcher.verbs.demo import lay_out
from tests import starts
from tests.command import ROOT, Ended, environ

PAGES = sorted(path.relative_to(ROOT).as_posix() for path in [*ROOT.glob("README*.md"), ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")])
ENGLISH = [page for page in PAGES if not page.endswith((".zh.md", ".zh-CN.md"))]
CHINESE = {page: page.replace(".zh.md", ".md").replace(".zh-CN.md", ".md") for page in PAGES if page not in ENGLISH}
TOLD = re.compile(r"<!-- test: (.*) -->\n+$")
NAMED = re.compile(r"^`([^`\n]+)`[:：]\n+\Z", re.MULTILINE)
STUBS = {
    "pip": "exit 0",
    "editor": 'sed -i "$EDIT" "$1"',
    "torchrun": """if grep -q 'sitepatch: mmengine-ddp-device' "$VIRTUAL_ENV"/lib/python*/site-packages/mmengine/dist/utils.py; then
echo '11/22 12:31:07 - mmengine - INFO - Epoch(train) [1][8/8]  lr: 1.0000e-04  loss: 4462.0618'; else
echo '  File "/opt/venv/lib/python3.11/site-packages/mmengine/dist/utils.py", line 130, in _init_dist_pytorch'
for rank in 0 1; do echo "AttributeError: module 'torch._C' has no attribute '_cuda_setDevice'"; done
echo 'torch.distributed.elastic.multiprocessing.errors.ChildFailedError:'; exit 1; fi""",
}


class Block:
    """A fenced block: its language and text, the comment above it as {word: value}, and the file it is to be, if any."""

    def __init__(self, language, text, before):
        self.language, self.text = language, text
        told, named = TOLD.search(before), NAMED.search(before)
        pairs = (word.partition("=") for word in shlex.split(told[1] if told else ""))
        self.told = {key: value for key, _, value in pairs}
        self.file = named[1] if named else None

    def commands(self):
        """Each command with the output that is shown below it."""
        found = []
        for line in self.text.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
        return found


def read(page):
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page):
    """The fenced blocks of a page, those in lists too, without their indentation."""
    text, found = read(page), []
    for match in re.finditer(r"^( *)```(\w*)\n(.*?)^\1```$", text, re.MULTILINE | re.DOTALL):
        body = re.sub(f"^{match[1]}", "", match[3], flags=re.MULTILINE)
        found.append(Block(match[2], body, text[: match.start()]))
    return found


class World:
    """A project beside a virtual environment with the stand-ins, where the commands of a page are run."""

    def __init__(self, folder, real=None, **stubs):
        """`real` is a virtual environment with real packages; `stubs` are commands, as the body of a shell script."""
        self.venv, self.cwd, self.bin = real or folder / "venv", folder / "project", folder / "bin"
        self.cwd.mkdir(parents=True)
        self.bin.mkdir()
        if not real:
            venv.create(str(self.venv), symlinks=True)
        (self.site,) = self.venv.glob("lib/python3*/site-packages")
        for name in () if real else ("basicsr-1.4.2", "mmengine-0.10.7", "torch-2.9.0"):
            lay_out(name, self.site)
        engine = f"{ROOT}\\n{os.path.dirname(os.path.dirname(libcst.__file__))}"
        build = "python -c \"import sys; sys.path.append('patches'); import os, backend; os.chdir('patches'); backend.build_wheel('..')\""
        wheel = f"{build} && python -m zipfile -e sitepatch_hook*.whl {self.site} && printf '{engine}\\n' > {self.site}/checkout.pth && python -c pass"
        own = {"sitepatch": f'PYTHONPATH={ROOT} exec {sys.executable} -m patcher "$@"', "install-hook": wheel}
        for name, body in {**STUBS, **own, **stubs}.items():
            (self.bin / name).write_text(f"#!/bin/sh\n{body}\n")
            (self.bin / name).chmod(stat.S_IRWXU)
        path = os.pathsep.join(map(str, (self.bin, self.venv / "bin", os.environ["PATH"])))
        more = {"SITEPATCH_CACHE": str(folder / "cache"), "COLUMNS": "160", "NO_COLOR": "1"}
        self.env = environ(VIRTUAL_ENV=str(self.venv), PATH=path, EDITOR="editor", EDIT="", **more)

    def run(self, command):
        """Run a command, in a fork where it is sitepatch alone, else in a shell; returns how it ended."""
        words = shlex.split(command, comments=True)
        if words[0] == "sitepatch" and not re.search(r"[|&;<>$~]", command.partition("  #")[0]):
            return Ended(starts.run(words[1:], cwd=self.cwd, env=self.env))
        env = {key: value for key, value in self.env.items() if key != "PYTHONPATH"}
        return Ended(subprocess.run(["bash", "-c", command], cwd=str(self.cwd), env=env, stdin=subprocess.DEVNULL, capture_output=True))

    def same(self, text):
        """A line of output without what differs from run to run and from release to release."""
        text = text.replace(str(self.site), "SITE").replace(str(self.venv), "/opt/venv").replace(str(self.cwd), "/home/me/project")
        text = re.sub(r"/opt/venv/lib/python[\d.]+/site-packages", "SITE", text)
        return re.sub(r"\s+", " ", re.sub(r"\d+(,\d+)*", "#", text)).strip()

    def shows(self, ended, shown):
        """The first line that is shown and that the command does not write, in this order; None if all are there."""
        streams = [[self.same(line) for line in stream.splitlines()] for stream in (ended.out, ended.err)]
        for line in filter(lambda line: line.strip() not in ("", "..."), shown):
            start, cut, _ = self.same(line).partition(" ...")
            places = [(lines, at) for lines in streams for at, each in enumerate(lines) if each == start or (cut and each.startswith(start))]
            if not places:
                return line
            lines, at = places[0]
            del lines[: at + 1]
        return None

    def block(self, block):
        """Run what a block says; fail where it ends otherwise, or says something else."""
        if block.file:
            (self.cwd / block.file).parent.mkdir(parents=True, exist_ok=True)
            (self.cwd / block.file).write_text(block.text, encoding="utf-8")
        if block.language != "console":
            return 0
        self.env["EDIT"] = block.told.get("editor", "")
        if "first" in block.told:
            ended = self.run(block.told["first"])
            assert ended.code == 0, (block.told["first"], ended)
        told = block.commands()
        for number, (command, shown) in enumerate(told, 1):
            ended = self.run(command)
            asked = int(block.told.get("exit", 0))
            assert ended.code == asked or (ended.code == 0 and number < len(told)), (command, ended)
            missing = self.shows(ended, shown)
            assert missing is None, (command, missing, ended)
        return len(told)


def run_page(page, world, real=False):
    """Run the blocks of a page, those for real packages too where they are there; returns how many commands they have.

    A Chinese page is run in Chinese; the comments for the tests are in the English one.
    """
    number = 0
    world.env["SITEPATCH_LANG"] = "zh" if page in CHINESE else "en"
    for block, english in zip(blocks(page), blocks(CHINESE.get(page, page))):
        block.told = english.told
        elsewhere = block.told.get("by")
        if "unrun" in block.told:
            continue
        if elsewhere:
            assert (ROOT / elsewhere).is_file(), elsewhere
        elif real or "real" not in block.told:
            number += world.block(block)
    return number


def shown(page):
    """The lines that commands write, of all blocks of a page."""
    return [line for block in blocks(page) if block.language == "console" for _, lines in block.commands() for line in lines]

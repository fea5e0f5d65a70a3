"""Draw recording.svg and recording.zh.svg: what a terminal shows of the main job, on a stand-in; the same bytes each time.

Run it as `python docs/recording.py`; with `-` and a language, `en` or `zh`, that picture goes to standard output.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import venv
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from patcher.verbs.demo import lay_out

LOG = (
    '  File "/opt/venv/lib/python3.11/site-packages/basicsr/data/degradations.py", line 8, in <module>\n'
    "    from torchvision.transforms.functional_tensor import rgb_to_grayscale\n"
    "ModuleNotFoundError: No module named 'torchvision.transforms.functional_tensor'\n"
)
SCENES = (  # command, its exit code, lines of its output that are drawn (0: all), seconds until the next one
    ("sitepatch diagnose train.log", 1, 0, 3),
    ("sitepatch diff basicsr-torchvision", 0, 0, 3),
    ("sitepatch apply basicsr-torchvision", 0, 0, 3),
    ("sitepatch restore", 0, 0, 2),
)
RUN = "import sys; sys.stdout.isatty = lambda: True; from patcher.__main__ import main; main()"  # as on a terminal
COLOURS = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "34": "#79c0ff", "35": "#d2a8ff", "36": "#56d4dd"}
STYLES = {code: {"fill": colour} for code, colour in COLOURS.items()}
STYLES.update({"1": {"font-weight": "bold"}, "2": {"fill": "#8b949e"}, "7": {"text-decoration": "underline"}})
# characters, as few as a telephone shows; pixels for each, for each line, around all
COLUMNS, ADVANCE, LEADING, MARGIN = 72, 7.8, 19, 8
STYLE = """
text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace }
text { fill: #e6edf3; white-space: pre }
@keyframes appear { from { opacity: 0 } }
@media (prefers-reduced-motion: no-preference) { g + g { animation: appear .4s backwards } }
"""


def outputs(language: str) -> list[list[str]]:
    """The lines of each scene in a language, with their escape sequences, the command first."""
    with tempfile.TemporaryDirectory() as folder:
        root, told = Path(folder, "venv"), []
        venv.create(str(root), symlinks=True)
        (site,) = root.glob("lib/python3*/site-packages")
        lay_out("basicsr-1.4.2", site)
        for package in ("torchvision", "torchvision/transforms"):
            (site / package).mkdir()
            (site / package / "__init__.py").touch()
        (site / "torchvision/transforms/functional.py").write_text("def rgb_to_grayscale(image):\n    return image\n")
        Path(folder, "train.log").write_text(LOG)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("CONDA_", "PYTHON", "NO_COLOR"))}
        more = {"COLUMNS": str(COLUMNS), "TERM": "xterm", "SITEPATCH_CACHE": os.devnull, "SITEPATCH_PAGER": ""}
        here = {"PYTHONPATH": str(ROOT), "VIRTUAL_ENV": str(root), "LC_ALL": "C.UTF-8", "SITEPATCH_LANG": language}
        for command, found, most, _ in SCENES:
            words = [sys.executable, "-c", RUN, *command.split()[1:]]
            done = subprocess.run(words, cwd=folder, env={**kept, **more, **here}, capture_output=True)
            if done.returncode != found or not done.stdout:
                raise SystemExit(f"{command}: exit code {done.returncode}\n{done.stdout.decode()}\n{done.stderr.decode()}")
            text = done.stdout.decode().replace(str(site), "/opt/venv/lib/python3.11/site-packages")
            lines = re.sub(r"\d+\.\d+ s\b", "0.02 s", text).splitlines()
            told.append([f"\x1b[1m$ {command}\x1b[0m", *(lines if not most else [*lines[:most], "..."]), ""])
    return told


def drawn(line: str) -> str:
    """A line with escape sequences as `tspan`s; what is longer than the terminal is cut."""
    parts: list[str] = []
    style: dict[str, str] = {}
    left = COLUMNS
    for codes, text in re.findall(r"(?:\x1b\[([\d;]*)m)?([^\x1b]*)", line):
        for code in codes.split(";") if codes else ():
            style = {**style, **STYLES[code]} if code in STYLES else {}
        if text[:left]:
            told = "".join(f' {name}="{value}"' for name, value in style.items())
            parts.append(f"<tspan{told}>{escape(text[:left])}</tspan>")
            left -= len(text[:left])
    return "".join(parts)


def picture(scenes: list[list[str]]) -> str:
    """The terminal with all scenes, which appear one after the other where motion is welcome."""
    parts: list[str] = []
    row, begin = 0, 0.0
    for lines, (*_, seconds) in zip(scenes, SCENES):
        texts: list[tuple[int, str]] = [(MARGIN + LEADING * (row + at + 1), drawn(line)) for at, line in enumerate(lines)]
        body = "\n".join(f'<text x="{MARGIN}" y="{y}">{text}</text>' for y, text in texts if text)
        parts.append(f'<g style="animation-delay: {begin:g}s">\n{body}\n</g>')
        row, begin = row + len(lines), begin + seconds
    width, height = round(COLUMNS * ADVANCE + 2 * MARGIN), LEADING * row + 2 * MARGIN
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img"'
    back = '<rect width="100%" height="100%" rx="8" fill="#0d1117"/>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n<title>sitepatch in a terminal</title>\n<style>{STYLE}</style>'
    return "\n".join([head, back, *parts, "</svg>\n"])


if __name__ == "__main__":
    if "-" in sys.argv:
        sys.stdout.write(picture(outputs(sys.argv[-1])))
    else:
        for language, name in (("en", "recording.svg"), ("zh", "recording.zh.svg")):
            Path(__file__).with_name(name).write_text(picture(outputs(language)), encoding="utf-8")

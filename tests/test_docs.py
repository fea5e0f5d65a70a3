"""README and docs: each command block runs and prints what is shown, each link leads somewhere, the Chinese pages match the English ones.

A block is run in a virtual environment with the stand-ins, one for each page, by forks of one process; a Chinese page in Chinese, where it
shows what a command says. What installs and trains is a
stub there; with SITEPATCH_ALL_RELEASES=1 the tutorial is run with the real packages (tests/real/test_tutorial.py). A comment above a block
tells what a reader need not see: `<!-- test: exit=1 editor=SED first=COMMAND real by=FILE unrun -->`; what needs an image builder or
a cluster is not run.
"""

import os
import re
import subprocess
import sys

import click
import pytest

from patcher.verbs.main import commands
from tests.command import ROOT, environ
from tests.docs import CHINESE, ENGLISH, PAGES, World, blocks, read, run_page, shown

pytestmark = pytest.mark.once


@pytest.mark.parametrize("page", [*(page for page in ENGLISH if any(block.language == "console" for block in blocks(page))), *filter(shown, CHINESE)])
def test_the_commands_of_a_page_do_what_it_says(page, tmp_path, counted):
    number = run_page(page, World(tmp_path))
    if number:
        counted("commands of the documentation", number)


def test_a_patchset_that_is_shared_as_the_page_says_is_listed_elsewhere(tmp_path):
    shared, elsewhere = tmp_path / "shared", tmp_path / "elsewhere"
    world = World(tmp_path / "world", pip=f'exec {sys.executable} -m pip "$@" --quiet --no-index --no-deps --disable-pip-version-check --target {shared}')
    run_page("docs/howto/share.md", world)
    elsewhere.mkdir()
    variables = environ(PYTHONPATH=os.pathsep.join([str(ROOT), str(shared)]))
    listed = subprocess.run([sys.executable, "-m", "patcher", "list", "--python", str(world.venv)], cwd=str(elsewhere), env=variables, capture_output=True)
    assert re.search(r"^applicable +mmengine-buffers +entry point mmengine-buffers: ", listed.stdout.decode(), re.MULTILINE), listed


@pytest.mark.parametrize(("language", "page"), [("en", "docs/recording.svg"), ("zh", "docs/recording.zh.svg")])
def test_the_recording_shows_the_output_of_the_commands(language, page):
    shown = re.findall(r"<text[^>]*>(.*)</text>", read(page))
    drawn = subprocess.run([sys.executable, "docs/recording.py", "-", language], cwd=str(ROOT), env=environ(), capture_output=True, check=True).stdout.decode()
    text = [re.sub("<[^>]*>", "", line) for line in re.findall(r"<text[^>]*>(.*)</text>", drawn)]
    assert text == [re.sub("<[^>]*>", "", line) for line in shown], "make it anew: python docs/recording.py"


# commands within a line -----------------------------------------------------------------------------------------------
def written_commands(page):
    """Every `sitepatch ...` of a page: in a line of text, in blocks, in Dockerfiles."""
    text = read(page)
    for match in re.finditer(r"`(sitepatch [^`\n]+)`", text):
        yield match[1]
    for block in blocks(page):
        for line in re.sub(r"\\\n\s*", " ", block.text).splitlines():
            for match in re.finditer(r"(?:^|[\s/])(sitepatch (?!-demo)[a-z].*)", line if block.language in ("console", "dockerfile", "yaml") else ""):
                if block.language != "console" or line.startswith("$ "):
                    yield re.split(r"\s+(?:&&|\|\||\||>|;|#|\d>)\s*", match[1])[0]


@pytest.mark.parametrize("page", PAGES)
def test_every_command_that_is_written_exists_with_its_options(page):
    for command in written_commands(page):
        words = command.replace("…", "...").split()[1:]
        group, context = commands, click.Context(commands)
        while isinstance(group, click.Group) and words and words[0][0] not in "-<":
            command_or_group = group.get_command(context, words.pop(0))
            assert command_or_group, (page, command)
            group = command_or_group
        options = {option for parameter in group.params for option in (*parameter.opts, *parameter.secondary_opts)} | {"--help", "-h", "--version"}
        for word in words:
            if word == "--":
                break
            if word.startswith("-"):
                assert word.partition("=")[0] in options, (page, command, word)


# links -----------------------------------------------------------------------------------------------------------------
def anchors(page):
    """The anchors of a page, as GitHub and MkDocs make them of headings."""
    text = re.sub(r"^```.*?^```", "", read(page), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.+?)(?: \{#([\w-]+)\})?$", text, re.MULTILINE)
    ids = set(re.findall(r'^<a id="([\w-]+)"></a>$', text, re.MULTILINE))
    return ids | {given or re.sub(r"[^\w -]", "", title.lower()).strip().replace(" ", "-") for title, given in titles}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```|`[^`\n]*`", "", read(page), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            assert re.fullmatch(r"https://[\w.-]+\.[a-z]+(/[\w./#?=&%~+-]*)?", target), target
            continue
        path, _, anchor = target.partition("#")
        file = ((ROOT / page).parent / path).resolve() if path else ROOT / page
        assert file.exists(), (page, target)
        if anchor:
            other = file.relative_to(ROOT).as_posix()
            assert anchor in anchors(other), (page, target)


def test_the_command_for_an_error_names_an_existing_patchset():
    table, _, _ = read("docs/patchsets.md").partition("`sitepatch show NAME`")
    rows = re.findall(r"^\| (`.*`) \| (`[\w./]+`) \| `sitepatch apply ([\w-]+)` \|$", table, re.MULTILINE)
    assert len(rows) == len(re.findall(r"^\| `", table, re.MULTILINE)) >= 10
    for _, _, name in rows:
        assert (ROOT / "patchsets" / name / "patchset.toml").is_file(), name


def test_the_cure_of_each_report_and_its_test_exist():
    """The tables of docs/patchsets.md below the one of what a terminal says: ten reports by link at least."""
    _, _, tables = read("docs/patchsets.md").partition("`sitepatch show NAME`")
    table = tables.partition("<!-- generated: ")[0].partition("### The most frequent of them")[0]
    rows = [row.split(" | ") for row in re.findall(r"^\| (.*) \|$", table, re.MULTILINE) if not row.startswith(("report | ", "--- | "))]
    assert len(rows) >= 10
    for report, cure, held in rows:
        assert "](https://github.com/" in report
        for name in re.findall(r"`((?:mmengine|torch|triton|accelerate)-[\w-]+)`", cure):
            assert (ROOT / "patchsets" / name).is_dir(), name
        for path, test in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", held) or [("nothing", "")]:
            assert f"def {test}" in read(path), held


def test_pages_are_whole_as_files_without_mkdocs():
    for page in PAGES:
        assert not re.search(r"^\{\{ .* \}\}$", read(page), re.MULTILINE), page
        beginnings, ends = (len(re.findall(pattern, read(page), re.MULTILINE)) for pattern in ("^<!-- generated: ", "^<!-- end -->$"))
        assert beginnings == ends == len(re.findall("^<!-- generated: .*\n.+", read(page), re.MULTILINE)), page


def test_the_readme_leads_to_each_page():
    for readme in ("README.md", "README.zh-CN.md"):
        linked = {target.replace(".zh.md", ".md") for target in re.findall(r"\]\((docs/[^)#]+\.md)", read(readme))}
        assert linked == {page for page in ENGLISH if page.startswith("docs/")} - {"docs/index.md"}


# in Chinese ------------------------------------------------------------------------------------------------------------
def bare(text):
    """A block without comments, and without the lines of empty text that they leave; of a console the commands."""
    lines = text.splitlines()
    lines = [line for line in lines if line.startswith("$ ")] or lines
    lines = [re.sub(r"(^|\s+)# .*$", "", line) for line in lines]
    return [line.rstrip() for line in lines if line.strip()]


@pytest.mark.parametrize("page", sorted(CHINESE))
def test_a_chinese_page_has_the_headings_blocks_and_links_of_the_english_one(page):
    mine, other = read(page), read(CHINESE[page])
    assert [each.language for each in blocks(page)] == [each.language for each in blocks(CHINESE[page])]
    for here, there in zip(blocks(page), blocks(CHINESE[page])):
        assert bare(here.text) == bare(there.text)
        assert here.file == there.file
        assert len(here.text.splitlines()) == len(there.text.splitlines())
    without = [re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL) for text in (mine, other)]
    headings = [re.findall(r"^(#+) ", text, re.MULTILINE) for text in without]
    assert headings[0] == headings[1]
    links = [[re.sub(r"(\.zh(-CN)?)?\.md|#.*", "", target) for target in re.findall(r"\]\(([^)\s]+)\)", text)] for text in without]
    assert sorted(links[0]) == sorted(links[1])


def test_the_pages_that_have_to_be_in_chinese_exist():
    required = {"README.md", "docs/index.md", "docs/tutorial.md", "docs/troubleshooting.md", *(page for page in ENGLISH if "howto/" in page)}
    assert required == set(CHINESE.values())


def test_the_site_gives_code_the_class_by_which_its_style_wraps_console_blocks():
    assert ".language-console" in (ROOT / "docs/narrow.css").read_text()
    assert "pymdownx.highlight: {pygments_lang_class: true}" in (ROOT / "mkdocs.yml").read_text()

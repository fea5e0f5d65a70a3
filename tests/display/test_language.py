"""What people read, in Chinese: complete, no wider than the terminal, at no cost to English, and invisible to programs."""

import inspect
import json
import re
from itertools import chain, zip_longest
from pathlib import Path

import click
import pytest

from patcher.display.language import Catalog
from patcher.display.prose import entry, prose_parts
from patcher.errors import Location, UsageError
from patcher.message import Message, joined
from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import BUILT_IN, builtin_dir
from patcher.patchset.symptoms import general_symptoms
from patcher.text.listed import count
from patcher.text.terminal import width, wrapped
from patcher.verbs.commands import SECTIONS
from patcher.verbs.main import commands
from tests.command import DDP, RUNNER, Site, done, sitepatch
from tests.display.catalog import entries
from tests.messages import (
    BECOME,
    NO_MESSAGES,
    filled_templates,
    messages,
    plain,
    template_lines,
    words,
)

pytestmark = pytest.mark.once
ZH = Catalog("zh")
VARIABLES = ("SITEPATCH_LANG", "LC_ALL", "LC_MESSAGES", "LANG")


def all_commands(command=commands):
    """Yield a command, and all below it."""
    yield command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from all_commands(command.get_command(context, name))


def english():
    """Every paragraph and line of help that is ours, what errors mean, and what built-in patchsets are for."""
    built_in = [load_patchset(path.parent, BUILT_IN) for path in Path(builtin_dir()).glob("*/patchset.toml")]
    for symptom in chain(general_symptoms(builtin_dir()), *(one.about.symptoms for one in built_in)):
        yield from (symptom.meaning, symptom.advice)
    for patchset in built_in:
        yield patchset.about.summary
        yield from (option.help for option in patchset.options)
        for key, value in patchset.about.provenance.items():
            if key != "bug" and not value.startswith("https://"):
                yield value
        yield from map(entry, prose_parts(patchset.about.prose))
    for command in all_commands():
        yield from paragraphs(command.help)
        for parameter in command.params:
            yield from paragraphs(getattr(parameter, "help", None))
        yield from (line for line in (command.epilog or "").splitlines() if line[:1] not in ("", " ", "\b"))
    yield from SECTIONS


def paragraphs(text):
    """The paragraphs of a help text, each in one line."""
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text or "")):
        yield " ".join(paragraph.split())


def test_each_sentence_is_a_template_with_fields_and_none_is_concatenated():
    others = (*BECOME, "record.py:")  # what a record refuses is for who writes the code
    assert [(place, text) for place, text in plain() if not place.startswith(others)] == []


def test_each_field_of_a_template_is_filled():
    """mypy does not check fields, and a rare message would fail just when something else is already wrong."""
    calls = list(filled_templates())
    assert len(calls) > 700
    for place, template, fields, names in calls:
        assert names is None or fields <= names, f"{place}: {template!r}"


def test_the_catalog_has_every_text_that_people_read_and_nothing_else():
    ours = {msgid for msgid, (comment, _) in entries().items() if comment not in ("click", "os")}
    needed = {*english(), *messages(), *words()} - {""}
    assert sorted(needed - ours) == []
    plain_texts = {text for _, text in plain(all_of_them=True)}
    unused = ours - needed - template_lines() - {text for text in plain_texts if " " not in text}
    assert sorted(unused) == []
    assert sorted(NO_MESSAGES - template_lines() - plain_texts) == []


def test_each_message_is_found_by_its_own_entry_whatever_its_fields():
    known = entries()
    for msgid in sorted(messages()):
        fields = {f"x{number}": f"<{number}>" for number in range(msgid.count("{}"))}
        pieces = re.split(r"\{(\d?)\}", known[msgid][1])
        holes = [part or str(at) for at, part in enumerate(pieces[1::2])]
        assert sorted(holes) == [str(number) for number in range(len(fields))], msgid
        template = "".join(chain(*zip_longest(re.split(r"(?<=\{)(?=\})", msgid), fields, fillvalue="")))
        pieces[1::2] = (f"<{hole}>" for hole in holes)
        assert ZH.text(Message(template.replace("{...}", "{{...}}"), **fields)) == "".join(pieces)


@pytest.mark.parametrize(
    ("message", "chinese"),
    [
        (
            Message("{path}: {problem}", path="a: b", problem=Message("the file was changed after it was patched")),
            "a: b：打补丁之后文件又被改过",
        ),
        (Message("{path}: {state}", path="a b", state="c, d"), "a b: c, d"),
        (joined("; ", (count(1, "file"), count(2, "hunk"))), "1 个文件；2 个补丁块"),
        (Message("{insertions}(+)", insertions=count(1, "insertion")), "1 处增加（+）"),
        (Message("`{name}` stands in {places}", name="not found", places="b"), "`not found` stands in b"),
        (
            Message("cannot be read: {error}", error=PermissionError(13, "Permission denied", "/x y")),
            "无法读取：[Errno 13] 没有权限: '/x y'",
        ),
        (Message("the file has no line `{line}`", line="edited by hand"), "文件里没有这一行：`edited by hand`"),
        ("nothing is applied in /a: nothing to restore", "nothing is applied in /a: nothing to restore"),
        ("not found", "not found"),
    ],
)
def test_a_message_and_its_fields_are_translated_and_names_and_code_and_finished_text_are_not(message, chinese):
    assert ZH.text(message) == chinese


@pytest.mark.parametrize("path", ["/gone/data in use", "/gone/in use; not found", "applied (in use): edited by hand"])
def test_a_field_of_a_message_is_not_rewritten_whether_or_not_its_path_exists(path):
    edited = Message("{place}: {problem}", place=path, problem=Message("the file was changed after it was patched"))
    assert ZH.text(edited) == f"{path}：打补丁之后文件又被改过"
    nothing = Message("nothing is applied in {site}: nothing to restore", site=path)
    assert ZH.text(nothing) == f"{path} 里什么都没有应用：无需恢复"
    problem = Message("found no {name} beside it, expected the text after the patch", name="in use")
    error = UsageError.at(Location(path, 3), problem)
    assert ZH.text(error.message) == f"{path}:3：旁边没有 in use，而它应当写明改成什么"
    assert str(edited) == f"{path}: the file was changed after it was patched"


@pytest.mark.parametrize("name", ["data in use", "not found in use"])
def test_commands_keep_the_paths_of_the_user(tmp_path, name):
    home = tmp_path / name
    home.mkdir()
    site = Site(home, "mmengine-0.10.7")
    for line in ("restore", "status -v", "doctor", f"check {DDP} --explain", "apply nonesuch", "diff --edited"):
        in_english = site(*line.split(), SITEPATCH_LANG="en", COLUMNS="500")
        in_chinese = site(*line.split(), SITEPATCH_LANG="zh", COLUMNS="500")
        english, chinese = in_english.out + in_english.err, in_chinese.out + in_chinese.err
        assert re.search("[\u4e00-\u9fff]", chinese), line
        assert chinese.count(str(home)) == english.count(str(home)), (english, chinese)


@pytest.mark.parametrize("words", [[], ["apply"], ["capture"], ["diagnose"], ["hook", "init"]])
def test_help_is_chinese_and_no_wider_than_the_terminal(tmp_path, words):
    shown = done(sitepatch(*words, "--help", cwd=tmp_path, SITEPATCH_LANG="zh", COLUMNS="60")).out
    text = [line for line in shown.splitlines() if not re.match(r"  +sitepatch |  +torchrun ", line)]
    assert "显示本说明并退出。" in shown and "Show this" not in shown and "Usage" not in shown
    assert max(map(width, text)) <= 60


def test_what_an_error_means_is_reported_in_chinese_and_to_programs_in_english(tmp_path):
    (tmp_path / "train.log").write_text("RuntimeError: Address already in use\n")
    ended = sitepatch("diagnose", "train.log", "--target", tmp_path, cwd=tmp_path, SITEPATCH_LANG="zh")
    assert ended.code == 1 and "含义：各 rank 会合用的端口被占用" in ended.out and "提示：换一个 --master_port" in ended.out
    ended = sitepatch("diagnose", "train.log", "--target", tmp_path, "--json", cwd=tmp_path, SITEPATCH_LANG="zh")
    (finding,) = json.loads(ended.out)["findings"]
    assert finding["meaning"].startswith("the port where the ranks are to meet is taken")


def english_left(text):
    """Three English words in a row, but for code in backticks or quotes, commands, and lines of code."""
    text = re.sub(r"`[^`]*`|\"[^\"]*\"|sitepatch [\w-]+ [^\n；]*|(?m:^.* \| .*$)", "", text)
    return re.findall(r"[A-Za-z']+ [a-z']+ [a-z']+[^\n]*", text)


def check_chinese(site, lines):
    """These command lines, one after the other, say nothing in English."""
    for line in lines:
        shown = site(*line.split(), SITEPATCH_LANG="zh", COLUMNS="100")
        assert english_left(shown.out + shown.err) == [], line
        assert re.search("[\u4e00-\u9fff]", shown.out + shown.err), line


def test_commands_speak_chinese_and_answer_programs_in_english(tmp_path):
    site = Site(tmp_path, "mmengine-0.10.7")
    bad = tmp_path / "patchsets" / "bad"
    bad.mkdir(parents=True)
    (bad / "patchset.toml").write_text('schema = 1\nname = "bax"\nversion = "x y"\nkind = 3\nfoo = 1\n')
    check_chinese(site, ["apply nonesuch", "apply mmengine-ddp-debg", "show bad", "check bad", "list"])
    check_chinese(site, [f"apply {DDP}", f"apply {DDP}", "status", "status --verify import"])
    site.file().write_text(f"{site.file().read_text()}# mine\n")
    check_chinese(site, ["diff --edited --stat", "doctor", "restore", "restore", "check"])
    site.file().write_text(site.file().read_text().replace("# mine\n", ""))
    site.source(DDP, spatch=[("= MMDistributedDataParallel(", "= Other(")])
    check_chinese(site, [f"apply {DDP} --patch-dir patchsets", "apply", "-h"])

    done(site("diff", DDP, "--html", "page.html", SITEPATCH_LANG="zh"), 1)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '<html lang="zh-CN">' in page and "在 MMEngine 用 DDP 包装模型之前，显示每个参数在哪里" in page

    for line in (f"check {DDP} --explain", "apply nonesuch", "apply --nonsense", "status"):
        in_chinese = site(*line.split(), "--json", SITEPATCH_LANG="zh")
        in_english = site(*line.split(), "--json", SITEPATCH_LANG="en")
        assert in_chinese.data == in_english.data
        assert json.loads(in_chinese.out)["schema"] == 1

    text = site("check", DDP, "--explain", "-q", SITEPATCH_LANG="zh").out
    assert RUNNER in text and "找不到" in text and "`Runner.wrap_model` 存在，但没有要改的代码" in text
    without_code = [line for line in text.splitlines() if line[:13] != " " * 10]
    assert english_left("\n".join(without_code)) == []


@pytest.mark.parametrize(
    ("values", "is_chinese"),
    [
        ({}, False),
        ({"LANG": "en_US.UTF-8"}, False),
        ({"LANG": "C.UTF-8"}, False),
        ({"LANG": "zh_CN.UTF-8"}, True),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, False),
        ({"LANG": "zh_CN.UTF-8", "SITEPATCH_LANG": "en"}, False),
        ({"LANG": "en_US.UTF-8", "SITEPATCH_LANG": "zh"}, True),
    ],
)
def test_the_language_is_that_of_the_variable_or_of_the_locale(tmp_path, values, is_chinese):
    variables = {**dict.fromkeys(VARIABLES, ""), **values}
    shown = done(sitepatch("apply", "--help", cwd=tmp_path, **variables)).out
    assert ("显示本说明并退出。" in shown) == is_chinese


def test_a_language_that_has_no_catalog_is_english(tmp_path):
    plain = done(sitepatch("apply", "--help", cwd=tmp_path))
    assert done(sitepatch("apply", "--help", cwd=tmp_path, SITEPATCH_LANG="de_DE.UTF-8")).out == plain.out


@pytest.mark.parametrize(("first", "second", "line"), [("好 ", "的", "好的"), ("好", " 的", "好的"), ("a ", "的", "a 的"), ("好", " a", "好 a"), ("。", " （", "。（")])
def test_no_blank_is_left_between_two_chinese_characters(first, second, line):
    assert ZH.text(Message("{first}{second}", first=first, second=second)) == line


def test_lines_end_between_chinese_characters_and_never_before_a_comma():
    assert wrapped("补丁，应用 sitepatch（按语法）。", 10) == ["补丁，应用", "sitepatch", "（按语", "法）。"]


def test_the_source_of_a_patchset_is_chinese_in_an_error_and_in_its_hints(tmp_path):
    for line in ("update mmengine-device --to 9.9", "apply nothing-like-it"):
        text = sitepatch(*line.split(), "--target", tmp_path, cwd=tmp_path, SITEPATCH_LANG="zh").err
        assert "内置" in text and "built in" not in text, text


def test_show_prints_kinds_headings_and_states_in_chinese(tmp_path):
    shown = sitepatch("show", DDP, cwd=tmp_path, SITEPATCH_LANG="zh").out
    for text in ("  调试，内置\n", "\n出处\n  作者：", "可以去掉的时机：", "ddp-refuses-several-devices：模型的参数", "（int）\n", "个版本）：可应用\n"):
        assert text in shown, text
    about = shown.partition("ddp_debug.spatch")[0]
    assert english_left(re.sub(r"(?m)^解决.*?^选项$", "", about, flags=re.DOTALL)) == []
    listed = sitepatch("list", "-v", "--target", tmp_path, cwd=tmp_path, SITEPATCH_LANG="zh").out
    assert "  调试  mmengine" in listed and "  debug  " not in listed


def test_the_prose_of_a_patchset_is_chinese_and_its_lists_and_tables_keep_their_form(tmp_path):
    shown = sitepatch("show", DDP, cwd=tmp_path, SITEPATCH_LANG="zh").out
    assert "\n    world_size   torch.distributed 的，否则为变量 WORLD_SIZE 的文本" in shown and "DDP 会拒绝什么" in shown
    about = shown.partition("出处")[0]
    assert max(map(width, about.splitlines())) <= 100
    listed = sitepatch("show", "torch-dynamo-suppress", cwd=tmp_path, SITEPATCH_LANG="zh").out
    assert "\n- 它会掩盖缺陷：" in listed and "\n  陷" not in listed
    site = Site(tmp_path, "mmengine-0.10.7")
    done(site("diff", "mmengine-device", "--html", "page.html", SITEPATCH_LANG="zh"), 1)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<ol><li>get_device() 说 <code>cpu</code>。Runner" in page and "<small>修复，尚未应用</small>" in page
    assert " 存在，但没有要改的代码\n" in page, "a detail of several lines keeps them"
    assert "MMEngine 收下 fixtures/upstream/mmengine-upstream 的补丁" in page and "<dt>选项</dt>" in page and "（默认 auto）" in page


def test_prose_of_somebody_else_keeps_its_lines_in_chinese(tmp_path):
    site = Site(tmp_path, "mmengine-0.10.7")
    text = "What it is for,\nin two lines:\n\n- a point\n  of two lines\n"
    folder = site.source(DDP)
    spatch = folder / "ddp_debug.spatch"
    spatch.write_text(text + "\n--- " + spatch.read_text().partition("\n--- ")[2])
    shown = sitepatch("show", DDP, "--patch-dir", "patchsets", cwd=site.cwd, SITEPATCH_LANG="zh")
    assert f"\n{text}" in shown.out

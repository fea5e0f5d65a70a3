"""What people read, in Chinese: complete, as wide as the terminal, and nothing that English pays for or a program sees."""

import inspect
import json
import re
import time
from itertools import chain, zip_longest
from pathlib import Path

import click
import pytest

from patcher.errors import Location, UsageError
from patcher.message import Message
from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import BUILT_IN, builtin_dir
from patcher.patchset.symptoms import general_symptoms
from patcher.text.terminal import width, wrapped
from patcher.verbs.commands import SECTIONS
from patcher.verbs.language import Catalog, _numbered
from patcher.verbs.main import _language, commands
from tests.command import DDP, ROOT, RUNNER, Site, done, sitepatch
from tests.messages import NOTHING_SAID, messages, said, words

pytestmark = pytest.mark.once
CATALOG = ROOT / "patcher/locale/zh.po"
ZH = Catalog("zh")
VARIABLES = ("SITEPATCH_LANG", "LC_ALL", "LC_MESSAGES", "LANG")


def all_commands(group=commands):
    yield group
    for name in group.list_commands(click.Context(group)) if isinstance(group, click.Group) else ():
        yield from all_commands(group.get_command(click.Context(group), name))


def english():
    """Every paragraph and line of help that is ours, what errors mean, and what built-in patchsets are for."""
    built_in = [load_patchset(path.parent, BUILT_IN) for path in Path(builtin_dir()).glob("*/patchset.toml")]
    for symptom in chain(general_symptoms(builtin_dir()), *(one.symptoms for one in built_in)):
        yield from (symptom.meaning, symptom.advice)
    for one in built_in:
        yield from (one.summary, *(option.help for option in one.options))
    for command in all_commands():
        for text in [command.help, *(getattr(parameter, "help", None) for parameter in command.params)]:
            for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text or "")):
                yield " ".join(paragraph.split())
        yield from (line for line in (command.epilog or "").splitlines() if line[:1] not in ("", " ", "\b"))
    yield from SECTIONS


def entries():
    """What the catalog's source says: {msgid: (comment, msgstr)}."""
    text = CATALOG.read_text(encoding="utf-8")
    found = re.findall(r'^#\. (.*)\nmsgid (".*")\nmsgstr (".*")$', text, re.MULTILINE)
    return {json.loads(msgid): (comment, json.loads(msgstr)) for comment, msgid, msgstr in found}


def test_all_that_people_read_is_in_the_catalog_and_nothing_else():
    ours = {msgid for msgid, (comment, _) in entries().items() if comment not in ("click", "os")}
    needed = {*english(), *messages(), *words()} - {""}
    assert sorted(needed - ours) == []
    assert sorted(ours - needed - said()) == []
    assert sorted(NOTHING_SAID - said()) == []


def test_each_message_is_found_by_its_own_entry_whatever_fills_its_holes():
    known = entries()
    for msgid in sorted(messages()):
        fields = {f"x{number}": f"<{number}>" for number in range(msgid.count("{}"))}
        pieces = _numbered(known[msgid][1])
        assert sorted(pieces[1::2]) == [str(number) for number in range(len(fields))], msgid
        template = "".join(chain(*zip_longest(re.split(r"(?<=\{)(?=\})", msgid), fields, fillvalue="")))
        expected = "".join(f"<{piece}>" if at % 2 else piece for at, piece in enumerate(pieces))
        assert ZH.text(Message(template.replace("{...}", "{{...}}"), **fields)) == expected


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("a/b.toml: name: found nothing, expected a string", "a/b.toml：name：写的是无，应为字符串"),
        ("a b: c, d", "a b: c, d"),
        ("3 of 40 hunks", "3/40 个补丁块"),
        ("1 file compiled in 0.01 s, 2 modules imported in 1.20 s", "编译 1 个文件，用时 0.01 s，导入 2 个模块，用时 1.20 s"),
        ("2 files compiled in 0.01 s, 1 probe passed in 1.20 s", "编译 2 个文件，用时 0.01 s，通过 1 个探测，用时 1.20 s"),
        ("1 file compiled in 0.01 s", "编译 1 个文件，用时 0.01 s"),
        ("`the value of x in y` stands in several places", "`the value of x in y` stands in several places"),
        ("0 problems in /x/y", "/x/y 里的 0 个问题"),
        (
            "cured by a-b: torch is not installed in /x; see sitepatch status",
            "解决它的补丁集：a-b：/x 里没有安装 torch；见 sitepatch status",
        ),
        (
            "searched: /a (./a of the current directory, not there), /b (built in)",
            "查找过：/a（当前目录的 ./a，不存在），/b（内置）",
        ),
        ("the file has no line `edited by hand`", "文件里没有这一行：`edited by hand`"),
        ("/x: edited by hand; apply it again", "/x：手工修改；apply it again"),
        ("nothing is applied in /a: nothing to restore\n  return x in y", "/a 里什么都没有打上：无需恢复\n  return x in y"),
    ],
)
def test_what_is_composed_is_translated_and_names_and_code_are_not(said, told):
    assert ZH.text(said) == told


@pytest.mark.parametrize("name", ["data in use", "in use; not found", "a: found nothing, and b in c", "is applied (in use)"])
def test_a_path_of_the_users_own_is_not_rewritten(tmp_path, name):
    (tmp_path / name / "site").mkdir(parents=True)
    path = tmp_path / name
    assert ZH.text(str(path)) == str(path)
    assert ZH.text(f"{path}/site/m.py: edited by hand") == f"{path}/site/m.py：手工修改"
    assert ZH.text(f"0 problems in {path}/site") == f"{path}/site 里的 0 个问题"
    assert ZH.text(f"nothing is applied in {path}: nothing to restore") == f"{path} 里什么都没有打上：无需恢复"


@pytest.mark.parametrize("path", ["/gone/data in use", "/gone/in use; not found", "applied (in use): edited by hand"])
def test_a_field_of_a_message_is_not_rewritten_whether_such_a_path_is_there_or_not(path):
    edited = Message("{place}: {problem}", place=path, problem=Message("the file was changed after it was patched"))
    assert ZH.text(edited) == f"{path}：打补丁之后文件又被改过"
    assert ZH.text(Message("nothing is applied in {site}: nothing to restore", site=path)) == f"{path} 里什么都没有打上：无需恢复"
    error = UsageError.at(Location(path, 3), Message("found no {name} beside it, expected what it is to become", name="in use"))
    assert ZH.text(error.message) == f"{path}:3：旁边没有 in use，而它应当写明改成什么"
    assert str(edited) == f"{path}: the file was changed after it was patched"


@pytest.mark.parametrize("name", ["data in use", "not found in use"])
def test_commands_keep_the_path_of_the_users_own(tmp_path, name):
    home = tmp_path / name
    home.mkdir()
    site = Site(home, "mmengine-0.10.7")
    for line in (["restore"], ["status", "-v"], ["doctor"], ["check", DDP, "--explain"], ["apply", "nonesuch"], ["diff", "--edited"]):
        shown = [site(*line, SITEPATCH_LANG=language, COLUMNS="500") for language in ("en", "zh")]
        english, chinese = (ended.out + ended.err for ended in shown)
        assert re.search("[\u4e00-\u9fff]", chinese), line
        assert chinese.count(str(home)) == english.count(str(home)), (english, chinese)


def test_a_hostile_text_does_not_hold_it_up():
    begun = time.process_time()
    for piece in (
        "the code has a: the file has b, found c, expected d; ",
        "is in a of the code has, and b: ",
        "`{}` (line {}",
        "a; ",
    ):
        for text in (piece * 30_000, (piece * 40 + "\n") * 30):
            assert ZH.text(text) is not None
    assert time.process_time() - begun < 20


@pytest.mark.parametrize("words", [[], ["apply"], ["capture"], ["diagnose"], ["hook", "init"]])
def test_help_is_chinese_and_no_wider_than_the_terminal(tmp_path, words):
    shown = done(sitepatch(*words, "--help", cwd=tmp_path, SITEPATCH_LANG="zh", COLUMNS="60")).out
    told = [line for line in shown.splitlines() if not re.match(r"  +sitepatch |  +torchrun ", line)]
    assert "显示本说明并退出。" in shown and "Show this" not in shown and "Usage" not in shown
    assert max(map(width, told)) <= 60


def test_what_an_error_means_is_reported_in_chinese_and_to_programs_in_english(tmp_path):
    (tmp_path / "train.log").write_text("RuntimeError: Address already in use\n")
    told = sitepatch("diagnose", "train.log", "--target", tmp_path, cwd=tmp_path, SITEPATCH_LANG="zh")
    assert told.code == 1 and "含义：各 rank 会合用的端口被占用" in told.out and "提示：换一个 --master_port" in told.out
    asked = sitepatch("diagnose", "train.log", "--target", tmp_path, "--json", cwd=tmp_path, SITEPATCH_LANG="zh")
    assert json.loads(asked.out)["findings"][0]["meaning"].startswith("the port where the ranks are to meet is taken")


def english_left(text):
    """Three English words in a row, but for code in backticks or quotes, commands, and lines of code."""
    text = re.sub(r"`[^`]*`|\"[^\"]*\"|sitepatch [\w-]+ [^\n；]*|(?m:^.* \| .*$)", "", text)
    return re.findall(r"[A-Za-z']+ [a-z']+ [a-z']+[^\n]*", text)


def test_commands_speak_chinese_and_answer_programs_in_english(tmp_path):
    site = Site(tmp_path, "mmengine-0.10.7")
    bad = tmp_path / "patchsets" / "bad"
    bad.mkdir(parents=True)
    (bad / "patchset.toml").write_text('schema = 1\nname = "bax"\nversion = "x y"\nkind = 3\nfoo = 1\n')
    first = [
        "apply nonesuch",
        "apply mmengine-ddp-debg",
        "show bad",
        "check bad",
        "list",
        f"apply {DDP}",
        f"apply {DDP}",
        "status",
    ]
    then = ["status --verify import", "diff --edited --stat", "doctor", "restore", "restore", "check"]
    last = [f"apply {DDP} --patch-dir patchsets", "apply", "-h"]
    for line in [*first, *then, *last]:
        if line == then[1]:
            site.file().write_text(f"{site.file().read_text()}# mine\n")
        if line == last[0]:
            site.file().write_text(site.file().read_text().replace("# mine\n", ""))
            site.source(DDP, spatch=[("= MMDistributedDataParallel(", "= Other(")])
        shown = site(*line.split(), SITEPATCH_LANG="zh", COLUMNS="100")
        assert english_left(shown.out + shown.err) == [], line
        assert re.search("[\u4e00-\u9fff]", shown.out + shown.err), line
    done(site("diff", DDP, "--html", "page.html", SITEPATCH_LANG="zh"), 1)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '<html lang="zh-CN">' in page and "在 MMEngine 用 DDP 包装模型之前，显示每个参数在哪里" in page
    for asked_for in (["check", DDP, "--explain"], ["apply", "nonesuch"], ["apply", "--nonsense"], ["status"]):
        asked = [site(*asked_for, "--json", SITEPATCH_LANG=language) for language in ("zh", "en")]
        assert asked[0].data == asked[1].data and json.loads(asked[0].out)["schema"] == 1
    told = site("check", DDP, "--explain", "-q", SITEPATCH_LANG="zh").out
    assert RUNNER in told and "找不到" in told and "`Runner.wrap_model` 存在，但没有要改的代码" in told
    assert english_left("\n".join(line for line in told.splitlines() if line[:13] != " " * 10)) == []


@pytest.mark.parametrize(
    ("values", "language"),
    [
        ({}, ""),
        ({"LANG": "en_US.UTF-8"}, ""),
        ({"LANG": "C.UTF-8"}, ""),
        ({"LANG": "zh_CN.UTF-8"}, "zh_CN.UTF-8"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, ""),
        ({"LANG": "zh_CN.UTF-8", "SITEPATCH_LANG": "en"}, ""),
        ({"LANG": "en_US.UTF-8", "SITEPATCH_LANG": "zh"}, "zh"),
    ],
)
def test_the_language_is_that_of_the_variable_or_of_the_locale(monkeypatch, values, language):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    assert _language() == language


def test_a_language_that_has_no_catalog_is_english(tmp_path):
    plain = done(sitepatch("apply", "--help", cwd=tmp_path))
    assert done(sitepatch("apply", "--help", cwd=tmp_path, SITEPATCH_LANG="de_DE.UTF-8")).out == plain.out


def test_lines_end_between_chinese_characters_and_never_before_a_comma():
    assert wrapped("补丁，应用 sitepatch（按语法）。", 10) == ["补丁，应用", "sitepatch", "（按语", "法）。"]

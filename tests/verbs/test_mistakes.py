"""Forty mistakes that people make, as they type them: the answer says what is wrong, where, and what to do next. The list is older than the texts."""

import re
import shutil
import subprocess
import sys

import pytest

from tests.command import Site, environ, sitepatch
from tests.records import with_record, write_files

pytestmark = pytest.mark.once
SESSIONS = """class Session:
    def send(self, request, timeout=None):
        if timeout is None:
            timeout = 30
        return self.adapter.send(request, timeout)

    def close(self):
        for adapter in self.adapters:
            adapter.close()
"""
TOML = """schema = 1
name = "{name}"
version = "1.0"
kind = "fix"
summary = "Wait longer for a slow server"

[options.level]
type = "int"
default = 60
help = "Seconds."

[[variant]]
package = "{package}"
versions = ">=2"
patches = ["fix.spatch"]
"""
HUNK = """--- {package}/sessions.py
@@ Session.send @@
-timeout = 30
+timeout = $level
"""
DIFF = """--- a/requests/sessions.py
+++ b/requests/sessions.py
@@ -3,2 +3,2 @@
         if timeout is None:
-            timeout = 30
+            timeout = 60
"""
PATCHSETS = {
    "good": HUNK,
    "absent": HUNK,
    "drift": HUNK.replace("timeout = 30", "timeout = 45"),
    "swapped": "--- requests/sessions.py\n@@ Session.send @@\n-timeout = 60\n+timeout = 30\n",
    "dash": HUNK.replace("@@ Session.send @@\n-", "@@ Session.send @@\n–"),
    "curly": HUNK.replace("-timeout = 30", "-timeout = “30”"),
    "blank": HUNK.replace("-timeout = 30", "-timeout =\N{NO-BREAK SPACE}30"),
    "mail": "".join(f"> {line}\n" for line in HUNK.splitlines()),
    "noscope": HUNK.replace("@@ Session.send @@\n", ""),
    "method": HUNK.replace("Session.send", "Session.sent"),
    "range": HUNK,
    "key": HUNK,
    "toml": HUNK,
    "missing": HUNK,
    "utf": HUNK,
    "opened": HUNK.replace("-timeout = 30", "-timeout = max((1, 30)"),
    "closed": HUNK.replace("+timeout = $level", "+timeout = $level)"),
}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A site with requests 2.31, patchsets good and bad, a diff, a log and a note; nothing is applied."""
    home = tmp_path_factory.mktemp("mistakes")
    write_files(home / "site", with_record("requests", "2.31.0", {"requests/__init__.py": "", "requests/sessions.py": SESSIONS}))
    for name, hunk in PATCHSETS.items():
        folder = home / "patchsets" / name
        folder.mkdir(parents=True)
        imported = "urllib9" if name == "absent" else "requests"
        (folder / "patchset.toml").write_text(TOML.format(name=name, package=imported))
        (folder / "fix.spatch").write_text(hunk.format(package=imported))
    key, toml = home / "patchsets/key/patchset.toml", home / "patchsets/toml/patchset.toml"
    key.write_text(key.read_text().replace("summary", "sumary"))
    toml.write_text(toml.read_text().replace('version = "1.0"', "version = 1.0.2"))
    (home / "patchsets/missing/fix.spatch").unlink()
    newer = home / "patchsets/range/patchset.toml"
    newer.write_text(newer.read_text().replace(">=2", ">=3"))
    (home / "pyenv").write_text("#!/bin/sh\nprintf 'pyenv: python3.9: command not found\\n\\nIt exists in:\\n  3.9.1\\n' >&2\nexit 127\n")
    (home / "pyenv").chmod(0o755)
    (home / "loose").mkdir()
    (home / "nothing").mkdir()
    (home / "patchsets/utf/fix.spatch").write_bytes(HUNK.encode("utf-16"))
    shutil.copytree(home / "patchsets/good", home / "mine/own")
    shutil.copytree(home / "patchsets/good", home / "written/bare")
    (home / "written/bare/patchset.toml").write_text(TOML.format(name="bare", package="requests").replace(">=2", "2.31.0"))
    (home / "fix.diff").write_text(DIFF)
    (home / "empty.diff").write_text("")
    (home / "page.diff").write_text("\n<!DOCTYPE html>\n<html><body>Page not found</body></html>\n")
    (home / "other.diff").write_text(DIFF.replace("requests/sessions.py", "django/http/request.py"))
    (home / "notes.txt").write_text("remember the milk\n")
    (home / "fine.log").write_text("Epoch 1\nEpoch 2\ndone\n")
    return home


# as it is typed, the exit code, and patterns of: what is wrong, where, what to do next
MISTAKES = [
    ("apply", 2, "NAME.* is missing", "sitepatch apply", "sitepatch apply --help"),
    ("aply good", 2, 'no command "aply"', "aply", 'did you mean "apply"'),
    ("explain good", 2, 'no command "explain"', "explain", "sitepatch check NAME --explain"),
    ("apply god", 2, 'no patchset "god"', "patchsets", 'did you mean "good"'),
    ("apply fix.diff", 2, "it is a diff", "fix.diff", "sitepatch import fix.diff"),
    ("apply ./patchsets/good", 2, "it is the folder of a patchset", r"\./patchsets/good", "its name: good"),
    ("apply requests", 2, "it is a package", "requests", "sitepatch list requests"),
    ("apply good --forse", 2, "no option --forse", "sitepatch apply", 'did you mean "--force"'),
    ("apply good --verify all", 2, 'found "all"', "--verify", "none, compile, import or probe"),
    ("apply good --set level", 2, "found no \"=\"", "--set", "option=VALUE"),
    ("apply good --set levle=3", 2, "levle", "good", 'did you mean "level"'),
    ("apply good --set level=high", 2, "high", "level", "an int|a whole number|of type int"),
    ("apply good --python /no/such", 2, "/no/such", "--python", "interpreter"),
    ("apply good --target /no/such", 2, "/no/such", "--target", "directory"),
    ("apply good --patch-dir /no/such", 2, "/no/such", "--patch-dir", "directory"),
    ("apply absent", 1, "urllib9 is not installed", "site", "--python|pip install|--target"),
    ("apply drift", 1, "timeout = 45|timeout = 30", "requests/sessions.py", "sitepatch check drift --explain"),
    ("apply method", 1, "Session.sent", "requests/sessions.py", "Session.send"),
    ("apply swapped", 0, "fixed upstream", "requests/sessions.py", "`-` and `\\+` are swapped"),
    ("check dash", 2, "–|en dash", r"fix\.spatch:3", '"-"|write -|`-`'),
    ("check curly", 2, "“|curly", r"fix\.spatch:3", "straight|write \"|`\"`"),
    ("check blank", 2, "no-break space|NO-BREAK|U\\+00A0", r"fix\.spatch:3", "blank|space"),
    ("check mail", 2, "> |mail", r"fix\.spatch:1", "remove|without"),
    ("check noscope", 2, "@@", r"fix\.spatch:2", "@@ SCOPE @@|@@ .* @@"),
    ("check key", 2, "sumary", "patchset.toml", "summary"),
    ("check toml", 2, "1.0.2|line 3|invalid|version", "patchset.toml:3", "TOML|quote|string"),
    ("check missing", 2, "fix.spatch", "patchset.toml|fix.spatch", "no such file|not there|readable"),
    ("restore god", 2, 'god', "site|applied", "sitepatch status|nothing is applied"),
    ("restore --from-backup", 0, "no file .* has a backup", "site", "pip install --force-reinstall|sitepatch doctor|\\.bak"),
    ("list zzz", 1, "zzz", "patchsets|list", "sitepatch list"),
    ("capture reqests --name mine", 1, "reqests is not installed|no package", "site", "did you mean requests"),
    ("capture requests --name mine", 1, "nothing was edited", "site|requests", "sitepatch edit"),
    ("edit requests session.py --name mine", 2, "session.py", "site", "sessions.py"),
    ("import nosuch.diff --name mine", 2, "(?i)no such file", "nosuch.diff", "expected a diff"),
    ("import notes.txt --name mine", 2, "no unified diff", "notes.txt", "diff -u|unified|git"),
    ("run good python -c pass", 2, "`--`", "run", "sitepatch run good -- python"),
    ("run good -- nosuchprogram", 127, "nosuchprogram", "PATH|nosuchprogram", "install|PATH|activate"),
    ("apply good==9", 1, "found version", "good", "expected good==9"),
    ("sync", 2, r"\[tool.sitepatch\]|pyproject.toml", "pyproject.toml", "apply =|patchsets =|write|sitepatch apply"),
    ("diagnose nosuch.log", 2, "no such file", "nosuch.log", "name|log"),
]

# of a second list; `loose` is a folder without a manifest
FURTHER = [
    ("apply", 2, "NAME.* is missing", "sitepatch apply", "sitepatch list"),
    ("uninstall good", 2, 'no command "uninstall"', "uninstall", "`sitepatch restore`"),
    ("hook enable", 2, 'no command "enable"', "sitepatch hook", "expected init or status"),
    ("apply ./loose", 2, "a folder without patchset.toml", r"\./loose", "sitepatch edit PACKAGE --name NAME"),
    ("restore requests/sessions.py", 2, "it is a Python file", "requests/sessions.py", "sitepatch diff --edited requests/sessions.py"),
    ("capture", 2, "--name is missing", "sitepatch capture", "sitepatch capture --help"),
    ("edit requests sessions.py", 1, "found no editor", "VISUAL nor EDITOR", "export EDITOR="),
    ("edit reqests", 2, 'no patchset "reqests"', "reqests is not installed in", "did you mean requests"),
    ("check opened", 2, r"this `\(` is never closed", r"fix\.spatch:3", r"\^"),
    ("check closed", 2, r"this `\)` closes nothing", r"fix\.spatch:4", r"\^"),
    ("diagnose nosuch.log", 2, "no such file", "nosuch.log", "directories of logs, or -"),
]

# of a third list; `mine` holds the patchset `own`
FURTHER += [
    ("apply Mmengine_Device", 2, "no patchset", "Mmengine_Device", 'did you mean "mmengine-device"'),
    ("apply good,drift", 2, "with blanks between them", "patchsets", "good drift$"),
    (r"apply .\patchsets\good", 2, "it is the folder of a patchset", r"\\patchsets", "its name: good"),
    ("apply own", 2, r"it is in \./mine, which is not searched", "own", "--patch-dir mine"),
    ("check patchsets/good/fix.spatch", 2, "it is a file of a patchset", "fix.spatch", "its name: good"),
    ("check utf", 2, "the byte 0xff", r"fix\.spatch:1", "save the file in that encoding"),
    ("check missing", 2, "No such file", r"missing/fix\.spatch", "the one that patchset.toml names"),
    ("--json status", 2, "no option --json", "sitepatch", r"behind the command: sitepatch status --json"),
    ("import fix.diff", 2, "--name is missing", "import", r"sitepatch import fix\.diff --target \S+ --name NAME"),
    ("import page.diff --name mine", 2, "it is a web page", r"page\.diff", r"with \.diff at its end"),
    ("import empty.diff --name mine", 2, "it is empty", r"empty\.diff", "expected what diff -u"),
    ("import other.diff --name mine", 1, "no installed file", "django/http/request.py", "install the package, or name its environment"),
    ("edit requests/sessions.py --name good", 1, "found no editor", "VISUAL nor EDITOR", r"the copies [^\n]*sitepatch capture --from \S+ --name good"),
    ("doctor good", 2, "more than doctor takes", "good", "see: sitepatch doctor --help"),
    ("apply good --set 3", 2, 'found no "="', "--set 3", "its options: sitepatch show good"),
    ("diagnose nothing", 2, "found no log in it", "nothing", "nothing"),
    ("diagnose empty.diff", 0, "0 lines of 1 log", "nothing was read", "2>&1"),
]

# of a fourth list
FURTHER += [
    ("help apply", 2, 'no command "help"', "sitepatch", "write: sitepatch apply --help"),
    ("apply good -n", 2, "no option -n", "sitepatch apply", 'did you mean "--dry-run"'),
    ("apply good -f", 2, "no option -f", "sitepatch apply", 'did you mean "--force"'),
    ("update good --target site --to", 2, "--to needs a value", "--to", "quote a range, .* --to '>=2.4'"),
    ("hook init good", 2, "no patchset is named", "pyproject.toml", "good is a patchset; .* sitepatch hook init hook good"),
    ("export good --output patchsets", 1, "Is a directory", "patchsets", "name a file"),
    ("export good --output /proc/nowhere/x", 1, "No such file", "/proc/nowhere", "name a place that exists"),
]

# of a fifth list, sixty that were written down before any of the texts was read; a `+` stands for a blank in a word
FURTHER += [
    ("apply No+module+named+torch._six", 2, "it is a sentence", "patchset", "sitepatch list 'No module named torch._six'"),
    ("diagnose No+module+named+torch._six", 2, "no such file", "torch._six", "sitepatch list 'No module named torch._six'"),
    ("list no+such+error+anywhere", 1, "no patchset and no known error", "no such error anywhere", "sitepatch edit PACKAGE FILE"),
    ("apply mmengine", 2, '"mmengine": it is a package', "mmengine", "sitepatch list mmengine"),
    ("check bare --patch-dir written", 2, 'found "2.31.0"', r"bare/patchset.toml: variant\[0\].versions", '"==2.31.0" for that release alone'),
    ("apply range", 1, "requests 2.31.0 is installed; this patchset is for requests >=3", "range", "check whether it fits: sitepatch check range --explain"),
    ("check range --explain", 1, "this patchset is for requests >=3", "range", "sitepatch update range --to 2.31.0"),
    ("edit requests models/session.py --name mine", 2, "models/session.py", "site", "expected one of requests/sessions.py"),
    ("edit requests session.py --name My+Fix", 2, 'found the name "My Fix"', "name", "as my-fix, say"),
    ("version", 2, 'no command "version"', "sitepatch", "write: sitepatch --version"),
    ("verify good", 2, 'no command "verify"', "sitepatch", "that is `sitepatch check`"),
    ("status --target site/requests", 2, "found a package", "--target site/requests", r"--target \S+/site$"),
    ("status --python site", 2, "found no interpreter", "--python site", "a directory of packages: --target site"),
    ("status --python false", 2, "no working Python 3", r"exit code 1: \)", "name a python executable"),
    ("status --python ./pyenv", 2, "exit code 127: pyenv: python3.9: command not found", "--python ./pyenv", "name a python executable"),
    ("export good --output /dev/full", 1, "No space left", "/dev/full", "free some space"),
]


def answered(world, command):
    environment = () if re.search("--target|--python|^hook init", command) else ("--target", world / "site")
    words = [word.replace("+", " ") for word in command.split()]
    at = words.index("--") if "--" in words else len(words)
    return sitepatch(*words[:at], *environment, *words[at:], cwd=world, COLUMNS="400")


def lacks(ended, code, *patterns):
    """The patterns that an answer lacks."""
    shown = ended.out + ended.err
    return [f"exit code {ended.code}"] * (ended.code != code) + [each for each in patterns if not re.search(each, shown)]


def test_each_of_forty_mistakes_is_answered_with_what_is_wrong_where_and_the_next_step(world):
    assert len(MISTAKES) == 40
    bad = {}
    for command, *asked in MISTAKES:
        ended = answered(world, command)
        if lacks(ended, *asked):
            bad[command] = (lacks(ended, *asked), ended.out, ended.err)
        assert "Traceback" not in ended.err, command
        assert len((ended.out + ended.err).splitlines()) <= 16, (command, ended)
    assert len(bad) <= 2, "\n".join(f"{command}\n  {lacking}\n{out}{err}" for command, (lacking, out, err) in bad.items())
    assert not Site(world).path.joinpath(".sitepatch").exists()


@pytest.mark.parametrize("mistake", FURTHER, ids=[command for command, *_ in FURTHER])
def test_a_mistake_of_the_second_list_is_answered_with_what_is_wrong_where_and_the_next_step(world, mistake):
    command, *asked = mistake
    ended = answered(world, command)
    assert lacks(ended, *asked) == [] and "Traceback" not in ended.err, ended


@pytest.fixture(scope="module")
def applied(world):
    """A second site, where `good` is applied and its line has been edited by hand since."""
    shutil.copytree(world / "site", world / "edited")
    assert sitepatch("apply", "good", "--target", "edited", cwd=world).code == 0
    file = world / "edited/requests/sessions.py"
    file.write_text(file.read_text().replace("timeout = 60", "timeout = 90"))
    return world


def test_restore_over_an_edit_names_the_whole_command_that_drops_it(applied):
    for words in ([], ["good"]):
        ended = sitepatch("restore", *words, "--target", "edited", cwd=applied)
        assert ended.code == 1 and "sitepatch restore good --force --target edited\n" in ended.out, ended


def test_a_conflict_is_reported_once(applied):
    ended = sitepatch("apply", "good", "--set", "level=5", "--target", "edited", cwd=applied)
    assert ended.code == 1 and "conflict  good" in ended.out, ended
    assert "sitepatch restore good --target edited; with --force drop the edit" in ended.out, ended
    assert "--explain" not in ended.out + ended.err, ended


def test_restore_of_an_unknown_name_lists_what_is_applied(applied):
    ended = sitepatch("restore", "nothing", "--target", "edited", cwd=applied)
    assert ended.code == 2 and "hint: applied patchsets: good; see: sitepatch status --target edited\n" in ended.err, ended
    assert "drift" not in ended.err and "searched" not in ended.err, ended


def test_inside_its_own_folder_a_patchset_is_found_by_a_hint(world):
    inside = world / "patchsets/good"
    ended = sitepatch("check", "good", "--target", world / "site", cwd=inside)
    assert ended.code == 2 and "it is the current directory, which is not searched\nhint: name it: --patch-dir ." in ended.err, ended
    assert sitepatch("check", "good", "--target", world / "site", "--patch-dir", ".", cwd=inside).code == 0


def test_a_note_names_the_option_for_another_environment_in_the_current_directory(world):
    (world / "project/.venv").mkdir(parents=True)
    (world / "project/.venv/pyvenv.cfg").write_text("")
    note = "the one of this directory is named with --python .venv"
    for command in (["status"], ["list"], ["apply", "good", "--patch-dir", world / "patchsets"]):
        assert note in sitepatch(*command, cwd=world / "project").err, command
    assert note not in sitepatch("status", "--target", world / "site", cwd=world / "project").err


def test_a_note_says_that_sitepatch_looks_into_its_own_environment(world):
    ended = sitepatch("edit", "nosuchpackage", "m.py", cwd=world)
    assert ended.code == 1 and "nosuchpackage is not installed in" in ended.err
    assert "this is the one that sitepatch runs in: --python PATH or --target DIR" in ended.err


def test_the_command_is_a_module_too(world):
    completed = subprocess.run([sys.executable, "-m", "sitepatch", "--version"], cwd=world, env=environ(), stdout=subprocess.PIPE)
    assert completed.returncode == 0 and completed.stdout.startswith(b"sitepatch, version ")

"""Several patchsets in one file: the state is derived, so the order in which a person does things does not matter."""

import itertools
import json
import os
import re
import venv
from hashlib import sha256
from pathlib import Path
from typing import Dict, List, Optional, Tuple

import pytest

from patcher.engine.spatch.hunk import parse_spatch
from patcher.errors import SitepatchError, StoreError
from patcher.facts import Assignment, Condition, Content, HandEdit, Receipts, TargetFile
from patcher.installed.interpreter import Environment, discover
from patcher.model import (
    Answer,
    Change,
    FilePlan,
    FileRelease,
    HunkAnswer,
    Located,
    PatchedRelease,
    Plan,
    PristineFile,
    Receipt,
    Requested,
    Splice,
    State,
)
from patcher.patchset.manifest import load_patchset
from patcher.planner.reconcile import reconciled
from patcher.planner.resolve import resolve
from patcher.planner.rewriter import REWRITER
from patcher.planner.same_place import are_of_same_place
from patcher.store.status import before_and_after, statuses
from patcher.verbs.demo import lay_out
from tests.answers import answer as answer_of
from tests.command import DDP, RUNNER, Site, sitepatch, tree
from tests.planner.helpers import FIX, TITLE, patchset
from tests.plans import plan_adopt, plan_apply, plan_pristine, plan_restore, plan_sync
from tests.records import rerecord, row
from tests.stores import commit_plan

CLASH = FIX.replace("device_ids=None", "device_ids=[]")


TEXT_OPTION = '[options.text]\ntype = "str"\ndefault = "hello"\nhelp = "what to say"\n'


@pytest.fixture()
def site(tmp_path: Path) -> Site:
    patchset(tmp_path, "ids-fix", FIX)
    patchset(tmp_path, "ids-clash", CLASH)
    patchset(tmp_path, "title", TITLE, "default", TEXT_OPTION)
    return Site(tmp_path, "mmengine-0.10.7")


def apply(site: Site, *words: str) -> None:
    ended = site("apply", *words, "--patch-dir", "patches")
    assert ended.code == 0, ended


@pytest.mark.once
def test_every_order_of_applying_gives_the_same_bytes_and_every_order_of_restoring_the_pristine_ones(site: Site) -> None:
    pristine, seen = site.tree(), set()
    for applied in itertools.permutations(["ids-fix", "title", DDP]):
        for name in applied:
            apply(site, name)
        seen.add(site.file().read_bytes())
        for name in applied[1:] + applied[:1]:
            assert site("restore", name).code == 0
        assert site.tree() == pristine
    assert len(seen) == 1


def test_the_debug_patchset_reports_the_code_that_the_fix_made(site: Site) -> None:
    apply(site, DDP)
    assert """lambda: {"device_ids": [int(os.environ['LOCAL_RANK'])]})""" in site.file().read_text()
    apply(site, "ids-fix")
    assert 'lambda: {"device_ids": None})' in site.file().read_text()


def test_restoring_the_fix_leaves_what_the_debug_patchset_alone_would_make(site: Site, tmp_path: Path) -> None:
    apply(site, DDP)
    alone = site.file().read_bytes()
    apply(site, "ids-fix")
    for path in (tmp_path / "patches" / "ids-fix").iterdir():
        path.unlink()  # the source may be gone: the store has kept what it needs
    assert site("restore", "ids-fix").code == 0
    assert site.file().read_bytes() == alone


def test_a_changed_option_is_an_update_through_the_pristine_copy(site: Site) -> None:
    apply(site, "title")
    assert "print('hello')" in site.file().read_text()
    apply(site, "title", "--set", "text=good morning")
    assert "print('good morning')" in site.file().read_text()
    assert "print('hello')" not in site.file().read_text()
    back = site("apply", "title", "--patch-dir", "patches")
    assert "it was applied with text = 'good morning', and 'hello' is asked for now" in back.err


def test_where_the_metadata_has_no_version_a_note_says_that_the_range_was_not_checked(site: Site) -> None:
    (info,) = site.path.glob("*.dist-info")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mmengine\n")
    ended = site("apply", "title", "--patch-dir", "patches")
    assert ended.code == 0
    assert "mmengine has no version in its metadata: whether title is for it (" in ended.err


def test_an_option_with_the_value_of_the_code_changes_nothing_and_that_is_reported(site: Site, tmp_path: Path) -> None:
    text = (
        "Why.\n\n--- mmengine/runner/runner.py\n@@ Runner.wrap_model @@\n"
        "-self.cfg.get('find_unused_parameters', False)\n+self.cfg.get('find_unused_parameters', $unused)\n"
    )
    patchset(tmp_path, "unused", text, "fix", '[options.unused]\ntype = "bool"\ndefault = true\nhelp = "default"\n')
    before = site.tree()
    ended = site("apply", "unused", "--set", "unused=no", "--patch-dir", "patches")
    assert ended.code == 0, ended
    assert "upstream" in ended.out
    assert site.tree() == before


def test_a_new_version_of_a_patchset_replaces_the_old_one_even_in_files_it_no_longer_changes(site: Site, tmp_path: Path) -> None:
    both = TITLE + "\n--- mmengine/dist/utils.py\n@@ <module> @@\n ...\n+GREETED = True\n"
    patchset(tmp_path, "title", both, "default", TEXT_OPTION)
    before = tree(site.path)
    apply(site, "title")
    assert "GREETED" in site.file("mmengine/dist/utils.py").read_text()
    patchset(tmp_path, "title", TITLE, "default", TEXT_OPTION, version="2")
    assert "outdated" in site("status", "--patch-dir", "patches").out
    apply(site, "title")
    after = tree(site.path)
    assert after["mmengine/dist/utils.py"] == before["mmengine/dist/utils.py"]
    assert after[RUNNER] != before[RUNNER]


@pytest.mark.parametrize("applied", ["ids-fix", "ids-clash"])
def test_two_patchsets_that_change_the_same_code_are_a_conflict_that_names_the_other_and_its_hunk(site: Site, applied: str) -> None:
    apply(site, applied)
    before = site.tree()
    other = {"ids-fix": "ids-clash", "ids-clash": "ids-fix"}[applied]
    for words in (["apply", other], ["apply", "ids-fix", "ids-clash"], ["diff", other], ["check", other]):
        ended = site(*words, "--patch-dir", "patches")
        text = ended.out + ended.err
        assert ended.code == 1 and "not found" not in text and "closest" not in text, ended
        # `ids-clash` comes first in the order of application, whichever was applied first
        if words[0] != "diff":
            assert re.search(rf"^conflict +ids-fix +{RUNNER} +Runner.wrap_model$", text, re.MULTILINE), ended
        assert "ids-clash changes the same code, in its hunk p.spatch:4" in text, ended
        assert "write it for the code as ids-clash makes it, or make one patchset of both" in text
    assert site.tree() == before


RANK = "--- mmengine/dist/utils.py\n@@ get_rank @@\n"
LOCAL = "--- mmengine/dist/utils.py\n@@ _init_dist_pytorch @@\n"
BY_RANK = "-return int(os.environ.get('RANK', 0))\n+return int(os.environ.get('RANK', {0}))\n"
WITHOUT_RANK = BY_RANK.replace(" 0", " $number")
OPEN = {
    "literal-a": RANK + BY_RANK.format(1) + "@@ or @@\n" + WITHOUT_RANK.format(1),
    "literal-b": RANK + BY_RANK.format(2) + "@@ or @@\n" + WITHOUT_RANK.format(2),
    "whatever-it-is": RANK + WITHOUT_RANK.replace("'RANK'", "$X").format(3),
}


@pytest.mark.parametrize("names", list(itertools.permutations(OPEN, 2)))
def test_a_form_that_leaves_a_literal_open_does_not_take_it_from_another_patchset(site: Site, tmp_path: Path, names: Tuple[str, str]) -> None:
    """Both are found, one after the other: the second by its other form, in what the first made of the same code."""
    for name, text in OPEN.items():
        patchset(tmp_path, name, text)
    applied, other = names
    apply(site, applied)
    before = site.tree()
    for words in (["apply", other], ["apply", *names], ["check", other]):
        ended = site(*words, "--patch-dir", "patches")
        text = ended.out + ended.err
        assert ended.code == 1, ended
        # by name the first one in the order of application is there already
        assert f"{min(names)} changes the same code, in its hunk p.spatch:2" in text, ended
    assert site.tree() == before


def test_of_two_hunks_the_one_that_takes_a_literal_from_another_patchset_is_the_conflict(site: Site, tmp_path: Path) -> None:
    patchset(tmp_path, "a-other", LOCAL + "-rank = int(os.environ['RANK'])\n+rank = 0\n")
    patchset(tmp_path, "literal-a", OPEN["literal-a"])
    patchset(tmp_path, "two-hunks", CONTEXT["two-inserts"] + "\n" + OPEN["literal-b"].partition("\n")[2])
    apply(site, "a-other", "literal-a")
    ended = site("apply", "two-hunks", "--patch-dir", "patches")
    text = ended.out + ended.err
    assert ended.code == 1 and re.search("^conflict +two-hunks .* get_rank$", text, re.MULTILINE), ended
    assert text.count("literal-a changes the same code, in its hunk p.spatch:2") == 1 and "a-other" not in text, ended
    assert not re.search("^conflict +two-hunks .* init_dist$", text, re.MULTILINE), ended


def test_a_patchset_that_makes_a_change_of_another_one_and_one_more_is_applied_with_it(site: Site, tmp_path: Path) -> None:
    imports = "\n@@ <module> @@\n import os\n+import errno\n"
    every = RANK.replace(" @@\n", " @@ count=all\n") + "-int($X)\n+float($X)\n"
    patchset(tmp_path, "a-one", RANK + "-int($X)\n+float($X)\n")
    patchset(tmp_path, "b-more", every + imports)
    apply(site, "a-one")
    apply(site, "b-more")
    text = site.file("mmengine/dist/utils.py").read_text()
    assert "import errno\n" in text and "    return float(os.environ" in text


def test_two_patchsets_that_wrap_the_same_statements_are_both_applied(site: Site, tmp_path: Path) -> None:
    """Of the statements they take away the indentation alone."""
    hunk = BACKEND + "-_init_dist_pytorch($B, **$K)\n+{}:\n+    _init_dist_pytorch($B, **$K)\n"
    patchset(tmp_path, "a-if", hunk.format("if backend"))
    patchset(tmp_path, "b-for", hunk.format("for _ in kwargs"))
    apply(site, "a-if")
    apply(site, "b-for")
    wrapped = "        if backend:\n            for _ in kwargs:\n                _init_dist_pytorch(backend, **kwargs)\n"
    assert wrapped in site.file("mmengine/dist/utils.py").read_text()


def test_the_blank_line_between_two_statements_that_go_is_no_code() -> None:
    assert not are_of_same_place(b"a()\n\nb()\n", [Splice(0, 5, b"")], [Splice(4, 9, b"")])
    assert are_of_same_place(b"a()\n\nb()\n", [Splice(0, 3, b"c()")], [Splice(0, 9, b"")])


def test_two_patchsets_that_delete_statements_beside_each_other_are_both_applied(site: Site, tmp_path: Path) -> None:
    patchset(tmp_path, "a-rank", LOCAL + "-rank = int(os.environ['RANK'])\n+rank = 0\n")
    patchset(tmp_path, "b-local", LOCAL + "-local_rank = int(os.environ['LOCAL_RANK'])\n+local_rank = 0\n")
    apply(site, "a-rank")
    apply(site, "b-local")
    assert "    rank = 0\n    local_rank = 0\n" in site.file("mmengine/dist/utils.py").read_text()


@pytest.mark.parametrize("names", [("literal-a", "series"), ("series", "whatever-it-is")])
def test_of_several_spatch_files_none_takes_a_literal_from_another_patchset(site: Site, tmp_path: Path, names: Tuple[str, str]) -> None:
    for name, text in {**OPEN, "series": CONTEXT["two-inserts"]}.items():
        patchset(tmp_path, name, text)
    manifest = tmp_path / "patches/series/patchset.toml"
    manifest.write_text(manifest.read_text().replace('["p.spatch"]', '["p.spatch", "q.spatch"]'))
    (tmp_path / "patches/series/q.spatch").write_text("The rank.\n\n" + OPEN["literal-b"])
    apply(site, names[0])
    ended = site("apply", names[1], "--patch-dir", "patches")
    assert ended.code == 1 and f"{names[0]} changes the same code" in ended.out + ended.err, ended
    assert "apply one of them alone, or make one patchset of both" in ended.out + ended.err


IN_ONE_LINE = {
    "a-above": LOCAL + "-rank = int(os.environ['RANK'])\n+rank = int(os.environ.get('RANK', 0))\n",
    "b-below": LOCAL
    + " rank = int(os.environ['RANK'])\n-local_rank = int(os.environ['LOCAL_RANK'])\n+local_rank = int(os.environ.get('LOCAL_RANK', 0))\n",
    "c-other-part": LOCAL + "-local_rank = int($X)\n+local_rank = abs($X)\n",
}


def test_a_patchset_that_changes_another_part_of_a_line_is_applied_with_the_others(site: Site, tmp_path: Path) -> None:
    """The second one is merged by lines: its context is changed by the first."""
    for name, text in IN_ONE_LINE.items():
        patchset(tmp_path, name, text)
        apply(site, name)
    text = site.file("mmengine/dist/utils.py").read_text()
    assert "    rank = int(os.environ.get('RANK', 0))\n    local_rank = abs(os.environ.get('LOCAL_RANK', 0))\n" in text


def test_every_place_is_changed_even_one_that_another_patchset_inserted(site: Site, tmp_path: Path) -> None:
    patchset(tmp_path, "a-more", RANK + "+print(int(0))\n return $RANK\n")
    patchset(tmp_path, "b-all", RANK.replace(" @@\n", " @@ count=all\n") + "-int($X)\n+float($X)\n")
    apply(site, "b-all")
    apply(site, "a-more")
    assert "    print(float(0))\n    return float(os.environ" in site.file("mmengine/dist/utils.py").read_text()


BACKEND = "--- mmengine/dist/utils.py\n@@ init_dist @@\n"
CONTEXT = {
    "one-changes": BACKEND + "-_init_dist_pytorch(backend, **kwargs)\n+_init_dist_pytorch(backend or 'nccl', **kwargs)\n",
    "two-inserts": BACKEND + " if launcher == 'pytorch':\n     _init_dist_pytorch(backend, **kwargs)\n+    print(launcher)\n",
}


@pytest.mark.parametrize("order", [["one-changes", "two-inserts"], ["two-inserts", "one-changes"]])
def test_a_patchset_that_changes_the_context_of_another_one_is_applied_with_it(site: Site, tmp_path: Path, order: List[str]) -> None:
    before, path = site.tree(), "mmengine/dist/utils.py"
    for name, text in CONTEXT.items():
        patchset(tmp_path, name, text)
    for name in order:
        apply(site, name)
    assert "_init_dist_pytorch(backend or 'nccl', **kwargs)\n        print(launcher)\n" in site.file(path).read_text()
    assert "nothing to do" in site("apply", *order, "--patch-dir", "patches").out
    assert site("status", "--check", "--patch-dir", "patches").code == 0
    for name in order:
        assert site("restore", name).code == 0
    assert site.tree() == before


def test_a_place_is_a_line_of_the_file_with_what_other_patchsets_have_inserted_above(site: Site, tmp_path: Path) -> None:
    above = "\n@@ <module> @@\n import os\n+import errno\n+import glob\n"
    patchset(tmp_path, "one-changes", CONTEXT["one-changes"] + above)
    patchset(tmp_path, "two-inserts", CONTEXT["two-inserts"])
    apply(site, "one-changes")
    ended = site("apply", "two-inserts", "--patch-dir", "patches", "--json")
    (answer,) = json.loads(ended.out)["answers"]
    lines = site.file(answer["path"]).read_text().splitlines()
    assert [lines[place - 1].strip() for place in answer["places"]] == ["print(launcher)"]


def test_a_result_that_reads_what_another_patchset_removed_is_a_conflict(site: Site, tmp_path: Path) -> None:
    head = "--- mmengine/dist/utils.py\n@@ get_rank @@\n"
    patchset(tmp_path, "four", head + "-def get_rank(group=None):\n+def get_rank(groups=None):\n     ...\n")
    apply(site, "four")
    before = site.tree()
    patchset(tmp_path, "two", head + " def get_rank(group=None):\n+    print(group)\n     ...\n")
    ended = site("apply", "two", "--patch-dir", "patches")
    assert ended.code == 1 and "four changes the same code" in ended.out + ended.err, ended
    assert site.tree() == before


OWN_IMPORTS = {  # what is inserted into mmengine/dist/utils.py -> what is missing, "" for nothing
    "import mmengine.dist.nothing": "mmengine.dist.nothing",
    "import mmengine.nothing.dist": "",  # of what has no parent that RECORD lists, nobody knows
    "from mmengine.nothing import a": "mmengine.nothing",
    "from .nothing import a": "mmengine.dist.nothing",
    "from ..nothing import a": "mmengine.nothing",
    "from ..runner import nothing": "mmengine.runner.nothing",
    "from ..runner import runner": "",
    "from ..runner import *": "",
    "from . import __path__": "",
    "from .utils import __file__": "",
    "from mmengine.runner.runner import nothing": "mmengine.runner.runner.nothing",
    "from mmengine.runner.runner import os": "",
    "from mmengine import nothing": "mmengine.nothing",
    "from ..runner.runner import Runner": "",
    "import mmengine.runner": "",
    "import torch.nothing": "",
    "try:\n+    import mmengine.nothing\n+except ImportError:\n+    mmengine = None": "",
    "if get_rank:\n+    import mmengine.nothing": "",
    "def h():\n+    from mmengine.nothing import a": "mmengine.nothing",
}


@pytest.mark.parametrize("inserted", OWN_IMPORTS)
def test_an_inserted_import_of_a_module_that_the_package_does_not_have_is_a_conflict(site: Site, tmp_path: Path, inserted: str) -> None:
    missing = OWN_IMPORTS[inserted]
    patchset(tmp_path, "own", f"--- mmengine/dist/utils.py\n@@ <module> @@\n ...\n+{inserted}\n")
    before = site.tree()
    ended = site("apply", "own", "--verify", "none", "--patch-dir", "patches")
    assert ended.code == bool(missing), ended
    if missing:
        assert f"the inserted code imports what this release does not have: {missing}\n" in ended.out
        assert site.tree() == before


def test_a_module_that_the_file_imports_already_need_not_be_in_record(site: Site, tmp_path: Path) -> None:
    path = "mmengine/dist/utils.py"
    data = site.file(path).read_bytes() + b"\n\ndef version():\n    from mmengine.generated import version\n    return version\n"
    site.file(path).write_bytes(data)
    rerecord(site.path, path, data)
    patchset(tmp_path, "own", f"--- {path}\n@@ <module> @@\n ...\n+import mmengine.generated\n")
    apply(site, "own", "--verify", "none")


def test_a_module_that_binds_names_at_run_time_may_have_any(site: Site, tmp_path: Path) -> None:
    path = "mmengine/registry.py"
    patchset(tmp_path, "own", "--- mmengine/dist/utils.py\n@@ <module> @@\n ...\n+from mmengine.registry import nothing\n")
    data = site.file(path).read_bytes()
    assert site("apply", "own", "--verify", "none", "--patch-dir", "patches").code == 1
    site.file(path).write_bytes(data + b"\n\ndef __getattr__(name):\n    return name\n")
    apply(site, "own", "--verify", "none")


def test_a_compiled_module_of_the_package_is_there(site: Site, tmp_path: Path) -> None:
    with next(site.path.glob("mmengine-*.dist-info/RECORD")).open("a") as record:
        record.write("mmengine/_fast.cpython-38-x86_64-linux-gnu.so,,\n")
    patchset(tmp_path, "own", "--- mmengine/dist/utils.py\n@@ <module> @@\n ...\n+import mmengine._fast\n")
    apply(site, "own", "--verify", "none")


def test_a_module_that_the_same_command_adds_is_there(site: Site, tmp_path: Path) -> None:
    patchset(tmp_path, "reads", "--- mmengine/dist/utils.py\n@@ <module> @@\n ...\n+from mmengine.added import a\n")
    patchset(tmp_path, "adds", "+++ mmengine/added.py\n+a = 1\n")
    assert site("apply", "reads", "--patch-dir", "patches").code == 1
    apply(site, "adds", "reads", "--verify", "none")
    assert site("restore").code == 0
    apply(site, "adds", "--verify", "none")
    apply(site, "reads", "--verify", "none")


def test_explain_names_the_patchset_that_changes_the_same_code(site: Site) -> None:
    apply(site, "ids-clash")
    ended = site("check", "ids-fix", "--explain", "--patch-dir", "patches")
    assert ended.code == 1 and "ids-clash changes the same code, in its hunk p.spatch:4" in ended.out
    assert "conflict" in ended.out and "closest" not in ended.out and "not found" not in ended.out


def test_of_several_hunks_the_one_that_changes_the_same_code_is_named(site: Site, tmp_path: Path) -> None:
    patchset(tmp_path, "first", TITLE.replace("$text", "1") + CLASH.partition("--- mmengine/runner/runner.py\n")[2])
    apply(site, "first")
    ended = site("apply", "ids-fix", "--patch-dir", "patches")
    assert ended.code == 1 and "first changes the same code, in its hunk p.spatch:8" in ended.out + ended.err, ended


def test_code_that_is_absent_without_the_other_patchset_too_is_not_found(site: Site, tmp_path: Path) -> None:
    patchset(tmp_path, "lost", FIX.replace("MMDistributedDataParallel", "NoSuchThing"))
    apply(site, "ids-clash")
    ended = site("apply", "lost", "--patch-dir", "patches")
    assert ended.code == 1 and "not found  lost" in ended.out + ended.err and "changes the same code" not in ended.out + ended.err


def test_diff_of_one_patchset_shows_only_its_own_change(site: Site) -> None:
    apply(site, "ids-fix")
    apply(site, "title")
    shown = site("diff", "title", "--patch-dir", "patches").out
    assert "+        print('hello')" in shown
    assert "device_ids=None" not in shown


def test_a_patchset_that_is_half_upstream_is_a_conflict_even_across_files(site: Site, tmp_path: Path) -> None:
    both = TITLE.replace("$text", "1") + "\n--- mmengine/dist/utils.py\n@@ <module> @@\n ...\n+GREETED = True\n"
    patchset(tmp_path, "halves", both)
    utils = site.file("mmengine/dist/utils.py")
    for flags, code in (("", 1), (" when-present", 0)):
        patchset(tmp_path, "halves", both.replace("@@ <module> @@", f"@@ <module> @@{flags}"))
        edited = Site(tmp_path / f"edited{code}", "mmengine-0.10.7")
        target = edited.file("mmengine/dist/utils.py")
        target.write_text(utils.read_text() + "GREETED = True\n")
        (record,) = edited.path.glob("*.dist-info/RECORD")
        rows = [row for row in record.read_text().splitlines() if not row.startswith("mmengine/dist/utils.py,")]
        record.write_text("\n".join([*rows, "mmengine/dist/utils.py,,"]) + "\n")
        ended = edited("apply", "halves", "--patch-dir", tmp_path / "patches")
        assert ended.code == code, ended
        assert ("upstream did it another way" in ended.out) == bool(code), ended


def test_a_file_that_two_sections_name_gets_the_hunks_of_both(site: Site, tmp_path: Path) -> None:
    patchset(tmp_path, "halves", TITLE.replace("$text", "1") + "\n" + FIX.split("\n", 2)[2])
    apply(site, "halves")
    assert "        print(1)\n" in site.file().read_text()
    assert "device_ids=None" in site.file().read_text()
    assert "nothing to do" in site("apply", "halves", "--patch-dir", "patches").out
    assert site("restore").code == 0
    assert not (site.path / ".sitepatch").exists()


def test_a_package_in_a_directory_that_a_pth_adds_is_patched_and_restored(tmp_path: Path) -> None:
    lay_out("mmengine-0.10.7", tmp_path / "elsewhere")
    venv.create(tmp_path / "env", with_pip=False)
    (packages,) = (tmp_path / "env").glob("lib/python*/site-packages")
    (packages / "more.pth").write_text(f"{tmp_path / 'elsewhere'}\n")
    before = tree(tmp_path / "elsewhere")
    for words in (["apply", DDP], ["status", "-v"], ["restore"]):
        ended = sitepatch(*words, "--python", tmp_path / "env", cwd=tmp_path)
        assert ended.code == 0, ended
        assert "mmengine/runner/runner.py" in ended.out, ended
    assert tree(tmp_path / "elsewhere") == before


# which file, which variant --------------------------------------------------------------------------------------------
OLD, NEW = "mmengine/old.py", "mmengine/new.py"
MOVED = f"""Ask for less.

--- {OLD}
--- {NEW}
@@ load @@
-read(name, 1)
+read(name, 2)
@@ <module> @@ when-present
-RETRIES = 3
+RETRIES = 4
"""
CODE = "def load(name):\n    return read(name, 1)\n\n\ndef read(name, times):\n    return name * times\n"
GONE = CODE.replace("read(name, 1)", "read(name)")
SHIM = "from mmengine._impl import load\n"
BELOW = "RETRIES = 3\nfrom mmengine._impl import load\n"


def planned(folder: Path, *patchsets: str) -> List[Tuple[str, str]]:
    """(path, state) of each answer for these patchsets of `folder / "patches"` on `folder / "site"`."""
    requested = [Requested(load_patchset(folder / "patches" / name, "here"), {}) for name in patchsets]
    answers = plan_apply(discover(None, str(folder / "site")), requested).answers
    states = [(answer.path, answer.state.value) for answer in answers if answer.state is not State.NOT_NEEDED]
    return list(dict.fromkeys(states))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (CODE, SHIM, (OLD, "applicable")),
        (SHIM, CODE, (NEW, "applicable")),
        (BELOW, CODE, (NEW, "applicable")),  # a part of the code that need not be there does not win
        (SHIM, CODE.replace("1", "2"), (NEW, "upstream")),
        (SHIM, GONE, (OLD, "not found")),  # the scope alone is not the code
        (SHIM, "def broken(:\n", (OLD, "not found")),
        (SHIM, SHIM, (OLD, "not found")),
        (CODE, CODE, (OLD, "ambiguous")),
        (CODE, None, (OLD, "applicable")),
        (GONE, GONE, (OLD, "not found")),  # where none has the code, the first
        (None, None, (OLD, "not found")),  # and not left out for the part that need not be there
    ],
)
def test_of_alternative_places_the_one_with_the_code_is_taken(
    tmp_path: Path, old: Optional[str], new: Optional[str], expected: Tuple[str, str]
) -> None:
    patchset(tmp_path, "moved", MOVED)
    site = Site(tmp_path, "mmengine-0.10.7")
    for path, text in ((OLD, old), (NEW, new)):
        if text is not None:
            site.file(path).write_text(text)
    assert planned(tmp_path, "moved") == [expected]


CLEANUP = f"""Ask twice, and warn less.

--- {OLD}
@@ load @@
-read(name, 1)
+read(name, 2)
@@ <module> @@ when-present
-RETRIES = 3
+RETRIES = 4

--- {NEW}
@@ load @@
-warn(name)
"""
TWICE, WARNS = CODE.replace("1", "2"), CODE.replace("    return read", "    warn(name)\n    return read") + "\n\nwarn = print\n"


@pytest.mark.parametrize(
    ("old", "new", "states"),
    [
        (CODE, WARNS, ["applicable", "applicable"]),
        (TWICE, CODE, ["upstream", "upstream"]),  # upstream made all of the change, so it has deleted that line too
        (CODE, CODE, ["applicable", "not found"]),
        (GONE, CODE, ["not found", "not found"]),
        (TWICE, WARNS, ["conflict", "applicable"]),
        (TWICE, WARNS.replace("load", "begin"), ["upstream", "not found"]),  # a renamed scope may hold the code
    ],
)
def test_a_deletion_is_upstream_where_all_else_of_its_patchset_is(tmp_path: Path, old: str, new: str, states: List[str]) -> None:
    patchset(tmp_path, "cleanup", CLEANUP)
    site = Site(tmp_path, "mmengine-0.10.7")
    for path, text in ((OLD, old), (NEW, new)):
        site.file(path).write_text(text)
    assert planned(tmp_path, "cleanup") == sorted(zip((OLD, NEW), states))
    if states == ["upstream", "upstream"]:
        ended = site("apply", "cleanup", "--patch-dir", "patches")
        assert (ended.code, "the code to delete is gone" in ended.out) == (0, True), ended
        assert not (site.path / ".sitepatch").exists()


def test_a_deletion_is_not_upstream_where_we_applied_the_rest_of_its_patchset() -> None:
    gone = answer_of("ours", NEW, "load", State.NOT_FOUND, gone=True)
    for state in State:
        other = answer_of("ours", OLD, "load", state)
        (answer, _) = reconciled([gone, other])
        assert answer.state is (State.UPSTREAM if state is State.UPSTREAM else State.NOT_FOUND)
    assert reconciled([gone, answer_of("another", OLD, "load", State.UPSTREAM)])[0] == gone
    assert reconciled([gone, gone]) == [gone, gone]


def test_of_alternative_places_the_patched_one_stays(tmp_path: Path) -> None:
    patchset(tmp_path, "moved", MOVED)
    site = Site(tmp_path, "mmengine-0.10.7")
    for path, text in ((OLD, BELOW), (NEW, CODE)):
        site.file(path).write_text(text)
    apply(site, "moved", "--verify", "none")
    assert planned(tmp_path, "moved") == [(NEW, "applied")]


AS_FILE, AS_PACKAGE = "mmengine/parts.py", "mmengine/parts/__init__.py"


@pytest.mark.parametrize(("written", "there"), [(AS_FILE, AS_PACKAGE), (AS_PACKAGE, AS_FILE)])
def test_a_module_is_patched_in_the_form_that_the_release_has(tmp_path: Path, written: str, there: str) -> None:
    patchset(tmp_path, "parts", f"--- {written}\n@@ load @@\n-read(name, 1)\n+read(name, 2)\n")
    site = Site(tmp_path, "mmengine-0.10.7")
    file = site.file(there)
    file.parent.mkdir(exist_ok=True)
    file.write_text(CODE)
    assert planned(tmp_path, "parts") == [(there, "applicable")]
    apply(site, "parts", "--verify", "none")
    assert file.read_text() == TWICE
    assert planned(tmp_path, "parts") == [(there, "applied")]
    site("restore", "parts")
    assert file.read_text() == CODE


def test_a_module_that_is_there_in_both_forms_is_patched_where_its_code_is(tmp_path: Path) -> None:
    patchset(tmp_path, "parts", f"--- {AS_FILE}\n@@ load @@\n-read(name, 1)\n+read(name, 2)\n")
    site = Site(tmp_path, "mmengine-0.10.7")
    package = site.file(AS_PACKAGE)
    package.parent.mkdir()
    package.write_text(CODE)
    site.file(AS_FILE).write_text(SHIM)
    assert planned(tmp_path, "parts") == [(AS_PACKAGE, "applicable")]
    site.file(AS_FILE).write_text(CODE)
    assert planned(tmp_path, "parts") == [(AS_FILE, "ambiguous")]


def test_a_module_that_is_deleted_is_not_its_package(tmp_path: Path) -> None:
    text = "".join(f"-{line}\n" for line in CODE.splitlines())
    patchset(tmp_path, "parts", f"--- {AS_FILE}\n{text}")
    site = Site(tmp_path, "mmengine-0.10.7")
    package = site.file(AS_PACKAGE)
    package.parent.mkdir()
    package.write_text(CODE)
    assert planned(tmp_path, "parts") == [(AS_FILE, "upstream")]


def test_a_file_beside_a_compiled_module_that_is_imported_instead_is_not_patched(tmp_path: Path) -> None:
    patchset(tmp_path, "moved", MOVED)
    site = Site(tmp_path, "mmengine-0.10.7")
    site.file(OLD).write_text(CODE)
    site.file(OLD).with_suffix(".so").touch()
    assert planned(tmp_path, "moved") == [(OLD, "conflict")]


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("mmengine/runner/runers.py", "mmengine/runner/runner.py"),
        ("mmengine/loops/runner.py", "mmengine/runner/runner.py"),
        ("mmengine/runer/runer.py", "mmengine/runner/runner.py"),
        ("mmengine/dist/zzz.py", ""),
    ],
)
def test_a_missing_file_is_reported_with_a_similar_path(tmp_path: Path, path: str, near: str) -> None:
    patchset(tmp_path, "typo", f"--- {path}\n@@ f @@\n-old(1)\n+old(2)\n")
    site = Site(tmp_path, "mmengine-0.10.7")
    requested = Requested(load_patchset(tmp_path / "patches/typo", "here"), {})
    (answer,) = plan_apply(discover(None, str(site.path)), [requested]).answers
    assert answer.state is State.NOT_FOUND
    expected = f"the nearest name there is {near}: write that path if it is meant" if near else "moved or removed"
    assert expected in answer.hint


@pytest.mark.parametrize(
    ("version", "code", "expected"),
    [
        ("0.0.0", CODE, [(NEW, "applicable")]),
        ("0.0.0+unknown", CODE.replace("1", "7"), [(NEW, "applicable")]),
        ("unknown", CODE, [(NEW, "applicable")]),
        ("0.0.0", SHIM, [("mmengine", "not found")]),
        ("0.0.0", CODE + CODE.replace("1", "7").replace("load", "again"), [(NEW, "applicable")]),
        ("1.5", CODE, [(NEW, "applicable")]),
        ("1.5", CODE.replace("1", "7"), [(NEW, "not found")]),
        ("3.0", CODE, [("mmengine", "not found")]),
    ],
)
def test_where_the_version_is_unknown_the_first_variant_that_fits_is_taken(
    tmp_path: Path, version: str, code: str, expected: List[Tuple[str, str]]
) -> None:
    text = f"--- {NEW}\n@@ load @@\n-read(name, 1)\n+read(name, 2)\n"
    patchset(tmp_path, "ask", text)
    manifest = tmp_path / "patches/ask/patchset.toml"
    second = '[[variant]]\npackage = "mmengine"\nversions = ">=2,<3"\npatches = ["q.spatch"]\n'
    manifest.write_text(manifest.read_text().replace('versions = ""', 'versions = ">=1,<2"') + second)
    scope = "again" if "again" in code else "load"
    (tmp_path / "patches/ask/q.spatch").write_text(text.replace("1", "7").replace("load", scope))
    site = Site(tmp_path, "mmengine-0.10.7")
    site.file(NEW).write_text(code)
    (info,) = site.path.glob("*.dist-info")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: mmengine\nVersion: {version}\n")
    assert planned(tmp_path, "ask") == expected


# what a plan says, in this process ------------------------------------------------------------------------------------
TEXT = "RETRIES = 3\n" + CODE
A, B = TEXT.replace("(name, 1)", "(name, 2)"), TEXT.replace("= 3", "= 4")
BOTH = A.replace("= 3", "= 4")
MINE = "# mine\n"


class World:
    """A release with the files OLD and NEW, the patchset `a` for OLD, and `b` for both."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.site = folder, folder / "site"
        info = self.site / "mmengine-0.10.7.dist-info"
        for path in (self.site / "mmengine", info):
            path.mkdir(parents=True)
        (self.site / "mmengine/__init__.py").touch()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mmengine\nVersion: 0.10.7\n")
        (info / "RECORD").write_text("mmengine/__init__.py,,\n")
        retries = "@@ <module> @@\n-RETRIES = 3\n+RETRIES = 4\n"
        patchset(folder, "a", f"--- {OLD}\n@@ load @@\n-read(name, 1)\n+read(name, 2)\n")
        patchset(folder, "b", f"--- {OLD}\n{retries}\n--- {NEW}\n{retries}", "debug")
        for path in (OLD, NEW):
            (self.site / path).write_text(TEXT)
            self.record(path, TEXT)

    def record(self, path: str, text: Optional[str]) -> None:
        """Say in RECORD that a file of the release has this text; None: say nothing of it."""
        (record,) = self.site.glob("*.dist-info/RECORD")
        rows = [line for line in record.read_text().splitlines(True) if not line.startswith(f"{path},")]
        record.write_text("".join([*rows, f"{path},,\n" if text is None else row(path, text.encode())]))

    def env(self) -> Environment:
        return discover(None, str(self.site))

    def requested(self, *names: str) -> List[Requested]:
        return [Requested(load_patchset(self.folder / "patches" / name, "here"), {}) for name in names]

    def install(self, version: str, text: str) -> None:
        """Say that another release is installed, of which OLD has this text."""
        (info,) = self.site.glob("*.dist-info")
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: mmengine\nVersion: {version}\n")
        info.rename(info.with_name(f"mmengine-{version}.dist-info"))
        self.record(OLD, text)

    def apply(self, *names: str) -> None:
        requested = self.requested(*names)
        commit_plan(plan_apply(self.env(), requested), [one.patchset for one in requested])

    def edit(self, text: Optional[str], path: str = OLD) -> None:
        if text is None:
            (self.site / path).unlink()
        else:
            (self.site / path).write_text(text)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def becomes(plan: Plan) -> Dict[str, Tuple[str, str, Tuple[str, ...]]]:
    """What becomes of each file: its text, what is done, and the patchsets that are in it then."""
    outcomes = {}
    for file in plan.files:
        action = "nothing"
        if file.to_commit is not None:
            check_change(file.to_commit, file)
            action = action_of(file.to_commit)
        outcomes[file.path] = (file.after.decode(), action, tuple(step.patchset for step in file.steps))
    return outcomes


def action_of(change: Change) -> str:
    if change.forget:
        action = "forgotten"
    elif change.new is not None and change.new.merged:
        action = "merged"
    else:
        action = "written"
    return f"{action} aside {change.aside.decode()}" if change.aside else action


def check_change(change: Change, file: FilePlan) -> None:
    """A change agrees with the planned file that it is of."""
    assert change.old == (sha256(file.before).hexdigest() if file.before else "")
    if change.forget:
        return
    if change.new is None:
        assert change.receipt is None
    else:
        assert change.receipt is not None or change.new.merged
        assert change.new.data == file.after
    assert bool(change.receipt) == bool(file.steps)
    assert (change.receipt.steps if change.receipt else ()) == file.steps


@pytest.mark.parametrize(
    ("now", "names", "force", "expected", "words"),
    [
        (BOTH, (), False, (TEXT, "written", ()), ""),
        (BOTH, ("a",), False, (B, "written", ("b",)), ""),
        (BOTH, ("b",), True, (A, "written", ("a",)), ""),
        (BOTH, ("c",), False, None, ""),
        (BOTH + MINE, (), False, (TEXT + MINE, "merged", ()), ""),
        (BOTH + MINE, ("a",), False, (B + MINE, "merged", ("b",)), ""),
        (BOTH + MINE, ("a",), True, (B, f"written aside {BOTH}{MINE}", ("b",)), ""),
        (BOTH + MINE, (), True, (TEXT, f"written aside {BOTH}{MINE}", ()), ""),
        (TEXT + MINE, (), False, (TEXT + MINE, "forgotten", ()), "a reinstall replaced the file, our change is gone; only the receipt is left to drop"),
        (BOTH.replace("4", "5"), (), False, None, "the file was edited by hand where it was patched, at line 1: RETRIES = 5"),
        (BOTH.replace("4", "5"), (), True, (TEXT, "written aside " + BOTH.replace("4", "5"), ()), ""),
        (TEXT, (), False, (TEXT, "forgotten", ()), "a reinstall replaced the file, our change is gone; only the receipt is left to drop"),
        (None, (), False, (TEXT, "written", ()), "the file is not there any more; it is put back as it was before it was patched"),
    ],
)
def test_restore_plans_this_for_a_file(
    world: World, now: Optional[str], names: Tuple[str, ...], force: bool, expected: Optional[Tuple[str, str, Tuple[str, ...]]], words: str
) -> None:
    world.apply("a", "b")
    world.edit(now)
    items = [item for item in statuses(world.env()) if item.receipt.path == OLD]
    if now is None:
        items = [item._replace(installed="0.10.7") for item in items]
    plan = plan_restore(items, names, force=force)
    assert becomes(plan) == ({OLD: expected} if expected else {})
    sentences = [*plan.notes, *(f"{answer.path}: {answer.problem}" for answer in plan.answers)]
    assert sentences[:1] == ([f"{OLD}: {words}"] if words else [])
    assert bool(plan.failed) is (expected is None and names != ("c",))


def test_a_deleted_file_that_is_not_recorded_as_it_was_is_forgotten(world: World) -> None:
    world.apply("a", "b")
    world.edit(None)
    world.record(OLD, B)
    plan = plan_restore([item for item in statuses(world.env()) if item.receipt.path == OLD], ())
    assert becomes(plan) == {OLD: ("", "forgotten", ())}
    assert plan.notes == (f"{OLD}: the file is not there any more; only the receipt is left to drop",)


def test_a_release_that_ships_our_very_bytes_keeps_them_when_all_is_restored(world: World) -> None:
    world.apply("a", "b")
    world.record(OLD, BOTH)
    plan = plan_restore(statuses(world.env()), ())
    assert becomes(plan) == {OLD: (BOTH, "forgotten", ()), NEW: (TEXT, "written", ())}
    assert plan.notes == (f"{OLD}: 0.10.7 has it as patched; only the receipt is left to drop",)
    astray = plan_restore([item._replace(condition=Condition.ASTRAY) for item in statuses(world.env())], ("a",))
    assert astray.files == () and [(answer.patchset, answer.path) for answer in astray.failed] == [("a", OLD)]


def test_sync_plans_what_is_requested_and_nothing_else(world: World) -> None:
    world.apply("a", "b")
    plan = plan_sync(world.env(), world.requested("a"))
    assert becomes(plan) == {NEW: (TEXT, "written", ()), OLD: (A, "written", ("a",))}
    release = FileRelease("mmengine", "0.10.7")
    assert {file.path: file.release for file in plan.files} == {OLD: release, NEW: None}


def test_sync_plans_nothing_where_all_is_as_requested(world: World) -> None:
    world.apply("a", "b")
    plan = plan_sync(world.env(), world.requested("b", "a"))
    assert becomes(plan) == {OLD: (BOTH, "nothing", ("a", "b")), NEW: (B, "nothing", ("b",))}
    release = FileRelease("mmengine", "0.10.7")
    assert {file.path: file.release for file in plan.files} == {OLD: release, NEW: release}


def test_sync_drops_the_receipt_of_a_file_that_a_reinstall_replaced(world: World) -> None:
    world.apply("a", "b")
    world.edit(TEXT, NEW)
    assert plan_sync(world.env(), world.requested("a")).notes == (
        f"{NEW}: a reinstall replaced the file, our change is gone; only the receipt is left to drop",
    )


def test_sync_refuses_a_file_edited_by_hand_without_force(world: World) -> None:
    world.apply("a", "b")
    world.edit(TEXT, NEW)  # a reinstall
    world.edit(BOTH + MINE)
    (answer,) = plan_sync(world.env(), world.requested("a")).failed
    assert answer.problem == "the file was edited by hand after it was patched"
    assert becomes(plan_sync(world.env(), world.requested("a"), force=True))[OLD] == (A, f"written aside {BOTH}{MINE}", ("a",))
    world.edit(B.replace("4", "5"), NEW)
    assert [answer.path for answer in plan_sync(world.env(), world.requested()).failed] == [NEW]


def test_a_new_plan_starts_from_the_text_that_upstream_shipped(world: World) -> None:
    world.apply("a")
    plan = plan_pristine(world.env(), world.requested("b"))
    assert [(file.path, file.before.decode(), file.after.decode()) for file in plan.files] == [(NEW, TEXT, B), (OLD, TEXT, B)]
    world.edit(A + MINE)
    assert [answer.path for answer in plan_pristine(world.env(), world.requested("b")).failed] == [OLD], "nothing is forced"


@pytest.fixture
def updated(world: World) -> World:
    """`a` and `b` are applied, and `b` has a new version, for OLD alone."""
    world.apply("a", "b")
    patchset(world.folder, "b", f"--- {OLD}\n@@ <module> @@\n-RETRIES = 3\n+RETRIES = 9\n", "debug", version="2")
    return world


def test_what_an_earlier_version_changed_and_this_one_does_not_is_restored(updated: World) -> None:
    new = BOTH.replace("4", "9")
    plan = plan_apply(updated.env(), updated.requested("b"))
    assert becomes(plan) == {NEW: (TEXT, "written", ()), OLD: (new, "written", ("a", "b"))}
    assert becomes(plan_apply(updated.env(), updated.requested("a"))) == {OLD: (BOTH, "nothing", ("a", "b"))}
    assert [file.to_commit.pristine for file in plan.files if file.to_commit] == [None, None]


def test_what_an_earlier_version_changed_is_forgotten_where_a_reinstall_has_replaced_it(updated: World) -> None:
    updated.edit(TEXT, NEW)
    assert becomes(plan_apply(updated.env(), updated.requested("b")))[NEW] == (TEXT, "forgotten", ())


def test_an_edit_of_what_an_earlier_version_changed_is_kept_refused_or_with_force_put_aside(updated: World) -> None:
    updated.edit(B + MINE, NEW)
    assert becomes(plan_apply(updated.env(), updated.requested("b")))[NEW] == (TEXT + MINE, "merged", ())
    assert becomes(plan_apply(updated.env(), updated.requested("b"), force=True))[NEW] == (TEXT, f"written aside {B}{MINE}", ())
    assert plan_apply(updated.env(), updated.requested("a")).failed == ()
    updated.edit(B.replace("4", "5"), NEW)
    (answer,) = plan_apply(updated.env(), updated.requested("b")).failed
    assert (answer.path, answer.patchset) == (NEW, "b")
    assert answer.problem.endswith("where it was patched, at line 1: RETRIES = 5")


def test_a_new_version_that_does_not_fit_restores_nothing_of_the_earlier_one(updated: World) -> None:
    updated.edit(B + MINE, NEW)
    patchset(updated.folder, "b", "--- mmengine/none.py\n@@ <module> @@\n-RETRIES = 3\n+RETRIES = 9\n", "debug", version="3")
    plan = plan_apply(updated.env(), updated.requested("b"), force=True)
    assert [answer.path for answer in plan.failed] == ["mmengine/none.py"]
    assert plan.files == ()


def test_what_a_new_version_no_longer_needs_to_change_is_restored_or_forgotten(world: World) -> None:
    world.apply("a")
    patchset(world.folder, "a", f"--- {OLD}\n@@ load @@ when-present\n-gone(1)\n+gone(2)\n", version="2")
    assert becomes(plan_apply(world.env(), world.requested("a"))) == {OLD: (TEXT, "written", ())}
    world.edit(TEXT)  # a reinstall
    assert becomes(plan_apply(world.env(), world.requested("a"))) == {OLD: (TEXT, "forgotten", ())}


def test_a_file_edited_before_it_was_patched_needs_force(world: World) -> None:
    world.edit(TEXT + MINE)
    (answer,) = plan_apply(world.env(), world.requested("a")).failed
    assert answer.path == OLD and answer.hint.endswith("; or keep it: sitepatch apply a --force")
    plan = plan_apply(world.env(), world.requested("a"), force=True)
    assert becomes(plan) == {OLD: (A + MINE, "written", ("a",))} and not plan.failed
    (file,) = plan.files
    assert file.to_commit and file.to_commit.receipt and file.to_commit.receipt.pristine.origin == "edited"
    (note,) = plan.notes
    assert note.endswith(f"the store keeps it as {world.site}/.sitepatch/pristine/{sha256((TEXT + MINE).encode()).hexdigest()}")


def test_a_patchset_replaces_the_edits_it_was_captured_from(world: World) -> None:
    site = str(world.site)
    (one,) = world.requested("a")

    def adopted(now: str) -> Plan:
        world.edit(now)
        return plan_adopt(world.env(), one, {(site, OLD): HandEdit(TEXT.encode(), now.encode())})

    plan = adopted(A)
    change = plan.files[0].to_commit
    assert becomes(plan) == {OLD: (A, "written", ("a",))} and change and change.receipt
    assert (change.pristine, change.receipt.pristine.origin, plan.notes) == (TEXT.encode(), "recorded", ())
    assert [answer.state for answer in plan.answers] == [State.APPLICABLE]
    assert becomes(adopted(A + MINE)) == {OLD: (A, f"written aside {A}{MINE}", ("a",))}
    (other,) = world.requested("b")
    (answer,) = plan_adopt(world.env(), other, {(site, OLD): HandEdit(TEXT.encode(), B.encode())}).failed
    assert (answer.path, answer.problem) == (NEW, "the patchset is for this file too, and it was not edited")
    world.record(OLD, None)
    change = adopted(A).files[0].to_commit
    assert change and change.receipt and change.receipt.pristine.origin == "unrecorded"


def test_edits_stay_and_what_a_reinstall_removed_is_reported(world: World) -> None:
    world.apply("b")
    world.edit(BOTH)
    edits = {(str(world.site), OLD): HandEdit(TEXT.encode(), BOTH.encode())}
    (one,) = world.requested("a")
    plan = plan_adopt(world.env(), one, edits)
    assert becomes(plan) == {OLD: (BOTH, "written", ("a", "b"))} and plan.notes == ()
    world.install("0.10.8", "another release")
    world.edit(A)
    plan = plan_adopt(world.env(), one, {(str(world.site), OLD): HandEdit(TEXT.encode(), A.encode())})
    assert becomes(plan) == {OLD: (A, "written", ("a",))}
    assert plan.notes == (f"{OLD}: mmengine 0.10.8 was installed over 0.10.7, the change of b is gone; still overwritten: b",)


def test_a_file_of_another_build_than_the_patched_one_is_refused(world: World) -> None:
    world.apply("a")
    world.install("0.10.8", "another release")
    (answer,) = plan_apply(world.env(), world.requested("b")).failed
    assert answer.path == OLD and "another build of it is installed" in answer.problem


def test_a_text_edited_before_is_set_aside_once_a_reinstall_has_replaced_it(world: World) -> None:
    world.edit(TEXT + MINE)
    requested = world.requested("a")
    commit_plan(plan_apply(world.env(), requested, force=True), [one.patchset for one in requested])
    world.edit(TEXT)
    assert becomes(plan_apply(world.env(), requested)) == {OLD: (A, f"written aside {TEXT}{MINE}", ("a",))}
    world.edit(TEXT + MINE)
    assert becomes(plan_apply(world.env(), requested, force=True)) == {OLD: (A + MINE, "written", ("a",))}
    (file,) = plan_apply(world.env(), requested, force=True).files
    assert file.to_commit is None or file.to_commit.aside == b""


def test_the_note_that_the_store_keeps_an_edit_is_given_only_where_it_does(world: World) -> None:
    world.edit(A + MINE)  # upstream did the same, as it seems
    plan = plan_apply(world.env(), world.requested("a"), force=True)
    assert (plan.answers[0].state, plan.files[0].to_commit, plan.notes) == (State.UPSTREAM, None, ())


@pytest.mark.parametrize("shipped", [A + MINE, TEXT])
def test_an_earlier_edit_is_set_aside_where_a_restore_only_drops_the_receipt(world: World, shipped: str) -> None:
    world.edit(TEXT + MINE)
    requested = world.requested("a")
    commit_plan(plan_apply(world.env(), requested, force=True), [one.patchset for one in requested])
    world.edit(shipped)
    world.record(OLD, shipped)
    plan = plan_restore(statuses(world.env()), [])
    assert becomes(plan) == {OLD: (shipped, f"forgotten aside {TEXT}{MINE}", ())}


def test_the_receipt_of_a_file_keeps_the_times_of_the_previous_text(world: World) -> None:
    def times() -> int:
        (item,) = (item for item in statuses(world.env()) if item.receipt.path == OLD)
        return item.receipt.pristine.mtime_ns

    os.utime(world.site / OLD, ns=(10**18, 10**18))
    world.apply("a")
    world.apply("b")
    assert times() == 10**18
    world.edit("X = 1\n" + TEXT)  # a reinstall of another build
    world.record(OLD, "X = 1\n" + TEXT)
    os.utime(world.site / OLD, ns=(10**18 + 7, 10**18 + 7))
    world.apply("a")
    assert times() == 10**18 + 7


def test_a_receipt_that_does_not_lead_to_the_file_is_refused(world: World) -> None:
    world.apply("a")
    (receipt,) = (item.receipt for item in statuses(world.env()))
    bent = TargetFile(Content(TEXT.encode(), A.encode()), receipt.steps, receipts=Receipts(receipt._replace(current="0" * 64)))
    with pytest.raises(StoreError, match="its receipt does not lead to what was written there"):
        resolve(str(world.site), OLD, bent, ["a"], {}, REWRITER)


def test_a_step_that_is_derived_anew_takes_the_hunks_of_its_stored_copy(world: World) -> None:
    more = '[[variant]]\npackage = "mmengine"\nversions = "<0.2"\npatches = ["old.spatch"]\n'
    manifest = world.folder / "patches/b/patchset.toml"
    manifest.write_text(manifest.read_text().replace("[[variant]]", f"{more}[[variant]]", 1).replace('versions = ""', 'versions = ">=0.2"'))
    (manifest.parent / "old.spatch").write_text("--- mmengine/none.py\n@@ <module> @@\n-X = 1\n+X = 2\n")
    patchset(world.folder, "a", f"--- {OLD}\n@@ <module> @@\n RETRIES = $N\n+MORE = $N\n")
    world.apply("a", "b")
    (item,) = (item for item in statuses(world.env()) if item.receipt.path == OLD)
    assert becomes(plan_restore([item], ["a"])) == {OLD: (B, "written", ("b",))}
    bent = TargetFile(Content(TEXT.encode(), (world.site / OLD).read_bytes()), item.receipt.steps, receipts=Receipts(item.receipt))
    with pytest.raises(SitepatchError, match=r"^mmengine/x\.py: the stored copy of b does not mention this file$"):
        resolve(str(world.site), "mmengine/x.py", bent, ["b"], {}, REWRITER)


def test_an_unproven_file_is_reported_once(world: World) -> None:
    world.record(OLD, None)
    assert plan_apply(world.env(), world.requested("a")).notes == (
        f"{OLD}: no hash is recorded for it, so nothing proves that it is as upstream shipped it",
    )
    (info,) = world.site.glob("*.dist-info")
    (info / "RECORD").unlink()
    (note,) = plan_apply(world.env(), world.requested("b")).notes
    assert note.startswith("no RECORD lists")


def test_an_optional_patchset_of_a_package_that_is_not_there_is_left_out(world: World) -> None:
    for path in (world.folder / "patches/a").iterdir():
        path.write_text(path.read_text().replace("mmengine", "nowhere"))
    (one,) = world.requested("a")
    (answer,) = plan_apply(world.env(), [one]).failed
    assert (answer.path, answer.state) == ("nowhere", State.NOT_FOUND)
    plan = plan_apply(world.env(), [one._replace(optional=True)])
    assert (plan.files, plan.answers) == ((), ()) and plan.notes[0].startswith("a is optional and left out: nowhere is not installed")


def test_a_file_has_a_text_before_and_after_some_of_its_patchsets(world: World) -> None:
    patchset(world.folder, "c", f"--- {OLD}\n@@ read @@\n-name * times\n+times * name\n", "debug")
    world.apply("a", "b", "c")
    (receipt,) = [item.receipt for item in statuses(world.env()) if item.receipt.path == OLD]
    every = BOTH.replace("name * times", "times * name")
    expected = {
        (): (TEXT, every),
        ("b",): (A, BOTH),
        ("a", "c"): (TEXT, every),
        ("b", "c"): (A, every),
        ("x",): (TEXT, TEXT),
    }
    for names, (before, after) in expected.items():
        assert before_and_after(str(world.site), receipt, names) == (before.encode(), after.encode())


def test_a_part_that_is_already_there_is_a_conflict_where_the_patchset_changes_another_part() -> None:
    def part(patchset: str, state: State, when_present: bool = False) -> Answer:
        return answer_of(patchset, "p", "s", state, when_present=when_present)

    def states(*parts: Answer) -> List[State]:
        return [answer.state for answer in reconciled(parts)]

    changes, there, other = part("a", State.APPLICABLE), part("a", State.UPSTREAM), part("b", State.UPSTREAM)
    may_change, may_be_there = part("a", State.APPLICABLE, True), part("a", State.UPSTREAM, True)
    assert states(changes, there, other) == [State.APPLICABLE, State.CONFLICT, State.UPSTREAM]
    assert states(changes, may_be_there, part("a", State.NOT_NEEDED)) == [State.APPLICABLE, State.UPSTREAM, State.NOT_NEEDED]
    assert states(may_change, there) == [State.APPLICABLE, State.UPSTREAM]
    assert states(may_change, changes, there)[2] is State.CONFLICT
    assert states(there, part("a", State.APPLIED)) == [State.UPSTREAM, State.APPLIED]


@pytest.mark.parametrize(
    ("lines", "conflict"),
    [
        ("+import sys\n+\n import os\n", False),
        ("+from a import (\n+    b,  # why\n+    c,\n+)\n ...\n@@ or @@\n import os\n+from a import b, c\n", False),
        ("-import os\n+import sys\n", True),
        ("+import sys\n+sys.path.pop()\n import os\n", True),
        ("+import sys; sys.path.pop()\n import os\n", True),
    ],
)
def test_an_import_that_is_already_there_does_not_mean_that_the_rest_is_upstream(lines: str, conflict: bool) -> None:
    _, patches = parse_spatch(f"--- p/m.py\n@@ <module> @@\n{lines}\n--- p/n.py\n@@ f @@\n-old(a)\n+new(a)\n", "p")
    of_import, of_rest = (patch.hunks[0] for patch in patches)

    def is_conflict(import_state: State, state: State) -> bool:
        answers = [Answer("a", "p/m.py", HunkAnswer(of_import, import_state)), Answer("a", "p/m.py", HunkAnswer(of_rest, state))]
        return State.CONFLICT in [answer.state for answer in reconciled(answers)]

    assert is_conflict(State.UPSTREAM, State.APPLICABLE) is conflict
    assert is_conflict(State.APPLICABLE, State.UPSTREAM) is True


def test_where_the_version_is_unknown_each_place_of_a_file_is_tried(tmp_path: Path) -> None:
    site = Site(tmp_path, "mmengine-0.10.7")
    hunk = "@@ load @@\n-read(name, 1)\n+read(name, 2)\n"
    patchset(tmp_path, "ask", f"--- {OLD}\n--- {NEW}\n{hunk}")
    manifest = tmp_path / "patches/ask/patchset.toml"
    second = '[[variant]]\npackage = "mmengine"\nversions = ">=2,<3"\npatches = ["q.spatch"]\n'
    manifest.write_text(manifest.read_text().replace('versions = ""', 'versions = ">=1,<2"') + second)
    (tmp_path / "patches/ask/q.spatch").write_text(f"--- mmengine/none.py\n{hunk}")
    (info,) = site.path.glob("*.dist-info")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mmengine\nVersion: 0.0.0\n")
    site.file(OLD).write_text(SHIM)
    site.file(NEW).write_text(CODE)
    assert planned(tmp_path, "ask") == [(NEW, "applicable")]
    site.file(NEW).write_text(SHIM)
    (answer,) = plan_apply(discover(None, str(site.path)), [Requested(load_patchset(manifest.parent, "here"), {})]).answers
    assert answer.problem == "mmengine 0.0.0 is installed; this patchset is for mmengine >=1,<2, >=2,<3"


def test_a_file_of_another_environment_is_not_patched_and_one_that_need_not_be_there_may_be_absent(world: World) -> None:
    env = world.env()
    (answer,) = plan_apply(env._replace(outer=env.sites), world.requested("a")).answers
    assert (answer.path, answer.state) == (OLD, State.CONFLICT) and "is not of this virtual environment" in answer.problem
    patchset(world.folder, "c", "--- mmengine/none.py\n@@ <module> @@ when-present\n-gone(1)\n+gone(2)\n")
    (answer,) = plan_apply(env, world.requested("c")).answers
    assert (answer.path, answer.state) == ("mmengine/none.py", State.NOT_NEEDED)


# what a change costs --------------------------------------------------------------------------------------------------
MODULE = """import os


def one(a):
    # first
    a = old(a, 1)
    return a


class Two:
    def two(self, a):
        return old(a, 2)

    def other(self, a):
        return old(a, 3)


def three(a):
    return old(a, 4)


def old(a, b):
    return a + b


def six(a): return old(a, 6)
"""
STEPS = {
    "a-one": "@@ one @@\n-old($X, 1)\n+old($X, 10)\n",
    "b-more": "@@ one @@\n+a = abs(a)\n a = old(...)\n",
    "c-two": "@@ Two.two @@\n-old($X, 2)\n+old(\n+    $X,\n+    20,\n+)\n",
    "d-other": "@@ Two.other @@\n def other(...):\n+    LIMIT = 3\n+\n     ...\n",
    "e-after": "@@ one @@ when-present\n-abs(a)\n+max(a, 0)\n@@ old @@ when-present\n-gone(1)\n+gone(2)\n",  # what b-more brings
    "f-import": "@@ <module> @@\n import os\n+import sys\n",
    "g-uses": "@@ three @@ when-present\n-return old($X, 4)\n+return old($X, sys.maxsize)\n",  # needs f-import
    "h-global": "@@ Two.two @@\n def two(...):\n+    global FAST\n     ...\n",
    "i-fast": "@@ three @@\n def three(...):\n+    a = FAST or a\n     ...\n",  # needs h-global
    "k-body": "@@ <module> @@ when-present\n def one(a):\n     ...\n     a = old($X, 10)\n-    return a\n+    return -a\n",
    "k-long": "@@ one @@\n def one(...):\n+    b = '" + 300 * "x" + "'\n     ...\n",
    "k-short": "@@ one @@ when-present\n-b = '" + 300 * "x" + "'\n+b = a\n",
    "l-last": "@@ one @@ when-present\n-return -a\n+return -abs(a)\n",
    "m-limit": "@@ <module> @@\n def three(...):\n     ...\n+LIMIT = 4\n",
    "m-uses": "@@ old @@ when-present\n def old(...):\n+    print(LIMIT)\n     ...\n",
    "n-bound": "@@ <module> @@ when-present\n-LIMIT = 4\n+BOUND = LIMIT = 4\n",
    "o-uses": "@@ old @@ when-present\n-return a + b\n+return a + b + BOUND\n",
    "p-names": "@@ <module> @@\n-def three(a):\n+def trois(a):\n     ...\n@@ <module> @@\n-def six(a):\n+def sept(a):\n     ...\n",
    "q-trois": "@@ Two.two @@ when-present\n def two(...):\n+    trois(a)\n     ...\n",
    "r-sept": "@@ Two.other @@ when-present\n def other(...):\n+    sept(a)\n     ...\n",
    "j-any": "@@ T* @@\n-old($X, 3)\n+old($X, 30)\n",
}


@pytest.mark.once
def test_what_remains_applied_is_what_a_fresh_apply_gives(tmp_path: Path) -> None:
    jobs = {}
    for name, text in STEPS.items():
        patchset(tmp_path, name, f"--- {NEW}\n{text}")
        loaded = load_patchset(tmp_path / "patches" / name, "here")
        hunks = loaded.variants[0].patches[0].hunks
        jobs[name] = Assignment(Requested(loaded, {}), Located("mmengine", ".", "", "", ""), NEW, hunks, ())
    pristine = TargetFile(Content(MODULE.encode(), MODULE.encode()))
    data, steps, _ = resolve(".", NEW, pristine, list(STEPS), jobs, REWRITER)
    assert [step.patchset for step in steps] == list(STEPS)
    current = sha256(data).hexdigest()
    of_file = PristineFile(sha256(pristine.content.pristine).hexdigest(), 0o644, 0)
    receipt = Receipt(NEW, PatchedRelease("mmengine", "", ""), of_file, current, steps)
    applied = TargetFile(pristine.content._replace(now=data), steps, receipts=Receipts(receipt))

    def check_without(gone: Tuple[str, ...], jobs: Dict[str, Assignment]) -> None:
        order = [name for name in STEPS if name not in gone]
        after_restore = resolve(".", NEW, applied, order, jobs, REWRITER)
        fresh = resolve(".", NEW, pristine, order, jobs, REWRITER)
        assert after_restore[:2] == fresh[:2], gone

    names = list(STEPS)
    for name in names:
        check_without((name,), jobs)
    for pair in [("b-more", "c-two"), *list(zip(names, names[4:]))[::3]]:
        check_without(pair, jobs)
    with_newer = {**jobs, "c-two": newer_version(jobs["c-two"])}
    for name in names[3::4]:
        check_without((name,), with_newer)


def newer_version(job: Assignment) -> Assignment:
    """The job of another version of its patchset, whose first hunk writes a longer number."""
    hunk = job.hunks[0]
    lines = tuple((tag, text.replace("20", "20000"), line) for tag, text, line in hunk.lines)
    patchset = job.requested.patchset
    patchset = patchset._replace(folder=patchset.folder._replace(digest="newer"))
    return job._replace(hunks=(hunk._replace(lines=lines),), requested=job.requested._replace(patchset=patchset))

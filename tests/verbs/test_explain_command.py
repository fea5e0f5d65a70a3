"""`sitepatch check --explain`: real drift in the stand-ins, explained by the real command and reported by `apply`."""

import json
import re

import pytest

from tests.command import DDP, DYNAMO, GUARD, RUNNER, Site, sitepatch
from tests.verbs.helpers import ship, tutorial

pytestmark = pytest.mark.once

STRATEGY = "mmengine/_strategy/distributed.py"
REDUCTIONS = "torch/multiprocessing/reductions.py"


@pytest.fixture
def musa(tmp_path):
    return Site(tmp_path, "mmengine-0.10.7", "torch-2.7.1-musa")


def drifted(site, *changes, path=RUNNER):
    """A release whose file has other code: each (old, new) is replaced, and RECORD knows."""
    data = site.file(path).read_bytes()
    for old, new in changes:
        assert data.count(old) == 1, old
        data = data.replace(old, new)
    ship(site, path, data)


def explained_by_check(site, *words, code, **more):
    """Run the command and check that it wrote nothing."""
    before = site.tree()
    ended = site("check", *words, "--explain", **more)
    assert ended.code == code, ended
    assert "Traceback" not in ended.err
    assert site.tree() == before
    return ended


def hunks(site, *words, code):
    """The JSON answer's hunks."""
    answer = json.loads(explained_by_check(site, *words, "--json", code=code).out)
    assert (answer["schema"], answer["command"], answer["ok"]) == (1, "check", code == 0)
    return answer["answers"]


# what fits ------------------------------------------------------------------------------------------------------------
def test_a_match_is_shown_with_its_place_its_bindings_and_its_change(site):
    ended = explained_by_check(site, DDP, code=0)
    text = ended.out
    assert re.search(rf"^applicable  {RUNNER}:32 +Runner\.wrap_model\n +hunk ddp_debug\.spatch:\d+\n", text, re.M)
    for binding in ("$MODEL = model", "$M = model", "$IDS = [int(os.environ['LOCAL_RANK'])]", "$ARGS = default_args"):
        assert f"  {binding}\n" in text
    assert '+            _sitepatch_ddp_report("Runner.wrap_model", model, _sitepatch_ddp_before, lambda:' in text
    assert re.search(r"… [0-9]+ more: sitepatch diff mmengine-ddp-debug", text)
    assert " more: " not in explained_by_check(site, DDP, "-v", code=0).out


def test_the_diffs_of_the_hunks_add_up_to_what_apply_changes(site):
    def added_lines(diff):
        return [line for line in diff.splitlines() if re.match(r"\+(?!\+\+)", line)]

    of_hunks = []
    for hunk in hunks(site, DDP, code=0):
        of_hunks += added_lines(hunk["diff"])
    assert sorted(of_hunks) == sorted(added_lines(site("diff", DDP).out))


def test_a_long_binding_is_cut_in_the_middle_and_whole_in_json(site):
    long = "[int(os.environ['LOCAL_RANK']), int(os.environ['RANK']) % 8, int(os.environ['WORLD_SIZE'])]"
    drifted(site, (b"device_ids=[int(os.environ['LOCAL_RANK'])],", f"device_ids={long},".encode()))
    assert "  $IDS = [int(os.environ['LOCAL_RANK']…nt(os.environ['WORLD_SIZE'])]\n" in explained_by_check(site, DDP, code=0).out
    bindings = []
    for hunk in hunks(site, DDP, code=0):
        if hunk["explanation"]:
            bindings += [match["names"].get("$IDS") for match in hunk["explanation"]["matches"]]
    assert long in bindings


def test_the_value_of_an_option_is_shown_in_the_change(site):
    assert "limit=9" in explained_by_check(site, DDP, "-v", "--set", "params=9", code=0).out
    assert explained_by_check(site, DDP, "--set", "parms=9", code=2).err.startswith("error: ")


def test_what_is_applied_is_known_from_receipts_and_found_in_the_file_as_it_is(site):
    other = tutorial(site.cwd)
    for names in ([DDP], [DDP, other]):
        assert site("apply", *names).code == 0
        all_hunks = hunks(site, DDP, code=0)
        assert {hunk["state"] for hunk in all_hunks} == {"applied", "not needed"}  # some of its strategies are not here
        for hunk in all_hunks:
            if hunk["state"] != "applied":
                continue
            lines = site.file(hunk["path"]).read_text(encoding="utf-8").split("\n")
            first = next(line[1:] for line in hunk["diff"].split("\n")[2:] if line.startswith("+"))
            assert lines[hunk["places"][0] - 1] == first
    assert "recorded in the receipt" in explained_by_check(site, DDP, code=0).out


def test_a_patchset_below_another_one_is_explained_on_the_text_it_was_matched_against(site):
    other = tutorial(site.cwd)
    assert site("apply", other).code == 0
    before = hunks(site, DDP, code=0)
    assert site("apply", DDP).code == 0
    after = hunks(site, DDP, code=0)
    assert [hunk["diff"] for hunk in before] == [hunk["diff"] for hunk in after]
    assert sum("                                      True)\n" in hunk["diff"] for hunk in before) == 1  # the other's change


def written(site, name, hunk):
    """A patchset for the one file of the stand-in for torch."""
    folder = site.cwd / "patchsets" / name
    folder.mkdir(parents=True)
    (folder / "patchset.toml").write_text(
        f'schema = 1\nname = "{name}"\nversion = "1"\nkind = "fix"\nsummary = "s"\n'
        '[[variant]]\npackage = "torch"\nversions = ""\npatches = ["p.spatch"]\n'
    )
    (folder / "p.spatch").write_text(f"Why.\n\n--- {REDUCTIONS}\n{hunk}")


def test_places_move_with_what_was_applied_since(musa):
    written(musa, "a-lower", "@@ reduce_storage @@\n-storage.is_musa\n+storage.is_other\n")
    written(musa, "b-upper", "@@ <module> @@\n-shared_cache = {}\n+first = {}\n+second = {}\n+shared_cache = dict(first)\n")
    assert [musa("apply", name).code for name in ("a-lower", "b-upper")] == [0, 0]
    (hunk,) = hunks(musa, "a-lower", code=0)
    assert (hunk["state"], hunk["places"]) == ("applied", [33])
    assert b"storage.is_other" in musa.file(REDUCTIONS).read_bytes().split(b"\n")[32]


def test_upstream_reports_where_the_after_side_is(musa):
    drifted(musa, (b"storage.is_musa", b'getattr(storage, "is_musa", False)'), path=REDUCTIONS)
    (hunk,) = hunks(musa, GUARD, code=0)
    assert (hunk["state"], hunk["places"]) == ("upstream", [31])
    assert hunk["explanation"]["matches"][0]["text"] == 'elif getattr(storage, "is_musa", False):'
    assert "the code of the `+` lines is there already" in explained_by_check(musa, GUARD, code=0).out


def test_not_needed_reports_what_is_absent_and_the_nearest_code(tmp_path):
    site = Site(tmp_path, "torch-2.5.0")
    ended = explained_by_check(site, GUARD, code=0)
    assert ended.out.startswith(f"not needed  {REDUCTIONS}  reduce_storage\n")
    assert "the code that it changes is not in `reduce_storage`" in " ".join(ended.out.split())
    assert "the pattern has `is_musa`, the code has `is_cuda`" in ended.out


# what does not fit ----------------------------------------------------------------------------------------------------
def test_a_renamed_argument_is_shown_on_both_sides_with_a_marker(site):
    drifted(site, (b"device_ids=[int(os.environ['LOCAL_RANK'])],", b"devices=[int(os.environ['LOCAL_RANK'])],"))
    lines = [line[12:] for line in explained_by_check(site, DDP, code=1).out.splitlines()]
    at = lines.index("closest, 73% of the pattern:")
    spatch = int(lines[at + 4].split("|")[0].split()[-1])
    assert lines[at : at + 7] == [
        "closest, 73% of the pattern:",
        "  code     33 | model = MMDistributedDataParallel(",
        "  code     35 | devices=[int(os.environ['LOCAL_RANK'])],",
        "              | ^~~~~~~",
        f"  pattern {spatch} | $MODEL = MMDistributedDataParallel(module=$M, device_ids=$IDS, ...)",
        "              |                                               ^~~~~~~~~~",
        "the pattern has `device_ids`, the code has `devices`",
    ]
    assert lines[at + 7] == "hint: write `devices` there"
    shown = sitepatch("show", DDP, "--json", cwd=site.cwd).out
    text = json.loads(shown)["patchset"]["files"]["ddp_debug.spatch"].split("\n")[spatch - 1]
    assert text.strip() == "$MODEL = MMDistributedDataParallel(module=$M, device_ids=$IDS, ...)"


def test_apply_reports_the_nearest_code_in_short_and_names_explain(site):
    drifted(site, (b"MODEL_WRAPPERS.build(", b"MODEL_WRAPPERS.create("))
    before = site.tree()
    ended = site("apply", DDP)
    assert (ended.code, site.tree()) == (1, before)
    block = ended.out[ended.out.index("not found") :].splitlines()
    details = [line.strip() for line in block[1:] if line.startswith("    ")]
    assert details == [
        "`Runner.wrap_model` is there, but the code to change is not",
        "closest, line  46: model = MODEL_WRAPPERS.create(",
        "^~~~~~",
        details[3],
        "the pattern has `build`, the code has `create`",
        "hint: write `create` there",
    ]
    assert re.fullmatch(r"pattern, line \d+: \$MODEL = MODEL_WRAPPERS\.build\(\$CFG, default_args=\$ARGS\)", details[3])
    assert f"see: sitepatch check {DDP} --explain --target {site.path}\n" in ended.err
    assert f"see: sitepatch check {DDP} --explain --target {site.path}\n" in site("diff", DDP).err


def test_a_statement_that_moved_to_another_function_of_the_file_is_found_there(site):
    drifted(site, (b"    def wrap_model(self, model_wrapper_cfg, model):", b"    def build_wrapper(self, model_wrapper_cfg, model):"))
    in_runner = [hunk for hunk in hunks(site, DDP, code=1) if hunk["path"] == RUNNER]
    assert [hunk["state"] for hunk in in_runner] == ["applicable", *["not found"] * 4]  # the first is for the module
    first = in_runner[-1]
    assert first["problem"] == "there is no `Runner.wrap_model` in this file"
    assert [(each["line"], each["scope"]) for each in first["explanation"]["elsewhere"]] == [(46, "Runner.build_wrapper")]
    assert first["hint"].startswith("add this form to the hunk:\n@@ or Runner.build_wrapper @@\n")


def test_a_renamed_scope_is_named_with_what_differs_in_it(site):
    drifted(
        site,
        (b"    def wrap_model(self, model_wrapper_cfg, model):", b"    def wrap_models(self, model_wrapper_cfg, model):"),
        (b"device_ids=[int(os.environ['LOCAL_RANK'])],", b"devices=[int(os.environ['LOCAL_RANK'])],"),
    )
    text = explained_by_check(site, DDP, code=1).out
    assert "the file has `Runner.wrap_models`\n" in text
    assert "closest in `Runner.wrap_models`, 73% of the pattern:\n" in text
    assert "write `@@ Runner.wrap_models @@` if that is the one" in " ".join(text.split())


def test_a_scope_that_moved_to_another_file_of_the_package_is_named_and_never_guessed(site):
    text = site.file().read_bytes()
    ship(site, RUNNER, b'"""Moved."""\n')
    site.file("mmengine/runner/_runner.py").write_bytes(text)
    in_scope = [hunk for hunk in hunks(site, DDP, code=1) if (hunk["path"], hunk["scope"]) == (RUNNER, "Runner.wrap_model")]
    assert [(each["path"], each["line"]) for each in in_scope[0]["elsewhere"]] == [("mmengine/runner/_runner.py", 16)]
    assert "`Runner.wrap_model` stands in mmengine/runner/_runner.py:16" in explained_by_check(site, DDP, code=1).out


def test_a_file_that_moved_is_named_by_its_scope_and_its_name(site):
    (site.path / "mmengine/engine").mkdir()
    site.file().rename(site.path / "mmengine/engine/runner.py")
    site.file("mmengine/engine/template.py").write_text("class Runner:\n    def wrap_model(self, {arguments}):\n")  # no Python: is passed over
    in_runner = [hunk for hunk in hunks(site, DDP, code=1) if hunk["path"] == RUNNER]
    assert {hunk["state"] for hunk in in_runner} == {"not found"}
    assert [(each["path"], each["line"]) for each in in_runner[1]["elsewhere"]] == [
        ("mmengine/engine/runner.py", 16),
        ("mmengine/engine/runner.py", 0),
    ]


def test_ambiguous_shows_each_place_and_what_to_write(musa):
    written(musa, "one", "@@ reduce_storage @@\n-raise RuntimeError($TEXT)\n+raise ValueError($TEXT)\n")
    (hunk,) = hunks(musa, "one", code=1)
    assert hunk["state"] == "ambiguous"
    assert [match["text"].split("(")[0] for match in hunk["explanation"]["matches"]] == ["raise RuntimeError"] * 3
    assert hunk["hint"].startswith("write the header around it: `if storage.is_cuda:` (line 22), ")
    text = explained_by_check(musa, "one", code=1).out
    assert text.count("raise RuntimeError(") == 3
    assert "  $TEXT = \"a CUDA storage is not sent, a CUDA tensor is\"\n" in text


def test_a_file_edited_by_hand_is_explained_as_a_conflict(site):
    site.file().write_bytes(site.file().read_bytes() + b"# mine\n")
    ended = explained_by_check(site, DDP, code=1)
    assert "somebody edited it" in ended.out and "conflict" in ended.out


def test_a_package_that_is_not_installed_is_reported(site):
    assert "torch is not installed in" in explained_by_check(site, GUARD, code=1).out


def test_a_hunk_of_a_patchset_that_is_half_upstream_is_explained_as_a_conflict(site):
    drifted(site, (
        b"            model = MODEL_WRAPPERS.build(\n",
        b"            _sitepatch_ddp_report(\"Runner.wrap_model (model_wrapper_cfg)\", default_args[\"module\"],\n"
        b"                _sitepatch_ddp_before, lambda: default_args, model_wrapper_cfg)\n"
        b"            model = MODEL_WRAPPERS.build(\n",
    ))  # fmt: skip
    states = {hunk["state"] for hunk in hunks(site, DDP, code=1)}
    assert "conflict" in states
    assert "upstream did it another way" in " ".join(explained_by_check(site, DDP, code=1).out.split())


# how it is printed ----------------------------------------------------------------------------------------------------
def test_text_is_readable_in_100_columns(musa):
    drifted(musa, (b"device_ids=[int(os.environ['LOCAL_RANK'])],", b"devices=[int(os.environ['LOCAL_RANK'])],"))
    drifted(musa, (b"build(", b"create("), path=STRATEGY)
    for name, code in ((DDP, 1), (GUARD, 0), (DYNAMO, 0)):
        for line in explained_by_check(musa, name, code=code).out.splitlines():
            code_of_a_diff = re.match(r" +[-+ ] {4}|.*# sitepatch|.*suppress_errors = ", line)
            assert len(line) <= 100 or code_of_a_diff, line
            assert line == line.rstrip() or code_of_a_diff


def test_colours_are_for_terminals(site):
    drifted(site, (b"MODEL_WRAPPERS.build(", b"MODEL_WRAPPERS.create("))
    assert "\x1b" not in explained_by_check(site, DDP, code=1).out
    painted = explained_by_check(site, DDP, code=1, FORCE_COLOR="1").out
    assert "\x1b[33m^~~~~~\x1b[0m" in painted and "\x1b[31mnot found" in painted
    assert "\x1b[32m+" in painted


def test_quiet_reports_only_what_does_not_fit(site):
    drifted(site, (b"MODEL_WRAPPERS.build(", b"MODEL_WRAPPERS.create("))
    ended = explained_by_check(site, DDP, "-q", code=1)
    assert ended.out.startswith("not found") and "applicable" not in ended.out


def test_json_has_everything_that_the_text_has(site):
    drifted(site, (b"MODEL_WRAPPERS.build(", b"MODEL_WRAPPERS.create("))
    lost = next(hunk for hunk in hunks(site, DDP, code=1) if hunk["state"] == "not found")
    assert set(lost) == {
        "patchset", "site", "path", "scope", "origin", "line", "state", "places", "problem", "hint", "when_present", "diff",
        "elsewhere", "explanation",
    }  # fmt: skip
    explanation = lost["explanation"]
    assert set(explanation) == {
        "scope", "line", "state", "problem", "hint", "scopes", "near", "matches", "elsewhere", "closest", "forms",
    }  # fmt: skip
    assert explanation["scopes"] == [{"name": "Runner.wrap_model", "first": 16, "last": 48}]
    closest = explanation["closest"]
    assert (closest["line"], closest["text"]) == (46, "model = MODEL_WRAPPERS.create(")
    assert marked(closest["code"]) == "create"
    assert marked(closest["pattern"]) == "build"
    assert 0.5 < closest["likeness"] < 1
    assert lost["origin"].endswith("ddp_debug.spatch") and lost["line"] > 0


def marked(mark):
    return mark["text"][mark["start"] : mark["end"]]


def test_help_has_an_example_and_a_name_is_completed(site):
    assert "sitepatch check mmengine-ddp-debug --explain" in sitepatch("check", "--help", cwd=site.cwd).out
    ended = sitepatch(cwd=site.cwd, _SITEPATCH_COMPLETE="bash_complete", COMP_WORDS="sitepatch check mm", COMP_CWORD="2")
    assert "mmengine-ddp-debug" in ended.out
    assert sitepatch("check", "mmengine-dpp-debug", "--explain", cwd=site.cwd).code == 2


def test_long_names_are_shortened(site):
    (site.cwd / "patchsets" / "long").mkdir(parents=True)
    (site.cwd / "patchsets" / "long" / "patchset.toml").write_text(
        'schema = 1\nname = "long"\nversion = "1"\nkind = "debug"\nsummary = "x"\n'
        '[[variant]]\npackage = "mmengine"\nversions = ""\npatches = ["p.spatch"]\n'
    )
    scope = f"Runner.{'wrap_' * 50_000}model"
    (site.cwd / "patchsets" / "long" / "p.spatch").write_text(f"--- {RUNNER}\n@@ {scope} @@\n-a($X)\n+b($X)\n")
    for words in (["check", "long", "--explain"], ["apply", "long"], ["diff", "long"], ["check", "long"]):
        ended = site(*words)
        assert ended.code == 1 and "not found" in ended.out + ended.err
        assert len(ended.out + ended.err) < 4_000, words
    assert json.loads(site("check", "long", "--explain", "--json").out)["answers"][0]["scope"] == scope

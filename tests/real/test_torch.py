"""torch-dynamo-suppress, torch-dynamo-disable and torch-musa-guard on the real torch."""

import pytest
from conftest import fingerprint
from wheels import ALL, slow

pytestmark = pytest.mark.real

FAILURE = "this backend cannot compile"
COMPUTED = "computed [0.0, 2.0, 4.0]"
VARIABLE = "TORCHDYNAMO_SUPPRESS_ERRORS"


def assert_raises(ended):
    assert ended.code == 1, ended
    assert "BackendCompilerFailed" in ended.out, ended
    assert FAILURE in ended.out
    assert COMPUTED not in ended.out


def assert_computes_and_warns(ended):
    assert ended.code == 0, ended
    assert COMPUTED in ended.out, ended
    assert FAILURE in ended.out, "the failure is told"


def test_a_failing_backend_falls_back_unless_the_variable_says_no(environment):
    pristine = fingerprint(environment.site, "torch")
    assert_raises(environment.script("compile_script.py"))
    # What the patchset's prose says of the torch it changes: 0 turns suppression on.
    assert_computes_and_warns(environment.script("compile_script.py", **{VARIABLE: "0"}))

    assert environment.probe("torch-dynamo-suppress").code != 0
    applied = environment.sitepatch("apply", "torch-dynamo-suppress")
    assert applied.code == 0, applied
    probed = environment.probe("torch-dynamo-suppress")
    assert probed.code == 0, probed
    assert_computes_and_warns(environment.script("compile_script.py"))
    assert_computes_and_warns(environment.script("compile_script.py", **{VARIABLE: "1"}))
    assert_raises(environment.script("compile_script.py", **{VARIABLE: "0"}))
    for value in ("False", "") if ALL else ():
        assert_raises(environment.script("compile_script.py", **{VARIABLE: value}))
    assert_raises(environment.script("compile_script.py", "fullgraph"))

    restored = environment.sitepatch("restore")
    assert restored.code == 0, restored
    assert fingerprint(environment.site, "torch") == pristine
    assert_raises(environment.script("compile_script.py"))


@slow
def test_a_failing_backend_is_never_called_unless_the_variable_says_so(environment):
    pristine = fingerprint(environment.site, "torch")
    assert environment.probe("torch-dynamo-disable").code != 0
    assert_raises(environment.script("compile_script.py", "fullgraph"))
    applied = environment.sitepatch("apply", "torch-dynamo-disable")
    assert applied.code == 0, applied
    probed = environment.probe("torch-dynamo-disable")
    assert probed.code == 0, probed
    for words in ((), ("fullgraph",)):
        silent = environment.script("compile_script.py", *words)
        assert silent.code == 0, silent
        assert COMPUTED in silent.out
        assert FAILURE not in silent.out
        assert_raises(environment.script("compile_script.py", *words, TORCHDYNAMO_DISABLE="0"))

    both = environment.sitepatch("apply", "torch-dynamo-suppress")
    assert both.code == 0, both
    assert_computes_and_warns(environment.script("compile_script.py", TORCHDYNAMO_DISABLE="0"))

    restored = environment.sitepatch("restore")
    assert restored.code == 0, restored
    assert fingerprint(environment.site, "torch") == pristine


@slow
def test_what_works_with_a_compiler_works_without_it(environment):
    """fullgraph=True with a working backend, an uncompiled flex_attention, an export: the same numbers before and after."""
    before = environment.script("compiled_script.py")
    assert before.code == 0, before
    applied = environment.sitepatch("apply", "torch-dynamo-disable")
    assert applied.code == 0, applied
    after = environment.script("compiled_script.py")
    assert "backend called True" in before.out
    assert after.out == before.out.replace("backend called True", "backend called False"), after
    assert environment.script("compiled_script.py", TORCHDYNAMO_DISABLE="0").out == before.out


@slow
def test_a_vendors_torch_hangs_before_and_runs_after(environment):
    environment.add_vendors_branch()
    vendor = fingerprint(environment.site, "torch")
    hung = environment.script("loader_script.py", limit=45)
    assert hung.code is None, hung
    assert "object has no attribute 'is_musa'" in hung.out, hung
    assert "total" not in hung.out

    probed = environment.probe("torch-musa-guard")
    assert probed.code == 1
    assert "object has no attribute 'is_musa'" in probed.out

    applied = environment.sitepatch("apply", "torch-musa-guard")
    assert applied.code == 0, applied
    probed = environment.probe("torch-musa-guard")
    assert probed.code == 0, probed
    assert "is_musa is not there" in probed.out
    ran = environment.script("loader_script.py")
    assert ran.code == 0, ran
    assert "total 28.0" in ran.out
    assert "refused: cannot send a MUSA storage" in environment.script("loader_script.py", "musa").out

    restored = environment.sitepatch("restore")
    assert restored.code == 0, restored
    assert fingerprint(environment.site, "torch") == vendor


def test_a_stock_torch_does_not_need_the_guard(environment):
    pristine = fingerprint(environment.site, "torch")
    applied = environment.sitepatch("apply", "torch-musa-guard")
    assert applied.code == 0, applied
    assert "not needed" in applied.out
    assert fingerprint(environment.site, "torch") == pristine
    assert "total 28.0" in environment.script("loader_script.py").out
    probed = environment.probe("torch-musa-guard")
    assert probed.code == 0, probed
    assert "not needed" in probed.out

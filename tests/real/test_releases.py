"""Every hunk of the built-in patchsets on the files of real releases, straight from their wheels.

A few releases by default; all of them with SITEPATCH_ALL_RELEASES=1 (two gigabytes of torch wheels, none of them kept).
"""

import ast
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import TARGETS, TORCH, Environment
from wheels import assert_compiles, target_files

from patcher.engine.engine import rewrite
from patcher.model import State
from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import BUILT_IN, builtin_dir
from patcher.patchset.variants import choose_variant, resolve_options

pytestmark = pytest.mark.real

ALL = os.environ.get("SITEPATCH_ALL_RELEASES") == "1"
QUICK_MMENGINE = ["0.1.0", "0.8.0"]
# How many releases each minor version has.
MMENGINE_RELEASES = {
    "0.1": 1, "0.2": 1, "0.3": 3, "0.4": 1, "0.5": 1, "0.6": 1, "0.7": 5, "0.8": 6, "0.9": 2, "0.10": 8,
}  # fmt: skip
TORCH_RELEASES = {
    "1.13": 2, "2.0": 2, "2.1": 3, "2.2": 3, "2.3": 2, "2.4": 2, "2.5": 2, "2.6": 1, "2.7": 2, "2.8": 1, "2.9": 2,
    "2.10": 1, "2.11": 1, "2.12": 2, "2.13": 1, "2.14": 2, "2.15": 1,
}  # fmt: skip
# By patchset: its file, the scope, what reads the variable, and what an unpatched torch makes of None, "0" and "1".
DYNAMO = {
    "torch-dynamo-disable": ("torch/_dynamo/eval_frame.py", "*optimize", "TORCHDYNAMO_DISABLE", (False, False, True)),
    "torch-dynamo-suppress": ("torch/_dynamo/config.py", "<module>", "TORCHDYNAMO_SUPPRESS_ERRORS", (False, True, True)),
}
VALUES = {None: True, "1": True, "yes": True, "2": True, "0": False, "": False, " False ": False, "no": False, "OFF": False}
ALL_MMENGINE = [f"{minor}.{patch}" for minor, count in MMENGINE_RELEASES.items() for patch in range(count)]
ALL_TORCH = [f"{minor}.{patch}" for minor, count in TORCH_RELEASES.items() for patch in range(count)]
ALL_LITE = [f"0.10.{patch}" for patch in range(8)]
MMENGINE = [("mmengine", version) for version in (ALL_MMENGINE if ALL else QUICK_MMENGINE)]
MMENGINE += [("mmengine-lite", version) for version in (ALL_LITE if ALL else ["0.10.7"])]


def variant_for(name, version):
    """The variant of a built-in patchset for this release, and its options by default."""
    patchset = load_patchset(Path(builtin_dir()) / name, BUILT_IN)
    return choose_variant(patchset.variants, version), resolve_options(patchset, {})


def states(name, version, files):
    """{(path, scope): [(state, number of places)]} of a patchset on the files of a release, checking what holds for every rewrite."""
    variant, options = variant_for(name, version)
    assert variant is not None, "the patchset says it is not for this release"
    by_place = {}
    for patch in variant.patches:
        (path,) = patch.paths
        if path not in files and not patch.adds:
            assert all(hunk.flags.when_present for hunk in patch.hunks), f"{path} is not in this release"
            continue
        source = files.get(path, b"")
        result = rewrite(source, patch.hunks, options)
        for answer in result.answers:
            assert not answer.state.failed, (path, answer.hunk.scope, answer.problem)
            by_place.setdefault((path, answer.hunk.scope), []).append((answer.state, len(answer.places)))
        assert_compiles(path, source, result.data)
        assert folded(source, result.splices) == result.data
        again = rewrite(result.data, patch.hunks, options)
        assert again.data == result.data, "a second application changes nothing"
        assert not any(answer.state is State.APPLICABLE for answer in again.answers)
    return by_place


def folded(source, splices):
    for splice in sorted(splices, reverse=True):
        source = source[: splice.start] + splice.new + source[splice.end :]
    return source


def applied_in_order(names, version, files):
    """The files with these patchsets applied one after the other: every hunk finds its code, as when alone."""
    files = dict(files)
    for name in names:
        states(name, version, files)
        variant, options = variant_for(name, version)
        for patch in variant.patches:
            (path,) = patch.paths
            if path in files:
                files[path] = rewrite(files[path], patch.hunks, options).data
    return files


@pytest.mark.parametrize(("distribution", "version"), MMENGINE)
def test_mmengine(real_cache, distribution, version):
    files = target_files(real_cache, distribution, version)
    once, thrice = (State.APPLICABLE, 1), (State.APPLICABLE, 3)
    utils, wrap = "mmengine/dist/utils.py", ("mmengine/runner/runner.py", "Runner.wrap_model")
    strategy = ("mmengine/_strategy/distributed.py", "DDPStrategy._wrap_model")
    number = tuple(map(int, version.split(".")))
    new = number >= (0, 8)
    debug = {(utils, "<module>"): [once], wrap: [once] * 4, (wrap[0], "<module>"): [once]}
    reporting = {"distributed.DDP": 2, "fsdp.FSDP": 1, "deepspeed.DeepSpeed": 1, "single_device.SingleDevice": 1} if new else {}
    for name, number_of_hunks in reporting.items():
        file, _, kind = name.partition(".")
        debug[f"mmengine/_strategy/{file}.py", f"{kind}Strategy._wrap_model"] = [once] * number_of_hunks
    if number >= (0, 9):
        debug["mmengine/_strategy/colossalai.py", "ColossalAIStrategy._wrap"] = [once]
    assert states("mmengine-ddp-debug", version, files) == debug
    number_of_starts = 2 if number < (0, 7, 3) else 1
    device_ids = {
        (utils, "<module>"): [once],
        (utils, "_init_dist_*"): [thrice, (State.APPLICABLE, number_of_starts)],
        wrap: [once] * 3,
        (wrap[0], "<module>"): [once],
    }
    if new:
        device_ids[strategy] = [once] * 2
    assert states("mmengine-ddp-device", version, files) == device_ids
    checkpoint = "mmengine/runner/checkpoint.py"
    assert states("mmengine-checkpoint-load", version, files) == {
        (checkpoint, "load_from_local"): [once],
        (checkpoint, "<module>"): [once],
    }
    packages = "mmengine/utils/package_utils.py"
    by_function = once if number >= (0, 5) else (State.NOT_NEEDED, 0)
    assert states("mmengine-pkg-resources", version, files) == {
        (packages, "<module>"): [once, once],
        (packages, "is_installed"): [once],
        (packages, "get_installed_path"): [by_function, once, (State.APPLICABLE, 2)],
        (packages, "package2module"): [by_function, once],
    }
    assert changed_by_mmengine_device(version, files) == CHANGED_BY_MMENGINE_DEVICE - not_yet_there(number)
    for pair in (["mmengine-ddp-device", "mmengine-ddp-debug"], ["mmengine-device", "mmengine-ddp-debug"]):
        applied_in_order(pair, version, files)
        applied_in_order(pair[::-1], version, files)


OF_OTHER_PATCHSETS = {  # targets that mmengine-device leaves alone
    "mmengine/_strategy/single_device.py",
    "mmengine/_strategy/deepspeed.py",
    "mmengine/_strategy/colossalai.py",
    "mmengine/runner/checkpoint.py",
    "mmengine/utils/package_utils.py",
}
CHANGED_BY_MMENGINE_DEVICE = {*TARGETS["mmengine"], "mmengine/_sitepatch_device.py"} - OF_OTHER_PATCHSETS
FIRST_RELEASES = {  # with what is changed in a file
    "mmengine/_strategy/distributed.py": (0, 8),
    "mmengine/_strategy/fsdp.py": (0, 8),
    "mmengine/logging/logger.py": (0, 7),
    "mmengine/dist/dist.py": (0, 7, 3),
}


def not_yet_there(number):
    return {path for path, first in FIRST_RELEASES.items() if number < first}


def changed_by_mmengine_device(version, files):
    changed = set()
    for (path, _), answers in states("mmengine-device", version, files).items():
        if any(state is State.APPLICABLE for state, _ in answers):
            changed.add(path)
    return changed


def check_torch(version, files):
    guard = states("torch-musa-guard", version, files)
    assert guard == {("torch/multiprocessing/reductions.py", "reduce_storage"): [(State.NOT_NEEDED, 0)]}
    if version.startswith("1."):
        for name, (path, *_) in DYNAMO.items():
            assert path not in files
            variant, _ = variant_for(name, version)
            assert variant is None
        return
    for name, (path, scope, *_) in DYNAMO.items():
        assert states(name, version, files) == {(path, scope): [(State.APPLICABLE, 1)]}
    patched = applied_in_order(list(DYNAMO), version, files)
    assert applied_in_order(list(DYNAMO)[::-1], version, files) == patched
    for path, _, variable, stock in DYNAMO.values():
        stock_value = reader_of(files[path], variable)
        assert tuple(bool(stock_value(text)) for text in (None, "0", "1")) == stock
        patched_value = reader_of(patched[path], variable)
        assert {text: patched_value(text) for text in VALUES} == VALUES, path


def reader_of(source, variable):
    """The one expression of a file that reads a variable, as a function of the text in the variable (None: it is not set)."""
    for node in ast.walk(ast.parse(source)):  # the outermost comes first
        if isinstance(node, (ast.Call, ast.Compare)) and reads(node, variable):
            code = compile(ast.Expression(node), "read", "eval")
            return lambda text: eval(code, {"os": SimpleNamespace(environ={} if text is None else {variable: text})})
    raise AssertionError(f"nothing reads {variable}")


def reads(node, variable):
    return any(getattr(inner, "value", "") == variable for inner in ast.walk(node))


def test_the_torch_of_the_environment(kept_environment):
    site = Environment(kept_environment, Path()).site
    check_torch(TORCH, {path: (site / path).read_bytes() for path in TARGETS["torch"]})


@pytest.mark.skipif(not ALL, reason="set SITEPATCH_ALL_RELEASES=1 for the torch wheels (two gigabytes)")
@pytest.mark.parametrize("version", ALL_TORCH)
def test_torch(real_cache, version):
    check_torch(version, target_files(real_cache, "torch", version))

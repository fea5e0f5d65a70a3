"""Every hunk of the built-in patchsets on the files of real releases, straight from their wheels.

A few releases by default; all of them with SITEPATCH_ALL_RELEASES=1 (two gigabytes of torch wheels, none of them kept).
"""

import ast
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import TARGETS, TORCH, Environment
from wheels import assert_compiles, files_of

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


def target_files(cache, distribution, version):
    """{path: bytes} of the target files of a release."""
    return files_of(cache, distribution, version, TARGETS[distribution.partition("-")[0]])


def answers(name, version, files):
    """{(path, scope): [answers]} of a patchset on the files of a release, checking what holds for every rewrite."""
    from patcher.engine.engine import rewrite

    patchset = load_patchset(Path(builtin_dir()) / name, BUILT_IN)
    options = resolve_options(patchset, {})
    variant = choose_variant(patchset.variants, version)
    assert variant is not None, "the patchset says it is not for this release"
    found = {}
    for patch in variant.patches:
        (path,) = patch.paths
        if path not in files and not patch.adds:
            assert all(hunk.flags.when_present for hunk in patch.hunks), f"{path} is not in this release"
            continue
        source = files.get(path, b"")
        result = rewrite(source, patch.hunks, options)
        for answer in result.answers:
            assert not answer.state.failed, (path, answer.hunk.scope, answer.problem)
            found.setdefault((path, answer.hunk.scope), []).append(answer)
        assert_compiles(path, source, result.data)
        assert folded(source, result.splices) == result.data
        again = rewrite(result.data, patch.hunks, options)
        assert again.data == result.data, "a second application changes nothing"
        assert not any(answer.state is State.APPLICABLE for answer in again.answers)
    return found


def folded(source, splices):
    for splice in sorted(splices, reverse=True):
        source = source[: splice.start] + splice.new + source[splice.end :]
    return source


def states(found):
    return {place: [(answer.state, len(answer.places)) for answer in each] for place, each in found.items()}


def together(names, version, files):
    """The files with these patchsets applied one after the other, in both orders: every hunk finds its code, as when alone."""
    from patcher.engine.engine import rewrite

    made = []
    for order in (names, names[::-1]):
        changed = dict(files)
        for name in order:
            answers(name, version, changed)
            for patch in choose_variant(load_patchset(Path(builtin_dir()) / name, BUILT_IN).variants, version).patches:
                (path,) = patch.paths
                if path in changed:
                    options = resolve_options(load_patchset(Path(builtin_dir()) / name, BUILT_IN), {})
                    changed[path] = rewrite(changed[path], patch.hunks, options).data
        made.append(changed)
    return made


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
    assert states(answers("mmengine-ddp-debug", version, files)) == debug
    guard = {(utils, "<module>"): [once], wrap: [once] * 3, (wrap[0], "<module>"): [once], **({strategy: [once] * 2} if new else {})}
    counted = (State.APPLICABLE, 2 if number < (0, 7, 3) else 1)
    starts = {(utils, "_init_dist_*"): [thrice, counted]}
    assert states(answers("mmengine-ddp-device", version, files)) == {**guard, **starts}
    device = states(answers("mmengine-device", version, files))
    changed = {path for (path, _), found in device.items() if any(state is State.APPLICABLE for state, _ in found)}
    since = {strategy[0]: (0, 8), "mmengine/_strategy/fsdp.py": (0, 8), "mmengine/logging/logger.py": (0, 7), "mmengine/dist/dist.py": (0, 7, 3)}
    checkpoint = "mmengine/runner/checkpoint.py"
    assert states(answers("mmengine-checkpoint-load", version, files)) == {
        (checkpoint, scope): [once] for scope in ("load_from_local", "<module>")
    }
    packages = "mmengine/utils/package_utils.py"
    by_function = once if number >= (0, 5) else (State.NOT_NEEDED, 0)
    assert states(answers("mmengine-pkg-resources", version, files)) == {
        (packages, "<module>"): [once, once],
        (packages, "is_installed"): [once],
        (packages, "get_installed_path"): [by_function, once, (State.APPLICABLE, 2)],
        (packages, "package2module"): [by_function, once],
    }
    elsewhere = {packages, *(f"mmengine/_strategy/{name}.py" for name in ("single_device", "deepspeed", "colossalai")), checkpoint}
    changing = {path for path in TARGETS["mmengine"] if number >= since.get(path, ())} - elsewhere
    assert changed == {*changing, "mmengine/_sitepatch_device.py"}
    together(["mmengine-ddp-device", "mmengine-ddp-debug"], version, files)
    together(["mmengine-device", "mmengine-ddp-debug"], version, files)


def check_torch(version, files):
    guard = states(answers("torch-musa-guard", version, files))
    assert guard == {("torch/multiprocessing/reductions.py", "reduce_storage"): [(State.NOT_NEEDED, 0)]}
    if version.startswith("1."):
        for name, (path, *_) in DYNAMO.items():
            assert path not in files
            assert choose_variant(load_patchset(Path(builtin_dir()) / name, BUILT_IN).variants, version) is None
        return
    for name, (path, scope, *_) in DYNAMO.items():
        assert states(answers(name, version, files)) == {(path, scope): [(State.APPLICABLE, 1)]}
    first, second = together(list(DYNAMO), version, files)
    assert first == second
    for path, _, variable, stock in DYNAMO.values():
        told = value(files[path], variable)
        assert tuple(bool(told(text)) for text in (None, "0", "1")) == stock
        told = value(first[path], variable)
        assert {text: told(text) for text in VALUES} == VALUES, path


def value(source, variable):
    """What the one expression of a file that reads a variable makes of a text in it (None: it is not set)."""
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, (ast.Call, ast.Compare))]
    read = next(node for node in nodes if any(getattr(each, "value", "") == variable for each in ast.walk(node)))  # the outermost
    code = compile(ast.Expression(read), "read", "eval")
    return lambda text: eval(code, {"os": SimpleNamespace(environ={} if text is None else {variable: text})})


def test_the_torch_of_the_environment(kept_environment):
    site = Environment(kept_environment, Path()).site
    check_torch(TORCH, {path: (site / path).read_bytes() for path in TARGETS["torch"]})


@pytest.mark.skipif(not ALL, reason="set SITEPATCH_ALL_RELEASES=1 for the torch wheels (two gigabytes)")
@pytest.mark.parametrize("version", ALL_TORCH)
def test_torch(real_cache, version):
    check_torch(version, target_files(real_cache, "torch", version))

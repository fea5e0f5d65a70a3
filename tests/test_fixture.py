"""The stand-ins are laid out as pip would install them, and they run without torch."""

import csv
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from patcher.errors import UsageError
from patcher.model import State
from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import BUILT_IN, builtin_dir
from patcher.patchset.variants import choose_variant, resolve_options
from patcher.verbs.demo import fixtures, lay_out
from tests.records import digest

WRAP = """
from mmengine.model import BaseModel
from mmengine.runner import Runner
Runner().wrap_model({cfg}, BaseModel())
"""
STRATEGY = """
from mmengine.model import BaseModel
from mmengine._strategy import DDPStrategy
DDPStrategy({cfg})._wrap_model(BaseModel())
"""


def run(site, code):
    env = {**os.environ, "PYTHONPATH": str(site), "LOCAL_RANK": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-S", "-c", code]
    return subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")


@pytest.mark.parametrize("name", fixtures())
def test_record_lists_every_file_with_its_hash(name, tmp_path):
    lay_out(name, tmp_path / "site")
    (record,) = (tmp_path / "site").glob("*.dist-info/RECORD")
    with record.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.reader(stream))
    files = [path for path in (tmp_path / "site").rglob("*") if path.is_file()]
    there = {path.relative_to(tmp_path / "site").as_posix() for path in files}
    assert {row[0] for row in rows} == there
    for path, recorded, size in rows:
        data = (tmp_path / "site" / path).read_bytes()
        if path.endswith("/RECORD"):
            assert (recorded, size) == ("", "")
        else:
            assert (recorded, size) == (digest(data), str(len(data)))


@pytest.mark.parametrize(
    ("name", "distribution", "version"),
    [("mmengine-0.7.4", "mmengine", "0.7.4"), ("torch-2.7.1-musa", "torch", "2.7.1")],
)
def test_importlib_metadata_finds_the_distribution(name, distribution, version, tmp_path):
    lay_out(name, tmp_path)
    (found,) = metadata.distributions(path=[str(tmp_path)])
    assert (found.metadata["Name"], found.version) == (distribution, version)
    assert (tmp_path / f"{distribution}-{version}.dist-info" / "INSTALLER").read_text() == "pip\n"
    assert f"{distribution}/__init__.py" in [str(path) for path in found.files]


def test_two_distributions_share_a_directory_and_none_is_laid_out_twice(tmp_path):
    lay_out("mmengine-0.10.7", tmp_path)
    lay_out("torch-2.5.0", tmp_path)
    assert (tmp_path / "torch").is_dir()
    assert (tmp_path / "mmengine").is_dir()
    with pytest.raises(FileExistsError):
        lay_out("torch-2.5.0", tmp_path)


@pytest.mark.parametrize("name", ["mmengine-9.9", "../fixtures", "mmengine", ""])
def test_an_unknown_name_is_refused_and_makes_nothing(name, tmp_path):
    with pytest.raises(UsageError, match="no fixture") as caught:
        lay_out(name, tmp_path / "site")
    assert "mmengine-0.10.7" in caught.value.hint
    assert not (tmp_path / "site").exists()


@pytest.mark.parametrize("name", [name for name in fixtures() if name.startswith("mmengine")])
def test_the_wrapper_refuses_as_the_real_one_does(name, tmp_path):
    lay_out(name, tmp_path)
    for cfg in ("None", "{'type': 'MMDistributedDataParallel'}"):
        ended = run(tmp_path, WRAP.format(cfg=cfg))
        assert ended.returncode == 1
        assert ended.stdout.splitlines()[-1] == "ValueError: device_ids [1] given for a module on the CPU"
    cfg = "{'type': 'MMDistributedDataParallel', 'device_ids': None}"
    assert run(tmp_path, WRAP.format(cfg=cfg)).returncode == 0


def test_the_strategy_refuses_too(tmp_path):
    lay_out("mmengine-0.10.7", tmp_path)
    ended = run(tmp_path, STRATEGY.format(cfg="None"))
    assert ended.stdout.splitlines()[-1] == "ValueError: device_ids [1] given for a module on the CPU"
    cfg = "{'type': 'MMDistributedDataParallel', 'device_ids': None}"
    assert run(tmp_path, STRATEGY.format(cfg=cfg)).returncode == 0


def test_the_vendors_torch_fails_as_the_real_one_does(tmp_path):
    lay_out("torch-2.7.1-musa", tmp_path)
    code = """
from types import SimpleNamespace
from torch.multiprocessing.reductions import reduce_storage
reduce_storage(SimpleNamespace(is_cuda=False, device=SimpleNamespace(type="cpu"), size=lambda: 8))
"""
    assert "no attribute 'is_musa'" in run(tmp_path, code).stdout.splitlines()[-1]


# The setting for each value of the variable: in the stand-in, and after the patchset (None: the variable is not set).
VALUES = {
    "torch-dynamo-suppress": (
        "config.suppress_errors", "TORCHDYNAMO_SUPPRESS_ERRORS", {None: False, "": False, "0": True, "false": True, "1": True, "true": True},
    ),
    "torch-dynamo-disable": (
        "eval_frame.optimize()", "TORCHDYNAMO_DISABLE", {None: False, "": False, "0": False, "false": False, "1": True, "true": False},
    ),
}  # fmt: skip
PATCHED = {None: True, "": False, "0": False, " False ": False, "no": False, "OFF": False, "1": True, "true": True, "2": True}


def settings(site, variable, setting, texts):
    code = f"""
import os, importlib
from torch._dynamo import config, eval_frame
for text in {texts!r}:
    os.environ.pop({variable!r}, None)
    if text is not None:
        os.environ[{variable!r}] = text
    importlib.reload(config)
    print(bool({setting}))
"""
    return dict(zip(texts, (line == "True" for line in run(site, code).stdout.split())))


@pytest.mark.parametrize("patchset", VALUES)
def test_the_compilers_settings_read_their_variable_as_upstream_does_and_then_as_the_patchset_says(patchset, tmp_path):
    from patcher.engine.engine import rewrite

    setting, variable, upstream = VALUES[patchset]
    lay_out("torch-2.5.0", tmp_path)
    assert settings(tmp_path, variable, setting, list(upstream)) == upstream
    variant = choose_variant(load_patchset(Path(builtin_dir()) / patchset, BUILT_IN).variants, "2.5.0")
    path = tmp_path / variant.patches[0].paths[0]
    path.write_bytes(rewrite(path.read_bytes(), variant.patches[0].hunks, {}).data)
    assert settings(tmp_path, variable, setting, list(PATCHED)) == PATCHED


@pytest.mark.parametrize(
    ("name", "patchset", "expected"),
    [
        ("mmengine-0.1.0", "mmengine-ddp-debug", [State.APPLICABLE] * 6),
        ("mmengine-0.7.4", "mmengine-ddp-debug", [State.APPLICABLE] * 6),
        ("mmengine-0.10.7", "mmengine-ddp-debug", [State.APPLICABLE] * 8),
        ("mmengine-0.1.0", "mmengine-ddp-device", [State.APPLICABLE] * 7),
        ("mmengine-0.7.4", "mmengine-ddp-device", [State.APPLICABLE] * 7),
        ("mmengine-0.10.7", "mmengine-ddp-device", [State.APPLICABLE] * 9),
        ("torch-1.13.0", "torch-musa-guard", [State.NOT_NEEDED]),
        ("torch-2.5.0", "torch-musa-guard", [State.NOT_NEEDED]),
        ("torch-2.7.1-musa", "torch-musa-guard", [State.APPLICABLE]),
        ("torch-1.13.0", "torch-dynamo-suppress", None),
        ("torch-2.5.0", "torch-dynamo-suppress", [State.APPLICABLE]),
        ("torch-2.7.1-musa", "torch-dynamo-suppress", [State.APPLICABLE]),
        ("torch-2.9.0", "torch-dynamo-suppress", [State.APPLICABLE]),
        ("torch-1.13.0", "torch-dynamo-disable", None),
        ("torch-2.5.0", "torch-dynamo-disable", [State.APPLICABLE]),
        ("torch-2.7.1-musa", "torch-dynamo-disable", [State.APPLICABLE]),
        ("torch-2.9.0", "torch-dynamo-disable", [State.APPLICABLE]),
    ],
)
def test_every_shape_that_a_built_in_patchset_looks_for_is_there(name, patchset, expected, tmp_path):
    from patcher.engine.engine import rewrite

    lay_out(name, tmp_path)
    loaded = load_patchset(Path(builtin_dir()) / patchset, BUILT_IN)
    variant = choose_variant(loaded.variants, name.split("-")[1])
    if expected is None:
        assert variant is None
        return
    states = []
    for patch in variant.patches:
        path = tmp_path / patch.paths[0]
        if path.exists():
            result = rewrite(path.read_bytes(), patch.hunks, resolve_options(loaded, {}))
            states += [answer.state for answer in result.answers]
            assert (result.data != path.read_bytes()) == (State.APPLICABLE in states)
    assert states == expected

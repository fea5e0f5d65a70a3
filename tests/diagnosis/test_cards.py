"""Which card there is, by what is installed and by the tensors in a log; never by what a text merely mentions."""

import json

import pytest

from patcher.installed.accelerators import installed_accelerators
from patcher.installed.interpreter import discover
from patcher.place import Place
from patcher.verbs.log_findings import KnownSymptoms
from tests.command import Site
from tests.diagnosis.logs import FRAME, REFUSED, findings_in, json_answer, log_of

pytestmark = pytest.mark.once

POINT = "[torch.backends]\n{} = {}\n"
NAMES = 'import torch\ntorch.utils.rename_privateuse1_backend("{}")\n'


def lay(site, files):
    for path, text in files.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(text)


@pytest.mark.parametrize(
    ("files", "kinds"),
    [
        ({"torch_xyz-1.dist-info/entry_points.txt": POINT.format("torch_xyz", "torch_xyz:_autoload")}, ["xyz"]),
        ({"torch_xyz-1.dist-info/entry_points.txt": POINT.format("xyz", "vendor.torch:_autoload")}, ["xyz"]),
        ({"v-1.dist-info/entry_points.txt": POINT.format("backend", "vendor:_autoload"), "vendor/__init__.py": NAMES.format("xyz")}, ["xyz"]),
        ({"v-1.dist-info/entry_points.txt": POINT.format("device_backend", "habana_frameworks:__autoload")}, ["hpu"]),
        ({"v.egg-info/entry_points.txt": POINT.format("torch_xyz", "torch_xyz:_autoload")}, ["xyz"]),
        ({"torch_xyz/__init__.py": NAMES.format("xyz")}, ["xyz"]),
        ({"torch_foo/setup.py": NAMES.format("xyz")}, ["xyz"]),
        ({"torch_gcu/__init__.py": ""}, ["gcu"]),
        ({"intel_extension_for_pytorch/__init__.py": ""}, ["xpu"]),
        ({"torch_gcu/__init__.py": "", "torch_gcu-1.dist-info/entry_points.txt": POINT.format("torch_gcu", "torch_gcu:_autoload")}, ["gcu"]),
        ({"torch_geometric/__init__.py": "", "torch_gcu-1.dist-info/METADATA": ""}, []),
        ({"v-1.dist-info/entry_points.txt": "[console_scripts]\nv = v:main\n"}, []),
        ({"v-1.dist-info/entry_points.txt": "[torch.backends]\n[torch.backends]\n"}, []),
        ({"torch/version.py": "cuda = '12.8'\n"}, []),
    ],
)  # fmt: skip
def test_installed_accelerators_are_found(tmp_path, files, kinds):
    lay(tmp_path, files)
    assert [each.kind for each in installed_accelerators(discover(None, str(tmp_path)))] == kinds


@pytest.mark.parametrize(
    ("line", "kinds"),
    [
        ("tensor([1.], device='xyz:0')", ["xyz"]),
        ("{device(type='xyz', index=0)}", ["xyz"]),
        ("Expected all tensors to be on the same device, but found at least two devices, xyz:0 and cpu!", ["xyz"]),
        ("Tensor on device xyz:0 is not on the expected device meta!", ["xyz"]),
        ("[rank 0] sitepatch mmengine-ddp-debug: parameters on {'xyz:0': 4}, before {'cpu': 4}", ["xyz"]),
        ('sitepatch-ddp {"schema": 7, "parameters": {"xyz:0": 4}}', ["xyz"]),
        (">>> 参数设备分布: {'gcu:0'}", ["gcu"]),
        ("MUSA available: False", []),
        ("    MUSA available: False, GPU 0: none", []),
        ("NPU is not available on this machine", []),
        ("ModuleNotFoundError: No module named 'torch_npu'", []),
        ("device npu:0 not found", []),
        ("module parameters {device(type='cpu')}", []),
        ("tensors on cuda:0 and cpu", []),
        ("listening on port:8080, on localhost:29500", []),
        ("{'rank:0': 4} at 127.0.0.1:5000, on 10:45:12", []),
        ("torch_gcu 2.5.1, Ascend 910B, MTT S80", []),
    ],
)
def test_a_text_proves_a_card_by_a_tensor_on_it_alone(line, kinds):
    text = f"ShopError: closed\n{line}\n"
    assert list(log_of(text).devices) == kinds


MMENGINE_LOG = f"""2026/01/05 10:02:11 - mmengine - INFO -
------------------------------------------------------------
System environment:
    sys.platform: linux
    CUDA available: False
    MUSA available: False
    numpy_random_seed: 7
------------------------------------------------------------
{FRAME}{REFUSED}"""



@pytest.mark.parametrize(
    ("packages", "symptom", "options"),
    [
        ([], "ddp-refuses-device-ids", {}),
        (["gcu"], "moved-back-to-the-cpu", {"device": "gcu"}),
        (["xyz"], "moved-back-to-the-cpu", {"device": "xyz"}),
        (["gcu", "npu"], "moved-back-to-the-cpu", {}),  # which of them is left to torch
    ],
)
def test_the_cure_is_for_the_card_that_is_there_and_not_for_one_that_is_said_to_be_missing(tmp_path, packages, symptom, options):
    for kind in packages:
        lay(tmp_path, {f"torch_{kind}-1.dist-info/entry_points.txt": POINT.format(f"torch_{kind}", f"torch_{kind}:_autoload")})
    (finding,) = findings_in(KnownSymptoms(Place(target=str(tmp_path))), MMENGINE_LOG)
    assert (finding.symptom.name, finding.symptom.options) == (symptom, options)


def test_on_the_cpu_the_command_is_for_the_cpu(tmp_path):
    site = Site(tmp_path, "mmengine-0.10.7")
    assert json_answer(site, MMENGINE_LOG)["cure"] == f"sitepatch apply mmengine-ddp-device --target {site.path}"


@pytest.mark.parametrize(("source", "knows"), [("is_npu_available()", False), ("is_npu_available() or is_xyz_available()", True), (None, True)])
def test_doctor_names_a_card_that_mmengine_does_not_ask_for(tmp_path, source, knows):
    site = Site(tmp_path, "mmengine-0.10.7")
    lay(site.path, {"torch_xyz-1.dist-info/entry_points.txt": POINT.format("torch_xyz", "torch_xyz:_autoload")})
    if source:
        lay(site.path, {"mmengine/device/utils.py": f"DEVICE = {source}\n"})
    findings = json.loads(site("doctor", "--json").out)["findings"]
    (one,) = [each for each in findings if each["check"] == "accelerators"]
    if knows:
        assert one["severity"] == "ok"
    else:
        assert one["severity"] == "problem" and one["hint"] == f"sitepatch apply mmengine-device --target {site.path}"
        assert one["what"].startswith("torch_xyz is installed, and get_device() of MMEngine 0.10.7 does not know xyz")


# what cures -----------------------------------------------------------------------------------------------------------
COMPILE = 'Traceback (most recent call last):\n  File "train.py", line 7, in main\n    step = torch.compile(step{})\n'
FAILED = "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\n"


@pytest.mark.parametrize(
    ("text", "symptom", "cure"),
    [
        (COMPILE.format("") + FAILED + "RuntimeError: no such card\n", "compile-backend-failed", "torch-dynamo-suppress"),
        (COMPILE.format(", fullgraph=True") + FAILED, "compile-of-a-whole-function-failed", "torch-dynamo-disable"),
        (COMPILE.format("") + "torch._dynamo.exc.TorchRuntimeError: Dynamo failed to run FX node with fake tensors\n", "compiled-code-is-wrong", ""),
        (COMPILE.format("") + FAILED + "ImportError: cannot import name 'triton_key' from 'triton.compiler.compiler'\n", "triton-of-another-release", ""),
    ],
)
def test_suppression_is_recommended_only_where_it_cures(tmp_path, text, symptom, cure):
    answer = json_answer(Site(tmp_path, "torch-2.9.0"), text)
    assert answer["findings"][0]["symptom"] == symptom
    assert answer["cure"] == (f"sitepatch apply {cure} --target {tmp_path}/site" if cure else "")


LOADS = '  File "/opt/venv/lib/python3.11/site-packages/mmengine/runner/checkpoint.py", line 347, in load_from_local\n'
REFUSES = "_pickle.UnpicklingError: Weights only load failed. Re-running torch.load with weights_only=False ...\n\tWeightsUnpickler error: Unsupported global: GLOBAL {} was not an allowed global by default.\n"


@pytest.mark.parametrize(
    ("what", "first", "cure"),
    [
        ("mmengine.logging.history_buffer.HistoryBuffer", "mmengine-checkpoint-refused", True),
        ("numpy._core.multiarray._reconstruct", "mmengine-checkpoint-with-arrays", True),
        ("numpy.dtypes.Float64DType", "mmengine-checkpoint-with-arrays", True),
        ("mmengine.config.config.ConfigDict", "checkpoint-not-weights-only", False),
    ],
)
def test_the_safe_cure_of_a_checkpoint_comes_first(tmp_path, what, first, cure):
    site = Site(tmp_path, "mmengine-0.10.7")
    checkpoint = "import torch\n\n\ndef load_from_local(filename, map_location):\n    return torch.load(filename, map_location=map_location)\n"
    lay(site.path, {"mmengine/runner/checkpoint.py": checkpoint, "mmengine/logging/__init__.py": "class HistoryBuffer: pass\n"})
    answer = json_answer(site, "Traceback (most recent call last):\n" + LOADS + REFUSES.format(what))
    assert answer["findings"][0]["symptom"] == first
    names = [each["symptom"] for each in answer["findings"]]
    assert ("mmengine-checkpoint-of-objects" in names) != cure
    assert all("trust=true" not in each["advice"] for each in answer["findings"]) == cure


def test_a_process_that_lost_its_parent_is_not_told_of_a_damaged_checkpoint(tmp_path):
    spawn = '  File "/usr/lib/python3.11/multiprocessing/spawn.py", line 122, in spawn_main\n    exitcode = _main(fd)\n'
    text = f"Traceback (most recent call last):\n{spawn}    self = reduction.pickle.load(from_parent)\nEOFError: Ran out of input\n"
    known = KnownSymptoms(Place(target=str(tmp_path)))
    (finding,) = findings_in(known, text)
    assert finding.symptom.name == "spawned-without-its-parent"
    (finding,) = findings_in(known, "EOFError: Ran out of input\n")
    assert finding.symptom.name == "checkpoint-damaged"

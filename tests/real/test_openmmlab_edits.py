"""What people change by hand in OpenMMLab's packages: each error is raised on the real package, found, cured and restored."""

import shlex
import sys

import pytest
from conftest import COMMAND_ROOT, beside, run
from cures import assert_cured, cure, cures, of, pip_install, python
from diagnoses import diagnose
from wheels import slow

pytestmark = pytest.mark.real

RUNNER = "from mmengine.runner import Runner; from mmengine.registry import OPTIMIZERS; print(OPTIMIZERS.get('Adafactor').__module__)"
BUILDER = "mmengine/optim/optimizer/builder.py"


@slow
@cures("adafactor-registered-twice")
@pytest.mark.parametrize("release", ["0.9.0", "0.10.0", "0.10.5"])
def test_mmengine_is_imported_beside_transformers(library, release):
    pip_install(library, f"mmengine=={release}", "setuptools==80.9.0")
    cure(library, "adafactor-registered-twice", "mmengine-adafactor", lambda: python(library, RUNNER), [BUILDER], "transformers.optimization")


@slow
def test_the_adafactor_of_torch_is_taken_where_transformers_is_not_installed(kept_environment, tmp_path):
    environment = beside(kept_environment, tmp_path)
    pip_install(environment, "mmengine==0.10.5")
    assert environment.sitepatch("apply", "mmengine-adafactor").code == 0
    assert python(environment, RUNNER).out.startswith("torch.optim")


IMPORTLIB_METADATA = ["importlib-metadata==8.5.0", "zipp==3.21.0"]  # later ones need a package more
CONFIG = "from {package} import Config; print(Config(dict(lr=0.1, steps=[1, 2])).pretty_text.replace(chr(10), ' '))"


@slow
@cures("mmengine-yapf-without-verify", "mmcv-yapf-without-verify")
@pytest.mark.parametrize(
    ("package", "release", "file"),
    [
        ("mmengine", "0.1.0", "mmengine/config/config.py"),
        ("mmengine", "0.7.4", "mmengine/config/config.py"),
        ("mmengine", "0.8.4", "mmengine/config/config.py"),
        ("mmcv", "1.7.1", "mmcv/utils/config.py"),
    ],
)
def test_a_config_is_printed_with_any_yapf(library, package, release, file):
    pip_install(library, "yapf==0.40.1", "platformdirs", *IMPORTLIB_METADATA, "tomli", "setuptools==80.9.0", f"{package}=={release}", **for_mmcv_1(library))
    job = CONFIG.format(package=package)
    printed = python(library, job).out.splitlines()[-1].rstrip()
    assert printed.startswith("lr = 0.1 steps = ["), printed
    pip_install(library, "yapf==0.43.0")
    name = f"{package}-yapf"
    cure(library, f"{name}-without-verify", name, lambda: python(library, job), [file], printed)
    assert library.sitepatch("apply", name).code == 0
    pip_install(library, "yapf==0.40.1")
    assert python(library, job).out.splitlines()[-1].rstrip() == printed


def for_mmcv_1(environment):
    """MMCV 1.x is on the index as source alone, and its setup.py imports pkg_resources. pip 25.3 and later read the second variable."""
    constraint = environment.cwd / "build.txt"
    constraint.write_text("setuptools<81\n")
    return {"PIP_CONSTRAINT": str(constraint), "PIP_BUILD_CONSTRAINT": str(constraint)}


@slow
@cures("mmcv-replicated-tensor-module")
@pytest.mark.parametrize("release", ["1.6.0", "1.7.2"])
def test_two_ranks_of_mmcv_1_train(library, release):
    pip_install(library, "setuptools==80.9.0", f"mmcv=={release}", **for_mmcv_1(library))
    files = ["mmcv/parallel/distributed.py", "mmcv/parallel/_functions.py"]

    def job():
        return library.ranks(2, "mmcv_train.py")

    cure(library, "mmcv-replicated-tensor-module", "mmcv-torch2", job, files, "trained")


STREAM = "import torch; from mmcv.parallel._functions import Scatter; Scatter.forward([0], torch.ones(2))"


@slow
@cures("mmcv-stream-of-a-number")
@pytest.mark.parametrize("release", ["1.3.0", "1.7.2"])
def test_mmcv_1_asks_for_the_stream_of_a_device(library, release):
    """Without a GPU the job goes as far as torch's own refusal to use one."""
    pip_install(library, "setuptools==80.9.0", f"mmcv=={release}", **for_mmcv_1(library))
    failed = python(library, STREAM)
    assert_cured(of(library), "mmcv-stream-of-a-number", failed.out, "mmcv-torch2")
    assert python(library, STREAM).out.endswith("RuntimeError: PyTorch was compiled without CUDA support\n")


BESIDE = {  # releases that refuse MMCV 2.2.0, and the module of each; what needs MMDetection imports it first
    "newest": ["mmdet==3.3.0", "mmsegmentation==1.2.2", "mmaction2==1.2.0", "mmpose==1.1.0", "mmpretrain==1.1.1", "mmagic==1.2.0",
               "mmdet3d==1.4.0", "mmocr==1.0.1", "mmyolo==0.6.0", "mmrotate==1.0.0rc1"],
    "oldest": ["mmdet==3.0.0", "mmsegmentation==1.0.0", "mmaction2==1.0.0", "mmpose==1.0.0", "mmpretrain==1.0.0", "mmagic==1.0.0",
               "mmdet3d==1.1.0", "mmocr==1.0.0", "mmyolo==0.1.2", "mmrotate==1.0.0rc0"],
    "between": ["mmdet==3.2.0", "mmsegmentation==1.1.0", "mmaction2==1.1.0", "mmpose==1.1.0", "mmpretrain==1.0.2", "mmdet3d==1.2.0", "mmyolo==0.5.0"],
}  # fmt: skip
FOR_MMPRETRAIN = [*IMPORTLIB_METADATA, "model-index==0.1.11", "ordered-set==4.1.0", "markdown==3.7"]  # it imports all of them first
MODULES = {"mmsegmentation": "mmseg", "mmaction2": "mmaction"}
IMPORTS = """
import importlib, sys, traceback
refused = 0
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except AssertionError:
        traceback.print_exc()
        refused += 1
print("refused:", refused)
sys.exit(refused)
"""


def imports(environment, modules):
    """A job that imports each of these modules, and ends with the number of those that refuse."""
    return lambda: run([environment.python, "-c", IMPORTS, *modules], cwd=environment.cwd)


RANGES = ["mmdet", "mmseg", "mmaction", "mmdet3d", "mmocr", "mmpose", "mmpretrain", "mmagic", "mmyolo", "mmrotate"]


@slow
@cures(*(f"{name}-refuses-mmcv" for name in RANGES))
@pytest.mark.parametrize("releases", BESIDE)
def test_all_of_openmmlab_is_imported_beside_a_newer_mmcv(library, releases):
    """What is built on MMDetection fails with its error first, and with its own once that is cured."""
    pip_install(library, *BESIDE[releases], *FOR_MMPRETRAIN)
    distributions = [requirement.partition("==")[0] for requirement in BESIDE[releases]]
    modules = [MODULES.get(name, name) for name in distributions]
    files = {name: library.site / name / "__init__.py" for name in modules}
    pristine = {name: file.read_bytes() for name, file in files.items()}
    job = imports(library, modules)
    failed = job()
    assert failed.code == len(modules), failed
    for _ in range(2):
        if failed.code == 0:  # what is built on MMDetection has refused nothing of its own
            break
        answer, _ = diagnose(failed.out, *of(library))
        applied = run([sys.executable, "-m", "patcher", *shlex.split(answer["cure"])[1:], "--verify", "compile"], cwd=COMMAND_ROOT)
        assert applied.code == 0, applied
        failed = job()
    assert failed.out.endswith("refused: 0\n"), failed
    assert library.sitepatch("restore").code == 0
    assert {name: file.read_bytes() for name, file in files.items()} == pristine


@slow
@cures("mmdet3d-refuses-mmdet", "mmocr-refuses-mmdet", "mmyolo-refuses-mmdet", "mmrotate-refuses-mmdet")
@pytest.mark.parametrize(
    ("package", "release", "mmdet", "mmcv"),
    [
        ("mmocr", "1.0.1", "3.3.0", "2.1.0"),
        ("mmdet3d", "1.3.0", "3.3.0", "2.1.0"),
        ("mmyolo", "0.5.0", "3.1.0", "2.0.1"),
        ("mmrotate", "1.0.0rc1", "3.2.0", "2.1.0"),
    ],
)
def test_a_newer_mmdet_is_taken(library, package, release, mmdet, mmcv):
    pip_install(library, f"{package}=={release}", f"mmdet=={mmdet}", f"mmcv-lite=={mmcv}")
    cure(library, f"{package}-refuses-mmdet", f"{package}-mmcv-range", imports(library, [package]), [f"{package}/__init__.py"], "refused: 0")


@slow
@pytest.mark.parametrize("release", ["mmpose==1.2.0", "mmpretrain==1.2.0"])
def test_a_release_that_takes_the_newer_mmcv_is_left_alone(library, release):
    pip_install(library, release, *FOR_MMPRETRAIN)
    package = release.partition("=")[0]
    ended = imports(library, [package])()
    assert ended.out.endswith("refused: 0\n"), ended
    applied = library.sitepatch("apply", f"{package}-mmcv-range")
    assert applied.code == 1 and f"{package} 1.2.0 is installed; this patchset is for" in applied.out, applied

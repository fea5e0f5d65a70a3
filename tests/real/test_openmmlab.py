"""MMSegmentation, MMDetection, MMPose and MMDetection3D on the stand-in card, with mmengine-device: a training of each on two ranks.

They are the real packages, and mmcv-lite. What mmcv compiles is not here: in its place stands what mmcv raises where it has no
kernel for the card, so that a model which needs one would fail as it does there: of MMDetection3D all that make voxels of points,
so it trains one that sees with a camera. xtcocotools, which MMPose imports and which is not built here, is pycocotools; torchvision,
which its default scope imports, does not load beside the CPU's torch: it has none.
"""

import shutil
import tempfile
from pathlib import Path

import pytest
from cards import lay_card
from conftest import Environment, alone, linked, stream
from cures import assert_cured, of
from wheels import slow

pytestmark = pytest.mark.real

PROJECTS = ["mmsegmentation==1.2.2", "mmdet==3.3.0", "mmpose==1.3.2", "mmdet3d==1.4.0"]
NEEDED = ["mmcv-lite==2.1.0", "pycocotools", "scipy", "shapely", "terminaltables", "tqdm", "prettytable", "ftfy", "regex", "json_tricks", "munkres", "six", "numba", "scikit-image"]
COMPILED = """
def __getattr__(name):
    def missing(*_, **__):
        raise RuntimeError(f"{name}_impl: implementation for device gcu:0 not found.")

    return missing
"""


@pytest.fixture
def projects(kept_environment, real_cache, tmp_path, tell):
    """A copy of an environment that is kept: the one with torch and MMEngine, and the projects added; with the card."""
    kept = real_cache / f"{kept_environment.name}-openmmlab"
    with alone(real_cache):
        if not (kept / "complete").exists():
            tell(f"adding projects of OpenMMLab to a copy of the environment, in {kept}")
            shutil.rmtree(kept, ignore_errors=True)
            linked(kept_environment, kept)
            (kept / "complete").unlink()
            pip = [kept / "bin" / "python", "-m", "pip", "install", "--disable-pip-version-check"]
            stream([*pip, *NEEDED], tell)
            stream([*pip, "--no-deps", *PROJECTS], tell)
            site = Environment(kept, tmp_path).site
            (site / "mmcv" / "_ext.py").write_text(COMPILED)
            (site / "xtcocotools").mkdir()
            for name in ("coco", "cocoeval", "mask"):
                (site / "xtcocotools" / f"{name}.py").write_text(f"from pycocotools.{name} import *\n")
            (kept / "complete").touch()
    with tempfile.TemporaryDirectory(prefix="copy-", dir=str(real_cache)) as folder:
        copy = Path(folder) / "env"
        linked(kept, copy)
        yield lay_card(Environment(copy, tmp_path), "gcu")


@slow
def test_projects_train_on_the_card_after_what_is_printed(projects):
    def train(name):
        return projects.ranks(2, "openmmlab_train.py", name, CUDA_VISIBLE_DEVICES="").out

    assert_cured(of(projects), "cuda-selected-beside-another-accelerator", train("mmseg"), "mmengine-device")
    for name in ("mmseg", "mmdet", "mmpose", "mmdet3d"):
        first, second = sorted(line.split() for line in train(name).splitlines() if line.startswith("trained "))
        weights = first[3]
        assert first == ["trained", name, "0", weights, "gcu:0"]
        assert second == ["trained", name, "1", weights, "gcu:1"]

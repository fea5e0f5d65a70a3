"""What people change by hand in packages that nobody maintains: the trouble is raised on the real file, found, cured and restored.

The files come from the release on the index. What they import beside themselves is written here, as short as the file needs it: no NumPy,
torch, Pillow or torchvision is installed for this, and the stand-ins lack what the newer release of each lacks.
"""

import shutil
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Dict, NamedTuple, Tuple

import pytest
from conftest import COMMAND_ROOT, alone, run
from cures import cured, cures
from wheels import install, sitepatch

pytestmark = pytest.mark.real

ANY = """\
from unittest.mock import MagicMock


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return MagicMock()
"""
NO_PIL = "def fromarray(data):\n    return data\n\n\nLANCZOS = 1\n"  # as of Pillow 10: no ANTIALIAS
NUMPY_2 = """\
bool_, array, inf, minimum, maximum = bool, list, float("inf"), min, max
float16 = float32 = float64 = longdouble = float
int8 = int16 = int32 = int64 = uint8 = uint16 = uint32 = uint64 = int


def __getattr__(name):
    if name in ("sctypes", "infty"):
        raise AttributeError("`np.%s` was removed in the NumPy 2.0 release." % name)
    raise AttributeError("module 'numpy' has no attribute %r" % name)
"""


class Edit(NamedTuple):
    """A trouble: where it is, what the file imports, and what raises it."""

    patchset: str
    symptom: str
    distribution: str
    version: str
    files: Tuple[str, ...]
    job: str
    stubs: Dict[str, str]


EDITS = [
    Edit("timm-torch-six", "timm-container-abcs", "timm", "0.3.2", ("timm/models/layers/helpers.py",),
         "from timm.models.layers.helpers import to_2tuple; assert to_2tuple(3) == (3, 3)", {"torch/__init__.py": ""}),
    Edit("attrdict-python310", "attrdict-collections", "attrdict", "2.0.1",
         tuple(f"attrdict/{name}.py" for name in ("__init__", "mapping", "merge", "default", "mixins", "dictionary")),
         "from attrdict import AttrDict; assert AttrDict(a={'b': 1}).a.b == 1",
         {"six.py": "PY2 = False\nstring_types, iteritems = (str,), lambda each: iter(each.items())\n\n\ndef add_metaclass(kind):\n    return lambda cls: kind(cls.__name__, cls.__bases__, {k: v for k, v in vars(cls).items() if k not in ('__dict__', '__weakref__')})\n"}),
    Edit("gym-numpy2", "gym-bool8", "gym", "0.26.2", ("gym/utils/passive_env_checker.py",),
         "from types import SimpleNamespace as Env\nfrom gym.utils.passive_env_checker import env_step_passive_checker\n"
         "env_step_passive_checker(Env(step=lambda action: (None, 1.0, True, False, {}), observation_space=None), 0)",
         {"numpy.py": NUMPY_2 + "\n\nndarray = integer = floating = (int, float)\nisnan = isinf = lambda each: False\nissubdtype = lambda *kinds: True\n", "gym/Space.py": ANY, "gym/error.py": ANY, "gym/logger.py": ANY, "gym/spaces.py": ANY + "\n\nBox = Discrete = MultiBinary = MultiDiscrete = Tuple = Dict = type('Space', (), {})\n"}),
    Edit("clip-pkg-resources", "clip-without-packaging", "openai-clip", "1.0.1", ("clip/clip.py",), "import clip.clip",
         {"pkg_resources.py": "", "packaging/version.py": "parse = str\n", "torch.py": "__version__ = '2.5.0'\n\n" + ANY, "PIL/Image.py": ANY, "torchvision/transforms.py": ANY, "tqdm.py": ANY, "clip/model.py": ANY, "clip/simple_tokenizer.py": ANY}),
    Edit("imgaug-numpy2", "imgaug-sctypes", "imgaug", "0.4.0", ("imgaug/imgaug.py",), "from imgaug.imgaug import NP_INT_TYPES; assert NP_INT_TYPES",
         {"numpy.py": NUMPY_2 + "\n\nrandom = None\n", "cv2.py": ANY, "six/__init__.py": "", "six/moves.py": "", "imageio.py": "", "PIL/Image.py": ANY, "PIL/ImageDraw.py": ANY, "PIL/ImageFont.py": ANY, "skimage/draw.py": "", "skimage/measure.py": ""}),
    Edit("moviepy-pillow10", "moviepy-antialias", "moviepy", "1.0.3", ("moviepy/video/fx/resize.py",),
         "from types import SimpleNamespace as Frame\nfrom moviepy.video.fx.resize import resizer\n"
         "assert resizer(Frame(shape=(1, 1), resize=lambda size, how: [how]), (2, 2)) == [1]",
         {"numpy.py": NUMPY_2, "cv2.py": "raise ImportError('not here')\n", "PIL/Image.py": NO_PIL, "moviepy/decorators.py": "def apply_to_mask(function):\n    return function\n"}),
    Edit("easyocr-pillow10", "easyocr-antialias", "easyocr", "1.7.0", ("easyocr/utils.py",),
         "from easyocr.utils import compute_ratio_and_resize; compute_ratio_and_resize(None, 8, 4, 64)",
         {"torch.py": ANY, "numpy.py": ANY, "cv2.py": ANY, "PIL/Image.py": NO_PIL, "PIL/JpegImagePlugin.py": "", "easyocr/imgproc.py": ANY, "scipy.py": ANY, "six/__init__.py": "", "six/moves/urllib/request.py": ANY}),
    Edit("speechbrain-torchaudio29", "speechbrain-audio-backends", "speechbrain", "1.0.3", ("speechbrain/utils/torch_audio_backend.py",),
         "from speechbrain.utils.torch_audio_backend import check_torchaudio_backend; check_torchaudio_backend()",
         {"torchaudio.py": "__version__ = '2.9.0'\n", "speechbrain/utils/logger.py": "from logging import getLogger as get_logger\n"}),
    Edit("pyrender-numpy2", "pyrender-infty", "pyrender", "0.1.45", ("pyrender/mesh.py",),
         "from pyrender.mesh import Mesh; assert Mesh([]).bounds[0][0] == float('inf')",
         {"numpy.py": NUMPY_2, "trimesh.py": ANY, "pyrender/primitive.py": ANY, "pyrender/constants.py": ANY, "pyrender/material.py": ANY}),
    Edit("pytorchvideo-torchvision", "pytorchvideo-functional-tensor", "pytorchvideo", "0.1.5", ("pytorchvideo/transforms/augmentations.py",),
         "import pytorchvideo.transforms.augmentations",
         {"torch.py": ANY, "torchvision/__init__.py": "", "torchvision/transforms/__init__.py": "", "torchvision/transforms/functional.py": ANY}),
    Edit("basicsr-torchvision", "basicsr-functional-tensor", "basicsr", "1.4.2", ("basicsr/data/degradations.py",), "import basicsr.data.degradations",
         {**dict.fromkeys(("cv2.py", "torch.py", "numpy.py", "scipy/special.py", "scipy/stats.py", "torchvision/transforms/functional.py"), ANY), "torchvision/transforms/__init__.py": ""}),
    Edit("deepspeed-torch24", "deepspeed-numpy-bufsize", "deepspeed", "0.14.3",
         ("deepspeed/autotuning/scheduler.py", "deepspeed/autotuning/constants.py", "deepspeed/elasticity/elastic_agent.py"),
         "from deepspeed.autotuning.scheduler import BUFSIZE; assert BUFSIZE == 1",
         {"numpy.py": NUMPY_2, **dict.fromkeys(("hjson.py", "tqdm.py", "deepspeed/utils.py", "deepspeed/comm.py", "deepspeed/autotuning/utils.py"), ANY)}),
    Edit("gradio-client-bool-schema", "gradio-bool-schema", "gradio_client", "1.3.0", ("gradio_client/utils.py",),
         "from gradio_client.utils import json_schema_to_python_type as told\nassert 'Any' in told({'type': 'object', 'additionalProperties': True})",
         dict.fromkeys(("fsspec/asyn.py", "httpx.py", "huggingface_hub.py", "websockets/legacy/protocol.py"), ANY)),
]  # fmt: skip


# Not raised here, since much of torch would have to be written for it: the line is changed, and the file compiles.
CHANGED = [
    ("torchgeometry-bool-masks", "torchgeometry", "0.1.2", "torchgeometry/core/conversions.py", "mask_c3 = (~mask_d2) * (~mask_d0_nd1)"),
    ("torchgeometry-bool-masks", "torchgeometry", "0.1.1", "torchgeometry/conversions.py", "mask_c3 = (~mask_d2) * (~mask_d0_nd1)"),
    ("basicsr-torchvision", "basicsr", "1.3.5", "basicsr/data/degradations.py", "from torchvision.transforms.functional import rgb_to_grayscale"),
    ("gradio-client-bool-schema", "gradio_client", "1.8.0", "gradio_client/utils.py", "if isinstance(schema, bool):"),
    ("chumpy-python311", "chumpy", "0.70", "chumpy/__init__.py chumpy/ch.py", "enumerate(inspect.getfullargspec(lmb)[0])"),
    ("gradio-client-bool-schema", "gradio_client", "0.7.3", "gradio_client/utils.py", "if isinstance(schema, bool):"),
    ("gym-numpy2", "gym", "0.25.0", "gym/utils/passive_env_checker.py", "(bool, np.bool_)"),
    ("easyocr-pillow10", "easyocr", "1.3.2", "easyocr/utils.py", "interpolation =  Image.LANCZOS"),
    ("easyocr-pillow10", "easyocr", "1.6.2", "easyocr/utils.py", "interpolation=Image.LANCZOS"),
    ("imgaug-numpy2", "imgaug", "0.3.0", "imgaug/imgaug.py", "NP_INT_TYPES = {"),
    ("timm-torch-six", "timm", "0.1.30", "timm/models/layers/helpers.py", "import collections.abc as container_abcs"),
    ("timm-torch-six", "timm", "0.3.4", "timm/models/layers/helpers.py", "import collections.abc as container_abcs"),
    ("moviepy-pillow10", "moviepy", "0.2.3.5", "moviepy/video/fx/resize.py", "Image.LANCZOS"),
    ("moviepy-pillow10", "moviepy", "1.0.0", "moviepy/video/fx/resize.py", "Image.LANCZOS"),
    ("speechbrain-torchaudio29", "speechbrain", "1.0.0", "speechbrain/utils/torch_audio_backend.py", 'getattr(torchaudio, "list_audio_backends"'),
    ("pyrender-numpy2", "pyrender", "0.1.20", "pyrender/mesh.py", "[-np.inf, -np.inf, -np.inf]"),
    ("pytorchvideo-torchvision", "pytorchvideo", "0.1.3", "pytorchvideo/transforms/augmentations.py", "import torchvision.transforms.functional as F_t"),
]  # fmt: skip


def released(cache, distribution, version, paths):
    """{path: bytes} of files of a release, from its wheel or its source; fetched the first time, and only these are kept."""
    kept = cache / "edits" / f"{distribution}-{version}"
    with alone(cache):
        if not all((kept / path).exists() for path in paths):
            fetched = kept.with_name(kept.name + ".part")
            shutil.rmtree(fetched, ignore_errors=True)
            fetched.mkdir(parents=True)
            ended = run([sys.executable, Path(__file__).with_name("fetch_script.py"), distribution, version, fetched], cwd=COMMAND_ROOT)
            assert ended.code == 0, ended
            (archive,) = fetched.iterdir()
            for path in paths:
                (kept / path).parent.mkdir(parents=True, exist_ok=True)
                (kept / path).write_bytes(member(archive, path))
            shutil.rmtree(fetched)
    return {path: (kept / path).read_bytes() for path in paths}


def member(archive, path):
    """A file of a wheel, or of an sdist, where all is in one folder."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.read(path)
    with tarfile.open(archive) as source:
        (found,) = (each for each in source.getmembers() if each.name.partition("/")[2] == path)
        return source.extractfile(found).read()


@cures(*(edit.symptom for edit in EDITS))
@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.patchset)
def test_what_is_raised_is_cured(real_cache, tmp_path, edit):
    site, stubs = tmp_path / "site", tmp_path / "stubs"
    files = released(real_cache, edit.distribution, edit.version, edit.files)
    install(site, edit.distribution, edit.version, files)
    for path, text in edit.stubs.items():
        (stubs / path).parent.mkdir(parents=True, exist_ok=True)
        (stubs / path).write_text(text)
    (tmp_path / "job.py").write_text(f"import sys\nsys.path[:0] = {[str(site), str(stubs)]!r}\n{edit.job}\nprint('works')\n")
    job = [sys.executable, "-B", "-S", tmp_path / "job.py"]

    failed = run(job, cwd=COMMAND_ROOT)
    assert failed.code == 1, failed
    assert list(cured(["--target", site], {edit.symptom: failed.out}, edit.patchset)) == [[edit.symptom]]
    worked = run(job, cwd=COMMAND_ROOT)
    assert worked.out.endswith("works\n"), worked
    sitepatch(site, "restore", edit.patchset)
    assert {path: (site / path).read_bytes() for path in edit.files} == files


@cures("torchgeometry-subtracts-bools", "chumpy-old-names")
@pytest.mark.parametrize(("patchset", "distribution", "version", "paths", "line"), CHANGED)
def test_the_line_is_changed(real_cache, tmp_path, patchset, distribution, version, paths, line):
    files = released(real_cache, distribution, version, paths.split())
    install(tmp_path / "site", distribution, version, files)
    sitepatch(tmp_path / "site", "apply", patchset, "--verify", "compile")
    changed = {path: (tmp_path / "site" / path).read_text(encoding="utf-8") for path in files}
    assert any(line in text for text in changed.values()), changed
    sitepatch(tmp_path / "site", "restore", patchset)
    assert {path: (tmp_path / "site" / path).read_bytes() for path in files} == files

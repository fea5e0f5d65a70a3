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
from cures import assert_cured, cures
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
BESIDE = "import sys\n__path__ += [each + '/' + __name__.replace('.', '/') for each in sys.path]\n"  # the rest of the package is the release's
NUMPY_COUNTS = """\
from unittest.mock import MagicMock


def linspace(first, last, number, endpoint):
    if not isinstance(number, int):
        raise TypeError("object of type <class 'numpy.float64'> cannot be safely interpreted as an integer.")
    return [first, last]


def round(number):
    return float(int(number))


def __getattr__(name):
    if name in ("float", "int", "bool", "complex") or name.startswith("__"):
        raise AttributeError("module 'numpy' has no attribute %r" % name)
    return MagicMock()
"""
FETCHES = """\
import huggingface_hub, sentence_transformers.util as util, tempfile
with tempfile.TemporaryDirectory() as folder:
    assert util.snapshot_download("me/model", cache_dir=folder).endswith("me_model")
assert [fetched[:2] for fetched in huggingface_hub.FETCHED] == [("me/model", "modules.json")]
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
    Edit(
        patchset="timm-torch-six",
        symptom="timm-container-abcs",
        distribution="timm",
        version="0.3.2",
        files=("timm/models/layers/helpers.py",),
        job="from timm.models.layers.helpers import to_2tuple; assert to_2tuple(3) == (3, 3)",
        stubs={"torch/__init__.py": ""},
    ),
    Edit(
        patchset="attrdict-python310",
        symptom="attrdict-collections",
        distribution="attrdict",
        version="2.0.1",
        files=tuple(f"attrdict/{name}.py" for name in ("__init__", "mapping", "merge", "default", "mixins", "dictionary")),
        job="from attrdict import AttrDict; assert AttrDict(a={'b': 1}).a.b == 1",
        stubs={
            "six.py": "PY2 = False\nstring_types, iteritems = (str,), lambda each: iter(each.items())\n\n\ndef add_metaclass(kind):\n    return lambda cls: kind(cls.__name__, cls.__bases__, {k: v for k, v in vars(cls).items() if k not in ('__dict__', '__weakref__')})\n"
        },
    ),
    Edit(
        patchset="gym-numpy2",
        symptom="gym-bool8",
        distribution="gym",
        version="0.26.2",
        files=("gym/utils/passive_env_checker.py",),
        job=(
            "from types import SimpleNamespace as Env\nfrom gym.utils.passive_env_checker import env_step_passive_checker\n"
            "env_step_passive_checker(Env(step=lambda action: (None, 1.0, True, False, {}), observation_space=None), 0)"
        ),
        stubs={
            "numpy.py": NUMPY_2
            + "\n\nndarray = integer = floating = (int, float)\nisnan = isinf = lambda each: False\nissubdtype = lambda *kinds: True\n",
            "gym/Space.py": ANY,
            "gym/error.py": ANY,
            "gym/logger.py": ANY,
            "gym/spaces.py": ANY + "\n\nBox = Discrete = MultiBinary = MultiDiscrete = Tuple = Dict = type('Space', (), {})\n",
        },
    ),
    Edit(
        patchset="clip-pkg-resources",
        symptom="clip-without-packaging",
        distribution="openai-clip",
        version="1.0.1",
        files=("clip/clip.py",),
        job="import clip.clip",
        stubs={
            "pkg_resources.py": "",
            "packaging/version.py": "parse = str\n",
            "torch.py": "__version__ = '2.5.0'\n\n" + ANY,
            "PIL/Image.py": ANY,
            "torchvision/transforms.py": ANY,
            "tqdm.py": ANY,
            "clip/model.py": ANY,
            "clip/simple_tokenizer.py": ANY,
        },
    ),
    Edit(
        patchset="imgaug-numpy2",
        symptom="imgaug-sctypes",
        distribution="imgaug",
        version="0.4.0",
        files=("imgaug/imgaug.py",),
        job="from imgaug.imgaug import NP_INT_TYPES; assert NP_INT_TYPES",
        stubs={
            "numpy.py": NUMPY_2 + "\n\nrandom = None\n",
            "cv2.py": ANY,
            "six/__init__.py": "",
            "six/moves.py": "",
            "imageio.py": "",
            "PIL/Image.py": ANY,
            "PIL/ImageDraw.py": ANY,
            "PIL/ImageFont.py": ANY,
            "skimage/draw.py": "",
            "skimage/measure.py": "",
        },
    ),
    Edit(
        patchset="moviepy-pillow10",
        symptom="moviepy-antialias",
        distribution="moviepy",
        version="1.0.3",
        files=("moviepy/video/fx/resize.py",),
        job=(
            "from types import SimpleNamespace as Frame\nfrom moviepy.video.fx.resize import resizer\n"
            "assert resizer(Frame(shape=(1, 1), resize=lambda size, how: [how]), (2, 2)) == [1]"
        ),
        stubs={
            "numpy.py": NUMPY_2,
            "cv2.py": "raise ImportError('not here')\n",
            "PIL/Image.py": NO_PIL,
            "moviepy/decorators.py": "def apply_to_mask(function):\n    return function\n",
        },
    ),
    Edit(
        patchset="easyocr-pillow10",
        symptom="easyocr-antialias",
        distribution="easyocr",
        version="1.7.0",
        files=("easyocr/utils.py",),
        job="from easyocr.utils import compute_ratio_and_resize; compute_ratio_and_resize(None, 8, 4, 64)",
        stubs={
            "torch.py": ANY,
            "numpy.py": ANY,
            "cv2.py": ANY,
            "PIL/Image.py": NO_PIL,
            "PIL/JpegImagePlugin.py": "",
            "easyocr/imgproc.py": ANY,
            "scipy.py": ANY,
            "six/__init__.py": "",
            "six/moves/urllib/request.py": ANY,
        },
    ),
    Edit(
        patchset="speechbrain-torchaudio29",
        symptom="speechbrain-audio-backends",
        distribution="speechbrain",
        version="1.0.3",
        files=("speechbrain/utils/torch_audio_backend.py",),
        job="from speechbrain.utils.torch_audio_backend import check_torchaudio_backend; check_torchaudio_backend()",
        stubs={
            "torchaudio.py": "__version__ = '2.9.0'\n",
            "speechbrain/utils/logger.py": "from logging import getLogger as get_logger\n",
        },
    ),
    Edit(
        patchset="pyrender-numpy2",
        symptom="pyrender-infty",
        distribution="pyrender",
        version="0.1.45",
        files=("pyrender/mesh.py",),
        job="from pyrender.mesh import Mesh; assert Mesh([]).bounds[0][0] == float('inf')",
        stubs={
            "numpy.py": NUMPY_2,
            "trimesh.py": ANY,
            "pyrender/primitive.py": ANY,
            "pyrender/constants.py": ANY,
            "pyrender/material.py": ANY,
        },
    ),
    Edit(
        patchset="pytorchvideo-torchvision",
        symptom="pytorchvideo-functional-tensor",
        distribution="pytorchvideo",
        version="0.1.5",
        files=("pytorchvideo/transforms/augmentations.py",),
        job="import pytorchvideo.transforms.augmentations",
        stubs={
            "torch.py": ANY,
            "torchvision/__init__.py": "",
            "torchvision/transforms/__init__.py": "",
            "torchvision/transforms/functional.py": ANY,
        },
    ),
    Edit(
        patchset="basicsr-torchvision",
        symptom="basicsr-functional-tensor",
        distribution="basicsr",
        version="1.4.2",
        files=("basicsr/data/degradations.py",),
        job="import basicsr.data.degradations",
        stubs={
            **dict.fromkeys(
                (
                    "cv2.py",
                    "torch.py",
                    "numpy.py",
                    "scipy/special.py",
                    "scipy/stats.py",
                    "torchvision/transforms/functional.py",
                ),
                ANY,
            ),
            "torchvision/transforms/__init__.py": "",
        },
    ),
    Edit(
        patchset="deepspeed-torch24",
        symptom="deepspeed-numpy-bufsize",
        distribution="deepspeed",
        version="0.14.3",
        files=(
            "deepspeed/autotuning/scheduler.py",
            "deepspeed/autotuning/constants.py",
            "deepspeed/elasticity/elastic_agent.py",
        ),
        job="from deepspeed.autotuning.scheduler import BUFSIZE; assert BUFSIZE == 1",
        stubs={
            "numpy.py": NUMPY_2,
            **dict.fromkeys(
                ("hjson.py", "tqdm.py", "deepspeed/utils.py", "deepspeed/comm.py", "deepspeed/autotuning/utils.py"), ANY
            ),
        },
    ),
    Edit(
        patchset="gradio-client-bool-schema",
        symptom="gradio-bool-schema",
        distribution="gradio_client",
        version="1.3.0",
        files=("gradio_client/utils.py",),
        job="from gradio_client.utils import json_schema_to_python_type as told\nassert 'Any' in told({'type': 'object', 'additionalProperties': True})",
        stubs=dict.fromkeys(("fsspec/asyn.py", "httpx.py", "huggingface_hub.py", "websockets/legacy/protocol.py"), ANY),
    ),
    Edit(
        patchset="autoawq-transformers457",
        symptom="awq-gelu-tanh",
        distribution="autoawq",
        version="0.2.9",
        files=("awq/quantize/scale.py",),
        job="import awq.quantize.scale",
        stubs={
            **dict.fromkeys(("torch/nn.py", "awq/utils/utils.py", "awq/utils/module.py", "awq/modules/act.py"), ANY),
            "torch/__init__.py": ANY,
            **{
                f"transformers/models/{name}/modeling_{name}.py": ANY
                for name in ("bloom", "llama", "gemma", "gemma2", "cohere")
            },
            "transformers/activations.py": "class GELUTanh:\n    pass\n\n\nNewGELUActivation = GELUActivation = object\nACT2FN = {'gelu_pytorch_tanh': GELUTanh()}\n",
        },
    ),
    Edit(
        patchset="gradio-huggingface-hub1",
        symptom="gradio-hf-folder",
        distribution="gradio",
        version="4.44.1",
        files=("gradio/oauth.py",),
        job="import gradio.oauth",
        stubs={
            **dict.fromkeys(("fastapi/__init__.py", "fastapi/responses.py", "gradio/utils.py"), ANY),
            "huggingface_hub.py": "get_token = whoami = print\n",
        },
    ),
    Edit(
        patchset="diffusers-cached-download",
        symptom="diffusers-cached-download",
        distribution="diffusers",
        version="0.25.1",
        files=("diffusers/utils/dynamic_modules_utils.py",),
        job=(
            "from diffusers.utils.dynamic_modules_utils import get_cached_module_file as get\nget.__globals__['get_diffusers_versions'] = lambda: ['0.25.1']\n"
            "try:\n    get('clip_guided', 'pipeline.py', revision='main')\nexcept FileNotFoundError as error:\n    assert 'community-pipelines-mirror main/clip_guided.py' in str(error)"
        ),
        stubs={
            "diffusers/__init__.py": BESIDE + "__version__ = '0.25.1'\n",
            "diffusers/utils/__init__.py": BESIDE
            + "from logging import getLogger\nfrom types import SimpleNamespace\nDIFFUSERS_DYNAMIC_MODULE_NAME, HF_MODULES_CACHE = 'modules', '.'\nlogging = SimpleNamespace(get_logger=getLogger)\n",
            "packaging/version.py": ANY,
            "huggingface_hub/utils.py": "def validate_hf_hub_args(function):\n    return function\n",
            "huggingface_hub/__init__.py": "def model_info():\n    pass\n\n\ndef hf_hub_download(repo_id, filename, **more):\n    raise FileNotFoundError(f'{repo_id} {filename}')\n",
        },
    ),
    Edit(
        patchset="bitsandbytes-triton-ops",
        symptom="bitsandbytes-triton-ops",
        distribution="bitsandbytes",
        version="0.44.1",
        files=("bitsandbytes/triton/triton_utils.py", "bitsandbytes/triton/int8_matmul_mixed_dequantize.py"),
        job="import importlib.util, bitsandbytes.triton.int8_matmul_mixed_dequantize",
        stubs={
            "torch.py": ANY,
            "triton/__init__.py": "",
            "triton/language.py": "",
        },
    ),
    Edit(
        patchset="pycocotools-numpy124",
        symptom="pycocotools-float",
        distribution="pycocotools",
        version="2.0.2",
        files=("pycocotools/cocoeval.py",),
        job=(
            "from types import SimpleNamespace as Kept\nfrom unittest.mock import MagicMock\nfrom pycocotools.cocoeval import COCOeval\nevaluation = COCOeval()\n"
            "params = Kept(useCats=1, catIds=[1], iouThrs=[0.5], recThrs=[0.0], areaRng=[(0, 1)], maxDets=[1], imgIds=[1])\nevaluation._paramsEval = evaluation.params = params\n"
            "evaluation.evalImgs = [dict.fromkeys(('dtScores', 'dtMatches', 'dtIgnore', 'gtIgnore'), MagicMock())]\nevaluation.accumulate(params)"
        ),
        stubs={
            "pycocotools/mask.py": "",
            "numpy.py": NUMPY_COUNTS,
        },
    ),
    Edit(
        patchset="pycocotools-numpy124",
        symptom="pycocotools-linspace",
        distribution="pycocotools",
        version="2.0.0",
        files=("pycocotools/cocoeval.py",),
        job="from pycocotools.cocoeval import Params; Params()",
        stubs={
            "pycocotools/mask.py": "",
            "numpy.py": NUMPY_COUNTS,
        },
    ),
    Edit(
        patchset="ddddocr-pillow10",
        symptom="ddddocr-antialias",
        distribution="ddddocr",
        version="1.0.6",
        files=("ddddocr/__init__.py",),
        job=(
            "import io\nfrom unittest.mock import MagicMock\nfrom ddddocr import DdddOcr\nocr = object.__new__(DdddOcr)\nocr.__dict__.update(ort_session=MagicMock(), _DdddOcr__ort_session=MagicMock())\n"
            "try:\n    ocr.classification(b'')\nexcept TypeError as error:\n    assert 'resized' in str(error), error"
        ),
        stubs={
            "onnxruntime.py": "set_default_logger_severity = print\n",
            "numpy.py": ANY,
            "PIL/Image.py": "LANCZOS = 1\n\n\nclass Picture:\n    size = 2, 2\n\n    def resize(self, size, how):\n        raise TypeError('resized')\n\n\ndef open(file):\n    return Picture()\n",
        },
    ),
    Edit(
        patchset="deepspeed-torch-six",
        symptom="deepspeed-torch-six",
        distribution="deepspeed",
        version="0.8.1",
        files=("deepspeed/runtime/utils.py", "deepspeed/runtime/zero/stage3.py", "deepspeed/runtime/zero/stage_1_and_2.py"),
        job="from deepspeed.runtime.utils import inf; assert inf == float('inf')",
        stubs={
            **dict.fromkeys(
                (
                    "psutil.py",
                    "numpy.py",
                    "deepspeed/comm.py",
                    "deepspeed/utils.py",
                    "deepspeed/runtime/constants.py",
                    "deepspeed/moe/utils.py",
                    "deepspeed/accelerator.py",
                    "torch/nn/functional.py",
                ),
                ANY,
            ),
            "torch/__init__.py": ANY,
        },
    ),
    Edit(
        patchset="transformers-flash-attn-optional",
        symptom="transformers-wants-flash-attn",
        distribution="transformers",
        version="4.41.2",
        files=("transformers/dynamic_module_utils.py",),
        job=(
            "import pathlib\nfrom transformers.dynamic_module_utils import check_imports\n"
            "pathlib.Path(__file__).with_name('modeling.py').write_text('if is_flash_attn_2_available():\\n    from flash_attn import flash_attn_func\\n')\n"
            "check_imports(pathlib.Path(__file__).with_name('modeling.py'))"
        ),
        stubs={
            "packaging/version.py": ANY,
            "huggingface_hub.py": ANY,
            "transformers/utils.py": "HF_MODULES_CACHE = TRANSFORMERS_DYNAMIC_MODULE_NAME = '.'\nfrom types import SimpleNamespace\nfrom logging import getLogger\nlogging = SimpleNamespace(get_logger=getLogger)\ncached_file = extract_commit_hash = is_offline_mode = try_to_load_from_cache = print\n",
        },
    ),
    Edit(
        patchset="scikit-video-numpy124",
        symptom="skvideo-numpy-aliases",
        distribution="scikit-video",
        version="1.1.11",
        files=tuple(
            f"skvideo/{name}.py"
            for name in (
                "io/abstract",
                "io/avconv",
                "io/ffmpeg",
                "measure/niqe",
                "measure/psnr",
                "measure/ssim",
                "measure/strred",
                "measure/videobliinds",
                "measure/viideo",
                "motion/block",
                "motion/gme",
                "utils/edge",
                "utils/stpyr",
            )
        ),
        job="from skvideo.measure.psnr import psnr; psnr(None, None)",
        stubs={
            "scipy/ndimage.py": "",
            "skvideo/utils.py": "from types import SimpleNamespace\n\n\ndef vshape(data):\n    return SimpleNamespace(shape=(0, 1, 1, 1))\n",
            "numpy.py": NUMPY_COUNTS,
        },
    ),
    Edit(
        patchset="fairseq-python311",
        symptom="fairseq-mutable-default",
        distribution="fairseq",
        version="0.12.2",
        files=tuple(
            f"fairseq/{name}.py"
            for name in (
                "dataclass/configs",
                "dataclass/constants",
                "dataclass/initialize",
                "models/transformer/transformer_config",
            )
        ),
        job=(
            "from fairseq.dataclass.configs import FairseqConfig\nassert FairseqConfig().common.seed == 1\n"
            "from fairseq.dataclass.initialize import hydra_init\nhydra_init()\nfrom hydra.core.config_store import KEPT\nassert KEPT['common'].seed == 1 and KEPT['task'] is None and 'model' in KEPT"
        ),
        stubs={
            "torch.py": "class cuda:\n    device_count = staticmethod(lambda: 0)\n",
            "omegaconf.py": "import builtins\nbuiltins.help = print  # which the module site gives every Python\nII = MISSING = DictConfig = OmegaConf = str\n",
            "hydra/core/config_store.py": "KEPT = {}\n\n\nclass ConfigStore:\n    instance = classmethod(lambda cls: cls())\n    store = lambda self, name, node: KEPT.update({name: node})\n",
        },
    ),
    Edit(
        patchset="hydra-python311",
        symptom="hydra-mutable-default",
        distribution="hydra-core",
        version="1.0.7",
        files=("hydra/conf/__init__.py",),
        job="from hydra.conf import HydraConf; assert HydraConf().job.config.override_dirname.kv_sep == '='",
        stubs={
            "omegaconf.py": "MISSING = '???'\n",
            "hydra/core/config_store.py": ANY,
            "hydra/core/__init__.py": "",
        },
    ),
    Edit(
        patchset="lightning-torchmetrics",
        symptom="lightning-num-classes",
        distribution="pytorch-lightning",
        version="1.4.4",
        files=("pytorch_lightning/metrics/utils.py",),
        job="import pytorch_lightning.metrics.utils",
        stubs={
            "torch.py": ANY,
            "deprecate.py": "void = print\n\n\ndef deprecated(**more):\n    return lambda function: function\n",
            "torchmetrics/utilities/data.py": "dim_zero_cat = dim_zero_mean = dim_zero_sum = select_topk = to_categorical = to_onehot = print\n",
            "torchmetrics/utilities/distributed.py": ANY,
            "pytorch_lightning/utilities/__init__.py": "rank_zero_deprecation = print\n",
            "pytorch_lightning/utilities/imports.py": ANY,
        },
    ),
    Edit(
        patchset="sentence-transformers-cached-download",
        symptom="sentence-transformers-cached-download",
        distribution="sentence-transformers",
        version="2.2.2",
        files=("sentence_transformers/SentenceTransformer.py", "sentence_transformers/util.py"),
        job=FETCHES,
        stubs={
            **dict.fromkeys(("numpy.py", "requests.py", "tqdm/__init__.py", "tqdm/autonotebook.py", "torch/__init__.py"), ANY),
            "packaging/version.py": "parse = str\n",
            "huggingface_hub/constants.py": "HUGGINGFACE_HUB_CACHE = '.'\n",
            "huggingface_hub/__init__.py": "HfFolder = Repository = hf_hub_url = lambda *words, **more: 'https://hub'\n__version__ = '0.36.0'\nFETCHED = []\n\n\nclass HfApi:\n    def model_info(self, **more):\n        from types import SimpleNamespace as Any\n        return Any(sha='1', siblings=[Any(rfilename='modules.json')])\n\n\ndef hf_hub_download(repo_id, filename, **more):\n    FETCHED.append((repo_id, filename, more['local_dir']))\n    return filename\n",
        },
    ),
]


# Not raised here, since much of torch would have to be written for it: the line is changed, and the file compiles.
CHANGED = [
    ("torchgeometry-bool-masks", "torchgeometry", "0.1.2", "torchgeometry/core/conversions.py", "mask_c3 = (~mask_d2) * (~mask_d0_nd1)"),
    ("torchgeometry-bool-masks", "torchgeometry", "0.1.1", "torchgeometry/conversions.py", "mask_c3 = (~mask_d2) * (~mask_d0_nd1)"),
    ("basicsr-torchvision", "basicsr", "1.3.5", "basicsr/data/degradations.py", "from torchvision.transforms.functional import rgb_to_grayscale"),
    ("gradio-client-bool-schema", "gradio_client", "1.8.0", "gradio_client/utils.py", "if isinstance(schema, bool):"),
    ("chumpy-python311", "chumpy", "0.70", "chumpy/__init__.py chumpy/ch.py", "enumerate(inspect.getfullargspec(lmb)[0])"),
    ("autoawq-transformers457", "autoawq", "0.1.3", "awq/quantize/scale.py", 'type(ACT2FN["gelu_pytorch_tanh"])'),
    ("autoawq-transformers457", "autoawq", "0.2.4", "awq/quantize/scale.py", 'type(ACT2FN["gelu_pytorch_tanh"])'),
    ("bitsandbytes-triton-ops", "bitsandbytes", "0.40.0", "bitsandbytes/triton/triton_utils.py", 'importlib.util.find_spec("triton.ops") is not None'),
    ("ddddocr-pillow10", "ddddocr", "1.4.9", "ddddocr/__init__.py", "64), Image.LANCZOS).convert('L')"),
    ("deepspeed-torch-six", "deepspeed", "0.3.16", "deepspeed/runtime/utils.py deepspeed/runtime/zero/stage2.py deepspeed/runtime/zero/stage3.py", "from math import inf"),
    ("deepspeed-torch-six", "deepspeed", "0.6.0", "deepspeed/runtime/utils.py deepspeed/runtime/zero/stage_1_and_2.py deepspeed/runtime/zero/stage3.py", "from math import inf"),
    ("diffusers-cached-download", "diffusers", "0.12.0", "diffusers/utils/dynamic_modules_utils.py", "from huggingface_hub import HfFolder, hf_hub_download, model_info"),
    ("diffusers-cached-download", "diffusers", "0.28.2", "diffusers/utils/dynamic_modules_utils.py", "from huggingface_hub import hf_hub_download, model_info"),
    ("fairseq-python311", "fairseq", "0.12.0", "fairseq/dataclass/configs.py fairseq/dataclass/initialize.py fairseq/models/transformer/transformer_config.py", "ema: EMAConfig = field(default_factory=EMAConfig)"),
    ("gradio-huggingface-hub1", "gradio", "4.12.0", "gradio/oauth.py", "    token = get_token()"),
    ("gradio-huggingface-hub1", "gradio", "5.7.0", "gradio/oauth.py", "    token = get_token()"),
    ("hydra-python311", "hydra-core", "1.0.0", "hydra/conf/__init__.py", "job: JobConf = field(default_factory=JobConf)"),
    ("hydra-python311", "hydra-core", "1.2.0", "hydra/conf/__init__.py", "job: JobConf = field(default_factory=JobConf)"),
    ("lightning-torchmetrics", "pytorch-lightning", "1.3.0", "pytorch_lightning/metrics/utils.py", "    _get_num_classes = None"),
    ("pycocotools-numpy124", "pycocotools", "2.0.5", "pycocotools/cocoeval.py", "np.cumsum(tps, axis=1).astype(dtype=float)"),
    ("scikit-video-numpy124", "sk-video", "1.1.10", "skvideo/io/ffmpeg.py skvideo/io/avconv.py", "self.inputfps = float("),
    ("transformers-flash-attn-optional", "transformers", "4.31.0", "transformers/dynamic_module_utils.py", 'set(imports) - {"flash_attn"}'),
    ("transformers-flash-attn-optional", "transformers", "4.44.2", "transformers/dynamic_module_utils.py", 'set(imports) - {"flash_attn"}'),
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
        (entry,) = [entry for entry in source.getmembers() if entry.name.partition("/")[2] == path]
        return source.extractfile(entry).read()


@cures(*(edit.symptom for edit in EDITS))
@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.symptom)
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
    assert_cured(["--target", site], edit.symptom, failed.out, edit.patchset)
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

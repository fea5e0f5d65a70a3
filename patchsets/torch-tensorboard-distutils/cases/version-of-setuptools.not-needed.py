# case: torch/utils/tensorboard/__init__.py
import tensorboard
from torch._vendor.packaging.version import Version as LooseVersion
if LooseVersion(tensorboard.__version__) < LooseVersion('1.15'):
    raise ImportError('too old')

del LooseVersion
del tensorboard

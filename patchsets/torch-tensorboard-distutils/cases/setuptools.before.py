# case: torch/utils/tensorboard/__init__.py
import tensorboard
from setuptools import distutils

LooseVersion = distutils.version.LooseVersion

if LooseVersion(tensorboard.__version__) < LooseVersion('1.15'):
    raise ImportError('too old')

del distutils
del LooseVersion
del tensorboard

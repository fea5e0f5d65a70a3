# case: mmengine/utils/package_utils.py
import importlib
import os.path as osp

import pkg_resources
from pkg_resources import get_distribution


def is_installed(package: str) -> bool:
    importlib.reload(pkg_resources)  # forget what was there before
    try:
        get_distribution(package)
        return True
    except pkg_resources.DistributionNotFound:
        return False


def get_installed_path(package: str) -> str:
    """The folder of a package, which need not have the name of its distribution."""
    pkg = get_distribution(package)
    path = osp.join(pkg.location, package)
    return path if osp.exists(path) else osp.join(pkg.location, package2module(package))


def package2module(package: str):
    pkg = get_distribution(package)
    if pkg.has_metadata('top_level.txt'):
        module_name = pkg.get_metadata('top_level.txt').split('\n')[0]
        return module_name
    else:
        raise ValueError(f'{package} does not say which module it has')

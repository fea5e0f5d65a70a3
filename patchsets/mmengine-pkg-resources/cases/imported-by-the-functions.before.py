# case: mmengine/utils/package_utils.py
import os.path as osp


def is_installed(package: str) -> bool:
    import importlib.util

    import pkg_resources
    from pkg_resources import get_distribution

    importlib.reload(pkg_resources)  # forget what was there before
    try:
        get_distribution(package)
        return True
    except pkg_resources.DistributionNotFound:
        spec = importlib.util.find_spec(package)  # a package of PYTHONPATH
        return spec is not None and spec.origin is not None


def get_installed_path(package: str) -> str:
    """The folder of a package, which need not have the name of its distribution."""
    import importlib.util

    from pkg_resources import DistributionNotFound, get_distribution

    try:
        pkg = get_distribution(package)
    except DistributionNotFound as e:
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            raise e
        return osp.dirname(spec.origin)
    path = osp.join(pkg.location, package)
    return path if osp.exists(path) else osp.join(pkg.location, package2module(package))


def package2module(package: str):
    from pkg_resources import get_distribution
    pkg = get_distribution(package)
    if pkg.has_metadata('top_level.txt'):
        module_name = pkg.get_metadata('top_level.txt').split('\n')[0]
        return module_name
    else:
        raise ValueError(f'{package} does not say which module it has')

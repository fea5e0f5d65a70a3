from importlib import metadata  # sitepatch: mmengine-pkg-resources
import importlib
import os.path as osp


def is_installed(package: str) -> bool:
    try:
        metadata.distribution(package)
        return True
    except metadata.PackageNotFoundError:
        return False


def get_installed_path(package: str) -> str:
    """The folder of a package, which need not have the name of its distribution."""
    pkg = metadata.distribution(package)
    path = osp.join(pkg.locate_file(""), package)
    return path if osp.exists(path) else osp.join(pkg.locate_file(""), package2module(package))


def package2module(package: str):
    names = metadata.distribution(package).read_text('top_level.txt')
    if names:
        module_name = names.split('\n')[0]
        return module_name
    else:
        raise ValueError(f'{package} does not say which module it has')

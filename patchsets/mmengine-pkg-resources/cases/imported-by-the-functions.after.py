from importlib import metadata  # sitepatch: mmengine-pkg-resources
import os.path as osp


def is_installed(package: str) -> bool:
    import importlib.util

    try:
        metadata.distribution(package)
        return True
    except metadata.PackageNotFoundError:
        spec = importlib.util.find_spec(package)  # a package of PYTHONPATH
        return spec is not None and spec.origin is not None


def get_installed_path(package: str) -> str:
    """The folder of a package, which need not have the name of its distribution."""
    import importlib.util

    try:
        pkg = metadata.distribution(package)
    except metadata.PackageNotFoundError as e:
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            raise e
        return osp.dirname(spec.origin)
    path = osp.join(pkg.locate_file(""), package)
    return path if osp.exists(path) else osp.join(pkg.locate_file(""), package2module(package))


def package2module(package: str):
    names = metadata.distribution(package).read_text('top_level.txt')
    if names:
        module_name = names.split('\n')[0]
        return module_name
    else:
        raise ValueError(f'{package} does not say which module it has')

# case: mmengine/utils/package_utils.py
from importlib.metadata import PackageNotFoundError, distribution


def is_installed(package: str) -> bool:
    import pkg_resources

    importlib.reload(pkg_resources)
    try:
        distribution(package)
        return True
    except PackageNotFoundError:
        return False

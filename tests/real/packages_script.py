"""What MMEngine says of each distribution that is installed, setuptools aside; of the installed MMEngine, or of a file of another release."""

import importlib.util
import sys
from importlib import metadata

# Before pkg_resources is imported: it puts what setuptools has of others into sys.path.
INSTALLED = sorted({distribution.metadata["Name"] for distribution in metadata.distributions()} - {"setuptools"})
NOT_FOUND = ("DistributionNotFound", "PackageNotFoundError")

if len(sys.argv) > 1:
    spec = importlib.util.spec_from_file_location("package_utils", sys.argv[1])
    package_utils = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package_utils)
else:
    from mmengine.utils import package_utils


def answer(question, package):
    try:
        return question(package)
    except Exception as error:
        if type(error).__name__ in NOT_FOUND:
            return "not found"
        return f"{type(error).__name__}: {error}"


package_utils.is_installed("torch")  # without pkg_resources that raises
for package in [*INSTALLED, "no-such-package"]:
    questions = (package_utils.is_installed, package_utils.get_installed_path, package_utils.package2module)
    print("package", package, *(answer(question, package) for question in questions), flush=True)

"""Ask MMEngine for packages that are there and for one that is not."""

from mmengine.utils import get_installed_path, is_installed
from mmengine.utils.package_utils import package2module

if not is_installed("mmengine") or is_installed("no-such-package"):
    raise SystemExit("MMEngine does not know which packages are installed")
print(f"mmengine is in {get_installed_path('mmengine')}, its module is {package2module('mmengine')}")

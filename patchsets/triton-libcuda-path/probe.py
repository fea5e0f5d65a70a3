"""Ask libcuda_dirs where ldconfig and LD_LIBRARY_PATH know of no library and every directory seems to hold one."""

import importlib
import os
import sys

for name in ("TRITON_LIBCUDA_PATH", "LD_LIBRARY_PATH"):
    os.environ.pop(name, None)
for name in ("triton.backends.nvidia.driver", "triton.common.build"):
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError:
        continue
    if hasattr(module, "libcuda_dirs"):
        break
else:
    sys.exit("triton has no libcuda_dirs where it is looked for")

exists = os.path.exists
module.subprocess.check_output = lambda *command, **more: b""
os.path.exists = lambda path: os.path.basename(path).startswith("libcuda.so") or exists(path)
try:
    found = module.libcuda_dirs()
except AssertionError as error:
    sys.exit("libcuda_dirs looks nowhere but in ldconfig: " + str(error).splitlines()[0])
print("libcuda_dirs also looks into " + ", ".join(found))

# case: triton/backends/nvidia/driver.py 3.6.0
import os
import subprocess


def libcuda_dirs():
    listed = subprocess.check_output(["/sbin/ldconfig", "-p"]).decode()
    dirs = os.environ["PATH"].split(":")
    assert any(os.path.exists(os.path.join(path, "libcuda.so.1")) for path in dirs)
    return dirs

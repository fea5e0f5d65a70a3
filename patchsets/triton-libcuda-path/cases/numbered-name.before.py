# case: triton/backends/nvidia/driver.py 3.6.0 dirs=/opt/lib
import os
import subprocess


def libcuda_dirs():
    listed = subprocess.check_output(["/sbin/ldconfig", "-p"]).decode(errors="ignore")
    dirs = os.environ["PATH"].split(":")
    msg = "libcuda.so cannot found!"
    # stays with what it is about
    assert any(os.path.exists(os.path.join(path, "libcuda.so.1")) for path in dirs), msg
    return dirs

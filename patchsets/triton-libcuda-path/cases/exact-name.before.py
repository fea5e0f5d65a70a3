# case: triton/common/build.py 2.1.0 dirs=/opt/lib:/usr/compat
import os
import subprocess


def libcuda_dirs():
    listed = subprocess.check_output(["/sbin/ldconfig", "-p"]).decode()
    locs = []
    dirs = [os.path.dirname(loc) for loc in locs]
    msg = "libcuda.so cannot found!"
    assert any(os.path.exists(os.path.join(path, 'libcuda.so')) for path in dirs), msg
    return dirs

import os
import subprocess


def libcuda_dirs():
    listed = (subprocess.check_output(["/sbin/ldconfig", "-p"]) if any(os.path.exists(os.path.join(path, "/sbin/ldconfig")) for path in os.get_exec_path()) else b"").decode(errors="ignore")
    dirs = os.environ["PATH"].split(":")
    msg = "libcuda.so cannot found!"
    if not any(os.path.exists(os.path.join(path, "libcuda.so.1")) for path in dirs):  # sitepatch: triton-libcuda-path
        dirs = os.environ.get("LD_LIBRARY_PATH", "").split(":") + '/opt/lib'.split(":")
        dirs = [path for path in dirs if path and os.path.exists(os.path.join(path, "libcuda.so.1"))]
    # stays with what it is about
    assert any(os.path.exists(os.path.join(path, "libcuda.so.1")) for path in dirs), msg
    return dirs

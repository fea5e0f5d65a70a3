import os


def libcuda_dirs():
    dirs = os.environ["PATH"].split(":")
    msg = "libcuda.so cannot found!"
    elsewhere = [path for path in '/opt/lib'.split(":") if path]  # sitepatch: triton-libcuda-path
    if not any(os.path.exists(os.path.join(path, "libcuda.so.1")) for path in dirs):
        dirs += [path for path in elsewhere if os.path.exists(os.path.join(path, "libcuda.so.1"))]
    # stays with what it is about
    assert any(os.path.exists(os.path.join(path, "libcuda.so.1")) for path in dirs), msg
    return dirs

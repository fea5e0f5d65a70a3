import os


def libcuda_dirs():
    locs = []
    dirs = [os.path.dirname(loc) for loc in locs]
    msg = "libcuda.so cannot found!"
    elsewhere = [path for path in '/opt/lib:/usr/compat'.split(":") if path]  # sitepatch: triton-libcuda-path
    if not any(os.path.exists(os.path.join(path, "libcuda.so")) for path in dirs):
        dirs += [path for path in elsewhere if os.path.exists(os.path.join(path, "libcuda.so"))]
    for path in [path for path in dirs + elsewhere if os.path.exists(os.path.join(path, "libcuda.so.1"))][:1]:
        msg += "\nThe library is there under another name; make the link: ln -s libcuda.so.1 '%s/libcuda.so'" % path
    assert any(os.path.exists(os.path.join(path, 'libcuda.so')) for path in dirs), msg
    return dirs

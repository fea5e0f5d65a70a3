import os
import subprocess


def _sitepatch_libcuda(dirs, msg):  # sitepatch: triton-libcuda-path
    """The directories to link in: `dirs` where they have libcuda.so, else others and a link of our own; and what else to say."""
    further = [path for path in os.environ.get("LD_LIBRARY_PATH", "").split(":") + '/opt/lib:/usr/compat'.split(":") if path]
    plain = [path for path in dirs + further if os.path.exists(os.path.join(path, "libcuda.so"))]
    real = [path for path in dirs + further if os.path.exists(os.path.join(path, "libcuda.so.1"))][:1]
    if plain or not real:
        return dirs if set(plain) & set(dirs) else list(dict.fromkeys(plain + real)) or dirs, msg
    library = os.path.join(os.path.abspath(real[0]), "libcuda.so.1")
    cache = os.path.join(os.path.expanduser("~/.cache"), os.environ.get("XDG_CACHE_HOME", ""), "sitepatch", "libcuda")
    folder = cache + os.path.dirname(library)
    link = os.path.join(folder, "libcuda.so")
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
        if os.stat(folder).st_uid != os.getuid() or os.stat(folder).st_mode & 0o022:
            raise PermissionError(folder)
        os.symlink(library, link + str(os.getpid()))
        os.replace(link + str(os.getpid()), link)  # several processes may do it at once
    except OSError:
        return dirs, msg + "\nThe library is there under another name; make the link: ln -s libcuda.so.1 '%s/libcuda.so'" % real[0]
    return [*real, folder], msg


def libcuda_dirs():
    listed = (subprocess.check_output(["/sbin/ldconfig", "-p"]) if any(os.path.exists(os.path.join(path, "/sbin/ldconfig")) for path in os.get_exec_path()) else b"").decode()
    locs = []
    dirs = [os.path.dirname(loc) for loc in locs]
    msg = "libcuda.so cannot found!"
    dirs, msg = _sitepatch_libcuda(dirs, msg)  # sitepatch: triton-libcuda-path
    assert any(os.path.exists(os.path.join(path, 'libcuda.so')) for path in dirs), msg
    return dirs

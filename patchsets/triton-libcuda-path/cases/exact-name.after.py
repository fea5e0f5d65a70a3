import os
import subprocess


def _sitepatch_libcuda(dirs):  # sitepatch: triton-libcuda-path
    """The directories to link in: `dirs` where they have libcuda.so, else others and a link of our own; and what to tell."""
    further = os.environ.get("LD_LIBRARY_PATH", "").split(":") + '/opt/lib:/usr/compat'.split(":")
    further = [path for path in further if path]

    def holds(name, paths):
        return [path for path in paths if os.path.exists(os.path.join(path, name))]

    real = holds("libcuda.so.1", dirs + further)[:1]
    if holds("libcuda.so", dirs):
        return dirs, ""
    if holds("libcuda.so", further) or not real:
        return list(dict.fromkeys(holds("libcuda.so", further) + real)) or dirs, ""
    library = os.path.join(os.path.abspath(real[0]), "libcuda.so.1")
    try:
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        folder = os.path.join(cache, "sitepatch", "libcuda") + os.path.dirname(library)
        if not os.path.isabs(cache):
            raise FileNotFoundError(cache)
        os.makedirs(folder, 0o700, exist_ok=True)
        if os.stat(folder).st_uid != os.getuid() or os.stat(folder).st_mode & 0o022:
            raise PermissionError(folder)
        link = os.path.join(folder, "libcuda.so")
        try:
            os.symlink(library, link)
        except FileExistsError:  # made before, or by another process just now
            pass
        if os.readlink(link) != library:
            raise FileExistsError(link)
    except OSError:
        return dirs, "\nThe library is there under another name; make the link: ln -s libcuda.so.1 '%s/libcuda.so'" % real[0]
    return [*real, folder], ""


def libcuda_dirs():
    listed = (subprocess.check_output(["/sbin/ldconfig", "-p"]) if any(os.path.exists(os.path.join(path, "/sbin/ldconfig")) for path in os.get_exec_path()) else b"").decode()
    locs = []
    dirs = [os.path.dirname(loc) for loc in locs]
    msg = "libcuda.so cannot found!"
    dirs, hint = _sitepatch_libcuda(dirs)  # sitepatch: triton-libcuda-path
    msg += hint
    assert any(os.path.exists(os.path.join(path, 'libcuda.so')) for path in dirs), msg
    return dirs

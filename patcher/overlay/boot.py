"""The `sitecustomize.py` of every overlay: imports of files of its manifest run patched copies.

Run by every Python process that has the folder of this file on PYTHONPATH, whatever its version and
environment. Standard library alone, nothing of ours; a process that imports none of the files pays
for reading the manifest and no more.

What a module is compiled from is the copy; all else about it is the original's: `__file__`,
`co_filename` of its code, the directory of its package, its resources. So a tracer that goes by
path (torch.compile skips what is in torch), a breakpoint `b FILE:LINE`, `inspect.getmodule` of a
frame, log records and warnings are those of an applied patch. Who shows source takes it from
linecache, where the patched lines are put; until Python 3.12 the interpreter itself prints an
uncaught exception from the disk, which is mended here.

A process that would run one of the files unpatched is stopped with a message.
"""

import os
import sys
from importlib.machinery import PathFinder, SourceFileLoader

TYPE_CHECKING = False  # typing would cost more than all the rest
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import CodeType
    from typing import Any, Dict, Optional, Set

HEAD = b"sitepatch overlay 1"
END = b"\0\n"
"""The end of a row of the manifest; its fields are separated by a NUL, which no path has."""
folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
"""The folder of the overlay."""


class Entry:
    """A file of the manifest: its path (directories resolved), its patched copy, its state then.

    A file that is deleted has no copy.
    `size` is in bytes, -1 for a file that is added, `mtime` in whole seconds, `digest` the sha256
    in hex, `module` the name by which it is imported.
    """

    def __init__(self, row: bytes) -> None:
        path, copy, module, size, mtime, digest = map(os.fsdecode, row.split(b"\0"))
        if not os.path.isabs(path) or os.path.isabs(copy) or ".." in copy.split("/"):
            raise ValueError(path)
        self.path = path
        self.copy = os.path.join(folder, copy)
        self.is_deleted = not copy
        self.module = module
        self.size = int(size)
        self.mtime = int(mtime)
        self.digest = digest

    @property
    def is_added(self) -> bool:
        """Whether there was no such file when the overlay was made."""
        return self.size < 0

    def check(self) -> None:
        """Refuse to go on if the file is not the one that was patched."""
        try:
            info = os.stat(self.path)
        except OSError as error:
            if not self.is_added:
                reason = error.strerror
                refuse(f"{self.path}: {reason}; it was there when the overlay was made", self)
            return
        if (info.st_size, int(info.st_mtime)) == (self.size, self.mtime):
            return
        import hashlib

        with open(self.path, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        if digest != self.digest:
            refuse(
                f"{self.path} is another file than the one that was patched; "
                "start the command again",
                self,
            )
        self.size, self.mtime = info.st_size, int(info.st_mtime)


entries: "Dict[str, Entry]" = {}
names: "Dict[str, Entry]" = {}
namespaces: "Set[str]" = set()
"""The names by which directories are imported that are not there, and in which a file is added."""
_base_names: "Any" = ()  # of the files: they sort out nearly every import of a process


def read_manifest() -> None:
    """Read the manifest of the overlay.

    Raises:
        OSError: it cannot be read.
        ValueError: it is none, or names a copy outside of the overlay.
    """
    with open(os.path.join(folder, "manifest"), "rb") as file:
        head, *rows, tail = file.read().split(END)
    if head != HEAD or tail:
        raise ValueError(f"found {head[:40]!r}, expected {HEAD!r}")
    for row in rows:
        entry = Entry(row)
        entries[entry.path] = entry
        if not entry.is_deleted:
            names[entry.module] = entry
        above, module = os.path.dirname(entry.path), entry.module
        if os.path.basename(entry.path) != "__init__.py":
            module = module.rpartition(".")[0]
        while entry.is_added and module and not os.path.isdir(above):
            namespaces.add(module)
            above, module = os.path.dirname(above), module.rpartition(".")[0]
    global _base_names
    _base_names = tuple({os.path.basename(path) for path in entries})


def entry_of(path: "Any") -> "Optional[Entry]":
    """The entry of a file, by any path that leads to it."""
    if not isinstance(path, str) or not path.endswith(_base_names):
        return None
    return entries.get(
        os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    )


def _report(message: str) -> str:
    """Write a line to stderr, if that can be done (see `write_stderr` of the hook's boot.py)."""
    message = f"sitepatch run --overlay: {message}"
    if sys.__stderr__ is not None:
        try:  # noqa: SIM105  (a start does without contextlib)
            os.write(2, f"{message}\n".encode("utf-8", "backslashreplace"))
        except OSError:
            pass
    return message


def refuse(message: str, entry: "Entry") -> None:
    """Report it, and raise ImportError, which a program may take for a package that is missing."""
    raise ImportError(_report(message), name=entry.module, path=entry.path)


def refuse_deleted(entry: "Entry") -> None:
    """Refuse to run a file that a patchset deletes."""
    if entry.is_deleted:
        refuse(f"{entry.path} would run, which is deleted; use apply", entry)


def abort(message: str) -> None:
    """Report it, and end the process: what is raised in a sitecustomize is ignored."""
    _report(message)
    os._exit(1)


class Patched(SourceFileLoader):
    """Loads the copy in place of the file, with bytecode beside it; other paths as usual."""

    def __init__(self, fullname: str, path: str, entry: "Entry") -> None:
        super().__init__(fullname, path)
        self.entry = entry

    def get_code(self, fullname: str) -> "Optional[CodeType]":
        """As the source loader does, with the lines in linecache."""
        _prime(self.path, self.get_source(fullname) or "")
        _print_from_linecache()
        return super().get_code(fullname)

    def path_stats(self, path: "Any") -> "Any":
        """Size and mtime of what is loaded."""
        return super().path_stats(self._copy_of(path))

    def get_data(self, path: "Any") -> bytes:
        """The bytes of a file: source, bytecode, or a resource beside the module."""
        return super().get_data(self._copy_of(path))

    def set_data(self, path: "Any", data: "Any", *, _mode: int = 0o666) -> None:
        """Write bytecode."""
        super().set_data(self._copy_of(path), data, _mode=_mode)

    def _copy_of(self, path: "Any") -> "Any":
        if path == self.path:
            self.entry.check()
            return self.entry.copy
        if path.endswith(".pyc") and path == bytecode(self.path):
            return bytecode(self.entry.copy)
        return path


def bytecode(source: str) -> "Optional[str]":
    """The path of the bytecode of a source file; None for an interpreter that writes none."""
    from importlib.util import cache_from_source

    try:
        return cache_from_source(source)
    except NotImplementedError:
        return None


def _prime(path: str, source: str) -> None:
    import io
    import linecache

    if not source.endswith("\n"):
        source += "\n"
    lines = io.StringIO(source).readlines()
    # without an mtime it is never compared with the disk
    linecache.cache[path] = (len(source), None, lines, path)


def _print_from_linecache() -> None:
    """Have uncaught exceptions show the patched lines.

    Until Python 3.12 they are printed in C, which reads the lines from the disk; later from
    linecache.
    """
    if sys.version_info >= (3, 13):
        return
    import _thread

    if sys.excepthook is sys.__excepthook__:
        # Both names: programs put the second one back, and others ask whether the first one is
        # still it.
        sys.excepthook = sys.__excepthook__ = uncaught
    threading: Any = sys.modules.get("threading")
    if getattr(threading, "excepthook", sys) is getattr(_thread, "_excepthook", None):
        threading.excepthook = uncaught_in_thread


def uncaught(kind: "Any", error: "Any", trace: "Any") -> None:
    """Print an exception as the interpreter does, with the lines that linecache knows."""
    import traceback

    if sys.stderr is not None:
        traceback.print_exception(kind, error, trace)


def uncaught_in_thread(args: "Any") -> None:
    """The same for the end of a thread."""
    if args.exc_type is not SystemExit and sys.stderr is not None:
        name = args.thread.name if args.thread is not None else "?"
        sys.stderr.write(f"Exception in thread {name}:\n")
        uncaught(args.exc_type, args.exc_value, args.exc_traceback)


class Finder:
    """Finds what PathFinder finds; a file of the manifest gets another loader."""

    @staticmethod
    def find_spec(
        fullname: str, path: "Any" = None, target: "Any" = None
    ) -> "Optional[ModuleSpec]":
        """The spec of a module of the manifest; None for every other."""
        if fullname not in names:
            return _added(fullname, path) if fullname in namespaces else None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None and names[fullname].is_added:
            spec = _added(fullname, path)
        entry = entry_of(spec.origin) if spec is not None else None
        if spec is None or entry is None:
            return None
        if type(spec.loader) is not SourceFileLoader:
            refuse(f"{fullname} would be loaded unpatched, by {spec.loader!r}; use apply", entry)
        spec.loader = Patched(fullname, str(spec.origin), entry)
        spec.cached = bytecode(entry.copy)
        return spec


def _added(fullname: str, path: "Any") -> "Optional[ModuleSpec]":
    """The spec of a file or a directory that is not there, if that is where Python searches."""
    places = sys.path if path is None else path
    paths = [entry.path for entry in entries.values() if entry.is_added]
    spec: Optional[ModuleSpec] = _added_script()["spec_of_added"](fullname, places, paths)
    return spec


def _added_script() -> "Dict[str, Any]":
    """The names of the script that finds what is not there, and misses what is deleted."""
    script = os.path.join(folder, "added.py")
    script_names: Dict[str, Any] = {"__name__": "added"}
    with open(script, "rb") as file:
        exec(compile(file.read(), script, "exec"), script_names)
    return script_names


def _guard() -> None:
    """Refuse to load a file of the manifest without the finder.

    By its path, that is, by another name, by another finder, or as a script.
    """
    loader: Any = SourceFileLoader
    path_stats = loader.path_stats

    def guarded(self: "Any", path: "Any") -> "Any":
        entry = entry_of(path)
        if entry is not None:
            refuse_deleted(entry)
            refuse(
                f"{path} would run unpatched, as {self.name}; "
                f"import it as {entry.module}, or use apply",
                entry,
            )
        return path_stats(self, path)

    loader.path_stats = guarded
    _guard_launchers()


def _guard_launchers() -> None:
    """Refuse to run a file of the manifest by its path.

    runpy, profilers and debuggers open a script with io.open_code.
    """
    import io

    open_code = getattr(io, "open_code", None)  # since Python 3.8
    if open_code is None:
        return

    def guarded(path: "Any") -> "Any":
        entry = entry_of(path)
        if entry is not None:
            refuse_deleted(entry)
            refuse(
                f"{path} would run unpatched, by its path; "
                f"run it as a module: {entry.module}, or use apply",
                entry,
            )
        return open_code(path)

    vars(io)["open_code"] = guarded


def install() -> None:
    """Make this process import the files of the overlay.

    Raises:
        OSError, ValueError: the overlay is damaged (see `read_manifest`).
    """
    read_manifest()
    for module in list(sys.modules.values()):
        if entry_of(getattr(module, "__file__", None)):
            abort(
                f"{module.__name__} was imported, unpatched, "
                "before the overlay could be put on: by a .pth file"
            )
    script = [*getattr(sys, "argv", ()), ""][0]  # Python 3.6 does not know it yet
    entry = entry_of(script)
    if entry is not None and entry.is_deleted:
        abort(f"{script} would run, which is deleted")
    if entry is not None:
        abort(f"{script} would run unpatched; run it as a module: python -m {entry.module}")
    index = sys.meta_path.index(PathFinder) if PathFinder in sys.meta_path else 0
    sys.meta_path.insert(index, Finder)
    deleted = [entry.path for entry in entries.values() if entry.is_deleted]
    if deleted and PathFinder in sys.meta_path:
        sys.meta_path[index + 1] = _added_script()["finder_without"](deleted)
    _guard()


def go_on() -> None:
    """Run the sitecustomize that this one hides, if there is one, as if this one were not there."""
    own_folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) != own_folder]
    own_module = sys.modules.pop("sitecustomize")
    try:
        __import__("sitecustomize")
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        sys.modules.setdefault("sitecustomize", own_module)


if __name__ == "sitecustomize":
    try:
        install()
    except Exception as error:  # the interpreter ignores what is raised here, whatever it is
        abort(f"{folder}: the overlay is damaged ({error}); start the command again")
    go_on()

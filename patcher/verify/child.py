"""Run by the target interpreter: compiles files, imports modules or runs a probe.

    python -I -B child.py REQUEST RESULTS

Standard library alone, Python 3.6 or later, nothing of ours. REQUEST is a JSON file that
`patcher.verify.run` writes. RESULTS gets a line of JSON when a task begins and one when it ends, so
that neither what a module prints nor how it ends the process is mistaken for a result. A failed
import is the last task of its process, so that it does not affect the others.
"""

import binascii
import importlib
import importlib.machinery
import json
import marshal
import os
import sys
import time
import warnings

# typing, and what is imported below, would cost half as much again as all the rest
TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any, Callable, Dict, List, Set

_MOST = 8000  # characters of a traceback; that of an endless recursion is far longer
_OURS = (__file__, importlib.__file__, "<frozen importlib")  # frames above the requested module


class _Results:
    """The file of results, opened for each line: a module may close every open file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.process = os.getpid()

    def write(self, fields: "Dict[str, Any]") -> None:
        """Write a line of results."""
        if os.getpid() != self.process:
            os._exit(0)  # a process that a module forked and never ended; it must not write results
        with open(self.path, "a", encoding="ascii") as file:
            file.write(json.dumps(fields) + "\n")


def compiled(path: str, source: bytes, shown: bool) -> str:
    """Compile a file, execute nothing, and compare it with what the source loader would load.

    Args:
        path: of the file.
        source: the bytes that it must have.
        shown: whether this is not what the disk has, so that its bytecode is for another text.

    Returns:
        what is wrong apart from errors that are raised; empty if nothing is.
    """
    warnings.simplefilter("ignore")
    code = compile(source, path, "exec", dont_inherit=True)
    if shown:
        return ""
    with open(path, "rb") as file:
        if file.read() != source:
            return "it is not what it was: somebody changed it meanwhile"
    # the name is free: nothing is imported
    loaded = importlib.machinery.SourceFileLoader(path, path).get_code(path)
    if loaded is None or not _same(loaded, code):
        return "stale bytecode: the interpreter would load other code than the file holds"
    return ""


def _same(code: "CodeType", loaded: "CodeType") -> bool:
    """Whether two code objects are the same; a constant nan is no other's equal."""
    return code == loaded or marshal.dumps(code, 2) == marshal.dumps(loaded, 2)


def serve(texts: "Dict[str, bytes]") -> None:
    """Make imports of these paths (directories resolved) read these bytes instead of the files."""
    import linecache

    loader: Any = importlib.machinery.SourceFileLoader
    get_data, get_code = loader.get_data, loader.get_code

    def data_of(self: "Any", path: str) -> "Any":
        text = texts.get(_resolved(path))
        return get_data(self, path) if text is None else text

    def code_of(self: "Any", fullname: str) -> "Any":
        path = self.get_filename(fullname)
        text = texts.get(_resolved(path))
        if text is None:
            return get_code(self, fullname)
        lines = text.decode("utf-8", "replace").splitlines(True)
        # or `inspect.getsource` would read the disk
        linecache.cache[path] = (len(text), None, lines, path)
        return compile(text, path, "exec", dont_inherit=True)

    added = [path for path in texts if not os.path.lexists(path)]
    if added:
        find_added(added)
    loader.get_data, loader.get_code = data_of, code_of


def hide(paths: "List[str]") -> None:
    """Have files that are deleted not found."""
    finders: Any = sys.meta_path
    at = finders.index(importlib.machinery.PathFinder)
    finders[at] = _added_script()["finder_without"](paths)


def _added_script() -> "Dict[str, Any]":
    """The names of the script that finds what is not there, and misses what goes."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "added.py")
    names: Dict[str, Any] = {"__name__": "added"}
    with open(script, "rb") as file:
        exec(compile(file.read(), script, "exec"), names)
    return names


def find_added(paths: "List[str]") -> None:
    """Have files that are not there yet found, after all other finders."""
    spec_of_added = _added_script()["spec_of_added"]

    class Added:
        @staticmethod
        def find_spec(fullname: str, path: "Any" = None, target: "Any" = None) -> "Any":
            places = sys.path if path is None else path
            return spec_of_added(fullname, places, paths)

    finders: Any = sys.meta_path
    finders.append(Added)


_PROGRAMS = ("subprocess.Popen", "os.exec", "os.posix_spawn")
"""The audit events of a program that is started."""


def watch(texts: "Set[str]", report: "Callable[..., None]") -> None:
    """Report what looks past the texts that are served, or at files that are hidden.

    A file that is opened by its path, or another Python that is started.
    """
    if not hasattr(sys, "addaudithook"):  # since Python 3.8
        return
    names = tuple({os.path.basename(path) for path in texts})

    def hook(event: str, arguments: "Any") -> None:
        if event == "open" and isinstance(arguments[0], str) and arguments[0].endswith(names):
            if _resolved(arguments[0]) in texts:
                report("{task} opens {path} by its path", path=arguments[0])
        elif event in _PROGRAMS and "python" in os.path.basename(str(arguments[0])):
            report("{task} starts a Python process")

    sys.addaudithook(hook)


def _resolved(path: str) -> str:
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


def _explained(error: BaseException) -> "Dict[str, str]":
    """The last line of an exception, and its traceback without our own frames."""
    import traceback

    try:
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_OURS):
            trace = trace.tb_next
        lines = traceback.format_exception(type(error), error, trace)
        last_line = traceback.format_exception_only(type(error), error)[-1]
    except BaseException:  # the module's own exception class may be what is broken
        lines = [last_line] = [type(error).__name__]
    return {"problem": last_line.strip()[-_MOST:], "output": "".join(lines)[-_MOST:]}


def _set_alarm(until: float) -> None:
    """Report where the process hangs at that time, and end it, even if its parent is gone."""
    try:
        import faulthandler

        faulthandler.enable()
        faulthandler.dump_traceback_later(max(0.1, until - time.monotonic()), exit=True)
    except (ImportError, AttributeError, ValueError, RuntimeError):
        pass  # an interpreter without it; the parent keeps the time as well


def main(request_path: str, results_path: str) -> None:
    """Carry out the request. Ends the process itself, or leaves that to the probe."""
    with open(request_path, encoding="ascii") as file:
        request = json.load(file)
    results = _Results(results_path)
    _set_alarm(request["until"])
    sys.path[:] = request["search"] + (sys.path if request["ahead"] else [])
    texts = {}
    for path, encoded in request["texts"].items():
        texts[path] = binascii.a2b_base64(encoded)
    current = ["probe", request.get("name", "")]

    def report(template: str, **fields: str) -> None:
        if os.getpid() == results.process:  # not one that the module has forked
            results.write({"unseen": template, "fields": {"task": " ".join(current), **fields}})

    hidden = [_resolved(path) for path in request["hidden"]]
    if hidden:
        hide(hidden)
    served = {_resolved(path): texts[path] for path in request["serve"]}
    if served:
        serve(served)
    if served or hidden:
        watch({*served, *hidden}, report)
    if request["probe"]:
        run_probe(request["probe"])
        return
    sys.argv = [""]
    for kind, name in request["tasks"]:
        current[:] = [kind, name]
        results.write({"begin": current})
        start = time.monotonic()
        result = run_task(kind, name, texts.get(name, b""), request["shown"])
        results.write({"end": current, "seconds": time.monotonic() - start, **result})
        if result["problem"] and kind == "import":
            break
    sys.stdout.flush()
    sys.stderr.flush()
    # without waiting for threads that a module left behind, or running its exit handlers
    os._exit(0)


def run_probe(path: str) -> None:
    """Run a probe as a script."""
    import runpy

    sys.argv = [path]
    runpy.run_path(path, run_name="__main__")


def run_task(kind: str, name: str, source: bytes, shown: bool) -> "Dict[str, str]":
    """Compile a file or import a module; returns the problem and its output, if any."""
    problem = ""
    try:
        if kind == "compile":
            problem = compiled(name, source, shown)
        else:
            importlib.import_module(name)
    except BaseException as error:  # SystemExit and KeyboardInterrupt of a module too
        return _explained(error)
    return {"problem": problem, "output": ""}


if __name__ == "__main__":
    main(*sys.argv[1:])

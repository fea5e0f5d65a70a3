"""`sitepatch run --overlay`: every process below runs what `apply` would have written, and nothing is written there."""

import ast
import fcntl
import os
import shutil
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from patcher.errors import OutdatedError
from patcher.model import FilePlan
from patcher.overlay.make import write_overlay
from tests.command import DDP, Site, done, environ, sitepatch, tree
from tests.failures import STDERRS
from tests.interpreters import interpreter
from tests.overlays import FILES, OLD, PATCHED, M, Overlay, patchset, unwritable, write
from tests.places import venv

HERE = sys.version_info[:2]
VERSIONS = sorted({(3, 8), (3, 11), (3, 13), HERE})
IMPORT = "import demo.m as m; print(m.VALUE)"


def with_each_interpreter(fixture):
    parametrize = pytest.mark.parametrize(fixture, VERSIONS, indirect=True, ids=lambda version: "{}.{}".format(*version))

    def mark(test):
        return pytest.mark.once(parametrize(test))

    return mark


every = with_each_interpreter("over")
every_own = with_each_interpreter("own")


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One overlay for each interpreter."""
    overlays = {}

    def get(version):
        if version not in overlays:
            overlays[version] = Overlay(tmp_path_factory.mktemp("over"), interpreter(version))
        return overlays[version]

    return get


@pytest.fixture
def over(request, shared):
    """An overlay that a test leaves as it is."""
    return shared(getattr(request, "param", HERE))


@pytest.fixture
def own(request, tmp_path):
    """An overlay that a test may spoil."""
    return Overlay(tmp_path, interpreter(getattr(request, "param", HERE)))


def line_of(text, source=PATCHED):
    (number,) = [number for number, line in enumerate(source.split("\n"), 1) if text in line]
    return number


# what is run ----------------------------------------------------------------------------------------------------------
def test_an_overlay_has_the_same_bytes_as_apply(tmp_path):
    site = Site(tmp_path, "mmengine-0.10.7", "torch-2.7.1-musa")
    names = (DDP, "mmengine-ddp-device", "torch-musa-guard", "torch-dynamo-suppress")
    options = ("--set", f"{DDP}.params=7")
    cache = tmp_path / "cache"
    before = site.tree()
    words = ["run", *names, *options, "--target", site.path, "--overlay", "--", "true"]
    done(sitepatch(*words, cwd=tmp_path, SITEPATCH_CACHE=str(cache)))
    assert site.tree() == before
    (overlay,) = (cache / "overlay").iterdir()
    folder = overlay / "files/0"
    copies = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.py")}
    done(site("apply", *names, *options, "--verify", "none"))
    after = site.tree()
    changed = {path for path in before if after[path] != before[path]}
    assert changed == set(copies)
    assert len(changed) >= 4
    for path, data in copies.items():
        assert (site.path / path).read_bytes() == data, path


@every
def test_the_patched_source_runs_and_the_rest_is_the_originals(over):
    before = tree(over.site)
    file = over.site / "demo" / "m.py"
    code = "import demo, demo.m as m; print(demo.NAME, m.VALUE, m.__file__, m.__spec__.origin, m.answer.__code__.co_filename)"
    assert over.prints(code).split(" ", 2) == ["as", "patched", f"2 {file} {file} {file}"]
    cached = over.prints("import demo.m as m; print(m.__spec__.cached)")
    assert cached.startswith(str(over.built))
    assert over.prints("import demo, demo.other; print(demo.__path__, demo.other.VALUE)") == f"{[str(file.parent)]} 1"
    after = {path: what for path, what in tree(over.site).items() if "__pycache__/other." not in path}
    after.pop("demo/__pycache__", None)  # of the module that is not patched
    assert after == {path: what for path, what in before.items() if "__pycache__" not in path}


@every
def test_the_compiled_form_is_kept_in_the_cache_and_used_again(over):
    tag = over.prints("import sys; print(sys.implementation.cache_tag)")
    assert over.prints(IMPORT) == "2"
    compiled = over.built / "files/0/demo/__pycache__" / f"m.{tag}.pyc"
    assert compiled.stat().st_size
    data, file = compiled.read_bytes(), str(compiled)
    forge = f"import marshal; open({file!r}, 'r+b').write({data[:16]!r} + marshal.dumps(compile('VALUE = 3', 'x', 'exec')))"
    over.prints(forge)
    try:
        assert over.prints(IMPORT) == "3", "it is what is loaded"
    finally:
        compiled.write_bytes(data)
    assert over.prints(IMPORT, PYTHONPYCACHEPREFIX=str(over.folder / "prefix")) == "2"
    assert not list(over.site.glob("demo/__pycache__/m.*"))


@every
@pytest.mark.parametrize("option", ["-O", "-OO", "-B", "-s", "-u"])
def test_these_options_of_the_interpreter_do_not_matter(over, option):
    assert done(over(option, "-c", IMPORT)).out == "2\n"


@every
@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_processes_of_multiprocessing_are_patched(over, method):
    script = over.folder / "train.py"
    script.write_text(
        "import multiprocessing as mp, sys\n"
        "def work(number):\n"
        "    import demo.m\n"
        "    return demo.m.VALUE\n"
        "if __name__ == '__main__':\n"
        "    with mp.get_context(sys.argv[1]).Pool(2) as pool:\n"
        "        print(pool.map(work, range(4)))\n"
    )
    assert done(over(script, method)).out == "[2, 2, 2, 2]\n"


@every
def test_processes_of_subprocess_and_of_a_shell_are_patched(over):
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {IMPORT!r}], check=True)"
    assert over.prints(code) == "2"
    assert done(over.run("sh", "-c", f'{over.python} -c "{IMPORT}"; exec {over.python} -c "{IMPORT}"')).out == "2\n2\n"


@every
def test_a_module_on_the_command_line_is_patched(over):
    assert done(over("-m", "demo.m")).out == "main 2\n"
    assert over.prints("import runpy; print(runpy.run_module('demo.m')['VALUE'])") == "2"


@every
def test_a_reload_a_lazy_loader_and_a_lazy_package_are_patched(over):
    assert over.prints("import importlib, demo.m as m; m.VALUE = 9; print(importlib.reload(m).VALUE)") == "2"
    lazy = (
        "import importlib.util as u, sys\n"
        "spec = u.find_spec('demo.m'); spec.loader = u.LazyLoader(spec.loader)\n"
        "m = u.module_from_spec(spec); sys.modules['demo.m'] = m; spec.loader.exec_module(m)\n"
        "print(type(m).__name__, m.VALUE)"
    )
    assert over.prints(lazy) == "_LazyModule 2"
    package = "import demo; demo.__getattr__ = lambda name: __import__('importlib').import_module('demo.' + name)\nprint(demo.m.VALUE)"
    assert over.prints(package) == "2"


@every
def test_resources_are_those_of_the_site_directory(over):
    assert over.prints("import pkgutil; print(pkgutil.get_data('demo', 'data.txt'))") == "b'data\\n'"
    if over.prints("import sys; print(sys.version_info >= (3, 9))") == "True":
        code = "from importlib.resources import files; f = files('demo') / 'data.txt'; print(f, f.read_text())"
    else:
        code = "import importlib.resources as r\nwith r.path('demo', 'data.txt') as f: print(f, f.read_text())"
    assert over.prints(code) == f"{over.site}/demo/data.txt data"


def test_a_module_of_a_namespace_package_is_patched(tmp_path):
    over = Overlay(tmp_path, sys.executable)
    write(over.site, {"space/inner/n.py": "VALUE = 1\n"})
    info = over.site / "space-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: space\nVersion: 1.0\n")
    (info / "RECORD").write_text("space/inner/n.py,,\n")
    patchset(tmp_path, "Why.\n\n--- space/inner/n.py\n@@ <module> @@\n-VALUE = 1\n+VALUE = 2\n", "space-patch", "space")
    code = "import space, space.inner.n as n; print(n.VALUE, space.__file__ if hasattr(space, '__file__') else None)"
    assert done(over.run(over.python, "-c", code, names=["space-patch"])).out == "2 None\n"


def test_a_module_inside_an_archive_is_refused(tmp_path):
    over = Overlay(tmp_path, sys.executable)
    shutil.rmtree(str(over.site / "demo"))
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as archive:
        for name, text in FILES.items():
            archive.writestr(name, text)
    (over.site / "packed.pth").write_text(str(tmp_path / "packed.zip") + "\n")
    ended = done(over.run(over.python, "-c", "print('run')"), 1)
    assert "lies inside the archive" in ended.err
    assert ended.out == ""


@every
def test_another_environment_in_a_child_process_is_left_alone(over, tmp_path):
    python, site = venv(tmp_path / "env", python=over.python.resolve())
    write(site)
    code = f"import subprocess; print(subprocess.run([{str(python)!r}, '-c', {IMPORT!r}], stdout=-1).stdout.decode())"
    assert over.prints(code) == "1"
    assert over.prints(IMPORT) == "2"


@every
def test_a_process_that_imports_none_of_the_files_is_unchanged(over):
    def modules_and_path(pythonpath):
        out = done(over("-c", "import sys; print((list(sys.modules), sys.path))", PYTHONPATH=pythonpath)).out
        modules, path = ast.literal_eval(out)
        return set(modules), path

    plain_modules, plain_path = modules_and_path("")
    modules, path = modules_and_path(over.path.split(os.pathsep)[0])
    assert path == plain_path
    light = {"sitecustomize", "importlib", "importlib.machinery", "importlib._bootstrap", "importlib._bootstrap_external"}
    light |= {"warnings", "_warnings", "_py_warnings", "_contextvars", "linecache", "_imp", "types"}
    assert modules - plain_modules <= light


# where source is shown ------------------------------------------------------------------------------------------------
FAIL = "import demo.m as m; m.Thing().fail()"


@every
@pytest.mark.parametrize(
    "code",
    [
        FAIL,
        f"import threading, demo.m; t = threading.Thread(target=lambda: exec({FAIL!r})); t.start(); t.join()",
        f"import traceback, sys\ntry: exec({FAIL!r})\nexcept ValueError: traceback.print_exc()",
        f"import logging\ntry: exec({FAIL!r})\nexcept ValueError: logging.exception('told')",
        f"import linecache; linecache.checkcache(); import demo.m; linecache.checkcache(); exec({FAIL!r})",
    ],
    ids=["uncaught", "in a thread", "printed", "logged", "after a look at the disk"],
)
def test_a_traceback_shows_the_patched_line(over, code):
    err = over("-c", code).err
    where = f'File "{over.site}/demo/m.py", line {line_of("raise ValueError(why)")}, in fail'
    assert f"{where}\n    raise ValueError(why)\n" in err, err
    assert "ValueError: as patched" in err


@every
def test_the_excepthook_of_a_program_stays(over):
    code = "import sys; sys.excepthook = lambda *words: print('mine'); " + FAIL
    assert over("-c", code).out == "mine\n"
    assert over.prints("import sys, demo.m; print(sys.excepthook is sys.__excepthook__)") == "True"


@every
def test_the_source_of_a_function_a_class_and_a_module_is_the_patched_one(over):
    get = "import demo.m as m, inspect, linecache; linecache.checkcache(); print(inspect.getsource({}), end='')"
    assert done(over("-c", get.format("m"))).out == PATCHED
    lines = PATCHED.splitlines(True)
    first = line_of("class Thing")
    assert done(over("-c", get.format("m.Thing"))).out == "".join(lines[first - 1 : first + 5])
    assert done(over("-c", get.format("m.Thing.fail"))).out == "".join(lines[line_of("def fail") - 1 :][:3])
    code = "import demo.m as m, inspect; print(inspect.getmodule(m.answer.__code__), m.__spec__.loader.get_source('demo.m') == "
    assert over.prints(f"{code}{PATCHED!r})").endswith("demo/m.py'> True")


@every
def test_breakpoints_by_line_and_by_function_stop(over):
    line = line_of("raise ValueError(why)")
    script = over.folder / "debugged.py"
    script.write_text("import demo.m as m\nm.answer()\nm.Thing().fail()\n")
    commands = f"n\nb {over.site}/demo/m.py:{line}\nb m.answer\nc\nl\nc\nl\np why\nq\n"
    out = done(over("-m", "pdb", script, stdin=commands.encode())).out
    assert f"demo/m.py:{line}\n" in out
    assert f"> {over.site}/demo/m.py({line_of('return VALUE')})answer()\n-> return VALUE * 1\n" in out
    assert f"> {over.site}/demo/m.py({line})Thing.fail()" in out or f"> {over.site}/demo/m.py({line})fail()" in out
    assert "-> raise ValueError(why)\n" in out
    assert "'as patched'" in out


@every
def test_a_warning_and_a_log_record_name_the_file_and_the_line(over):
    code = (
        "import demo.m as m, warnings, logging, sys\n"
        "source = 'warnings.warn(\"careful\"); logging.warning(\"%(there)s\")'\n"
        "logging.basicConfig(format='%(pathname)s %(module)s %(lineno)d')\n"
        "m.warnings, m.logging = warnings, logging\n"
        "exec(compile('\\n' * 12 + source, m.answer.__code__.co_filename, 'exec'), vars(m))\n"
    )
    err = done(over("-c", code)).err
    assert f"{over.site}/demo/m.py:13: UserWarning: careful\n" in err
    assert PATCHED.split("\n")[12].strip() in err
    assert f"{over.site}/demo/m.py m 13\n" in err


# what is refused and reported -----------------------------------------------------------------------------------------
def assert_refused(ended, *texts):
    assert ended.code != 0, ended
    assert "sitepatch run --overlay: " in ended.err, ended
    for text in texts:
        assert text in ended.err, ended


@every_own
def test_a_file_that_was_replaced_in_the_meantime_is_not_imported(own):
    assert own.prints(IMPORT) == "2"
    file = own.site / "demo" / "m.py"
    os.utime(str(file), (OLD + 9, OLD + 9))
    assert own.prints(IMPORT) == "2", "the same bytes are the same file"
    file.write_text(M.replace("VALUE = 1", "VALUE = 7"))
    ended = own("-c", IMPORT)
    assert_refused(ended, f"{file} is another file than the one that was patched; start the command again\n", "ImportError")
    swallowed = own("-c", "try: import demo.m\nexcept ImportError: print('goes on')")
    assert swallowed.out == "goes on\n"
    assert "is another file than the one that was patched" in swallowed.err
    file.unlink()
    assert own("-c", IMPORT).code != 0
    done(own.run(own.python, "-c", IMPORT), 1)
    write(own.site)
    assert done(own.run(own.python, "-c", IMPORT)).out == "2\n"


@every_own
def test_a_reload_of_a_replaced_file_fails(own):
    code = "import demo.m as m, importlib; open(m.__file__, 'a').write('# more\\n'); importlib.reload(m)"
    assert_refused(own("-c", code), "is another file")


@every
@pytest.mark.parametrize(
    "code",
    [
        "import importlib.util as u; s = u.spec_from_file_location('x', {file!r}); "
        "m = u.module_from_spec(s); s.loader.exec_module(m)",
        "import sys; sys.path.insert(0, {folder!r}); import m",
        "import sys, importlib.machinery as i\n"
        "class Mine(i.SourceFileLoader): pass\n"
        "sys.path_hooks.insert(0, i.FileFinder.path_hook((Mine, ['.py']))); sys.path_importer_cache.clear()\n"
        "import demo.m",
        "import sys, importlib.machinery as i\n"
        "class Finder:\n"
        "    def find_spec(name, path=None, target=None):\n"
        "        s = i.PathFinder.find_spec(name, path); return s\n"
        "sys.meta_path.insert(0, Finder); import demo.m",
    ],
    ids=["by its path", "by another name", "by a path hook", "by another finder"],
)
def test_loading_the_original_past_the_overlay_is_refused(over, code):
    file = over.site / "demo" / "m.py"
    ended = over("-c", code.format(file=str(file), folder=str(file.parent)) + "; print('ran')")
    assert_refused(ended, "unpatched", "use apply")
    assert "ran" not in ended.out


@every
def test_a_patched_file_run_as_a_script_is_refused(over):
    assert_refused(over(over.site / "demo" / "m.py"), "would run unpatched; run it as a module: python -m demo.m")


@every
@pytest.mark.parametrize(
    "words",
    [
        ("-c", "import runpy, sys; runpy.run_path(sys.argv[1], run_name='__main__')"),
        ("-c", "from runpy import run_path; import sys; run_path(sys.argv[1])"),
        ("-m", "cProfile"),
        ("-m", "trace", "--trace"),
    ],
    ids=["run_path", "run_path, imported by name", "a profiler", "a tracer"],
)
def test_a_patched_file_that_a_launcher_runs_by_its_path_is_refused(over, words):
    ended = over(*words, over.site / "demo" / "m.py")
    assert_refused(ended, "m.py would run unpatched, by its path; run it as a module: demo.m")
    assert "main" not in ended.out
    other = str(over.site / "demo" / "other.py")
    assert over.prints(f"import runpy; print(runpy.run_path({other!r})['VALUE'])") == "1"


@every_own
def test_a_module_that_a_pth_file_imported_before_is_refused(own):
    assert own.path
    (own.site / "early.pth").write_text("import demo.m\n")
    ended = own("-c", "print('ran')")
    assert_refused(ended, "demo was imported, unpatched, before the overlay could be put on: by a .pth file")
    assert (ended.code, ended.out) == (1, "")


DAMAGES = {
    "emptied": lambda manifest: manifest.write_bytes(b""),
    "cut short": lambda manifest: manifest.write_bytes(manifest.read_bytes()[:-9]),
    "leading elsewhere": lambda manifest: manifest.write_bytes(manifest.read_bytes().replace(b"files/0", b"../../0")),
    "gone": lambda manifest: manifest.unlink(),
}


@every_own
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_overlay_is_refused_and_made_again(own, damage):
    damage(own.built / "manifest")
    ended = own("-c", "print('ran')")
    assert_refused(ended, f"{own.built}: the overlay is damaged (")
    assert (ended.code, ended.out) == (1, "")
    assert done(own.run(own.python, "-c", IMPORT)).out == "2\n", "it is made anew"


@every
def test_options_of_the_program_are_not_those_of_the_interpreter(over):
    code = "import demo.m as m, sys; print(m.VALUE, sys.argv[1:])"
    assert done(over.run(over.python, "-W", "ignore", "-c", code, "-I", "-S")).out == "2 ['-I', '-S']\n"


# beside others --------------------------------------------------------------------------------------------------------
@every
def test_a_sitecustomize_behind_the_overlay_runs_as_if_alone(over, tmp_path):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "sitecustomize.py").write_text("import sys\nprint('theirs', __name__, sys.path[0] == __file__.rsplit('/', 1)[0])\n")
    path = os.pathsep.join([over.path.split(os.pathsep)[0], str(theirs)])
    code = IMPORT + "; import sitecustomize; print(sitecustomize.__file__)"
    lines = done(over("-c", code, PYTHONPATH=path)).out.splitlines()
    assert lines == ["theirs sitecustomize True", "2", str(theirs / "sitecustomize.py")]


@every
def test_a_sitecustomize_behind_the_overlay_fails_as_if_alone(over, tmp_path):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    path = os.pathsep.join([over.path.split(os.pathsep)[0], str(theirs)])
    (theirs / "sitecustomize.py").write_text("import no_such_module\n")
    ended = done(over("-c", IMPORT, PYTHONPATH=path))
    plain = over("-c", "pass", PYTHONPATH=str(theirs))
    assert ended.out == "2\n"
    assert "no_such_module" in ended.err
    assert ended.err == plain.err


@every
def test_a_sitecustomize_in_front_may_pass_on_to_the_overlay(over, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys\n"
        "here = os.path.dirname(os.path.abspath(__file__))\n"
        "path = list(sys.path); sys.path[:] = [p for p in path if p != here]\n"
        "mine = sys.modules.pop('sitecustomize')\n"
        "import sitecustomize\n"
        "sys.path[:] = path\n"
        "print('in front')\n"
    )
    path = os.pathsep.join([str(tmp_path), over.path])
    assert done(over("-c", IMPORT, PYTHONPATH=path)).out == "in front\n2\n"


def test_an_overlay_inside_another_is_refused_unless_both_are_the_same(own):
    inner = own.run(*inside(own, "demo-patch"))
    assert done(inner).out == "2\n", "the same one"
    patchset(own.folder, "Why.\n\n--- demo/other.py\n@@ <module> @@\n-VALUE = 1\n+VALUE = 2\n", "another")
    ended = done(own.run(*inside(own, "another")), 2)
    assert "PYTHONPATH: found another overlay" in ended.err
    assert "name all patchsets in one command" in ended.err
    assert ended.out == ""


def inside(own, name):
    words = ["run", name, "--verify", "none", "--overlay", "--python", own.python, "--patch-dir", own.folder / "mine", "--"]
    return [sys.executable, "-m", "patcher", *words, own.python, "-c", IMPORT]


@pytest.mark.once
def test_what_is_applied_stays_and_the_overlay_takes_precedence(own):
    patchset(own.folder, "Why.\n\n--- demo/m.py\n@@ answer @@\n-return VALUE * 1\n+return VALUE + 10\n", "another")
    where = ["--python", own.python, "--patch-dir", own.folder / "mine"]
    done(sitepatch("apply", "another", *where, cwd=own.folder))
    assert done(own.run(own.python, "-c", "import demo.m as m; print(m.answer())")).out == "12\n"
    assert done(own.run(own.python, "-c", "import demo.m as m; print(m.answer())", names=["another"])).out == "11\n"
    path = done(own.run(own.python, "-c", "import os; print(os.environ['PYTHONPATH'])")).out.strip()
    done(sitepatch("restore", "--python", own.python, cwd=own.folder))
    assert_refused(own("-c", IMPORT, PYTHONPATH=path), "is another file than the one that was patched")


# the cache ------------------------------------------------------------------------------------------------------------
@pytest.mark.once
def test_nothing_is_run_from_a_directory_of_overlays_that_others_may_write(own):
    home = own.cache / "overlay"
    home.mkdir(parents=True)
    home.chmod(0o775)
    ended = done(own.run("echo", "ran"), 1)
    assert f"{home}: found mode 775, expected 700" in ended.err
    assert ended.out == ""


@pytest.mark.once
def test_nothing_is_run_from_a_directory_of_overlays_that_is_a_link(own):
    home = own.cache / "overlay"
    (own.cache / "elsewhere").mkdir(parents=True, mode=0o700)
    home.symlink_to("elsewhere")
    ended = done(own.run("echo", "ran"), 1)
    assert f"{home}: found a link or a file, expected a directory" in ended.err
    assert ended.out == ""


@pytest.mark.once
def test_nothing_is_run_from_a_cache_that_others_may_write(own):
    own.cache.mkdir()
    own.cache.chmod(0o777)
    ended = done(own.run("echo", "ran"), 1)
    assert f"{own.cache}: others may write to it (everybody)" in ended.err
    assert ended.out == ""


@pytest.mark.once
def test_in_a_cache_like_tmp_the_overlay_is_for_its_owner_alone(own):
    own.cache.mkdir()
    own.cache.chmod(0o1777)
    assert done(own.run("echo", "ran")).out == "ran\n"
    assert (own.cache / "overlay").stat().st_mode & 0o777 == 0o700
    assert own.built.stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make directories of other users")
def test_nothing_is_run_from_the_cache_of_another_user(own):
    home = own.cache / "overlay"
    home.mkdir(parents=True, mode=0o700)
    os.chown(str(home), 1234, 1234)
    assert f"{home}: belongs to user 1234, not to you" in done(own.run("echo", "ran"), 1).err


@pytest.mark.once
def test_a_cache_that_is_unwritable_or_that_pythonpath_cannot_name_is_refused(own):
    (own.folder / "file").write_text("")
    ended = done(own.run("echo", "ran", SITEPATCH_CACHE=str(own.folder / "file")), 1)
    assert "set SITEPATCH_CACHE to a directory that you may write to" in ended.err
    ended = done(own.run("echo", "ran", SITEPATCH_CACHE=str(own.folder / "a:b")), 1)
    assert "PYTHONPATH cannot name a directory with :" in ended.err


@pytest.mark.once
def test_equal_runs_share_an_overlay_and_a_damaged_copy_is_made_again(own):
    def inodes():
        return {path: path.stat().st_ino for path in own.built.rglob("*.py")}

    assert own.prints(IMPORT) == "2"
    before = inodes()
    done(own.run("true"))
    assert inodes() == before
    copy = own.built / "files/0/demo/m.py"
    copy.write_text("VALUE = 666\n")
    assert done(own.run(own.python, "-c", IMPORT)).out == "2\n"
    assert copy.read_text() == PATCHED
    assert [path.name for path in own.built.parent.iterdir()] == [own.built.name], "nothing is left beside it"


@pytest.mark.once
def test_many_processes_make_one_overlay_at_once(own):
    command = [str(word) for word in inside(own, "demo-patch")]
    options = {"cwd": str(own.folder), "env": environ(SITEPATCH_CACHE=str(own.cache))}
    children = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options) for _ in range(8)]
    for child in children:
        out, err = child.communicate()
        assert (out, child.returncode) == (b"2\n", 0), err
    assert len(list((own.cache / "overlay").iterdir())) == 1


@pytest.mark.once
@pytest.mark.parametrize("locks", [True, False])  # on NFS no lock of another machine is seen
def test_threads_make_one_overlay_in_every_order(own, monkeypatch, locks):
    if not locks:
        monkeypatch.setattr(fcntl, "flock", lambda *_: None)
    monkeypatch.setenv("SITEPATCH_CACHE", str(own.cache))
    files = [FilePlan(str(own.site), "demo/m.py", M.encode(), PATCHED.encode(), None, ())]
    for number in range(40 if locks else 15):
        shutil.rmtree(str(own.cache), ignore_errors=True)
        if number % 2 and locks:
            (write_overlay(files) / "manifest").write_text("damaged")
        start = Barrier(8)
        with ThreadPoolExecutor(8) as pool:
            writers = [pool.submit(folder_and_inode, files, start) for _ in range(8)]
        (folder,) = (own.cache / "overlay").iterdir()
        for writer in writers:
            assert writer.result() == (folder, folder.stat().st_ino), "what a process was given stays there"
        assert (folder / "files/0/demo/m.py").read_text() == PATCHED


def folder_and_inode(files, start):
    """Those of the overlay that a thread writes as soon as all of them are there."""
    start.wait()
    folder = write_overlay(files)
    return folder, folder.stat().st_ino


def test_a_file_that_changes_between_the_plan_and_the_overlay_is_refused(own, monkeypatch):
    monkeypatch.setenv("SITEPATCH_CACHE", str(own.cache))
    with pytest.raises(OutdatedError, match="was changed since it was looked at"):
        write_overlay([FilePlan(str(own.site), "demo/m.py", b"VALUE = 0\n", PATCHED.encode(), None, ())])


def test_an_overlay_works_in_paths_of_every_kind(tmp_path):
    folder = tmp_path / "a b'\"é$(x)"
    folder.mkdir()
    own = Overlay(folder, sys.executable)
    assert done(own.run(own.python, "-c", IMPORT)).out == "2\n"
    link = tmp_path / "link"
    link.symlink_to(own.folder / "env")
    assert done(own.run(link / "bin" / "python", "-c", IMPORT)).out == "2\n", "the same directory by another name"


def test_a_link_into_a_shared_cache_is_patched_and_stays_a_link(own):
    file, shared = own.site / "demo" / "m.py", own.folder / "shared"
    file.rename(shared)
    file.symlink_to(shared)
    assert own.prints(IMPORT) == "2"
    assert (file.is_symlink(), shared.read_text()) == (True, M)


# verifying ------------------------------------------------------------------------------------------------------------
@pytest.mark.once
def test_an_overlay_is_verified_once_and_a_failed_one_is_not_run(own):
    manifest = own.folder / "mine" / "demo-patch" / "patchset.toml"
    manifest.write_text(manifest.read_text() + '[verify]\nimports = ["demo.m"]\n')
    ended = done(own.run(own.python, "-c", IMPORT, options=()))
    assert "verified  2 files compiled" in ended.err
    assert "1 module imported" in ended.err
    assert "verified " not in done(own.run(own.python, "-c", IMPORT, options=())).err
    spatch = manifest.with_name("p.spatch")
    spatch.write_text(spatch.read_text().replace('+SECOND = FIRST\n', '+SECOND = 1 // len([])\n'))
    for _ in range(2):
        ended = done(own.run(own.python, "-c", IMPORT, options=()), 1)
        assert "ZeroDivisionError" in ended.err
        assert "nothing was run: verification failed" in ended.err
        assert ended.out == ""
    assert "import demo.m: the process" not in done(own.run("echo", "ran", options=("--verify", "compile",))).err


def test_a_probe_sees_the_patched_source(own):
    folder = own.folder / "mine" / "demo-patch"
    (folder / "probe.py").write_text("import demo.m\nassert demo.m.VALUE == 2, demo.m.VALUE\n")
    manifest = folder / "patchset.toml"
    manifest.write_text(manifest.read_text() + '[verify]\nprobe = "probe.py"\n')
    assert "1 probe passed" in done(own.run("true", options=("--verify", "probe",))).err


# where nothing can be written -----------------------------------------------------------------------------------------
@pytest.mark.once
def test_an_overlay_works_for_an_unwritable_site_directory(own):
    before = tree(own.site)
    with unwritable(own.site):
        assert done(own.run(own.python, "-c", IMPORT)).out == "2\n"
        where = ["--python", own.python, "--patch-dir", own.folder / "mine"]
        done(sitepatch("apply", "demo-patch", *where, cwd=own.folder), 1)
    assert tree(own.site) == before


HANDLED = """
import importlib.util as u
spec = u.spec_from_file_location('x', {!r})
try:
    spec.loader.exec_module(u.module_from_spec(spec))
except ImportError:
    print('handled')
"""


@pytest.mark.parametrize("stderr", STDERRS)
def test_no_message_of_an_overlay_changes_how_a_process_ends(own, stderr):
    """A message that cannot be printed raises nothing: a refusal that a program handles, and a stop."""
    open_stderr, redirection = STDERRS[stderr]

    def run(code):
        descriptor = open_stderr()
        words = ["/bin/sh", "-c", f'exec "$0" -c "$1" {redirection}', str(own.python), code]
        env = environ(PYTHONPATH=own.path)
        completed = subprocess.run(words, env=env, stdout=subprocess.PIPE, stderr=descriptor, timeout=60)
        os.close(descriptor)
        return completed.returncode, completed.stdout

    assert run(HANDLED.format(str(own.site / "demo/m.py"))) == (0, b"handled\n")
    (own.built / "manifest").write_bytes(b"?")
    assert run("print('started')") == (1, b"")

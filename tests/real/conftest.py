"""A real environment with torch and mmengine, made once and kept, and cheap copies of it that a test may patch."""

import fcntl
import hashlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from cards import lay_card

from patcher.patchset.places import builtin_dir
from tests.records import rerecord

TORCH, MMENGINE = "2.13.0", "0.10.7"
AROUND = ["accelerate==1.15.0", "transformers==5.24.0", "mmcv-lite==2.2.0"]  # what stands beside them in the patchsets of the library
# mmengine's own requirements, with the OpenCV that needs no libGL; the versions are whatever fits together today.
SUPPORT = ["addict", "matplotlib", "numpy", "pyyaml", "rich", "termcolor", "yapf", "opencv-python-headless"]
COMMAND_ROOT = Path(__file__).resolve().parents[2]
TARGETS = {
    "mmengine": [
        "mmengine/dist/utils.py", "mmengine/runner/runner.py", "mmengine/_strategy/single_device.py",
        "mmengine/_strategy/distributed.py", "mmengine/_strategy/fsdp.py", "mmengine/_strategy/deepspeed.py",
        "mmengine/_strategy/colossalai.py", "mmengine/device/utils.py",
        "mmengine/runner/amp.py", "mmengine/optim/optimizer/amp_optimizer_wrapper.py", "mmengine/logging/logger.py",
        "mmengine/dist/dist.py", "mmengine/structures/instance_data.py", "mmengine/runner/checkpoint.py",
        "mmengine/utils/package_utils.py", "mmengine/hooks/empty_cache_hook.py", "mmengine/runner/log_processor.py",
    ],
    "torch": ["torch/multiprocessing/reductions.py", "torch/_dynamo/config.py", "torch/_dynamo/eval_frame.py"],
}  # fmt: skip


VENDORS_BRANCH = b"""\
    elif storage.is_musa:
        raise RuntimeError("cannot send a MUSA storage; send the tensor")
"""
BEFORE_VENDORS_BRANCH = b"""\
    else:
        fd, size = storage._share_fd_cpu_()
"""


def child_environ(**more):
    """The variables for a child: nothing that tells it where packages are or not to write bytecode."""
    dropped = ("PYTHON", "TORCH", "VIRTUAL_ENV", "CONDA_", "RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_", "SITEPATCH")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return {**kept, "PYTHONNOUSERSITE": "1", "PYTHONIOENCODING": "utf-8", "OMP_NUM_THREADS": "1", "SITEPATCH_CACHE": os.devnull, **more}


class Ended:
    """How a child ended: `code` is None where the time limit ended it."""

    def __init__(self, code, out):
        self.code, self.out = code, out

    def __repr__(self):
        return f"exit code {self.code}, output:\n{self.out}"


def run(command, *, cwd, limit=600, **more):
    """Run a command with stdout and stderr as one text; at the limit its whole process group is killed."""
    child = subprocess.Popen(
        [str(part) for part in command],
        cwd=str(cwd),
        env=child_environ(**more),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    with child:
        try:
            out, _ = child.communicate(timeout=limit)
            code = child.returncode
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            out, _ = child.communicate()
            code = None
    return Ended(code, out.decode("utf-8", "replace"))


def fingerprint(site, package):
    """sha256, mode and mtime of every target file of a package."""
    fingerprints = {}
    for path in TARGETS[package]:
        stat = (site / path).stat()
        fingerprints[path] = hashlib.sha256((site / path).read_bytes()).hexdigest(), stat.st_mode, stat.st_mtime_ns
    return fingerprints


class Environment:
    """A venv of its own in which every file is a hard link to the kept one, so a test may patch it as it likes."""

    def __init__(self, root, tmp_path):
        self.root, self.cwd = root, tmp_path
        self.python = root / "bin" / "python"
        (self.site,) = root.glob("lib/python3*/site-packages")

    def sitepatch(self, *arguments):
        """Run the command of this checkout on this environment."""
        command = [sys.executable, "-m", "patcher", *arguments, "--python", self.python]
        return run(command, cwd=COMMAND_ROOT)

    def script(self, name, *arguments, **more):
        """Run a script that lies beside the tests."""
        return run([self.python, Path(__file__).with_name(name), *arguments], cwd=self.cwd, **more)

    def ranks(self, number, name, *arguments, nodes=1, **more):
        """Run a script on so many ranks of each node; `-m torch.distributed.run` is torchrun with an interpreter that we choose."""
        launch = [self.python, "-m", "torch.distributed.run", f"--nproc_per_node={number}"]
        command = [Path(__file__).with_name(name), *arguments]
        if nodes == 1:
            return run([*launch, "--standalone", *command], cwd=self.cwd, **more)
        with socket.socket() as free:
            free.bind(("localhost", 0))
            place = f"localhost:{free.getsockname()[1]}"
        launch += [f"--nnodes={nodes}", "--rdzv_backend=c10d", f"--rdzv_endpoint={place}", f"--rdzv_id={place[10:]}"]
        with ThreadPoolExecutor() as launchers:
            ended = list(launchers.map(lambda _: run([*launch, *command], cwd=self.cwd, **more), range(nodes)))
        return Ended(max(each.code or 0 for each in ended), "".join(each.out for each in ended))

    def results(self, number, *ways):
        """What so many ranks make of ways to train: the lines of `unchanged_script.py`, sorted."""
        ended = self.ranks(number, "unchanged_script.py", *ways) if number > 1 else self.script("unchanged_script.py", *ways)
        return sorted(line for line in ended.out.splitlines() if line.startswith("unchanged "))  # gloo may abort at exit

    def probe(self, name):
        """Run the probe of a built-in patchset as `--verify probe` does: isolated, in an empty directory."""
        with tempfile.TemporaryDirectory() as empty:
            return run([self.python, "-I", Path(builtin_dir()) / name / "probe.py"], cwd=empty, limit=300)

    def replace_text(self, path, old, new):
        """Edit a file as a vendor's build would have shipped it: RECORD is adjusted, so it counts as pristine."""
        file = self.site / path
        data = file.read_bytes()
        assert data.count(old) == 1
        data = data.replace(old, new)
        file.unlink()  # a hard link: the kept environment must not change
        file.write_bytes(data)
        rerecord(self.site, path, data)

    def add_vendors_branch(self):
        """Put the branch into torch that a vendor's build has for MUSA, which torch-musa-guard is about; that build cannot be fetched."""
        self.replace_text("torch/multiprocessing/reductions.py", BEFORE_VENDORS_BRANCH, VENDORS_BRANCH + BEFORE_VENDORS_BRANCH)


@pytest.fixture(scope="session")
def real_cache(request):
    """A folder that outlives the session: SITEPATCH_TEST_CACHE, else pytest's cache (`--cache-clear` empties it)."""
    chosen = os.environ.get("SITEPATCH_TEST_CACHE")
    path = Path(chosen).absolute() if chosen else Path(request.config.cache.mkdir("sitepatch-real"))
    path.mkdir(parents=True, exist_ok=True)
    return path


def linked(kept, copy):
    """Copy an environment by hard links: 20,000 files, for which `cp` takes a fifth of what `shutil.copytree` does."""
    if subprocess.run(["cp", "-al", str(kept), str(copy)], stderr=subprocess.DEVNULL).returncode:  # not GNU's
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(kept, copy, symlinks=True, copy_function=os.link)


@contextmanager
def alone(cache):
    """Let one process at a time make something in the cache: a worker of `-n` waits until the other has made it."""
    with open(cache / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def tell(request):
    """Write a line to the terminal whatever pytest captures: making the environment takes minutes."""
    reporter = request.config.pluginmanager.getplugin("terminalreporter")
    capture = request.config.pluginmanager.getplugin("capturemanager")

    def write(line):
        if reporter is None:  # a worker of `-n` has no terminal
            return
        with capture.global_and_fixture_disabled():
            reporter.ensure_newline()
            reporter.write_line("  " + line)

    return write


def python_3_11():
    """A Python 3.11 (torch 2.13.0 and mmengine 0.10.7 both run on it), or None."""
    candidates = [sys.executable, shutil.which("python3.11")]
    uv = shutil.which("uv") or shutil.which("uv", path=sysconfig.get_path("scripts"))
    if uv:
        search = subprocess.run([uv, "python", "find", "3.11"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        candidates.append(search.stdout.decode().strip())
    for python in filter(None, candidates):
        question = "import sys, venv, ensurepip; print(sys.version_info[:2] == (3, 11))"
        answer = subprocess.run([python, "-c", question], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if answer.stdout.strip() == b"True":
            return python
    return None


@pytest.fixture(scope="session")
def kept_environment(real_cache, tell):
    """The venv with torch and mmengine; made by real venv and pip the first time, only looked at by tests."""
    root = real_cache / f"torch-{TORCH}-mmengine-{MMENGINE}-py311"
    with alone(real_cache):
        if not (root / "complete").exists():
            make_environment(root, tell)
    return root


def make_environment(root, tell):
    make_venv(root, tell, [f"torch=={TORCH}", *SUPPORT], ["--no-deps", f"mmengine=={MMENGINE}"])
    (root / "complete").touch()


def make_venv(root, tell, *installs):
    """Make a virtual environment and run pip in it with each of these lists of words."""
    python = python_3_11()
    if python is None:
        pytest.skip("there is no Python 3.11 here to make the environment with torch and mmengine")
    shutil.rmtree(root, ignore_errors=True)
    tell(f"making the environment {root}; this takes minutes, once")
    stream([python, "-m", "venv", root], tell)
    pip = [root / "bin" / "python", "-m", "pip", "install", "--progress-bar", "off", "--disable-pip-version-check"]
    for words in installs:
        stream([*pip, *words], tell)
    for headers in root.glob("lib/python3*/site-packages/torch/include"):
        shutil.rmtree(headers)  # a third of all files, each of them linked and removed for every copy, and nothing compiles against them


def stream(command, tell):
    """Run a command of some minutes and pass on the lines that show how far it is; fail with all of them."""
    lines = []
    with subprocess.Popen(
        [str(part) for part in command], env=child_environ(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as child:
        for raw in child.stdout:
            lines.append(raw.decode("utf-8", "replace").rstrip())
            if lines[-1].lstrip().startswith(("Collecting", "Downloading", "Installing", "Successfully")):
                tell(lines[-1].strip()[:110])
    if child.returncode:
        pytest.fail("\n".join([" ".join(map(str, command)), *lines[-40:]]), pytrace=False)


@pytest.fixture
def environment(kept_environment, tmp_path):
    """A copy made of hard links (half a second). Afterwards the kept environment's own files must be untouched."""
    site = Environment(kept_environment, tmp_path).site
    before = {package: fingerprint(site, package) for package in TARGETS}
    with tempfile.TemporaryDirectory(prefix="copy-", dir=str(kept_environment.parent)) as folder:
        copy = Path(folder) / "env"
        linked(kept_environment, copy)
        yield Environment(copy, tmp_path)
    if {package: fingerprint(site, package) for package in TARGETS} != before:
        (kept_environment / "complete").unlink()  # it is spoilt: the next session makes it anew
        pytest.fail("a file of the kept environment was changed: something wrote through a hard link")


@pytest.fixture
def carded(environment):
    """With the stand-in card: of a kind that MMEngine does not know."""
    return lay_card(environment, "gcu")


@pytest.fixture
def musa(environment):
    """With the stand-in card as one of a kind that MMEngine knows."""
    return lay_card(environment, "musa")


@pytest.fixture(scope="session")
def kept_library(kept_environment, real_cache, tell):
    """The kept environment with AROUND added."""
    kept = real_cache / "-".join([kept_environment.name, *(name.replace("==", "-") for name in AROUND)])
    with alone(real_cache):
        if not (kept / "complete").exists():
            tell(f"adding {', '.join(AROUND)} to a copy of the environment, in {kept}")
            shutil.rmtree(kept, ignore_errors=True)
            linked(kept_environment, kept)
            (kept / "complete").unlink()
            pip = [kept / "bin" / "python", "-m", "pip", "install", "--disable-pip-version-check"]
            stream([*pip, "--no-deps", *(name for name in AROUND if name.startswith("mmcv"))], tell)
            stream([*pip, *(name for name in AROUND if not name.startswith("mmcv"))], tell)
            (kept / "complete").touch()
    return kept


def beside(kept, folder):
    """An environment of its own that finds the rest in a kept one: what pip installs into it comes first, and is all that a test changes."""
    root = folder / "env"
    subprocess.run([python_3_11(), "-m", "venv", "--without-pip", str(root)], check=True, env=child_environ())
    environment = Environment(root, folder)
    (environment.site / "beside.pth").write_text(f"{Environment(kept, folder).site}\n")
    return environment


@pytest.fixture
def library(kept_library, tmp_path):
    """An environment beside the one with AROUND in it."""
    return beside(kept_library, tmp_path)

"""Files of a release straight from its wheel, kept in the cache, and laid out as pip would have installed them."""

import ast
import os
import shutil
import subprocess
import sys
import zipfile

import pytest
from conftest import COMMAND_ROOT, TARGETS, alone, child_environ, run

from tests.records import with_record, write_files

ALL = os.environ.get("SITEPATCH_ALL_RELEASES") == "1"
slow = pytest.mark.skipif(not ALL, reason="a minute of its own: SITEPATCH_ALL_RELEASES=1 runs it")
# No Python has a wheel of every torch or triton. Torch's smallest are for macOS, their .py files are those for Linux; triton
# has wheels for Linux alone.
MACOS = ["--platform=macosx_11_0_arm64", "--platform=macosx_14_0_arm64"]
LINUX = [f"--platform={name}_x86_64" for name in ("manylinux2014", "manylinux_2_17", "manylinux_2_27", "manylinux_2_28")]
PLATFORMS = {"torch": MACOS, "triton": LINUX}


def files_of(cache, distribution, version, paths):
    """{path: bytes} of those of `paths` that a release has; fetched by pip the first time, the wheel is not kept."""
    kept = cache / "releases" / f"{distribution}-{version}"
    requested = kept / "asked"  # what was looked for: the release need not have all of it
    with alone(cache):
        if not requested.exists() or not set(paths) <= set(requested.read_text().split()):
            fetched = kept.with_name(kept.name + ".part")
            shutil.rmtree(fetched, ignore_errors=True)
            fetched.mkdir(parents=True)
            wheel = fetch(fetched, distribution, version)
            with zipfile.ZipFile(wheel) as archive:
                for path in set(paths) & set(archive.namelist()):
                    archive.extract(path, fetched)
            wheel.unlink()
            (fetched / "asked").write_text("\n".join(paths))
            shutil.rmtree(kept, ignore_errors=True)
            fetched.rename(kept)
    return {path: (kept / path).read_bytes() for path in paths if (kept / path).exists()}


def target_files(cache, distribution, version):
    """{path: bytes} of the files of a release that the built-in patchsets are about."""
    return files_of(cache, distribution, version, TARGETS[distribution.partition("-")[0]])


def fetch(folder, distribution, version):
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--quiet"]
    command += ["--disable-pip-version-check", "--dest", str(folder), f"{distribution}=={version}"]
    for python in ("3.10", "3.12"):
        more = ["--python-version", python, *PLATFORMS.get(distribution, [])]
        ended = subprocess.run(command + more, env=child_environ(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if ended.returncode == 0:
            (wheel,) = folder.glob("*.whl")
            return wheel
    return pytest.fail(ended.stdout.decode("utf-8", "replace"), pytrace=False)


def install(site, distribution, version, files):
    """Put files into a site directory with the RECORD that proves them pristine."""
    write_files(site, with_record(distribution, version, files))


def sitepatch(site, *arguments):
    """Run the command of this checkout on a directory of packages; it has to end well."""
    ended = run([sys.executable, "-m", "patcher", *arguments, "--target", site], cwd=COMMAND_ROOT)
    assert ended.code == 0, ended
    return ended.out


def assert_compiles(path, before, after):
    """The patched text compiles here, and parses with every older Python with which the text of the release does."""
    compile(after, path, "exec", dont_inherit=True)
    for minor in (7, 8):
        try:
            ast.parse(before, feature_version=(3, minor))
        except SyntaxError:  # the release itself is for later ones
            continue
        ast.parse(after, path, feature_version=(3, minor))

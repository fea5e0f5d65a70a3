"""mmengine-pkg-resources: with a setuptools that has no pkg_resources the real MMEngine says of each package what it said with one."""

import pytest
from conftest import run
from wheels import files_of, install, sitepatch, slow

pytestmark = pytest.mark.real

NAME, FILE = "mmengine-pkg-resources", "mmengine/utils/package_utils.py"
MISSING = "ModuleNotFoundError: No module named 'pkg_resources'"


def setuptools(environment, version):
    """Let pip install a release of setuptools; what it replaces is unlinked, so that the kept environment stays as it is."""
    pip = [environment.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"setuptools=={version}"]
    ended = run(pip, cwd=environment.cwd)
    assert ended.code == 0, ended


def packages(ended):
    return [line for line in ended.out.splitlines() if line.startswith("package ")]


def test_what_is_installed_and_where_is_what_pkg_resources_says(environment):
    setuptools(environment, "80.9.0")
    before = packages(environment.script("packages_script.py"))
    assert f"package mmengine True {environment.site / 'mmengine'} mmengine" in before
    assert "package no-such-package False not found not found" in before and len(before) > 30

    setuptools(environment, "82.0.1")
    failed = environment.script("packages_script.py")
    assert failed.code == 1 and failed.out.endswith(MISSING + "\n"), failed
    assert environment.probe(NAME).code == 1
    applied = environment.sitepatch("apply", NAME)
    assert applied.code == 0, applied
    assert packages(environment.script("packages_script.py")) == before
    probed = environment.probe(NAME)
    assert probed.code == 0 and "its module is mmengine" in probed.out, probed


@slow
@pytest.mark.parametrize("version", ["0.1.0", "0.5.0"])
def test_older_releases_say_the_same(real_cache, environment, version):
    """Up to 0.4.0 the module imports pkg_resources, so that it cannot be imported itself; from 0.5.0 on its functions do."""
    site = environment.cwd / "older"
    install(site, "mmengine", version, files_of(real_cache, "mmengine", version, [FILE]))
    setuptools(environment, "80.9.0")
    before = packages(environment.script("packages_script.py", site / FILE))
    setuptools(environment, "82.0.1")
    failed = environment.script("packages_script.py", site / FILE)
    assert failed.code == 1 and failed.out.endswith(MISSING + "\n"), failed
    sitepatch(site, "apply", NAME, "--verify", "compile")
    after = packages(environment.script("packages_script.py", site / FILE))
    assert after == before and len(after) > 30

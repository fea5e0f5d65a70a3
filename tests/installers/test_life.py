"""A hook in requirements from its first install to its last uninstall, by real pip and uv."""

import pytest

from tests.command import UV
from tests.installers.ways import EACH, WAYS
from tests.installers.world import ALL, ORCHARD, PATCHED, STOCK, assert_settled, hooks, sources

pytestmark = [pytest.mark.real, pytest.mark.once, pytest.mark.skipif(not UV, reason="uv is not here")]
RELEASES = [  # one after the other
    ("1.0", PATCHED),  # reinstalled
    ("1.1", PATCHED),
    ("2.0", STOCK),  # the patch does not fit
    ("1.0", PATCHED),
]
if ALL:
    RELEASES += [("1.2", PATCHED), ("1.1", PATCHED)]
SHIPPED = {"", *(text for release in ORCHARD.values() for text in release)}


@pytest.mark.parametrize("way", EACH)
def test_from_the_first_install_to_the_last_uninstall(project, way):
    env, install = project.env, WAYS[way]
    project.init_hook()
    install(project, "orchard==1.0", "sitepatch")
    without_hook = sources(env)
    install(project, "orchard==1.0", "sitepatch", "./patches")
    assert_settled(project, PATCHED)

    requirements = ["sitepatch", "./patches"]
    reinstall = ["--force-reinstall"]
    if way == "pip" and not ALL:  # it builds ./patches at every install, for seconds
        requirements.remove("./patches")
        reinstall.append("--no-deps")
    for release, state in RELEASES:
        install(project, f"orchard=={release}", *requirements, more=reinstall if release == "1.0" else [])
        assert_settled(project, state)
    for path in (project.folder / "home").rglob("orchard/*.py"):
        assert path.read_text() in SHIPPED, "the cache of the installer was written to"

    uninstall(env, way, ["orchard"])
    assert env.start("import orchard").err.splitlines()[-1] == "ModuleNotFoundError: No module named 'orchard'"
    install(project, "orchard==1.0", *requirements)
    assert_settled(project, PATCHED)

    uninstall(env, way, hooks(env))
    assert env.state() == PATCHED  # which an uninstall of the hook does not change
    project.sitepatch("restore", "--python", env.python)
    assert env.state() == STOCK
    assert sources(env) == without_hook


def uninstall(env, way, names):
    assert names
    if way == "pip":
        env.pip("uninstall", "-q", "-y", *names)
    else:
        env.uv("uninstall", *names)

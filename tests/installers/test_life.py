"""A hook in requirements from its first install to its last uninstall, by real pip and uv."""

import pytest

from tests.installers.ways import EACH, WAYS
from tests.installers.world import ALL, ORCHARD, PATCHED, STOCK, UV, hooks, settled, sources

pytestmark = [pytest.mark.real, pytest.mark.once, pytest.mark.skipif(not UV, reason="uv is not here")]
MORE = [("1.2", PATCHED), ("1.1", PATCHED)]


def cached(project):
    """The sources of the package in the caches of the installers."""
    found = [path.read_text() for path in (project.folder / "home").rglob("*.py") if path.parent.name == "orchard"]
    return [text for text in found if text]


@pytest.mark.parametrize("way", EACH)
def test_from_the_first_install_to_the_last_uninstall(project, way):
    env, install = project.env, WAYS[way]
    project.keep()
    others = ["sitepatch"]
    install(project, "orchard==1.0", *others)
    without = sources(env)
    install(project, "orchard==1.0", *others, "./patches")
    settled(project, PATCHED)

    again = ["./patches"] if ALL or way != "pip" else []  # it builds that at every install, for seconds
    # reinstalled, an upgrade, one that does not fit, a downgrade
    for release, state in (("1.0", PATCHED), ("1.1", PATCHED), ("2.0", STOCK), ("1.0", PATCHED), *(MORE if ALL else [])):
        more = ["--force-reinstall", *([] if again else ["--no-deps"])] if release == "1.0" else []
        install(project, f"orchard=={release}", *others, *again, more=more)
        settled(project, state)
    for text in cached(project):
        assert text in {text for release in ORCHARD.values() for text in release}, "the cache of the installer was written to"

    uninstall(env, way, ["orchard"])
    assert env.start("import orchard").err.splitlines()[-1] == "ModuleNotFoundError: No module named 'orchard'"
    install(project, "orchard==1.0", *others, *again)
    settled(project, PATCHED)

    uninstall(env, way, hooks(env))
    assert env.state() == PATCHED  # which an uninstall of the hook does not change
    project.sitepatch("restore", "--python", env.python)
    assert env.state() == STOCK
    assert sources(env) == without


def uninstall(env, way, names):
    if names and way == "pip":
        env.pip("uninstall", "-q", "-y", *names)
    elif names:
        env.uv("uninstall", *names)

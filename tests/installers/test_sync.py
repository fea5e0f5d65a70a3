"""One more command after an install: `sitepatch sync`, and `sitepatch apply` as the last layer of an image."""

import re

import pytest

from tests.command import UV
from tests.installers.ways import EACH, WAYS
from tests.installers.world import NAME, PATCHED, STOCK

pytestmark = [pytest.mark.real, pytest.mark.once, pytest.mark.skipif(not UV, reason="uv is not here")]
LINES = ["orchard==1.0", f"# sitepatch: {NAME}"]


def sync(project, *words, code=0):
    """The command from outside of the environment: `uv pip sync` keeps only what is listed, and sitepatch needs packages."""
    return project.sitepatch("sync", "-r", "requirements.txt", "--python", project.env.python, *words, code=code)


@pytest.mark.parametrize("way", EACH)
def test_sync_after_an_install_makes_it_patched_again(project, way):
    install = WAYS[way]
    install(project, *LINES)
    assert project.env.state() == STOCK
    sync(project)
    assert project.env.state() == PATCHED
    before = project.env.tree()
    sync(project)
    changed = {path for path, what in project.env.tree().items() if before.get(path) != what}
    assert {path for path in changed if "__pycache__" not in path} <= {".sitepatch/lock"}
    for release in ("1.0", "1.1"):
        install(project, f"orchard=={release}", *LINES[1:], more=["--force-reinstall"])
        assert project.env.state() == STOCK
        sync(project)
        assert project.env.state() == PATCHED
    install(project, "orchard==2.0", *LINES[1:])
    assert "orchard/trees.py" in sync(project, code=1).out
    assert project.env.state() == STOCK


def test_the_last_layer_of_an_image_holds_the_changed_files_alone(project):
    """The lines of the documentation's Dockerfile, in an environment that stands for the image."""
    WAYS["pip"](project, *LINES, "sitepatch")
    patchsets = project.folder / "bind"
    (project.folder / "patchsets").rename(patchsets)
    before = project.env.tree()
    project.env.call("sitepatch", "apply", "--patch-dir", patchsets, NAME, cwd="/")
    after = project.env.tree()
    layer = {path for path, what in after.items() if before.get(path) != what}
    assert {path for path in layer if not path.startswith(".sitepatch")} == {"orchard/basket.py", "orchard/trees.py"}
    assert all(path.endswith(".pyc") for path in set(before) - set(after))
    assert project.env.state() == PATCHED


def test_with_pins_another_environment_becomes_the_same_or_nothing_is_done(project):
    """The lines of the documentation for an image: the patchset in the version that is pinned, or nothing."""
    WAYS["pip"](project, *LINES)
    requirements = project.folder / "requirements.txt"
    text = requirements.read_text()
    manifest = project.folder / "patchsets" / NAME / "patchset.toml"
    version = re.search('^version = "(.*)"', manifest.read_text(), re.MULTILINE)[1]
    requirements.write_text(text.replace(NAME, f"{NAME}==0.1"))
    before = project.env.tree()
    assert f"found version {version}" in sync(project, code=1).err
    assert project.env.tree() == before and project.env.state() == STOCK
    requirements.write_text(text.replace(NAME, f"{NAME}=={version}"))
    sync(project)
    assert project.env.state() == PATCHED

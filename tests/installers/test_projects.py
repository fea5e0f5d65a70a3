"""The hook in the projects of uv, Poetry, PDM and Hatch, each the real tool from the index."""

import shutil

import pytest

from tests.command import UV
from tests.installers.projects import EACH, TOOLS
from tests.installers.world import NAME, PATCHED, STOCK, assert_settled, sources

pytestmark = [pytest.mark.real, pytest.mark.once, pytest.mark.skipif(not UV, reason="uv is not here")]


@pytest.mark.parametrize("tool", EACH)
def test_a_project_of_a_tool_keeps_its_patches(project, tools, tool):
    project.init_hook()
    lines = (project.folder / "patches/pyproject.toml").read_text().splitlines()
    (name,) = [line.split('"')[1] for line in lines if line.startswith("name = ")]
    shutil.rmtree(project.env.root)  # PDM would take it for its own
    app = TOOLS[tool](project.folder, project.variables, tools, name)
    app.write("1.0", hook=False)
    app.sync()
    without_hook = sources(app.env)
    for release, state in (("1.0", PATCHED), ("1.1", PATCHED), ("2.0", STOCK), ("1.0", PATCHED)):
        app.write(release)
        app.sync()
        assert_settled(app, state)
    patch = project.folder / "patchsets" / NAME / "p.spatch"
    patch.write_text(patch.read_text().replace('+return "patched"', '+return "patched again"'))
    project.init_hook()
    app.forget()
    app.write("1.0")
    app.sync()
    assert_settled(app, "2 patched again")
    app.forget()
    app.write("1.0", hook=False)
    app.sync()
    project.sitepatch("restore", "--python", app.env.python)
    assert app.env.state() == STOCK
    assert sources(app.env) == without_hook

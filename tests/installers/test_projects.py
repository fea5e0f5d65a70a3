"""The hook in the projects of uv, Poetry, PDM and Hatch, each the real tool from the index."""

import shutil

import pytest

from tests.installers.projects import EACH, TOOLS
from tests.installers.world import NAME, PATCHED, STOCK, UV, settled, sources

pytestmark = [pytest.mark.real, pytest.mark.once, pytest.mark.skipif(not UV, reason="uv is not here")]


@pytest.mark.parametrize("tool", EACH)
def test_a_project_of_a_tool_keeps_its_patches(project, tools, tool):
    project.keep()
    lines = (project.folder / "patches/pyproject.toml").read_text().splitlines()
    (name,) = [line.split('"')[1] for line in lines if line.startswith("name = ")]
    shutil.rmtree(project.env.root)  # PDM would take it for its own
    made = TOOLS[tool](project.folder, project.variables, tools, name)
    made.write("1.0", hook=False)
    made.sync()
    without = sources(made.env)
    for release, state in (("1.0", PATCHED), ("1.1", PATCHED), ("2.0", STOCK), ("1.0", PATCHED)):
        made.write(release)
        made.sync()
        settled(made, state)
    changed = project.folder / "patchsets" / NAME / "p.spatch"
    changed.write_text(changed.read_text().replace('+return "patched"', '+return "patched again"'))
    project.keep()
    made.forget()
    made.write("1.0")
    made.sync()
    settled(made, "2 patched again")
    made.forget()
    made.write("1.0", hook=False)
    made.sync()
    project.sitepatch("restore", "--python", made.env.python)
    assert made.env.state() == STOCK
    assert sources(made.env) == without

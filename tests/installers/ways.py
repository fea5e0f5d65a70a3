"""The ways in which pip and uv bring a list of requirements into an environment."""

import pytest

from tests.installers.world import long


def pip(project, *lines, more=()):
    """`pip install -r`."""
    project.requirements(*lines)
    project.env.pip("install", "-q", *more, "-r", "requirements.txt", cwd=project.folder)


def uv(mode):
    def uv_pip_install(project, *lines, more=()):
        project.requirements(*lines)
        more = ["--reinstall" if word == "--force-reinstall" else word for word in more]
        project.env.uv("install", "--link-mode", mode, *more, "-r", "requirements.txt", cwd=project.folder)

    return uv_pip_install


def uv_pip_sync(project, *lines, more=()):
    """`uv pip sync` installs what is listed alone: `uv pip compile` lists what that needs, too."""
    project.requirements(*lines)
    more = ["--reinstall" if word == "--force-reinstall" else word for word in more if word != "--no-deps"]
    project.env.uv("compile", "-q", "requirements.txt", "-o", "compiled.txt", cwd=project.folder)
    project.env.uv("sync", *more, "compiled.txt", cwd=project.folder)


WAYS = {"pip": pip, "uv hardlink": uv("hardlink"), "uv copy": uv("copy"), "uv pip sync": uv_pip_sync}
EACH = [pytest.param(name, marks=[] if name in ("pip", "uv hardlink") else long) for name in WAYS]
"""For a test of all of them; the others are copies or subsets of these two."""

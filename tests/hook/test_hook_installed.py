"""Which folders of a site directory are hooks, and how one is read."""

import pytest

from patcher.hook import installed
from patcher.installed.interpreter import Environment
from tests.hooks import BareSite
from tests.places import patchset


@pytest.fixture
def site(tmp_path):
    patchset(tmp_path, new=22)
    return BareSite(tmp_path)


@pytest.mark.parametrize(
    ("files", "counts"),
    [
        ({"hook.json": b'{"sitepatch": "0.1.0"}'}, True),
        ({"hook.json": b"{", "__init__.py": b"# sitepatch-hook"}, True),
        ({"hook.json": b'{"sitepatch"'}, True),
        ({"hook.json": b'{"hooks": ["pre-commit"]}'}, False),
        ({"hook.json": b"\xff", "__init__.py": b""}, False),
        ({"__init__.py": b"# sitepatch-hook"}, False),
    ],
)
def test_only_what_sitepatch_wrote_is_a_hook(site, files, counts):
    for folder, counted in ((site.path / "_other", counts), (site.path / "other", False)):
        folder.mkdir()
        for name, data in files.items():
            (folder / name).write_bytes(data)
        assert (str(folder) in installed.hook_folders(Environment.alone(str(site)))) is counted


def test_a_hook_is_found(site):
    folder = site.put("two")
    env = Environment.alone(str(site))._replace(sites=("/nowhere", str(site)))
    assert installed.hook_folders(env) == [folder]
    assert installed.hooks_for(env, ["one", "two"]) == ["sitepatch-hook-x"] and installed.hooks_for(env, ["one"]) == []
    hook = installed.load_hook(folder)
    assert (hook.name, hook.mode, hook.names, hook.site) == ("sitepatch-hook-x", "repair", ("two",), str(site))

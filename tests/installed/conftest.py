import pytest

from tests.installed.sites import make_venv


@pytest.fixture(autouse=True)
def no_active_environment(monkeypatch):
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "PYTHONNOUSERSITE", "PYTHONHOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PYTHONUSERBASE", str(tmp_path / "home" / "base"))
    return tmp_path / "home"


@pytest.fixture(scope="module")
def shared_venv(tmp_path_factory):
    return make_venv(tmp_path_factory.mktemp("shared") / "venv")

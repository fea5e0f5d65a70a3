"""Cases of patchsets as tests of pytest: every `cases/NAME.before.py`, ... beside a patchset.toml that pytest comes by."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Iterator, Optional, Tuple, Union

import pytest

# pytest imports this in every run in an environment that has sitepatch: what reads patchsets is imported when there is one
_SUFFIXES = (".before.py", ".upstream.py", ".not-needed.py", ".refused.py")

if getattr(pytest, "version_tuple", (0,)) >= (7,):  # older ones do not know `file_path`

    def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> Optional[pytest.Collector]:
        """Collect a case."""
        is_case = file_path.name.endswith(_SUFFIXES) and _beside_a_patchset(file_path)
        return CaseFile.from_parent(parent, path=file_path) if is_case else None

    def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> Optional[pytest.Collector]:
        """Nothing is imported of what a patchset changes: pytest would, of a file that the command line names."""
        return NoModule.from_parent(parent, path=module_path) if _beside_a_patchset(module_path) else None


def _beside_a_patchset(path: Path) -> bool:
    return path.parent.name == "cases" and (path.parents[1] / "patchset.toml").is_file()


class NoModule(pytest.File):
    """A text that is no module, and has no tests in it."""

    def collect(self) -> Iterator[pytest.Item]:
        """No test."""
        return iter(())


class Failed(Exception):
    """A case that is not as expected."""


class CaseFile(pytest.File):
    """The file of a case."""

    def collect(self) -> Iterator[pytest.Item]:
        """The one test of it."""
        yield CaseItem.from_parent(self, name=self.path.name[:-3])


class CaseItem(pytest.Item):
    """A case as a test."""

    def runtest(self) -> None:
        """Apply the patchset to the text of the case."""
        from patcher.author.cases import read_case, run_case
        from patcher.model import PatchsetSource
        from patcher.patchset.manifest import load_patchset

        outcome = run_case(load_patchset(self.path.parents[1].absolute(), PatchsetSource("pytest")), read_case(self.path))
        if outcome.problem:
            raise Failed(f"{outcome.problem}\n{outcome.diff.decode('utf-8', 'backslashreplace')}".rstrip())

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What is wrong, without a traceback where the case is not as expected."""
        from patcher.errors import SitepatchError

        expected = isinstance(excinfo.value, (Failed, SitepatchError))
        return str(excinfo.value) if expected else super().repr_failure(excinfo, style)

    def reportinfo(self) -> Tuple[Union[Path, str], Optional[int], str]:
        """Where it stands, and the heading of what failed."""
        return self.path, None, f"{self.path.parents[1].name}: {self.name}"

"""Patchsets of one line for MMEngine that meet in one function, for the tests of plans and of edits by others."""

from pathlib import Path

from tests.records import write_patchset

FIX = """Ask for the device instead of believing LOCAL_RANK.

--- mmengine/runner/runner.py
@@ Runner.wrap_model @@
-$MODEL = MMDistributedDataParallel(module=$M, device_ids=[int(os.environ['LOCAL_RANK'])], ...)
+$MODEL = MMDistributedDataParallel(module=$M, device_ids=None, ...)
"""
TITLE = """Say hello.

--- mmengine/runner/runner.py
@@ Runner.wrap_model @@
 def wrap_model(...):
+    print($text)
     ...
"""


def patchset(folder: Path, name: str, text: str, kind: str = "fix", options: str = "", version: str = "1") -> None:
    """Write (or overwrite) a patchset folder for mmengine."""
    write_patchset(folder / "patches", name, text, "mmengine", kind=kind, options=options, version=version)

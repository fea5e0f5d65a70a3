"""The entry point: `sitepatch` and `python -m patcher`."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Run the command line of this process and exit (see `patcher.verbs.main.main`)."""
    gc.disable()  # a command ends before there is garbage worth collecting: a tenth of the time of its imports
    try:
        from patcher.verbs.main import main as run

        run()
    except (
        KeyboardInterrupt
    ):  # before a command has begun, or while its last words wait for a reader
        from patcher.system.signals import end_interrupted

        sys.exit(end_interrupted())
    finally:
        gc.freeze()  # the interpreter collects once more when it ends: a tenth again, for memory that goes back anyway


if __name__ == "__main__":
    main()

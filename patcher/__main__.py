"""The entry point: `sitepatch` and `python -m patcher`."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Run the command line of this process and exit (see `patcher.verbs.main.main`)."""
    # a command ends before there is garbage worth collecting: a tenth of the time of its imports
    gc.disable()
    try:
        from patcher.verbs.main import main as run  # imports can be interrupted, too

        run()
    except KeyboardInterrupt:
        # before a command has begun, or while its last words wait for a reader
        from patcher.system.signals import end_interrupted

        sys.exit(end_interrupted())
    finally:
        # the interpreter collects once more when it ends: a tenth again, for memory that it frees
        gc.freeze()


if __name__ == "__main__":
    main()

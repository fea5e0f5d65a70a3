"""The entry point: `sitepatch` and `python -m patcher`."""

from __future__ import annotations

import gc


def main() -> None:
    """Run the command line of this process and exit (see `patcher.cli.main`)."""
    gc.disable()  # a command ends before there is garbage worth collecting: a tenth of the time of its imports
    from patcher.cli import main as run

    run()


if __name__ == "__main__":
    main()

"""`python -m sitepatch`: the command line, where its script is not on PATH."""

from __future__ import annotations

from patcher.__main__ import main

if __name__ == "__main__":
    main()

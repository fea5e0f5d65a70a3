"""`python -m sitepatch`: the command line of the package, which is called patcher."""

from patcher.__main__ import main

if __name__ == "__main__":
    main()

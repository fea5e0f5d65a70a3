"""The same checks for every interpreter that is there: `nox` (tests, mypy, ruff), `nox -s docs`; longer: slow, releases."""

import nox

nox.options.sessions = ["tests", "lint"]
nox.options.error_on_missing_interpreters = False


@nox.session(python=["3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14"])
def tests(session: nox.Session) -> None:
    """The fast suite, on this checkout: tests/real/test_wheel.py is about the wheel."""
    session.install(".[test]")
    session.run("pytest", "-m", "not real", *session.posargs)


@nox.session
def slow(session: nox.Session) -> None:
    """What is too long for each change: the real packages, the installers, kills at each call, random code; hours on two cores."""
    session.install(".[test]")
    session.run("pytest", "-n", "auto", "-m", "slow", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Types and style."""
    session.install(".[lint]")
    session.run("mypy")
    session.run("ruff", "check")


@nox.session
def docs(session: nox.Session) -> None:
    """The site, with warnings as errors, in ./site."""
    session.install("-e", ".[docs]")
    session.run("mkdocs", "build", "--strict", env={"NO_MKDOCS_2_WARNING": "1"})  # -q would hide the warnings and not fail


@nox.session
def releases(session: nox.Session) -> None:
    """Every release of every target, and each compatibility.txt made anew: five gigabytes of wheels, some minutes."""
    session.install(".[test]")
    files = (f"tests/real/test_{name}.py" for name in ("releases", "triton", "accelerate", "check"))
    session.run("pytest", *files, env={"SITEPATCH_ALL_RELEASES": "1"})


@nox.session
def mutants(session: nox.Session) -> None:
    """Which small changes of the code does no test see? `nox -s mutants -- --module merge`, or `--sample 100 --seed 1`."""
    session.install(".[test]", "coverage>=7.13")  # it measures children, by a .pth of its own
    session.run("python", "-m", "tools.mutants", *session.posargs)

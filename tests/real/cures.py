"""What is raised is found and cured: a log goes to `diagnose`, and the command that it prints is run as it is."""

import shlex
import sys

from conftest import COMMAND_ROOT, run
from diagnoses import diagnose

CURED = {}


def cures(*symptoms):
    """A test in which each of these symptoms is raised and cured."""

    def keep(test):
        CURED.update(dict.fromkeys(symptoms, test))
        return test

    return keep


def diagnosed(place, log, symptom, patchset):
    """The command that `diagnose` prints for a log in which this symptom is the first of those that a patchset cures."""
    answer, code = diagnose(log, *place)
    curable = [finding for finding in answer["findings"] if finding["patchset"]]
    assert code == 1 and curable and answer["cure"], (answer, log)
    assert (curable[0]["symptom"], curable[0]["patchset"]) == (symptom, patchset), (answer, log)
    return answer["cure"]


def cured(place, logs, patchset):
    """Run each command that is printed for these logs, by symptom: the symptoms for which it is printed, once it was run.

    Then `diagnose` says that the patchset is applied.
    """
    commands = {}
    for symptom, log in logs.items():
        commands.setdefault(diagnosed(place, log, symptom, patchset), []).append(symptom)
    for command, symptoms in commands.items():
        applied = run([sys.executable, "-m", "patcher", *shlex.split(command)[1:]], cwd=COMMAND_ROOT)
        assert applied.code == 0, applied
        for symptom in symptoms:
            answer, _ = diagnose(logs[symptom], *place)
            assert {finding["fit"] for finding in answer["findings"] if finding["patchset"] == patchset} == {"applied"}
            assert answer["cure"] == ""
        yield symptoms


def assert_cured(place, symptom, log, patchset):
    """The command that is printed for a log is run, and cures its symptom."""
    assert list(cured(place, {symptom: log}, patchset)) == [[symptom]]


def of(environment):
    return ["--python", environment.python]


def pip_install(environment, *requirements, **more):
    """Let pip install releases into an environment that `beside` has made, without what they require: that is there, beside it, and stays."""
    pip = [sys.executable, "-m", "pip", "--python", environment.python, "install", "--quiet", "--no-deps", "--force-reinstall", "--disable-pip-version-check"]
    ended = run([*pip, *requirements], cwd=environment.cwd, **more)
    assert ended.code == 0, ended


def python(environment, code, **more):
    """What some lines of Python do in an environment."""
    return run([environment.python, "-c", code], cwd=environment.cwd, **more)


def cure(environment, symptom, patchset, job, files, works):
    """The whole way: the job fails, what is printed for its log is run, the job works, and `restore` gives the bytes back.

    Args:
        job: runs it, and returns how it ended.
        files: those that the patchset changes.
        works: what the job says at its end once it works.
    """
    pristine = [(environment.site / file).read_bytes() for file in files]
    failed = job()
    assert failed.code != 0, failed
    assert_cured(of(environment), symptom, failed.out, patchset)
    assert all((environment.site / file).read_bytes() != text for file, text in zip(files, pristine))
    worked = job()
    assert worked.code == 0 and worked.out.rstrip().endswith(works), worked
    assert environment.sitepatch("restore", patchset).code == 0
    assert [(environment.site / file).read_bytes() for file in files] == pristine
    return failed

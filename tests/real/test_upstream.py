"""The patches of `fixtures/upstream/`: what `export` gives for a pull request, and that each was tried as its text says."""

import re
import shutil
import subprocess

import pytest
from cards import INDEX, INDEXED, assert_trained_on_the_card, train, weights_of
from conftest import COMMAND_ROOT, TARGETS, run
from mmengine_ranks import all_failed, assert_trained_alike
from mmengine_ranks import train as train_on_the_cpu
from test_accelerate import NEWEST, PATHS, main_alone_wrote, ranks
from test_triton import PATHS as TRITON
from test_triton import Release, hold
from wheels import files_of, install, sitepatch, slow

pytestmark = pytest.mark.real

__all__ = ["ranks"]

NAMES = {
    "mmengine-upstream": ["musa-local-rank", "mccl-payload", "index-by-dtype", "mpi-local-rank", "ddp-on-the-cpu", "device-of-torch"],
    "accelerate-upstream": ["free-memory", "one-writer"],
    "triton-upstream": ["stale-ldconfig"],
}
RELEASES = {"mmengine": "0.10.7", "accelerate": NEWEST, "triton": "3.6.0"}
FILES = {"mmengine": TARGETS["mmengine"], "accelerate": PATHS, "triton": TRITON}


def git(folder, *words, stdin=None):
    """What git prints; it has to end well."""
    command = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *words]
    completed = subprocess.run(command, cwd=str(folder), input=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert completed.returncode == 0, completed.stdout
    return completed.stdout.decode()


@pytest.mark.parametrize("name", NAMES)
def test_export_gives_each_patch_with_the_text_of_a_pull_request_and_git_takes_it(real_cache, tmp_path, name):
    package = name.partition("-")[0]
    site, exported, clone = tmp_path / "site", tmp_path / "exported", tmp_path / "clone"
    install(site, package, RELEASES[package], files_of(real_cache, package, RELEASES[package], FILES[package]))
    sitepatch(site, "export", name, "--patch-dir", COMMAND_ROOT / "fixtures/upstream", "--output", exported)
    shutil.copytree(site / package, clone / package)
    git(clone, "init", "-q")
    git(clone, "add", "-A")
    git(clone, "commit", "-qm", "as released")
    git(clone, "tag", "released")
    if len(NAMES[name]) == 1:  # a patch, and no mail
        git(clone, "apply", stdin=exported.read_bytes())
        check_code(clone, git(clone, "diff"))
        return
    mails = sorted(exported.iterdir())
    assert [re.sub("^[0-9]+-|[.]patch$", "", mail.name) for mail in mails] == NAMES[name]
    for mail in mails:  # each is a pull request of its own
        git(clone, "checkout", "-q", "-B", mail.stem, "released")
        git(clone, "am", stdin=mail.read_bytes())
        subject, _, text = git(clone, "log", "-1", "--format=%B").partition("\n")
        assert 20 < len(subject) <= 72 and "How it was tried: " in text, text
        check_code(clone, git(clone, "show", "--format="))


def check_code(clone, changed):
    """What a diff changes is code of upstream's own that compiles."""
    assert "sitepatch" not in changed
    paths = set(re.findall("^[+]{3} b/(.*)", changed, re.MULTILINE))
    assert paths
    for path in paths:
        compile((clone / path).read_bytes(), path, "exec", dont_inherit=True)


def apply(environment, name="mmengine-upstream"):
    applied = environment.sitepatch("apply", name, "--patch-dir", COMMAND_ROOT / "fixtures/upstream", "--verify", "compile")
    assert applied.code == 0, applied


def lines_of_ranks(environment, what):
    """What the two ranks of the stand-in musa print, in their order."""
    ended = environment.ranks(2, "upstream_script.py", what)
    return sorted(line for line in ended.out.splitlines() if line.startswith("got "))


@slow
def test_the_patches_for_musa_and_mpi_were_tried_as_their_texts_say(musa):
    outcomes, _ = train(musa, "direct+brief", nodes=2, CARD="musa")
    for rank in (2, 3):
        assert outcomes["direct+brief", rank].startswith(f"RuntimeError: invalid device number {rank}")
    before = lines_of_ranks(musa, "objects")
    assert all("device type cpu" in line for line in before), before
    assert lines_of_ranks(musa, "mpi") == ["got 0 None", "got 1 None"]
    apply(musa)
    outcomes, _ = train(musa, "direct", nodes=2, CARD="musa")
    assert len(weights_of(outcomes)) == 1
    assert lines_of_ranks(musa, "objects") == ["got 0 True", "got 1 True"]
    assert lines_of_ranks(musa, "mpi") == ["got 0 0", "got 1 1"]


@slow
def test_the_patch_for_indices_was_tried_as_its_text_says(carded):
    job = [carded.python, "-c", INDEX]
    assert run(job, cwd=carded.cwd).out.splitlines()[-3:] == ["refused"] * 3
    apply(carded)
    assert run(job, cwd=carded.cwd).out.splitlines()[-3:] == INDEXED


@slow
def test_the_patch_for_the_device_was_tried_as_its_text_says(carded):
    outcomes, _ = train(carded, "direct+both")
    assert outcomes["direct+both", 1].startswith("ValueError: DistributedDataParallel device_ids and output_device arguments only work with ")
    apply(carded)
    outcomes, _ = train(carded, "direct+both")
    assert_trained_on_the_card(outcomes, "direct+both")


@slow
def test_the_patch_for_ddp_on_the_cpu_was_tried_as_its_text_says(environment):
    ways = ["direct", "config", "flexible"]
    outcomes, _ = train_on_the_cpu(environment, 2, "--group", *ways)
    assert all_failed(outcomes) and "device_ids" in outcomes["direct", 0]
    outcomes, _ = train_on_the_cpu(environment, 2, *ways)
    assert all_failed(outcomes) and "_cuda_setDevice" in outcomes["direct", 0]
    apply(environment)
    for group in (["--group"], []):
        outcomes, _ = train_on_the_cpu(environment, 2, *group, *ways)
        assert_trained_alike(outcomes)


@slow
def test_the_patch_for_free_memory_was_tried_as_its_text_says(ranks):
    if not (ranks.site / "accelerate-1.15.0.dist-info").exists():
        pytest.skip("this release frees in the right order")
    code = """
import gc, weakref, torch
from accelerate import Accelerator
accelerator = Accelerator(cpu=True)
gc.disable()
model = torch.nn.Linear(1, 1)
model.itself = [model]
alive = weakref.ref(model)
accelerator.prepare(model)
del model
accelerator.free_memory()
print("gone", alive() is None)
"""
    job = [ranks.environment.python, "-c", code]
    assert "gone False" in run(job, cwd=ranks.tmp_path, HF_HOME=str(ranks.tmp_path)).out
    apply(ranks.environment, "accelerate-upstream")
    assert "gone True" in run(job, cwd=ranks.tmp_path, HF_HOME=str(ranks.tmp_path)).out


@slow
def test_the_patch_for_one_writer_was_tried_as_its_text_says(ranks):
    if not (ranks.site / "accelerate-1.15.0.dist-info").exists():
        pytest.skip("the series is for later releases")
    _, other = ranks.train(2)
    assert main_alone_wrote(other, also=["dl_state_dict.bin", "scaler.pt"])
    apply(ranks.environment, "accelerate-upstream")
    main, other = ranks.train(2)
    assert main_alone_wrote(other) and {"dl_state_dict.bin", "scaler.pt"} <= set(main["checkpoint"]["written"])


def test_the_patch_for_a_stale_ldconfig_was_tried_as_its_text_says(real_cache, tmp_path, monkeypatch):
    monkeypatch.delenv("TRITON_LIBCUDA_PATH", raising=False)
    release = Release(real_cache, RELEASES["triton"], tmp_path)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(hold(release.elsewhere, "libcuda.so.1")))
    listed = f"\tlibcuda.so.1 (libc6,x86-64) => {tmp_path}/nothing-here/libcuda.so.1\n"
    release.refusal(ldconfig=listed)
    sitepatch(release.site, "apply", "triton-upstream", "--patch-dir", COMMAND_ROOT / "fixtures/upstream", "--verify", "compile")
    assert release.libcuda_dirs(ldconfig=listed) == [str(release.elsewhere)]

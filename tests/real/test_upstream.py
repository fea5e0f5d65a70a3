"""The patches of `fixtures/upstream/`: what `export` gives for a pull request, and that each was tried as its text says."""

import re
import shutil
import subprocess

import pytest
from conftest import COMMAND_ROOT, TARGETS, run
from test_accelerate import NEWEST, PATHS, main_alone_wrote, ranks
from test_card import INDEX, INDEXED, assert_trained_on_the_card, carded, musa, train
from test_mmengine_ddp import assert_trained_alike
from test_mmengine_ddp import train as train_on_the_cpu
from test_triton import PATHS as TRITON
from test_triton import Release, hold
from wheels import files_of, install, sitepatch, slow

pytestmark = pytest.mark.real

__all__ = ["carded", "musa", "ranks"]

NAMES = {
    "mmengine-upstream": ["musa-local-rank", "mccl-payload", "index-by-dtype", "mpi-local-rank", "ddp-on-the-cpu", "device-of-torch"],
    "accelerate-upstream": ["free-memory", "one-writer"],
    "triton-upstream": ["stale-ldconfig"],
}
RELEASES = {"mmengine": "0.10.7", "accelerate": NEWEST, "triton": "3.6.0"}
FILES = {"mmengine": TARGETS["mmengine"], "accelerate": PATHS, "triton": TRITON}


def git(folder, *words, given=None):
    options = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    return subprocess.run(["git", *options, *words], cwd=str(folder), input=given, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


@pytest.mark.parametrize("name", NAMES)
def test_export_gives_each_patch_with_the_text_of_a_pull_request_and_git_takes_it(real_cache, tmp_path, name):
    package, site, mails, clone = name.partition("-")[0], tmp_path / "site", tmp_path / "mails", tmp_path / "clone"
    install(site, package, RELEASES[package], files_of(real_cache, package, RELEASES[package], FILES[package]))
    sitepatch(site, "export", name, "--patch-dir", COMMAND_ROOT / "fixtures/upstream", "--output", mails)
    shutil.copytree(site / package, clone / package)
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "as released"], ["tag", "released"]):
        assert git(clone, *words).returncode == 0
    if len(NAMES[name]) == 1:  # a patch, and no mail
        taken = git(clone, "apply", given=mails.read_bytes())
        assert taken.returncode == 0, taken.stdout
        check_code(clone, git(clone, "diff").stdout.decode())
        return
    files = sorted(mails.iterdir())
    assert [re.sub("^[0-9]+-|[.]patch$", "", file.name) for file in files] == NAMES[name]
    for file in files:  # each is a pull request of its own
        git(clone, "checkout", "-q", "-B", file.stem, "released")
        taken = git(clone, "am", given=file.read_bytes())
        assert taken.returncode == 0, taken.stdout
        subject, _, text = git(clone, "log", "-1", "--format=%B").stdout.decode().partition("\n")
        assert 20 < len(subject) <= 72 and "How it was tried: " in text, text
        check_code(clone, git(clone, "show", "--format=").stdout.decode())


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


def said(environment, what):
    """What the two ranks of the stand-in musa print."""
    ended = environment.ranks(2, "upstream_script.py", what)
    return sorted(line for line in ended.out.splitlines() if line.startswith("got "))


@slow
def test_the_patches_for_musa_and_mpi_were_tried_as_their_texts_say(musa):
    found, _ = train(musa, "direct+brief", nodes=2, CARD="musa")
    assert [found["direct+brief", rank][:35] for rank in (2, 3)] == [f"RuntimeError: invalid device number {rank}"[:35] for rank in (2, 3)]
    before = said(musa, "objects")
    assert all("device type cpu" in line for line in before), before
    assert said(musa, "mpi") == ["got 0 None", "got 1 None"]
    apply(musa)
    found, _ = train(musa, "direct", nodes=2, CARD="musa")
    assert len({words[0] for words in found.values()}) == 1
    assert said(musa, "objects") == ["got 0 True", "got 1 True"]
    assert said(musa, "mpi") == ["got 0 0", "got 1 1"]


@slow
def test_the_patch_for_indices_was_tried_as_its_text_says(carded):
    asked = [carded.python, "-c", INDEX]
    assert run(asked, cwd=carded.cwd).out.splitlines()[-3:] == ["refused"] * 3
    apply(carded)
    assert run(asked, cwd=carded.cwd).out.splitlines()[-3:] == INDEXED


@slow
def test_the_patch_for_the_device_was_tried_as_its_text_says(carded):
    found, _ = train(carded, "direct+both")
    assert found["direct+both", 1].startswith("ValueError: DistributedDataParallel device_ids and output_device arguments only work with ")
    apply(carded)
    found, _ = train(carded, "direct+both")
    assert_trained_on_the_card(found, "direct+both")


@slow
def test_the_patch_for_ddp_on_the_cpu_was_tried_as_its_text_says(environment):
    ways = ["direct", "config", "flexible"]
    found, _ = train_on_the_cpu(environment, 2, "--group", *ways)
    assert {words[0] for words in found.values()} == {"failed"} and "device_ids" in found["direct", 0][1]
    found, _ = train_on_the_cpu(environment, 2, *ways)
    assert {words[0] for words in found.values()} == {"failed"} and "_cuda_setDevice" in found["direct", 0][1]
    apply(environment)
    for group in (["--group"], []):
        found, _ = train_on_the_cpu(environment, 2, *group, *ways)
        assert_trained_alike(found)


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
    asked = [ranks.environment.python, "-c", code]
    assert "gone False" in run(asked, cwd=ranks.tmp_path, HF_HOME=str(ranks.tmp_path)).out
    apply(ranks.environment, "accelerate-upstream")
    assert "gone True" in run(asked, cwd=ranks.tmp_path, HF_HOME=str(ranks.tmp_path)).out


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

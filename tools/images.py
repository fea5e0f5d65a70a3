"""The lines of docs/howto/docker.md and kubernetes.md run by buildah: `python -m tools.images [--folder DIR]`.

Needs root, buildah, pip's index once for what sitepatch needs, half a gigabyte and two minutes; with umoci, skopeo, docker-registry and
kubernetes-validate (which pip fetches) also what they are for. The base image, called python:3.11, is made of the Python that
runs this, the libraries that it loads, /bin/sh and /bin/cp: nothing is pulled. What is made stays in DIR; by default it is removed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import time
import zipfile
from contextlib import contextmanager, suppress
from pathlib import Path

import libcst
import yaml

from tests.command import environ
from tests.places import VERSION, patchset, wheel
from tests.test_docs import blocks

ROOT = Path(__file__).resolve().parents[1]
DOCKER, KUBERNETES = "docs/howto/docker.md", "docs/howto/kubernetes.md"
EPOCH = "1700000000"
SITE = f"usr/local/lib/{VERSION}/site-packages"
BASE = f"""\
FROM scratch
COPY tree /
ENV PATH=/usr/local/bin:/bin PIP_NO_INDEX=1 PIP_FIND_LINKS=/wheels PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
RUN {VERSION} -B -m ensurepip --default-pip
"""
STORE = (
    ".sitepatch/" + name
    for name in (
        "lock",
        "spare",
        "pristine/SHA256",
        "receipts/SHA256.json",
        "patchsets/SHA256.json",
    )
)
LAYER = {
    f"{SITE}/{name}"
    for name in (f"demo/__pycache__/.wh.m.{sys.implementation.cache_tag}.pyc", "demo/m.py", *STORE)
}
"""What a patch leaves in a layer; `.wh.` is how one says that a file is gone."""
PLAIN = """\
FROM python:3.11-slim
ARG SOURCE_DATE_EPOCH
RUN pip install --no-cache-dir demo
"""
TRAIN = """\
FROM python:3.11-slim
RUN python -m venv /opt/venv && /opt/venv/bin/pip install demo sitepatch
ENV PATH=/opt/venv/bin:$PATH
"""
PROJECT = '[tool.sitepatch]\npatchsets = ["my-fix==1"]\n'
VALUE = "import demo.m; print('VALUE', demo.m.VALUE)"


class Images:
    """A storage of images in a folder, and buildah on it."""

    def __init__(self, folder):
        self.folder, self.context = folder, folder / "context"
        self.tool = [
            "buildah",
            "--root",
            f"{folder}/storage",
            "--runroot",
            f"{folder}/run",
            "--storage-driver",
            "vfs",
        ]
        self.env = environ(
            PYTHONPATH=str(ROOT), SITEPATCH_CACHE=os.devnull, SOURCE_DATE_EPOCH=EPOCH
        )

    def run(self, *words, code=0):
        """Run a program; returns what it wrote to stdout, of one that is to fail what it said."""
        ended = subprocess.run(
            list(map(str, words)),
            cwd=str(self.folder),
            env=self.env,
            capture_output=True,
            text=True,
        )
        assert (ended.returncode == 0) is (code == 0), f"{words}\n{ended.stdout}\n{ended.stderr}"
        return ended.stdout if code == 0 else ended.stderr

    def sitepatch(self, *words):
        return self.run(sys.executable, "-m", "patcher", *words)

    def build(self, tag, dockerfile, *words, context=None, code=0):
        """Build an image; returns its id, or what was said where it is to fail."""
        (self.folder / "Dockerfile").write_text(dockerfile)
        how = [
            "--isolation",
            "chroot",
            "--layers",
            "--pull-never",
            "-q",
            "-f",
            "Dockerfile",
            "-t",
            tag,
            *words,
        ]
        dated = ["--timestamp", EPOCH, "--build-arg", f"SOURCE_DATE_EPOCH={EPOCH}"]
        return self.run(*self.tool, "bud", *how, *dated, context or self.context, code=code).strip()

    def start(self, tag, command, *options, code=0):
        """Run a command in a new container of an image; returns what it wrote."""
        name = self.run(*self.tool, "from", "--pull-never", tag).strip()
        try:
            return self.run(
                *self.tool,
                "run",
                "--isolation",
                "chroot",
                *options,
                name,
                "--",
                *command,
                code=code,
            )
        finally:
            self.run(*self.tool, "rm", name)

    def value(self, tag):
        """What a container of an image has as VALUE."""
        return self.start(tag, ["python", "-B", "-c", VALUE]).strip()

    def layers(self, tag):
        """The layers of an image, digest -> {name: is it a directory?}, and the digest of its manifest."""
        layout = self.folder / "layout"
        shutil.rmtree(layout, ignore_errors=True)
        self.run(*self.tool, "push", "-q", tag, f"oci:{layout}:it")
        return members(layout, "it")


def members(layout, tag):
    """As `Images.layers`, of an image in an OCI layout."""
    every = json.loads((layout / "index.json").read_text())["manifests"]
    (digest,) = (
        each["digest"]
        for each in every
        if each["annotations"]["org.opencontainers.image.ref.name"] == tag
    )
    found = {}
    for each in json.loads((layout / "blobs" / digest.replace(":", "/")).read_text())["layers"]:
        with tarfile.open(str(layout / "blobs" / each["digest"].replace(":", "/"))) as archive:
            found[each["digest"]] = {member.name: member.isdir() for member in archive}
    return found, digest


def files(layer):
    """The names in a layer that are no directories, without the digests in the names of the store's files."""
    return {re.sub(r"[0-9a-f]{64}", "SHA256", name) for name, folder in layer.items() if not folder}


def lay_out(images):
    """The base image, and the context of the page's Dockerfiles."""
    image = images.folder / "base/tree"
    shutil.rmtree(image, ignore_errors=True)
    library = Path(sysconfig.get_path("stdlib"))
    ignored = shutil.ignore_patterns(
        "__pycache__", "site-packages", "test", "tests", "idlelib", "config-*", "*.a"
    )
    shutil.copytree(library, image / "usr/local/lib" / VERSION, ignore=ignored)
    for name in (SITE, "usr/local/bin", "bin", "etc", "tmp"):
        (image / name).mkdir()
    (image / "tmp").chmod(0o1777)
    shutil.copy(os.path.realpath(sys.executable), str(image / "usr/local/bin" / VERSION))
    for name in ("python", "python3"):
        (image / "usr/local/bin" / name).symlink_to(VERSION)
    for name in ("sh", "cp"):
        shutil.copy(f"/bin/{name}", str(image / "bin"))
    (image / "bin/torchrun").write_text(f'#!/bin/sh\nexec python -B -c "{VALUE}"\n')
    (image / "bin/torchrun").chmod(0o755)
    binaries = [
        image / "usr/local/bin" / VERSION,
        image / "bin/sh",
        image / "bin/cp",
        *(library / "lib-dynload").glob("*.so"),
    ]
    binaries += Path(libcst.__file__).parent.glob("native*.so")
    for found in set(re.findall(r"(/\S+) \(0x", images.run("ldd", *binaries))):
        (image / found[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(found, str(image / found[1:]))
    images.run(sys.executable, "-m", "pip", "wheel", "-q", "-w", image / "wheels", ROOT)
    demo = wheel(image / "wheels")
    images.build("python:3.11-slim", BASE, context=images.folder / "base")
    images.run(*images.tool, "tag", "python:3.11-slim", "python:3.11")
    shutil.rmtree(images.context, ignore_errors=True)
    patchset(images.context, name="my-fix", new='"patched"')
    (images.context / "mine").rename(images.context / "patchsets")
    shutil.rmtree(images.folder / "site", ignore_errors=True)
    with zipfile.ZipFile(demo) as archive:
        archive.extractall(images.folder / "site")


def another_version(manifest):
    """A manifest with version 2 in the place of 1."""
    changed = manifest.replace('version = "1"', 'version = "2"')
    assert changed != manifest
    return changed


def dockerfiles(images):
    """The blocks of the page on Docker, in its order; yields a line for each that does what it says."""
    apply, project, stages, hook, back = (
        block.text for block in blocks(DOCKER) if block.language == "dockerfile"
    )
    context = images.context
    (context / "requirements.txt").write_text("demo==1.0\n")
    plain = apply.partition("RUN --mount")[0]
    one = images.build("train", apply), *images.layers("train")
    layer = [*one[1].values()][-1]
    assert files(layer) == LAYER, files(layer)
    assert images.value("train") == "VALUE patched"
    yield f"patched: the layer holds {len(files(layer))} files, all of them in one package's directories and .sitepatch"

    assert (images.build("again", apply, "--no-cache"), *images.layers("again")) == one
    yield f"built twice: the same image id, manifest and {len(one[1])} layers"

    images.build("back", back)
    layer = [*images.layers("back")[0].values()][-1]
    assert (
        files(layer) == {f"{SITE}/.wh..sitepatch", f"{SITE}/demo/m.py"}
        and images.value("back") == "VALUE 1"
    ), files(layer)
    yield "restored in a further layer: it holds the file of before, and that .sitepatch is gone"

    (context / "requirements.txt").write_text("demo==1.0  # sitepatch: my-fix==1\n")
    images.build("project", plain + project)
    assert images.value("project") == "VALUE patched"
    manifest = context / "patchsets/my-fix/patchset.toml"
    was = manifest.read_text()
    manifest.write_text(another_version(was))
    assert "my-fix" in images.build("project", plain + project, "--no-cache", code=1)
    manifest.write_text(was)
    yield "with a project: built, and stopped where a patchset is in another version"

    images.build("stages", stages)
    assert images.value("stages") == "VALUE patched"
    assert "No module named 'patcher'" in images.start(
        "stages", ["python", "-c", "import patcher"], code=1
    )
    yield "several stages: the second image is patched and has no sitepatch"

    images.sitepatch(
        "hook", "init", context / "patches", "my-fix", "--patch-dir", context / "patchsets"
    )
    (context / "requirements.txt").write_text("demo==1.0\n./patches\n")
    images.build("hook", "FROM python:3.11-slim\nARG SOURCE_DATE_EPOCH\n" + hook)
    assert images.value("hook") == "VALUE patched"
    yield "with a hook: patched when it was built"


def unpacked(images):
    """The last section of the page on Docker; yields a line for each part that does what it says."""
    layout, context = images.folder / "images", images.context
    shutil.rmtree(layout, ignore_errors=True)
    images.build("plain", PLAIN)
    images.run(*images.tool, "push", "-q", "plain", f"oci:{layout}:1")
    before, made = members(layout, "1")[0], []
    for number in (1, 2):
        bundle = images.folder / f"bundle{number}"
        shutil.rmtree(bundle, ignore_errors=True)
        images.run("umoci", "unpack", "--image", f"{layout}:1", bundle)
        images.sitepatch(
            "apply",
            "my-fix",
            "--target",
            bundle / "rootfs" / SITE,
            "--patch-dir",
            context / "patchsets",
        )
        time.sleep(1)
        images.run(
            "umoci",
            "repack",
            "--image",
            f"{layout}:patched{number}",
            "--history.created",
            "2023-11-14T22:13:20Z",
            bundle,
        )
        made.append(members(layout, f"patched{number}"))
    assert made[0] == made[1]
    layers = made[0][0]
    assert [*layers][:-1] == [*before] and files([*layers.values()][-1]) == LAYER
    images.run(*images.tool, "pull", "-q", f"oci:{layout}:patched1")
    yield "unpacked, patched and packed twice: the layers of before, and one more with the same digest and the same files as above"


@contextmanager
def registry(images):
    """The address of a registry on the loopback address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    config = images.folder / "registry.yml"
    config.write_text(
        f"version: 0.1\nstorage: {{filesystem: {{rootdirectory: {images.folder}/registry}}}}\nhttp: {{addr: '{address}'}}\n"
    )
    server = subprocess.Popen(
        ["docker-registry", "serve", str(config)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(100):
            with suppress(OSError), socket.create_connection(address.split(":")):
                break
            time.sleep(0.1)
        yield address
    finally:
        server.terminate()
        server.wait()


def pushed(images):
    """A patched image by way of a registry; yields a line where it is the same."""
    digest = images.layers("train")[1]
    with registry(images) as address:
        images.run(
            "skopeo",
            "copy",
            "-q",
            "--dest-tls-verify=false",
            f"oci:{images.folder}/layout:it",
            f"docker://{address}/train:1",
        )
        told = json.loads(
            images.run("skopeo", "inspect", "--tls-verify=false", f"docker://{address}/train:1")
        )
        assert told["Digest"] == digest, told
    yield f"pushed to a registry: {told['Digest'][:19]} there, too"


def volume(images, name, texts):
    """The directory of a volume as the kubelet makes it: of a ConfigMap with links, mode 0777."""
    folder = images.folder / "volumes" / name
    shutil.rmtree(folder, ignore_errors=True)
    data = folder / "..2026_01_01"
    data.mkdir(parents=True)
    (folder / "..data").symlink_to(data.name)
    for file, text in texts.items():
        (data / file).write_text(text)
        (folder / file).symlink_to(f"..data/{file}")
    if not texts:
        shutil.rmtree(data)
        (folder / "..data").unlink()
    folder.chmod(0o777)
    return folder


def pod(images, manifest, texts, code=0):
    """Run the containers of a Job one after the other; returns what the last one wrote."""
    spec = yaml.safe_load(manifest)["spec"]["template"]["spec"]
    folders = {
        each["name"]: volume(
            images, each["name"], texts.get(each.get("configMap", {}).get("name"), {})
        )
        for each in spec["volumes"]
    }
    user = spec.get("securityContext", {})
    options = ["--user", f"{user['runAsUser']}:{user['runAsGroup']}"] if user else []
    for each in [*spec.get("initContainers", ()), *spec["containers"]]:
        mounts = [
            (
                "--volume",
                f"{folders[one['name']] / one.get('subPath', '')}:{one['mountPath']}:{'ro' if one.get('readOnly') else 'rw'}",
            )
            for one in each["volumeMounts"]
        ]
        where = ["--workingdir", each["workingDir"]] if "workingDir" in each else []
        said = images.start(
            "train",
            each["command"],
            *options,
            *where,
            *(word for mount in mounts for word in mount),
            code=code,
        )
        if code:
            break
    return said


def kubernetes(images):
    """The manifests of the page on Kubernetes; yields a line for each that does what it says."""
    images.build("train", TRAIN)
    mine = images.context / "patchsets/my-fix"
    project = images.folder / "project"
    shutil.rmtree(project, ignore_errors=True)
    project.mkdir()
    (project / "pyproject.toml").write_text(PROJECT)
    texts = {
        name: {path.name: path.read_text() for path in folder.iterdir()}
        for name, folder in (("train-project", project), ("my-fix", mine))
    }
    other = {
        **texts,
        "my-fix": {
            **texts["my-fix"],
            "patchset.toml": another_version(texts["my-fix"]["patchset.toml"]),
        },
    }
    venv = images.folder / "validate"
    if not venv.exists():
        images.run(sys.executable, "-m", "venv", venv)
    valid = (
        subprocess.run(
            [f"{venv}/bin/pip", "install", "-q", "kubernetes-validate==1.37.*"],
            env=images.env,
            check=False,
        ).returncode
        == 0
    )
    for block in blocks(KUBERNETES):
        if block.language == "yaml":
            (images.folder / block.file).write_text(block.text)
            if valid:
                images.run(
                    venv / "bin/kubernetes-validate",
                    "--strict",
                    "-k",
                    "1.37",
                    images.folder / block.file,
                )
            said = pod(images, block.text, texts)
            assert said.endswith("VALUE patched\n"), said
            stopped = pod(images, block.text, other, code=1)
            assert "my-fix" in stopped and "VALUE" not in stopped, stopped
            yield f"{block.file}: {'valid by its schema, ' if valid else ''}trained patched, and not at all with another patchset"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", metavar="DIR", help="where all of it is made, and stays")
    given = parser.parse_args().folder
    folder = Path(given or tempfile.mkdtemp(prefix="images-")).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        if not shutil.which("buildah"):
            print("skipped: there is no buildah here")
            return
        images = Images(folder)
        lay_out(images)
        parts = {
            dockerfiles: (),
            unpacked: ("umoci",),
            pushed: ("skopeo", "docker-registry"),
            kubernetes: (),
        }
        for part, needs in parts.items():
            absent = [name for name in needs if not shutil.which(name)]
            for line in part(images) if not absent else [f"skipped: there is no {absent[0]} here"]:
                print(line, flush=True)
    finally:
        if not given:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()

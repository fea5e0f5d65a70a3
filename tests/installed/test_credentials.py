"""What the user has told pip or uv of the index counts for every request: no more is fetched behind a password than without."""

import os
import ssl
import subprocess

import pytest

from tests.command import sitepatch
from tests.index import Index, wheel
from tests.proxy import CountingProxy
from tests.verbs.helpers import PLAIN, SHARE, write_patchset

pytestmark = pytest.mark.once
NAME = "demo-1.0-py3-none-any.whl"
LARGE = wheel("demo", "1.0", {SHARE: PLAIN, "demo/large.py": "#" * (5 << 20)})
KEYRING = """#!/bin/sh
case "$*" in
*--output=json*) echo '{"username": "me", "password": "secret"}';;
"get "*" me") echo secret;;
*) exit 1;;
esac
"""  # newer and older pips ask `keyring` in these two ways


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """A CA of our own, and what it has signed: PEM files of key and certificate."""
    folder = tmp_path_factory.mktemp("certificates")

    def openssl(*words):
        subprocess.run(["openssl", *map(str, words)], check=True, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=ours", "-keyout", "ca.key", "-out", "ca.pem",
            "-addext", "keyUsage=keyCertSign,cRLSign")  # fmt: skip
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\nauthorityKeyIdentifier=keyid\nsubjectKeyIdentifier=hash\n")
    for name in ("server", "client"):
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
                "-extfile", "names", "-out", f"{name}.crt")  # fmt: skip
        (folder / f"{name}.pem").write_text((folder / f"{name}.key").read_text() + (folder / f"{name}.crt").read_text())
    return folder


def served(index, **attributes):
    index.parts = []
    index.put("demo", NAME, LARGE)
    for name, value in attributes.items():
        setattr(index, name, value)
    return index


@pytest.fixture
def guarded():
    """An index that asks for a password."""
    index = served(Index(), user="me:secret")
    yield index
    index.close()


@pytest.fixture
def check(tmp_path):
    """Run `check --against` with an index; whether it has read the release, and no more of it than parts."""
    write_patchset(tmp_path / "mine", "ask")

    def run(index, *dropped, **more):
        bundles = dict.fromkeys(("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"), "")  # pip takes them rather than PIP_CERT
        variables = {**index.variables(tmp_path / "cache"), **bundles, **more}
        for name in dropped:
            del variables[name]
        ended = sitepatch("check", "ask", "--against", "1.0", "--patch-dir", tmp_path / "mine", cwd=tmp_path, **variables)
        assert (ended.code == 0) == ("applicable" in ended.out), ended.err
        if ended.code == 0:
            parts = [part.split()[1].split("/")[0].split("-") for part in index.parts]
            assert sum(1 + int(last) - int(first) for first, last in parts) < len(LARGE) / 10
            assert len(parts) == len(index.fetched), "the whole wheel was not asked for"
        print(ended.out, ended.err)
        return ended.code == 0

    return run


def with_user(index, user):
    return index.variables("")["PIP_INDEX_URL"].replace("://", f"://{user}@")


@pytest.mark.parametrize("way", ["URL", "netrc", "keyring", "UV_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX", "UV_EXTRA_INDEX_URL"])
def test_an_index_behind_a_password_gives_parts_too(guarded, check, tmp_path, way):
    assert not check(guarded)
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password secret\n")
    (tmp_path / "netrc").chmod(0o600)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/keyring").write_text(KEYRING)
    (tmp_path / "bin/keyring").chmod(0o755)
    empty, plain, full = Index(), guarded.variables("")["PIP_INDEX_URL"], with_user(guarded, "me:secret")
    elsewhere = {"PIP_INDEX_URL": empty.variables("")["PIP_INDEX_URL"]}
    dropped, more = {
        "URL": ((), {"PIP_INDEX_URL": full}),
        "netrc": ((), {"NETRC": str(tmp_path / "netrc")}),
        "keyring": ((), {"PIP_INDEX_URL": with_user(guarded, "me"), "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"}),
        "UV_INDEX_URL": (("PIP_INDEX_URL",), {"UV_INDEX_URL": full}),
        "UV_DEFAULT_INDEX": (
            ("PIP_INDEX_URL",),
            {"UV_DEFAULT_INDEX": f"my-own={plain}", "UV_INDEX_MY_OWN_USERNAME": "me", "UV_INDEX_MY_OWN_PASSWORD": "secret"},
        ),
        "UV_INDEX": (("PIP_EXTRA_INDEX_URL",), {**elsewhere, "UV_INDEX": f"other={elsewhere['PIP_INDEX_URL']} {full}"}),
        "UV_EXTRA_INDEX_URL": (("PIP_EXTRA_INDEX_URL",), {**elsewhere, "UV_EXTRA_INDEX_URL": full}),
    }[way]
    try:
        assert check(guarded, *dropped, **more)
    finally:
        empty.close()


def test_an_index_with_a_certificate_of_a_private_authority_gives_parts_too(check, certificates):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(str(certificates / "server.pem"))
    index = served(Index(context))
    try:
        assert not check(index, PIP_RETRIES="0")
        assert check(index, PIP_CERT=str(certificates / "ca.pem"))
    finally:
        index.close()


@pytest.mark.parametrize("variable", ["PIP_CLIENT_CERT", "SSL_CLIENT_CERT"])
def test_an_index_that_asks_for_a_client_certificate_gives_parts_too(check, certificates, variable):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(str(certificates / "server.pem"))
    context.load_verify_locations(str(certificates / "ca.pem"))
    context.verify_mode = ssl.CERT_REQUIRED
    index = served(Index(context))
    trusted = {"PIP_CERT": str(certificates / "ca.pem"), "PIP_RETRIES": "0"}
    try:
        assert not check(index, **trusted)
        assert check(index, **trusted, **{variable: str(certificates / "client.pem")})
    finally:
        index.close()


@pytest.mark.parametrize("variable", ["PIP_PROXY", "http_proxy"])
def test_a_proxy_is_used_for_every_request(check, variable):
    index = served(Index())
    try:
        with CountingProxy() as proxy:
            unnamed = index.variables("")["PIP_INDEX_URL"].replace("127.0.0.1", "localhost")
            assert check(index, "NO_PROXY", "no_proxy", PIP_INDEX_URL=unnamed, NO_PROXY="", no_proxy="", **{variable: proxy.url})
            assert proxy.connections["localhost"] == index.connections > 0
    finally:
        index.close()

"""What the user has told pip or uv of the index counts for every request: no more is fetched behind a password than without."""

import os
import ssl
import subprocess

import pytest

from tests.command import sitepatch
from tests.index import Index, size_of, wheel
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
def empty_index():
    index = Index()
    yield index
    index.close()


@pytest.fixture
def check(tmp_path):
    """Run `check --against` with an index, without the variables in `dropped`: tells whether it could read the release.

    What it has read is never more than a tenth of the wheel.
    """
    write_patchset(tmp_path / "mine", "ask")

    def run(index, *dropped, **more):
        bundles = dict.fromkeys(("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"), "")  # pip takes them rather than PIP_CERT
        variables = {**index.variables(tmp_path / "cache"), **bundles, **more}
        for name in dropped:
            variables.pop(name, None)
        ended = sitepatch("check", "ask", "--against", "1.0", "--patch-dir", tmp_path / "mine", cwd=tmp_path, **variables)
        assert (ended.code == 0) == ("applicable" in ended.out), ended.err
        if ended.code == 0:
            assert sum(map(size_of, index.parts)) < len(LARGE) / 10
            assert len(index.parts) == len(index.fetched), "the whole wheel was not asked for"
        print(ended.out, ended.err)
        return ended.code == 0

    return run


def url_of(index):
    return index.variables("")["PIP_INDEX_URL"]


def with_user(index, user):
    return url_of(index).replace("://", f"://{user}@")


def test_a_password_in_the_url_of_an_index_is_used_for_parts_too(guarded, check):
    assert not check(guarded)
    assert check(guarded, PIP_INDEX_URL=with_user(guarded, "me:secret"))


def test_a_password_in_netrc_is_used_for_parts_too(guarded, check, tmp_path):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password secret\n")
    netrc.chmod(0o600)
    assert not check(guarded)
    assert check(guarded, NETRC=str(netrc))


def test_a_password_of_the_keyring_is_used_for_parts_too(guarded, check, tmp_path):
    keyring = tmp_path / "bin/keyring"
    keyring.parent.mkdir()
    keyring.write_text(KEYRING)
    keyring.chmod(0o755)
    assert not check(guarded)
    assert check(guarded, PIP_INDEX_URL=with_user(guarded, "me"), PATH=f"{keyring.parent}{os.pathsep}{os.environ['PATH']}")


def test_a_password_that_uv_is_given_for_its_default_index_is_used_for_parts_too(guarded, check):
    assert not check(guarded)
    assert check(guarded, "PIP_INDEX_URL", UV_INDEX_URL=with_user(guarded, "me:secret"))
    credentials = {"UV_INDEX_MY_OWN_USERNAME": "me", "UV_INDEX_MY_OWN_PASSWORD": "secret"}
    assert check(guarded, "PIP_INDEX_URL", UV_DEFAULT_INDEX=f"my-own={url_of(guarded)}", **credentials)


@pytest.mark.parametrize("variable", ["UV_INDEX", "UV_EXTRA_INDEX_URL"])
def test_a_password_that_uv_is_given_for_another_index_is_used_for_parts_too(guarded, check, empty_index, variable):
    assert not check(guarded)
    empty, full = url_of(empty_index), with_user(guarded, "me:secret")
    value = f"other={empty} {full}" if variable == "UV_INDEX" else full
    assert check(guarded, "PIP_EXTRA_INDEX_URL", PIP_INDEX_URL=empty, **{variable: value})


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
            url = url_of(index).replace("127.0.0.1", "localhost")
            assert check(index, "NO_PROXY", "no_proxy", PIP_INDEX_URL=url, **{variable: proxy.url})
            assert proxy.connections["localhost"] == index.connections > 0
    finally:
        index.close()

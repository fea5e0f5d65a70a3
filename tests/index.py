"""A package index of our own on localhost, as PEP 503 has it, with wheels made of a few lines: what the real pip asks."""

import base64
import io
import re
import tarfile
import threading
import zipfile
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.records import digest, with_record


def wheel(distribution, version, files, spoil=()):
    """The bytes of a wheel; of the paths `spoil` RECORD tells another hash."""
    members = with_record(distribution, version, files)
    record = next(path for path in members if path.endswith("/RECORD"))
    for path in spoil:
        members[record] = members[record].replace(digest(members[path]).encode(), digest(members[path] + b"?").encode())
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for path, data in members.items():
            archive.writestr(path, data)
    return out.getvalue()


def sdist(distribution, version):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        data = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n".encode()
        info = tarfile.TarInfo(f"{distribution}-{version}/PKG-INFO")
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def size_of(part):
    """The number of bytes in the part of a file that a Content-Range header names."""
    first, last = map(int, re.match(r"bytes (\d+)-(\d+)/", part).groups())
    return last + 1 - first


class Index:
    """Serves what `add` and `put` gave it. `fetched` are the names of the files that were asked for, in that order.

    `tls` is the ssl.SSLContext of an https one. A file in `held` is not served before `release` is set; `asked` tells that somebody waits for one.
    """

    def __init__(self, tls=None):
        self.projects, self.fetched, self.held = {}, [], set()
        self.parts = None  # a list takes the parts of files that are asked for; without it only whole files are served
        self.acts = {}  # {name of a project or of a file: what answers in its place, which takes the handler and the bytes}
        self.asked, self.release = threading.Event(), threading.Event()
        self.user = ""  # `NAME:PASSWORD` that is asked for
        self.connections = 0
        self.scheme = "https" if tls else "http"
        index = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"  # connections are kept

            def setup(self):
                index.connections += 1
                super().setup()

            def do_GET(self):
                if index.user and self.headers["Authorization"] != f"Basic {base64.b64encode(index.user.encode()).decode()}":
                    self.send_response(401)
                    self.send_header("WWW-Authenticate", 'Basic realm="packages"')
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                found, part = index.answer(self.path), None
                act = index.acts.get(self.path.rstrip("/").rpartition("/")[2])
                if act:
                    with suppress(ConnectionError):
                        act(self, found)
                    return
                if found and index.parts is not None and self.headers["Range"]:
                    first, last = map(int, self.headers["Range"][len("bytes=") :].split("-"))
                    part = f"bytes {first}-{min(last, len(found) - 1)}/{len(found)}"
                    index.parts.append(part)
                    found = found[first : last + 1]
                with suppress(ConnectionError):  # a pip that was ended does not wait for the rest
                    self.send_response(404 if found is None else 206 if part else 200)
                    self.send_header(*("Content-Range", part) if part else ("Server-Timing", "none"))
                    self.send_header("Content-Type", "text/html" if self.path.endswith("/") else "application/octet-stream")
                    self.send_header("Content-Length", str(len(found or b"")))
                    self.end_headers()
                    if self.command != "HEAD":
                        self.wfile.write(found or b"")

            do_HEAD = do_GET  # which uv asks first

            def log_message(self, *words):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self):
        self.release.set()
        self.server.shutdown()
        self.server.server_close()

    def add(self, distribution, version, files, tag="py3-none-any", attributes="", spoil=()):
        name = f"{distribution.replace('-', '_')}-{version}-{tag}.whl"
        self.put(distribution, name, wheel(distribution, version, files, spoil), attributes)

    def put(self, distribution, name, data, attributes=""):
        self.projects.setdefault(distribution, {})[name] = (data, attributes)

    def answer(self, path):
        _, kind, project, name = path.replace("%2B", "+").split("/")
        files = self.projects.get(project)
        if files is None or (kind == "files" and name not in files):
            return None
        if kind == "simple":
            links = [f'<a href="/files/{project}/{name}" {more}>{name}</a>' for name, (_, more) in files.items()]
            return ("<!DOCTYPE html><html><body>" + "<br>".join(links) + "</body></html>").encode()
        self.fetched.append(name)
        if name in self.held:
            self.asked.set()
            self.release.wait(60)
        return files[name][0]

    def variables(self, cache):
        """The variables that make pip ask this index alone, and sitepatch keep releases in `cache`."""
        return {
            "PIP_INDEX_URL": f"{self.scheme}://127.0.0.1:{self.server.server_address[1]}/simple/",
            "PIP_EXTRA_INDEX_URL": "",
            "PIP_FIND_LINKS": "",
            "PIP_CONFIG_FILE": "/dev/null",
            "PIP_RETRIES": "1",
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
            "SITEPATCH_CACHE": str(cache),
        }

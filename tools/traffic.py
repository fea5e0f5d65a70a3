"""What `check --against` takes from the package index: bytes and connections, counted by a proxy of our own.

    python -m tools.traffic [--patchset NAME] [--releases 2.13.0,2.12.0]

Everything goes through the proxy, encrypted as it is, so it counts what a wire carries. Cold is with an empty cache, warm is
the same command again. The user's settings of pip count, as for the command itself.
"""

from __future__ import annotations

import argparse
import os
import select
import socket
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Iterator, Sequence
from urllib.parse import urlsplit

TEN = "2.13.0,2.12.0,2.11.0,2.10.0,2.9.0,2.8.0,2.7.0,2.6.0,2.5.0,2.4.0"


class CountingProxy(ThreadingHTTPServer):
    """A proxy on localhost: `CONNECT` for https, a request sent on for http. `connections` and `received` are by host."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.connections: Counter[str] = Counter()
        self.received: Counter[str] = Counter()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def __enter__(self) -> CountingProxy:
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: CountingProxy

    def do_CONNECT(self) -> None:
        host, _, port = self.path.rpartition(":")
        with self._connected(host, int(port)) as upstream:
            self.send_response(200)
            self.end_headers()
            self._relay(upstream, host)

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        with self._connected(url.hostname or "", url.port or 80) as upstream:
            path = url._replace(scheme="", netloc="").geturl() or "/"
            headers = "".join(
                f"{name}: {value}\r\n"
                for name, value in self.headers.items()
                if "Connection" not in name
            )
            upstream.sendall(
                f"{self.command} {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n".encode(
                    "latin-1"
                )
            )
            self._relay(upstream, url.hostname or "")

    do_HEAD = do_GET

    def _connected(self, host: str, port: int) -> socket.socket:
        self.close_connection = True
        self.server.connections[host] += 1
        return socket.create_connection((host, port), timeout=60)

    def _relay(self, upstream: socket.socket, host: str) -> None:
        """Hand bytes on in both directions until one side ends; what comes from upstream is counted."""
        others = {self.connection: upstream, upstream: self.connection}
        while True:
            for side in select.select(list(others), [], [])[0]:
                try:
                    data = side.recv(1 << 16)
                except ConnectionError:
                    data = b""
                if not data:
                    return
                if side is upstream:
                    self.server.received[host] += len(data)
                others[side].sendall(data)

    def log_message(self, *_: object) -> None:
        pass


def measured(words: Sequence[str], environ: dict[str, str]) -> tuple[Counter[str], Counter[str]]:
    """The connections and the bytes received by host, of a run of sitepatch."""
    with CountingProxy() as proxy:
        through = dict.fromkeys(
            ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), proxy.url
        )
        more = {**os.environ, **environ, **through, "NO_PROXY": "", "no_proxy": ""}
        ended = subprocess.run(
            [sys.executable, "-m", "patcher", *words], env=more, stdout=subprocess.PIPE
        )
        if ended.returncode not in (0, 1):
            sys.exit(
                f"sitepatch {' '.join(words)}: exit code {ended.returncode}\n{ended.stdout.decode()}"
            )
        return proxy.connections, proxy.received


def rows(patchset: str, releases: list[str]) -> Iterator[tuple[str, int, int, str]]:
    """What was done, the bytes and the connections, and the bytes by host."""
    for chosen in dict.fromkeys([tuple(releases[:1]), tuple(releases)]):
        words = [
            "check",
            patchset,
            *(word for release in chosen for word in ("--against", release)),
            "--quiet",
        ]
        with tempfile.TemporaryDirectory() as cache:
            for state in ("cold", "warm"):
                connections, received = measured(words, {"SITEPATCH_CACHE": cache})
                hosts = ", ".join(
                    f"{host} {size / 1e6:.2f}" for host, size in received.most_common()
                )
                yield (
                    f"{len(chosen)} {state}",
                    sum(received.values()),
                    sum(connections.values()),
                    hosts,
                )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--patchset", default="torch-musa-guard")
    parser.add_argument("--releases", default=TEN, help="the first alone, then all of them")
    options = parser.parse_args()
    print("| releases | MB | connections | MB by host |\n| --- | --- | --- | --- |")
    for name, size, connections, hosts in rows(options.patchset, options.releases.split(",")):
        print(f"| {name} | {size / 1e6:.2f} | {connections} | {hosts} |", flush=True)


if __name__ == "__main__":
    main()

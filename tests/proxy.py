"""A proxy on localhost that counts connections and bytes by host: what a wire to an index carries."""

import select
import socket
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


class CountingProxy(ThreadingHTTPServer):
    """A proxy on localhost: `CONNECT` for https, a request sent on for http. `connections` and `received` are by host."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.connections = Counter()
        self.received = Counter()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    def do_CONNECT(self):
        host, _, port = self.path.rpartition(":")
        with self._connected(host, int(port)) as upstream:
            self.send_response(200)
            self.end_headers()
            self._relay(upstream, host)

    def do_GET(self):
        url = urlsplit(self.path)
        with self._connected(url.hostname or "", url.port or 80) as upstream:
            path = url._replace(scheme="", netloc="").geturl() or "/"
            headers = "".join(f"{name}: {value}\r\n" for name, value in self.headers.items() if "Connection" not in name)
            upstream.sendall(f"{self.command} {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n".encode("latin-1"))
            self._relay(upstream, url.hostname or "")

    do_HEAD = do_GET

    def _connected(self, host, port):
        self.close_connection = True
        self.server.connections[host] += 1
        return socket.create_connection((host, port), timeout=60)

    def _relay(self, upstream, host):
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

    def log_message(self, *_):
        pass

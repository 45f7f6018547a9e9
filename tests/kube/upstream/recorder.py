"""What a spec of the suite and a run say to each other, word for word and in their order.

A proxy of `tests.kubectl.recorder` stands between them. One request is answered at a time, so that it
is known what was answered before what; the lines of watches and of logs come in between as they do.
"""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPResponse
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import yaml

from kube.clusters import Cluster
from tests.kube.transcripts.exchanges import text_of
from tests.kube.upstream.golden.steps import SOCKET
from tests.kubectl.recorder import KEPT, ROOT, Note, Recorder, recording

# The spec begins at this second of its run, when nodes are ready and furniture is there.
BEGINS_SECONDS = 5


class SpecRecorder(Recorder):
    """Writes each request to a file once it is answered, and each line of a watch as it comes."""

    def __init__(self, cluster: Cluster, server: str, path: Path) -> None:
        super().__init__(cluster, server)
        self._file = path.open("w")
        self._streams = 0
        self._at = 0.0

    def pass_on(self, handler: BaseHTTPRequestHandler) -> None:
        """As for any client; of a WebSocket it is written that there was one, which may write."""
        if handler.headers.get("Upgrade", "").lower() != "websocket":
            super().pass_on(handler)
            return
        host, _, port = self.host.partition(":")
        with socket.create_connection((host, int(port))) as upstream:
            lines = [f"{name}: {value}" for name, value in handler.headers.items()]
            with self.lock:
                # It is answered once what a command does is done.
                upstream.sendall("\r\n".join([handler.requestline, *lines, "", ""]).encode())
                answer = upstream.recv(65536)
                handler.connection.sendall(answer)
                self._at = self.cluster.now
                asked = {"method": SOCKET, "path": ROOT.sub("", handler.path)}
                status = int(answer.split(b" ", 2)[1])
                self.write(**asked, headers={}, body="", status=status, answer=None)
            back = threading.Thread(target=_pump, args=(upstream, handler.connection), daemon=True)
            back.start()
            _pump(handler.connection, upstream)
            back.join()

    def begin(
        self, handler: BaseHTTPRequestHandler, content: bytes, answer: HTTPResponse, at: float
    ) -> Note:
        """Where the answer to a request is noted, which it gets at second *at* of the run or later."""
        request = {
            "method": handler.command,
            "path": ROOT.sub("", handler.path),
            "headers": {k: handler.headers[k] for k in KEPT if k in handler.headers},
            "body": text_of(content),
            "status": answer.status,
        }
        self._at = at if handler.command == "GET" else self.cluster.now
        return _Told(self, request)

    def write(self, **entry: Any) -> None:
        """One entry, a line of the file; the lock is held."""
        if not self._file.closed:
            self._file.write(f"{json.dumps({'at': self._at, **entry})}\n")

    def number(self) -> int:
        """Of the next answer that comes in lines; the lock is held."""
        self._streams += 1
        return self._streams

    def close(self) -> None:
        """What is said from now on is not written."""
        with self.lock:
            self._file.close()


def _pump(giving: socket.socket, taking: socket.socket) -> None:
    """Pass on what comes until one of the two has left."""
    with suppress(OSError):
        while piece := giving.recv(65536):
            taking.sendall(piece)
        taking.shutdown(socket.SHUT_WR)


class _Told(Note):
    """The answer to one request, written in one entry or line by line."""

    def __init__(self, recorder: SpecRecorder, request: dict[str, Any]) -> None:
        super().__init__(lambda _: None)
        self._recorder = recorder
        self._request = request
        self._stream = 0
        self._rest = b""

    def stream(self) -> None:
        self._stream = self._recorder.number()
        self._recorder.write(stream=self._stream, **self._request)

    def answer(self, told: bytes) -> None:
        self._recorder.write(**self._request, answer=text_of(told))

    def add(self, piece: bytes) -> None:
        if self._stream:
            *lines, self._rest = (self._rest + piece).split(b"\n")
            # After the answer to the write that they may be about.
            with self._recorder.lock:
                for line in lines:
                    self._recorder.write(of_stream=self._stream, line=text_of(line))


@contextmanager
def recording_to(path: Path, cluster: Cluster, kubeconfig: Path) -> Iterator[Path]:
    """A kubeconfig through which all is noted in the file *path*."""
    server = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
    with recording(SpecRecorder(cluster, server, path)) as (noting, origin):
        yield noting.through(kubeconfig, origin)
        noting.close()

"""A proxy between kubectl and a run that writes down what they say to each other."""

import http.client
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import yaml

from kube.clusters import Cluster
from tests.kube.transcripts.exchanges import WATCH, Exchange, text_of
from tests.kube.transcripts.shapes import names_in, shape_of
from tests.waiting import HANG_SECONDS

KEPT = ("Accept", "Content-Type")
ROOT = re.compile(r"^/k8s/runs/\d+")
# In the path of a request for whose answer others do not wait: it goes on.
STREAMED = re.compile(rf"{WATCH.pattern}|[?&](?:watch=1|follow=true)")
# Between two seconds of the cluster.
_PAUSE_SECONDS = 0.01
_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length"}


class Recorder:
    """The exchanges of one cluster with its clients, each with the `command` that it belongs to."""

    def __init__(self, cluster: Cluster, server: str) -> None:
        self.exchanges: list[Exchange] = []
        self.command = ""
        self.cluster = cluster
        self.host = urlsplit(server).netloc
        # Held while a request is answered, or time goes on.
        self.lock = threading.Lock()

    @contextmanager
    def playing(self) -> Iterator[None]:
        """Time goes on, but never during a request: its answer is that of one known instant."""
        is_over = threading.Event()

        def go_on() -> None:
            while not is_over.wait(_PAUSE_SECONDS):
                with self.lock:
                    self.cluster.advance(1)

        clock = threading.Thread(target=go_on)
        clock.start()
        try:
            yield
        finally:
            is_over.set()
            clock.join()

    def through(self, kubeconfig: Path, origin: str) -> Path:
        """A copy of the kubeconfig that leads through the proxy at *origin*."""
        content = yaml.safe_load(kubeconfig.read_text())
        for one in content["clusters"]:
            parts = urlsplit(one["cluster"]["server"])
            one["cluster"]["server"] = f"{origin}{parts.path}"
        path = kubeconfig.with_name(f"recorded-{kubeconfig.name}")
        path.write_text(yaml.safe_dump(content))
        return path

    def pass_on(self, handler: BaseHTTPRequestHandler) -> None:
        """Ask the run what the client asks, and give it the answer, piece by piece."""
        content = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        # A compressed answer could not be looked at.
        headers = {k: v for k, v in handler.headers.items() if k != "Accept-Encoding"}
        upstream = http.client.HTTPConnection(self.host, timeout=HANG_SECONDS)
        with self.lock:
            at = self.cluster.now
            upstream.request(handler.command, handler.path, content, headers)
            answer = upstream.getresponse()
            note = self.begin(handler, content, answer, at)
            told = b""
            if answer.status == 200 and STREAMED.search(handler.path):
                note.stream()
            else:
                told = answer.read()
                note.answer(told)
        handler.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in _HOP:
                handler.send_header(name, value)
        handler.send_header("Connection", "close")
        handler.end_headers()
        try:
            handler.wfile.write(told)
            while piece := answer.read1(65536):
                note.add(piece)
                handler.wfile.write(piece)
                handler.wfile.flush()
        except (OSError, http.client.IncompleteRead):
            pass  # the client has left a watch, or the run is gone
        finally:
            upstream.close()
            if "Upgrade" not in handler.headers:  # the header goes no further than to this proxy
                note.end()

    def begin(
        self,
        handler: BaseHTTPRequestHandler,
        content: bytes,
        answer: http.client.HTTPResponse,
        at: float,
    ) -> "Note":
        """What keeps the answer to a request."""

        def keep(told: bytes) -> None:
            content_type = answer.headers.get("Content-Type") or ""
            self.exchanges.append(
                Exchange(
                    command=self.command,
                    at=at,
                    method=handler.command,
                    path=ROOT.sub("", handler.path),
                    headers={k: handler.headers[k] for k in KEPT if k in handler.headers},
                    body=text_of(content),
                    status=answer.status,
                    content_type=content_type,
                    shape=shape_of(told, content_type),
                    names=names_in(told, content_type),
                )
            )

        return Note(keep)


class Note:
    """One answer, as it comes; *keep* gets all of it once it is over."""

    def __init__(self, keep: Callable[[bytes], None]) -> None:
        self._keep = keep
        self._pieces: list[bytes] = []

    def stream(self) -> None:
        """It comes piece by piece, while other requests are answered."""

    def answer(self, told: bytes) -> None:
        """It came at once, and nobody else has asked since."""
        self.add(told)

    def add(self, piece: bytes) -> None:
        """The next piece."""
        self._pieces.append(piece)

    def end(self) -> None:
        """Nothing more comes."""
        self._keep(b"".join(self._pieces))


R = TypeVar("R", bound="Recorder")


@contextmanager
def recording(recorder: R) -> Iterator[tuple[R, str]]:
    """A recorder, and the address of its proxy."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            """Be silent."""

        def _pass_on(self) -> None:
            self.close_connection = True
            recorder.pass_on(self)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _pass_on

    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    proxy.daemon_threads = True
    thread = threading.Thread(target=proxy.serve_forever, daemon=True)
    thread.start()
    try:
        yield recorder, f"http://127.0.0.1:{proxy.server_address[1]}"
    finally:
        proxy.shutdown()
        proxy.server_close()
        thread.join()

"""An API server in front of a run: it writes down what is asked, forbids, and hands lists out in pages."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import yaml

USER = "dev@example.com"
_KEPT = ("accept", "content-type", "authorization")


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it came."""

    method: str
    path: str
    query: dict[str, str]
    accept: str
    headers: dict[str, str]

    @property
    def is_watch(self) -> bool:
        """Whether its answer goes on."""
        return self.query.get("watch") == "true"

    @property
    def is_list(self) -> bool:
        """Whether it asks for objects, and not for what is served."""
        return self.path.startswith(("/api/v1/", "/apis/")) and self.path.count("/") > 2


@dataclass(slots=True)
class ApiProxy:
    """What it does with the requests of a client.

    *forbidden* are resources that may not be read at all, *namespaced* those that may be read in one
    namespace alone. *secrets* are in the cluster although no run keeps their data. *busy* is how often
    a list is answered with 429 first; with *expires*, the second page of a list is gone once.
    """

    upstream: str
    forbidden: frozenset[str] = frozenset()
    namespaced: dict[str, str] = field(default_factory=dict[str, str])
    secrets: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    busy: int = 0
    expires: bool = False
    gone: set[str] = field(default_factory=set[str])
    token: str = ""
    asked: list[Asked] = field(default_factory=list[Asked])
    sent: list[bytes] = field(default_factory=list[bytes])
    lock: Any = field(default_factory=threading.Lock)

    @property
    def paths(self) -> list[str]:
        """The addresses of all requests."""
        return [each.path for each in self.asked]

    def answer(self, asked: Asked) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body."""
        with self.lock:
            self.asked.append(asked)
        if self.token and asked.headers.get("authorization") != f"Bearer {self.token}":
            return _status(401, "Unauthorized", "Unauthorized")
        if asked.method != "GET":
            return _status(405, "MethodNotAllowed", "this cluster is read only")
        refusal = self._refusal(asked)
        if refusal:
            return _status(403, "Forbidden", refusal)
        with self.lock:
            if self.busy and asked.is_list:
                self.busy -= 1
                return _status(429, "TooManyRequests", "busy", {"Retry-After": "0"})
        return self._passed_on(asked)

    def _refusal(self, asked: Asked) -> str:
        parts = asked.path.split("/")
        resource = next((each for each in parts if each in {*self.forbidden, *self.namespaced}), "")
        if not asked.is_list or not resource:
            return ""
        if (
            resource in self.namespaced
            and f"/namespaces/{self.namespaced[resource]}/" in asked.path
        ):
            return ""
        return f'{resource} is forbidden: User "{USER}" cannot list resource "{resource}"'

    def _passed_on(self, asked: Asked) -> tuple[int, dict[str, str], bytes]:
        query = {k: v for k, v in asked.query.items() if k not in ("limit", "continue")}
        status, kind, body = self._upstream(asked, query)
        if status == 200 and asked.path.endswith("/secrets"):
            body = self._with_secrets(asked, body)
        if status == 200 and "limit" in asked.query and body.startswith(b'{"kind"'):
            return self._page(asked, json.loads(body))
        return status, {"Content-Type": kind}, body

    def watched(self, asked: Asked) -> Iterator[bytes]:
        """The pieces of a watch, as they come."""
        with self.lock:
            self.asked.append(asked)
        resource = asked.path.rpartition("/")[2]
        if resource in self.gone:
            self.gone.discard(resource)
            _, _, status = _status(410, "Expired", "too old resource version")
            yield b'{"type":"ERROR","object":' + status + b"}\n"
            return
        parts = urlsplit(self.upstream)
        link = http.client.HTTPConnection(parts.netloc, timeout=120)
        link.request("GET", f"{parts.path}{asked.path}?{urlencode(asked.query)}")
        answer = link.getresponse()
        try:
            while piece := answer.read1(65_536):
                yield piece
        finally:
            link.close()

    def _upstream(self, asked: Asked, query: dict[str, str]) -> tuple[int, str, bytes]:
        parts = urlsplit(self.upstream)
        link = http.client.HTTPConnection(parts.netloc, timeout=120)
        path = f"{parts.path}{asked.path}" + (f"?{urlencode(query)}" if query else "")
        link.request("GET", path, headers={"Accept": asked.accept})
        found = link.getresponse()
        body = found.read()
        link.close()
        return found.status, found.getheader("Content-Type") or "", body

    def _with_secrets(self, asked: Asked, body: bytes) -> bytes:
        """The list with Secrets that have data, which metadata alone leave out."""
        document = json.loads(body)
        names_only = "PartialObjectMetadata" in asked.accept
        for each in self.secrets:
            shown = {"metadata": each["metadata"]} if names_only else each
            document["items"].append(shown)
        return json.dumps(document, separators=(",", ":")).encode()

    def _page(self, asked: Asked, document: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        limit, begin = int(asked.query["limit"]), int(asked.query.get("continue") or 0)
        if begin and self.expires:
            self.expires = False
            return _status(410, "Expired", "the provided continue parameter is too old")
        items = document["items"]
        document["items"] = items[begin : begin + limit]
        if begin + limit < len(items):
            document["metadata"]["continue"] = str(begin + limit)
        return 200, {"Content-Type": "application/json"}, json.dumps(document).encode()


def _status(
    code: int, reason: str, message: str, headers: dict[str, str] | None = None
) -> tuple[int, dict[str, str], bytes]:
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "code": code,
        "reason": reason,
        "message": message,
    }
    found = {"Content-Type": "application/json", **(headers or {})}
    return code, found, json.dumps(body).encode()


@contextmanager
def serving(proxy: ApiProxy) -> Iterator[str]:
    """The proxy at an address of its own."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            """Be silent."""

        def _answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            headers = {k.lower(): v for k, v in self.headers.items() if k.lower() in _KEPT}
            asked = Asked(self.command, parts.path, query, headers.get("accept", ""), headers)
            if asked.is_watch:
                self._watch(asked)
                return
            status, told, body = proxy.answer(asked)
            with proxy.lock:
                proxy.sent.append(body)
            self.send_response(status)
            for name, value in {**told, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def _watch(self, asked: Asked) -> None:
            self.close_connection = True
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Connection", "close")
            self.end_headers()
            try:
                for piece in proxy.watched(asked):
                    self.wfile.write(piece)
                    self.wfile.flush()
            except (OSError, http.client.HTTPException):
                pass  # the client has left, or the run is gone

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def kubeconfig(
    folder: Path, server: str, *, name: str = "prod", namespace: str = "", user: Any = None
) -> Path:
    """A kubeconfig with one context, which leads to *server*."""
    context = {"cluster": name, "user": "dev", **({"namespace": namespace} if namespace else {})}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": server}}],
        "users": [{"name": "dev", "user": user or {}}],
        "contexts": [{"name": name, "context": context}],
        "current-context": name,
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(document))
    return path

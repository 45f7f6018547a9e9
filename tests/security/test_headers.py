"""Which headers an answer has, whoever gives it: pages, files, APIs, errors and refusals."""

from typing import Any

import pytest
from django.conf import settings

from kscope.glossary import explanations_href
from kscope.operations.headers import answer_headers
from kscope.runs.models import Run
from kube import openapi
from tests.security.client import Answer, Asgi

SCRIPT = f"{settings.STATIC_URL}js/theme.js"
HIDDEN = "/api/v1/runs/987654/"
ALWAYS = {
    "content-security-policy",
    "cross-origin-opener-policy",
    "cross-origin-resource-policy",
    "permissions-policy",
    "referrer-policy",
    "x-content-type-options",
    "x-frame-options",
    "x-request-id",
    "cache-control",
}
# What is asked for, with what, and the status and the Cache-Control of the answer.
ANSWERS: list[tuple[str, str, dict[str, str], int, str]] = [
    ("GET", "/", {}, 200, "no-store"),
    ("GET", "/login/", {}, 200, "no-store"),
    ("GET", "/healthz", {}, 200, "no-store"),
    ("GET", "/api/v1/runs/", {}, 200, "no-store"),
    ("GET", "/api/v1/schema/", {}, 200, "no-store"),
    ("GET", "/api/v1/runs/{run}/", {}, 200, "no-store"),
    ("GET", "/api/v1/runs/{run}/events/export/?format=ndjson", {}, 200, "no-store"),
    ("GET", "/api/v1/runs/{run}/events/export/?format=csv", {}, 200, "no-store"),
    ("GET", "/runs/{run}/kubeconfig/", {}, 200, "no-store"),
    ("GET", "/admin/", {}, 302, "no-store"),
    ("GET", "/glossary", {}, 301, "no-store"),
    ("GET", "/glossary/explanations/?v=OLD", {}, 200, "no-store"),
    ("GET", explanations_href(), {}, 200, "public, immutable, max-age=31536000"),
    ("GET", "/stories/nowhere/replay/", {}, 404, "no-store"),
    ("GET", "/favicon.ico", {}, 302, "no-store"),
    ("GET", HIDDEN, {}, 404, "no-store"),
    ("GET", "/nowhere/", {}, 404, "no-store"),
    ("GET", "/", {"host": "evil.example"}, 400, "no-store"),
    ("GET", "/api/v1/runs/", {"authorization": "Token kscope_wrong"}, 401, "no-store"),
    ("POST", "/api/v1/runs/", {"origin": "https://evil.example"}, 403, "no-store"),
    ("POST", "/api/v1/scenarios/", {"content_length": "99999999999"}, 413, "no-store"),
    ("GET", f"{settings.STATIC_URL}js/absent.js", {}, 404, "no-store"),
    ("GET", SCRIPT, {}, 200, "max-age=315360000, public, immutable"),
    ("POST", SCRIPT, {}, 405, "no-store"),
    ("GET", "/words/en-gb/0123456789ab.js", {}, 200, "no-cache"),
    ("GET", "/words/xx/0123456789ab.js", {}, 404, "no-store"),
    ("GET", "/k8s/runs/{run}/version", {}, 200, "no-cache, private"),
    ("GET", "/k8s/runs/{run}/api/v1/pods", {}, 200, "no-cache, private"),
    ("GET", "/k8s/runs/{run}/openapi/v3/api/v1", {}, 200, "no-cache, private"),
    ("GET", "/k8s/runs/{run}/openapi/v3/api/v1?hash={hash}", {}, 200, "public, immutable"),
    ("GET", "/k8s/runs/{run}/openapi/v3/api/v1?hash=OLD", {}, 301, "no-cache, private"),
    ("GET", "/k8s/runs/987654/openapi/v3/api/v1?hash={hash}", {}, 404, "no-cache, private"),
    ("GET", "/k8s/runs/{run}/nothing", {}, 404, "no-cache, private"),
    (
        "GET",
        "/k8s/runs/{run}/version",
        {"origin": "https://evil.example"},
        403,
        "no-cache, private",
    ),
]


def assert_complete(answer: Answer, what: str) -> None:
    assert answer.headers.keys() >= ALWAYS, (what, ALWAYS - answer.headers.keys())
    doubled = {name for name in answer.names if name in ALWAYS and answer.names.count(name) > 1}
    assert not doubled, what
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "camera=()" in answer.headers["permissions-policy"]
    assert "'none'" in answer.headers["content-security-policy"]


async def test_every_answer_has_the_headers(asgi: Asgi, driven: Run) -> None:
    for method, path, headers, status, caching in ANSWERS:
        path = path.format(run=driven.pk, hash=openapi.v3_hash("api/v1"))
        answer = await asgi.ask(path, method, **headers)
        assert (path, answer.status) == (path, status)
        assert_complete(answer, path)
        assert (path, answer.headers["cache-control"]) == (path, caching)


async def test_files_that_a_browser_has_stay_kept(asgi: Asgi) -> None:
    etag = (await asgi.ask(SCRIPT)).headers["etag"]
    answer = await asgi.ask(SCRIPT, if_none_match=etag)
    assert answer.status == 304
    assert answer.headers["cache-control"].endswith("public, immutable")
    assert_complete(answer, "304")


@pytest.mark.parametrize(
    ("path", "origin"),
    [("/ws/runs/1/", "https://evil.example"), ("/k8s/runs/987654/api/v1/pods?watch=1", "")],
)
async def test_a_refused_socket_has_the_headers(
    asgi: Asgi, path: str, origin: str, transactional_db: Any
) -> None:
    answer = await asgi.open(path, **({"origin": origin} if origin else {}))
    assert answer.status in (403, 404)
    assert_complete(answer, path)


async def test_a_socket_that_opens_has_the_request_id(asgi: Asgi, driven: Run) -> None:
    answer = await asgi.open(f"/ws/runs/{driven.pk}/", x_request_id="mine-1")
    assert (answer.status, answer.headers["x-request-id"]) == (101, "mine-1")


async def test_an_overloaded_server_answers_with_the_headers() -> None:
    async def busy(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 503, "headers": []})
        await send({"type": "http.response.body", "body": b"busy"})

    answer = await Asgi(answer_headers(busy)).ask("/")
    assert_complete(answer, "503")


@pytest.mark.parametrize(
    ("headers", "expected"),
    [({"x_forwarded_proto": "https"}, "max-age=31536000"), ({}, None)],
)
async def test_hsts_is_sent_over_https_alone(
    settings: Any, headers: dict[str, str], expected: str | None
) -> None:
    settings.SECURE_HSTS_SECONDS = 31536000
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

    async def empty(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    answer = await Asgi(answer_headers(empty)).ask(SCRIPT, **headers)
    assert answer.headers.get("strict-transport-security") == expected


@pytest.mark.parametrize("given", ["mine-1", "x" * 65, "two\nlines", ""])
async def test_request_keeps_its_id_if_it_is_one(asgi: Asgi, given: str) -> None:
    answer = await asgi.ask(SCRIPT, x_request_id=given)
    found = answer.headers["x-request-id"]
    assert (found == given) == (given == "mine-1")
    assert len(found) == (6 if given == "mine-1" else 32)


async def test_trace_gives_nothing_back(asgi: Asgi, transactional_db: Any) -> None:
    for path in ("/", "/login/", "/api/v1/runs/", SCRIPT):
        answer = await asgi.ask(path, "TRACE", secret_header="told-back")
        assert (path, answer.status) == (path, 405)
        assert b"told-back" not in answer.body


async def test_no_answer_lets_other_sites_read_it(asgi: Asgi, driven: Run) -> None:
    for path in ("/api/v1/runs/", f"/k8s/runs/{driven.pk}/version", SCRIPT):
        answer = await asgi.ask(path, origin="https://evil.example")
        assert not any(name.startswith("access-control-") for name in answer.names)

"""Requests that make no sense: each is answered with a Status, and none is a defect of ours."""

import json
from collections.abc import AsyncIterator, Callable
from random import Random
from typing import Any

import pytest

from kscope.runs.models import Run
from tests.kube.server.client import JSON, JSON_PATCH, MERGE, STRATEGIC, Kube
from tests.web.conftest import driving

pytestmark = pytest.mark.django_db(transaction=True)

PODS = "/api/v1/namespaces/default/pods"
VALUES: tuple[Any, ...] = (None, 0, -1, True, "", "x" * 300, "a/b", [], {}, [[]], {"a": []}, 1e30)
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "mine", "labels": {"a": "b"}, "resourceVersion": "3"},
    "spec": {"containers": [{"name": "c", "image": "app:1", "ports": [{"containerPort": 1}]}]},
    "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    "target": {"name": "n1"},
    "deleteOptions": {"gracePeriodSeconds": 0, "preconditions": {"uid": "u"}},
    "preconditions": {"resourceVersion": "1"},
    "involvedObject": {"kind": "Pod", "name": "web", "namespace": "default"},
    "source": {"component": "mine"},
    "reason": "Seen",
}
REQUESTS = (
    ("POST", PODS, JSON),
    ("POST", f"{PODS}/web/binding", JSON),
    ("POST", f"{PODS}/web/eviction", JSON),
    ("POST", "/api/v1/namespaces/default/events", JSON),
    ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", JSON),
    ("PUT", f"{PODS}/web", JSON),
    ("PATCH", f"{PODS}/giant", MERGE),
    ("PATCH", f"{PODS}/giant/status", STRATEGIC),
    ("PATCH", f"{PODS}/giant", JSON_PATCH),
    ("DELETE", f"{PODS}/nobody", JSON),
)


@pytest.fixture
async def kube(kube_of: Callable[..., Kube], driven: Run) -> AsyncIterator[Kube]:
    """A client of a run that a worker looks after meanwhile."""
    with driving(driven):
        yield kube_of(driven)


def mutated(draw: Random, value: Any) -> Any:
    """*value* with one part replaced by something else."""
    if isinstance(value, dict) and value and draw.random() < 0.8:
        name = draw.choice(sorted(value))
        return {**value, name: mutated(draw, value[name])}
    if isinstance(value, list) and value and draw.random() < 0.85:
        place = draw.randrange(len(value))
        return [*value[:place], mutated(draw, value[place]), *value[place + 1 :]]
    return draw.choice(VALUES)


def garbled(draw: Random, text: bytes) -> bytes:
    """*text* with a few bytes replaced."""
    found = bytearray(text)
    for _ in range(draw.randint(1, 4)):
        found[draw.randrange(len(found))] = draw.randrange(256)
    return bytes(found)


async def test_bodies_that_make_no_sense_are_refused_in_words(kube: Kube) -> None:
    draw = Random(7)
    for turn in range(150):
        method, path, content_type = REQUESTS[turn % len(REQUESTS)]
        body = mutated(draw, POD)
        if content_type == JSON_PATCH:
            body = [mutated(draw, {"op": "add", "path": "/metadata/labels/x", "value": body})]
        text = json.dumps(body).encode()
        if draw.random() < 0.25:
            text = garbled(draw, text)
        answer = await kube.ask(method, path, text, content_type=content_type)
        assert answer.status < 500, (method, path, text, answer.body)
        if answer.status >= 400:
            assert answer.json["kind"] == "Status"
            assert answer.json["message"]


async def test_addresses_that_make_no_sense_are_refused_in_words(kube: Kube) -> None:
    paths = (
        "/api/v1/pods?labelSelector=((",
        "/api/v1/pods?fieldSelector=spec.nonsense=1",
        "/api/v1/pods?watch=1&resourceVersion=x",
        "/api/v1/pods?watch=1&timeoutSeconds=-1",
        "/api/v1/namespaces/default/pods/web/nonsense",
        "/api/v2/pods",
        "/apis/none/v1/nothing",
        "/apis/apps/v1/nodes",
        "/openapi/v3/apis/none/v1",
        "/api/v1/namespaces/a/b/c/d/e",
    )
    for path in paths:
        answer = await kube.get(path)
        assert 400 <= answer.status < 500, (path, answer.status)
        assert answer.json["kind"] == "Status"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
async def test_methods_that_an_address_lacks_are_refused(kube: Kube, method: str) -> None:
    answer = await kube.ask(method, "/version", {})
    assert answer.status in (200, 404, 405)

"""Endpoints and EndpointSlices are the pods that a Service leads to."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from kscope.runs.models import Command, Run
from tests.kube.server.client import Kube
from tests.web.conftest import driving

pytestmark = pytest.mark.django_db(transaction=True)

CORE = "/api/v1/namespaces/default"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
SERVICE: dict[str, Any] = {
    "metadata": {"name": "web"},
    "spec": {
        "selector": {"app": "led"},
        "ports": [{"name": "http", "port": 80, "targetPort": "named"}],
    },
}


def pod(name: str) -> dict[str, Any]:
    ports = [{"name": "named", "containerPort": 8080}]
    container = {"name": "c", "image": "app:1", "ports": ports}
    return {
        "metadata": {"name": name, "labels": {"app": "led"}},
        "spec": {"nodeName": "n1", "containers": [container]},
        "status": {},
    }


READY = {
    "phase": "Running",
    "startTime": "2026-01-01T00:00:00Z",
    "conditions": [{"type": "Ready", "status": "True"}],
    "podIP": "10.1.2.3",
    "hostIP": "10.9.9.9",
    "containerStatuses": [{"name": "c", "ready": True, "restartCount": 0, "image": "app:1"}],
}


@pytest.fixture
async def kube(kube_of: Callable[..., Kube], driven: Run) -> AsyncIterator[Kube]:
    """A client of a run that a worker looks after meanwhile."""
    with driving(driven):
        yield kube_of(driven)


async def make_ready(kube: Kube, name: str) -> None:
    assert (await kube.ask("POST", f"{CORE}/pods", pod(name))).status == 201
    patch = {"status": READY}
    answer = await kube.ask(
        "PATCH", f"{CORE}/pods/{name}/status", patch, content_type="application/merge-patch+json"
    )
    assert answer.status == 200


async def test_a_service_leads_to_its_ready_pods(kube: Kube, driven: Run) -> None:
    assert (await kube.ask("POST", f"{CORE}/services", SERVICE)).status == 201
    empty = (await kube.get(f"{CORE}/endpoints/web")).json
    assert "subsets" not in empty
    await make_ready(kube, "led")
    commands = await Command.objects.filter(run=driven).acount()
    [subset] = (await kube.get(f"{CORE}/endpoints/web")).json["subsets"]
    [address] = subset["addresses"]
    assert (address["ip"], address["targetRef"]["name"]) == ("10.1.2.3", "led")
    assert subset["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]
    listed = await kube.get(f"{SLICES}?labelSelector=kubernetes.io%2Fservice-name%3Dweb")
    [found] = listed.json["items"]
    [endpoint] = found["endpoints"]
    assert endpoint["conditions"] == {"ready": True, "serving": True, "terminating": False}
    assert found["metadata"]["ownerReferences"][0]["name"] == "web"
    again = await kube.get(f"{SLICES}/{found['metadata']['name']}")
    assert again.json["metadata"]["uid"] == found["metadata"]["uid"]
    assert await Command.objects.filter(run=driven).acount() == commands


async def test_the_api_server_has_its_endpoints(kube: Kube) -> None:
    [subset] = (await kube.get(f"{CORE}/endpoints/kubernetes")).json["subsets"]
    assert subset["ports"] == [{"name": "https", "port": 6443, "protocol": "TCP"}]


async def test_endpoints_without_a_selector_are_the_clients(kube: Kube) -> None:
    outside = {"metadata": {"name": "db"}, "spec": {"ports": [{"port": 5432}]}}
    await kube.ask("POST", f"{CORE}/services", outside)
    assert (await kube.get(f"{CORE}/endpoints/db")).status == 404
    subsets = [{"addresses": [{"ip": "192.0.2.1"}], "ports": [{"port": 5432}]}]
    own = {"metadata": {"name": "db"}, "subsets": subsets}
    assert (await kube.ask("POST", f"{CORE}/endpoints", own)).status == 201
    [subset] = (await kube.get(f"{CORE}/endpoints/db")).json["subsets"]
    assert subset["addresses"] == [{"ip": "192.0.2.1"}]


async def test_a_watch_follows_the_pods_of_a_service(kube: Kube) -> None:
    await kube.ask("POST", f"{CORE}/services", SERVICE)
    version = (await kube.get(f"{CORE}/endpoints")).json["metadata"]["resourceVersion"]
    path = f"{CORE}/endpoints?watch=1&resourceVersion={version}&fieldSelector=metadata.name%3Dweb"
    async with kube.watching(path) as events:
        await make_ready(kube, "led")
        told = await anext(events)
        while not told["object"].get("subsets"):
            told = await anext(events)
        assert told["type"] == "MODIFIED"
        await kube.ask("DELETE", f"{CORE}/services/web")
        while told["type"] != "DELETED":
            told = await anext(events)
        assert told["object"]["metadata"]["name"] == "web"


async def test_the_past_has_the_endpoints_of_then(
    kube_of: Callable[..., Kube], driven: Run
) -> None:
    past = kube_of(driven, str(driven.head_seq))
    assert (await past.get(f"{CORE}/endpoints")).names == ["kubernetes"]

"""What every cluster has is there in a run, too, and no history knows of it."""

from collections.abc import AsyncIterator, Callable
from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from kscope.runs.models import Command, Run
from tests.kube.server.client import MERGE, Kube
from tests.web.conftest import driving

pytestmark = pytest.mark.django_db(transaction=True)

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
MAPS = "/api/v1/namespaces/{}/configmaps"
PODS = "/api/v1/namespaces/default/pods"
ROOT = "kube-root-ca.crt"


@pytest.fixture
async def kube(kube_of: Callable[..., Kube], driven: Run) -> AsyncIterator[Kube]:
    """A client of a run that a worker looks after meanwhile."""
    with driving(driven):
        yield kube_of(driven)


async def test_each_namespace_has_its_account_and_certificate(kube: Kube, driven: Run) -> None:
    for namespace in ("default", "kube-system"):
        account = await kube.get(f"/api/v1/namespaces/{namespace}/serviceaccounts/default")
        assert (account.status, account.json["metadata"]["namespace"]) == (200, namespace)
        assert account.json["metadata"]["uid"]
        assert ROOT in (await kube.get(MAPS.format(namespace))).names
    assert (await kube.get("/api/v1/namespaces/none/serviceaccounts/default")).status == 404
    assert (await kube.get(ACCOUNTS + "/other")).status == 404
    service = (await kube.get("/api/v1/namespaces/default/services/kubernetes")).json
    assert service["spec"]["clusterIP"] == "10.96.0.1"
    assert await Command.objects.filter(run=driven).acount() == 0


async def test_they_come_with_a_namespace_and_go(kube: Kube) -> None:
    version = (await kube.get(ACCOUNTS)).json["metadata"]["resourceVersion"]
    path = f"/api/v1/serviceaccounts?watch=1&resourceVersion={version}"
    async with kube.watching(path) as events:
        made = {"metadata": {"name": "new"}}
        assert (await kube.ask("POST", "/api/v1/namespaces", made)).status == 201
        told = await anext(events)
        named = told["object"]["metadata"]
        assert (told["type"], named["namespace"], named["name"]) == ("ADDED", "new", "default")
        assert (await kube.get("/api/v1/namespaces/new/serviceaccounts")).names == ["default"]
        assert (await kube.ask("DELETE", "/api/v1/namespaces/new")).status == 200
        assert (await anext(events))["type"] == "DELETED"


async def test_one_that_is_changed_belongs_to_the_run(kube: Kube, driven: Run) -> None:
    before = (await kube.get(f"{ACCOUNTS}/default")).json["metadata"]
    patch = {"metadata": {"labels": {"a": "b"}}}
    changed = await kube.ask("PATCH", f"{ACCOUNTS}/default", patch, content_type=MERGE)
    assert (changed.status, changed.json["metadata"]["labels"]) == (200, {"a": "b"})
    assert changed.json["metadata"]["uid"] == before["uid"]
    assert await Command.objects.filter(run=driven).acount() == 2
    assert (await kube.get(ACCOUNTS)).names == ["default"]
    assert (await kube.ask("DELETE", f"{ACCOUNTS}/default")).status == 200
    assert "labels" not in (await kube.get(f"{ACCOUNTS}/default")).json["metadata"]


async def test_none_can_be_made_a_second_time(kube: Kube) -> None:
    for path, name in ((ACCOUNTS, "default"), (MAPS.format("default"), ROOT)):
        again = await kube.ask("POST", path, {"metadata": {"name": name}})
        assert (again.status, again.json["reason"]) == (409, "AlreadyExists")
    before = (await kube.get(f"{ACCOUNTS}/default")).json["metadata"]
    assert (await kube.ask("DELETE", f"{ACCOUNTS}/default")).status == 200
    after = (await kube.get(f"{ACCOUNTS}/default")).json["metadata"]
    assert after["uid"] not in ("", before["uid"])
    [listed] = (await kube.get(ACCOUNTS)).json["items"]
    assert listed["metadata"]["uid"] == after["uid"]


async def test_the_past_has_them_as_well(kube_of: Callable[..., Kube], driven: Run) -> None:
    past = kube_of(driven, str(driven.head_seq))
    assert (await past.get(f"{ACCOUNTS}/default")).status == 200
    assert ROOT in (await past.get(MAPS.format("default"))).names


async def test_services_have_addresses_and_node_ports(kube: Kube) -> None:
    path = "/api/v1/namespaces/default/services"
    made: dict[str, dict[str, Any]] = {}
    for name, kind in (("a", "ClusterIP"), ("b", "NodePort"), ("c", "LoadBalancer")):
        spec = {"type": kind, "ports": [{"port": 80}, {"port": 81}], "selector": {"a": "b"}}
        answer = await kube.ask("POST", path, {"metadata": {"name": name}, "spec": spec})
        made[name] = answer.json["spec"]
    addresses = {one["clusterIP"] for one in made.values()}
    assert len(addresses) == 3
    assert all(ip_address(one) in ip_network("10.96.0.0/12") for one in addresses)
    assert made["a"]["clusterIPs"] == [made["a"]["clusterIP"]]
    assert "nodePort" not in made["a"]["ports"][0]
    ports = [port["nodePort"] for name in "bc" for port in made[name]["ports"]]
    assert len({*ports}) == 4
    assert all(30_000 <= one < 32_768 for one in ports)
    outside = {"type": "ExternalName", "externalName": "example.org"}
    changed = await kube.ask("PATCH", f"{path}/a", {"spec": outside}, content_type=MERGE)
    assert "clusterIP" not in changed.json["spec"]
    again = {"type": "ClusterIP", "externalName": None}
    changed = await kube.ask("PATCH", f"{path}/a", {"spec": again}, content_type=MERGE)
    assert changed.json["spec"]["clusterIP"] == made["a"]["clusterIP"]
    headless = {"clusterIP": "None", "ports": [{"port": 80}]}
    answer = await kube.ask("POST", path, {"metadata": {"name": "d"}, "spec": headless})
    assert answer.json["spec"]["clusterIPs"] == ["None"]


async def test_watches_and_lists_name_the_same_host(
    kube: Kube, driven: Run, kube_of: Callable[..., Kube]
) -> None:
    head = (await kube.get(PODS)).json["metadata"]["resourceVersion"]
    spec = {"nodeName": "late", "containers": [{"name": "main", "image": "app:1"}]}
    async with kube.watching(f"{PODS}?watch=1&resourceVersion={head}") as events:
        await kube.ask("POST", "/api/v1/nodes", {"metadata": {"name": "late"}})
        held = {"name": "on-it", "finalizers": ["example.com/held"]}
        await kube.ask("POST", PODS, {"metadata": held, "spec": spec})
        told: dict[str, Any] = {}
        while told.get("phase") != "Running":
            told = (await anext(events))["object"]["status"]
    pod = f"{PODS}/on-it"
    assert told["hostIP"]
    assert (await kube.get(pod)).json["status"]["hostIP"] == told["hostIP"]
    await kube.ask("DELETE", "/api/v1/nodes/late")
    # Another server learns of the node when it is gone.
    assert (await kube_of(driven).get(pod)).json["status"]["hostIP"] == told["hostIP"]


async def test_pods_and_their_hosts_have_addresses(kube: Kube) -> None:
    nodes = (await kube.get("/api/v1/nodes")).json["items"]
    hosts = {one["metadata"]["name"]: one["status"]["addresses"][0]["address"] for one in nodes}
    assert len({*hosts.values()}) == len(hosts)
    assert all(one["status"]["conditions"][-1]["type"] == "Ready" for one in nodes)
    pods = (await kube.get("/api/v1/pods")).json["items"]
    running = [one for one in pods if one["status"]["phase"] == "Running"]
    assert running
    for pod in running:
        assert pod["status"]["hostIP"] == hosts[pod["spec"]["nodeName"]]
        assert pod["status"]["podIPs"] == [{"ip": pod["status"]["podIP"]}]
    assert len({one["status"]["podIP"] for one in running}) == len(running)
    waiting = [one for one in pods if not one["spec"].get("nodeName")]
    assert all("hostIP" not in one["status"] for one in waiting)


async def test_the_past_shows_the_same_addresses(
    kube: Kube, kube_of: Callable[..., Kube], driven: Run
) -> None:
    past = kube_of(driven, str(driven.head_seq))
    for path in ("/api/v1/nodes", "/api/v1/pods"):
        now, then = [
            {one["metadata"]["name"]: one["status"] for one in (await each.get(path)).json["items"]}
            for each in (kube, past)
        ]
        for name, status in then.items():
            assert status.get("podIP") == now[name].get("podIP")
            assert status.get("addresses") == now[name].get("addresses")

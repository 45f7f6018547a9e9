"""The past of a run: what its API server says of an instant is what the pages show of it."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlsplit

import pytest

from engine.kernel.units import EPOCH
from engine.objects.kinds import entity_id
from kube.clusters import cluster
from kube.defaults import defaulted
from kube.kubeconfig import kubeconfig_text
from kube.resources import Resource
from kube.server.objects.furniture import is_named
from kube.timestamps import shifted, timestamps_of
from tests.kube.clients.http import Http
from tests.kube.clients.informers import collections
from tests.kube.clients.pages import shown_by_pages, shown_by_the_api
from tests.kube.clients.storm import CLUSTER, Storm
from tests.samples import sample

INSTANTS = len(sample(range(200), 8))
DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
# Read at each instant; and one of the other kinds, in turn.
ALWAYS = ("Pod", "Node", "PersistentVolumeClaim", "PersistentVolume")


@pytest.fixture(scope="module")
def http() -> Iterator[Http]:
    """The API of a run in which much has happened."""
    running = cluster(CLUSTER)
    with running as kubeconfig:
        found = Http.of(kubeconfig)
        storm = Storm(found, seed=3)
        for _ in range(10):
            storm.blow(writes=12)
            running.advance(seconds=6)
        yield found


def instants(http: Http, count: int = INSTANTS) -> list[tuple[str, dict[str, Any]]]:
    """Names of random instants, by event and by time, with what the pages show of them.

    The order is that of time: the server then computes the past once.
    """
    draw, head = Random(5), http.page.get("/state/")
    seqs = [draw.randint(1, head["seq"]) for _ in range(count // 2)]
    times = [draw.randint(0, head["at"] // 10**6) for _ in range(count // 2)]
    found = [(str(seq), http.page.get(f"/state/?seq={seq}")) for seq in seqs]
    found += [(f"{at}ms", http.page.get(f"/state/?at={at * 10**6}")) for at in times]
    return sorted(found, key=lambda one: int(one[1]["seq"]))


def held(http: Http) -> dict[str, Resource]:
    """The collections that are not empty."""
    return {
        path: resource
        for path, resource in collections().items()
        if resource.kind not in ("Event", "Namespace") and http.get(path)["items"]
    }


def columns_of(table: dict[str, Any], *names: str) -> list[tuple[Any, ...]]:
    """The cells of those columns, row by row."""
    order = [one["name"] for one in table["columnDefinitions"]]
    return [tuple(row["cells"][order.index(name)] for name in names) for row in table["rows"]]


@pytest.mark.slow
def test_api_and_the_pages_agree_on_every_instant(http: Http) -> None:
    paths, draw = held(http), Random(6)
    others = [path for path in paths if paths[path].kind not in ALWAYS]
    for name, page in instants(http):
        past, found = http.at(name), dict[str, Any]()
        read = [*(path for path in paths if path not in others), draw.choice(others)]
        for path in read:
            listed = past.get(path)
            assert listed["metadata"]["resourceVersion"] == str(page["seq"])
            found |= shown_by_the_api(paths[path].kind, listed["items"])
        prefixes = tuple(entity_id(paths[path].kind, "") for path in read)
        shown = shown_by_pages(page["state"]).items()
        assert found == {entity: one for entity, one in shown if entity.startswith(prefixes)}, name
        path = draw.choice(read)
        items = (each for each in past.get(path)["items"] if not is_furniture(paths[path], each))
        for one in islice(items, 1):
            check_object(http, past, paths[path], one, page["seq"])


def is_furniture(resource: Resource, one: dict[str, Any]) -> bool:
    """Whether every cluster has the object, so that no page shows it."""
    metadata = one["metadata"]
    return is_named(resource.kind, metadata.get("namespace", ""), metadata["name"])


ADDRESSES = {
    "spec": ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"),
    "status": ("addresses", "hostIP", "hostIPs", "podIP", "podIPs"),
}


def without_addresses(one: dict[str, Any]) -> dict[str, Any]:
    """The object without the addresses that the API gives it, of which no page knows."""
    left = {
        part: {name: value for name, value in one[part].items() if name not in names}
        for part, names in ADDRESSES.items()
        if part in one
    }
    return {**one, **left}


def shift_of(http: Http) -> int:
    """The seconds from the clock that pages show to that of clients, who saw the run begin at once."""
    _, began = http.ask("GET", "/api/v1/namespaces/kube-public")
    return int(
        (datetime.fromisoformat(began["metadata"]["creationTimestamp"]) - EPOCH).total_seconds()
    )


def check_object(http: Http, past: Http, resource: Resource, one: dict[str, Any], seq: int) -> None:
    """The object is what the page of its manifest shows, conditions and all, with defaults."""
    metadata = one["metadata"]
    place = metadata.get("namespace", "")
    key = "/".join(filter(None, [place, metadata["name"]]))
    manifest = http.page.get(f"/objects/{entity_id(resource.kind, key)}/?seq={seq}")
    shown = shifted(timestamps_of(resource), defaulted(resource, manifest), shift_of(http))
    shown["metadata"]["resourceVersion"] = metadata["resourceVersion"]
    # Pages do not show which client wrote which field.
    if "managedFields" in metadata:
        shown["metadata"]["managedFields"] = metadata["managedFields"]
    assert without_addresses(one) == without_addresses(shown)
    group = f"/apis/{resource.api_version}" if resource.group else "/api/v1"
    within = f"/namespaces/{place}" if place else ""
    assert past.get(f"{group}{within}/{resource.plural}/{metadata['name']}") == one


def test_tables_of_the_past_show_what_pages_show(http: Http) -> None:
    for name, page in instants(http, 20):
        past, state = http.at(name), page["state"]
        _, pods = past.ask("GET", "/api/v1/pods?includeObject=Object", Accept=TABLE)
        assert columns_of(pods, "Name", "Node") == [
            (entity.rpartition("/")[2], shown.get("node") or "<none>")
            for entity, shown in sorted(state.items())
            if entity.startswith("pod/")
        ]
        _, claims = past.ask("GET", "/api/v1/persistentvolumeclaims", Accept=TABLE)
        assert columns_of(claims, "Name", "Status", "Volume") == [
            (
                entity.rpartition("/")[2],
                "Terminating" if "deleting" in shown else shown["phase"],
                shown.get("volume", ""),
            )
            for entity, shown in sorted(state.items())
            if entity.startswith("claim/")
        ]


def discovered(http: Http) -> dict[str, set[str]]:
    """The verbs of each resource and subresource, by its name."""
    found: dict[str, set[str]] = {}
    for path in ("/api", "/apis"):
        for group in http.ask("GET", path, Accept=DISCOVERY)[1]["items"]:
            for one in group["versions"][0]["resources"]:
                found[one["resource"]] = set(one["verbs"])
                for part in one.get("subresources", []):
                    found[f"{one['resource']}/{part['subresource']}"] = set(part["verbs"])
    return found


def test_discovery_of_the_past_names_what_is_readable(http: Http) -> None:
    now, past = discovered(http), discovered(http.at("1"))
    reading = {"get", "list", "watch"}
    assert now["pods"] > past["pods"] == reading
    assert past["pods/status"] == {"get"}
    assert "bindings" not in past
    assert "pods/binding" not in past
    assert past["selfsubjectaccessreviews"] == {"create"}
    assert all(verbs <= reading or name.endswith("reviews") for name, verbs in past.items())
    assert {name for name, verbs in now.items() if verbs & reading} <= set(past)


@pytest.mark.skipif(not shutil.which("kubectl"), reason="there is no kubectl here")
def test_kubectl_reads_the_past_that_pages_show(http: Http, tmp_path: Path) -> None:
    parts = urlsplit(http.address)
    config = tmp_path / "kubeconfig"
    command = [
        "kubectl",
        "--kubeconfig",
        config,
        "--cache-dir",
        tmp_path,
        "get",
        "-A",
        "-o",
        "json",
    ]
    for name, page in instants(http, 8):
        run = int(parts.path.rpartition("/")[2])
        config.write_text(kubeconfig_text(f"http://{parts.netloc}", run, instant=name))
        text = subprocess.run(
            [*command, "pods,nodes,pvc,pv"], check=True, capture_output=True
        ).stdout
        items = json.loads(text)["items"]
        found: dict[str, Any] = {}
        for kind in ALWAYS:
            found |= shown_by_the_api(kind, [one for one in items if one["kind"] == kind])
        prefixes = ("pod/", "node/", "claim/", "volume/")
        shown = shown_by_pages(page["state"]).items()
        assert found == {entity: one for entity, one in shown if entity.startswith(prefixes)}

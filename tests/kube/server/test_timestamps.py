"""Clients see a run as if it had begun when it was made, in its past, too."""

from datetime import datetime, timedelta

import pytest

from engine.input.loader import load_files
from kscope.runs import services
from kscope.runs.drive import runner
from kscope.runs.models import Run
from kube.resources import SERVED, Resource
from tests.kube.server.client import MERGE, STRATEGIC, Kube
from tests.kube.server.writes.test_writing import PODS
from tests.web.conftest import driving

pytestmark = pytest.mark.django_db(transaction=True)

TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"


def since_the_run_was_made(run: Run, text: str) -> timedelta:
    return datetime.fromisoformat(text) - run.created


async def test_objects_are_as_old_as_the_run(live_kube: Kube, driven: Run) -> None:
    web = (await live_kube.get(f"{PODS}/web")).json
    age = since_the_run_was_made(driven, web["metadata"]["creationTimestamp"])
    assert timedelta(seconds=-1) <= age <= timedelta(minutes=5)
    listed = (await live_kube.get(PODS)).json["items"]
    assert web["metadata"] in [one["metadata"] for one in listed]


async def test_the_past_shows_objects_as_they_were(kube_of: type[Kube], driven: Run) -> None:
    kube = kube_of(driven)
    with driving(driven):
        # What every cluster has, is another object once it was deleted.
        for path in ("configmaps/kube-root-ca.crt", "serviceaccounts/default"):
            gone = await kube.ask("DELETE", f"/api/v1/namespaces/default/{path}")
            assert gone.status == 200
    paths = [_path(one) for one in SERVED if "list" in one.verbs]
    before = {path: (await kube.get(path)).json for path in paths}
    [seq] = {one["metadata"]["resourceVersion"] for one in before.values()}
    with driving(driven):
        labelled = {"metadata": {"labels": {"a": "b"}}}
        await kube.ask("PATCH", f"{PODS}/web", labelled, content_type=MERGE)
    past = kube_of(driven, seq)
    for path, found in before.items():
        assert (await past.get(path)).json == found, path


def _path(resource: Resource) -> str:
    group = f"/apis/{resource.group}" if resource.group else "/api"
    return f"{group}/{resource.version}/{resource.plural}"


async def test_ages_of_tables_stay_right(live_kube: Kube, kube_of: type[Kube], driven: Run) -> None:
    now = (await live_kube.get(PODS, accept=TABLE)).json
    then = (await kube_of(driven, str(driven.head_seq)).get(PODS, accept=TABLE)).json
    assert [row["cells"] for row in now["rows"]] == [row["cells"] for row in then["rows"]]


async def test_a_timestamp_that_is_written_comes_back(live_kube: Kube, driven: Run) -> None:
    written = (driven.created + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    condition = {"type": "Mine", "status": "True", "lastTransitionTime": written}
    patch = {"status": {"conditions": [condition]}}
    path = f"{PODS}/giant/status"
    answer = await live_kube.ask("PATCH", path, patch, content_type=STRATEGIC)
    assert condition in answer.json["status"]["conditions"]
    assert condition in (await live_kube.get(f"{PODS}/giant")).json["status"]["conditions"]


async def test_an_object_written_back_is_unchanged(live_kube: Kube) -> None:
    web = (await live_kube.get(f"{PODS}/web")).json
    again = await live_kube.ask("PATCH", f"{PODS}/web/status", web, content_type=MERGE)
    assert again.json == web


@pytest.fixture
def brought(transactional_db: None) -> Run:
    """A run of a cluster that was seen at noon, a day after its pod was made."""
    text = """
apiVersion: v1
kind: Pod
metadata: {name: old, creationTimestamp: "2026-11-19T12:00:00Z"}
spec: {containers: [{name: c, image: app:1}]}
---
apiVersion: v1
kind: Event
metadata: {name: old.1}
involvedObject: {kind: Pod, namespace: default, name: old}
lastTimestamp: "2026-11-20T12:00:00Z"
"""
    result = load_files([("brought.yaml", text.encode())])
    run = services.run_create(scenario=services.scenario_store(name="x", result=result))
    services.run_transport(run=run, action="play", speed=Run.Speed.MAX)
    runner.run_drive(run.pk)
    run.refresh_from_db()
    return run


@pytest.mark.parametrize("instant", ["", "0s"])
async def test_a_cluster_brought_shows_its_own_time(
    kube_of: type[Kube], brought: Run, instant: str
) -> None:
    client = kube_of(brought, instant)
    old = (await client.get(f"{PODS}/old")).json
    assert old["metadata"]["creationTimestamp"] == "2026-11-19T12:00:00Z"
    (row,) = (await client.get(PODS, accept=TABLE)).json["rows"]
    assert row["cells"][4] == "24h"
    (space,) = [
        one
        for one in (await client.get("/api/v1/namespaces")).json["items"]
        if one["metadata"]["name"] == "kube-public"
    ]
    assert space["metadata"]["creationTimestamp"] == "2026-11-20T12:00:00Z"


async def test_what_a_cluster_brought_says_has_its_time(kube_of: type[Kube], brought: Run) -> None:
    (said, *_) = (await kube_of(brought).get("/api/v1/events")).json["items"]
    assert said["reason"] == "FailedScheduling"
    assert said["firstTimestamp"] == said["metadata"]["creationTimestamp"] == "2026-11-20T12:00:00Z"

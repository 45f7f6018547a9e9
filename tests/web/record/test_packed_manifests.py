"""Manifests of rows: packed with what alike ones have in common, and read in every stored form."""

import asyncio
from collections.abc import Callable
from importlib import import_module
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.db.models.functions import Length
from django.http import Http404

from engine.input.generate import synthetic
from kscope.runs.drive import runner
from kscope.runs.drive.replay import engine_at_head
from kscope.runs.manifests import packed
from kscope.runs.manifests.packer import Packer
from kscope.runs.models import ManifestDictionary, RemovedObject, Run
from kscope.runs.served import nodes, objects
from kscope.runs.stream.stream_room import connection_parameters
from scheduling.findings.record_checks import run_findings
from scheduling.models import Node, Pod
from tests.web.conftest import kept_scenario

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., Run]
NODES, PODS = 4, 60


def pod(number: int) -> dict[str, Any]:
    """One of many alike pods."""
    container = {"name": "main", "image": "registry.example.com/team/application:1.27.3"}
    return {
        "kind": "Pod",
        "metadata": {"name": f"pod-{number}", "namespace": "default", "labels": {"app": "web"}},
        "spec": {"containers": [{**container, "resources": {"requests": {"cpu": "100m"}}}]},
        "status": {"phase": "Running", "startTime": "2026-01-01T00:00:00Z", "message": "x" * 300},
    }


@pytest.fixture
def alike() -> Run:
    """A finished run of alike pods."""
    run = Run.objects.create(
        scenario=kept_scenario(synthetic(NODES, PODS)), status=Run.Status.PLAYING, speed="max"
    )
    runner.run_drive(run.pk)
    return run


def test_alike_manifests_take_a_tenth(alike: Run) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT min(length(manifest)) FROM scheduling_pod")
        smallest = cursor.fetchone()[0]
    pods = [row.manifest for row in Pod.objects.filter(run=alike)]
    assert len(pods) == PODS
    assert smallest < len(str(pods[0])) / 8
    packed._known.clear()  # as a process that has read none yet
    alike.refresh_from_db()
    assert run_findings(alike, engine_at_head(alike)) == []


def test_next_driver_goes_on_with_the_dictionary(alike: Run) -> None:
    kept = set(ManifestDictionary.objects.filter(run=alike, kind="pod").values_list("pk"))
    Run.objects.filter(pk=alike.pk).update(rows_seq=-1, status=Run.Status.PAUSED)
    runner.run_drive(alike.pk)
    assert set(ManifestDictionary.objects.filter(run=alike, kind="pod").values_list("pk")) == kept


def test_dictionary_is_stored_until_that_is_certain() -> None:
    packer = Packer()
    for number in range(40):
        packer.packed(f"pod/default/pod-{number}", pod(number))
    [made] = packer.unsaved
    assert packer.unsaved == [made]
    packer.note_saved()
    assert packer.unsaved == []


def test_hidden_values_are_in_no_dictionary() -> None:
    packer = Packer()
    for number in range(40):
        one = {"kind": "ConfigMap", "metadata": {"name": str(number)}, "data": {"a": "secret" * 99}}
        packer.packed(f"configmap/default/{number}", {**one, "note": "n" * 300})
    assert all(b"secret" not in each.content for each in packer.unsaved)


def read_by_itself(read: Callable[[Any], Any]) -> Any:
    """What *read* makes of a connection of its own."""

    async def reading() -> Any:
        parameters = await connection_parameters()
        async with await psycopg.AsyncConnection.connect(**parameters) as link:
            return await read(link)

    return asyncio.run(reading())


def test_manifests_of_a_run_deleted_meanwhile_are_gone(alike: Run) -> None:
    # The first ones were packed before there was a dictionary.
    [key, *_] = Pod.objects.order_by(Length("manifest")).values_list("key", flat=True)
    place = objects.place_of(alike.pk, "Pod", key)
    assert [*read_by_itself(lambda link: objects.objects_at(link, [place]))] == [place]
    # As a run that is deleted after a row of it was read, in a process that has read none before.
    ManifestDictionary.objects.all().delete()
    packed._known.clear()
    assert read_by_itself(lambda link: objects.objects_at(link, [place])) == {}
    with pytest.raises(Http404):
        Pod.objects.get(key=key)


class Planned:
    """A connection that notes how PostgreSQL finds what it is asked for."""

    def __init__(self, link: Any) -> None:
        self._link = link
        self.plans: list[str] = []

    async def execute(self, query: Any, values: Any) -> Any:
        """See AsyncConnection."""
        text = query if isinstance(query, str) else query.decode()
        plan = await self._link.execute(f"EXPLAIN {text}", values)
        self.plans.append("\n".join(line for [line] in await plan.fetchall()))
        return await self._link.execute(query, values)


def test_manifests_are_found_by_their_indexes(alike: Run) -> None:
    gone = [
        RemovedObject(run=alike, seq=number, created_seq=1, object=f"{kind}/{number}", manifest=one)
        for number in range(1, 3_000)
        for kind in ("node" if number % 1_000 == 0 else "pod",)
        for one in ({"metadata": {"name": str(number)}},)
    ]
    RemovedObject.objects.bulk_create(gone)
    others = [Pod(run=alike, key=f"shop/{number}", manifest=pod(number)) for number in range(3_000)]
    Pod.objects.bulk_create(others)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")

    async def read(link: Any) -> list[str]:
        planned: Any = Planned(link)
        _, found = await nodes.nodes_since(planned, alike.pk, 0)
        assert len(found) == 2 + NODES
        await objects.objects_at(planned, [objects.place_of(alike.pk, "Pod", "default/pod-1")])
        return planned.plans

    _, removed, _, one = read_by_itself(read)
    assert "removed_nodes" in removed
    assert "pod_run_key" in one


def test_rows_of_format_seven_are_read_after_migration(alike: Run) -> None:
    before = {row.key: row.manifest for row in Pod.objects.filter(run=alike)}
    names = dict(Pod.objects.filter(run=alike).values_list("key", "node_name"))
    module = import_module("scheduling.migrations.0005_packed_manifests")
    statements = module.Migration.operations[0].database_operations[0].sql
    path = "manifest #>> '{spec,nodeName}'"
    rows = [(row.pk, row.manifest) for row in Pod.objects.all()]
    nodes = [(row.pk, row.manifest) for row in Node.objects.all()]
    with connection.cursor() as cursor:
        # The tables as format 7 has them: jsonb, and columns that PostgreSQL generates of it.
        for table, found in (("scheduling_pod", rows), ("scheduling_node", nodes)):
            cursor.execute(f"ALTER TABLE {table} DROP manifest, ADD manifest jsonb")
            for key, manifest in found:
                cursor.execute(
                    f"UPDATE {table} SET manifest = %s::jsonb WHERE id = %s",
                    [packed.orjson.dumps(manifest).decode(), key],
                )
            columns = "namespace", "name", "node_name", "nominated_node_name", "phase"
            own = (*columns, "scheduler_name") if table.endswith("pod") else (*columns[:2], "zone")
            for column in own:
                value = path if column == "node_name" else "manifest #>> '{metadata,name}'"
                cursor.execute(
                    f"ALTER TABLE {table} DROP {column}, ADD {column} text"
                    f" GENERATED ALWAYS AS (coalesce({value}, '')) STORED"
                )
        cursor.execute(
            "ALTER TABLE scheduling_node DROP unschedulable, ADD unschedulable boolean"
            " GENERATED ALWAYS AS (coalesce((manifest #>> '{spec,unschedulable}')::boolean, false)) STORED"
        )
        cursor.execute(statements)
    assert {row.key: row.manifest for row in Pod.objects.filter(run=alike)} == before
    assert dict(Pod.objects.filter(run=alike).values_list("key", "node_name")) == names
    Run.objects.filter(pk=alike.pk).update(rows_seq=-1, status=Run.Status.PAUSED)
    runner.run_drive(alike.pk)
    alike.refresh_from_db()
    assert run_findings(alike, engine_at_head(alike)) == []

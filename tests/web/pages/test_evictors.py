"""Who evicted whom, by name."""

import pytest
from django.test import Client

from kscope.runs.models import Run, RunEvent
from tests.record import events_put

pytestmark = pytest.mark.django_db(transaction=True)

UID = "a4bcf0fc-2a91-4c66-a3b4-9994593ef860"


def record(run: Run, *told: tuple[str, str, str, int | None]) -> int:
    """Add events (kind, object, component, cause counted from the first of them); the seq before."""
    head = run.head_seq
    events_put(
        run.pk,
        (
            RunEvent(
                run=run,
                seq=head + i,
                at=run.head_at,
                kind=kind,
                object=entity,
                component=component,
                cause=None if cause is None else head + cause,
                message=f"Preempted by pod {UID} on node n1" if kind == "Preempted" else "",
            )
            for i, (kind, entity, component, cause) in enumerate(told, 1)
        ),
    )
    Run.objects.filter(pk=run.pk).update(head_seq=head + len(told))
    return head


def test_evictions_name_the_pod_they_were_for(client: Client, driven: Run) -> None:
    head = record(
        driven,
        ("AttemptStarted", "pod/shop/ledger-3", "scheduler", None),
        ("PodDisrupted", "pod/ci/build-1", "scheduler", 1),
        ("PodEvicted", "pod/ci/build-1", "scheduler", 2),
        ("Preempted", "pod/ci/build-1", "scheduler", 3),
        ("PodEvicted", "pod/ci/build-2", "scheduler", 4),
        ("FailedScheduling", "pod/shop/ledger-3", "scheduler", 5),
    )
    answer = client.get(f"/api/v1/runs/{driven.pk}/events/?after={head}").json()
    assert [event.get("by") for event in answer["items"]] == [
        None,
        *["pod/shop/ledger-3"] * 4,
        None,
    ]
    newest = client.get(f"/api/v1/runs/{driven.pk}/state/").json()["events"]
    assert newest[-3]["by"] == "pod/shop/ledger-3"


def test_evictions_by_a_taint_name_no_pod(client: Client, driven: Run) -> None:
    head = record(
        driven,
        ("NodeTainted", "node/n1", "node-controller", None),
        ("PodEvicted", "pod/ci/build-1", "taint-eviction-controller", 1),
    )
    answer = client.get(f"/api/v1/runs/{driven.pk}/events/?after={head}").json()
    assert all("by" not in event for event in answer["items"])

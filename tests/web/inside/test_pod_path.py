"""The critical path of a pod, from the database."""

from typing import Any

import pytest
from django.test import Client

from engine.diagnosis.path.critical_path import critical_path
from engine.diagnosis.path.shorter import changes_of
from engine.kernel.recorder import Event
from kscope.runs.models import Run, RunEvent
from tests.scenarios.inside.held_record import HeldRecord

pytestmark = pytest.mark.django_db(transaction=True)

FIELDS = ("seq", "at", "kind", "object", "component", "cause", "message", "data", "changes")


def asked(client: Client, run: Run, pod: str, **query: Any) -> Any:
    return client.get(f"/api/v1/runs/{run.pk}/pods/default/{pod}/path/", query)


def test_stored_and_held_events_tell_one_path(client: Client, driven: Run) -> None:
    events = [
        Event(*row)
        for row in RunEvent.objects.filter(run=driven).order_by("seq").values_list(*FIELDS)
    ]
    pods = [event.object for event in events if event.kind == "PodCreated"]
    assert len(pods) > 1
    for seq in (len(events) // 3, len(events) // 2, len(events)):
        held = HeldRecord(events[:seq])
        now = driven.head_at if seq == len(events) else events[seq - 1].at
        for pod in pods:
            path = critical_path(held, pod, now=now)
            answer = asked(client, driven, pod.split("/")[-1], seq=seq)
            if path is None:
                assert answer.status_code == 404
            else:
                changes = changes_of(held, pod, path.steps, born=path.born)
                shorter = [change.to_dict() for change in changes]
                assert answer.json() == {"seq": seq, **path.to_dict(), "shorter": shorter}


def test_path_of_an_unknown_pod_is_refused(client: Client, driven: Run) -> None:
    answer = asked(client, driven, "nobody")
    assert answer.status_code == 404
    assert f"pod/default/nobody was not created up to event {driven.head_seq}" in str(answer.json())


def test_path_beyond_the_head_is_refused(client: Client, driven: Run) -> None:
    assert asked(client, driven, "late", seq=driven.head_seq + 1).status_code == 404

"""Failures that only an Event of the files tells: the model neither repairs nor repeats them."""

from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from tests import builders
from tests.builders.clusters import apply_command, played, scene

Manifest = dict[str, Any]
_AT = "2026-11-20T12:00:00Z"
_LATER = "2026-11-20T12:05:00Z"


def _event(reason: str, message: str = "", **fields: Any) -> Manifest:
    about = {"kind": "Pod", "namespace": "default", "name": "p"}
    told = {"reason": reason, "message": message, "lastTimestamp": _LATER}
    return {
        "kind": "Event",
        "metadata": {"namespace": "default", "name": "p.1"},
        "involvedObject": about,
        **told,
        **fields,
    }


def _played(event: Manifest, **status: Any) -> Cluster:
    pod = builders.pod("p", nodeName="n1")
    pod["status"] = {"phase": "Pending", "startTime": _AT, **status}
    return played(Cluster.create(scene(builders.host("n1"), pod, outside=(event,))))


def _phase(cluster: Cluster) -> str:
    return str(cluster.store.get("Pod", "default/p").status.get("phase"))


@pytest.mark.parametrize(
    ("reason", "message"),
    [
        ("FailedCreatePodSandBox", "no runtime for runsc"),
        ("Failed", "Error: ErrImagePull"),
        ("BackOff", "Back-off pulling image"),
        ("FailedMount", "rpc error: code = Internal"),
    ],
)
def test_failure_of_an_event_holds_the_pod(reason: str, message: str) -> None:
    assert _phase(_played(_event(reason, message))) == "Pending"


def test_event_of_the_new_api_counts_as_well() -> None:
    event = _event("FailedCreatePodSandBox")
    about = event.pop("involvedObject")
    del event["lastTimestamp"]
    series = {"lastObservedTime": "2026-11-20T12:05:00.000000Z"}
    assert _phase(_played({**event, "regarding": about, "series": series})) == "Pending"


def test_event_older_than_the_status_is_over() -> None:
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": _LATER}
    event = _event("FailedCreatePodSandBox", lastTimestamp=_AT)
    assert _phase(_played(event, conditions=[scheduled])) == "Running"


def test_event_of_an_earlier_pod_is_over() -> None:
    event = _event("FailedCreatePodSandBox")
    event["involvedObject"]["uid"] = "another"
    assert _phase(_played(event)) == "Running"


def test_failure_that_the_model_knows_is_played() -> None:
    assert _phase(_played(_event("Failed", 'Error: secret "tls" not found'))) == "Running"


def test_healed_pod_plays_on() -> None:
    cluster = _played(_event("FailedCreatePodSandBox"))
    apply_command(cluster, verb="fault", patch={"heal": "pod/default/p"})
    assert _phase(played(cluster, 120)) == "Running"

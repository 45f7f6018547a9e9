"""Failures that only an Event of the files tells: the model neither repairs nor repeats them."""

from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.kernel.units import SECOND
from engine.objects.outside import Outside
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


# -- as pages show it before play --------------------------------------------------------------------


def _told(kind: str, name: str, reason: str, count: int = 4) -> Manifest:
    about = {"kind": kind, "name": name}
    if kind != "PersistentVolume":
        about["namespace"] = "default"
    return _event(reason, "no", involvedObject=about, count=count)


def _trouble(event: Manifest, *objects: Manifest, **fields: Any) -> Manifest | None:
    """What the first view of a cluster shows of the object of an Event, which came a minute before."""
    outside = tuple(Outside.kept((event,)))
    fields = {"instant": "2026-11-20T12:06:00Z", **fields}
    cluster = Cluster.create(scene(*objects, outside=outside, **fields))
    cluster.take()
    about = event["involvedObject"]
    key = f"{about['namespace']}/{about['name']}" if "namespace" in about else about["name"]
    return cluster.view()[cluster.store.get(about["kind"], key).id].get("trouble")


_REPLICA_SET = {
    "apiVersion": "apps/v1",
    "kind": "ReplicaSet",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": []}},
    },
}
_ASKING = builders.claim("c", storageClassName="fast")
_GROWING = {
    **builders.claim("c", volumeName="v"),
    "status": {"phase": "Bound", "capacity": {"storage": "1"}},
}
_FAILED = {**builders.volume("v"), "status": {"phase": "Failed"}}
_RELEASED = {**builders.volume("v"), "status": {"phase": "Released"}}


@pytest.mark.parametrize(
    ("kind", "name", "reason", "objects"),
    [
        ("PersistentVolumeClaim", "c", "ProvisioningFailed", (_ASKING,)),
        ("PersistentVolumeClaim", "c", "VolumeResizeFailed", (_GROWING,)),
        ("PersistentVolume", "v", "VolumeFailedDelete", (_FAILED,)),
        ("PersistentVolume", "v", "VolumeFailedDelete", (_RELEASED,)),
        ("ReplicaSet", "web", "FailedCreate", (_REPLICA_SET,)),
        ("Pod", "p", "FailedAttachVolume", (builders.pod("p", nodeName="n1"),)),
        ("Pod", "p", "FailedCreatePodSandBox", (builders.pod("p", nodeName="n1"),)),
    ],
)
def test_refusal_of_the_files_is_shown_before_play(
    kind: str, name: str, reason: str, objects: tuple[Manifest, ...]
) -> None:
    assert _trouble(_told(kind, name, reason), builders.host("n1"), *objects) == {
        "name": reason,
        "failures": 4,
        "error": "no",
        "failed": -60 * SECOND,
    }


# -- what the status of a pod tells of its containers ------------------------------------------------


def _telling(state: Manifest, **status: Any) -> Manifest:
    pod = builders.pod("p", nodeName="n1")
    containers = [{"name": "app", "state": state, "restartCount": 3}]
    pod["status"] = {
        "phase": "Pending",
        "startTime": _AT,
        "containerStatuses": containers,
        **status,
    }
    return pod


def _brought(pod: Manifest) -> Cluster:
    fields = {"instant": "2026-11-20T12:06:00Z", "outside": tuple(Outside.kept((pod,)))}
    cluster = Cluster.create(scene(builders.host("n1"), pod, **fields))
    cluster.take()
    return cluster


def _shown(cluster: Cluster) -> Manifest | None:
    cluster.take()
    return cluster.view()["pod/default/p"].get("told")


_SINCE = {"container": "app", "restarts": 3, "since": -360 * SECOND}
_ENDED = {"terminated": {"reason": "Error", "exitCode": 2}}


@pytest.mark.parametrize("phase", ["Pending", "Running"])
@pytest.mark.parametrize(
    ("state", "told"),
    [
        (
            {"waiting": {"reason": "ImagePullBackOff", "message": "no"}},
            {"reason": "ImagePullBackOff", "message": "no"},
        ),
        ({"waiting": {"reason": "CrashLoopBackOff"}}, {"reason": "CrashLoopBackOff"}),
        (_ENDED, {"reason": "Error", "message": "exit code 2"}),
    ],
)
def test_fault_of_a_container_is_shown_before_play(
    phase: str, state: Manifest, told: Manifest
) -> None:
    shown = _shown(_brought(_telling(state, phase=phase)))
    assert shown == {**_SINCE, **told, "is_fault": True}


def test_container_that_waits_is_shown_until_it_runs() -> None:
    cluster = _brought(_telling({"waiting": {"reason": "ContainerCreating"}}))
    assert _shown(cluster) == {**_SINCE, "reason": "ContainerCreating"}
    assert _shown(played(cluster)) is None
    assert _phase(cluster) == "Running"


def test_fault_is_shown_until_the_pod_is_healed() -> None:
    cluster = played(_brought(_telling({"waiting": {"reason": "CrashLoopBackOff"}})))
    assert _shown(cluster) == {**_SINCE, "reason": "CrashLoopBackOff", "is_fault": True}
    apply_command(cluster, verb="fault", patch={"heal": "pod/default/p"})
    assert _shown(played(cluster, 120)) is None


def test_unready_pod_is_shown_as_such() -> None:
    unready = {"type": "Ready", "status": "False", "lastTransitionTime": _LATER}
    running = {"running": {"startedAt": _AT}}
    shown = _shown(_brought(_telling(running, phase="Running", conditions=[unready])))
    assert shown == {"reason": "ContainersNotReady", "since": -60 * SECOND}


def test_status_in_an_older_import_changes_no_history() -> None:
    pod = _telling({"waiting": {"reason": "CrashLoopBackOff"}})
    cluster = Cluster.create(scene(builders.host("n1"), pod, instant="2026-11-20T12:06:00Z"))
    assert _shown(cluster) is None


def test_overtaken_refusal_is_not_shown() -> None:
    owner = {"kind": "ReplicaSet", "name": "web", "uid": "u", "controller": True}
    made = builders.pod("web-1")
    made["metadata"]["ownerReferences"] = [owner]
    grown = {**_GROWING, "status": {"phase": "Bound", "capacity": {"storage": "1Ti"}}}
    running = {**builders.pod("p", nodeName="n1"), "status": {"phase": "Running"}}
    host = builders.host("n1")
    assert _trouble(_told("ReplicaSet", "web", "FailedCreate"), _REPLICA_SET, made) is None
    assert _trouble(_told("PersistentVolumeClaim", "c", "ProvisioningFailed"), grown) is None
    assert _trouble(_told("PersistentVolumeClaim", "c", "VolumeResizeFailed"), grown) is None
    assert _trouble(_told("Pod", "p", "FailedMount"), host, running) is None


def test_refusal_of_an_earlier_object_is_not_shown() -> None:
    event = _told("PersistentVolumeClaim", "c", "ProvisioningFailed")
    event["involvedObject"]["uid"] = "another"
    assert _trouble(event, _ASKING) is None


def test_cluster_with_steps_shows_no_refusal_before() -> None:
    event = _told("PersistentVolumeClaim", "c", "ProvisioningFailed")
    cordon = (1, "cordon", {"object": "node/n1"})
    assert _trouble(event, builders.host("n1"), _ASKING, steps=(cordon,)) is None


def test_event_of_an_older_import_changes_no_history() -> None:
    event = _told("PersistentVolumeClaim", "c", "ProvisioningFailed")
    [kept] = Outside.kept((event,))
    del kept["count"]
    histories = [Cluster.create(scene(_ASKING, outside=outside)) for outside in ((), (kept,))]
    for each in histories:
        each.take()
    assert histories[0].digest() == histories[1].digest()


def test_told_refusal_goes_when_play_succeeds() -> None:
    outside = tuple(Outside.kept((_told("ReplicaSet", "web", "FailedCreate"),)))
    cluster = played(Cluster.create(scene(_REPLICA_SET, outside=outside)))
    cluster.take()
    assert "trouble" not in cluster.view()["replicaset/default/web"]

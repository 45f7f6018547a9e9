"""What the model predicts: what becomes of an object in the next minute."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from engine.cluster.cluster import Cluster
from engine.controllers.expansion import capacity_of, requested_size
from engine.diagnosis.report import Cause
from engine.diagnosis.subjects.pods.resizes import is_being_resized
from engine.diagnosis.subjects.scene import Scene
from engine.diagnosis.subjects.workloads import KINDS as WORKLOADS
from engine.diagnosis.subjects.workloads import pods_of, replica_sets
from engine.diagnosis.triage.report import Group
from engine.diagnosis.why import explain_object
from engine.framework.explaining.case import listed
from engine.kernel.sentences import NOTHING, Sentence, say, say_count
from engine.kernel.units import SECOND
from engine.objects.manifest_parts import section
from engine.objects.objects import ApiObject, PersistentVolumeClaim, Pod

# How far the model looks ahead.
AHEAD: Final = 60 * SECOND


@dataclass(frozen=True, slots=True)
class Prediction:
    """What becomes of an object, whether it goes on as it should, and what holds it then."""

    text: Sentence = NOTHING
    goes_on: bool = False
    causes: tuple[Cause, ...] = ()


def decided(groups: Iterable[Group]) -> Prediction:
    """What the schedulers make of the groups of an object as things are."""
    text = next((each.predicted for each in groups if each.predicted), NOTHING)
    return Prediction(text, goes_on=any(each.contradicts for each in groups))


def predict(cluster: Cluster, kind: str, key: str) -> Prediction:
    """Play *cluster*, which is a fork, for a minute, and look at the object."""
    gone = _gone(cluster, kind, key)
    cluster.advance(AHEAD)
    obj = cluster.store.find(kind, key)
    if obj is None:
        return Prediction(gone, goes_on=True)
    if isinstance(obj, Pod) and obj.phase == "Running" and not obj.deletion_timestamp:
        if is_being_resized(obj):
            waits = say("it runs on {node_name}, and is not resized", node_name=obj.node_name)
            return Prediction(waits)
        return Prediction(say("it runs on {node_name}", node_name=obj.node_name), goes_on=True)
    if kind in WORKLOADS and (waiting := _not_running(cluster, obj)):
        return Prediction(
            say_count(
                "{pods} still does not run",
                "{pods} still do not run",
                len(waiting),
                pods=listed(waiting, 3),
            )
        )
    if isinstance(obj, PersistentVolumeClaim) and _is_served(obj):
        return _of_bound(obj)
    found = explain_object(cluster, kind, key, tries_changes=False)
    if isinstance(obj, Pod) and found.state == "placed" and not (found.causes or _has_ended(obj)):
        return Prediction(
            say(
                "it stays on {node_name} and does not run, as it was observed",
                node_name=obj.node_name,
            )
        )
    is_well = found.state in ("well", "ended") or not (found.causes or found.pod)
    return Prediction(found.sentence, is_well, found.causes)


def _gone(cluster: Cluster, kind: str, key: str) -> Sentence:
    """That an object is gone, and why, where nobody has deleted itself."""
    obj, name = cluster.store.find(kind, key), key.partition("/")[0]
    namespace = cluster.store.find("Namespace", name) if "/" in key else None
    if obj is None or obj.deletion_timestamp or namespace is None:
        return say("it is gone")
    if not namespace.deletion_timestamp:
        return say("it is gone")
    return say(
        "it is gone: namespace {namespace} is being deleted, and everything in it", namespace=name
    )


def _not_running(cluster: Cluster, workload: ApiObject) -> list[str]:
    """The pods of a workload that have a node and do not run there."""
    scene = Scene.of(cluster)
    pods = (pod for each in replica_sets(scene, workload) for pod in pods_of(scene, each))
    return [
        say("pod {pod}", pod=pod.key) for pod in pods if pod.node_name and pod.phase != "Running"
    ]


def _of_bound(claim: PersistentVolumeClaim) -> Prediction:
    has = capacity_of(claim)
    if not has or has >= claim.request_bytes:
        return Prediction(say("it is bound to {volume}", volume=claim.volume_name), goes_on=True)
    return Prediction(
        say(
            "it is bound to {volume}, and still has {size} of the {wanted} that it asks for",
            volume=claim.volume_name,
            size=str(section(claim.status, "capacity").get("storage")),
            wanted=requested_size(claim),
        )
    )


def _has_ended(pod: Pod) -> bool:
    return bool(pod.deletion_timestamp) or pod.is_terminated


def _is_served(claim: ApiObject) -> bool:
    return claim.status.get("phase") == "Bound" and not claim.deletion_timestamp

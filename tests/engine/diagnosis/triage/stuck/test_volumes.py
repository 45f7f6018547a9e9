"""Released volumes that nobody deletes."""

from typing import Any

from tests.builders.nodes import node
from tests.builders.storage import volume
from tests.engine.diagnosis.triage.clusters import (
    ELEVEN,
    NOON,
    answer_about,
    deployment,
    event,
    only_group,
    triage_of,
)

Manifest = dict[str, Any]
_DRIVER = "disk.acme.io"
_HOLDS = "external-provisioner.volume.kubernetes.io/finalizer"


def _released(
    name: str = "v", policy: str = "Delete", since: str = "", phase: str = "Released"
) -> Manifest:
    made = volume(name, csi={"driver": _DRIVER, "volumeHandle": f"disk-{name}"})
    made["metadata"]["annotations"] = {"pv.kubernetes.io/provisioned-by": _DRIVER}
    made["metadata"]["finalizers"] = [_HOLDS]
    made["spec"]["persistentVolumeReclaimPolicy"] = policy
    made["spec"]["claimRef"] = {"namespace": "default", "name": "gone", "uid": "gone"}
    times = {"lastPhaseTransitionTime": since} if since else {}
    return {**made, "status": {"phase": phase, **times}}


def _refused(about: Manifest) -> Manifest:
    name = about["metadata"]["name"]
    return event(about, "VolumeFailedDelete", f"rpc error: no rights on disk-{name}")


def test_volumes_that_a_driver_keeps_are_grouped() -> None:
    kept = [_released("a"), _released("b")]
    group = only_group(node("n1"), *kept, *map(_refused, kept))
    assert group.objects == ("persistentvolume/a", "persistentvolume/b")
    assert (group.kind, group.by, group.contradicts) == (
        "terminating",
        f"csidriver {_DRIVER}",
        True,
    )
    assert "VolumeFailedDelete: rpc error: no rights" in group.cause
    assert [bool(each.loses) for each in group.changes] == [True]


def test_driver_that_does_not_run_is_started_first() -> None:
    group = only_group(node("n1"), deployment("disk-acme-controller", 0, 0), _released())
    assert group.by == "deployment default/disk-acme-controller"
    assert group.changes[0].text == "Scale deployment default/disk-acme-controller to 1"


def test_attachment_that_keeps_a_volume_is_named() -> None:
    spec = {"attacher": _DRIVER, "nodeName": "n1", "source": {"persistentVolumeName": "v"}}
    tie: Manifest = {"kind": "VolumeAttachment", "metadata": {"name": "csi-1"}, "spec": spec}
    tie["apiVersion"] = "storage.k8s.io/v1"
    group = only_group(node("n1"), _released(since=ELEVEN), tie)
    assert group.by == "volumeattachment csi-1"
    assert "VolumeAttachment csi-1 still ties volume v to n1." in group.cause
    assert group.changes[0].text.startswith("Delete VolumeAttachment csi-1, once n1 has unmounted")


def test_volume_that_is_kept_on_purpose_is_well() -> None:
    fresh, kept = _released("a", since=NOON), _released("b", "Retain", since=ELEVEN)
    assert triage_of(node("n1"), fresh, kept).groups == ()


def test_volume_itself_gets_the_same_answer() -> None:
    kept = _released()
    answer = answer_about("PersistentVolume", "v", node("n1"), kept, _refused(kept))
    assert answer.sentence.startswith("Volume v is released and not deleted: VolumeFailedDelete")
    assert answer.contradicts

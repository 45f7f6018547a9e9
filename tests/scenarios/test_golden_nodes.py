"""Golden stories of attachments and kubelets: what is left behind by a process that died.

Each is named by the upstream thread that told it first.
"""

from collections.abc import Iterable
from typing import Any

import pytest

from engine.controllers.attach_detach.names import attachment_name
from engine.input.scenario import Step
from engine.kernel.recorder import Event
from engine.kernel.units import SECOND
from tests.scenarios.cases import (
    at,
    claim,
    node,
    play,
    pod,
    stateful_set,
    storage_class,
    volume,
)
from tests.scenarios.played import Played

WEB = "pod/default/web-0"
ON_N1 = "volumeattachment/" + attachment_name("pv", "csi.example.com", "n1")
ON_N2 = "volumeattachment/" + attachment_name("pv", "csi.example.com", "n2")


def of_kinds(events: Iterable[Event], *kinds: str) -> list[tuple[str, str, str]]:
    return [(e.component, e.kind, e.object) for e in events if e.kind in kinds]


# (g) A dangling attach: kubernetes#94912.


def dies_while_attaching(profile: str, *more: Step) -> Played:
    """The controller dies after it has asked for the attach, and before it knows the outcome.

    The pod is deleted at that moment, and made anew on the other node.
    """
    return play(
        node("n1", "z1"),
        node("n2", "z2"),
        storage_class("Immediate"),
        volume("pv"),
        stateful_set("web", "data"),
        steps=(
            at(0.5, "cordon", "node/n1"),
            at(0.6, "delete", WEB, grace_seconds=0),
            at(0.6, "fault", patch={"restart": "kube-controller-manager"}),
            *more,
        ),
        until=600 * SECOND,
        profile=profile,
    )


def test_forgotten_attachment_keeps_the_volume_from_its_pod() -> None:
    played = dies_while_attaching("v1.20")
    told = ("VolumeAttachmentCreated", "ControllerRestarted", "VolumeAttachmentAttached")
    told += ("VolumeAttachmentTerminating", "PodRunning")
    assert of_kinds(played.events, *told) == [
        ("attach-detach", "VolumeAttachmentCreated", ON_N1),
        ("kube-controller-manager", "ControllerRestarted", "run"),
        ("attach-detach", "VolumeAttachmentCreated", ON_N2),
        # Begun before the restart, and there to stay.
        ("csi-attacher", "VolumeAttachmentAttached", ON_N1),
    ]
    # The new controller reads the nodes' status, and no node was said to have the volume.
    assert "NodeVolumesAttachedReported" not in {event.kind for event in played.events}
    messages = {e.kind: e.message for e in played.events if (e.data or {}).get("event")}
    assert messages["FailedAttachVolume"] == (
        'AttachVolume.Attach failed for volume "pv" : rpc error: code = FailedPrecondition desc = '
        "volume pv is published to another node n1"
    )
    assert messages["FailedMount"] == (
        "Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[data]: "
        "timed out waiting for the condition"
    )
    assert played.pods() == {"default/web-0": ("Pending", "n2")}


def test_failed_attach_is_retried_after_ever_longer_pauses() -> None:
    played = dies_while_attaching("v1.20")
    failed = [event.at for event in played.events if event.kind == "FailedAttachVolume"]
    pauses = [later - at for at, later in zip(failed, failed[1:], strict=False)]
    # 500 ms, doubled up to 2 m 2 s; each try waits for the next tick and the attacher's answer.
    for number, pause in enumerate(pauses):
        wanted = min(SECOND // 2 << number, 122 * SECOND)
        assert wanted <= pause < wanted + SECOND // 4
    assert pauses[-1] > 122 * SECOND


def test_deleting_the_forgotten_attachment_lets_the_pod_run() -> None:
    played = dies_while_attaching("v1.20", at(150, "delete", ON_N1))
    told = ("VolumeAttachmentTerminating", "VolumeAttachmentDeleted", "VolumeAttachmentAttached")
    assert of_kinds((e for e in played.events if e.at >= 150 * SECOND), *told, "PodRunning") == [
        ("scenario", "VolumeAttachmentTerminating", ON_N1),
        ("csi-attacher", "VolumeAttachmentDeleted", ON_N1),
        ("csi-attacher", "VolumeAttachmentAttached", ON_N2),
        ("kubelet", "PodRunning", WEB),
    ]
    assert played.pods() == {"default/web-0": ("Running", "n2")}


def test_controller_that_reads_attachments_finds_its_own() -> None:
    """#96617: an attachment that no node reports may be there, so it is undone first."""
    played = dies_while_attaching("v1.34")
    told = ("VolumeAttachmentCreated", "VolumeAttachmentTerminating", "VolumeAttachmentDeleted")
    told += ("FailedAttachVolume", "VolumeAttachmentAttached", "PodRunning")
    assert of_kinds(played.events, *told) == [
        ("attach-detach", "VolumeAttachmentCreated", ON_N1),
        ("attach-detach", "FailedAttachVolume", WEB),
        ("attach-detach", "VolumeAttachmentTerminating", ON_N1),
        ("csi-attacher", "VolumeAttachmentDeleted", ON_N1),
        ("attach-detach", "VolumeAttachmentCreated", ON_N2),
        ("csi-attacher", "VolumeAttachmentAttached", ON_N2),
        ("kubelet", "PodRunning", WEB),
    ]
    (failed,) = (event for event in played.events if event.kind == "FailedAttachVolume")
    assert failed.message == (
        'Multi-Attach error for volume "pv" Volume is already exclusively attached to one node '
        "and can't be attached to another"
    )
    assert played.pods() == {"default/web-0": ("Running", "n2")}


# (h) Terminating after the kubelet was restarted: kubernetes#72604, #96635.


BUSY = "rbd: image is still being used"


def deleted_while_the_kubelet_was_away(profile: str, failures: int) -> Played:
    """The pod is deleted, then the kubelet comes back; mounting again fails *failures* times."""
    web = pod("web", "data")
    web["metadata"]["uid"] = "uid-of-web"
    return play(
        node("n1", "z1"),
        storage_class("Immediate"),
        volume("pv"),
        claim("data"),
        web,
        steps=(
            at(20, "stop_kubelet", "node/n1"),
            at(21, "delete", "pod/default/web"),
            at(22, "fault", patch={"fail": "mount", "times": failures, "text": BUSY}),
            at(25, "start_kubelet", "node/n1"),
        ),
        until=300 * SECOND,
        profile=profile,
    )


def of_the_kubelet(played: Played) -> list[str]:
    """What the new kubelet did, each kind once when repeated."""
    told = ("VolumeMounted", "FailedMount", "VolumeUnmounted", "PodDeleted", "DeviceUnmounted")
    kinds = [e.kind for e in played.events if e.at >= 25 * SECOND and e.kind in told]
    return [kind for place, kind in enumerate(kinds) if place == 0 or kinds[place - 1] != kind]


def test_terminating_pod_waits_until_its_volume_mounts_again() -> None:
    """What was mounted is known only once it is mounted anew, and only then it is unmounted."""
    played = deleted_while_the_kubelet_was_away("v1.20", failures=6)
    shown = played.at(50)["pod/default/web"]
    assert shown["phase"] == "Running"
    assert shown["deleting"] is not None
    assert of_the_kubelet(played) == [
        "FailedMount",
        "VolumeMounted",
        "VolumeUnmounted",
        "PodDeleted",
        "DeviceUnmounted",
    ]
    failed = [event for event in played.events if event.kind == "VolumeOperationFailed"]
    assert {event.message for event in failed} == {
        'MountVolume.SetUp failed for volume "pv" (UniqueName: '
        f'"kubernetes.io/csi/csi.example.com^pv") pod "web" (UID: "uid-of-web") : {BUSY}'
    }
    assert {e.message for e in played.events if e.kind == "FailedMount"} == {
        f'MountVolume.SetUp failed for volume "pv" : {BUSY}'
    }
    # durationBeforeRetry: 500 ms, 1 s, 2 s … up to 2 m 2 s.
    pauses = [event.data["retry_at"] - event.at for event in failed if event.data]
    wanted = [SECOND // 2 << number for number in range(6)]
    assert [pause // (SECOND // 2) * (SECOND // 2) for pause in pauses] == wanted
    assert played.pods() == {}


def test_pod_terminates_forever_when_its_volume_cannot_mount() -> None:
    played = deleted_while_the_kubelet_was_away("v1.20", failures=1000)
    assert of_the_kubelet(played) == ["FailedMount"]
    assert played.end["pod/default/web"]["deleting"] is not None
    # Its node goes on to say that the volume is in use, so nobody takes it away.
    assert "volumesInUse" in played.cluster.store.get("Node", "n1").status
    assert played.story("VolumeAttachmentTerminating") == []


def test_volume_found_on_disk_is_unmounted_without_mounting() -> None:
    """#110670: what a dead kubelet had mounted is known to the next, as uncertain."""
    played = deleted_while_the_kubelet_was_away("v1.34", failures=1000)
    assert of_the_kubelet(played)[-3:] == ["VolumeUnmounted", "PodDeleted", "DeviceUnmounted"]
    assert "VolumeMounted" not in of_the_kubelet(played)
    gone = next(event for event in played.events if event.kind == "PodDeleted")
    assert gone.at < 30 * SECOND
    assert played.pods() == {}
    assert played.cluster.store.objects("VolumeAttachment") == []


def with_eight_claims() -> dict[str, Any]:
    made = pod("web")
    made["metadata"]["uid"] = "uid-of-web"
    names = [f"data-{number}" for number in range(8)]
    made["spec"]["volumes"] = [
        {"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names
    ]
    container = made["spec"]["containers"][0]
    container["volumeMounts"] = [{"name": name, "mountPath": f"/{name}"} for name in names]
    return made


@pytest.mark.parametrize("profile", ["v1.34", "v1.20"])
def test_restart_finds_the_one_volume_still_mounted(
    profile: str,
) -> None:
    """The containers have ended already: nothing is mounted again to be unmounted."""
    played = play(
        node("n1", "z1"),
        storage_class("Immediate"),
        *(volume(f"pv-{number}") for number in range(8)),
        *(claim(f"data-{number}") for number in range(8)),
        with_eight_claims(),
        steps=(
            at(10, "fault", patch={"fail": "unmount", "volume": "pv-3", "times": 3, "text": BUSY}),
            at(20, "delete", "pod/default/web"),
            at(22.1, "stop_kubelet", "node/n1"),
            at(30, "start_kubelet", "node/n1"),
        ),
        profile=profile,
    )
    unmounted = [event for event in played.events if event.kind == "VolumeUnmounted"]
    before = [(event.data or {})["volume"] for event in unmounted if event.at < 30 * SECOND]
    after = [(event.data or {})["volume"] for event in unmounted if event.at >= 30 * SECOND]
    busy = "kubernetes.io/csi/csi.example.com^pv-3"
    assert (len(before), busy in before, after) == (7, False, [busy])
    failed = [event.message for event in played.events if event.kind == "VolumeOperationFailed"]
    # What the pod calls its volume is not on disk: the new kubelet goes by the volume's own name.
    assert failed == [
        f'UnmountVolume.TearDown failed for volume "{name}" (UniqueName: "{busy}") pod '
        f'"uid-of-web" (UID: "uid-of-web") : {BUSY}'
        for name in ("data-3", "data-3", "pv-3")
    ]
    shown = played.at(29)["pod/default/web"]
    assert shown["deleting"] is not None
    later = [event.kind for event in played.events if event.at >= 30 * SECOND]
    assert "VolumeMounted" not in later
    assert later.index("VolumeUnmounted") < later.index("PodDeleted")
    assert played.pods() == {}
    assert played.cluster.store.objects("VolumeAttachment") == []


@pytest.mark.parametrize("profile", ["v1.34", "v1.20"])
def test_restart_in_good_times_costs_terminating_pods_nothing(profile: str) -> None:
    played = play(
        node("n1", "z1"),
        storage_class("Immediate"),
        volume("pv"),
        claim("data"),
        pod("web", "data"),
        steps=(
            at(20, "delete", "pod/default/web"),
            at(20.5, "fault", patch={"restart": "n1"}),
        ),
        profile=profile,
    )
    assert played.pods() == {}
    assert played.cluster.store.objects("VolumeAttachment") == []
    assert played.story("FailedMount") == []

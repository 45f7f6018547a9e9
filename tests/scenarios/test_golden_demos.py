"""The golden stories that ship as demos, as told by the engine."""

from tests.scenarios.played import demo


def test_budget_cascade_evicts_the_budgets_pod_after_all() -> None:
    played = demo("budget-cascade")
    named = [
        (event.kind, event.object.removeprefix("pod/default/").split("-")[0])
        for event in played.events
        if event.at > 10**10 and event.kind in ("PodEvicted", "PodBound")
    ]
    assert named == [
        ("PodEvicted", "ledger"),
        ("PodEvicted", "web"),
        ("PodBound", "critical"),
        ("PodBound", "ledger"),
    ]
    waiting = [name for name, (phase, _) in played.pods().items() if phase == "Pending"]
    assert [name.split("-")[0] for name in waiting] == ["default/web"]


def test_disk_left_behind_waits_beside_an_empty_node() -> None:
    played = demo("disk-left-behind")
    stuck = played.at(39)
    assert played.pods(stuck) == {
        "default/first": ("Pending", ""),
        "default/second": ("Running", "node-1"),
    }
    assert stuck["node/node-2"].get("requested", {}).get("cpu", 0) == 0
    assert "node(s) didn't match PersistentVolume's node affinity" in next(
        event.message for event in reversed(played.events) if event.kind == "FailedScheduling"
    )
    assert played.pods() == {"default/first": ("Running", "node-1")}


def test_dangling_attach_is_cured_by_deleting_the_attachment() -> None:
    played = demo("dangling-attach")
    assert played.pods(played.at(39)) == {"default/db-0": ("Pending", "node-2")}
    told = ("VolumeAttachmentTerminating", "VolumeAttachmentDeleted", "VolumeAttachmentAttached")
    later = [event for event in played.events if event.at >= 40 * 10**9]
    assert [
        (event.component, event.kind) for event in later if event.kind in (*told, "PodRunning")
    ] == [
        ("scenario", "VolumeAttachmentTerminating"),
        ("csi-attacher", "VolumeAttachmentDeleted"),
        ("csi-attacher", "VolumeAttachmentAttached"),
        ("kubelet", "PodRunning"),
    ]
    assert played.pods() == {"default/db-0": ("Running", "node-2")}


def test_dangling_attach_is_unknown_to_the_controller() -> None:
    shown = demo("dangling-attach").at(39)
    assert "attachments" not in shown["node/node-1"]
    (waiting,) = shown["node/node-2"]["attachments"].values()
    assert waiting["desired"].keys() == {"default/db-0"}
    assert "published to another node node-1" in waiting["operation"]["error"]


def test_unheard_deletion_waits_for_the_flush() -> None:
    played = demo("unheard-deletion")
    assert played.at(7).keys() & {"pod/default/guard", "pod/default/late"} == {"pod/default/late"}
    waiting = played.at(329)["pod/default/late"]
    assert (waiting["queue"], waiting["attempts"]) == ("unschedulable", 1)
    assert played.told("PodQueued")[-1][3] == "UnschedulableTimeout"
    assert played.story("PodBound") == ["330 PodBound pod/default/late"]


def test_half_bound_shows_either_side_without_the_other() -> None:
    played = demo("half-bound")
    half = played.at(29)
    assert half["volume/pv-gold"]["claim"] == "shop/orders"
    assert "volume" not in half["claim/shop/orders"]
    refused = [event.at // 10**9 for event in played.events if event.kind == "WriteRefused"]
    assert refused == [3, 3, 15, 15]
    assert played.end["claim/shop/orders"]["phase"] == "Bound"
    assert played.end["claim/ci/archive"]["phase"] == "Lost"
    assert "claim/shop/scratch" not in played.end
    assert played.end["volume/pv-scratch"]["phase"] == "Released"
    assert played.pods() == {"shop/orders-0": ("Running", "node-1")}


def test_wrong_fs_type_is_retried_with_doubled_pauses() -> None:
    played = demo("wrong-fs-type")
    failures = [event for event in played.events if event.kind == "VolumeOperationFailed"]
    waits = [(event.data or {})["retry_at"] - event.at for event in failures]
    # To the next tick of 100 ms after 500 ms, 1 s, 2 s and so on.
    assert [wait // 10**8 for wait in waits] == [6, 11, 21, 41, 81, 161]
    unique = "kubernetes.io/csi/disk.csi.example.com^disk-"
    volumes = played.at(20)["node/node-1"]["volumes"]
    assert volumes.keys() == {f"{unique}api", f"{unique}reports"}
    assert volumes[f"{unique}reports"]["operations"]["*"]["failures"] == 6
    assert volumes[f"{unique}api"]["mounts"] == {"default/api": "VolumeMounted"}
    assert played.at(20)["node/node-1"]["attachments"].keys() == volumes.keys()
    assert played.pods() == {
        "default/api": ("Running", "node-1"),
        "default/reports": ("Running", "node-1"),
    }

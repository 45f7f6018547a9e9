"""The story that each demo is meant to tell, as told by the engine."""

import pytest

from engine.cluster.checks.cluster_checks import cluster_findings
from engine.input.loader import load_files
from engine.kernel.units import SECOND
from engine.scheduler.configuration.scenario_schedulers import check_setup
from tests.scenarios.played import FOLDER, Played, demo

DEMOS = sorted(path.stem for path in FOLDER.glob("*.yaml"))


@pytest.mark.parametrize("name", DEMOS)
def test_demo_ends_with_nothing_of_it_refused(name: str) -> None:
    played = demo(name)
    assert played.story("CommandRejected") == []
    assert played.cluster.next_at is None
    assert cluster_findings(played.cluster) == []


# One pod too many: report-0 wants 3 cpu in one piece. It is tried once, parked with what it lacks
# where it would fit best, and left alone until a fourth node joins.


def test_fits_nowhere_parks_the_pod_with_its_reason() -> None:
    played = demo("fits-nowhere")
    waiting = played.at(39)["pod/default/report-0"]
    assert (waiting["phase"], waiting["queue"], waiting["attempts"]) == (
        "Pending",
        "unschedulable",
        1,
    )
    assert waiting["blocker"]["plugin"] == "NodeResourcesFit"
    assert (waiting["blocker"]["value"], waiting["blocker"]["unit"]) == (1500, "cpu")
    assert "cpu 1500m short" in waiting["blocker"]["sentence"]
    failed = [event.message for event in played.events if event.kind == "FailedScheduling"]
    assert failed[0].startswith(
        "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu."
    )


def test_fits_nowhere_ends_when_a_node_joins() -> None:
    played = demo("fits-nowhere")
    assert played.story("NodeCreated", "PodParked", "PodBound", "PodRunning")[3:] == [
        "0 PodParked pod/default/report-0",
        "0 PodBound pod/default/web-1",
        "1 PodRunning pod/default/web-1",
        "40 NodeCreated node/node-4",
        # A new node has a taint until it is known to be ready.
        "40 PodParked pod/default/report-0",
        "40 PodBound pod/default/report-0",
        "41 PodRunning pod/default/report-0",
    ]
    assert played.pods() == {
        "default/web-0": ("Running", "node-1"),
        "default/web-1": ("Running", "node-3"),
        "default/report-0": ("Running", "node-4"),
    }


# Three claims of 2Gi, volumes of 1, 5, 10 and (of more access modes) 3Gi: the smallest that is
# large enough, and one that could do more than was asked for only when the plain ones are gone.


def test_smallest_fit_prefers_small_and_less_capable_volumes() -> None:
    played = demo("smallest-fit")
    assert played.claims() == {
        "default/claim-2g-a": "pv-5g",
        "default/claim-2g-b": "pv-10g",
        "default/claim-2g-c": "pv-3g-rwx",
    }
    free = [
        entity
        for entity, shown in played.end.items()
        if entity.startswith("volume/") and shown["phase"] == "Available"
    ]
    assert free == ["volume/pv-1g", "volume/pv-2g-other"]
    assert played.pods() == {"default/reader-0": ("Running", "node-1")}


def test_smallest_fit_binds_the_volume_before_the_claim() -> None:
    written = ("VolumePreBound", "VolumeBound", "ClaimBindCompleted", "ClaimBound")
    assert demo("smallest-fit").story(*written)[:4] == [
        "1 VolumePreBound volume/pv-5g",
        "1 VolumeBound volume/pv-5g",
        "1 ClaimBindCompleted claim/default/claim-2g-a",
        "1 ClaimBound claim/default/claim-2g-a",
    ]


# Nobody binds a delayed claim before its pod comes. The scheduler chooses the node and reserves
# the node's volume, the controller completes it, and only then is the pod bound.


def test_local_volumes_put_every_pod_beside_its_volume() -> None:
    played = demo("local-volumes")
    assert played.pods() == {
        "default/db-0": ("Running", "node-1"),
        "default/db-1": ("Running", "node-2"),
        "default/db-2": ("Running", "node-2"),
    }
    assert played.claims() == {
        "default/data-db-0": "local-1",
        "default/data-db-1": "local-2",
        "default/data-db-2": "local-3",
    }


def test_scheduler_reserves_local_volumes_before_the_controller_binds() -> None:
    played = demo("local-volumes")
    about = ("pod/default/db-0", "volume/local-1", "claim/default/data-db-0")
    told = ("PodAssumed", "VolumePreBound", "VolumeBound", "ClaimBound", "PodBound", "PodRunning")
    assert [
        (event.component, event.kind)
        for event in played.events
        if event.object in about and event.kind in told
    ] == [
        ("scheduler", "PodAssumed"),
        ("scheduler", "VolumePreBound"),
        ("pv-controller", "VolumeBound"),
        ("pv-controller", "ClaimBound"),
        ("scheduler", "PodBound"),
        ("kubelet", "PodRunning"),
    ]
    assert played.claims(played.at(2)) == {"default/data-db-0": "", "default/data-db-1": ""}


def test_pod_waits_until_a_local_volume_is_made() -> None:
    played = demo("local-volumes")
    assert played.at(19)["pod/default/db-2"]["queue"] == "unschedulable"
    assert played.at(19)["pod/default/db-2"]["blocker"]["plugin"] == "VolumeBinding"
    assert played.story("VolumeCreated")[-1] == "20 VolumeCreated volume/local-3"
    assert "21 PodBound pod/default/db-2" in played.story("PodBound")


# The pods may run in zone-1 alone, their disk is reached from zone-2 alone: no node is in both.
# Rolled out again into the disk's zone, all of them run.


def test_zone_mismatch_keeps_pods_from_their_disk() -> None:
    played = demo("zone-mismatch")
    state = played.at(29)
    waiting = [shown for entity, shown in state.items() if entity.startswith("pod/")]
    assert [(pod["phase"], pod["queue"]) for pod in waiting] == [("Pending", "unschedulable")] * 3
    failed = next(event for event in played.events if event.kind == "FailedScheduling")
    assert "1 node(s) didn't match Pod's node affinity/selector" in failed.message
    assert "2 node(s) didn't match PersistentVolume's node affinity" in failed.message


def test_zone_mismatch_ends_with_pods_beside_the_disk() -> None:
    played = demo("zone-mismatch")
    before, after = played.pods(played.at(29)), played.pods()
    assert [*after.values()] == [("Running", "node-2a")] * 3
    assert not before.keys() & after.keys()
    assert played.claims() == {"default/shop-data": "disk-zone-2"}
    told = [line.split()[:2] for line in played.story("PodCreated", "PodRunning", "PodDeleted")]
    # First three that wait; then one by one, a new pod runs and an old one goes.
    assert told[:3] == [["2", "PodCreated"]] * 3
    assert [kind for _, kind in told[3:]] == ["PodCreated", "PodRunning", "PodDeleted"] * 3
    assert all(30 <= int(second) <= 35 for second, _ in told[3:])


# A minute of everything at once.


def lanes(played: Played, lane: str) -> set[str]:
    """Every pod that is ever seen in the lane, looking four times a second."""
    return {
        entity
        for state in played.looks(every=0.25, until=75)
        for entity, shown in state.items()
        if entity.startswith("pod/") and shown.get("queue") == lane
    }


def test_checkout_surge_fills_every_lane() -> None:
    played = demo("checkout-surge")
    assert lanes(played, "gated") == {"pod/ml/train-1", "pod/ml/train-2"}
    for lane in ("active", "in_flight", "backoff", "unschedulable"):
        assert len(lanes(played, lane)) >= 5, lane
    assert {"pod/ml/train-0", "pod/ci/archive-1"} < lanes(played, "unschedulable")


def test_checkout_surge_is_lively_for_a_minute() -> None:
    seconds = [event.at // 10**9 for event in demo("checkout-surge").events]
    assert all(seconds.count(second) >= 3 for second in range(1, 60))
    assert 1000 < len(seconds) < 4000


def test_checkout_surge_ends_with_only_the_hopeless_waiting() -> None:
    played = demo("checkout-surge")
    waiting = [name for name, (phase, _) in played.pods().items() if phase == "Pending"]
    assert sorted(waiting) == ["ci/archive-1", "ml/train-0", "ml/train-2"]
    archive = played.end["pod/ci/archive-1"]["blocker"]["sentence"]
    assert 'non-existent persistentvolume "pv-archive"' in archive
    assert "nvidia.com/gpu 2 short" in played.end["pod/ml/train-0"]["blocker"]["sentence"]


def test_checkout_surge_leaves_a_growing_claim_half_bound() -> None:
    played = demo("checkout-surge")
    for second in (21, 35, 44):
        state = played.at(second)
        assert state["volume/pv-nfs-03"]["claim"] == "shop/data-orders-0"
        assert "volume" not in state["claim/shop/data-orders-0"]
        assert state["pod/shop/orders-0"]["phase"] == "Pending"
    # The controller looks again at its resync only.
    assert "45 ClaimBound claim/shop/data-orders-0" in played.story("ClaimBound")
    assert played.pods()["shop/orders-0"][0] == "Running"


def test_checkout_surge_lets_important_pods_push_others_aside() -> None:
    played = demo("checkout-surge")
    nominated = {event.object for event in played.events if event.kind == "PodNominated"}
    assert "pod/shop/ledger-1" in nominated
    assert any(each.startswith("pod/shop/payments-") for each in nominated)
    # A nomination is no promise: ledger-1 is offered node-b2, and finds room elsewhere sooner.
    offered = played.at(14)["pod/shop/ledger-1"]
    assert offered["nominated"] == "node-b2"
    assert "deleting" in played.at(14)["pod/batch/reports-6"]
    # Whoever is pushed aside is less important.
    priorities = {
        entity: shown["priority"]
        for second in range(81)
        for entity, shown in played.at(second).items()
        if entity.startswith("pod/")
    }
    victims: list[str] = []
    reason = ""
    for event in played.events:
        if event.kind == "Preempted":
            # Who is nominated to the same node again is not told so again.
            if event.message != reason:
                reason, victims = event.message, []
            victims.append(event.object)
        elif event.kind == "PodNominated":
            # Where all who have to go are leaving already, nobody is told.
            assert all(priorities[each] < priorities[event.object] for each in victims)
            victims = []


def test_checkout_surge_avoids_cordoned_nodes_and_uses_new() -> None:
    played = demo("checkout-surge")
    bound = [event for event in played.events if event.kind == "PodBound"]
    to = {event.seq: played.end.get(event.object, {}).get("node") for event in bound}
    cordoned = [e for e in bound if 26 * 10**9 < e.at < 50 * 10**9 and to[e.seq] == "node-c3"]
    assert cordoned == []
    assert any(node == "node-c4" for node in to.values())
    assert played.story("NodeCordoned", "NodeUncordoned") == [
        "26 NodeCordoned node/node-c3",
        "50 NodeUncordoned node/node-c3",
    ]


# A cluster as kubectl printed it goes on where it was: what ran runs, what was bound stays bound,
# and a new claim of its class is provisioned where its pod goes.


def test_a_dump_goes_on_where_it_was() -> None:
    played = demo("control-plane-dump")
    before = {"default/db-0": "node-1", "default/db-1": "node-2", "default/db-2": "node-1"}
    for second in (0, 1, 40):
        pods = played.pods(played.at(second))
        assert {name: pods[name] for name in before} == {
            name: ("Running", node) for name, node in before.items()
        }
    assert played.story("ClaimLost", "PodDeleted", "PodRejected") == []
    for member in range(3):
        claim = played.end[f"claim/default/data-db-{member}"]
        assert (claim["phase"], claim["completed"]) == ("Bound", True)


def test_dump_gets_another_disk_where_the_scheduler_says() -> None:
    played = demo("control-plane-dump")
    about = {"claim/default/data-backup-0", "pod/default/backup-0"}
    told = ("WaitForFirstConsumer", "PodAssumed", "ClaimNodeSelected", "ProvisioningSucceeded")
    told += ("ClaimBound", "PodBound", "PodRunning")
    assert [
        event.kind for event in played.events if event.object in about and event.kind in told
    ] == [*told]
    assert played.pods()["default/backup-0"] == ("Running", "node-2")
    assert played.pods()["default/probe-0"] == ("Running", "node-2")


# Two pods want a large GPU with a new driver. Of five devices two are small, one has a taint and one
# an old driver: the second pod waits until the first gives its device back.


def test_nothing_of_missing_gpu_is_left_out() -> None:
    path = FOLDER / "missing-gpu.yaml"
    result = load_files([(path.name, path.read_bytes())], check=check_setup)
    assert result.not_modelled == []


def test_missing_gpu_waits_for_the_only_device() -> None:
    played = demo("missing-gpu")
    waiting = played.at(30)["pod/default/train-1"]
    assert (waiting["phase"], waiting["queue"]) == ("Pending", "unschedulable")
    assert waiting["blocker"]["plugin"] == "DynamicResources"
    (failed,) = (event for event in played.events if event.kind == "FailedScheduling")
    assert failed.message.startswith(
        "0/3 nodes are available: 3 cannot allocate all claims. still not schedulable, preemption: "
    )


def test_missing_gpu_ends_when_the_device_is_released() -> None:
    played = demo("missing-gpu")
    assert played.story("ResourceClaimAllocated", "ResourceClaimDeallocated", "PodRunning")[
        -3:
    ] == [
        "61 ResourceClaimDeallocated resourceclaim/default/train-0-gpu-g7tk5",
        "61 ResourceClaimAllocated resourceclaim/default/train-1-gpu-4pj5f",
        "62 PodRunning pod/default/train-1",
    ]
    assert played.pods() == {
        "default/train-1": ("Running", "node-b"),
        "default/infer-0": ("Running", "node-a"),
    }


# A pod asks for more cpu than the other pod on its node leaves. Until that one ends, the scheduler
# counts what was asked for, and places nothing beside it.


def test_no_room_to_grow_defers_the_resize() -> None:
    played = demo("no-room-to-grow")
    kinds = ("PodResized", "ResizeDeferred", "PodSucceeded", "ResizeStarted", "ResizeCompleted")
    assert played.story(*kinds) == [
        "10 PodResized pod/default/web",
        "10 ResizeDeferred pod/default/web",
        "61 PodSucceeded pod/default/batch",
        "61 ResizeStarted pod/default/web",
        "62 ResizeCompleted pod/default/web",
    ]


def test_no_room_to_grow_keeps_new_pods_waiting() -> None:
    played = demo("no-room-to-grow")
    assert played.at(30)["pod/default/late"]["phase"] == "Pending"
    assert played.pods()["default/late"] == ("Running", "node-a")


# Four pods need each other, and a third cpu is free beside the batch. The place stays free for others
# until the batch ends.


def test_nothing_of_all_or_none_is_left_out() -> None:
    path = FOLDER / "all-or-none.yaml"
    result = load_files([(path.name, path.read_bytes())], check=check_setup)
    assert result.not_modelled == []


def test_all_or_none_keeps_the_whole_gang_waiting() -> None:
    played = demo("all-or-none")
    gang = [f"pod/default/train-{number}" for number in range(4)]
    assert [played.at(30)[pod]["phase"] for pod in gang] == ["Pending"] * 4
    assert played.at(30)["pod/default/errand"]["phase"] == "Running"


def test_all_or_none_ends_with_the_whole_gang() -> None:
    played = demo("all-or-none")
    assert played.story("PodGroupConditionUpdated") == [
        "6 PodGroupConditionUpdated podgroup/default/train",
        "61 PodGroupConditionUpdated podgroup/default/train",
    ]
    running = [phase for key, (phase, _) in played.pods().items() if "train" in key]
    assert running == ["Running"] * 4


def test_report_squeezed_out_waits_for_the_autoscaler() -> None:
    played = demo("report-squeezed-out")
    sizes = [event.message for event in played.events if event.kind == "SuccessfulRescale"]
    assert [size.partition(";")[0] for size in sizes] == ["New size: 4", "New size: 2"]
    bound = {event.object: event.at for event in played.events if event.kind == "PodBound"}
    reports = [at for pod, at in bound.items() if pod.startswith("pod/default/report-")]
    # In time; after the autoscaler has let go; after the second has ended.
    assert [round(at / SECOND) for at in reports] == [60, 196, 218]


def test_report_squeezed_out_makes_no_second_job_meanwhile() -> None:
    played = demo("report-squeezed-out")
    jobs = [event.at / SECOND for event in played.events if event.kind == "JobCreated"]
    skipped = [event.at / SECOND for event in played.events if event.kind == "JobAlreadyActive"]
    assert jobs[1] < min(skipped) < max(skipped) < jobs[2]


# A program that needs 45 s, and a liveness probe that gives it 30: the kubelet starts it again and
# again, and waits longer each time.


def test_crash_loop_never_gives_the_program_its_time() -> None:
    played = demo("crash-loop")
    starts = [round(one.at / SECOND) for one in played.events if one.kind == "Started"]
    assert starts == [1, 31, 71]
    states = [one for one in played.events if one.kind == "PodContainersChanged"]
    assert [round(one.at / SECOND) for one in states if "CrashLoopBackOff" in one.message] == [
        61,
        101,
        151,
        221,
    ]
    assert played.end["pod/default/web"]["phase"] == "Running"

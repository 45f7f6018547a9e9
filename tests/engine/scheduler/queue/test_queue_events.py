"""Which events there are, and which of them help a pod that a plugin rejected."""

from typing import Any

import pytest

from engine.framework import cluster_events as events
from engine.framework.cluster_events import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    CLAIM_ADD,
    NODE_ADD,
    NODE_DELETE,
    Action,
    ClusterEvent,
    classic_node_change,
    node_scheduling_properties_change,
    pod_scheduling_properties_change,
)
from engine.framework.handle import Handle
from engine.framework.pods.pod_info import PodInfo
from engine.objects.objects import (
    ApiObject,
    Manifest,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
)
from engine.scheduler.queue.queueing_hints import QueueingHints, everything
from engine.versions.registry import VERSIONS
from tests.engine.scheduler.queue.hints import hints_of
from tests.engine.scheduler_builders import make_node, make_pod

HINTS = hints_of()
RULES = VERSIONS["v1.34"].resources


def helps(plugin: str, event: ClusterEvent, pod: Pod, old: Any, new: Any) -> bool:
    return HINTS.queues(plugin, event, PodInfo(pod, RULES), old, new)


def node_update(action: Action) -> ClusterEvent:
    return ClusterEvent(events.NODE, action)


def pod_update(action: Action) -> ClusterEvent:
    return ClusterEvent(events.ASSIGNED_POD, action)


def test_events_bear_the_names_of_their_version() -> None:
    taint = node_update(Action.UPDATE_NODE_TAINT)
    assert (taint.label, taint.classic_label) == ("NodeUpdateNodeTaint", "NodeTaintChange")
    assert ASSIGNED_POD_ADD.label == ASSIGNED_POD_ADD.classic_label == "AssignedPodAdd"
    assert events.TIMEOUT.label == "UnschedulableTimeout"


def test_registration_for_pods_hears_assigned_and_unschedulable_ones() -> None:
    registered = ClusterEvent(events.POD, Action.ADD | Action.DELETE)
    assert registered.covers(ASSIGNED_POD_ADD)
    assert registered.covers(events.UNSCHEDULED_POD_DELETE)
    assert not registered.covers(pod_update(Action.UPDATE_POD_LABEL))
    assert not registered.covers(NODE_ADD)


def test_update_of_a_pod_amounts_to_what_changed() -> None:
    old = make_pod("a", cpu="2", labels={"x": "1"})
    smaller = make_pod("a", cpu="1", labels={"x": "2"})
    assert [event.action for event in pod_scheduling_properties_change(smaller, old, RULES)] == [
        Action.UPDATE_POD_LABEL,
        Action.UPDATE_POD_SCALE_DOWN,
    ]
    (other,) = pod_scheduling_properties_change(
        make_pod("a", cpu="3", labels={"x": "1"}), old, RULES
    )
    assert other == ClusterEvent(events.UNSCHEDULABLE_POD, Action.UPDATE_POD_OTHER)
    # Nobody among the in-tree plugins listens to that.
    assert not HINTS.registered_for(other)


@pytest.mark.parametrize(
    ("profile", "action"),
    [("v1.36", Action.UPDATE_POD_SCALE_DOWN), ("v1.35", Action.UPDATE_POD_OTHER)],
)
def test_whole_pod_is_scaled_down_in_its_status(profile: str, action: Action) -> None:
    resources = {"requests": {"cpu": "1"}}
    pod = make_pod("a", spec={"nodeName": "n", "resources": resources})
    old, new = (
        pod.patched({"status": {"resources": {"requests": {"cpu": cpu}}}}) for cpu in ("3", "2")
    )
    rules = VERSIONS[profile].resources
    assert pod_scheduling_properties_change(new, old, rules) == [pod_update(action)]


def test_update_of_a_node_amounts_to_what_changed() -> None:
    old, new = make_node("n", unschedulable=True), make_node("n", cpu="8", labels={"a": "b"})
    actions = [event.action for event in node_scheduling_properties_change(new, old)]
    assert actions == [
        Action.UPDATE_NODE_TAINT,
        Action.UPDATE_NODE_ALLOCATABLE,
        Action.UPDATE_NODE_LABEL,
    ]
    change = classic_node_change(new, old)
    assert change is not None
    assert change.classic_label == "NodeSpecUnschedulableChange"
    assert classic_node_change(old, old) is None


def test_equivalent_node_in_other_words_has_not_changed() -> None:
    old = make_node("n", cpu="2", taints=[{"key": "k", "effect": "NoSchedule"}])
    taint = {"key": "k", "value": "", "effect": "NoSchedule"}
    new = make_node("n", cpu="2000m", taints=[taint])
    assert node_scheduling_properties_change(new, old) == []


def test_node_declaration_is_an_event_where_it_counts() -> None:
    old, new = make_node("n"), make_node("n")
    new.raw["status"]["declaredFeatures"] = ["RestartAllContainersOnContainerExits"]
    (event,) = node_scheduling_properties_change(new, old, sees_features=True)
    assert event.label == "NodeUpdateNodeDeclaredFeature"
    assert node_scheduling_properties_change(new, old) == []
    info = PodInfo(make_pod("a"), RULES)
    assert hints_of("v1.36").queues("NodeDeclaredFeatures", event, info, old, new)
    other = node_update(Action.UPDATE_NODE_LABEL)
    assert not helps("NodeDeclaredFeatures", other, make_pod("a"), old, new)


def test_listener_to_one_update_hears_no_others() -> None:
    registered = node_update(Action.UPDATE_NODE_LABEL)
    assert registered.covers(node_update(Action.UPDATE_NODE_LABEL))
    assert not registered.covers(node_update(Action.UPDATE))


def test_a_node_helps_when_it_becomes_tolerated() -> None:
    tainted = make_node("n", taints=[{"key": "k", "effect": "NoSchedule"}])
    event = node_update(Action.UPDATE_NODE_TAINT)
    pod = make_pod("a")
    assert helps("TaintToleration", event, pod, tainted, make_node("n"))
    assert not helps("TaintToleration", event, pod, make_node("n"), make_node("n"))
    assert not helps("TaintToleration", NODE_ADD, pod, None, tainted)


def test_a_node_helps_when_it_is_uncordoned() -> None:
    event = node_update(Action.UPDATE_NODE_TAINT)
    cordoned, open_node = make_node("n", unschedulable=True), make_node("n")
    assert helps("NodeUnschedulable", event, make_pod("a"), cordoned, open_node)
    assert not helps("NodeUnschedulable", event, make_pod("a"), open_node, cordoned)


def test_a_node_helps_when_it_begins_to_match() -> None:
    pod = make_pod("a", spec={"nodeSelector": {"disk": "ssd"}})
    event = node_update(Action.UPDATE_NODE_LABEL)
    plain, matching = make_node("n"), make_node("n", labels={"disk": "ssd"})
    assert helps("NodeAffinity", event, pod, plain, matching)
    assert helps("NodeAffinity", NODE_ADD, pod, None, matching)
    assert not helps("NodeAffinity", event, pod, matching, matching)
    assert not helps("NodeAffinity", event, pod, matching, plain)


def test_node_helps_with_more_of_what_is_wanted() -> None:
    pod = make_pod("a", cpu="3")
    event = node_update(Action.UPDATE_NODE_ALLOCATABLE)
    small, big, wide = make_node("n", cpu="2"), make_node("n"), make_node("n", memory="64Gi")
    assert helps("NodeResourcesFit", event, pod, small, big)
    assert not helps("NodeResourcesFit", event, pod, big, small)
    assert not helps("NodeResourcesFit", event, pod, big, wide)


def hints_with_devices(resource: str = "") -> QueueingHints:
    """Those of v1.36, where a DeviceClass stands for *resource*."""
    handle = Handle()
    spec = {"extendedResourceName": resource} if resource else {}
    handle.listers.put(ApiObject({"kind": "DeviceClass", "metadata": {"name": "a"}, "spec": spec}))
    return hints_of("v1.36", handle=handle)


def wants(**requests: str) -> Pod:
    """A pod that asks for so much, beside one example.com/gpu."""
    amounts = {**requests, "example.com/gpu": "1"}
    return make_pod(
        "a", spec={"containers": [{"name": "main", "resources": {"requests": amounts}}]}
    )


def test_node_without_device_resources_helps_all_the_same() -> None:
    """Upstream: shouldDelegateResourceToDRA()."""
    pod = PodInfo(wants(cpu="3"), VERSIONS["v1.36"].resources)
    grown = node_update(Action.UPDATE_NODE_ALLOCATABLE)
    small, big, wide = make_node("n", cpu="2"), make_node("n"), make_node("n", memory="64Gi")
    for resource, helped in (("example.com/gpu", True), ("", False)):
        hints = hints_with_devices(resource)
        assert hints.queues("NodeResourcesFit", NODE_ADD, pod, None, big) is helped
        assert hints.queues("NodeResourcesFit", grown, pod, small, big) is helped
        # Whether there are more devices is not asked.
        assert hints.queues("NodeResourcesFit", grown, pod, big, wide) is helped
        assert not hints.queues("NodeResourcesFit", grown, pod, big, small)


def test_device_class_helps_pods_asking_its_new_meaning() -> None:
    def stands_for(resource: str = "", name: str = "gpu") -> ApiObject:
        spec = {"extendedResourceName": resource} if resource else {}
        return ApiObject({"kind": "DeviceClass", "metadata": {"name": name}, "spec": spec})

    implicit = make_pod("b")
    (container,) = implicit.raw["spec"]["containers"]
    container["resources"] = {"requests": {"deviceclass.resource.kubernetes.io/gpu": "1"}}
    gpu, other = "example.com/gpu", "example.com/nic"
    for pod, old, new, helped in (
        (wants(), None, stands_for(gpu), True),
        (wants(), None, stands_for(other), False),
        (wants(), None, stands_for(), False),
        (wants(), stands_for(other), stands_for(gpu), True),
        (wants(), stands_for(gpu), stands_for(gpu), False),
        (make_pod("a", cpu="9"), None, stands_for(gpu), False),
        (implicit, None, stands_for(), True),
        # Its name is no news.
        (implicit, stands_for(), stands_for(gpu), False),
    ):
        event = events.DEVICE_CLASS_ADD if old is None else events.DEVICE_CLASS_UPDATE
        info = PodInfo(pod, VERSIONS["v1.36"].resources)
        hints = hints_with_devices(gpu)
        assert hints.queues("NodeResourcesFit", event, info, old, new) is helped
        assert not HINTS.queues("NodeResourcesFit", event, info, old, new)


def test_room_on_nodes_helps_pods_awaiting_devices() -> None:
    event = node_update(Action.UPDATE_NODE_ALLOCATABLE)
    pod = PodInfo(make_pod("a"), VERSIONS["v1.36"].resources)
    small, big = make_node("n"), make_node("n", cpu="8")
    assert hints_of("v1.36").queues("DynamicResources", event, pod, small, big)


@pytest.mark.parametrize("groups", [True, False])
def test_plugin_without_registration_hears_of_claims_and_groups(
    groups: bool,
) -> None:
    hints = QueueingHints({"Widgets": everything(groups=groups)})
    for event in (events.RESOURCE_CLAIM_UPDATE, events.DEVICE_CLASS_DELETE):
        assert "Widgets" in hints.registered_for(event)
    assert "Widgets" not in hints.registered_for(events.RESOURCE_SLICE_ADD)
    assert ("Widgets" in hints.registered_for(events.POD_GROUP_ADD)) is groups


def test_pod_leaving_its_node_frees_resources_and_ports() -> None:
    def with_port(name: str, number: int, node: str = "") -> Pod:
        ports = [{"containerPort": number, "hostPort": number}]
        return make_pod(name, node=node, spec={"containers": [{"name": "c", "ports": ports}]})

    gone, pending = make_pod("x", node="n"), make_pod("x")
    assert helps("NodeResourcesFit", ASSIGNED_POD_DELETE, make_pod("a"), gone, None)
    assert not helps("NodeResourcesFit", ASSIGNED_POD_DELETE, make_pod("a"), pending, None)
    pod = with_port("a", 80)
    assert helps("NodePorts", ASSIGNED_POD_DELETE, pod, with_port("x", 80, "n"), None)
    assert not helps("NodePorts", ASSIGNED_POD_DELETE, pod, with_port("x", 81, "n"), None)
    promised = with_port("x", 80).with_status({"nominatedNodeName": "n"})
    assert helps("NodePorts", ASSIGNED_POD_DELETE, pod, promised, None)
    assert not helps("NodePorts", ASSIGNED_POD_DELETE, pod, with_port("x", 80), None)


def test_shrinking_pod_frees_only_what_it_released() -> None:
    event = pod_update(Action.UPDATE_POD_SCALE_DOWN)
    old, new = make_pod("x", node="n", cpu="2"), make_pod("x", node="n", cpu="1")
    assert helps("NodeResourcesFit", event, make_pod("a", cpu="1"), old, new)
    assert not helps("NodeResourcesFit", event, make_pod("a", memory="1Gi"), old, new)


def test_status_of_the_waiting_pod_says_what_helps() -> None:
    """Upstream: isSchedulableAfterPodScaleDown(), UseStatusResources."""
    old, new = make_pod("x", node="n", cpu="2"), make_pod("x", node="n", cpu="1")
    allocated = {"name": "main", "resources": {"requests": {"cpu": "1"}}}
    waiting = make_pod("a", memory="1Gi", status={"containerStatuses": [allocated]})
    event = pod_update(Action.UPDATE_POD_SCALE_DOWN)
    assert helps("NodeResourcesFit", event, waiting, old, new)


@pytest.mark.parametrize(
    ("side", "event", "expected"),
    [
        ("podAffinity", ASSIGNED_POD_ADD, True),
        ("podAffinity", ASSIGNED_POD_DELETE, False),
        ("podAntiAffinity", ASSIGNED_POD_ADD, False),
        ("podAntiAffinity", ASSIGNED_POD_DELETE, True),
    ],
)
def test_wanted_pods_help_coming_and_unwanted_going(
    side: str, event: ClusterEvent, expected: bool
) -> None:
    term = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "zone"}
    spec = {"affinity": {side: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    pod = make_pod("a", spec=spec)
    other = make_pod("x", node="n", labels={"app": "db"})
    old, new = (None, other) if event is ASSIGNED_POD_ADD else (other, None)
    assert helps("InterPodAffinity", event, pod, old, new) is expected
    stranger = make_pod("x", node="n", labels={"app": "web"})
    old, new = (None, stranger) if event is ASSIGNED_POD_ADD else (stranger, None)
    assert not helps("InterPodAffinity", event, pod, old, new)


def test_pod_promised_a_node_frees_its_ports() -> None:
    ports = {"containers": [{"name": "c", "ports": [{"hostPort": 80, "containerPort": 80}]}]}
    waiting = make_pod("p", spec=ports)
    gone = make_pod("q", spec=ports, status={"nominatedNodeName": "n"})
    deleted = events.UNSCHEDULED_POD_DELETE
    assert helps("NodePorts", deleted, waiting, gone, None)
    assert not helps("NodePorts", deleted, waiting, make_pod("q", spec=ports), None)


def test_what_cannot_be_read_is_tried_again() -> None:
    term = {"matchExpressions": [{"key": "gen", "operator": "Gt", "values": ["abc"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    pod = make_pod("p", spec={"affinity": {"nodeAffinity": required}})
    assert helps("NodeAffinity", NODE_ADD, pod, None, make_node("n"))


def test_node_has_to_be_what_the_configuration_enforces() -> None:
    term = {"matchExpressions": [{"key": "pool", "operator": "Exists"}]}
    hints = hints_of(arguments={"NodeAffinity": added_affinity(term)})
    pod = PodInfo(make_pod("p"), VERSIONS["v1.34"].resources)
    plain, pooled = make_node("n"), make_node("n", labels={"pool": "x"})
    assert not hints.queues("NodeAffinity", NODE_ADD, pod, None, plain)
    assert hints.queues("NodeAffinity", NODE_ADD, pod, None, pooled)
    # Upstream asks only whether the old node was what the pod wants.
    relabelled = node_update(Action.UPDATE_NODE_LABEL)
    assert not hints.queues("NodeAffinity", relabelled, pod, plain, pooled)


def test_anti_affinity_is_helped_by_nodes_changing_domains() -> None:
    term = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "zone"}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    pod = make_pod("a", spec={"affinity": {"podAntiAffinity": required}})
    moved = node_update(Action.UPDATE_NODE_LABEL)
    zoned, bare = make_node("n", labels={"zone": "a"}), make_node("n")
    assert helps("InterPodAffinity", NODE_ADD, pod, None, bare)
    assert helps("InterPodAffinity", moved, pod, zoned, bare)
    assert not helps("InterPodAffinity", moved, pod, bare, zoned)


def test_spreading_is_helped_by_pods_and_changed_domains() -> None:
    constraint = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    pod = make_pod("a", spec={"topologySpreadConstraints": [constraint]})
    counted = make_pod("x", node="n", labels={"app": "web"})
    name = "PodTopologySpread"
    assert helps(name, ASSIGNED_POD_DELETE, pod, counted, None)
    assert not helps(name, ASSIGNED_POD_DELETE, pod, make_pod("x", node="n"), None)
    relabelled = pod_update(Action.UPDATE_POD_LABEL)
    assert helps(name, relabelled, pod, counted, make_pod("x", node="n"))
    zoned, bare = make_node("n", labels={"zone": "a"}), make_node("n")
    assert helps(name, NODE_ADD, pod, None, zoned)
    assert not helps(name, NODE_ADD, pod, None, bare)
    assert helps(name, NODE_DELETE, pod, zoned, None)
    moved = node_update(Action.UPDATE_NODE_LABEL)
    assert helps(name, moved, pod, zoned, make_node("n", labels={"zone": "b"}))
    assert not helps(name, moved, pod, zoned, zoned)


def test_claim_helps_only_the_pods_that_use_it() -> None:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    pod = make_pod("a", spec={"volumes": volumes})

    def claim(name: str, namespace: str = "default") -> PersistentVolumeClaim:
        metadata = {"name": name, "namespace": namespace}
        return PersistentVolumeClaim({"kind": "PersistentVolumeClaim", "metadata": metadata})

    for plugin in ("VolumeBinding", "VolumeZone", "VolumeRestrictions", "NodeVolumeLimits"):
        assert helps(plugin, CLAIM_ADD, pod, None, claim("data"))
        assert not helps(plugin, CLAIM_ADD, pod, None, claim("other"))
        assert not helps(plugin, CLAIM_ADD, pod, None, claim("data", "elsewhere"))


def test_a_raised_attach_limit_helps() -> None:
    def csi_node(count: int) -> ApiObject:
        drivers = [{"name": "d", "allocatable": {"count": count}}]
        metadata = {"name": "n"}
        return ApiObject({"kind": "CSINode", "metadata": metadata, "spec": {"drivers": drivers}})

    event = events.CSI_NODE_UPDATE
    assert helps("NodeVolumeLimits", event, make_pod("a"), csi_node(1), csi_node(2))
    assert not helps("NodeVolumeLimits", event, make_pod("a"), csi_node(2), csi_node(1))
    bare = ApiObject({"kind": "CSINode", "metadata": {"name": "n"}, "spec": {"drivers": []}})
    assert helps("NodeVolumeLimits", event, make_pod("a"), bare, csi_node(1))
    assert not helps("NodeVolumeLimits", event, make_pod("a"), bare, csi_node(0))
    assert helps("NodeVolumeLimits", events.CSI_NODE_ADD, make_pod("a"), None, bare)


def with_volume(**source: Any) -> Pod:
    """A pod with one volume; that of an ephemeral one is called a-v."""
    return make_pod("a", spec={"volumes": [{"name": "v", **source}]})


def test_claims_of_ephemeral_volumes_help_where_considered() -> None:
    pod = with_volume(ephemeral={})
    metadata = {"name": "a-v", "namespace": "default"}
    claim = PersistentVolumeClaim({"kind": "PersistentVolumeClaim", "metadata": metadata})
    for plugin in ("VolumeBinding", "NodeVolumeLimits"):
        assert helps(plugin, CLAIM_ADD, pod, None, claim)
    for plugin in ("VolumeZone", "VolumeRestrictions"):
        assert not helps(plugin, CLAIM_ADD, pod, None, claim)


def test_claim_update_does_not_free_its_user() -> None:
    pod = with_volume(persistentVolumeClaim={"claimName": "data"})
    metadata = {"name": "data", "namespace": "default"}
    claim = PersistentVolumeClaim({"kind": "PersistentVolumeClaim", "metadata": metadata})
    assert helps("VolumeBinding", events.CLAIM_UPDATE, pod, claim, claim)
    assert not helps("VolumeRestrictions", events.CLAIM_UPDATE, pod, claim, claim)


@pytest.mark.parametrize(
    ("source", "helped"),
    [
        ({"persistentVolumeClaim": {"claimName": "data"}}, True),
        ({"ephemeral": {}}, False),
        ({"awsElasticBlockStore": {"volumeID": "vol-1"}}, True),
        ({"gcePersistentDisk": {"pdName": "disk"}}, False),
    ],
)
def test_an_attachment_that_goes_helps_by_its_driver(source: Any, helped: bool) -> None:
    spec = {"attacher": "ebs.csi.aws.com"}
    gone = ApiObject({"kind": "VolumeAttachment", "metadata": {"name": "va"}, "spec": spec})
    event = events.VOLUME_ATTACHMENT_DELETE
    assert helps("NodeVolumeLimits", event, with_volume(**source), gone, None) is helped


def test_pod_promised_a_node_frees_its_attachments() -> None:
    spec = {"volumes": [{"name": "v", "ephemeral": {}}]}
    promised = make_pod("b", spec=spec, status={"nominatedNodeName": "n"})
    event = events.UNSCHEDULED_POD_DELETE
    assert helps("NodeVolumeLimits", event, make_pod("a"), promised, None)
    assert not helps("NodeVolumeLimits", event, make_pod("a"), make_pod("b", spec=spec), None)


def test_room_helps_by_the_largest_fitting_volume() -> None:
    def room(**limits: str) -> ApiObject:
        metadata = {"name": "r", "namespace": "default"}
        return ApiObject({"kind": "CSIStorageCapacity", "metadata": metadata, **limits})

    event = ClusterEvent(events.CSI_STORAGE_CAPACITY, Action.UPDATE)
    pod, small = make_pod("a"), room(capacity="10Gi", maximumVolumeSize="1Gi")
    assert not helps(
        "VolumeBinding", event, pod, small, room(capacity="20Gi", maximumVolumeSize="1Gi")
    )
    assert helps("VolumeBinding", event, pod, small, room(capacity="10Gi"))
    assert helps("VolumeBinding", event, pod, room(), room(capacity="0"))
    assert not helps("VolumeBinding", event, pod, small, room())


def test_uncounted_driver_helps_pods_with_inline_volumes() -> None:
    def driver(**spec: bool) -> ApiObject:
        return ApiObject({"kind": "CSIDriver", "metadata": {"name": "d"}, "spec": spec})

    event = ClusterEvent(events.CSI_DRIVER, Action.UPDATE)
    inline = with_volume(csi={"driver": "d"})
    assert helps("VolumeBinding", event, inline, driver(storageCapacity=True), driver())
    assert not helps("VolumeBinding", event, inline, driver(), driver())
    claimed = with_volume(persistentVolumeClaim={"claimName": "data"})
    assert not helps("VolumeBinding", event, claimed, driver(storageCapacity=True), driver())


def test_zones_in_another_order_are_the_same_zones() -> None:
    def volume(zone: str) -> PersistentVolume:
        labels = {"topology.kubernetes.io/zone": zone}
        return PersistentVolume(
            {"kind": "PersistentVolume", "metadata": {"name": "v", "labels": labels}}
        )

    event, pod = events.VOLUME_UPDATE, make_pod("a")
    assert not helps("VolumeZone", event, pod, volume("a__b"), volume("b__a"))
    assert helps("VolumeZone", event, pod, volume("a__b"), volume("a"))


def test_plugin_that_registered_no_hint_is_always_helped() -> None:
    assert helps("NodeName", NODE_ADD, make_pod("a"), None, Node(make_node("n").raw))
    assert not helps("NodeName", NODE_DELETE, make_pod("a"), make_node("n"), None)


def added_affinity(term: Manifest) -> Manifest:
    required = {"nodeSelectorTerms": [term]}
    return {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def test_hints_ask_the_configuration() -> None:
    """It adds affinity for ssd, and a default constraint on zones."""
    zones = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    ssd = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
    arguments = {
        "NodeAffinity": added_affinity(ssd),
        "PodTopologySpread": {"defaultingType": "List", "defaultConstraints": [zones]},
    }
    handle = Handle()
    web = {
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"app": "web"}},
    }
    handle.listers.put(ApiObject({"kind": "Service", **web}))
    hints = hints_of(arguments=arguments, handle=handle)
    pod = PodInfo(make_pod("a", labels={"app": "web"}), VERSIONS["v1.34"].resources)
    for node, helped in (
        (make_node("n"), False),
        (make_node("n", labels={"disk": "ssd"}), True),
    ):
        assert hints.queues("NodeAffinity", NODE_ADD, pod, None, node) is helped
    spread = "PodTopologySpread"
    for gone, helped in (({"app": "web"}, True), ({"app": "db"}, False)):
        other = make_pod("x", node="n", labels=gone)
        assert hints.queues(spread, ASSIGNED_POD_DELETE, pod, other, None) is helped
    assert hints.queues(spread, NODE_ADD, pod, None, make_node("n", labels={"zone": "a"}))
    assert not hints.queues(spread, NODE_ADD, pod, None, make_node("n"))


def test_listener_to_new_nodes_hears_of_taints_too() -> None:
    event = node_update(Action.UPDATE_NODE_TAINT)
    cordoned, open_node = make_node("n", unschedulable=True), make_node("n")
    for plugin in ("NodeName", "NodeResourcesFit", "InterPodAffinity", "VolumeBinding"):
        assert helps(plugin, event, make_pod("a", cpu="100"), cordoned, open_node)
    # Who says what taints mean to it is asked.
    assert not helps("NodeUnschedulable", event, make_pod("a"), open_node, cordoned)


def volume(**source: Any) -> dict[str, Any]:
    return {"name": "data", **source}


def test_ephemeral_claim_helps_whom_it_kept_out() -> None:
    pod = make_pod("a", spec={"volumes": [volume(ephemeral={})]})
    metadata = {"name": "a-data", "namespace": "default"}
    claim = PersistentVolumeClaim({"kind": "PersistentVolumeClaim", "metadata": metadata})
    for plugin, helped in (
        ("VolumeBinding", True),
        ("NodeVolumeLimits", True),
        ("VolumeRestrictions", False),
        ("VolumeZone", False),
    ):
        assert helps(plugin, CLAIM_ADD, pod, None, claim) is helped


def test_volume_restrictions_do_not_hear_of_updated_claims() -> None:
    assert "VolumeRestrictions" in HINTS.registered_for(CLAIM_ADD)
    assert "VolumeRestrictions" not in HINTS.registered_for(events.CLAIM_UPDATE)


def test_csi_node_helps_when_new_or_with_limits() -> None:
    def csi_node(*limits: int | None) -> ApiObject:
        drivers = [{"name": "d", "allocatable": {"count": limit}} for limit in limits]
        return ApiObject(
            {"kind": "CSINode", "metadata": {"name": "n"}, "spec": {"drivers": drivers}}
        )

    pod = make_pod("a", spec={"volumes": [volume(persistentVolumeClaim={"claimName": "c"})]})
    name = "NodeVolumeLimits"
    assert helps(name, events.CSI_NODE_ADD, pod, None, csi_node())
    assert helps(name, events.CSI_NODE_UPDATE, pod, csi_node(), csi_node(1))
    assert not helps(name, events.CSI_NODE_UPDATE, pod, csi_node(), csi_node(None))


@pytest.mark.parametrize(
    ("source", "helped"),
    [
        ({"persistentVolumeClaim": {"claimName": "c"}}, True),
        ({"ephemeral": {}}, False),
        ({"awsElasticBlockStore": {"volumeID": "vol-1"}}, True),
        ({"gcePersistentDisk": {"pdName": "d"}}, False),
    ],
)
def test_detached_volume_helps_claims_of_its_driver(source: dict[str, Any], helped: bool) -> None:
    spec = {"attacher": "ebs.csi.aws.com"}
    gone = ApiObject({"kind": "VolumeAttachment", "metadata": {"name": "x"}, "spec": spec})
    pod = make_pod("a", spec={"volumes": [volume(**source)]})
    event = events.VOLUME_ATTACHMENT_DELETE
    assert helps("NodeVolumeLimits", event, pod, gone, None) is helped


@pytest.mark.parametrize(
    ("old", "new", "helped"),
    [
        ({"capacity": "1Gi"}, {"capacity": "2Gi"}, True),
        (
            {"capacity": "1Gi", "maximumVolumeSize": "1Gi"},
            {"capacity": "2Gi", "maximumVolumeSize": "1Gi"},
            False,
        ),
        ({"capacity": "5Gi", "maximumVolumeSize": "1Gi"}, {"capacity": "5Gi"}, True),
        ({"capacity": "1Gi"}, {}, False),
        ({}, {"capacity": "0"}, True),
    ],
)
def test_storage_capacity_helps_when_a_larger_volume_fits(
    old: dict[str, str], new: dict[str, str], helped: bool
) -> None:
    def capacity(fields: dict[str, str]) -> ApiObject:
        return ApiObject({"kind": "CSIStorageCapacity", "metadata": {"name": "x"}, **fields})

    event = events.STORAGE_CAPACITY_UPDATE
    assert helps("VolumeBinding", event, make_pod("a"), capacity(old), capacity(new)) is helped


def test_unchecked_driver_helps_only_pods_naming_it() -> None:
    def driver(checks: bool) -> ApiObject:
        spec = {"storageCapacity": checks}
        return ApiObject({"kind": "CSIDriver", "metadata": {"name": "d"}, "spec": spec})

    event = events.CSI_DRIVER_UPDATE
    inline = make_pod("a", spec={"volumes": [volume(csi={"driver": "d"})]})
    claims = make_pod("a", spec={"volumes": [volume(persistentVolumeClaim={"claimName": "c"})]})
    assert helps("VolumeBinding", event, inline, driver(True), driver(False))
    assert not helps("VolumeBinding", event, claims, driver(True), driver(False))


def test_zones_in_another_order_are_the_same_topology() -> None:
    def disk(zones: str) -> PersistentVolume:
        metadata = {"name": "v", "labels": {"topology.kubernetes.io/zone": zones}}
        return PersistentVolume({"kind": "PersistentVolume", "metadata": metadata})

    event, pod = events.VOLUME_UPDATE, make_pod("a")
    assert not helps("VolumeZone", event, pod, disk("a__b"), disk("b__a"))
    assert helps("VolumeZone", event, pod, disk("a__b"), disk("a"))

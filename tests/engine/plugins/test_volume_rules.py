"""What the volume plugins and predicates answer where upstream is easily misread."""

from typing import Any

import pytest

from engine.framework.handle import Handle
from engine.framework.pods.pod_info import PodInfo
from engine.objects.objects import BETA_CLASS, Pod, from_manifest
from engine.objects.phases import BIND_COMPLETED, SELECTED_NODE
from engine.scheduler.configuration.profiles import PROFILES
from engine.scheduler.cycle.algorithm import SchedulingAlgorithm
from tests.builders import reachable_from
from tests.engine.scheduler_builders import make_node, make_pod
from tests.engine.storage_world import make_claim, make_class, make_volume

Json = dict[str, Any]

ZONE = "topology.kubernetes.io/zone"
OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
WAITS = "WaitForFirstConsumer"
NOT_EXIST = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
OUT_OF_REACH = "node(s) didn't match PersistentVolume's node affinity"
NOTHING_FREE = "node(s) didn't find available persistent volumes to bind"
IN_USE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
    "already in-use by another pod"
)


class World:
    """A cluster with node n, in zone a unless told otherwise."""

    def __init__(self, version: str = "v1.34", **labels: str) -> None:
        self.algorithm = SchedulingAlgorithm(PROFILES[version], Handle())
        self.algorithm.table.add_node(make_node("n", labels=labels or {ZONE: "a"}))

    def put(self, *manifests: Json) -> None:
        for manifest in manifests:
            self.algorithm.handle.listers.put(from_manifest(manifest))

    def bound(self, name: str, **spec: Any) -> None:
        """A claim that is bound to the volume pv-NAME, which exists if *spec* is given."""
        self.put(claim(name, annotations={BIND_COMPLETED: "yes"}, volumeName=f"pv-{name}"))
        if spec:
            ref = {"namespace": "default", "name": name}
            self.put(volume(f"pv-{name}", "Bound", claimRef=ref, **spec))

    def place(self, name: str, *volumes: Json, space: str = "default", priority: int = 0) -> None:
        raw = dict(with_volumes(name, *volumes, node="n", priority=priority).raw)
        raw["metadata"] = {**raw["metadata"], "namespace": space}
        self.algorithm.table.add_pod(0, self.info(Pod(raw)))

    def info(self, pod: Pod) -> PodInfo:
        return PodInfo(pod, self.algorithm.profile.resource_rules)

    def tried(self, *volumes: Json, **fields: Any) -> Any:
        return self.algorithm.schedule(self.info(with_volumes("p", *volumes, **fields)))

    def reasons(self, *volumes: Json) -> tuple[str, ...]:
        """Why node n, or PreFilter, refuses a pod with these volumes."""
        search = self.tried(*volumes).search
        assert search is not None
        if not search.status.is_success:
            return search.status.reasons
        found = self.algorithm.fit_errors.status_by_node(search)
        return found["n"].reasons if found else ()

    def bindings(self, *volumes: Json) -> Any:
        """Which volumes a pod's claims would be bound to on node n."""
        result, binding = self.tried(*volumes), self.algorithm.framework.volume_binding
        assert result.search is not None
        assert binding is not None
        return binding.plan(result.search.state, result.row).bind

    def victims(self, *volumes: Json, priority: int) -> list[str]:
        """Who would be evicted for a pod with these volumes."""
        found = self.algorithm.preempt(self.tried(*volumes, priority=priority))
        chosen = None if found is None else found.chosen
        return [victim.key for victim in chosen.victims] if chosen else []


def with_volumes(name: str, *volumes: Json, node: str = "", priority: int = 0) -> Pod:
    return make_pod(name, node=node, priority=priority, spec={"volumes": list(volumes)})


def of(claim_name: str) -> Json:
    return {"name": claim_name, "persistentVolumeClaim": {"claimName": claim_name}}


def claim(name: str, *, annotations: dict[str, str] | None = None, **spec: Any) -> Json:
    raw = make_claim(name, **spec)
    raw["metadata"] |= {"uid": f"uid-{name}", "annotations": annotations or {}}
    return raw


def volume(name: str, phase: str = "Available", size: str = "1Gi", **spec: Any) -> Json:
    return {**make_volume(name, size, **spec), "status": {"phase": phase}}


# -- VolumeBinding -------------------------------------------------------------------------------


def test_first_bound_claim_that_is_not_well_decides() -> None:
    far = reachable_from(ZONE, "b")
    own = [{"name": name, "ephemeral": {}} for name in ("lost", "far")]
    world = World()
    owner = [{"uid": "p", "controller": True, "kind": "Pod", "name": "p"}]
    for name in ("lost", "far"):
        raw = claim(f"p-{name}", annotations={BIND_COMPLETED: "yes"}, volumeName=f"pv-{name}")
        raw["metadata"]["ownerReferences"] = owner
        world.put(raw)
    world.put(volume("pv-far", "Bound", nodeAffinity=far))
    assert world.reasons(*own) == (NOT_EXIST,)
    assert world.reasons(*reversed(own)) == (OUT_OF_REACH,)


def test_volume_that_does_not_exist_is_reported_last() -> None:
    world = World()
    world.put(make_class("local", "kubernetes.io/no-provisioner", WAITS))
    owner = [{"uid": "p", "controller": True, "kind": "Pod", "name": "p"}]
    raw = claim("p-lost", annotations={BIND_COMPLETED: "yes"}, volumeName="gone")
    raw["metadata"]["ownerReferences"] = owner
    world.put(raw, claim("free", storageClassName="local"))
    assert world.reasons({"name": "lost", "ephemeral": {}}, of("free")) == (
        NOTHING_FREE,
        NOT_EXIST,
    )


def test_claim_to_be_made_for_pods_is_awaited() -> None:
    world = World()
    own = {"name": "own", "ephemeral": {}}
    assert world.reasons(own) == (
        'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-own"',
    )
    world.put(claim("p-own"))
    assert world.reasons(own) == (
        "PVC default/p-own was not created for pod default/p (pod is not owner)",
    )
    assert world.reasons(of("other")) == ('persistentvolumeclaim "other" not found',)


def test_selected_node_without_a_name_is_no_node() -> None:
    world = World()
    world.put(make_class("csi", "csi.example.com", WAITS))
    world.put(claim("data", annotations={SELECTED_NODE: ""}, storageClassName="csi"))
    assert world.reasons(of("data")) == (NOTHING_FREE,)


def _with_room(world: World, **room: Any) -> None:
    driver = {"kind": "CSIDriver", "metadata": {"name": "d"}, "spec": {"storageCapacity": True}}
    capacity = {
        "kind": "CSIStorageCapacity",
        "metadata": {"name": "r", "namespace": "default"},
        "storageClassName": "csi",
        "nodeTopology": {},
        **room,
    }
    world.put(make_class("csi", "d", WAITS), driver, capacity)


def test_claim_without_a_size_needs_no_room() -> None:
    world = World()
    _with_room(world)
    world.put(claim("small", storageClassName="csi", resources={}))
    world.put(claim("large", storageClassName="csi"))
    assert world.reasons(of("small")) == ()
    assert world.reasons(of("large")) == ("node(s) did not have enough free storage",)


def test_no_volume_at_all_may_be_the_largest() -> None:
    world = World()
    _with_room(world, capacity="10Gi", maximumVolumeSize=0)
    world.put(claim("data", storageClassName="csi"))
    assert world.reasons(of("data")) == ("node(s) did not have enough free storage",)


def test_volume_room_is_unchecked_before_capacity_accounts_existed() -> None:
    world = World("v1.16")
    _with_room(world)
    world.put(claim("data", storageClassName="csi"))
    assert world.tried(of("data")).node == "n"


def test_first_by_name_of_two_reserved_volumes_wins() -> None:
    world = World()
    world.put(make_class("local", "kubernetes.io/no-provisioner", WAITS))
    ref = {"namespace": "default", "name": "data"}
    world.put(volume("a", size="5Gi", storageClassName="local", claimRef=ref))
    world.put(volume("b", size="1Gi", storageClassName="local", claimRef=ref))
    world.put(claim("data", storageClassName="local"))
    assert world.bindings(of("data")) == {"default/data": "a"}


def test_reserved_volume_of_other_attributes_class_is_skipped() -> None:
    world = World()
    world.put(make_class("local", "kubernetes.io/no-provisioner", WAITS))
    ref = {"namespace": "default", "name": "data"}
    gold = {"storageClassName": "local", "volumeAttributesClassName": "gold"}
    world.put(volume("reserved", claimRef=ref, storageClassName="local"), volume("free", **gold))
    world.put(claim("data", **gold))
    assert world.bindings(of("data")) == {"default/data": "free"}


# -- VolumeZone ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "fits"), [("a", True), ("b", False), ("", True), ("b____", True)]
)
@pytest.mark.parametrize(("version", "key"), [("v1.34", ZONE), ("v1.16", OLD_ZONE)])
def test_zone_label_with_an_empty_part_is_ignored(
    label: str, fits: bool, version: str, key: str
) -> None:
    world = World(version, **{key: "a"})
    world.bound("data", hostPath={"path": "/x"})
    raw = volume("pv-data", "Bound", claimRef={"namespace": "default", "name": "data"})
    world.put({**raw, "metadata": {"name": "pv-data", "labels": {key: label}}})
    assert bool(world.tried(of("data")).node) is fits


# -- VolumeRestrictions --------------------------------------------------------------------------


def _exclusive(world: World, *names: str) -> None:
    for name in names:
        world.bound(name, hostPath={"path": "/x"})
        raw = claim(name, annotations={BIND_COMPLETED: "yes"}, volumeName=f"pv-{name}")
        raw["spec"]["accessModes"] = ["ReadWriteOncePod"]
        world.put(raw)


def test_exclusive_claim_of_a_nominated_pod_is_free() -> None:
    world = World()
    _exclusive(world, "data")
    nominated = with_volumes("nominated", of("data"), priority=9)
    world.algorithm.nominated.add("n", world.info(nominated))
    assert world.tried(of("data")).node == "n"


def test_ephemeral_volume_does_not_use_an_exclusive_claim() -> None:
    world = World()
    _exclusive(world, "other-own")
    world.place("other", {"name": "own", "ephemeral": {}})
    assert world.tried(of("other-own")).node == "n"


def test_victim_elsewhere_frees_an_exclusive_claim_by_name() -> None:
    world = World()
    _exclusive(world, "data")
    world.place("user", of("data"), priority=100)
    assert world.reasons(of("data")) == (IN_USE,)
    assert world.victims(of("data"), priority=9) == []
    world.place("stranger", of("data"), space="elsewhere")
    assert world.victims(of("data"), priority=9) == ["elsewhere/stranger"]


# -- v1.16 ---------------------------------------------------------------------------------------


def test_1_16_errs_only_where_it_reaches_missing_volumes() -> None:
    world = World("v1.16")
    world.bound("far", nodeAffinity=reachable_from(ZONE, "b"))
    world.bound("lost")
    far_first = world.tried(of("far"), of("lost"))
    assert far_first.message == (
        "0/1 nodes are available: 1 node(s) had volume node affinity conflict."
    )
    lost_first = world.tried(of("lost"), of("far"))
    assert lost_first.message == 'could not find v1.PersistentVolume "pv-lost"'


@pytest.mark.parametrize(("version", "fits"), [("v1.16", False), ("v1.34", True)])
def test_1_16_finds_no_node_that_volumes_name(version: str, fits: bool) -> None:
    named = {"key": "metadata.name", "operator": "In", "values": ["n"]}
    other = {"key": "metadata.name", "operator": "NotIn", "values": ["n"]}
    world = World(version)
    for name, field in (("near", named), ("far", other)):
        terms = [{"matchFields": [field]}]
        world.bound(name, nodeAffinity={"required": {"nodeSelectorTerms": terms}})
    assert bool(world.tried(of("near")).node) is fits
    assert world.tried(of("far")).node == "n"


@pytest.mark.parametrize(("version", "fits"), [("v1.16", False), ("v1.34", True)])
def test_1_16_lists_volumes_by_their_spec_class(version: str, fits: bool) -> None:
    world = World(version)
    world.put(make_class("local", "kubernetes.io/no-provisioner", WAITS))
    for name in ("annotated", "reserved"):
        world.put(claim(name, storageClassName="local"))
    annotated = volume("annotated", storageClassName="old")
    annotated["metadata"]["annotations"] = {BETA_CLASS: "local"}
    ref = {"namespace": "default", "name": "reserved"}
    reserved = volume("reserved", storageClassName="local", claimRef=ref)
    reserved["metadata"]["annotations"] = {BETA_CLASS: "old"}
    world.put(reserved)
    assert bool(world.tried(of("reserved")).node) is not fits
    world.put(annotated)
    assert bool(world.tried(of("annotated")).node) is fits


def test_1_16_reads_csi_limits_from_the_node_too() -> None:
    world = World("v1.16")
    told = {"cpu": "4", "pods": "9", "attachable-volumes-csi-d": "1"}
    world.algorithm.table.add_node(make_node("n").patched({"status": {"allocatable": told}}))
    for name in ("one", "two"):
        world.bound(name, csi={"driver": "d", "volumeHandle": name})
    assert world.tried(of("one")).node == "n"
    world.place("user", of("one"))
    full = "0/1 nodes are available: 1 node(s) exceed max volume count."
    assert world.tried(of("two")).message == full
    driver = {"name": "d", "nodeID": "n", "allocatable": {"count": 2}}
    world.put({"kind": "CSINode", "metadata": {"name": "n"}, "spec": {"drivers": [driver]}})
    assert world.tried(of("two")).node == "n"


def test_1_16_refuses_full_nodes_even_to_sharing_pods() -> None:
    world = World("v1.16")
    told = {"cpu": "4", "pods": "9", "attachable-volumes-gce-pd": "1"}
    world.algorithm.table.add_node(make_node("n").patched({"status": {"allocatable": told}}))
    disks = [
        {"name": name, "gcePersistentDisk": {"pdName": name, "readOnly": True}} for name in "ab"
    ]
    world.place("user", *disks)
    assert world.tried(disks[0]).message == (
        "0/1 nodes are available: 1 node(s) exceed max volume count."
    )

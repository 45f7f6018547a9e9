"""What v1.11 asks of nodes: their conditions, for taints by condition are off there."""

import random
from dataclasses import replace
from typing import Any

import pytest

from engine.framework.handle import Handle
from engine.framework.pods.pod_info import PodInfo
from engine.input.reading import ConfigurationError
from engine.kernel.rng import Stream
from engine.objects.objects import Node, from_manifest
from engine.scheduler.configuration.configuration import read_setup
from engine.scheduler.configuration.policy import provider
from engine.scheduler.configuration.profiles import PROFILES, Profile
from engine.scheduler.cycle.algorithm import SchedulingAlgorithm
from engine.scheduler.cycle.decision.result import ScheduleResult
from engine.versions.registry import VERSIONS
from tests.engine.scheduler_builders import make_node, make_pod
from tests.samples import sample

CONDITIONS = ("Ready", "OutOfDisk", "MemoryPressure", "DiskPressure", "PIDPressure")
BY_CONDITION = [
    "CheckNodeCondition",
    "CheckNodeMemoryPressure",
    "CheckNodePIDPressure",
    "CheckNodeDiskPressure",
]


def conditioned(node: Node, **conditions: str) -> Node:
    """*node* with these conditions, by type."""
    told = [{"type": kind, "status": status} for kind, status in conditions.items()]
    return node.patched({"status": {"conditions": told}})


def policy(version: str = "v1.11", **fields: Any) -> Profile:
    return read_setup({"kind": "Policy", "apiVersion": "v1", **fields}, version).profiles[0]


def algorithm_of(*nodes: Node, profile: Profile = PROFILES["v1.11"]) -> SchedulingAlgorithm:
    algorithm = SchedulingAlgorithm(profile, Handle())
    for node in nodes:
        algorithm.table.add_node(node)
    return algorithm


def tried(algorithm: SchedulingAlgorithm, *, explain: bool = True, **fields: Any) -> ScheduleResult:
    rules = algorithm.profile.resource_rules
    return algorithm.schedule(PodInfo(make_pod("p", **fields), rules), explain=explain)


def test_the_default_provider_matches_upstream() -> None:
    profile = PROFILES["v1.11"]
    assert profile.filters[1:] == (
        "CheckNodeCondition",
        "GeneralPredicates",
        "NoDiskConflict",
        "PodToleratesNodeTaints",
        "MaxEBSVolumeCount",
        "MaxGCEPDVolumeCount",
        "MaxAzureDiskVolumeCount",
        "CheckVolumeBinding",
        "NoVolumeZoneConflict",
        "CheckNodeMemoryPressure",
        "CheckNodePIDPressure",
        "CheckNodeDiskPressure",
        "MatchInterPodAffinity",
    )
    assert "ImageLocalityPriority" not in dict(profile.scores)
    for setup in (
        provider(VERSIONS["v1.11"], "DefaultProvider"),
        read_setup(policy_document(), "v1.11"),
    ):
        assert setup.profiles[0].filters == profile.filters
        assert setup.profiles[0].scores == profile.scores


def policy_document() -> dict[str, Any]:
    return {"kind": "Policy", "apiVersion": "v1"}


@pytest.mark.parametrize(
    ("conditions", "reason"),
    [
        ({"Ready": "False"}, "node(s) were not ready"),
        ({"Ready": "Unknown"}, "node(s) were not ready"),
        ({"Ready": "True", "OutOfDisk": "True"}, "node(s) were out of disk space"),
        ({"Ready": "True", "OutOfDisk": "Unknown"}, "node(s) were out of disk space"),
        ({"Ready": "True", "NetworkUnavailable": "True"}, "node(s) had unavailable network"),
        ({"MemoryPressure": "True"}, "node(s) had memory pressure"),
        ({"DiskPressure": "True"}, "node(s) had disk pressure"),
        ({"PIDPressure": "True"}, "node(s) had pid pressure"),
    ],
)
def test_a_condition_keeps_pods_off_a_node(conditions: dict[str, str], reason: str) -> None:
    result = tried(algorithm_of(conditioned(make_node("n"), **conditions)))
    assert result.message == f"0/1 nodes are available: 1 {reason}."


def test_all_bad_conditions_of_a_node_are_reported() -> None:
    node = conditioned(make_node("n", unschedulable=True), Ready="False", OutOfDisk="True")
    assert tried(algorithm_of(node)).message == (
        "0/1 nodes are available: 1 node(s) were not ready, 1 node(s) were out of disk space, "
        "1 node(s) were unschedulable."
    )


def test_a_cordoned_node_is_tolerated_by_nobody() -> None:
    anything = {"tolerations": [{"operator": "Exists"}]}
    result = tried(algorithm_of(make_node("n", unschedulable=True)), spec=anything)
    assert result.message == "0/1 nodes are available: 1 node(s) were unschedulable."


def test_only_best_effort_pods_mind_memory_pressure() -> None:
    algorithm = algorithm_of(conditioned(make_node("n"), MemoryPressure="True"))
    assert tried(algorithm, cpu="100m").node == "n"
    assert tried(algorithm).node is None


def test_no_eviction_mends_a_node() -> None:
    algorithm = algorithm_of(conditioned(make_node("n"), Ready="Unknown"))
    low = PodInfo(make_pod("low", node="n"), algorithm.profile.resource_rules)
    algorithm.table.add_pod(algorithm.table.rows["n"], low)
    result = tried(algorithm, priority=10)
    preemption = algorithm.preempt(result)
    assert preemption is None or preemption.chosen is None


def test_with_the_gate_taints_stand_for_conditions() -> None:
    gates = {"TaintNodesByCondition": True}
    profile = policy(featureGates=gates)
    assert not set(BY_CONDITION) & set(profile.filters)
    # CheckNodeUnschedulable came with v1.12.
    assert "CheckNodeUnschedulable" not in profile.filters
    node = conditioned(make_node("n"), Ready="False")
    assert tried(algorithm_of(node, profile=profile)).node == "n"
    chosen = policy(featureGates=gates, predicates=[{"name": "PodFitsResources"}])
    assert chosen.filters[1:] == ("PodFitsResources", "PodToleratesNodeTaints")


@pytest.mark.parametrize("version", ["v1.11", "v1.16"])
def test_a_policy_cannot_leave_node_conditions_out(version: str) -> None:
    gates = {"TaintNodesByCondition": False}
    profile = policy(version, featureGates=gates, predicates=[{"name": "PodFitsResources"}])
    assert profile.filters[1:] == ("CheckNodeCondition", "PodFitsResources")


@pytest.mark.parametrize(
    "name", ["MaxCSIVolumeCount", "CheckNodeUnschedulable", "PodToleratesNodeNoExecuteTaints"]
)
def test_what_came_later_cannot_be_named(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"Predicate type not found for {name}"):
        policy(predicates=[{"name": name}])


def test_gates_of_later_versions_are_unknown() -> None:
    with pytest.raises(ConfigurationError):
        policy(featureGates={"EvenPodsSpread": True})


def test_disk_limits_of_a_node_are_not_read() -> None:
    limited = make_node("n").patched(
        {"status": {"allocatable": {"attachable-volumes-gce-pd": "0", "pods": "9", "cpu": "4"}}}
    )
    disk = {"volumes": [{"name": "d", "gcePersistentDisk": {"pdName": "d"}}]}
    assert tried(algorithm_of(limited), spec=disk).node == "n"
    later = tried(algorithm_of(limited, profile=PROFILES["v1.16"]), spec=disk)
    assert later.message == "0/1 nodes are available: 1 node(s) exceed max volume count."


def _random_node(draw: random.Random, number: int) -> Node:
    told = {kind: draw.choice(["True", "False", "Unknown"]) for kind in CONDITIONS}
    if draw.random() < 0.8:
        told = {**dict.fromkeys(CONDITIONS, "False"), "Ready": "True"}
        told["MemoryPressure"] = draw.choice(["True", "False"])
    node = make_node(
        f"n{number:03d}", cpu=draw.choice(["1", "4"]), unschedulable=draw.random() < 0.1
    )
    return conditioned(node, **told)


@pytest.mark.parametrize("seed", sample(range(8), 4))
@pytest.mark.parametrize("always", [True, False])
def test_kept_conditions_decide_like_fresh_ones(seed: int, always: bool) -> None:
    draw = random.Random(seed)
    profile = replace(PROFILES["v1.11"], checks_all=always)
    nodes = [_random_node(draw, number) for number in range(draw.choice([5, 120]))]
    full, fast = algorithm_of(*nodes, profile=profile), algorithm_of(*nodes, profile=profile)
    for number in range(80):
        pod = PodInfo(make_pod(f"p{number}", cpu=draw.choice(["", "300m"])), profile.resource_rules)
        expected, got = full.schedule(pod, explain=True), fast.schedule(pod, explain=False)
        assert (got.node, got.feasible, got.evaluated, got.message) == (
            expected.node,
            expected.feasible,
            expected.evaluated,
            expected.message,
        )
        changed = _random_node(draw, draw.randrange(len(nodes)))
        for algorithm in (full, fast):
            if got.node:
                algorithm.table.add_pod(got.row, pod.assigned_to(got.node))
            if number % 3 == 0:
                algorithm.table.add_node(changed)


def test_conditions_are_reported_in_node_order() -> None:
    """Upstream: CheckNodeConditionPredicate()."""
    gates = {"TaintNodesByCondition": False}
    node = conditioned(
        make_node("n", unschedulable=True), NetworkUnavailable="True", Ready="Unknown"
    )
    algorithm = algorithm_of(node, profile=policy("v1.16", featureGates=gates))
    result = tried(algorithm)
    assert result.search is not None
    assert algorithm.fit_errors.status_by_node(result.search)["n"].reasons == (
        "node(s) had unavailable network",
        "node(s) were not ready",
        "node(s) were unschedulable",
    )


def test_init_containers_do_not_count_for_best_effort() -> None:
    """Upstream: v1.11 GetPodQOS()."""
    init = [{"name": "i", "resources": {"requests": {"cpu": "1"}}}]
    node = conditioned(make_node("n"), MemoryPressure="True")
    assert tried(algorithm_of(node), spec={"initContainers": init}).node is None
    gates = {"TaintNodesByCondition": False}
    chosen = [{"name": "CheckNodeMemoryPressure"}]
    later = policy("v1.16", featureGates=gates, predicates=chosen)
    assert tried(algorithm_of(node, profile=later), spec={"initContainers": init}).node == "n"


@pytest.mark.parametrize(
    ("conditions", "is_tried"),
    [
        ({"OutOfDisk": "True"}, True),
        ({"MemoryPressure": "True"}, True),
        ({"DiskPressure": "True"}, True),
        ({"PIDPressure": "True"}, True),
        ({"Ready": "False"}, False),
        ({"OutOfDisk": "True", "Ready": "False"}, False),
        ({"NetworkUnavailable": "True"}, False),
    ],
)
def test_evictions_are_tried_in_vain_for_some_conditions(
    conditions: dict[str, str], is_tried: bool
) -> None:
    """Upstream: v1.11 nodesWherePreemptionMightHelp()."""
    algorithm = algorithm_of(conditioned(make_node("n"), **conditions))
    preemption = algorithm.preempt(tried(algorithm, priority=10))
    assert preemption is not None
    assert (preemption.chosen, [*preemption.statuses]) == (None, ["n"] if is_tried else [])
    assert preemption.clears is not is_tried


def placed(algorithm: SchedulingAlgorithm, name: str, node: str, **fields: Any) -> None:
    """Put a pod on a node."""
    pod = PodInfo(make_pod(name, node=node, **fields), algorithm.profile.resource_rules)
    algorithm.table.add_pod(algorithm.table.rows[node], pod)


def affinity(kind: str, *terms: tuple[str, str]) -> dict[str, Any]:
    """A spec with required terms of *kind*, by the label that must exist and the topology key."""
    required = [
        {
            "labelSelector": {"matchExpressions": [{"key": label, "operator": "Exists"}]},
            "topologyKey": key,
        }
        for label, key in terms
    ]
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


def in_two_racks(profile: Profile) -> SchedulingAlgorithm:
    """Nodes a and b in one rack, c in another; all in one zone."""
    racks = {"a": "1", "b": "1", "c": "2"}
    nodes = (
        make_node(name, labels={"rack": rack, "zone": "z", "kubernetes.io/hostname": name})
        for name, rack in racks.items()
    )
    return algorithm_of(*nodes, profile=profile)


@pytest.mark.parametrize(("version", "node"), [("v1.11", "rack-only"), ("v1.16", "mixed")])
def test_one_pod_has_to_meet_all_affinity_terms(version: str, node: str) -> None:
    """Upstream: v1.11 anyPodsMatchingTopologyTerms()."""
    domains = {"x": ("1", "1"), "y": ("2", "2"), "mixed": ("1", "2"), "rack-only": ("1", "1")}
    algorithm = algorithm_of(
        *(
            make_node(name, labels={"rack": rack, "zone": zone}, unschedulable=name in "xy")
            for name, (rack, zone) in domains.items()
        ),
        profile=PROFILES[version],
    )
    for name in "xy":
        placed(algorithm, f"on-{name}", name, labels={"web": "1"})
    terms = affinity("podAffinity", ("web", "rack"), ("web", "zone"))
    assert tried(algorithm, spec=terms).node == node


@pytest.mark.parametrize(("version", "fits"), [("v1.11", ["a", "c"]), ("v1.16", [])])
def test_two_anti_affinity_terms_must_both_be_broken(version: str, fits: list[str]) -> None:
    algorithm = in_two_racks(PROFILES[version])
    placed(algorithm, "web", "b", labels={"web": "1"})
    placed(algorithm, "both", "b", labels={"web": "1", "db": "1"})
    terms = affinity("podAntiAffinity", ("web", "kubernetes.io/hostname"), ("db", "zone"))
    result = tried(algorithm, spec=terms)
    found = [] if result.search is None else algorithm.table.names(result.search.feasible.tolist())
    assert found == fits


def test_an_emptied_node_still_counts_as_first() -> None:
    """The dry run leaves an empty list behind. Upstream: v1.11 predicateMetadata.RemovePod()."""
    chosen: list[str | None] = []
    for version in ("v1.11", "v1.16"):
        algorithm = algorithm_of(make_node("n", cpu="1"), profile=PROFILES[version])
        placed(algorithm, "low", "n", cpu="1", labels={"web": "1"})
        terms = affinity("podAffinity", ("web", "kubernetes.io/hostname"))
        algorithm.table.add_node(
            make_node("n", cpu="1", labels={"kubernetes.io/hostname": "n"}),
        )
        result = tried(algorithm, cpu="1", priority=10, labels={"web": "1"}, spec=terms)
        preemption = algorithm.preempt(result)
        assert preemption is not None
        chosen.append(preemption.chosen and preemption.chosen.node)
    assert chosen == [None, "n"]


@pytest.mark.parametrize(("version", "scores"), [("v1.11", [5, 0, 10]), ("v1.16", [10, 0, 10])])
def test_pods_of_any_service_are_spread(version: str, scores: list[int]) -> None:
    """Upstream: v1.11 CalculateSpreadPriorityMap()."""
    algorithm = algorithm_of(*map(make_node, "abc"), profile=PROFILES[version])
    for name in ("web", "db"):
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"selector": {name: "1"}},
        }
        algorithm.handle.listers.put(from_manifest(service))
    placed(algorithm, "half", "a", labels={"web": "1"})
    placed(algorithm, "whole", "b", labels={"web": "1", "db": "1"})
    placed(algorithm, "other", "b", labels={"db": "1"} if version == "v1.11" else {})
    result = tried(algorithm, labels={"web": "1", "db": "1"})
    assert result.scores is not None
    spread = next(one for one in result.scores.plugins if one.name == "SelectorSpreadPriority")
    assert spread.normalized.tolist() == scores


@pytest.mark.parametrize(
    ("mebibytes", "score"), [(22, 0), (23, 1), (500, 5), (999, 10), (1000, 10), (5000, 10)]
)
def test_images_score_by_size_alone(mebibytes: int, score: int) -> None:
    """Upstream: v1.11 ImageLocalityPriorityMap()."""
    image = {"names": ["img:v1"], "sizeBytes": mebibytes << 20}
    nodes = (make_node("a").patched({"status": {"images": [image]}}), make_node("b"))
    scoring = policy(priorities=[{"name": "ImageLocalityPriority", "weight": 1}])
    container = {"containers": [{"name": "c", "image": "img:v1"}]}
    result = tried(algorithm_of(*nodes, profile=scoring), spec=container)
    assert result.scores is not None
    assert result.scores.total.tolist() == [score, 0]


def test_cinder_volumes_can_be_counted() -> None:
    assert "MaxCinderVolumeCount" in policy(predicates=[{"name": "MaxCinderVolumeCount"}]).filters


def test_a_pod_requesting_zero_is_best_effort() -> None:
    algorithm = algorithm_of(conditioned(make_node("n"), MemoryPressure="True"))
    assert tried(algorithm, cpu="0m", memory="0Mi").node is None


def test_start_times_mean_nothing_yet() -> None:
    """Upstream: util.HigherPriorityPod(), pickOneNodeForPreemption() of v1.11."""
    algorithm = algorithm_of(make_node("a", cpu="1"), make_node("b", cpu="1"))
    rules = algorithm.profile.resource_rules
    for node, second in (("a", "01"), ("b", "09")):
        status = {"startTime": f"2026-01-01T00:00:{second}Z"}
        low = PodInfo(make_pod(f"on-{node}", node=node, cpu="1", status=status), rules)
        algorithm.table.add_pod(algorithm.table.rows[node], low)
    preemption = algorithm.preempt(tried(algorithm, cpu="1", priority=10))
    assert preemption is not None
    assert preemption.chosen is not None
    assert preemption.chosen.node == "a"


def test_every_node_is_looked_at() -> None:
    """Sampling came with 1.12. Upstream: v1.11 findNodesThatFit()."""
    algorithm = algorithm_of(*(make_node(f"n{number:03d}") for number in range(250)))
    assert (tried(algorithm).feasible, algorithm.wanted_nodes) == (250, 250)


def test_the_last_condition_of_a_type_counts() -> None:
    """Upstream: nodeinfo SetNode()."""
    node = make_node("n")
    told = [{"type": "DiskPressure", "status": status} for status in ("False", "True")]
    algorithm = algorithm_of(node.patched({"status": {"conditions": told}}))
    assert tried(algorithm, cpu="1").message == (
        "0/1 nodes are available: 1 node(s) had disk pressure."
    )


def test_equal_nodes_take_turns_by_name() -> None:
    """Upstream: v1.11 selectHost(), lastNodeIndex."""
    algorithm = SchedulingAlgorithm(PROFILES["v1.11"], Handle(), ties=Stream(0))
    for name in "abc":
        algorithm.table.add_node(make_node(name))
    for explain in (True, False):
        chosen = (tried(algorithm, explain=explain).node or "" for _ in range(4))
        # The second round goes on where the first one ended.
        assert "".join(chosen) == ("cbac" if explain else "bacb")
    algorithm.table.remove_node("a")
    algorithm.table.remove_node("b")
    assert tried(algorithm).node == "c"
    assert algorithm.handle.hosts_chosen == 8


@pytest.mark.parametrize(("gate", "message"), [(False, "bind"), (True, "unbound")])
def test_a_selected_node_counts_with_its_gate_only(gate: bool, message: str) -> None:
    """Upstream: v1.11 shouldDelayBinding()."""
    claim = {
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": "data",
            "namespace": "default",
            "annotations": {"volume.kubernetes.io/selected-node": "n"},
        },
        "spec": {"storageClassName": "late", "accessModes": ["ReadWriteOnce"]},
    }
    late = {
        "kind": "StorageClass",
        "metadata": {"name": "late"},
        "provisioner": "example.com/disk",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    gates = {"DynamicProvisioningScheduling": gate}
    algorithm = algorithm_of(make_node("n"), profile=policy(featureGates=gates))
    for raw in (claim, late):
        algorithm.handle.listers.put(from_manifest(raw))
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
    assert message in tried(algorithm, spec={"volumes": [volume]}).message

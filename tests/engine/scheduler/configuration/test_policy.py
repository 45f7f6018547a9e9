"""Policy JSON of v1.16 with its traps, and the optional predicates and priorities."""

from typing import Any

import pytest

from engine.framework.handle import Handle
from engine.framework.pods.pod_info import PodInfo
from engine.input.reading import ConfigurationError
from engine.kernel.units import SECOND
from engine.objects.objects import Pod, from_manifest
from engine.scheduler.configuration.configuration import read_setup
from engine.scheduler.configuration.profiles import PROFILES
from engine.scheduler.configuration.setup import SchedulerSetup
from engine.scheduler.cycle.algorithm import SchedulingAlgorithm
from engine.scheduler.cycle.decision.result import ScheduleResult
from tests.engine.scheduler_builders import make_node, make_pod


def _setup(**fields: Any) -> SchedulerSetup:
    return read_setup({"kind": "Policy", "apiVersion": "v1", **fields}, "v1.16")


def _algorithm(**fields: Any) -> SchedulingAlgorithm:
    return SchedulingAlgorithm(_setup(**fields).profiles[0], Handle())


def _predicates(*names: str) -> list[dict[str, Any]]:
    return [{"name": name} for name in names]


def _priority(name: str, argument: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    return [{"name": name, "weight": 1} | ({"argument": argument} if argument else {})]


def _schedule(algorithm: SchedulingAlgorithm, name: str = "p", **fields: Any) -> ScheduleResult:
    info = PodInfo(make_pod(name, **fields), algorithm.profile.resource_rules)
    return algorithm.schedule(info)


def _place(algorithm: SchedulingAlgorithm, name: str, on: str, **fields: Any) -> None:
    info = PodInfo(make_pod(name, node=on, **fields), algorithm.profile.resource_rules)
    algorithm.table.add_pod(algorithm.table.rows[on], info)


def _totals(algorithm: SchedulingAlgorithm, **fields: Any) -> list[int]:
    scores = _schedule(algorithm, **fields).scores
    assert scores is not None
    return scores.total.tolist()


def test_absent_lists_mean_the_default_provider() -> None:
    profile = _setup().profiles[0]
    assert profile.filters == PROFILES["v1.16"].filters
    assert profile.scores == PROFILES["v1.16"].scores


def test_a_list_replaces_all_but_mandatory_predicates() -> None:
    profile = _setup(predicates=_predicates("PodFitsResources"), priorities=[]).profiles[0]
    assert profile.filters == (
        "PodPassesBasicChecks",
        "CheckNodeUnschedulable",
        "PodFitsResources",
        "PodToleratesNodeTaints",
    )
    assert profile.scores == (("EqualPriority", 1),)


def test_predicates_follow_upstreams_order() -> None:
    told = [{"name": "HostName", "order": 2}, {"name": "GeneralPredicates", "order": 1}]
    setup = _setup(predicates=told)
    filters = setup.profiles[0].filters
    assert filters.index("GeneralPredicates") < filters.index("HostName")
    assert 'predicates[0].order: ignored, there is no field "order"' in setup.warnings


def test_a_legacy_name_is_accepted_and_never_asked() -> None:
    setup = _setup(predicates=_predicates("PodFitsPorts", "HostName"))
    assert "PodFitsPorts" not in setup.profiles[0].filters
    assert "HostName" in setup.profiles[0].filters
    assert any("PodFitsPorts is never asked" in warning for warning in setup.warnings)


def test_extender_timeouts_are_nanoseconds_with_caseless_keys() -> None:
    told = {"URLPrefix": "http://127.0.0.1:1/x", "FilterVerb": "f", "HTTPTIMEOUT": 100_000_000}
    extender = _setup(extenders=[told]).extenders[0]
    assert (extender.url("f"), extender.filter_verb) == ("http://127.0.0.1:1/x/f", "f")
    assert extender.timeout == SECOND // 10


def test_the_last_of_keys_in_different_case_counts() -> None:
    told = {"urlPrefix": "http://127.0.0.1:1", "prioritizeVerb": "p", "weight": 1, "WEIGHT": 5}
    assert _setup(extenders=[told]).extenders[0].weight == 5


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"predicates": _predicates("PodFitsEverything")}, "predicates[0].name"),
        ({"predicates": _predicates("CheckNodeMemoryPressure")}, "predicates[0].name"),
        ({"priorities": [{"name": "EqualPriority", "weight": 0}]}, "priorities[0].weight"),
        ({"priorities": _priority("Nothing")}, "priorities[0].name"),
        ({"predicates": _predicates("PodToleratesNodeNoExecuteTaints")}, "predicates[0].name"),
        (
            {
                "featureGates": {"TaintNodesByCondition": False},
                "predicates": _predicates("CheckNodeUnschedulable"),
            },
            "predicates[0].name",
        ),
        (
            {"priorities": _priority("my_own", {"labelPreference": {"label": "l"}})},
            "priorities[0].name",
        ),
        (
            {
                "priorities": [
                    {"name": name, "weight": 9 * 10**16}
                    for name in (
                        *("EqualPriority", "LeastRequestedPriority", "MostRequestedPriority"),
                        *("NodeAffinityPriority", "ImageLocalityPriority"),
                        *("TaintTolerationPriority", "SelectorSpreadPriority"),
                        *("InterPodAffinityPriority", "NodePreferAvoidPodsPriority"),
                        *("BalancedResourceAllocation", "ServiceSpreadingPriority"),
                    )
                ]
            },
            "priorities",
        ),
        ({"hardPodAffinitySymmetricWeight": 101}, "hardPodAffinitySymmetricWeight"),
        (
            {"extenders": [{"urlPrefix": "http://x", "httpTimeout": "5s"}]},
            "extenders[0].httpTimeout",
        ),
        (
            {"extenders": [{"urlPrefix": "http://x", "prioritizeVerb": "p"}]},
            "extenders[0].weight",
        ),
    ],
)
def test_what_is_wrong_is_reported_with_its_path(fields: dict[str, Any], path: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        _setup(**fields)
    assert caught.value.path == path


def test_a_policy_can_ask_all_predicates() -> None:
    for always, message in (
        (False, "0/1 nodes are available: 1 node(s) were unschedulable."),
        (
            True,
            "0/1 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable.",
        ),
    ):
        algorithm = _algorithm(alwaysCheckAllPredicates=always)
        algorithm.table.add_node(make_node("n", unschedulable=True))
        assert _schedule(algorithm, cpu="9").message == message


def test_without_the_gate_conditions_count() -> None:
    algorithm = _algorithm(featureGates={"TaintNodesByCondition": False})
    raw = make_node("n").raw
    conditions = [{"type": "Ready", "status": "False"}, {"type": "DiskPressure", "status": "True"}]
    node = from_manifest({**raw, "status": {**raw["status"], "conditions": conditions}})
    algorithm.table.add_node(node)  # type: ignore[arg-type]
    assert "1 node(s) were not ready" in _schedule(algorithm).message


def test_node_labels_can_be_required_or_forbidden() -> None:
    argument = {"labelsPresence": {"labels": ["retiring"], "presence": False}}
    told = [{"name": "CheckNodeLabelPresence", "argument": argument}]
    algorithm = _algorithm(predicates=told)
    algorithm.table.add_node(make_node("a", labels={"retiring": "soon"}))
    algorithm.table.add_node(make_node("b"))
    assert _schedule(algorithm).node == "b"


def test_service_affinity_keeps_zones_of_the_first_pod() -> None:
    argument = {"serviceAffinity": {"labels": ["zone"]}}
    algorithm = _algorithm(predicates=[{"name": "CheckServiceAffinity", "argument": argument}])
    for name, zone in (("a1", "a"), ("b1", "b"), ("b2", "b")):
        algorithm.table.add_node(make_node(name, labels={"zone": zone}))
    service = {"kind": "Service", "metadata": {"name": "s", "namespace": "default"}}
    algorithm.handle.listers.put(from_manifest({**service, "spec": {"selector": {"app": "x"}}}))
    _place(algorithm, "there", "b1", labels={"app": "x"})
    result = _schedule(algorithm, labels={"app": "x"})
    assert algorithm.fit_errors.status_by_node(result.search).keys() == {"a1"}  # type: ignore[arg-type]


def test_a_victim_does_not_fix_its_services_zone() -> None:
    """Upstream: RemovePod() of the metadata's serviceAffinityMetadata."""
    argument = {"serviceAffinity": {"labels": ["zone"]}}
    told = [
        *_predicates("GeneralPredicates"),
        {"name": "CheckServiceAffinity", "argument": argument},
    ]
    algorithm = _algorithm(predicates=told)
    for name, zone in (("a1", "a"), ("b1", "b")):
        algorithm.table.add_node(make_node(name, labels={"zone": zone}, pods="1"))
    service = {"kind": "Service", "metadata": {"name": "s", "namespace": "default"}}
    algorithm.handle.listers.put(from_manifest({**service, "spec": {"selector": {"app": "x"}}}))
    _place(algorithm, "first", "a1", labels={"app": "x"})
    _place(algorithm, "second", "b1", labels={"app": "x"}, priority=99)
    result = _schedule(algorithm, labels={"app": "x"}, priority=9)
    algorithm.preempt(result)
    # Without the first pod, the second says that the service is in zone b.
    assert result.preemption is not None
    assert result.preemption.candidates == []


def test_service_affinity_ignores_pods_that_are_only_nominated() -> None:
    """Upstream: AddPod() of the metadata, and GetNodeInfo("") in checkServiceAffinity()."""
    argument = {"serviceAffinity": {"labels": ["zone"]}}
    algorithm = _algorithm(predicates=[{"name": "CheckServiceAffinity", "argument": argument}])
    algorithm.table.add_node(make_node("a1", labels={"zone": "a"}))
    service = {"kind": "Service", "metadata": {"name": "s", "namespace": "default"}}
    algorithm.handle.listers.put(from_manifest({**service, "spec": {"selector": {"app": "x"}}}))
    first = PodInfo(make_pod("first", labels={"app": "x"}), algorithm.profile.resource_rules)
    algorithm.nominated.add("a1", first)
    result = _schedule(algorithm, labels={"app": "x"})
    assert (result.result, result.message) == ("error", 'node "" not found')
    assert _schedule(algorithm, labels={"app": "x"}, priority=1).node == "a1"


def test_an_empty_service_selector_matches_no_pod() -> None:
    """As in the API server's store, which knows no difference to a selector that is absent."""
    argument = {"serviceAffinity": {"labels": ["zone"]}}
    algorithm = _algorithm(predicates=[{"name": "CheckServiceAffinity", "argument": argument}])
    for name in ("a", "b"):
        algorithm.table.add_node(make_node(name, labels={"zone": name}))
    service = {"kind": "Service", "metadata": {"name": "s", "namespace": "default"}}
    algorithm.handle.listers.put(from_manifest({**service, "spec": {"selector": {}}}))
    _place(algorithm, "there", "a", labels={"app": "x"})
    assert _schedule(algorithm, labels={"app": "x"}).feasible == 2


def test_in_tree_volumes_count_against_the_limit() -> None:
    algorithm = _algorithm(predicates=_predicates("MaxCinderVolumeCount"))
    raw = make_node("n").raw
    allocatable = {**raw["status"]["allocatable"], "attachable-volumes-cinder": "1"}
    algorithm.table.add_node(from_manifest({**raw, "status": {"allocatable": allocatable}}))  # type: ignore[arg-type]
    volumes = [{"name": "d", "cinder": {"volumeID": "one"}}]
    _place(algorithm, "there", "n", spec={"volumes": volumes})
    assert _schedule(algorithm, spec={"volumes": volumes}).node == "n"
    other = [{"name": "d", "cinder": {"volumeID": "two"}}]
    refused = _schedule(algorithm, spec={"volumes": other})
    assert refused.message == "0/1 nodes are available: 1 node(s) exceed max volume count."


def test_a_custom_priority_scores_node_labels() -> None:
    told = _priority("Fast", {"labelPreference": {"label": "ssd", "presence": True}})
    algorithm = _algorithm(priorities=told)
    algorithm.table.add_node(make_node("a"))
    algorithm.table.add_node(make_node("b", labels={"ssd": ""}))
    result = _schedule(algorithm)
    assert result.node == "b"
    assert result.scores is not None
    assert [one.name for one in result.scores.plugins] == ["Fast"]


def test_the_capacity_ratio_averages_cpu_and_memory() -> None:
    shape = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
    told = _priority("Ratio", {"requestedToCapacityRatioArguments": {"shape": shape}})
    algorithm = _algorithm(priorities=told)
    algorithm.table.add_node(make_node("half", cpu="2", memory="2Gi"))
    algorithm.table.add_node(make_node("tenth", cpu="10", memory="10Gi"))
    assert _totals(algorithm, cpu="1", memory="1Gi") == [5, 1]


def test_the_capacity_ratio_mean_leaves_out_zero_scores() -> None:
    shape = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
    told = _priority("Ratio", {"requestedToCapacityRatioArguments": {"shape": shape}})
    for version, expected in (("v1.16", 5), ("v1.11", 2)):
        document = {"kind": "Policy", "apiVersion": "v1", "priorities": told}
        algorithm = SchedulingAlgorithm(read_setup(document, version).profiles[0], Handle())
        algorithm.table.add_node(make_node("n", cpu="2", memory="1000Gi"))
        assert _totals(algorithm, cpu="1", memory="1Gi") == [expected]


def test_the_capacity_ratio_can_use_other_resources() -> None:
    shape = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
    gpu = "example.com/gpu"
    resources = [{"name": gpu, "weight": 3}, {"name": "cpu"}]
    argument = {"requestedToCapacityRatioArguments": {"shape": shape, "resources": resources}}
    algorithm = _algorithm(priorities=_priority("Ratio", argument))
    raw = make_node("n", cpu="10").raw
    allocatable = {**raw["status"]["allocatable"], gpu: "4"}
    algorithm.table.add_node(from_manifest({**raw, "status": {"allocatable": allocatable}}))  # type: ignore[arg-type]
    container = {"name": "m", "resources": {"requests": {"cpu": "2", gpu: "2"}}}
    # Half of the gpus thrice, a fifth of the cpu: (5 * 3 + 2) / 4, rounded.
    assert _totals(algorithm, spec={"containers": [container]}) == [4]


def test_no_node_has_a_resource_without_a_name() -> None:
    shape = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
    argument = {"requestedToCapacityRatioArguments": {"shape": shape, "resources": [{}]}}
    algorithm = _algorithm(priorities=_priority("Ratio", argument))
    algorithm.table.add_node(make_node("n"))
    assert _totals(algorithm, cpu="1") == [10]


def test_the_default_capacity_ratio_prefers_empty_nodes() -> None:
    algorithm = _algorithm(priorities=_priority("RequestedToCapacityRatioPriority"))
    algorithm.table.add_node(make_node("half", cpu="2", memory="2Gi"))
    algorithm.table.add_node(make_node("tenth", cpu="10", memory="10Gi"))
    assert _totals(algorithm, cpu="1", memory="1Gi") == [5, 9]


@pytest.mark.parametrize("name", ["ServiceSpreadingPriority", "SelectorSpreadPriority"])
def test_service_spreading_uses_every_matching_service(name: str) -> None:
    algorithm = _algorithm(priorities=_priority(name))
    for node in ("a", "b"):
        algorithm.table.add_node(make_node(node))
    selector = {"matchLabels": {"app": "x"}}
    manifest = {"kind": "ReplicaSet", "metadata": {"name": "r", "namespace": "default"}}
    algorithm.handle.listers.put(from_manifest({**manifest, "spec": {"selector": selector}}))
    _place(algorithm, "there", "a", labels={"app": "x"})
    assert _totals(algorithm, labels={"app": "x"}) == [0, 10]


def test_a_pod_without_labels_is_not_spread() -> None:
    algorithm = _algorithm(priorities=_priority("SelectorSpreadPriority"))
    for node in ("a", "b"):
        algorithm.table.add_node(make_node(node))
    selector = {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}
    manifest = {"kind": "ReplicaSet", "metadata": {"name": "r", "namespace": "default"}}
    algorithm.handle.listers.put(from_manifest({**manifest, "spec": {"selector": selector}}))
    _place(algorithm, "there", "a", labels={"tier": "web"})
    assert _totals(algorithm) == [10, 10]
    assert _totals(algorithm, labels={"tier": "db"}) == [0, 10]


def test_even_spreading_counts_the_pods_of_every_namespace() -> None:
    gates = {"EvenPodsSpread": True}
    algorithm = _algorithm(featureGates=gates, priorities=_priority("EvenPodsSpreadPriority"))
    for node in ("a", "b"):
        algorithm.table.add_node(make_node(node, labels={"rack": node}))
    raw = make_pod("there", node="a", labels={"app": "x"}).raw
    metadata = {
        **raw["metadata"],
        "namespace": "other",
        "deletionTimestamp": "2026-01-01T00:00:00Z",
    }
    other = from_manifest({**raw, "metadata": metadata})
    algorithm.table.add_pod(0, PodInfo(other, algorithm.profile.resource_rules))  # type: ignore[arg-type]
    constraint = {
        "maxSkew": 1,
        "topologyKey": "rack",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": "x"}},
    }
    assert _totals(algorithm, spec={"topologySpreadConstraints": [constraint]}) == [0, 10]


_AVOIDS_U = '{"podSignature": {"podController": {"kind": "ReplicaSet", "uid": "u"}}}'


@pytest.mark.parametrize(
    "text",
    [
        *("null", "[]", "7", '{"preferAvoidPods": [7]}', "{"),
        f'{{"preferAvoidPods": [{_AVOIDS_U}, 7]}}',
    ],
)
def test_an_annotation_that_cannot_be_read_avoids_nobody(text: str) -> None:
    assert _totals_beside(text) == [10]


def test_annotation_keys_are_read_in_any_case() -> None:
    """Upstream: encoding/json."""
    text = '{"PreferAvoidPods": [{"podsignature": {"PODCONTROLLER": '
    assert _totals_beside(text + '{"Kind": "ReplicaSet", "UID": "u"}}}]}') == [0]


def _totals_beside(text: str) -> list[int]:
    """The total of a node with that annotation, for a pod of ReplicaSet u."""
    algorithm = _algorithm(priorities=_priority("NodePreferAvoidPodsPriority"))
    raw = make_node("n").raw
    annotations = {"scheduler.alpha.kubernetes.io/preferAvoidPods": text}
    metadata = {**raw["metadata"], "annotations": annotations}
    algorithm.table.add_node(from_manifest({**raw, "metadata": metadata}))  # type: ignore[arg-type]
    pod = make_pod("p").raw
    owner = {"kind": "ReplicaSet", "name": "r", "uid": "u", "controller": True}
    owned = from_manifest({**pod, "metadata": {**pod["metadata"], "ownerReferences": [owner]}})
    scores = algorithm.schedule(PodInfo(owned, algorithm.profile.resource_rules)).scores  # type: ignore[arg-type]
    assert scores is not None
    return scores.total.tolist()


def test_service_anti_affinity_prefers_the_emptier_domain() -> None:
    algorithm = _algorithm(priorities=_priority("Anti", {"serviceAntiAffinity": {"label": "rack"}}))
    for name, labels in (("a", {"rack": "1"}), ("b", {"rack": "2"}), ("c", {})):
        algorithm.table.add_node(make_node(name, labels=labels))
    service = {"kind": "Service", "metadata": {"name": "s", "namespace": "default"}}
    algorithm.handle.listers.put(from_manifest({**service, "spec": {"selector": {"app": "x"}}}))
    for number, on in enumerate("aab"):
        _place(algorithm, f"p{number}", on, labels={"app": "x"})
    # int(10 * (3 - 2) / 3), int(10 * (3 - 1) / 3), and nothing without the label.
    assert _totals(algorithm, labels={"app": "x"}) == [3, 6, 0]


def test_limits_that_fit_are_worth_a_point() -> None:
    gates = {"ResourceLimitsPriorityFunction": True}
    algorithm = _algorithm(featureGates=gates, priorities=_priority("ResourceLimitsPriority"))
    algorithm.table.add_node(make_node("small", cpu="1", memory="1Gi"))
    algorithm.table.add_node(make_node("big", cpu="8", memory="1Gi"))
    container = {"name": "m", "resources": {"limits": {"cpu": "4", "memory": "4Gi"}}}
    assert _totals(algorithm, spec={"containers": [container]}) == [0, 1]


def test_the_cluster_autoscaler_fills_nodes_up() -> None:
    told = {
        "apiVersion": "kubescheduler.config.k8s.io/v1alpha1",
        "kind": "KubeSchedulerConfiguration",
        "algorithmSource": {"provider": "ClusterAutoscalerProvider"},
        "disablePreemption": True,
    }
    profile = read_setup(told, "v1.16").profiles[0]
    assert ("MostRequestedPriority", 1) in profile.scores
    assert "LeastRequestedPriority" not in dict(profile.scores)
    assert not profile.preempts


def test_a_custom_priority_can_repeat_with_another_weight() -> None:
    told = _priority("Fast", {"labelPreference": {"label": "ssd", "presence": True}})
    profile = _setup(priorities=[*told, {"name": "Fast", "weight": 5}]).profiles[0]
    assert profile.scores == (("Fast", 5),)
    assert profile.kinds["Fast"] == "NodeLabelPriority"


def test_a_custom_priority_can_reuse_a_registered_name() -> None:
    """Upstream: RegisterCustomPriorityFunction() puts it in the other's place."""
    shape = [{"utilization": 0, "score": 7}, {"utilization": 100, "score": 3}]
    ratio = {"requestedToCapacityRatioArguments": {"shape": shape}}
    algorithm = _algorithm(priorities=_priority("InterPodAffinityPriority", ratio))
    algorithm.table.add_node(make_node("a"))
    algorithm.table.add_node(make_node("b"))
    assert _totals(algorithm, cpu="1", memory="2Gi") == [6, 6]
    label = {"labelPreference": {"label": "ssd", "presence": True}}
    algorithm = _algorithm(priorities=_priority("NodeAffinityPriority", label))
    algorithm.table.add_node(make_node("a", labels={"ssd": "yes"}))
    algorithm.table.add_node(make_node("b"))
    expression = {"key": "size", "operator": "Gt", "values": ["many"]}
    preference = {"weight": 1, "preference": {"matchExpressions": [expression]}}
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [preference]}}
    # What a pod's own affinity says is read by nobody.
    assert _totals(algorithm, spec={"affinity": affinity}) == [10, 0]


@pytest.mark.parametrize(("told", "weight"), [({}, 7), ({"hardPodAffinitySymmetricWeight": 3}, 3)])
def test_a_policy_inherits_the_symmetric_weight(told: dict[str, Any], weight: int) -> None:
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1alpha1",
        "kind": "KubeSchedulerConfiguration",
        "algorithmSource": {"policy": told},
        "hardPodAffinitySymmetricWeight": 7,
    }
    arguments = read_setup(document, "v1.16").profiles[0].arguments
    assert arguments["InterPodAffinityPriority"] == {"hardPodAffinitySymmetricWeight": weight}


def test_a_symmetric_weight_of_zero_is_the_default() -> None:
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1alpha1",
        "kind": "KubeSchedulerConfiguration",
        "hardPodAffinitySymmetricWeight": 0,
    }
    arguments = read_setup(document, "v1.16").profiles[0].arguments
    assert arguments["InterPodAffinityPriority"] == {"hardPodAffinitySymmetricWeight": 1}


def test_extenders_that_may_fail_are_asked_last() -> None:
    extenders = [{"urlPrefix": "http://a", "ignorable": True}, {"urlPrefix": "http://b"}]
    assert [one.url_prefix for one in _setup(extenders=extenders).extenders] == [
        "http://b",
        "http://a",
    ]


def _spread(when: str) -> dict[str, Any]:
    constraint = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": when,
        "labelSelector": {"matchLabels": {"app": "x"}},
    }
    return {"topologySpreadConstraints": [constraint]}


def _even() -> SchedulingAlgorithm:
    return _algorithm(
        featureGates={"EvenPodsSpread": True},
        predicates=_predicates("EvenPodsSpread"),
        priorities=_priority("EvenPodsSpreadPriority"),
    )


def test_even_spread_passes_all_nodes_without_the_label() -> None:
    """Upstream: EvenPodsSpreadPredicate(), an empty tpPairToMatchNum."""
    algorithm = _even()
    algorithm.table.add_node(make_node("bare"))
    fields: dict[str, Any] = {"labels": {"app": "x"}, "spec": _spread("DoNotSchedule")}
    assert _schedule(algorithm, **fields).node == "bare"
    algorithm.table.add_node(make_node("a", labels={"zone": "a"}))
    assert _schedule(algorithm, **fields).node == "a"
    info = PodInfo(make_pod("p", **fields), algorithm.profile.resource_rules)
    assert algorithm.schedule(info, explain=False).feasible == 1


def test_even_spread_counts_nominated_pods_on_unselected_nodes() -> None:
    """Upstream: podSpreadCache.updatePod(), which looks at the node's labels only."""
    algorithm = _even()
    for name, disk in (("a", "ssd"), ("b", "none")):
        algorithm.table.add_node(make_node(name, labels={"zone": name, "disk": disk}))
    for number in range(2):
        _place(algorithm, f"there-{number}", "a", labels={"app": "x"})
    for number in range(4):
        first = make_pod(f"first-{number}", labels={"app": "x"})
        algorithm.nominated.add("b", PodInfo(first, algorithm.profile.resource_rules))
    spec = {**_spread("DoNotSchedule"), "nodeSelector": {"disk": "ssd"}}
    result = _schedule(algorithm, labels={"app": "x"}, spec=spec)
    assert result.search is not None
    assert algorithm.fit_errors.status_by_node(result.search).keys() == {"b"}


def test_even_spread_counts_terminating_pods_of_all_namespaces() -> None:
    algorithm = _even()
    for name in "ab":
        algorithm.table.add_node(make_node(name, labels={"zone": name}))
    going = make_pod("going", node="a", labels={"app": "x"})
    going = going.patched({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})
    algorithm.table.add_pod(0, PodInfo(going, algorithm.profile.resource_rules))
    hard = {"labels": {"app": "x"}, "spec": _spread("DoNotSchedule")}
    assert _schedule(algorithm, **hard).feasible == 1
    for number in range(3):
        raw = make_pod(f"e{number}", node="b", labels={"app": "x"}).raw
        elsewhere = Pod({**raw, "metadata": {**raw["metadata"], "namespace": "other"}})
        algorithm.table.add_pod(1, PodInfo(elsewhere, algorithm.profile.resource_rules))
    # int(10 * (4 - 1) / (4 - 1)), int(10 * (4 - 3) / 3).
    assert _totals(algorithm, spec=_spread("ScheduleAnyway")) == [10, 3]

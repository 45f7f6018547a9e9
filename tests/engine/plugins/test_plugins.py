"""Rules of single plugins that are easy to get wrong."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from engine.cluster.cluster import Cluster
from engine.framework.handle import Handle
from engine.framework.pods.pod_info import PodInfo
from engine.objects.objects import Node, Pod, from_manifest
from engine.scheduler.configuration.profiles import PROFILES
from engine.scheduler.cycle.algorithm import SchedulingAlgorithm
from tests.builders import node, played, pod, scene
from tests.engine.scheduler_builders import make_node, make_pod

ZONE = "topology.kubernetes.io/zone"


def _cluster(profile: str = "v1.34") -> SchedulingAlgorithm:
    return SchedulingAlgorithm(PROFILES[profile], Handle())


def _info(algorithm: SchedulingAlgorithm, name: str, **fields: Any) -> PodInfo:
    return PodInfo(make_pod(name, **fields), algorithm.profile.resource_rules)


def _reasons(algorithm: SchedulingAlgorithm, pod: PodInfo) -> dict[str, tuple[str, ...]]:
    search = algorithm.schedule(pod).search
    assert search is not None
    return {
        node: status.reasons for node, status in algorithm.fit_errors.status_by_node(search).items()
    }


def _scores(algorithm: SchedulingAlgorithm, pod: PodInfo, plugin: str) -> dict[str, int]:
    scores = algorithm.schedule(pod).scores
    assert scores is not None
    column = next(one.normalized for one in scores.plugins if one.name == plugin)
    return {
        algorithm.table.name(row): score
        for row, score in zip(scores.rows.tolist(), column.tolist(), strict=True)
    }


def test_the_first_untolerated_taint_is_named() -> None:
    algorithm = _cluster()
    taints = [
        {"key": "a", "value": "1", "effect": "NoSchedule"},
        {"key": "b", "effect": "NoExecute"},
    ]
    algorithm.table.add_node(make_node("n", taints=taints))
    tolerations = [{"key": "a", "operator": "Exists"}]
    pod = _info(algorithm, "p", spec={"tolerations": tolerations})
    assert _reasons(algorithm, pod) == {"n": ("node(s) had untolerated taint {b: }",)}


def test_cordoned_node_takes_pods_that_tolerate_the_cordon() -> None:
    algorithm = _cluster()
    algorithm.table.add_node(make_node("n", unschedulable=True))
    tolerations = [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]
    pod = _info(algorithm, "p", spec={"tolerations": tolerations})
    assert algorithm.schedule(pod).node == "n"


def test_empty_node_selector_term_matches_nothing() -> None:
    algorithm = _cluster()
    algorithm.table.add_node(make_node("n"))
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{}]}
        }
    }
    pod = _info(algorithm, "p", spec={"affinity": affinity})
    reasons = ("node(s) didn't match Pod's node affinity/selector",)
    assert _reasons(algorithm, pod) == {"n": reasons}


_WHAT_IS_NO_NUMBER = {"matchExpressions": [{"key": "gen", "operator": "Gt", "values": ["abc"]}]}


def test_what_is_no_number_is_required_in_vain() -> None:
    """The API server does not look at it. Upstream: LazyErrorNodeSelector."""
    algorithm = _cluster()
    algorithm.table.add_node(make_node("n", labels={"gen": "5"}))
    terms = {"nodeSelectorTerms": [_WHAT_IS_NO_NUMBER]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    pod = _info(algorithm, "p", spec={"affinity": affinity})
    reasons = ("node(s) didn't match Pod's node affinity/selector",)
    assert _reasons(algorithm, pod) == {"n": reasons}


@pytest.mark.parametrize("explain", [True, False])
@pytest.mark.parametrize(
    ("profile", "message"),
    [
        (
            "v1.34",
            'running PreScore plugin "NodeAffinity": [1].matchExpressions[0].values[0]: '
            "Invalid value: \"abc\": for 'Gt', 'Lt' operators, the value must be an integer",
        ),
        ("v1.16", "for 'Gt', 'Lt' operators, the value must be an integer"),
    ],
)
def test_preferring_what_is_no_number_is_an_error(
    profile: str, message: str, explain: bool
) -> None:
    algorithm = _cluster(profile)
    algorithm.table.add_node(make_node("a"))
    preferred = [
        {"weight": 1, "preference": {"matchExpressions": [{"key": "x", "operator": "Exists"}]}},
        {"weight": 2, "preference": _WHAT_IS_NO_NUMBER},
    ]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    pod = _info(algorithm, "p", spec={"affinity": affinity})
    assert algorithm.schedule(pod, explain=explain).node == "a"
    algorithm.table.add_node(make_node("b"))
    result = algorithm.schedule(pod, explain=explain)
    assert (result.result, result.message) == ("error", message)


def test_any_address_conflicts_with_every_address() -> None:
    algorithm = _cluster()
    algorithm.table.add_node(make_node("n"))

    def with_port(name: str, ip: str, **fields: Any) -> PodInfo:
        port = {"containerPort": 80, "hostPort": 80, "hostIP": ip}
        containers = [{"name": "c", "ports": [port]}]
        return _info(algorithm, name, spec={"containers": containers}, **fields)

    algorithm.table.add_pod(0, with_port("a", "10.0.0.1", node="n"))
    assert algorithm.schedule(with_port("b", "10.0.0.2")).node == "n"
    assert algorithm.schedule(with_port("c", "0.0.0.0")).node is None
    assert algorithm.schedule(with_port("d", "10.0.0.1")).node is None


def test_1_16_compares_resources_that_are_not_asked_for() -> None:
    verdicts: dict[str, tuple[str, ...]] = {}
    for profile in ("v1.34", "v1.16"):
        algorithm = _cluster(profile)
        algorithm.table.add_node(make_node("n", cpu="1"))
        algorithm.table.add_pod(0, _info(algorithm, "big", node="n", cpu="2"))
        pod = _info(algorithm, "p", memory="1Mi")
        verdicts[profile] = _reasons(algorithm, pod).get("n", ())
    assert verdicts == {"v1.34": (), "v1.16": ("Insufficient cpu",)}


def test_balanced_allocation_skips_pods_without_requests() -> None:
    algorithm = _cluster()
    algorithm.table.add_node(make_node("n"))
    scores = algorithm.schedule(_info(algorithm, "p")).scores
    assert scores is not None
    assert "NodeResourcesBalancedAllocation" not in [one.name for one in scores.plugins]


def test_least_allocated_counts_defaults_for_containers_without_requests() -> None:
    algorithm = _cluster()
    algorithm.table.add_node(make_node("n", cpu="1", memory="2000Mi"))
    # (1000 - 100) * 100 / 1000 = 90 and (2000 - 200) * 100 / 2000 = 90
    assert _scores(algorithm, _info(algorithm, "p"), "NodeResourcesFit") == {"n": 90}


def test_the_fit_score_overlooks_pod_level_requests() -> None:
    algorithm = _cluster()
    algorithm.table.add_node(make_node("n", cpu="4", memory="8000Mi"))
    pod = _info(algorithm, "p", spec={"resources": {"requests": {"cpu": "4", "memory": "80Mi"}}})
    # (4000 - 100) * 100 / 4000 = 97 and (8000 - 200) * 100 / 8000 = 97
    assert _scores(algorithm, pod, "NodeResourcesFit") == {"n": 97}
    # 100% of the cpu and 1% of the memory: 100 - (100 - 1) / 2
    assert _scores(algorithm, pod, "NodeResourcesBalancedAllocation") == {"n": 50}


def test_image_has_the_size_its_last_node_reports() -> None:
    """Upstream: cache.go UpdateNode() takes its images out before they go in anew."""
    algorithm = _cluster()
    for name, size in (("first", 2000), ("last", 511)):
        images = [{"names": ["app:latest"], "sizeBytes": size << 20}]
        algorithm.table.add_node(make_node(name, images=images))
    algorithm.table.remove_node("first")
    pod = _info(algorithm, "p", spec={"containers": [{"name": "c", "image": "app"}]})
    assert _scores(algorithm, pod, "ImageLocality") == {"last": 100}
    algorithm.table.add_node(algorithm.table.node(algorithm.table.rows["last"]))
    # (511 - 23) / (1000 - 23) of 100
    assert _scores(algorithm, pod, "ImageLocality") == {"last": 49}


def test_images_match_literally_except_the_latest_tag() -> None:
    algorithm = _cluster()
    images = [{"names": ["app:latest"], "sizeBytes": 2000 * 1024 * 1024}]
    algorithm.table.add_node(make_node("with", images=images))
    algorithm.table.add_node(make_node("without"))
    pod = _info(algorithm, "p", spec={"containers": [{"name": "c", "image": "app"}]})
    assert _scores(algorithm, pod, "ImageLocality") == {"with": 100, "without": 0}
    other = _info(algorithm, "q", spec={"containers": [{"name": "c", "image": "docker.io/app"}]})
    assert _scores(algorithm, other, "ImageLocality") == {"with": 0, "without": 0}


def test_node_counts_image_holders_as_of_its_change() -> None:
    algorithm = _cluster()
    table = algorithm.table
    images = [{"names": ["app:latest"], "sizeBytes": 1000 * 1024 * 1024}]
    for name in ("a", "b"):
        table.add_node(make_node(name, images=images))
    pod = _info(algorithm, "p", spec={"containers": [{"name": "c", "image": "app"}]})
    assert _scores(algorithm, pod, "ImageLocality") == {"a": 100, "b": 100}
    table.add_node(make_node("c", images=images))
    # Two of three held it when a and b were copied: (1000 * 2/3 - 23) / (1000 - 23)
    assert _scores(algorithm, pod, "ImageLocality") == {"a": 65, "b": 65, "c": 100}
    table.images.note_change(table.rows["a"])
    assert _scores(algorithm, pod, "ImageLocality") == {"a": 100, "b": 65, "c": 100}
    table.update_node(table.rows["b"], make_node("b", images=images))
    assert _scores(algorithm, pod, "ImageLocality") == {"a": 100, "b": 100, "c": 100}


def test_changed_pod_status_alone_copies_its_node() -> None:
    scheduler = played(Cluster.create(scene(node("a"), pod("p", nodeName="a"))), 5).scheduler
    cache, table = scheduler.cache, scheduler.handle.table
    images = [{"names": ["app:latest"], "sizeBytes": 1000}]
    for name in ("a", "b"):
        cache.add_node(make_node(name, images=images))
        table.images.take_snapshot()
    counted = table.images.states["app:latest"].rows
    assert [counted[table.rows[name]] for name in ("a", "b")] == [1, 2]
    (state,) = cache.pods()
    newer = state.info.pod.patched({"status": {"message": "newer"}})
    assert isinstance(newer, Pod)
    cache.update_pod(state.info, PodInfo(newer, cache.resource_rules))
    table.images.take_snapshot()
    assert [counted[table.rows[name]] for name in ("a", "b")] == [2, 2]


def test_v1_20_node_counts_image_holders_as_last_reported() -> None:
    algorithm = _cluster("v1.20")
    table = algorithm.table
    images = [{"names": ["app:latest"], "sizeBytes": 1000 * 1024 * 1024}]
    for name in ("a", "b"):
        table.add_node(make_node(name, images=images))
    pod = _info(algorithm, "p", spec={"containers": [{"name": "c", "image": "app"}]})
    assert _scores(algorithm, pod, "ImageLocality") == {"a": 48, "b": 100}
    table.update_node(table.rows["a"], make_node("a", images=images))
    assert _scores(algorithm, pod, "ImageLocality") == {"a": 100, "b": 100}


def test_image_volumes_do_not_count_yet() -> None:
    """Since v1.36 they do: kubernetes#130231."""
    algorithm = _cluster()
    images = [{"names": ["data:latest"], "sizeBytes": 2000 * 1024 * 1024}]
    algorithm.table.add_node(make_node("with", images=images))
    algorithm.table.add_node(make_node("without"))
    volume = {"name": "v", "image": {"reference": "data"}}
    pod = _info(algorithm, "p", spec={"volumes": [volume]})
    assert _scores(algorithm, pod, "ImageLocality") == {"with": 0, "without": 0}


def _scored_by(resources: list[str], plugin: str, **requests: str) -> dict[str, int]:
    """What *plugin* gives to two nodes, told to look at *resources*: "b" has twice of everything."""
    specs = [{"name": name, "weight": 1} for name in resources]
    told = {"resources": specs, "scoringStrategy": {"resources": specs}}
    profile = replace(PROFILES["v1.34"], arguments={plugin: told})
    algorithm = SchedulingAlgorithm(profile, Handle())
    for name, size in (("a", 1), ("b", 2)):
        node = make_node(name, cpu=str(4 * size), memory=f"{size}Gi")
        more = {"hugepages-2Mi": f"{64 * size}Mi", "storage": f"{size}Gi"}
        algorithm.table.add_node(Node(node.patched({"status": {"allocatable": more}}).raw))
    container = {"name": "c", "resources": {"requests": requests}}
    return _scores(algorithm, _info(algorithm, "p", spec={"containers": [container]}), plugin)


def test_scores_skip_huge_pages_that_pods_never_request() -> None:
    for plugin in ("NodeResourcesFit", "NodeResourcesBalancedAllocation"):
        plain = _scored_by(["cpu"], plugin, cpu="1")
        assert _scored_by(["cpu", "hugepages-2Mi"], plugin, cpu="1") == plain
    asked = _scored_by(["hugepages-2Mi"], "NodeResourcesFit", **{"hugepages-2Mi": "32Mi"})
    assert asked == {"a": 50, "b": 75}


def test_scores_pass_over_what_no_node_counts() -> None:
    plain = _scored_by(["cpu"], "NodeResourcesFit", cpu="1")
    assert _scored_by(["cpu", "storage", "pods"], "NodeResourcesFit", cpu="1") == plain


def test_only_extended_resources_can_be_ignored() -> None:
    names = {"name": "c", "resources": {"requests": {"kubernetes.io/x": "1", "a.b/y": "1"}}}
    ignored = {"ignoredResources": ["kubernetes.io/x", "a.b/y"]}
    profile = replace(PROFILES["v1.34"], arguments={"NodeResourcesFit": ignored})
    algorithm = SchedulingAlgorithm(profile, Handle())
    algorithm.table.add_node(make_node("n"))
    pod = _info(algorithm, "p", spec={"containers": [names]})
    assert _reasons(algorithm, pod) == {"n": ("Insufficient kubernetes.io/x",)}


def _anti_affinity(app: str) -> dict[str, Any]:
    term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": app}}}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return {"affinity": {"podAntiAffinity": required}}


def test_anti_affinity_of_placed_pods_is_symmetrical() -> None:
    algorithm = _cluster()
    for name, zone in (("n1", "a"), ("n2", "a"), ("n3", "b")):
        algorithm.table.add_node(make_node(name, labels={ZONE: zone}))
    guard = _info(algorithm, "guard", node="n1", spec=_anti_affinity("web"))
    algorithm.table.add_pod(0, guard)
    pod = _info(algorithm, "p", labels={"app": "web"})
    assert algorithm.schedule(pod).node == "n3"
    reasons = ("node(s) didn't satisfy existing pods anti-affinity rules",)
    verdicts = algorithm.schedule(pod).search
    assert verdicts is not None
    assert verdicts.verdicts.fits.tolist() == [False, False, True]
    plugin, code = (int(column[0]) for column in (verdicts.verdicts.plugin, verdicts.verdicts.code))
    assert algorithm.framework.explain(verdicts.state, plugin, code).reasons == reasons


def test_only_v1_34_asks_first_pods_for_the_label() -> None:
    nodes: dict[str, str | None] = {}
    term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "x"}}}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    for profile in ("v1.34", "v1.16"):
        algorithm = _cluster(profile)
        algorithm.table.add_node(make_node("bare"))
        pod = _info(algorithm, "p", labels={"app": "x"}, spec={"affinity": affinity})
        nodes[profile] = algorithm.schedule(pod).node
    assert nodes == {"v1.34": None, "v1.16": "bare"}


def _spread(when: str, **fields: Any) -> dict[str, Any]:
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": when,
        "labelSelector": {"matchLabels": {"app": "x"}},
        **fields,
    }
    return {"topologySpreadConstraints": [constraint]}


def test_spreading_ignores_pods_that_are_being_deleted() -> None:
    algorithm = _cluster()
    for name, zone in (("n1", "a"), ("n2", "b")):
        algorithm.table.add_node(make_node(name, labels={ZONE: zone}))
    going = make_pod("going", node="n1", labels={"app": "x"})
    going = going.patched({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})
    algorithm.table.add_pod(0, PodInfo(going, algorithm.profile.resource_rules))
    pod = _info(algorithm, "p", labels={"app": "x"}, spec=_spread("DoNotSchedule"))
    assert algorithm.schedule(pod).feasible == 2


def test_too_few_domains_make_the_minimum_zero() -> None:
    algorithm = _cluster()
    algorithm.table.add_node(make_node("n1", labels={ZONE: "a"}))
    algorithm.table.add_pod(0, _info(algorithm, "old", node="n1", labels={"app": "x"}))
    plain = _info(algorithm, "p", labels={"app": "x"}, spec=_spread("DoNotSchedule"))
    assert algorithm.schedule(plain).node == "n1"
    wide = _spread("DoNotSchedule", minDomains=2)
    pod = _info(algorithm, "q", labels={"app": "x"}, spec=wide)
    assert _reasons(algorithm, pod) == {
        "n1": ("node(s) didn't match pod topology spread constraints",)
    }


def test_attach_limit_counts_unbound_claims_by_their_provisioner() -> None:
    algorithm = _cluster()
    listers = algorithm.handle.listers
    algorithm.table.add_node(make_node("n"))
    driver = {"name": "csi.example.com", "allocatable": {"count": 1}}
    listers.put(
        from_manifest({"kind": "CSINode", "metadata": {"name": "n"}, "spec": {"drivers": [driver]}})
    )
    listers.put(
        from_manifest(
            {
                "kind": "StorageClass",
                "metadata": {"name": "net"},
                "provisioner": "csi.example.com",
                "volumeBindingMode": "WaitForFirstConsumer",
            }
        )
    )
    for name in ("one", "two"):
        listers.put(
            from_manifest(
                {
                    "kind": "PersistentVolumeClaim",
                    "metadata": {"name": name, "namespace": "default"},
                    "spec": {"storageClassName": "net", "accessModes": ["ReadWriteOnce"]},
                }
            )
        )
    volumes = [
        {"name": name, "persistentVolumeClaim": {"claimName": name}} for name in ("one", "two")
    ]
    pod = _info(algorithm, "p", spec={"volumes": volumes})
    assert _reasons(algorithm, pod) == {"n": ("node(s) exceed max volume count",)}


def test_counters_follow_pods_and_labels() -> None:
    algorithm = _cluster()
    table = algorithm.table
    for name, zone in (("n1", "a"), ("n2", "b")):
        table.add_node(make_node(name, labels={ZONE: zone}))
    pod = _info(algorithm, "p", labels={"app": "x"}, spec=_spread("ScheduleAnyway"))
    algorithm.schedule(pod)
    table.add_pod(0, _info(algorithm, "one", node="n1", labels={"app": "x"}))
    assert algorithm.schedule(pod).node == "n2"
    table.add_node(make_node("n1", labels={ZONE: "b"}))
    table.add_node(make_node("n2", labels={ZONE: "a"}))
    assert algorithm.schedule(pod).node == "n2"
    table.remove_pod(0, "default/one")
    scores = algorithm.schedule(pod).scores
    assert scores is not None
    assert np.unique(scores.total).size == 1


def _namespace(name: str, **labels: str) -> dict[str, Any]:
    metadata = {"name": name, "labels": labels}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def test_not_in_namespace_selector_selects_all_in_v1_34() -> None:
    """Upstream: kubernetes#141526; the selector that was put in is asked again, about no labels."""
    selector = {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["a"]}]}
    term = {
        "topologyKey": ZONE,
        "labelSelector": {"matchLabels": {"app": "x"}},
        "namespaceSelector": selector,
    }
    weighted = {"weight": 1, "podAffinityTerm": term}
    avoided = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}
    algorithm = _cluster()
    algorithm.handle.listers.put(from_manifest(_namespace("default", team="a")))
    for name in "ab":
        algorithm.table.add_node(make_node(name, labels={ZONE: name}))
    algorithm.table.add_pod(0, _info(algorithm, "old", node="a", labels={"app": "x"}))
    hates = _info(algorithm, "p", spec={"affinity": {"podAntiAffinity": avoided}})
    assert _reasons(algorithm, hates) == {"a": ("node(s) didn't match pod anti-affinity rules",)}
    likes = _info(algorithm, "q", spec={"affinity": {"podAffinity": preferred}})
    assert _scores(algorithm, likes, "InterPodAffinity") == {"a": 100, "b": 0}


def test_nominated_anti_affinity_counted_before_plugins_were_skipped() -> None:
    """In v1.34 a plugin that had nothing to refuse is left out for the nominated pods, too."""
    nodes: dict[str, str | None] = {}
    for profile in ("v1.34", "v1.20", "v1.16"):
        algorithm = _cluster(profile)
        algorithm.table.add_node(make_node("n", labels={ZONE: "a"}))
        boss = _info(algorithm, "boss", priority=10, spec=_anti_affinity("web"))
        algorithm.nominated.add("n", boss)
        pod = _info(algorithm, "p", labels={"app": "web"})
        nodes[profile] = algorithm.schedule(pod).node
        assert algorithm.schedule(pod, explain=False).node == nodes[profile]
    assert nodes == {"v1.34": "n", "v1.20": None, "v1.16": None}


def test_empty_spreading_selector_counts_nobody_since_1_27() -> None:
    nodes: dict[str, str | None] = {}
    for profile in ("v1.34", "v1.20"):
        algorithm = _cluster(profile)
        algorithm.table.add_node(make_node("a", labels={ZONE: "a"}))
        algorithm.table.add_node(make_node("b", labels={ZONE: "b"}, unschedulable=True))
        algorithm.table.add_pod(0, _info(algorithm, "old", node="a"))
        pod = _info(algorithm, "p", spec=_spread("DoNotSchedule", labelSelector={}))
        nodes[profile] = algorithm.schedule(pod).node
    assert nodes == {"v1.34": "a", "v1.20": None}


def test_fields_unknown_to_a_version_are_skipped() -> None:
    anyone = {"namespaceSelector": {}, "matchLabelKeys": ["app"]}
    affinity = _anti_affinity("web")
    (term,) = affinity["affinity"]["podAntiAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]
    spec = affinity | _spread("DoNotSchedule", minDomains=3, nodeTaintsPolicy="Honor")
    term |= anyone
    algorithm = _cluster("v1.20")
    info = _info(algorithm, "p", labels={"app": "web"}, spec=spec)
    (parsed,) = info.affinity.required_anti
    assert parsed.namespaces == {"default"}
    assert parsed.namespace_selector is None
    (constraint,) = algorithm.handle.templates.of(info).spread
    assert (constraint.min_domains, constraint.honors_taints) == (1, False)


_NO_LABEL = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or "
    "'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


@pytest.mark.parametrize(
    ("profile", "before"),
    [
        (
            "v1.34",
            'running PreScore plugin "NodeAffinity": [0].matchExpressions[0].values[0][gen]: '
            'Invalid value: "-1": ',
        ),
        (
            "v1.20",
            'running Score plugins: plugin "NodeAffinity" failed with: '
            'invalid label value: "-1": at key: "gen": ',
        ),
        ("v1.16", 'invalid label value: "-1": at key: "gen": '),
    ],
)
def test_preferring_what_is_no_label_is_an_error(profile: str, before: str) -> None:
    """Upstream: labels.NewRequirement(), which also checks the values of Gt and Lt."""
    algorithm = _cluster(profile)
    for name in ("a", "b"):
        algorithm.table.add_node(make_node(name))
    requirement = {"key": "gen", "operator": "Gt", "values": ["-1"]}
    preferred = [{"weight": 1, "preference": {"matchExpressions": [requirement]}}]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    result = algorithm.schedule(_info(algorithm, "p", spec={"affinity": affinity}))
    assert (result.result, result.message) == ("error", before + _NO_LABEL)


@pytest.mark.parametrize("explain", [True, False])
def test_required_values_with_an_invalid_label_match_nothing(explain: bool) -> None:
    algorithm = _cluster()
    algorithm.table.add_node(make_node("n", labels={"gen": "5"}))
    requirement = {"key": "gen", "operator": "In", "values": ["5", "no/label"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    pod = _info(algorithm, "p", spec={"affinity": affinity})
    assert algorithm.schedule(pod, explain=explain).node is None


def test_claim_failing_the_attempt_is_the_named_fault() -> None:
    algorithm = _cluster("v1.16")
    algorithm.table.add_node(make_node("n"))
    claim = {"metadata": {"name": "c", "namespace": "default"}, "spec": {"volumeName": "gone"}}
    claim["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    algorithm.handle.listers.put(from_manifest({"kind": "PersistentVolumeClaim", **claim}))
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    result = algorithm.schedule(_info(algorithm, "p", spec={"volumes": volumes}))
    assert result.search is not None
    ((row, plugin, code),) = result.search.verdicts.each()
    detail = algorithm.framework.detail(result.search.state, row, plugin, code)
    assert detail.text == result.message == 'could not find v1.PersistentVolume "gone"'

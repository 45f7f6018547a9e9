"""Why a pod has no node, and what would give it one: every kind of change in a small cluster."""

import json
from typing import Any

import pytest

from engine.cluster.checks.cluster_checks import cluster_findings
from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.diagnosis import Diagnosis, Fix, diagnose, trials
from engine.diagnosis.report import named
from engine.diagnosis.world import World
from engine.framework.explaining.manifests import REQUIRED
from engine.kernel.units import MINUTE, SECOND
from engine.objects.objects import Pod
from tests.builders import (
    Manifest,
    claim,
    node,
    node_of,
    played,
    pod,
    reachable_from,
    scene,
    storage_class,
    user_of,
    volume,
)

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
ALL_PROFILES = ("v1.34", "v1.20", "v1.16", "v1.11")


def _cluster(*objects: Manifest, profile: str = "v1.34", seconds: int = 20, **more: Any) -> Cluster:
    return played(Cluster.create(scene(*objects, **more), profile=profile), seconds)


def _diagnosed(*objects: Manifest, **fields: Any) -> Diagnosis:
    """The diagnosis of pod p; every change it offers has been carried out in a real fork."""
    cluster = _cluster(*objects, **fields)
    found = diagnose(cluster, "default/p")
    _every_fix_works(cluster, found)
    return found


def _every_fix_works(cluster: Cluster, found: Diagnosis) -> None:
    cluster.take()
    blob = cluster.checkpoint()
    for fix in found.fixes:
        fork = Cluster.restore(blob)
        for command in fix.commands:
            assert fork.apply(Command.from_dict(command)).applied, fix
        fork.advance(fork.now + 6 * MINUTE)
        assert node_of(fork, found.pod.removeprefix("default/")) == fix.node, fix


def _fix(found: Diagnosis, kind: str) -> Fix:
    return next(fix for fix in found.fixes if fix.kind == kind)


def _kinds(found: Diagnosis) -> list[str]:
    return [fix.kind for fix in found.fixes]


def _tainted(name: str, key: str, value: str = "", **fields: Any) -> Manifest:
    taint = {"key": key, "value": value, "effect": "NoSchedule"}
    return {**node(name, **fields), "spec": {"taints": [taint]}}


def _volume(name: str, class_name: str, size: str, key: str = "", value: str = "") -> Manifest:
    reach = {"nodeAffinity": reachable_from(key, value)} if key else {}
    return volume(name, class_name, size, hostPath={"path": "/x"}, **reach)


def _labelled(manifest: Manifest, **labels: str) -> Manifest:
    return {**manifest, "metadata": {**manifest["metadata"], "labels": labels}}


# -- what is said --------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ALL_PROFILES)
def test_the_closest_node_is_named_with_its_margin(profile: str) -> None:
    found = _diagnosed(
        node("far", cpu="1"), node("near", cpu="1800m"), pod("p", cpu="2"), profile=profile
    )
    check = found.check
    assert check is not None
    assert found.sentence.startswith(
        "Fits none of 2 nodes; closest is near: cpu 200m short. Even an"
    )
    assert (check.node, check.unit) == ("near", "cpu")
    assert (check.requested, check.free, check.short) == (2000, 1800, 200)


def test_causes_name_their_nodes_and_come_by_severity() -> None:
    found = _diagnosed(
        *(node(f"n{number}", cpu="1") for number in range(1, 5)),
        _tainted("gpu", "gpu", cpu="1"),
        pod("p", cpu="2"),
    )
    blocks, narrows = found.causes[:2]
    assert blocks.severity == "blocks"
    assert blocks.plugin == "NodeResourcesFit"
    assert blocks.sentence == "Nodes gpu, n1–n4: cpu 1 short (asks 2, 1 free)."
    assert (narrows.severity, narrows.nodes) == ("narrows", ("gpu",))
    assert blocks.only == ("n1", "n2", "n3", "n4")
    assert found.causes[-1] == narrows


def test_names_are_grouped_but_never_only_counted() -> None:
    assert named(["b", "n10", "n2", "n1", "n3", "n11"]) == "b, n1–n3, n10, n11"
    assert named([f"x{n}" for n in range(0, 40, 2)], most=2) == "x0, x2 and 18 more"


def test_the_report_is_json() -> None:
    found = _diagnosed(node("n", cpu="1"), pod("p", cpu="2"))
    told = json.loads(json.dumps(found.to_dict()))
    assert told["fixes"][0]["command"]["verb"] == "patch"
    assert told["causes"][0]["where"] == "n"
    assert "1. Ask for 1 cpu instead of 2" in found.text()


def test_the_closest_of_many_nodes_is_found() -> None:
    nodes = [node(f"n{number}", cpu="1") for number in range(600)]
    nodes[421] = node("n421", cpu="1900m")
    found = _diagnosed(*nodes, pod("p", cpu="2"))
    assert found.sentence.startswith(
        "Fits none of 600 nodes; closest is n421: cpu 100m short. Even"
    )
    assert len(found.causes[0].nodes) == 600
    assert found.causes[0].to_dict()["where"] == "n0–n599"
    assert found.fixes[0].text.startswith("Ask for 1900m cpu instead of 2: it is bound to n421 at ")


def test_large_clusters_repeat_the_decision_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(trials, "_FORKED_OBJECTS", 0)
    monkeypatch.setattr(trials, "_FEWEST_FORKS", 1)
    found = _diagnosed(node("n", cpu="1", labels={"disk": "x"}), pod("p", cpu="2"))
    assert [(fix.kind, fix.shown, fix.at is None) for fix in found.fixes] == [
        ("requests", "fork", False),
        ("node", "decision", True),
    ]
    assert found.fixes[1].text.endswith(", but with 2 cpu: it fits n-more then.")


def test_change_that_cannot_be_followed_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "_WORK", 600)
    found = _diagnosed(node("n", cpu="1"), pod("p", cpu="2"))
    assert found.fixes == ()
    assert found.conclusion.endswith("could not be followed to the end.")


# -- where a pod stands --------------------------------------------------------------------------


def test_pod_that_is_not_there_is_reported_apart() -> None:
    assert _diagnosed(node("n")).state == "absent"


def test_a_pod_with_a_node_needs_nothing() -> None:
    found = _diagnosed(node("n"), pod("p"))
    assert (found.state, found.sentence) == ("placed", "It has its node, n.")
    assert found.fixes == ()


def test_pod_on_its_way_out_is_nobodys_business() -> None:
    held = pod("p", cpu="9")
    held["metadata"]["finalizers"] = ["kscope.dev/hold"]
    found = _diagnosed(node("n"), held, steps=[(5, "delete", {"object": "pod/default/p"})])
    assert found.state == "deleting"


def test_pod_of_an_unknown_scheduler_gets_a_known() -> None:
    found = _diagnosed(node("n"), pod("p", schedulerName="other"))
    assert found.state == "unminded"
    assert found.sentence == ("No scheduler has the name other; the cluster has default-scheduler.")
    assert _kinds(found) == ["scheduler"]


def test_a_dead_scheduler_is_started() -> None:
    dead = (1, "stop_scheduler", {"object": "scheduler/default-scheduler"})
    late = (2, "create", {"manifest": pod("p")})
    found = _diagnosed(node("n"), steps=[dead, late])
    assert found.state == "leaderless"
    assert _fix(found, "scheduler").command == {
        "verb": "start_scheduler",
        "object": "scheduler/default-scheduler",
    }


def test_fitting_pod_in_backoff_only_has_to_wait() -> None:
    late = (2, "create", {"manifest": node("n")})
    found = _diagnosed(pod("p"), steps=[late], seconds=3)
    assert found.state == "backoff"
    assert found.sentence.startswith("It fits n and is tried again after its backoff, at ")
    assert found.outlook is not None
    assert found.outlook.node == "n"
    assert (found.fixes, found.conclusion) == ((), "Nothing has to be done.")


def test_fitting_pod_names_those_tried_before_it() -> None:
    first, second = pod("first", cpu="1", priority=10), pod("second", cpu="1", priority=5)
    cluster = Cluster.create(scene(node("n", cpu="1"), first, second, pod("p", cpu="1")))
    while cluster.scheduler.queue.get("default/p") is None:
        cluster.advance(SECOND, max_steps=1)
    found = diagnose(cluster, "default/p")
    assert found.sentence == "It fits n and waits for its turn."
    said = "2 pods are tried before it, and may take its room: default/first, default/second."
    assert [cause.sentence for cause in found.causes] == [said]
    assert found.outlook is not None
    assert found.outlook.node == ""


@pytest.mark.parametrize("profile", ALL_PROFILES)
def test_a_nominated_pod_waits_for_its_victims(profile: str) -> None:
    late = (2, "create", {"manifest": pod("p", cpu="4", priority=10)})
    found = _diagnosed(node("n"), pod("old", cpu="4"), steps=[late], seconds=3, profile=profile)
    assert found.sentence == "Waits for old to leave n; 29 s of grace are left."
    assert found.outlook is not None
    assert found.outlook.node == "n"
    assert found.fixes == ()


def test_room_kept_for_a_nominated_pod_names_it() -> None:
    steps = [(2, "create", {"manifest": pod("boss", cpu="4", priority=10)})]
    cluster = _cluster(node("n"), pod("old", cpu="3"), steps=steps, seconds=2)
    cluster.advance(cluster.now + SECOND // 2)
    cluster.apply(Command(verb="create", manifest=pod("p", cpu="1", priority=1)))
    cluster.advance(cluster.now + SECOND // 4)
    found = diagnose(cluster, "default/p")
    assert found.causes[0].sentence == "Node n: room is kept for default/boss, nominated to it."
    _every_fix_works(cluster, found)


def test_kept_room_is_reported_beside_other_refusals() -> None:
    steps = [(2, "create", {"manifest": pod("boss", cpu="4", priority=10)})]
    cluster = _cluster(node("n"), pod("old", cpu="3"), steps=steps, seconds=2)
    cluster.advance(cluster.now + SECOND // 2)
    affinity = {"podAffinity": {REQUIRED: [{"topologyKey": "rack", "labelSelector": {}}]}}
    waits = pod("p", cpu="1", priority=1, affinity=affinity)
    cluster.apply(Command(verb="create", manifest=waits))
    cluster.advance(cluster.now + SECOND // 4)
    told = [attempt for attempt in cluster.take().attempts if attempt.pod == "default/p"]
    assert told[0].evidence is not None
    verdict = told[0].evidence["verdicts"]["n"]
    assert verdict["failing"] == ["NodeResourcesFit", "InterPodAffinity"]
    found = diagnose(cluster, "default/p")
    blocking = {cause.plugin: cause for cause in found.causes if cause.severity == "blocks"}
    assert sorted(blocking) == ["InterPodAffinity", "NodeResourcesFit"]
    assert all(cause.only == () for cause in blocking.values())


@pytest.mark.parametrize("profile", ALL_PROFILES)
def test_overfull_node_lacks_more_than_one_place(profile: str) -> None:
    shrinks = {"status": {"allocatable": {"pods": "1"}}}
    steps = [
        (2, "patch", {"object": "node/n", "patch": shrinks}),
        (4, "create", {"manifest": pod("p")}),
    ]
    there = [pod(name, nodeName="n") for name in ("a", "b", "c")]
    check = _diagnosed(node("n"), *there, steps=steps, profile=profile).check
    assert check is not None
    assert (check.text, check.unit) == ("3 of 1 pods", "pods")
    assert (check.requested, check.free, check.short) == (1, -2, 3)


def test_extenders_are_not_asked_about_mere_trials() -> None:
    extender = {"urlPrefix": "http://127.0.0.1:9/", "filterVerb": "filter"}
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": [extender],
    }
    found = _diagnosed(node("n"), pod("p"), configuration=configuration)
    assert found.fixes == ()
    assert found.conclusion.startswith("Extenders are not asked")


# -- changes of the pod --------------------------------------------------------------------------


def test_the_smallest_reduction_that_works_is_offered() -> None:
    found = _diagnosed(node("far", cpu="1"), node("near", cpu="1800m"), pod("p", cpu="2"))
    fix = _fix(found, "requests")
    assert fix.text.startswith("Ask for 1800m cpu instead of 2: it is bound to near at ")
    assert (fix.node, fix.shown) == ("near", "fork")


@pytest.mark.parametrize("profile", ALL_PROFILES)
def test_requests_are_lowered_where_they_are_made(profile: str) -> None:
    small = {"name": "small", "resources": {"requests": {"cpu": "500m"}}}
    large = {"name": "large", "resources": {"requests": {"cpu": "2"}}}
    init = {"name": "init", "resources": {"requests": {"cpu": "3"}}}
    spec = {"containers": [small, large], "initContainers": [init]}
    found = _diagnosed(node("n", cpu="2"), {**pod("p"), "spec": spec}, profile=profile)
    changed = _fix(found, "requests").command["patch"]["spec"]
    requests = [each["resources"]["requests"]["cpu"] for each in changed["containers"]]
    assert requests == ["500m", "1500m"]
    assert changed["initContainers"][0]["resources"]["requests"]["cpu"] == "2000m"


def test_nothing_less_than_nothing_is_asked_for() -> None:
    found = _diagnosed(node("n", cpu="1"), pod("old", cpu="1"), pod("p", cpu="1"))
    assert "requests" not in _kinds(found)


@pytest.mark.parametrize("profile", ALL_PROFILES)
def test_a_toleration_is_offered_for_a_taint(profile: str) -> None:
    found = _diagnosed(_tainted("n", "gpu", "yes"), pod("p"), profile=profile)
    assert _fix(found, "toleration").text.startswith("Tolerate gpu=yes:NoSchedule: ")
    assert _fix(found, "taint").text.startswith("Remove the taint gpu=yes:NoSchedule from n: ")


def test_a_gate_is_removed() -> None:
    found = _diagnosed(node("n"), pod("p", schedulingGates=[{"name": "quota"}]))
    assert found.state == "gated"
    assert found.sentence == "Held back: waiting for scheduling gates: [quota]."
    assert _kinds(found) == ["gate"]


def test_gated_pod_that_cannot_fit_needs_two_changes() -> None:
    found = _diagnosed(node("n"), pod("p", cpu="9", schedulingGates=[{"name": "quota"}]))
    assert [cause.plugin for cause in found.causes[:2]] == ["SchedulingGates", "NodeResourcesFit"]
    (fix,) = found.fixes
    assert fix.kind == "pair"
    assert fix.text.startswith(
        "Remove the scheduling gate quota, and ask for 4 cpu instead of 9: it is bound to n at "
    )
    assert fix.note.startswith("These two together; neither is enough alone. ")
    assert [command["verb"] for command in fix.commands] == ["patch", "patch"]
    assert dict(found.tried)["gate"] == 1
    assert dict(found.tried)["pair"] > 0


def test_a_selector_takes_the_value_that_nodes_have() -> None:
    found = _diagnosed(
        node("n", labels={"disk": "hdd"}), pod("p", nodeSelector={"disk": "ssd", "os": "x"})
    )
    assert _kinds(found) == ["pair"]
    found = _diagnosed(node("n", labels={"disk": "hdd"}), pod("p", nodeSelector={"disk": "ssd"}))
    fix = _fix(found, "selector")
    assert fix.text.startswith("Select disk=hdd instead of disk=ssd: ")
    assert fix.note == "The pod is deleted and created anew."


def test_a_requirement_of_node_affinity_is_widened() -> None:
    expression = {"key": ZONE, "operator": "In", "values": ["a", "b"]}
    required = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    found = _diagnosed(node("n", labels={ZONE: "c"}), pod("p", affinity=affinity))
    assert _kinds(found) == ["selector", "node"] or _kinds(found) == ["selector"]
    assert _fix(found, "selector").text.startswith(
        f"Let the node affinity accept {ZONE} In a, b, c: "
    )


def test_spread_constraint_is_relaxed_by_the_least_skew() -> None:
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    web = _labelled(pod("p", cpu="1", topologySpreadConstraints=[constraint]), app="web")
    running = [
        {**_labelled(pod(f"web-{n}"), app="web"), "spec": {**pod("x")["spec"], "nodeName": "a"}}
        for n in range(2)
    ]
    found = _diagnosed(
        node("a", labels={ZONE: "a"}), node("b", cpu="500m", labels={ZONE: "b"}), *running, web
    )
    assert _fix(found, "spread").text.startswith(f"Allow a skew of 3 instead of 1 over {ZONE}: ")


@pytest.mark.parametrize("profile", ALL_PROFILES)
def test_anti_affinity_is_weakened_or_its_pod_goes(profile: str) -> None:
    term = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": HOSTNAME}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    found = _diagnosed(
        node("n", labels={HOSTNAME: "n"}),
        _labelled(pod("other"), app="db"),
        _labelled(pod("p", affinity=affinity), app="db"),
        profile=profile,
        steps=[(0, "patch", {"object": "node/n", "patch": {}})],
    )
    assert _fix(found, "affinity").text.startswith(
        f"Prefer the pod anti-affinity over {HOSTNAME}, do not require it: "
    )
    assert _fix(found, "pod").text.startswith("Delete the pod default/other on n: ")
    assert _fix(found, "node").node == "n-more"


@pytest.mark.parametrize("profile", ALL_PROFILES)
def test_lowest_priority_class_that_evicts_others_is_offered(profile: str) -> None:
    classes = [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
        }
        for name, value in (("low", 5), ("high", 100), ("middle", 50))
    ]
    found = _diagnosed(
        node("n", cpu="1"), *classes, pod("old", priorityClassName="low"), pod("p"), profile=profile
    )
    fix = _fix(found, "priority")
    assert fix.text.startswith("Give it the priority class middle (50), so that it evicts others: ")


@pytest.mark.parametrize("profile", ALL_PROFILES)
def test_change_with_evictions_needs_no_second_one(profile: str) -> None:
    found = _diagnosed(
        _tainted("n", "dedicated", cpu="1"),
        pod("old", nodeName="n"),
        pod("p", priority=10),
        profile=profile,
    )
    assert _kinds(found)[0] == "toleration"
    assert found.fixes[0].then is None
    assert found.fixes[0].note.endswith(" It then evicts pods of lower priority.")


def test_a_pod_that_never_preempts_may_be_let() -> None:
    found = _diagnosed(
        node("n", cpu="1"),
        pod("old"),
        steps=[
            (5, "create", {"manifest": pod("p", priority=9, preemptionPolicy="Never")}),
        ],
    )
    assert _fix(found, "priority").text.startswith("Let it evict pods of lower priority ")


def test_workload_is_mended_in_its_template_too() -> None:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": pod("x", cpu="9")["spec"]}
    web = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
    }
    cluster = _cluster(node("n"), web)
    (made,) = cluster.store.objects("Pod")
    found = diagnose(cluster, made.key)
    _every_fix_works(cluster, found)
    assert _fix(found, "requests").note == (
        "Less is reserved for it: measure first what it uses. "
        "The template of ReplicaSet web stays as it is: change it there for good."
    )


def _full_of(owned: bool) -> Diagnosis:
    """A pod that no node has room for, beside one of equal priority."""
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": pod("x", cpu="4")["spec"]}
    web = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
    }
    there = web if owned else pod("web", cpu="4")
    late = (5, "create", {"manifest": pod("p", cpu="4", priority=0)})
    return _diagnosed(node("n", cpu="4"), there, steps=[late])


def test_room_is_added_before_a_workload_shrinks() -> None:
    kinds = _kinds(_full_of(owned=True))
    assert "node" in kinds
    assert "pod" not in kinds[: kinds.index("node")]


def test_lone_pod_may_go_before_room_is_added() -> None:
    found = _full_of(owned=False)
    kinds = _kinds(found)
    assert kinds.index("pod") < kinds.index("node")
    note = "Its work ends: no workload creates that pod again."
    assert _fix(found, "pod").note.startswith(note)


# -- changes of nodes ----------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ALL_PROFILES)
def test_a_cordoned_node_is_uncordoned(profile: str) -> None:
    found = _diagnosed(
        node("n"), pod("p"), profile=profile, steps=[(0, "cordon", {"object": "node/n"})]
    )
    assert _kinds(found)[0] == "uncordon"
    assert found.fixes[0].command == {"verb": "uncordon", "object": "node/n"}


@pytest.mark.parametrize("profile", ALL_PROFILES)
def test_a_node_is_labelled(profile: str) -> None:
    found = _diagnosed(node("n"), pod("p", nodeSelector={"disk": "ssd"}), profile=profile)
    assert _kinds(found)[0] == "label"
    assert found.fixes[0].text.startswith("Label n disk=ssd: ")


def test_label_that_the_schedulers_configuration_wants_is_given() -> None:
    expression = {"key": "pool", "operator": "In", "values": ["a"]}
    required = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    added = {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    profile = {
        "schedulerName": "default-scheduler",
        "pluginConfig": [{"name": "NodeAffinity", "args": added}],
    }
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile],
    }
    found = _diagnosed(node("n"), pod("p"), configuration=configuration)
    assert _kinds(found) == ["label"]
    assert found.fixes[0].text.startswith("Label n pool=a: ")


def test_policy_that_checks_everything_shows_its_predicates() -> None:
    names = ("PodFitsResources", "PodToleratesNodeTaints")
    policy = {
        "kind": "Policy",
        "apiVersion": "v1",
        "alwaysCheckAllPredicates": True,
        "predicates": [{"name": name} for name in names],
        "priorities": [{"name": "LeastRequestedPriority", "weight": 1}],
    }
    found = _diagnosed(
        node("n", cpu="1"),
        _tainted("m", "gpu"),
        pod("p", cpu="2"),
        profile="v1.16",
        configuration=policy,
    )
    assert [cause.plugin for cause in found.causes[:2]] == list(names)
    assert _kinds(found) == ["toleration", "taint", "requests", "node"]


def test_scheduler_that_waits_for_its_lease_is_running() -> None:
    found = _diagnosed(
        node("n"),
        schedulers=({"name": "default-scheduler", "replicas": 2},),
        steps=[
            (1, "stop_scheduler", {"object": "scheduler/default-scheduler-0"}),
            (2, "create", {"manifest": pod("p")}),
        ],
        seconds=3,
    )
    assert found.state == "leaderless"
    waits = "No scheduler leads: default-scheduler-1 waits for the Lease and takes it at "
    assert found.sentence.startswith(waits)
    assert [cause.severity for cause in found.causes] == ["delays"]


def test_standby_takes_over_before_a_change_can_help() -> None:
    found = _diagnosed(
        node("n"),
        schedulers=({"name": "default-scheduler", "replicas": 2},),
        steps=[
            (1, "stop_scheduler", {"object": "scheduler/default-scheduler-0"}),
            (2, "create", {"manifest": pod("p", cpu="5")}),
        ],
        seconds=3,
    )
    assert found.state == "leaderless"
    assert _kinds(found) == ["requests", "node"]
    assert all(fix.at is not None and fix.at > 15 * SECOND for fix in found.fixes)


def test_facts_about_a_machine_are_not_relabelled() -> None:
    found = _diagnosed(node("n", labels={ZONE: "a"}), pod("p", nodeSelector={ZONE: "b"}))
    assert "label" not in _kinds(found)


def test_a_node_without_its_zone_label_gets_one() -> None:
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    web = _labelled(pod("p", topologySpreadConstraints=[constraint]), app="web")
    found = _diagnosed(node("full", cpu="0", labels={ZONE: "a"}), node("free"), web)
    assert _fix(found, "label").text.startswith(f"Label free {ZONE}=a: ")


@pytest.mark.parametrize("profile", ["v1.34", "v1.20", "v1.16"])
def test_a_dead_node_is_brought_back(profile: str) -> None:
    dead = node("n")
    dead["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    late = (5, "create", {"manifest": pod("p")})
    found = _diagnosed(dead, steps=[late], profile=profile)
    assert _kinds(found)[0] == "ready"
    assert "toleration" not in _kinds(found)


def test_one_more_node_like_a_full_one_helps() -> None:
    found = _diagnosed(node("n", cpu="1"), pod("old", cpu="1"), pod("p", cpu="1"))
    assert _fix(found, "node").text.startswith("Add one more node like n: it is bound to n-more ")
    assert _fix(found, "pod").text.startswith("Delete the pod default/old on n: ")


def test_pod_larger_than_every_node_needs_larger() -> None:
    found = _diagnosed(node("n"), pod("p", cpu="8"))
    assert _fix(found, "node").text.startswith("Add one more node like n, but with 8 cpu: ")


def test_a_new_node_may_differ_in_one_respect() -> None:
    found = _diagnosed(node("n", cpu="1"), pod("old"), pod("p", nodeSelector={"disk": "ssd"}))
    assert _kinds(found) == ["node"]
    assert found.fixes[0].text.startswith("Add one more node like n, but with disk=ssd: ")
    found = _diagnosed(_tainted("n", "gpu", cpu="1"), pod("p", cpu="1500m"))
    assert _kinds(found) == ["pair"]
    found = _diagnosed(
        _tainted("n", "gpu"), pod("old", cpu="4", tolerations=[{"operator": "Exists"}]), pod("p")
    )
    assert found.fixes[-1].text.startswith("Add one more node like n, but without gpu:NoSchedule: ")


def test_an_empty_cluster_needs_a_node() -> None:
    found = _diagnosed(pod("p", cpu="1"))
    assert _kinds(found) == ["node"]
    assert found.fixes[0].text.startswith("Add a node with at least 1 cpu and 0 memory: ")


@pytest.mark.parametrize("profile", ALL_PROFILES)
def test_two_changes_come_only_where_no_single_helps(profile: str) -> None:
    found = _diagnosed(
        _tainted("n", "gpu", labels={"disk": "hdd"}), pod("p", cpu="5"), profile=profile
    )
    (fix,) = found.fixes
    assert (fix.kind, fix.node, fix.shown) == ("pair", "n", "fork")
    assert fix.text.startswith("Tolerate gpu:NoSchedule, and ask for 4 cpu instead of 5: ")
    assert fix.then is not None
    told = json.loads(json.dumps(found.to_dict()))["fixes"][0]
    assert (told["kind"], told["then"]) == ("pair", fix.then)
    assert "neither is enough alone" in found.text()


def test_the_smallest_two_changes_are_offered() -> None:
    found = _diagnosed(
        node("n", labels={"disk": "hdd"}), pod("p", nodeSelector={"a": "1", "b": "2"})
    )
    (fix,) = found.fixes
    assert fix.text.startswith("Label n a=1, and label n b=2: it is bound to n at ")


def test_two_resources_may_be_asked_less_of() -> None:
    both = {"requests": {"cpu": "6", "memory": "12Gi"}}
    spec = {"containers": [{"name": "main", "image": "app", "resources": both}]}
    found = _diagnosed(node("n"), {**pod("p"), "spec": spec})
    assert _kinds(found) == ["node"] or _fix(found, "pair").text.count("instead of") == 2


def test_a_claim_and_a_label_are_missing_together() -> None:
    found = _diagnosed(
        node("n"),
        user_of("data", "p", nodeSelector={"disk": "ssd"}),
        storage_class("fast", "csi.example.com"),
    )
    (fix,) = found.fixes
    assert fix.text.startswith("Create the claim default/data")
    assert ", and label n disk=ssd: " in fix.text


def test_two_changes_that_others_profit_from_are_withheld() -> None:
    """The fork is what counts: another pod, more important, waits for the same room."""
    rival = pod("rival", cpu="4", priority=10, tolerations=[{"operator": "Exists"}])
    found = _diagnosed(
        _tainted("n", "gpu", cpu="3"),
        rival,
        pod("p", cpu="5", preemptionPolicy="Never"),
        steps=[(0, "patch", {"object": "node/n", "patch": {}})],
    )
    for fix in found.fixes:
        assert fix.shown == "fork"


def test_no_pair_is_offered_where_one_is_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # As if that one had been too far down among its like to be tried alone.
    monkeypatch.setattr(trials, "_MOST_DECIDED", 0)
    cordoned = {**node("near", cpu="1"), "spec": {"unschedulable": True}}
    found = _diagnosed(cordoned, _tainted("far", "gpu"), pod("p", cpu="2"))
    assert [(fix.kind, fix.node) for fix in found.fixes] == [("toleration", "far")]


def test_pairs_on_large_clusters_are_only_decided(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(trials, "_FORKED_OBJECTS", 0)
    monkeypatch.setattr(trials, "_FEWEST_FORKS", 0)
    found = _diagnosed(_tainted("n", "gpu"), pod("p", cpu="5"))
    (fix,) = found.fixes
    assert (fix.kind, fix.shown, fix.at) == ("pair", "decision", None)
    assert fix.text.endswith(": it fits n then.")


def test_three_changes_count_as_neither_one_nor_two() -> None:
    found = _diagnosed(
        _tainted("n", "gpu", labels={"disk": "hdd"}), pod("p", cpu="9", nodeSelector={"disk": "x"})
    )
    assert found.fixes == ()
    assert found.conclusion.startswith("None of these gives it a node, each tried alone: ")


def test_place_is_gone_when_another_pod_is_first() -> None:
    found = _diagnosed(
        node("n", cpu="1"),
        pod("running", cpu="1"),
        pod("earlier", cpu="1"),
        pod("p", cpu="1"),
    )
    assert found.fixes == ()
    assert found.conclusion == (
        "None of these gives it a node, each tried alone: 1 pod deleted, 1 node added. "
        "Where there was room, default/earlier took it first."
    )


# -- changes of storage --------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ALL_PROFILES)
def test_a_missing_claim_is_created(profile: str) -> None:
    fast = storage_class("fast", "csi.example.com", mode="Immediate")
    found = _diagnosed(node("n"), fast, user_of("data", "p"), profile=profile)
    assert found.causes[0].sentence == "Claim default/data does not exist."
    assert _fix(found, "claim").text.startswith(
        "Create the claim default/data, 1Gi of class fast: it is bound to n at "
    )


def test_a_missing_class_is_created_like_another() -> None:
    found = _diagnosed(
        node("n"),
        storage_class("slow", "csi.example.com"),
        claim("data", "fast"),
        user_of("data", "p"),
    )
    assert found.sentence == "Claim default/data wants class fast, which does not exist."
    assert _fix(found, "class").text.startswith("Create the class fast, like slow: ")


def test_a_claim_without_a_class_is_given_one() -> None:
    wanted = claim("data", "")
    del wanted["spec"]["storageClassName"]
    found = _diagnosed(
        node("n"), storage_class("slow", "csi.example.com"), wanted, user_of("data", "p")
    )
    assert _fix(found, "class").text.startswith("Give the claim default/data the class slow: ")


@pytest.mark.parametrize("profile", ALL_PROFILES)
def test_a_local_volume_is_added_on_a_node(profile: str) -> None:
    found = _diagnosed(
        node("n", labels={HOSTNAME: "n"}),
        storage_class("local"),
        claim("data", "local", "5Gi"),
        _volume("small", "local", "1Gi", HOSTNAME, "n"),
        user_of("data", "p"),
        profile=profile,
    )
    assert _fix(found, "volume").text.startswith(
        "Add a volume of 5Gi of class local on n: it is bound to n at "
    )


def test_a_volume_is_added_in_a_zone() -> None:
    found = _diagnosed(
        node("n", labels={ZONE: "a"}),
        storage_class("zonal"),
        claim("data", "zonal", "5Gi"),
        _volume("other", "zonal", "5Gi", ZONE, "b"),
        user_of("data", "p"),
    )
    assert _fix(found, "volume").text.startswith("Add a volume of 5Gi of class zonal in zone a: ")


@pytest.mark.parametrize("profile", ALL_PROFILES)
def test_an_immediate_claim_is_given_a_volume(profile: str) -> None:
    found = _diagnosed(
        node("n"),
        storage_class("slow", mode="Immediate"),
        claim("data", "slow", "2Gi"),
        user_of("data", "p"),
        profile=profile,
    )
    assert _fix(found, "volume").text.startswith("Add a volume of 2Gi of class slow: ")


def test_two_claims_without_volumes_need_more_than_one() -> None:
    volumes = [
        {"name": name, "persistentVolumeClaim": {"claimName": name}} for name in ("one", "two")
    ]
    found = _diagnosed(
        node("n", labels={HOSTNAME: "n"}),
        storage_class("local"),
        claim("one", "local"),
        claim("two", "local"),
        pod("p", volumes=volumes),
    )
    assert found.fixes == ()


def test_a_node_is_added_where_the_volume_is() -> None:
    wanted = claim("data", "zonal", volumeName="there")
    wanted["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    wanted["metadata"]["uid"] = "c"
    wanted["status"] = {"phase": "Bound"}
    volume = _volume("there", "zonal", "1Gi", ZONE, "b")
    volume["spec"]["claimRef"] = {"kind": "PersistentVolumeClaim", "namespace": "default"}
    volume["spec"]["claimRef"] |= {"name": "data", "uid": "c"}
    found = _diagnosed(node("n", labels={ZONE: "a"}), wanted, volume, user_of("data", "p"))
    assert _fix(found, "node").text.startswith(
        f"Add one more node like n, but with {ZONE}=b: it is bound to n-more "
    )


@pytest.mark.parametrize("profile", ALL_PROFILES)
def test_a_volume_that_is_gone_is_made_again(profile: str) -> None:
    wanted = claim("data", "", volumeName="gone")
    wanted["metadata"] |= {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}, "uid": "c"}
    wanted["status"] = {"phase": "Bound"}
    found = _diagnosed(node("n"), wanted, user_of("data", "p"), profile=profile)
    assert found.causes[0].sentence == (
        "Claim default/data names volume gone, which does not exist."
    )
    assert _fix(found, "volume").text.startswith("Create the volume gone again, 1Gi: ")


def test_storage_is_given_room() -> None:
    driver = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": "csi.example.com"},
        "spec": {"storageCapacity": True},
    }
    capacity = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"name": "rack-1", "namespace": "default"},
        "storageClassName": "fast",
        "capacity": "1Gi",
        "nodeTopology": {"matchLabels": {"rack": "1"}},
    }
    found = _diagnosed(
        node("n", labels={"rack": "1"}),
        driver,
        capacity,
        storage_class("fast", "csi.example.com"),
        claim("data", "fast", "5Gi"),
        user_of("data", "p"),
    )
    assert _fix(found, "capacity").text.startswith(
        "Let storage rack-1 of class fast have room for 5Gi: "
    )


def test_a_pod_leaves_with_its_volumes() -> None:
    driver = {"name": "csi.example.com", "nodeID": "n", "allocatable": {"count": 1}}
    limits = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": "n"},
        "spec": {"drivers": [driver]},
    }
    found = _diagnosed(
        node("n"),
        limits,
        storage_class("fast", "csi.example.com"),
        claim("one", "fast"),
        claim("two", "fast"),
        user_of("one", "old"),
        steps=[(5, "create", {"manifest": user_of("two", "p")})],
    )
    assert found.check is not None
    assert (found.check.unit, found.check.requested, found.check.free) == ("volumes", 1, 0)
    assert _fix(found, "pod").text.startswith("Delete the pod default/old on n: ")


@pytest.mark.parametrize("profile", ALL_PROFILES)
def test_a_taken_host_port_is_freed(profile: str) -> None:
    container = {"name": "main", "ports": [{"containerPort": 80, "hostPort": 80}]}
    spec = {"containers": [container]}
    found = _diagnosed(
        node("n"), {**pod("old"), "spec": spec}, {**pod("p"), "spec": spec}, profile=profile
    )
    assert _kinds(found) == ["pod", "node"]


def test_a_claim_in_use_elsewhere_is_freed() -> None:
    wanted = claim("data", "local", accessModes=["ReadWriteOncePod"])
    volume = _volume("v", "local", "1Gi")
    volume["spec"]["accessModes"] = ["ReadWriteOncePod"]
    found = _diagnosed(
        *(node(name) for name in "nm"),
        storage_class("local"),
        wanted,
        volume,
        user_of("data", "old"),
        steps=[(5, "create", {"manifest": user_of("data", "p")})],
    )
    assert _kinds(found) == ["pod"]


def test_pod_waiting_for_the_flush_says_so() -> None:
    """Upstream's hint for deleted pods looks at the waiting pod's own anti-affinity only."""
    term = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": HOSTNAME}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    found = _diagnosed(
        node("n", labels={HOSTNAME: "n"}),
        pod("guard", affinity=affinity),
        steps=[(3, "create", {"manifest": _labelled(pod("p"), app="x")})],
    )
    fix = _fix(found, "pod")
    assert fix.at is not None
    assert fix.at > 300 * SECOND
    assert fix.note.endswith(" Nothing but the periodic flush of the queue has it tried again.")


def test_a_pod_that_nothing_wakes_is_touched() -> None:
    term = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": HOSTNAME}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    found = _diagnosed(
        node("n", labels={HOSTNAME: "n"}),
        pod("guard", affinity=affinity),
        steps=[
            (3, "create", {"manifest": _labelled(pod("p"), app="x")}),
            (5, "delete", {"object": "pod/default/guard", "grace_seconds": 0}),
        ],
    )
    assert found.sentence == "It fits n now, but nothing has brought it back to the queue."
    assert [cause.severity for cause in found.causes] == ["delays"]
    assert _kinds(found) == ["retry"]
    assert found.outlook is not None
    assert found.outlook.at > 300 * SECOND


# -- what must always hold -----------------------------------------------------------------------


def test_a_diagnosis_leaves_no_trace_in_the_run() -> None:
    objects = (node("n", cpu="2"), pod("old", cpu="1"), pod("p", cpu="2", priority=1))
    watched, alone = _cluster(*objects), _cluster(*objects)
    diagnose(watched, "default/p")
    for cluster in (watched, alone):
        cluster.apply(Command(verb="create", manifest=pod("late", cpu="1")))
        played(cluster, 120)
        cluster.take()
    assert watched.digest() == alone.digest()
    assert watched.steps == alone.steps
    assert cluster_findings(watched) == []


def test_a_world_shares_the_clock_of_the_cluster() -> None:
    # All that a cluster still has to do hangs on its clock: a copy would be one of the whole cluster.
    cluster = _cluster(node("n"), pod("p", cpu="9"))
    algorithm = cluster.schedulers[0].algorithm_for("default-scheduler")
    waiting = cluster.store.find(Pod.KIND, "default/p")
    assert algorithm is not None
    assert isinstance(waiting, Pod)
    world = World(algorithm, waiting)
    assert world.algorithm.handle.loop is algorithm.handle.loop
    assert world.table is not algorithm.table


def test_two_diagnoses_of_one_instant_are_equal() -> None:
    cluster = _cluster(node("n", cpu="1"), node("m", cpu="1"), pod("old"), pod("p", cpu="2"))
    assert diagnose(cluster, "default/p") == diagnose(cluster, "default/p")


def test_looking_ahead_takes_place_within_the_run() -> None:
    found = _diagnosed(
        node("n"), pod("p", cpu="9"), steps=[(60, "create", {"manifest": node("large", cpu="9")})]
    )
    assert found.outlook is not None
    assert found.outlook.node == "large"
    assert 60 * SECOND <= found.outlook.at < 90 * SECOND
    assert all(fix.at is not None and fix.at < found.outlook.at for fix in found.fixes)

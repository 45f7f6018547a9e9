"""A diagnosis tells the truth over random clusters: what it offers works, and it leaves no trace."""

from dataclasses import replace
from random import Random
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.diagnosis import Diagnosis, Fix, diagnose
from engine.diagnosis.subjects.goals import Goal
from engine.diagnosis.trials import seconds
from engine.diagnosis.why import ASKED, explain_object
from engine.input.scenario import Scenario
from engine.kernel.units import MILLISECOND, MINUTE
from engine.objects.objects import Pod
from engine.scheduler.configuration.profiles import PROFILES
from tests.properties.clusters import random_scenario
from tests.properties.examples import examples
from tests.properties.facts import value_of

Manifest = dict[str, Any]

MOST_PODS = 3
PLACES = st.tuples(
    st.integers(0, 10_000), st.sampled_from(sorted(PROFILES)), st.integers(0, 50_000)
)


def _cluster(place: tuple[int, str, int]) -> Cluster:
    seed, profile, milliseconds = place
    cluster = Cluster.create(_with_rules(random_scenario(seed), seed), profile=profile, seed=seed)
    cluster.advance(milliseconds * MILLISECOND)
    cluster.take()
    return cluster


def _with_rules(scenario: Scenario, seed: int) -> Scenario:
    """The scenario with a rule for some of its pods: where they may go, and beside whom."""
    chance = Random(seed)
    steps = tuple(
        replace(step, manifest=_with_rule(step.manifest, chance)) if step.manifest else step
        for step in scenario.steps
    )
    objects = tuple(_with_rule(each, chance) for each in scenario.objects)
    return replace(scenario, objects=objects, steps=steps)


def _with_rule(manifest: Manifest, chance: Random) -> Manifest:
    if manifest["kind"] != "Pod" or chance.random() < 0.4:
        return manifest
    rule = chance.choice(RULES)
    if rule == {"replicas": True}:
        return _replicated(manifest)
    return {**manifest, "spec": {**manifest["spec"], **rule}}


def _replicated(pod: Manifest) -> Manifest:
    labels = {"set": pod["metadata"]["name"]}
    template = {"metadata": {"labels": labels}, "spec": pod["spec"]}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": pod["metadata"]["name"], "namespace": "default"},
        "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": template},
    }


def _required(side: str, key: str, app: str) -> Manifest:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}
    return {"affinity": {side: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
SPREAD = {
    "maxSkew": 1,
    "topologyKey": ZONE,
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "web"}},
}
RULES: tuple[Manifest, ...] = (
    {"nodeSelector": {"disk": "ssd"}},
    {"nodeSelector": {ZONE: "zc"}},
    {"topologySpreadConstraints": [SPREAD]},
    {"topologySpreadConstraints": [{**SPREAD, "minDomains": 3}]},
    _required("podAntiAffinity", HOSTNAME, "web"),
    _required("podAffinity", ZONE, "cache"),
    {"preemptionPolicy": "Never", "priority": 200},
    {"schedulerName": "nobody"},
    {"replicas": True},
)


def _waiting(cluster: Cluster) -> list[str]:
    pods = [pod for pod in cluster.store.objects("Pod") if isinstance(pod, Pod)]
    return [pod.key for pod in pods if not pod.node_name][:MOST_PODS]


@examples(25)
@given(PLACES)
def test_every_offered_change_gets_the_pod_scheduled(place: tuple[int, str, int]) -> None:
    cluster = _cluster(place)
    blob = cluster.checkpoint()
    for key in _waiting(cluster):
        found = diagnose(cluster, key)
        for fix in found.fixes:
            assert fix.shown == "fork"
            assert fix.note, (place, key, fix)
            assert _bound(blob, found, fix) == (fix.node, fix.at), (place, key, fix)


@examples(10)
@given(PLACES)
def test_every_fix_of_an_object_keeps_its_promise(place: tuple[int, str, int]) -> None:
    cluster = _cluster(place)
    blob = cluster.checkpoint()
    for kind in ASKED:
        for obj in cluster.store.objects(kind)[:1]:
            for fix in explain_object(cluster, kind, obj.key).fixes:
                assert fix.note, (place, obj.id, fix)
                assert _as_promised(blob, fix, kind, obj.key), (place, obj.id, fix)


def _as_promised(blob: bytes, fix: Fix, kind: str, key: str) -> bool:
    """Whether a run has the outcome that the text of *fix* ends in, at the moment it names."""
    fork = Cluster.restore(blob)
    for command in fix.commands:
        outcome = fork.apply(Command.from_dict(command))
        assert outcome.applied, outcome.reason
    assert fix.at is not None
    fork.advance(fix.at)
    obj = fork.store.find(kind, key)
    if fix.node:
        return obj is not None and obj.spec.get("nodeName") == fix.node
    reached = [Goal(kind, key, drains=drains).outcome(fork) for drains in (False, True)]
    return any(one and fix.text.endswith(f": {one} at {seconds(fix.at)}.") for one in reached)


def _bound(blob: bytes, found: Diagnosis, fix: Fix) -> tuple[str, int]:
    """Where and when the pod is bound once the change has been made in earnest."""
    fork = Cluster.restore(blob)
    for command in fix.commands:
        outcome = fork.apply(Command.from_dict(command))
        assert outcome.applied, outcome.reason
    until = fork.now + 6 * MINUTE
    while (due := fork.next_at) is not None and due <= until:
        fork.advance(due)
        pod = fork.store.find("Pod", found.pod)
        if isinstance(pod, Pod) and pod.node_name:
            return pod.node_name, fork.now
    return "", 0


@examples(25)
@given(PLACES)
def test_the_prediction_for_an_unchanged_cluster_holds(place: tuple[int, str, int]) -> None:
    cluster = _cluster(place)
    outlooks = {key: diagnose(cluster, key).outlook for key in _waiting(cluster)}
    bound: dict[str, tuple[str, int]] = {}
    until = cluster.now + 6 * MINUTE
    while (due := cluster.next_at) is not None and due <= until:
        cluster.advance(due)
        for key in outlooks:
            pod = cluster.store.find("Pod", key)
            if isinstance(pod, Pod) and pod.node_name:
                bound.setdefault(key, (pod.node_name, cluster.now))
    for key, outlook in outlooks.items():
        told = (outlook.node, outlook.at) if outlook is not None else ("", 0)
        assert bound.get(key, ("", 0)) == told, (place, key)


@examples(25)
@given(PLACES)
# A pod gets labels when it is bound, in a fork first.
@example((8008, "v1.35", 2980))
def test_diagnosing_leaves_no_trace_in_the_run(place: tuple[int, str, int]) -> None:
    watched, alone = _cluster(place), _cluster(place)
    for key in _waiting(watched):
        diagnose(watched, key)
    for cluster in (watched, alone):
        cluster.advance(cluster.now + MINUTE)
        cluster.take()
    assert (watched.digest(), watched.steps) == (alone.digest(), alone.steps)


@examples(25)
@given(PLACES)
# It fits a node, and others take that before its turn.
@example((7042, "v1.11", 1))
def test_every_waiting_pod_gets_a_diagnosis(place: tuple[int, str, int]) -> None:
    cluster = _cluster(place)
    for key in _waiting(cluster):
        found = diagnose(cluster, key)
        assert found.sentence
        assert (
            found.causes
            or found.state in ("deleting", "ended", "assumed")
            or (found.outlook is not None and found.outlook.node)
        ), (place, key, found.sentence)
        assert found.fixes or found.conclusion or found.state in ("deleting", "ended"), (place, key)


@examples(25)
@given(PLACES)
# A node is gone, and the scheduler has not heard of that.
@example((2851, "v1.11", 2851))
def test_every_fact_is_true_of_its_object(place: tuple[int, str, int]) -> None:
    cluster = _cluster(place)
    for kind in ASKED:
        for obj in cluster.store.objects(kind)[:MOST_PODS]:
            found = explain_object(cluster, kind, obj.key, tries_changes=False)
            for cause in found.causes:
                for fact in cause.because:
                    assert value_of(cluster, fact) == fact.value, (place, obj.id, fact)


@examples(25)
@given(PLACES)
def test_no_two_causes_contradict_each_other(place: tuple[int, str, int]) -> None:
    cluster = _cluster(place)
    for kind in ASKED:
        for obj in cluster.store.objects(kind)[:MOST_PODS]:
            found = explain_object(cluster, kind, obj.key, tries_changes=False)
            stated: dict[tuple[str, str], Any] = {}
            for cause in found.causes:
                for fact in cause.because:
                    # The same field of the same object has one value in the whole answer.
                    seen = stated.setdefault((fact.object, fact.field), fact.value)
                    assert seen == fact.value, (place, obj.id, fact)
                # A node that is said to lack one thing only is among those that lack it.
                assert set(cause.only) <= set(cause.nodes), (place, obj.id, cause)


@examples(5)
@given(PLACES)
def test_asking_any_object_leaves_the_run_alone(place: tuple[int, str, int]) -> None:
    watched, alone = _cluster(place), _cluster(place)
    for kind in ASKED:
        for obj in watched.store.objects(kind)[:1]:
            explain_object(watched, kind, obj.key)
    for each in (watched, alone):
        each.advance(each.now + MINUTE)
    assert watched.digest() == alone.digest()

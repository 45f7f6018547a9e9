"""Decisions mode where it has to do what a running control plane would have done."""

from dataclasses import replace
from typing import Any

from engine.objects.objects import from_manifest
from engine.scheduler.configuration.profiles import PROFILES
from engine.scheduler.cycle.decisions_mode.decide import decide
from tests.engine.scheduler_builders import make_node, make_pod

ZONE = "topology.kubernetes.io/zone"
DRIVER = "csi.example.com"


def attempts_on(pod: str, decided: dict[str, Any]) -> list[dict[str, Any]]:
    """The attempts on a pod of namespace default."""
    return [each for each in decided["attempts"] if each["pod"] == f"default/{pod}"]


def away_from(app: str) -> dict[str, Any]:
    """Required anti-affinity to the pods of *app*, by zone."""
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": ZONE}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return {"affinity": {"podAntiAffinity": required}}


def one_zone_decided() -> dict[str, Any]:
    """A preemptor that has to leave the zone of a pod on n1, whose eviction frees n2 as well."""
    zone = {ZONE: "z"}
    objects = [
        make_node("n1", labels=zone),
        make_node("n2", labels=zone),
        make_pod("victim", node="n1", labels={"app": "noisy"}, status={"phase": "Running"}),
        make_pod("other", node="n1", cpu="2", priority=10, status={"phase": "Running"}),
        make_pod("high", priority=10, spec=away_from("noisy")),
    ]
    return decide(objects, PROFILES["v1.34"])


def test_preemptor_takes_the_node_it_is_nominated_to() -> None:
    first, second = attempts_on("high", one_zone_decided())
    assert (first["preemption"]["node"], second["node"]) == ("n1", "n1")
    assert second["single_feasible"]


def test_evidence_of_a_nominated_pod_covers_every_node() -> None:
    _, second = attempts_on("high", one_zone_decided())
    assert second["filters"] == {"n1": None, "n2": None}


def delayed_claim(name: str) -> Any:
    """A claim without a uid that is provisioned where its pod goes."""
    spec = {"storageClassName": "csi", "accessModes": ["ReadWriteOnce"]}
    return from_manifest(
        {
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {**spec, "resources": {"requests": {"storage": "1Gi"}}},
        }
    )


def test_claims_without_a_uid_get_a_volume_each() -> None:
    mode = {"provisioner": DRIVER, "volumeBindingMode": "WaitForFirstConsumer"}
    drivers = [{"name": DRIVER, "nodeID": "n1", "allocatable": {"count": 2}}]
    objects = [
        make_node("n1"),
        from_manifest({"kind": "StorageClass", "metadata": {"name": "csi"}, **mode}),
        from_manifest(
            {"kind": "CSINode", "metadata": {"name": "n1"}, "spec": {"drivers": drivers}}
        ),
        *(delayed_claim(name) for name in "abc"),
        *(
            make_pod(
                name,
                spec={"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": name}}]},
            )
            for name in "abc"
        ),
    ]
    decided = decide(objects, PROFILES["v1.34"])
    assert decided["final"]["pods"] == {"default/a": "n1", "default/b": "n1", "default/c": ""}


def budget(**spec: Any) -> Any:
    """A budget of the pods of app db that has no status yet."""
    selector = {"selector": {"matchLabels": {"app": "db"}}}
    metadata = {"name": "keep", "namespace": "default"}
    return from_manifest(
        {"kind": "PodDisruptionBudget", "metadata": metadata, "spec": {**selector, **spec}}
    )


def preempted(profile: str) -> str:
    """The victim where a cheap pod has a budget to spare and a dearer one has none."""
    running = {"phase": "Running"}
    objects = [
        *(make_node(name, cpu="2") for name in ("n1", "n2", "n3")),
        make_pod("cheap", node="n1", cpu="2", labels={"app": "db"}, status=running),
        make_pod("dear", node="n2", cpu="2", priority=5, status=running),
        make_pod("top", node="n3", cpu="2", priority=10, labels={"app": "db"}, status=running),
        make_pod("high", cpu="2", priority=10),
        budget(minAvailable=1),
    ]
    (victim,) = decide(objects, PROFILES[profile])["final"]["evicted"]
    return victim


def test_budget_without_status_allows_what_its_pods_allow() -> None:
    assert preempted("v1.34") == "default/cheap"
    assert preempted("v1.16") == "default/cheap"


def test_in_1_11_budgets_without_status_allow_nothing() -> None:
    assert preempted("v1.11") == "default/dear"


def test_pods_of_an_unknown_scheduler_are_ignored() -> None:
    mine, theirs = make_pod("mine"), make_pod("theirs", spec={"schedulerName": "other"})
    decided = decide([make_node("n1"), theirs, mine], PROFILES["v1.36"])
    assert [each["pod"] for each in decided["attempts"]] == ["default/mine"]
    assert decided["final"]["pods"]["default/theirs"] == ""


def test_the_first_fit_follows_the_zones_in_turn() -> None:
    nodes = [
        make_node(name, labels={ZONE: zone}) for name, zone in (("a", "x"), ("b", "x"), ("c", "y"))
    ]
    unscored = replace(PROFILES["v1.36"], scores=())
    pods = [make_pod(f"p{number}") for number in range(3)]
    placed = decide([*nodes, *pods], unscored)["final"]["pods"]
    assert list(placed.values()) == ["a", "c", "b"]


def test_a_placed_pod_without_conditions_is_healthy() -> None:
    labels = {"app": "web"}
    objects = [
        make_node("n1", cpu="1"),
        make_pod("victim", node="n1", labels=labels, cpu="1"),
        from_manifest(
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": "web", "namespace": "default"},
                "spec": {"minAvailable": 0, "selector": {"matchLabels": labels}},
            }
        ),
        make_pod("high", priority=10, cpu="1"),
    ]
    first = attempts_on("high", decide(objects, PROFILES["v1.34"]))[0]
    assert first["preemption"]["candidates"]["n1"]["pdb_violations"] == 0

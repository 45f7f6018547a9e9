"""Feature gates: who may set them, and what each changes."""

from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.input.loader import load_files
from engine.input.reading import ConfigurationError
from engine.input.scenario import parse_gates
from engine.scheduler.configuration.configuration import read_setup
from engine.scheduler.configuration.profiles import default_profile
from engine.scheduler.configuration.scenario_schedulers import check_setup
from engine.versions.gates import GATES
from engine.versions.kubernetes_version import with_gates
from engine.versions.registry import VERSIONS
from tests.builders import Manifest, node, node_of, played, pod, scene

NUMBERS = {"TaintTolerationComparisonOperators": True}
LIMITS = {"VolumeLimitScaling": True}
DISK = "disk.example.com"


def run(*objects: Manifest, profile: str = "v1.36", gates: Any = None, **fields: Any) -> Cluster:
    start = scene(*objects, feature_gates=gates or {}, **fields)
    return played(Cluster.create(start, profile=profile), 20)


def header(gates: str, profile: str = "v1.36") -> bytes:
    return (
        "apiVersion: kscope.dev/v1\nkind: Scenario\nmetadata: {name: s}\n"
        f"spec: {{profile: {profile}, featureGates: {{{gates}}}}}\n"
    ).encode()


def problems(gates: str, profile: str = "v1.36") -> list[str]:
    loaded = load_files([("s.yaml", header(gates, profile))], check=check_setup)
    return [str(problem) for problem in loaded.problems]


@pytest.mark.parametrize("version", VERSIONS.values(), ids=lambda version: version.name)
def test_every_gate_has_a_meaning(version: Any) -> None:
    assert set(version.feature_gates) <= set(GATES)


@pytest.mark.parametrize("version", VERSIONS.values(), ids=lambda version: version.name)
def test_gates_at_their_defaults_change_nothing(version: Any) -> None:
    defaults = {name: gate.default for name, gate in version.feature_gates.items()}
    assert with_gates(version, defaults) is version


@pytest.mark.parametrize("version", VERSIONS.values(), ids=lambda version: version.name)
def test_a_gate_turned_twice_changes_nothing(version: Any) -> None:
    for name, gate in version.feature_gates.items():
        if not gate.is_locked:
            needed = {GATES[name].needs: True} if GATES[name].needs else {}
            if gate.default:
                # Those that need it go with it.
                needed |= {
                    each: False for each in version.feature_gates if GATES[each].needs == name
                }
            changed = with_gates(version, {**needed, name: not gate.default})
            defaults = {each: version.feature_gates[each].default for each in (name, *needed)}
            assert with_gates(changed, defaults) == version


@pytest.mark.parametrize(
    ("gates", "profile", "problem"),
    [
        ("Nonsense: true", "v1.36", "featureGates.Nonsense: unrecognized feature gate"),
        ("EvenPodsSpread: true", "v1.36", "v1.36 does not have this feature gate"),
        ("NodeDeclaredFeatures: 1", "v1.36", "expected true or false"),
        (
            "SchedulerQueueingHints: false",
            "v1.34",
            "cannot set feature gate SchedulerQueueingHints to false, feature is locked to true",
        ),
    ],
)
def test_bad_gates_are_refused_with_their_field(gates: str, profile: str, problem: str) -> None:
    (found,) = problems(gates, profile)
    assert problem in found
    assert "spec.featureGates." in found


def test_a_locked_gate_may_be_named() -> None:
    assert problems("SchedulerQueueingHints: true") == []


def test_a_scenario_keeps_its_gates() -> None:
    loaded = load_files([("s.yaml", header("VolumeLimitScaling: true"))], check=check_setup)
    assert loaded.scenario is not None
    assert loaded.scenario["feature_gates"] == LIMITS


def test_the_flag_lists_gates_with_values() -> None:
    assert parse_gates("A=true, B=false") == {"A": True, "B": False}
    with pytest.raises(ValueError, match="A=true or A=false"):
        parse_gates("A")


def test_a_configuration_can_set_gates() -> None:
    told = {
        "kind": "KubeSchedulerConfiguration",
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "featureGates": {"NodeDeclaredFeatures": False},
    }
    assert "NodeDeclaredFeatures" not in read_setup(told, "v1.36").profiles[0].filters
    with pytest.raises(ConfigurationError, match="featureGates.Nonsense"):
        read_setup({**told, "featureGates": {"Nonsense": True}}, "v1.36")


def test_old_gates_can_stand_in_the_scenario() -> None:
    cluster = run(profile="v1.16", gates={"EvenPodsSpread": True})
    assert "EvenPodsSpread" in cluster.scheduler.algorithm.profile.filters


def test_a_scheduler_can_have_gates_of_its_own() -> None:
    gates = {"NodeDeclaredFeatures": False}
    second = {"name": "second", "featureGates": gates}
    cluster = run(schedulers=({"name": "first"}, second))
    first, other = (one.algorithm.profile.filters for one in cluster.schedulers)
    assert "NodeDeclaredFeatures" in first
    assert "NodeDeclaredFeatures" not in other


# What the gates do


def test_declared_features_need_their_gate() -> None:
    rules = [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [1]}}]
    container = {"name": "main", "restartPolicy": "Never", "restartPolicyRules": rules}
    asking = pod("p", containers=[container])
    assert node_of(run(node("n1"), asking), "p") == ""
    assert node_of(run(node("n1"), asking, gates={"NodeDeclaredFeatures": False}), "p") == "n1"
    assert node_of(run(node("n1"), asking, profile="v1.35"), "p") == "n1"


@pytest.mark.parametrize(
    ("operator", "value", "fits"),
    [
        ("Lt", "951", True),
        ("Lt", "950", False),
        ("Gt", "949", True),
        ("Gt", "950", False),
        ("Gt", "high", False),
    ],
)
def test_tolerations_compare_numbers_with_the_gate(operator: str, value: str, fits: bool) -> None:
    tainted = node("n1")
    tainted["spec"] = {"taints": [{"key": "sla", "value": "950", "effect": "NoSchedule"}]}
    asking = pod("p", tolerations=[{"key": "sla", "operator": operator, "value": value}])
    assert node_of(run(tainted, asking, gates=NUMBERS), "p") == ("n1" if fits else "")
    assert node_of(run(tainted, asking), "p") == ""


def csi_objects(*, required: bool, installed: bool) -> list[Manifest]:
    drivers = [{"name": DISK, "nodeID": "n1"}] if installed else []
    return [
        node("n1"),
        {"kind": "CSINode", "metadata": {"name": "n1"}, "spec": {"drivers": drivers}},
        {
            "kind": "CSIDriver",
            "metadata": {"name": DISK},
            "spec": {"preventPodSchedulingIfMissing": required},
        },
        pod("p", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]),
        {
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "c", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
            "spec": {
                "volumeName": "v",
                "storageClassName": "",
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            },
        },
        {
            "kind": "PersistentVolume",
            "metadata": {"name": "v"},
            "spec": {
                "csi": {"driver": DISK, "volumeHandle": "v"},
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce"],
                "claimRef": {"namespace": "default", "name": "c"},
            },
        },
    ]


@pytest.mark.parametrize(
    ("required", "installed", "fits"),
    [(True, False, False), (True, True, True), (False, False, True)],
)
def test_a_required_csi_driver_must_be_installed(
    required: bool, installed: bool, fits: bool
) -> None:
    objects = csi_objects(required=required, installed=installed)
    cluster = run(*objects, gates=LIMITS)
    assert node_of(cluster, "p") == ("n1" if fits else "")
    messages = [event.message for event in cluster.untaken if event.kind == "FailedScheduling"]
    reason = f"1 {DISK} CSI driver is not installed on the node."
    assert any(reason in message for message in messages) is not fits
    assert node_of(run(*objects), "p") == "n1"


def test_the_profile_follows_the_gates() -> None:
    off = with_gates(VERSIONS["v1.36"], {"SchedulerPopFromBackoffQ": False})
    assert not default_profile(off).kubernetes.queue.pops_from_backoff

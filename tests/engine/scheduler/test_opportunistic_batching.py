"""OpportunisticBatching (v1.35): a pod like the one before is tried on the next best node alone."""

from collections import Counter
from dataclasses import replace
from typing import Any, cast

import pytest

from engine.cluster.cluster import Cluster
from engine.framework import names
from engine.framework.framework import Plugin
from engine.framework.handle import Handle
from engine.framework.pods.pod_info import PodInfo
from engine.framework.pods.signing import Signed
from engine.kernel.rng import Stream
from engine.kernel.units import MILLISECOND, SECOND
from engine.objects.objects import from_manifest
from engine.scheduler.configuration.profiles import PROFILES, Profile, default_profile
from engine.scheduler.cycle.algorithm import SchedulingAlgorithm
from engine.scheduler.cycle.decision.result import ScheduleResult
from engine.scheduler.cycle.decision.signatures import PodSigner
from engine.versions.kubernetes_version import with_gates
from engine.versions.registry import VERSIONS
from tests.builders import device_class, node, node_of, played, pod, scene
from tests.engine.scheduler_builders import ManualClock, make_node, make_pod

NO_DEFAULTS = {"defaultingType": "List", "defaultConstraints": []}
# Once p1 is on na, nb scores more than nc, which came second when p1 was decided on.
GRADES = [
    {
        "weight": weight,
        "preference": {"matchExpressions": [{"key": "grade", "operator": "In", "values": [grade]}]},
    }
    for weight, grade in ((100, "best"), (5, "good"))
]
LIKES_GRADES: dict[str, Any] = {
    "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": GRADES}}
}


def _profile(version: str = "v1.36", gates: dict[str, bool] | None = None) -> Profile:
    """Without default constraints, which keep pods from being signed."""
    profile = default_profile(with_gates(VERSIONS[version], gates or {}))
    spread = {**(profile.arguments.get(names.POD_TOPOLOGY_SPREAD) or {}), **NO_DEFAULTS}
    return replace(profile, arguments={**profile.arguments, names.POD_TOPOLOGY_SPREAD: spread})


class _Scheduler:
    """Decides on pods of one kind, cycle by cycle, and puts them on their nodes."""

    def __init__(self, profile: Profile, ties: Stream | None = None) -> None:
        self.clock = ManualClock()
        self.handle = Handle(loop=cast("Any", self.clock))
        self.algorithm = SchedulingAlgorithm(profile, self.handle, ties=ties)
        self.cycle = 0

    def info(self, name: str, **fields: Any) -> PodInfo:
        return PodInfo(make_pod(name, **fields), self.algorithm.profile.resource_rules)

    def schedule(self, name: str, **fields: Any) -> ScheduleResult:
        fields = {"cpu": "1500m", "memory": "3Gi", "spec": LIKES_GRADES, **fields}
        info = self.info(name, **fields)
        self.cycle += 1
        result = self.algorithm.schedule(info, cycle=self.cycle)
        if result.node is not None:
            self.algorithm.table.add_pod(result.row, info.assigned_to(result.node))
        return result


def _graded(profile: Profile) -> _Scheduler:
    scheduler = _Scheduler(profile)
    table = scheduler.algorithm.table
    table.add_node(make_node("na", cpu="2", labels={"grade": "best"}))
    table.add_node(make_node("nb", cpu="2", memory="4Gi", labels={"grade": "good"}))
    table.add_node(make_node("nc", cpu="32", memory="64Gi"))
    return scheduler


@pytest.mark.parametrize("version", ["v1.35", "v1.36"])
def test_pod_alike_goes_to_the_next_best_node(version: str) -> None:
    scheduler = _graded(_profile(version))
    assert scheduler.schedule("p1").node == "na"
    start = scheduler.handle.next_start
    second = scheduler.schedule("p2")
    assert (second.node, second.node_hint) == ("nc", "nc")
    assert (second.evaluated, second.feasible, second.scores) == (1, 1, None)
    assert scheduler.handle.next_start == start


@pytest.mark.parametrize(
    "profile",
    [_profile("v1.34"), _profile(gates={"OpportunisticBatching": False}), PROFILES["v1.36"]],
    ids=["v1.34", "the gate is off", "default constraints"],
)
def test_nodes_are_scored_again_without_batching(profile: Profile) -> None:
    scheduler = _graded(profile)
    scheduler.schedule("p1")
    assert scheduler.schedule("p2").node == "nb"


@pytest.mark.parametrize(("age", "node"), [(500, "nc"), (501, "nb")])
def test_a_batch_is_used_for_half_a_second(age: int, node: str) -> None:
    scheduler = _graded(_profile())
    scheduler.schedule("p1")
    scheduler.clock.now += age * MILLISECOND
    assert scheduler.schedule("p2").node == node


def test_a_cycle_without_a_node_ends_the_batch() -> None:
    scheduler = _graded(_profile())
    scheduler.schedule("p1")
    assert scheduler.schedule("large", cpu="64").node is None
    assert scheduler.schedule("p2").node == "nb"


def test_a_pod_with_another_signature_gets_no_hint() -> None:
    scheduler = _graded(_profile())
    scheduler.schedule("p1")
    assert scheduler.schedule("p2", labels={"app": "other"}).node_hint == ""


def test_no_hint_exists_while_the_last_node_fits() -> None:
    scheduler = _graded(_profile())
    scheduler.schedule("p1", cpu="100m", memory="1Mi")
    assert scheduler.schedule("p2", cpu="100m", memory="1Mi").evaluated == 3


def test_no_hint_exists_once_the_last_node_left() -> None:
    scheduler = _graded(_profile())
    scheduler.schedule("p1")
    scheduler.algorithm.table.remove_node("na")
    assert scheduler.schedule("p2").evaluated == 2


def test_full_hinted_node_is_left_for_all_others() -> None:
    scheduler = _graded(_profile())
    scheduler.schedule("p1")
    other = scheduler.info("other", node="nc", cpu="31")
    scheduler.algorithm.table.add_pod(scheduler.algorithm.table.rows["nc"], other)
    second = scheduler.schedule("p2")
    assert (second.node, second.node_hint, second.evaluated) == ("nb", "nc", 3)


def test_nominated_node_is_tried_before_the_hint() -> None:
    scheduler = _graded(_profile())
    scheduler.schedule("p1")
    second = scheduler.schedule("p2", status={"nominatedNodeName": "nb"})
    assert (second.node, second.node_hint) == ("nb", "nc")
    # The state of the batch ends with a node that was not its own.
    assert scheduler.schedule("p3").node_hint == ""


def test_decision_outside_of_cycles_keeps_the_batch() -> None:
    scheduler = _graded(_profile())
    scheduler.schedule("p1")
    trial = scheduler.info("trial", cpu="1500m", memory="3Gi", spec=LIKES_GRADES)
    assert scheduler.algorithm.schedule(trial).node == "nb"
    assert scheduler.schedule("p2").node == "nc"


def test_depth_of_explanation_changes_no_decision() -> None:
    scheduler = _graded(_profile())
    for cycle, expected in enumerate(("na", "nc"), 1):
        info = scheduler.info(f"p{cycle}", cpu="1500m", memory="3Gi", spec=LIKES_GRADES)
        result = scheduler.algorithm.schedule(info, explain=False, keep=True, cycle=cycle)
        assert result.node == expected
        scheduler.algorithm.table.add_pod(result.row, info.assigned_to(expected))


def test_equal_nodes_are_hinted_by_name() -> None:
    scheduler = _Scheduler(_profile())
    for name in "cadb":
        scheduler.algorithm.table.add_node(make_node(name, cpu="2"))
    found = [scheduler.schedule(f"p{number}") for number in range(4)]
    assert [result.node for result in found] == ["a", "b", "c", "d"]
    assert [result.node_hint for result in found] == ["", "b", "c", "d"]


def test_equal_nodes_are_hinted_at_random() -> None:
    seconds: Counter[str] = Counter()
    for seed in range(60):
        scheduler = _Scheduler(_profile(), Stream(seed))
        for name in "abc":
            scheduler.algorithm.table.add_node(make_node(name, cpu="2"))
        found = [scheduler.schedule(f"p{number}").node for number in range(3)]
        assert sorted(map(str, found)) == ["a", "b", "c"]
        seconds[str(found[1])] += 1
    assert min(seconds[name] for name in "abc") > 10


# Signatures


class Custom(Plugin):
    """A plugin that is not in-tree."""

    name = "Custom"


class Signing(Custom):
    """The same, which says what it reads."""

    def sign_pod(self, pod: PodInfo) -> Signed:
        """Nothing."""
        return ()


def _signer(
    profile: Profile, handle: Handle | None = None, *, has_extenders: bool = False
) -> PodSigner:
    plugins = profile.build(handle or Handle()).plugins
    return PodSigner(profile, plugins, has_extenders=has_extenders)


def _sign(profile: Profile, handle: Handle | None = None, **fields: Any) -> bytes | None:
    return _signer(profile, handle).sign(PodInfo(make_pod("p", **fields), profile.resource_rules))


@pytest.mark.parametrize(
    "spec",
    [
        {"affinity": {"podAffinity": {}}},
        {"affinity": {"podAntiAffinity": {}}},
        {"topologySpreadConstraints": [{"topologyKey": "zone"}]},
        {"resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}]},
    ],
)
def test_pods_depending_on_other_objects_have_no_signature(spec: dict[str, Any]) -> None:
    assert _sign(_profile()) is not None
    assert _sign(_profile(), spec=spec) is None


@pytest.mark.parametrize(
    ("spec", "differs"),
    [
        ({"nodeSelector": {"disk": "ssd"}}, True),
        ({"tolerations": [{"operator": "Exists"}]}, True),
        ({"volumes": [{"name": "v", "emptyDir": {}}]}, True),
        ({"volumes": [{"name": "v", "configMap": {"name": "c"}}]}, False),
        ({"volumes": [{"name": "v", "secret": {"secretName": "s"}}]}, False),
        ({"terminationGracePeriodSeconds": 1}, False),
    ],
)
def test_a_signature_has_what_plugins_read(spec: dict[str, Any], differs: bool) -> None:
    assert (_sign(_profile(), spec=spec) != _sign(_profile())) is differs


def test_order_of_terms_does_not_change_a_signature() -> None:
    kind = "preferredDuringSchedulingIgnoredDuringExecution"
    turned = {"affinity": {"nodeAffinity": {kind: GRADES[::-1]}}}
    assert _sign(_profile(), spec=turned) == _sign(_profile(), spec=LIKES_GRADES)


def test_labels_are_signed_unless_others_preferences_are_ignored() -> None:
    profile = _profile()
    assert _sign(profile, labels={"a": "b"}) != _sign(profile)
    affinity = {
        **(profile.arguments.get(names.INTER_POD_AFFINITY) or {}),
        "ignorePreferredTermsOfExistingPods": True,
    }
    profile = replace(profile, arguments={**profile.arguments, names.INTER_POD_AFFINITY: affinity})
    assert _sign(profile, labels={"a": "b"}) == _sign(profile)


def test_extenders_and_plugins_without_signature_prevent_signatures() -> None:
    profile = _profile()
    assert not _signer(profile, has_extenders=True).is_enabled
    plugins = profile.build(Handle()).plugins
    plugins.by_name["Custom"] = Custom()
    custom = replace(profile, filters=(*profile.filters, "Custom"))
    assert not PodSigner(custom, plugins, has_extenders=False).is_enabled
    plugins.by_name["Custom"] = Signing()
    assert PodSigner(custom, plugins, has_extenders=False).is_enabled


def test_without_topology_spread_its_constraints_do_not_matter() -> None:
    spread = names.POD_TOPOLOGY_SPREAD
    profile = PROFILES["v1.36"]
    profile = replace(
        profile,
        filters=tuple(name for name in profile.filters if name != spread),
        scores=tuple(score for score in profile.scores if score[0] != spread),
    )
    constraints = {"topologySpreadConstraints": [{"topologyKey": "zone"}]}
    assert _sign(profile, spec=constraints) is not None


def test_resources_of_device_classes_are_not_signed() -> None:
    handle = Handle()
    handle.listers.put(from_manifest(device_class("gpus", extendedResourceName="a.com/gpu")))
    asking = {"containers": [{"name": "c", "resources": {"requests": {"a.com/gpu": "1"}}}]}
    assert _sign(_profile(), handle, spec=asking) is None
    assert _sign(_profile(), handle) is not None
    # v1.35 signs no pod at all while the feature is on.
    assert _sign(_profile("v1.35"), handle, spec=asking) is not None
    assert _sign(_profile("v1.35", {"DRAExtendedResource": True}), handle) is None


# Whole runs


def _cluster() -> Cluster:
    configuration = {
        "kind": "KubeSchedulerConfiguration",
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "profiles": [
            {
                "schedulerName": "default-scheduler",
                "pluginConfig": [{"name": names.POD_TOPOLOGY_SPREAD, "args": NO_DEFAULTS}],
            }
        ],
    }
    nodes = [node(f"n{number}", cpu="2", memory="8Gi") for number in range(9)]
    pods = [pod(f"p{number}", cpu="1500m") for number in range(8)]
    steps = [(10, "create", {"manifest": pod("late", cpu="1500m")})]
    return Cluster.create(
        scene(*nodes, *pods, steps=steps, configuration=configuration), profile="v1.36"
    )


def test_a_run_shows_which_node_was_hinted() -> None:
    cluster = played(_cluster(), 5)
    attempts = cluster.take().attempts
    hints = [(attempt.evidence or {}).get("node_hint", "") for attempt in attempts]
    assert hints[0] == ""
    assert [attempt.node for attempt in attempts][1:] == hints[1:]
    last = attempts[-1].evidence
    assert last is not None
    assert (last["evaluated"], last["scores"], len(last["not_evaluated"])) == (1, {}, 8)


def test_batched_run_resumes_identically_from_a_checkpoint() -> None:
    one = _cluster()
    while not node_of(one, "p2"):
        one.advance(one.now + MILLISECOND)
    # In the middle of the batch.
    assert not node_of(one, "p7")
    one.take()
    other = Cluster.restore(one.checkpoint())
    whole = _cluster()
    for cluster in (one, other, whole):
        cluster.advance(20 * SECOND)
        cluster.take()
    assert one.digest() == other.digest() == whole.digest()

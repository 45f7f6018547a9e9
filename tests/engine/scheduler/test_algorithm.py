"""One pod, one decision: messages, ties, sampling, preemption, nominations."""

from dataclasses import replace
from typing import Any

import pytest

from engine.framework.handle import Handle
from engine.framework.pods.pod_info import PodInfo
from engine.kernel.rng import Stream
from engine.objects.objects import from_manifest
from engine.scheduler.configuration.profiles import PROFILES
from engine.scheduler.cycle.algorithm import SchedulingAlgorithm
from engine.scheduler.cycle.decision.result import SCHEDULED, UNSCHEDULABLE
from engine.scheduler.cycle.decision.sampling import nodes_to_find
from engine.scheduler.preemption import preemption
from engine.scheduler.preemption.dry_run import COLUMN_RULES
from tests.engine.scheduler_builders import make_budget, make_node, make_pod


def _algorithm(profile: str = "v1.34", **changes: Any) -> SchedulingAlgorithm:
    return SchedulingAlgorithm(replace(PROFILES[profile], **changes), Handle())


def _info(algorithm: SchedulingAlgorithm, name: str, **fields: Any) -> PodInfo:
    return PodInfo(make_pod(name, **fields), algorithm.profile.resource_rules)


def _place(algorithm: SchedulingAlgorithm, name: str, node: str, **fields: Any) -> None:
    info = _info(algorithm, name, node=node, **fields)
    algorithm.table.add_pod(algorithm.table.rows[node], info)


def test_no_nodes_is_a_message_of_its_own() -> None:
    algorithm = _algorithm()
    result = algorithm.schedule(_info(algorithm, "p"))
    assert result.message == "no nodes available to schedule pods"


def test_fit_error_counts_and_sorts_every_reason() -> None:
    algorithm = _algorithm()
    for number in range(11):
        algorithm.table.add_node(make_node(f"small-{number:02d}", cpu="1"))
    for number in range(2):
        algorithm.table.add_node(make_node(f"cordoned-{number}", unschedulable=True))
    result = algorithm.schedule(_info(algorithm, "p", cpu="2"))
    assert result.message == (
        "0/13 nodes are available: 11 Insufficient cpu, 2 node(s) were unschedulable."
    )


def test_nodes_left_out_by_name_count_under_plugins() -> None:
    algorithm = _algorithm()
    for name in ("a", "b", "c"):
        algorithm.table.add_node(make_node(name, cpu="1"))
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}
        }
    }
    result = algorithm.schedule(_info(algorithm, "p", cpu="2", spec={"affinity": affinity}))
    assert result.message == (
        "0/3 nodes are available: 1 Insufficient cpu, "
        "2 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    )


def test_ties_go_to_the_smallest_name_without_stream() -> None:
    algorithm = _algorithm()
    for name in ("c", "a", "b"):
        algorithm.table.add_node(make_node(name))
    assert algorithm.schedule(_info(algorithm, "p", cpu="1")).node == "a"


def test_ties_are_drawn_from_the_seeded_stream() -> None:
    chosen: list[str | None] = []
    for _ in range(2):
        algorithm = SchedulingAlgorithm(PROFILES["v1.34"], Handle(), ties=Stream(7))
        for name in ("a", "b", "c", "d"):
            algorithm.table.add_node(make_node(name))
        chosen.append(algorithm.schedule(_info(algorithm, "p")).node)
    assert chosen[0] == chosen[1]


def test_number_of_nodes_to_find_follows_upstream() -> None:
    assert nodes_to_find(10, 0) == 10
    assert nodes_to_find(1000, 0) == 420
    assert nodes_to_find(5000, 0) == 500
    assert nodes_to_find(6000, 0) == 300
    assert nodes_to_find(6000, 40) == 2400
    assert nodes_to_find(1000, 100) == 1000


def test_search_goes_on_where_the_last_one_stopped() -> None:
    algorithm = _algorithm()
    for number in range(200):
        algorithm.table.add_node(make_node(f"n{number:03d}"))
    first = algorithm.schedule(_info(algorithm, "p1"))
    assert (first.evaluated, first.feasible, algorithm.handle.next_start) == (100, 100, 100)
    assert algorithm.schedule(_info(algorithm, "p2")).node == "n100"


def test_a_request_beyond_the_node_is_unresolvable() -> None:
    algorithm = _algorithm()
    algorithm.table.add_node(make_node("n", cpu="2"))
    _place(algorithm, "low", "n", cpu="1", priority=0)
    result = algorithm.schedule(_info(algorithm, "p", cpu="3", priority=10))
    preemption = algorithm.preempt(result)
    assert preemption is not None
    assert preemption.chosen is None
    assert result.message.endswith("1 Preemption is not helpful for scheduling.")


def test_preemption_spares_what_need_not_go() -> None:
    algorithm = _algorithm()
    algorithm.table.add_node(make_node("n", cpu="3"))
    for name, priority in (("a", 1), ("b", 2), ("c", 3)):
        _place(algorithm, name, "n", cpu="1", priority=priority)
    result = algorithm.schedule(_info(algorithm, "p", cpu="1", priority=10))
    preemption = algorithm.preempt(result)
    assert preemption is not None
    assert preemption.chosen is not None
    assert [pod.pod.name for pod in preemption.chosen.victims] == ["a"]
    assert [pod.pod.name for pod in preemption.chosen.reprieved] == ["c", "b"]
    # The dry run leaves no trace.
    assert list(algorithm.table.pods[0]) == ["default/a", "default/b", "default/c"]
    assert int(algorithm.table.requested[0][0]) == 3000


def test_preemption_prefers_the_node_that_breaks_no_budget() -> None:
    algorithm = _algorithm()
    algorithm.handle.listers.put(make_budget(0))
    for name in ("n1", "n2"):
        algorithm.table.add_node(make_node(name, cpu="1"))
    _place(algorithm, "db", "n1", cpu="1", labels={"app": "db"})
    _place(algorithm, "web", "n2", cpu="1", priority=5)
    preemption = algorithm.preempt(algorithm.schedule(_info(algorithm, "p", cpu="1", priority=10)))
    assert preemption is not None
    assert preemption.chosen is not None
    assert preemption.chosen.node == "n2"
    assert preemption.rungs[0] == ("fewest PDB violations", ["n2"])


def test_v1_34_counts_budgets_down_over_all_victims() -> None:
    violations: dict[str, int] = {}
    for profile in ("v1.34", "v1.16"):
        algorithm = _algorithm(profile)
        algorithm.handle.listers.put(make_budget(1))
        algorithm.table.add_node(make_node("n", cpu="2"))
        for name in ("a", "b"):
            _place(algorithm, name, "n", cpu="1", labels={"app": "db"})
        preemption = algorithm.preempt(
            algorithm.schedule(_info(algorithm, "p", cpu="2", priority=10))
        )
        assert preemption is not None
        assert preemption.chosen is not None
        violations[profile] = preemption.chosen.violations
    assert violations == {"v1.34": 1, "v1.16": 0}


def test_pod_that_never_preempts_says_so() -> None:
    algorithm = _algorithm()
    algorithm.table.add_node(make_node("n", cpu="1"))
    _place(algorithm, "low", "n", cpu="1")
    pod = _info(algorithm, "p", cpu="1", priority=9, spec={"preemptionPolicy": "Never"})
    result = algorithm.schedule(pod)
    algorithm.preempt(result)
    assert result.message.endswith("preemption: not eligible due to preemptionPolicy=Never.")


def test_room_promised_to_a_nominated_pod_stays_kept() -> None:
    algorithm = _algorithm()
    algorithm.table.add_node(make_node("n", cpu="1"))
    algorithm.nominated.add(algorithm.table.name(0), _info(algorithm, "first", cpu="1", priority=5))
    lower = _info(algorithm, "second", cpu="1", priority=5)
    assert algorithm.schedule(lower, explain=False).result == UNSCHEDULABLE
    higher = _info(algorithm, "third", cpu="1", priority=6)
    assert algorithm.schedule(higher, explain=False).result == SCHEDULED


def test_unbound_immediate_claim_is_an_error_in_v1_16() -> None:
    results: dict[str, tuple[str, str]] = {}
    claim = {
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "default"},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": ""},
    }
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    for profile in ("v1.34", "v1.16"):
        algorithm = _algorithm(profile)
        algorithm.handle.listers.put(from_manifest(claim))
        for name in ("n1", "n2"):
            algorithm.table.add_node(make_node(name))
        pod = _info(algorithm, "p", spec={"volumes": volumes})
        result = algorithm.schedule(pod, explain=False)
        results[profile] = result.result, result.message
    assert results == {
        "v1.34": (
            "unschedulable",
            "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims.",
        ),
        "v1.16": (
            "error",
            "pod has unbound immediate PersistentVolumeClaims (repeated 2 times)",
        ),
    }


@pytest.mark.parametrize(
    ("profile", "node"), [("v1.34", "b"), ("v1.20", "a"), ("v1.16", "a"), ("v1.11", "a")]
)
@pytest.mark.parametrize("explain", [True, False])
def test_the_nominated_node_is_tried_first(profile: str, node: str, explain: bool) -> None:
    algorithm = SchedulingAlgorithm(PROFILES[profile], Handle())
    for name in ("a", "b", "c"):
        algorithm.table.add_node(make_node(name))
    hopeful = make_pod("p", cpu="1", status={"nominatedNodeName": "b"})
    result = algorithm.schedule(PodInfo(hopeful, algorithm.profile.resource_rules), explain=explain)
    assert result.node == node
    assert (result.evaluated, result.feasible) == ((1, 1) if node == "b" else (3, 3))


def test_refusal_of_an_excluded_nominated_node_is_reported() -> None:
    """It is tried before that is heeded. Upstream: evaluateNominatedNode()."""
    algorithm = _algorithm()
    taint = {"key": "k", "effect": "NoSchedule"}
    algorithm.table.add_node(make_node("named", cpu="1"))
    algorithm.table.add_node(make_node("promised", taints=[taint]))
    algorithm.table.add_node(make_node("other"))
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["named"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    spec, status = {"affinity": {"nodeAffinity": required}}, {"nominatedNodeName": "promised"}
    result = algorithm.schedule(_info(algorithm, "p", cpu="2", spec=spec, status=status))
    assert result.message == (
        "0/3 nodes are available: 1 Insufficient cpu, "
        "1 node(s) didn't satisfy plugin(s) [NodeAffinity], "
        "1 node(s) had untolerated taint {k: }."
    )


@pytest.mark.parametrize("there", ["full", "gone"])
def test_all_nodes_follow_an_unfit_nominated_node(there: str) -> None:
    algorithm = SchedulingAlgorithm(PROFILES["v1.34"], Handle())
    for name in ("a", "full"):
        algorithm.table.add_node(make_node(name, cpu="4" if name == "a" else "1"))
    hopeful = make_pod("p", cpu="2", status={"nominatedNodeName": there})
    result = algorithm.schedule(PodInfo(hopeful, algorithm.profile.resource_rules))
    assert (result.node, result.evaluated, result.feasible) == ("a", 2, 1)


@pytest.mark.parametrize("profile", ["v1.34", "v1.20", "v1.16"])
@pytest.mark.parametrize("reason", ["PreemptionByScheduler", "EvictionByEvictionAPI", ""])
def test_only_victims_of_a_preemption_are_waited_for(profile: str, reason: str) -> None:
    """Since 1.26. Upstream: default_preemption.go podTerminatingByPreemption()."""
    algorithm = _algorithm(profile)
    algorithm.table.add_node(make_node("n", cpu="1"))
    condition = {"type": "DisruptionTarget", "status": "True", "reason": reason}
    old = make_pod("old", node="n", cpu="1", status={"conditions": [condition] if reason else []})
    leaving = old.with_metadata(deletionTimestamp="2026-01-01T00:00:00Z")
    info = PodInfo(leaving, algorithm.profile.resource_rules)
    algorithm.table.add_pod(algorithm.table.rows["n"], info)
    pod = _info(algorithm, "p", cpu="1", priority=9, status={"nominatedNodeName": "n"})
    found = algorithm.preempt(algorithm.schedule(pod))
    assert found is not None
    waits = profile != "v1.34" or reason == "PreemptionByScheduler"
    assert (found.chosen is None) == waits


def test_preemption_policy_never_is_reported_without_nodes() -> None:
    algorithm = _algorithm(post_filters=("DefaultPreemption",))
    algorithm.table.add_node(make_node("n"))
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "none"}}]
    for policy, text in (
        ("Never", "preemption: not eligible due to preemptionPolicy=Never."),
        ("", "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."),
    ):
        spec = {"volumes": volumes, "preemptionPolicy": policy}
        result = algorithm.schedule(_info(algorithm, f"p{policy}", priority=9, spec=spec))
        algorithm.preempt(result)
        assert result.message == (
            f'0/1 nodes are available: persistentvolumeclaim "none" not found. {text}'
        )


def test_an_excluded_nominated_node_is_given_up() -> None:
    """Upstream: default_preemption.go PodEligibleToPreemptOthers(), of a node without a status."""
    algorithm = _algorithm()
    for name in ("a", "n"):
        algorithm.table.add_node(make_node(name, cpu="1"))
    _place(algorithm, "low", "a", cpu="1")
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    old = make_pod("old", node="n", cpu="1", status={"conditions": [condition]})
    leaving = old.with_metadata(deletionTimestamp="2026-01-01T00:00:00Z")
    info = PodInfo(leaving, algorithm.profile.resource_rules)
    algorithm.table.add_pod(algorithm.table.rows["n"], info)
    field = {"key": "metadata.name", "operator": "In", "values": ["a"]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    spec, status = {"affinity": affinity}, {"nominatedNodeName": "n"}
    pod = _info(algorithm, "p", cpu="1", priority=9, spec=spec, status=status)
    found = algorithm.preempt(algorithm.schedule(pod))
    assert found is not None
    assert found.chosen is not None
    assert found.chosen.node == "a"


def test_enough_is_counted_of_prefiltered_nodes_alone() -> None:
    """Upstream: findNodesThatPassFilters(), numFeasibleNodesToFind()."""
    algorithm = _algorithm()
    for number in range(500):
        algorithm.table.add_node(make_node(f"n{number:03d}"))
    terms = [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [f"n{number:03d}"]}]}
        for number in range(200)
    ]
    required = {"nodeSelectorTerms": terms}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    result = algorithm.schedule(_info(algorithm, "p", spec={"affinity": affinity}))
    # 49% of 200 is less than the least that is looked for; of 500, 46% were more than there are.
    assert result.feasible == 100


@pytest.mark.parametrize(("share", "expected"), [(10, 5), (20, 10)])
def test_the_number_of_candidates_depends_on_potential_nodes(share: int, expected: int) -> None:
    """Upstream: default_preemption.go calculateNumCandidates()."""
    rules = replace(COLUMN_RULES, candidate_percentage=share, min_candidates=5)
    profile = replace(PROFILES["v1.34"], preemption=rules)
    algorithm = SchedulingAlgorithm(profile, Handle(), ties=Stream(7))
    for number in range(100):
        name, small = f"n{number:02d}", number < 50
        algorithm.table.add_node(make_node(name, cpu="2" if small else "1"))
        _place(algorithm, f"low-{number}", name, cpu="1")
    found = algorithm.preempt(algorithm.schedule(_info(algorithm, "p", cpu="2", priority=1)))
    assert found is not None
    assert len(found.candidates) == expected


@pytest.mark.parametrize("many_rows", [1, 10**9])
def test_violating_candidates_are_limited_to_the_wanted_number(
    many_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In columns and one by one. Upstream: preemption.go newCandidateList()."""
    monkeypatch.setattr(preemption, "_MANY_ROWS", many_rows)
    algorithm = SchedulingAlgorithm(PROFILES["v1.34"], Handle(), ties=Stream(7))
    algorithm.handle.listers.put(make_budget(0))
    for number in range(120):
        algorithm.table.add_node(make_node(f"n{number:03d}", cpu="1"))
        _place(algorithm, f"low-{number}", f"n{number:03d}", cpu="1", labels={"app": "db"})
    found = algorithm.preempt(algorithm.schedule(_info(algorithm, "p", cpu="1", priority=1)))
    assert found is not None
    assert len(found.candidates) == 100


def test_hopes_outlast_a_profile_without_post_filters() -> None:
    """Upstream: schedule_one.go schedulingCycle(), a ScheduleResult without nominatingInfo."""
    for asked in ((), ("DynamicResources",)):
        algorithm = _algorithm(post_filters=asked)
        algorithm.table.add_node(make_node("n", cpu="1"))
        found = algorithm.preempt(algorithm.schedule(_info(algorithm, "p", cpu="2")))
        assert found is not None
        assert not found.clears


def test_v1_16_looks_at_the_claims_before_the_nodes() -> None:
    """Upstream: v1.16 Schedule(), podPassesBasicChecks()."""
    algorithm = _algorithm("v1.16")
    claimed = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}
    result = algorithm.schedule(_info(algorithm, "p", spec=claimed))
    assert result.message == 'persistentvolumeclaim "c" not found'
    assert algorithm.schedule(_info(algorithm, "q")).message.startswith("no nodes available")


@pytest.mark.parametrize(("profile", "fits"), [("v1.34", True), ("v1.20", False), ("v1.16", False)])
def test_anti_affinity_of_a_nominated_pod_counts(profile: str, fits: bool) -> None:
    """Since PreFilter can skip InterPodAffinity, it is not told. Upstream: addNominatedPods()."""
    algorithm = _algorithm(profile)
    algorithm.table.add_node(make_node("n", labels={"host": "n"}))
    term = {"topologyKey": "host", "labelSelector": {"matchLabels": {"app": "x"}}}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    spec = {"affinity": {"podAntiAffinity": required}}
    algorithm.nominated.add("n", _info(algorithm, "first", priority=10, spec=spec))
    for explain in (True, False):
        pod = _info(algorithm, "p", labels={"app": "x"})
        result = algorithm.schedule(pod, explain=explain, by_columns=not explain)
        assert (result.result == SCHEDULED) == fits
        assert algorithm.schedule(_info(algorithm, "q"), explain=explain).node == "n"


@pytest.mark.parametrize(("profile", "fits"), [("v1.34", True), ("v1.20", False), ("v1.16", False)])
def test_old_versions_compare_what_the_pod_never_requests(profile: str, fits: bool) -> None:
    """Upstream: PodFitsResources() (v1.16), fitsRequest() (v1.20)."""
    algorithm = _algorithm(profile)
    algorithm.table.add_node(make_node("n", cpu="1"))
    _place(algorithm, "big", "n", cpu="2")
    for explain in (True, False):
        result = algorithm.schedule(_info(algorithm, "p", memory="1Gi"), explain=explain)
        assert (result.result == SCHEDULED) == fits
        if not fits:
            assert result.message == "0/1 nodes are available: 1 Insufficient cpu."
        assert algorithm.schedule(_info(algorithm, "nothing"), explain=explain).node == "n"


@pytest.mark.parametrize(
    ("profile", "waits"), [("v1.34", False), ("v1.20", False), ("v1.16", True)]
)
def test_a_hopeless_nominated_node_allows_preemption_again(profile: str, waits: bool) -> None:
    """Not in v1.16. Upstream: podEligibleToPreemptOthers()."""
    algorithm = _algorithm(profile)
    algorithm.table.add_node(make_node("a", cpu="1", unschedulable=True))
    algorithm.table.add_node(make_node("b", cpu="1"))
    going = make_pod("going", node="a", cpu="1")
    going = going.with_metadata(deletionTimestamp="2026-01-01T00:00:00Z")
    info = PodInfo(going, algorithm.profile.resource_rules)
    algorithm.table.add_pod(algorithm.table.rows["a"], info)
    _place(algorithm, "low", "b", cpu="1")
    high = _info(algorithm, "high", cpu="1", priority=9, status={"nominatedNodeName": "a"})
    found = algorithm.preempt(algorithm.schedule(high))
    assert found is not None
    assert (found.chosen is None) == waits


def test_v1_20_does_not_preempt_after_a_prefilter_rejection() -> None:
    """Upstream: v1.20 findNodesThatFitPod(), a PreFilter status is every node's."""
    algorithm = _algorithm("v1.20")
    algorithm.table.add_node(make_node("n"))
    _place(algorithm, "low", "n")
    claimed = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "none"}}]}
    found = algorithm.preempt(algorithm.schedule(_info(algorithm, "p", priority=9, spec=claimed)))
    assert found is not None
    assert found.candidates == []

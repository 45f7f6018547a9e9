"""What must always hold, over random clusters (DESIGN, what must hold 3)."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from engine.cluster.checks.cluster_checks import cluster_findings
from engine.cluster.cluster import Cluster
from engine.kernel.units import MILLISECOND, SECOND
from tests.properties.clusters import random_scenario
from tests.properties.examples import examples

UNTIL = 60 * SECOND
LANES = {"gated", "active", "backoff", "unschedulable", "in_flight"}


@examples(40)
@given(st.integers(0, 10_000))
def test_no_node_is_over_committed_at_any_instant(seed: int) -> None:
    cluster = Cluster.create(random_scenario(seed), seed=seed)
    while cluster.now < UNTIL and cluster.next_at is not None:
        cluster.advance(UNTIL, stop="event")
        cluster.take()
        for entity, shown in cluster.view().items():
            if entity.startswith("node/"):
                for name, amount in shown.get("requested", {}).items():
                    assert amount <= shown["allocatable"].get(name, 0), (seed, entity, name)


@examples(40)
@given(st.integers(0, 10_000))
def test_every_pod_is_in_exactly_one_place(seed: int) -> None:
    cluster = Cluster.create(random_scenario(seed), seed=seed)
    cluster.advance(2 * SECOND)
    while cluster.now < UNTIL and cluster.next_at is not None:
        cluster.advance(UNTIL, stop="cycle")
        cluster.take()
        for entity, shown in cluster.view().items():
            if entity.startswith("pod/") and "first_queued" in shown:
                places = ("queue" in shown) + ("cache" in shown)
                assert places == 1, (seed, entity, shown)
                assert shown.get("queue", "active") in LANES


@examples(60)
@given(st.integers(0, 10_000))
def test_no_volume_is_bound_to_two_claims(seed: int) -> None:
    cluster = Cluster.create(random_scenario(seed), seed=seed)
    cluster.advance(UNTIL)
    cluster.take()
    view = cluster.view()
    claims = {entity: shown for entity, shown in view.items() if entity.startswith("claim/")}
    named = Counter(shown["volume"] for shown in claims.values() if "volume" in shown)
    assert all(count == 1 for count in named.values())
    for entity, shown in claims.items():
        if shown.get("phase") == "Bound":
            assert view[f"volume/{shown['volume']}"]["claim"] == entity.removeprefix("claim/")


@examples(40)
@given(st.integers(0, 10_000))
def test_a_quiet_runs_cache_equals_the_store(seed: int) -> None:
    cluster = Cluster.create(random_scenario(seed), seed=seed)
    cluster.advance(UNTIL)
    # What was written last is still on its way to the scheduler's watches.
    cluster.advance(UNTIL + 10 * MILLISECOND)
    assert cluster_findings(cluster) == []

"""What must hold whatever goes wrong, over random clusters with random faults of every kind."""

from hypothesis import given
from hypothesis import strategies as st

from engine.cluster.checks.cluster_checks import cluster_findings
from engine.cluster.cluster import Cluster
from engine.kernel.recorder import Event
from engine.kernel.units import MINUTE, SECOND
from tests.properties.broken import UNTIL, broken_scenario
from tests.properties.examples import examples
from tests.properties.rules import (
    Detachments,
    bound_twice,
    held_without_reason,
    mounted_in_vain,
    unmounted_without_reason,
)

PROFILES = ("v1.34", "v1.34", "v1.20", "v1.16", "v1.11")
# Before 1.21 the attach/detach controller forgot at a restart what it was about to attach or detach;
# a volume could then stay attached to a node for ever, and be refused to every other.
FORGETFUL = ("attach-detach", "kube-controller-manager")


# This long at the end nothing may be written any more. Loops still tick, and what cannot be done is
# tried again, and told again, at ever longer intervals.
REST = 15 * MINUTE


def created(seed: int, size: int = 1) -> Cluster:
    """The cluster of that seed, under one of the profiles."""
    scenario = broken_scenario(seed, size)
    restarted = {(step.patch or {}).get("restart") for step in scenario.steps}
    forgets = not restarted.isdisjoint(FORGETFUL)
    profile = "v1.34" if forgets else PROFILES[seed % len(PROFILES)]
    return Cluster.create(scenario, profile=profile, seed=seed)


def played(seed: int, size: int = 1) -> tuple[Cluster, list[Event]]:
    """A run up to where it has to be at rest, looked at after every event."""
    cluster = created(seed, size)
    events: list[Event] = []
    detachments = Detachments()
    while cluster.now < UNTIL - REST:
        cluster.advance(UNTIL - REST, stop="event")
        new = cluster.take().events
        events += new
        assert detachments.hurt(cluster, new) == [], seed
        assert bound_twice(cluster) == [], seed
    return cluster, events


@examples(25)
@given(st.integers(0, 1_000_000))
def test_faults_break_no_rule_and_no_run(seed: int) -> None:
    cluster, events = played(seed)
    written = cluster.store.revision
    cluster.advance(UNTIL)
    assert cluster.store.revision == written, seed
    assert mounted_in_vain(cluster) == [], seed
    assert unmounted_without_reason(cluster, events) == [], seed
    assert held_without_reason(cluster) == [], seed
    assert cluster_findings(cluster) == [], seed


@examples(25)
@given(st.integers(0, 1_000_000))
def test_faults_leave_the_shown_volumes_true(seed: int) -> None:
    cluster = created(seed)
    while cluster.now < 2 * MINUTE:
        cluster.advance(cluster.now + SECOND // 3)
        cluster.take()
        shown, held = cluster.view(), cluster.held_view()
        for entity in (node.id for node in cluster.store.objects("Node")):
            for name in ("volumes", "attachments"):
                assert shown[entity].get(name) == held[entity].get(name), (seed, entity)

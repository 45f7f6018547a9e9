"""What a binding that fails leaves behind."""

from kscope.sim.units import MILLISECOND
from scheduling.engine.cluster import Cluster
from scheduling.engine.commands import Command
from tests.scheduling_engine.scenes import node, node_of, played, pod, scene


def test_the_room_of_a_pod_that_was_not_bound_wakes_whoever_waits_for_room() -> None:
    objects = (node("a", cpu="1"), pod("first"), pod("second"))
    cluster = Cluster.create(scene(*objects), tie_break="name")
    fault = {"fail": "write", "kind": "Pod", "by": "scheduler", "times": 1}
    # The condition of the second pod is written, the binding of the first is not yet.
    cluster.advance(6 * MILLISECOND)
    assert cluster.apply(Command(verb="fault", patch=fault)).applied
    played(cluster, 30)
    events = cluster.take().events
    forgotten = [one.seq for one in events if one.kind == "PodForgotten"]
    assert len(forgotten) == 1
    woken = [
        one.seq
        for one in events
        if one.object == "pod/default/second" and one.message == "AssignedPodDelete"
    ]
    assert woken
    assert woken[0] > forgotten[0]
    assert sorted((node_of(cluster, "first"), node_of(cluster, "second"))) == ["", "a"]

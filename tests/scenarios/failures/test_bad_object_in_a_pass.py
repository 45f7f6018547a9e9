"""One object with which a periodic pass or a timer fails holds up no other."""

from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.controllers.garbage_collection.pod_gc import PodGarbageCollector
from engine.controllers.node_lifecycle.taint_manager import TaintManager
from engine.input.scenario import Scenario, Step
from engine.kernel.boundary import FAILED
from engine.kernel.units import MINUTE
from tests.scenarios.cases import at, node, pod, running

_TAINT = at(5, "patch", "node/n", patch={"spec": {"taints": [{"key": "a", "effect": "NoExecute"}]}})
_DELETE = at(5, "delete", "node/n")


@pytest.mark.usefixtures("quiet_boundary")
@pytest.mark.parametrize(
    ("owner", "method", "component", "step"),
    [
        (TaintManager, "_delete_marked", "taint-controller", _TAINT),
        (TaintManager, "_decide", "taint-controller", _TAINT),
        (PodGarbageCollector, "_delete", "pod-garbage-collector", _DELETE),
    ],
)
def test_good_pod_goes_beside_a_bad_one(
    owner: type, method: str, component: str, step: Step, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = getattr(owner, method)

    def fail_for_one(self: Any, one: Any, *args: Any) -> Any:
        if one.name == "bad":
            raise AttributeError("planted")
        return original(self, one, *args)

    monkeypatch.setattr(owner, method, fail_for_one)
    pods = (running(pod("bad"), "n"), running(pod("good"), "n"))
    objects = (node("n", "z"), node("other", "z"), *pods)
    cluster = Cluster.create(
        Scenario(name="pass", objects=objects, steps=(step,), until=5 * MINUTE)
    )
    cluster.advance(5 * MINUTE)
    good = cluster.store.find("Pod", "default/good")
    assert good is None or good.deletion_timestamp
    bad = cluster.store.find("Pod", "default/bad")
    assert bad
    assert not bad.deletion_timestamp
    found = [event for event in cluster.take().events if event.kind == FAILED]
    assert {(each.object, each.component) for each in found} == {("pod/default/bad", component)}
    assert 1 < len(found) < 20

"""What the API server fills in, where decisions depend on it."""

from typing import Any

import pytest

from engine.api_server.admission.admission import Admission
from engine.api_server.store.store import ObjectStore
from engine.kernel.errors import Forbidden
from engine.kernel.loop import EventLoop
from engine.kernel.recorder import Recorder
from engine.objects.objects import ApiObject, from_manifest
from engine.scheduler.cycle.decisions_mode.stored_objects import admitted
from engine.versions.registry import DEFAULT

Manifest = dict[str, Any]


def _admitted(obj: Manifest, *classes: Manifest) -> ApiObject:
    loop = EventLoop()
    store = ObjectStore(loop, Recorder(loop))
    for one in classes:
        store.create(from_manifest(one), by="test")
    return Admission(store, default_tolerations=True, rules=DEFAULT.admission).admit(
        from_manifest(obj)
    )


def _named(kind: str, name: str, **fields: Any) -> Manifest:
    return {"kind": kind, "metadata": {"name": name}, **fields}


def _pod(*containers: Manifest, **spec: Any) -> Manifest:
    listed = list(containers) or [{"name": "c"}]
    return _named("Pod", "p", spec={"containers": listed, **spec})


def _default_class(name: str) -> Manifest:
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
    metadata = {"name": name, "annotations": annotations}
    return {"kind": "StorageClass", "metadata": metadata, "provisioner": "x"}


def test_pods_without_a_class_get_the_default_policy() -> None:
    told = {"value": 5, "globalDefault": True, "preemptionPolicy": "Never"}
    spec = _admitted(_pod(), _named("PriorityClass", "low", **told)).spec
    given = (spec["priority"], spec["priorityClassName"], spec["preemptionPolicy"])
    assert given == (5, "low", "Never")


def test_given_priority_does_not_replace_the_policy() -> None:
    told = _named("PriorityClass", "high", value=5, preemptionPolicy="Never")
    spec = _admitted(_pod(priority=5, priorityClassName="high"), told).spec
    assert spec["preemptionPolicy"] == "Never"


def test_a_runtime_class_says_where_its_pods_run() -> None:
    toleration = {"key": "gvisor", "operator": "Exists"}
    told = {"nodeSelector": {"runtime": "gvisor"}, "tolerations": [toleration]}
    runtime = _named("RuntimeClass", "gvisor", scheduling=told)
    pod = _pod(runtimeClassName="gvisor", nodeSelector={"disk": "ssd"})
    spec = _admitted(pod, runtime).spec
    assert spec["nodeSelector"] == {"disk": "ssd", "runtime": "gvisor"}
    # After those that every pod has.
    assert spec["tolerations"][-1] == toleration
    assert len(spec["tolerations"]) == 3


def test_of_two_tolerations_the_wider_one_is_kept() -> None:
    everything = {"operator": "Exists"}
    runtime = _named("RuntimeClass", "any", scheduling={"tolerations": [everything]})
    own = {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}
    spec = _admitted(_pod(runtimeClassName="any", tolerations=[own]), runtime).spec
    assert spec["tolerations"] == [everything]


def test_pod_on_another_node_than_its_runtime_fails() -> None:
    runtime = _named("RuntimeClass", "r", scheduling={"nodeSelector": {"os": "a"}})
    with pytest.raises(
        Forbidden, match=r"conflict: runtimeClass.scheduling.nodeSelector\[os\] = a"
    ):
        _admitted(_pod(runtimeClassName="r", nodeSelector={"os": "b"}), runtime)


@pytest.mark.parametrize(
    ("status", "expected"), [({}, "standard"), ({"status": {"phase": "Bound"}}, None)]
)
def test_claim_that_names_its_volume_gets_default_class(
    status: Manifest, expected: str | None
) -> None:
    claim = _named("PersistentVolumeClaim", "c", spec={"volumeName": "v"}, **status)
    assert _admitted(claim, _default_class("standard")).spec.get("storageClassName") == expected


def test_last_of_classes_without_time_is_the_newest() -> None:
    claim = _named("PersistentVolumeClaim", "c", spec={})
    objects = [_default_class("b"), _default_class("a"), _default_class("c"), claim]
    *_, found = admitted(map(from_manifest, objects))
    assert found.spec["storageClassName"] == "c"


@pytest.mark.parametrize(
    ("containers", "resources", "requests"),
    [
        ([{}], {"limits": {"cpu": "2"}}, {"cpu": "2"}),
        ([{"cpu": "1"}, {"cpu": "500m"}], {"limits": {"cpu": "2"}}, {"cpu": "1500m"}),
        ([{"cpu": "1"}], {"requests": {"memory": "1Gi"}}, {"memory": "1Gi"}),
        (
            [{"cpu": "1"}],
            {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1500m"}},
            {"cpu": "1500m", "memory": "1Gi"},
        ),
    ],
)
def test_pod_level_requests_come_from_containers_or_limits(
    containers: list[Manifest], resources: Manifest, requests: Manifest
) -> None:
    listed = [
        {"name": f"c{number}", "resources": {"requests": asked}}
        for number, asked in enumerate(containers)
    ]
    spec = _admitted(_pod(*listed, resources=resources)).spec
    assert spec["resources"]["requests"] == requests


def test_huge_pages_of_the_containers_are_the_pods() -> None:
    pages = {"hugepages-2Mi": "4Mi"}
    container = {"name": "c", "resources": {"limits": pages}}
    spec = _admitted(_pod(container, resources={"limits": {"cpu": "1"}})).spec
    assert spec["resources"]["limits"] == {"cpu": "1", "hugepages-2Mi": "4Mi"}
    assert spec["resources"]["requests"] == {"cpu": "1", "hugepages-2Mi": "4Mi"}

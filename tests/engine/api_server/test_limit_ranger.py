"""LimitRanges fill in requests and limits, and refuse what is out of bounds.

The cases follow the branches of upstream's plugin/pkg/admission/limitranger/admission.go.
"""

from typing import Any

import pytest

from engine.api_server.admission.limit_ranger import ANNOTATION, LimitRanger, with_item_defaults
from engine.api_server.store.store import ObjectStore
from engine.kernel.errors import Forbidden
from engine.kernel.loop import EventLoop
from engine.kernel.recorder import Recorder
from engine.objects.objects import ApiObject, Pod, from_manifest
from engine.versions.registry import VERSIONS

Json = dict[str, Any]


def _limit_range(*items: Json, name: str = "bounds") -> ApiObject:
    metadata = {"name": name, "namespace": "test"}
    spec = {"limits": [*items]}
    return with_item_defaults(
        from_manifest({"kind": "LimitRange", "metadata": metadata, "spec": spec})
    )


def _pod(*containers: Json, init: list[Json] | None = None) -> Pod:
    named = [{"name": f"c{place}", "resources": each} for place, each in enumerate(containers)]
    spec: Json = {"containers": named}
    if init:
        spec["initContainers"] = [
            {"name": f"i{place}", "resources": each} for place, each in enumerate(init)
        ]
    return Pod({"kind": "Pod", "metadata": {"name": "p", "namespace": "test"}, "spec": spec})


def _asks(requests: Json | None = None, limits: Json | None = None) -> Json:
    return {"requests": requests or {}, "limits": limits or {}}


def _ranger(*limit_ranges: ApiObject, profile: str = "v1.34") -> LimitRanger:
    loop = EventLoop()
    store = ObjectStore(loop, Recorder(loop))
    for each in limit_ranges:
        store.create(each, by="test")
    return LimitRanger(store, VERSIONS[profile].admission)


def _refusal(item: Json, obj: ApiObject, profile: str = "v1.34") -> str:
    """Why *obj* is refused, without the words that name it; "" when it is not."""
    try:
        _ranger(_limit_range(item), profile=profile).check(obj)
    except Forbidden as refused:
        return str(refused).partition(" is forbidden: ")[2]
    return ""


def _container(**bounds: Json) -> Json:
    return {"type": "Container", **bounds}


def _of_pod(**bounds: Json) -> Json:
    return {"type": "Pod", **bounds}


@pytest.mark.parametrize(
    ("item", "pod"),
    [
        (_container(min={"cpu": "50m"}), _pod(_asks({"cpu": "100m"}))),
        (_container(min={"memory": "50Mi"}), _pod(_asks({"memory": "50Mi"}))),
        (_container(max={"cpu": "200m"}), _pod(_asks({"cpu": "100m"}, {"cpu": "200m"}))),
        (
            _container(maxLimitRequestRatio={"cpu": "2"}),
            _pod(_asks({"cpu": "1"}, {"cpu": "2"})),
        ),
        (_of_pod(min={"cpu": "100m"}), _pod(_asks({"cpu": "75m"}), _asks({"cpu": "75m"}))),
        (
            _of_pod(max={"memory": "100Mi"}),
            _pod(_asks({}, {"memory": "40Mi"}), _asks({}, {"memory": "60Mi"})),
        ),
        (
            _of_pod(maxLimitRequestRatio={"memory": "1.5"}),
            _pod(_asks({"memory": "100Mi"}, {"memory": "150Mi"})),
        ),
        (_of_pod(max={"cpu": "1"}), _pod(_asks({}, {"cpu": "1"}), init=[_asks({}, {"cpu": "1"})])),
    ],
)
def test_pod_within_its_bounds_is_allowed(item: Json, pod: Pod) -> None:
    assert _refusal(item, pod) == ""


@pytest.mark.parametrize(
    ("item", "pod", "text"),
    [
        (
            _container(min={"cpu": "50m"}),
            _pod(_asks()),
            "minimum cpu usage per Container is 50m.  No request is specified",
        ),
        (
            _container(min={"cpu": "50m"}),
            _pod(_asks({"cpu": "40m"})),
            "minimum cpu usage per Container is 50m, but request is 40m",
        ),
        (
            _container(min={"cpu": "50m"}),
            _pod(_asks({"cpu": "60m"}, {"cpu": "40m"})),
            "minimum cpu usage per Container is 50m, but limit is 40m",
        ),
        (
            _container(max={"memory": "1Gi"}),
            _pod(_asks({"memory": "100Mi"})),
            "maximum memory usage per Container is 1Gi.  No limit is specified",
        ),
        (
            _container(max={"memory": "1Gi"}),
            _pod(_asks({"memory": "100Mi"}, {"memory": "1536Mi"})),
            "maximum memory usage per Container is 1Gi, but limit is 1536Mi",
        ),
        (
            _container(max={"cpu": "1"}),
            _pod(_asks({"cpu": "2"}, {"cpu": "1"})),
            "maximum cpu usage per Container is 1, but request is 2",
        ),
        (
            _container(maxLimitRequestRatio={"cpu": "5"}),
            _pod(_asks({"cpu": "1"}, {"cpu": "10"})),
            "cpu max limit to request ratio per Container is 5, but provided ratio is 10.000000",
        ),
        (
            _container(maxLimitRequestRatio={"cpu": "5"}),
            _pod(_asks({}, {"cpu": "1"})),
            "cpu max limit to request ratio per Container is 5, but no request is specified or "
            "request is 0",
        ),
        (
            _container(maxLimitRequestRatio={"cpu": "5"}),
            _pod(_asks({"cpu": "1"})),
            "cpu max limit to request ratio per Container is 5, but no limit is specified or "
            "limit is 0",
        ),
        (
            _of_pod(max={"cpu": "200m"}),
            _pod(_asks({}, {"cpu": "150m"}), _asks({}, {"cpu": "150m"})),
            "maximum cpu usage per Pod is 200m, but limit is 300m",
        ),
        (
            _of_pod(max={"cpu": "1"}),
            _pod(_asks({}, {"cpu": "1"}), init=[_asks({}, {"cpu": "2"})]),
            "maximum cpu usage per Pod is 1, but limit is 2",
        ),
        (
            _container(min={"cpu": "50m", "memory": "1Gi"}),
            _pod(_asks(), _asks()),
            "[minimum cpu usage per Container is 50m.  No request is specified, "
            "minimum memory usage per Container is 1Gi.  No request is specified]",
        ),
    ],
)
def test_pod_out_of_bounds_is_refused(item: Json, pod: Pod, text: str) -> None:
    assert _refusal(item, pod) == text
    if not text.startswith("["):
        assert _refusal(item, pod, "v1.11") == f"{text}."


def test_open_limit_counts_as_none_before_v1_29() -> None:
    pod = _pod(_asks({}, {"cpu": "1"}), _asks())
    item = _of_pod(max={"cpu": "2"})
    assert _refusal(item, pod) == ""
    assert _refusal(item, pod, "v1.20") == "maximum cpu usage per Pod is 2.  No limit is specified"


@pytest.mark.parametrize(
    ("bounds", "text"),
    [
        ({"min": {"storage": "1Gi"}}, ""),
        (
            {"min": {"storage": "20Gi"}},
            "minimum storage usage per PersistentVolumeClaim is 20Gi, but request is 10Gi",
        ),
        (
            {"max": {"storage": "5Gi"}},
            "maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 10Gi",
        ),
    ],
)
def test_claims_are_held_to_their_bounds(bounds: Json, text: str) -> None:
    spec = {"resources": {"requests": {"storage": "10Gi"}}}
    metadata = {"name": "c", "namespace": "test"}
    claim = from_manifest({"kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec})
    assert _refusal({"type": "PersistentVolumeClaim", **bounds}, claim) == text


def test_refusal_names_the_resource() -> None:
    ranger = _ranger(_limit_range(_container(max={"cpu": "1"})))
    with pytest.raises(Forbidden, match='^pods "p" is forbidden: maximum cpu'):
        ranger.check(_pod(_asks({}, {"cpu": "2"})))


def test_item_defaults_follow_from_the_bounds() -> None:
    item = _container(
        max={"cpu": "2"}, min={"memory": "1Mi", "cpu": "1m"}, default={"memory": "1Gi"}
    )
    (filled,) = _limit_range(item).spec["limits"]
    assert filled["default"] == {"cpu": "2", "memory": "1Gi"}
    assert filled["defaultRequest"] == {"cpu": "2", "memory": "1Gi"}
    (other,) = _limit_range(_of_pod(max={"cpu": "2"})).spec["limits"]
    assert "default" not in other


def test_defaults_fill_only_what_is_missing() -> None:
    item = _container(default={"cpu": "2", "memory": "2Gi"}, defaultRequest={"cpu": "1"})
    pod = _pod(_asks({"cpu": "3"}, {"cpu": "3"}), init=[{}])
    filled = _ranger(_limit_range(item)).with_defaults(pod)
    assert filled.spec["containers"][0]["resources"] == {
        "requests": {"cpu": "3", "memory": "2Gi"},
        "limits": {"cpu": "3", "memory": "2Gi"},
    }
    assert filled.annotations[ANNOTATION] == (
        "LimitRanger plugin set: memory request for container c0; memory limit for container c0; "
        "cpu, memory request for init container i0; cpu, memory limit for init container i0"
    )


def test_pod_with_everything_set_is_left_alone() -> None:
    pod = _pod(_asks({"cpu": "1"}, {"cpu": "1"}))
    item = _container(default={"cpu": "2"})
    assert _ranger(_limit_range(item)).with_defaults(pod) is pod

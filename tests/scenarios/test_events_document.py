"""docs/events.md names what is written: every attribute of the view state, every kind of event."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from engine.cluster.cluster import Cluster
from engine.input.loader import load_paths
from engine.input.scenario import Scenario, Step
from engine.kernel.recorder import Event
from engine.kernel.units import SECOND
from tests.properties.broken import broken_scenario
from tests.scenarios.played import FOLDER

_ROOT = Path(__file__).parents[2]
_TEXT = (_ROOT / "docs" / "events.md").read_text()
_PROFILES = ("v1.34", "v1.20", "v1.16", "v1.11")
_OTHER = "any other kind"
_REFUSED = {
    "status": {
        "conditions": [
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "Unschedulable",
                "message": "none fits",
            }
        ]
    }
}
# What a write is called that has no better name.
_PLAIN = re.compile(
    r"[A-Z]\w*?(Created|Updated|StatusUpdated|Deleted|Terminating|Adopted|Released|Stripped)"
)
_PUT_TOGETHER = re.compile(r"^(Pod|Claim|Volume)")


def _rows(heading: str) -> dict[str, str]:
    """The rows of the table that follows *heading*: first cell → second."""
    table = _TEXT.partition(heading)[2].partition("\n\n|")[2].partition("\n\n")[0]
    lines = table.splitlines()[2:]
    return dict(line.strip("| ").split(" | ") for line in lines)


def _documented_attributes() -> dict[str, dict[str, None]]:
    found: dict[str, dict[str, None]] = {}
    for entities, told in _rows("## Entities").items():
        names = re.findall(r"[a-z][a-z_]*", re.sub(r"\([^)]*\)|from [^:;]*:", "", told))
        for entity in re.findall(r"`([a-z]+)", entities) or [_OTHER]:
            found[entity] = dict.fromkeys(names)
    return found


def _documented_kinds() -> set[str]:
    return set(re.findall(r"[A-Z]\w+", " ".join(_rows("## Kinds").values())))


def _scenarios() -> Iterator[tuple[Scenario, str]]:
    for path in sorted(FOLDER.glob("*.yaml")):
        scenario = Scenario.from_load(load_paths([path]), name=path.stem)
        yield scenario, scenario.profile or "v1.34"
    for seed in range(8):
        yield broken_scenario(seed), _PROFILES[seed % 4]
    yield _rare(), "v1.34"


def _rare() -> Scenario:
    """What the others do not show: a default class, two schedulers, a pod that a kubelet refuses."""
    amounts = {"cpu": "1", "memory": "1Gi", "pods": "5"}
    default = {
        "name": "disk",
        "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
    }
    container = {"name": "c", "resources": {"requests": {"cpu": "2"}}}
    spec = {"containers": [container], "nodeName": "n1"}
    return Scenario(
        name="rare",
        objects=(
            {"kind": "StorageClass", "metadata": default, "provisioner": "x"},
            {"kind": "Node", "metadata": {"name": "n1"}, "status": {"allocatable": amounts}},
            {"kind": "Pod", "metadata": {"name": "big", "namespace": "default"}, "spec": spec},
            {
                "kind": "Pod",
                "metadata": {"name": "theirs", "namespace": "default"},
                "spec": {"containers": [{"name": "c"}], "schedulerName": "second"},
            },
            {
                "kind": "Pod",
                "metadata": {"name": "elsewhere", "namespace": "default"},
                "spec": {"containers": [{"name": "c"}], "schedulerName": "outside"},
            },
            {
                "kind": "ResourceQuota",
                "metadata": {"name": "team", "namespace": "default"},
                "spec": {"hard": {"pods": "9"}, "scopes": ["NotTerminating"]},
            },
            {
                "kind": "LimitRange",
                "metadata": {"name": "bounds", "namespace": "default"},
                "spec": {"limits": [{"type": "Container", "max": {"memory": "1Gi"}}]},
            },
            {
                "kind": "ResourceSlice",
                "apiVersion": "resource.k8s.io/v1",
                "metadata": {"name": "everywhere"},
                "spec": {
                    "driver": "disk.example.com",
                    "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
                    "allNodes": True,
                    "devices": [{"name": "d0"}],
                },
            },
            {
                "kind": "ResourceClaim",
                "apiVersion": "resource.k8s.io/v1",
                "metadata": {"name": "held", "namespace": "default", "finalizers": ["x.com/y"]},
                "spec": {
                    "devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "x"}}]}
                },
            },
        ),
        schedulers=(
            {"name": "default-scheduler"},
            {"name": "second", "replicas": 2},
            {"name": "outside", "external": True},
        ),
        steps=(
            Step(at=SECOND, verb="stop_scheduler", object="scheduler/second-0"),
            Step(at=SECOND, verb="delete", object="resourceclaim/default/held"),
            Step(at=SECOND, verb="patch", object="pod/default/elsewhere", patch=_REFUSED),
        ),
        until=60 * SECOND,
    )


@cache
def _events() -> list[Event]:
    found: list[Event] = []
    for scenario, profile in _scenarios():
        cluster = Cluster.create(scenario, profile=profile, seed=1)
        cluster.advance(scenario.until)
        found += cluster.take().events
    return found


def _written_attributes() -> dict[str, dict[str, None]]:
    documented = _documented_attributes()
    found: dict[str, dict[str, None]] = {}
    for event in _events():
        for entity, changes in (event.changes or {}).items():
            prefix = entity.partition("/")[0]
            name = prefix if prefix in documented else _OTHER
            found.setdefault(name, {}).update(dict.fromkeys(changes or ()))
    return found


def test_every_attribute_written_is_documented() -> None:
    documented = _documented_attributes()
    missing = {
        f"{entity}: {name}"
        for entity, names in _written_attributes().items()
        for name in names
        if name not in documented[entity]
    }
    assert missing == set()


def test_every_documented_attribute_is_written() -> None:
    written = _written_attributes()
    unwritten = {
        f"{entity}: {name}"
        for entity, names in _documented_attributes().items()
        for name in names
        if name not in written.get(entity, {})
    }
    assert unwritten == set()


def test_every_kind_recorded_is_documented() -> None:
    own = {event.kind for event in _events() if not (event.data or {}).get("event")}
    assert {kind for kind in own if not _PLAIN.fullmatch(kind)} - _documented_kinds() == set()


def test_every_documented_kind_is_in_the_engines() -> None:
    sources = "".join(path.read_text() for path in (_ROOT / "engine").rglob("*.py"))
    words = set(re.findall(r'[A-Z]\w+(?=")', sources))
    # Some are put together from the kind of object and a phase.
    whole = {kind for kind in _documented_kinds() if kind in words}
    parts = {kind for kind in _documented_kinds() if _PUT_TOGETHER.sub("", kind) in words}
    assert _documented_kinds() - whole - parts == set()

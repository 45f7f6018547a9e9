"""What files say of a cluster: its instant, its Events, and which objects it has by name."""

from typing import Any

import pytest

from engine.diagnosis.observed.evidence import Evidence
from engine.input.loader import load_files
from engine.versions.shown.choices import proposed_version
from tests.builders.nodes import node
from tests.builders.pods import pod
from tests.engine.diagnosis.triage.clusters import ELEVEN, NOON, event

Manifest = dict[str, Any]


def _instant(metadata: Manifest, **fields: Any) -> str:
    made = {**pod("a"), **fields}
    made["metadata"] = {**made["metadata"], **metadata}
    return Evidence([made]).instant


def test_instant_is_the_newest_time_in_files() -> None:
    waiting = pod("a")
    told = event(waiting, "FailedScheduling", "0/1 nodes", lastTimestamp=NOON)
    assert Evidence([waiting, told]).instant == NOON
    assert Evidence([waiting, told], "2026-11-20T13:00:00Z").instant == "2026-11-20T13:00:00Z"


def test_series_of_new_events_give_instant_and_count() -> None:
    about = {"kind": "Pod", "namespace": "default", "name": "a"}
    series = {"count": 9, "lastObservedTime": "2026-11-20T12:00:00.250000Z"}
    found = Evidence(
        [
            {
                "apiVersion": "events.k8s.io/v1",
                "kind": "Event",
                "metadata": {"name": "a.1", "namespace": "default"},
                "regarding": about,
                "eventTime": "2026-11-20T11:00:00.000000Z",
                "series": series,
                "reason": "FailedScheduling",
                "note": "0/1 nodes",
            }
        ]
    )
    (seen,) = found.events(pod("a"))
    assert (seen.count, seen.text) == (9, "FailedScheduling: 0/1 nodes")
    assert found.instant == "2026-11-20T12:00:01Z"


def test_deletion_counts_from_when_it_was_asked() -> None:
    leaving = {"deletionTimestamp": NOON, "deletionGracePeriodSeconds": 3600}
    assert _instant(leaving) == ELEVEN


def test_container_that_ended_gives_the_instant() -> None:
    ended = {"name": "main", "state": {"terminated": {"reason": "Error", "finishedAt": NOON}}}
    status = {"startTime": ELEVEN, "containerStatuses": [ended]}
    assert _instant({}, status=status) == NOON


@pytest.mark.parametrize("text", ["yesterday", "2026-13-40T00:00:00Z", "9999", 7])
def test_what_is_no_time_gives_no_instant(text: Any) -> None:
    assert (
        _instant({}, status={"conditions": [{"type": "Ready", "lastTransitionTime": text}]}) == ""
    )


def test_managed_fields_leave_their_newest_time_alone() -> None:
    fields = "managedFields: [{time: 2026-11-20T11:00:00Z}, {time: 2026-11-20T12:00:00Z}]"
    text = f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: a, {fields}}}\n"
    loaded = load_files([("a.yaml", text.encode())])
    assert loaded.newest_write == NOON
    assert "managedFields" not in repr(loaded.everything)


def test_config_maps_are_kept_by_name_alone() -> None:
    text = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n"
    for namespace, name in (("a", "settings"), ("kube-system", "cluster-autoscaler-status")):
        text += f"---\napiVersion: v1\nkind: ConfigMap\ndata: {{status: of {name}}}\n"
        text += f"metadata: {{name: {name}, namespace: {namespace}}}\n"
    found = Evidence(load_files([("a.yaml", text.encode())]).everything)
    told = [each.get("data") for each in found.all("ConfigMap")]
    assert told == [None, {"status": "of cluster-autoscaler-status"}]


@pytest.mark.parametrize(
    ("kubelets", "version"),
    [
        (["v1.34.1"], "v1.34"),
        (["v1.34.1", "v1.34.2-eks-1"], "v1.34.9"),
        (["v1.34"], "v1.34.9"),
        (["v1.20.4-gke.1", "v1.19.9"], "v1.20"),
        (["v1.37.0"], "v1.37"),
        (["v1.38.1"], "v1.37"),
        (["v1.29.3"], "v1.34"),
        (["", "unknown"], "v1.36"),
        ([], "v1.36"),
    ],
)
def test_newest_kubelet_proposes_the_version(kubelets: list[str], version: str) -> None:
    assert proposed_version(kubelets) == version


def told(*objects: dict[str, Any], served: str = "") -> tuple[str, list[str]]:
    found = Evidence(objects).versions_told(served)
    return found.source, list(found.versions)


def with_kubelet(name: str, version: str, **labels: str) -> dict[str, Any]:
    found = node(name, labels=labels)
    found["status"]["nodeInfo"] = {"kubeletVersion": version}
    return found


def test_the_version_is_told_by_who_knows_best() -> None:
    master = with_kubelet("m", "v1.34.2", **{"node-role.kubernetes.io/control-plane": ""})
    nodes = [with_kubelet("a", "v1.34.1"), with_kubelet("b", "v1.34.1"), master]
    scheduler = pod("s")
    scheduler["spec"]["containers"][0]["image"] = "registry.k8s.io/kube-scheduler:v1.34.9"
    assert told() == ("", [])
    assert told(*nodes[:2]) == ("kubelets", ["v1.34.1"])
    assert told(*nodes) == ("control-plane", ["v1.34.2"])
    assert told(*nodes, served="v1.34.3") == ("server", ["v1.34.3"])
    assert told(*nodes, scheduler, served="v1.34.3") == ("scheduler", ["v1.34.9"])

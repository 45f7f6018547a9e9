"""Rows of tables. Upstream: pkg/printers/internalversion/printers_test.go, duration_test.go."""

from typing import Any

import pytest

from engine.kernel.units import HOUR, MINUTE, SECOND, timestamp
from kube.resources import SERVED
from kube.status import ApiError
from kube.tables import Rows, human_duration, partial
from tests.kube.served import of_kind

DAY = 24 * HOUR
NOW = DAY

RUNNING = {"ready": True, "restartCount": 3, "state": {"running": {}}}
WAITING = {"restartCount": 3, "state": {"waiting": {"reason": "ContainerWaitingReason"}}}
TERMINATED = {"restartCount": 3, "state": {"terminated": {"reason": "ContainerTerminatedReason"}}}
SIDECAR = {"name": "s", "restartPolicy": "Always"}


def _rows(kind: str, include: str = "None") -> Rows:
    return Rows(of_kind(kind), "v1", NOW, include)


def _cells(kind: str, *, name: str = "a", metadata: Any = None, **parts: Any) -> list[Any]:
    return _rows(kind).row({"metadata": {"name": name, **(metadata or {})}, **parts})["cells"]


def _pod(*statuses: Any, spec: Any = None, metadata: Any = None, **status: Any) -> list[Any]:
    found = {"phase": "podPhase", "containerStatuses": list(statuses), **status}
    given = {"containers": [{"name": "c"}, {"name": "d"}], **(spec or {})}
    return _cells("Pod", metadata=metadata, spec=given, status=found)


@pytest.mark.parametrize(
    ("statuses", "ready", "word"),
    [
        ([RUNNING, {"restartCount": 3}], "1/2", "podPhase"),
        ([RUNNING, WAITING], "1/2", "ContainerWaitingReason"),
        ([WAITING, TERMINATED], "0/2", "ContainerWaitingReason"),
        ([RUNNING, {"ready": True, "restartCount": 3}], "1/2", "podPhase"),
        (
            [{"restartCount": 6, "state": {"terminated": {"exitCode": 3, "signal": 9}}}],
            "0/2",
            "Signal:9",
        ),
        ([{"restartCount": 6, "state": {"terminated": {"exitCode": 3}}}], "0/2", "ExitCode:3"),
    ],
)
def test_containers_make_the_status_of_a_pod(statuses: Any, ready: str, word: str) -> None:
    assert _pod(*statuses)[:5] == ["a", ready, word, "6", "<unknown>"]


def test_reason_overwrites_the_phase() -> None:
    assert _pod(reason="podReason")[2] == "podReason"
    gated = {"type": "PodScheduled", "reason": "SchedulingGated"}
    assert _pod(reason="podReason", conditions=[gated])[2] == "SchedulingGated"


def test_completed_pod_with_a_running_container() -> None:
    completed = {"state": {"terminated": {"reason": "Completed"}}}
    ready = {"type": "Ready", "status": "True"}
    assert _pod(completed, RUNNING)[2] == "NotReady"
    assert _pod(completed, RUNNING, conditions=[ready])[2] == "Running"


@pytest.mark.parametrize(
    ("status", "word"),
    [
        ({"restartCount": 3}, "Init:0/1"),
        ({"state": {"waiting": {"reason": "PodInitializing"}}, "restartCount": 3}, "Init:0/1"),
        ({"state": {"waiting": {"reason": "Pull"}}, "restartCount": 3}, "Init:Pull"),
        ({"state": {"terminated": {"exitCode": 2}}, "restartCount": 3}, "Init:ExitCode:2"),
        (
            {"state": {"terminated": {"exitCode": 2, "reason": "OOMKilled"}}, "restartCount": 3},
            "Init:OOMKilled",
        ),
    ],
)
def test_init_container_holds_the_pod_up(status: Any, word: str) -> None:
    spec = {"initContainers": [{"name": "i"}]}
    row = _pod(RUNNING, spec=spec, initContainerStatuses=[{"name": "i", **status}])
    assert row[1:4] == ["0/2", word, "3"]


def test_finished_init_containers_are_not_counted() -> None:
    done = {"name": "i", "restartCount": 5, "state": {"terminated": {"exitCode": 0}}}
    row = _pod(RUNNING, spec={"initContainers": [{"name": "i"}]}, initContainerStatuses=[done])
    assert row[1:4] == ["1/2", "podPhase", "3"]


def test_sidecars_count_among_the_containers() -> None:
    running = {"name": "s", "restartCount": 2, "started": True, "ready": True, "state": {}}
    row = _pod(
        RUNNING, RUNNING, spec={"initContainers": [SIDECAR]}, initContainerStatuses=[running]
    )
    assert row[1:4] == ["3/3", "podPhase", "8"]


def test_restarts_say_when_the_last_was() -> None:
    ended = {"terminated": {"finishedAt": timestamp(NOW - 3 * MINUTE)}}
    assert _pod({**RUNNING, "lastState": ended})[3] == "3 (3m ago)"


@pytest.mark.parametrize(
    ("status", "word"),
    [
        ({"phase": "Running"}, "Terminating"),
        ({"phase": "Succeeded"}, "Succeeded"),
        ({"phase": "Running", "reason": "NodeLost"}, "Unknown"),
    ],
)
def test_deleted_pod_is_terminating(status: Any, word: str) -> None:
    assert _pod(metadata={"deletionTimestamp": timestamp(0)}, **status)[2] == word


def test_wide_columns_of_a_pod() -> None:
    gates = [{"conditionType": "a"}, {"conditionType": "b"}]
    row = _pod(
        spec={"nodeName": "n1", "readinessGates": gates},
        podIPs=[{"ip": "1.1.1.1"}],
        conditions=[{"type": "a", "status": "True"}],
    )
    assert row[5:] == ["1.1.1.1", "n1", "<none>", "1/2"]
    assert _pod()[5:] == ["<none>"] * 4


def test_row_of_an_ended_pod_is_completed() -> None:
    pod = {"metadata": {"name": "a"}, "spec": {}, "status": {"phase": "Succeeded"}}
    [condition] = _rows("Pod").row(pod)["conditions"]
    assert condition["message"] == "The pod has completed successfully."


def test_node_shows_readiness_and_roles() -> None:
    row = _cells(
        "Node",
        metadata={"labels": {"node-role.kubernetes.io/b": "", "kubernetes.io/role": "a"}},
        spec={"unschedulable": True},
        status={
            "conditions": [{"type": "Ready", "status": "False"}],
            "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
            "nodeInfo": {"kubeletVersion": "v1.36.0"},
        },
    )
    assert row[1:] == [
        "NotReady,SchedulingDisabled",
        "a,b",
        "<unknown>",
        "v1.36.0",
        "10.0.0.1",
        "<none>",
        "<unknown>",
        "<unknown>",
        "<unknown>",
    ]
    assert _cells("Node")[1:3] == ["Unknown", "<none>"]


def test_deployment_shows_its_replicas_and_template() -> None:
    spec = {
        "replicas": 5,
        "selector": {
            "matchLabels": {"foo": "bar"},
            "matchExpressions": [{"key": "env", "operator": "In", "values": ["b", "a"]}],
        },
        "template": {"spec": {"containers": [{"name": "c1", "image": "i1"}, {"name": "c2"}]}},
    }
    status = {"readyReplicas": 1, "updatedReplicas": 2, "availableReplicas": 1}
    assert _cells("Deployment", spec=spec, status=status) == [
        *("a", "1/5", 2, 1, "<unknown>"),
        *("c1,c2", "i1,", "env in (a,b),foo=bar"),
    ]


@pytest.mark.parametrize(
    ("conditions", "metadata", "word"),
    [
        ([], {}, "Running"),
        (["Complete"], {"deletionTimestamp": "x"}, "Complete"),
        (["FailureTarget"], {"deletionTimestamp": "x"}, "Terminating"),
        (["FailureTarget", "Suspended"], {}, "Suspended"),
        (["FailureTarget"], {}, "FailureTarget"),
    ],
)
def test_job_shows_what_became_of_it(conditions: Any, metadata: Any, word: str) -> None:
    found = [{"type": name, "status": "True"} for name in conditions]
    assert _cells("Job", metadata=metadata, status={"conditions": found})[1] == word


def test_job_shows_completions_and_duration() -> None:
    started = {"succeeded": 1, "startTime": timestamp(0)}
    ended = {**started, "completionTime": timestamp(31 * MINUTE)}
    assert _cells("Job", spec={"completions": 2}, status=ended)[2:4] == ["1/2", "31m"]
    assert _cells("Job", spec={"parallelism": 3}, status=started)[2:4] == ["1/1 of 3", "24h"]
    assert _cells("Job")[2:4] == ["0/1", ""]


@pytest.mark.parametrize(
    ("spec", "status", "address"),
    [
        ({"type": "ClusterIP"}, {}, "<none>"),
        ({"type": "NodePort", "externalIPs": ["8.8.8.8"]}, {}, "8.8.8.8"),
        ({"type": "LoadBalancer"}, {}, "<pending>"),
        ({"type": "ExternalName", "externalName": "db"}, {}, "db"),
        (
            {"type": "LoadBalancer", "externalIPs": ["8.8.8.8"]},
            {"loadBalancer": {"ingress": [{"hostname": "h"}, {"ip": "2.2.2.2"}]}},
            "2.2.2.2,h,8.8.8.8",
        ),
    ],
)
def test_service_shows_its_outer_address(spec: Any, status: Any, address: str) -> None:
    assert _cells("Service", spec=spec, status=status)[3] == address


def test_service_shows_its_ports() -> None:
    ports = [{"port": 80}, {"port": 53, "nodePort": 30053, "protocol": "UDP"}]
    assert _cells("Service", spec={"ports": ports})[4] == "80/TCP,53:30053/UDP"


def test_claim_shows_its_volume_once_bound() -> None:
    spec = {"volumeName": "v", "storageClassName": "fast", "volumeMode": "Filesystem"}
    status = {
        "phase": "Bound",
        "accessModes": ["ReadWriteMany", "ReadWriteOnce"],
        "capacity": {"storage": "4Gi"},
    }
    assert _cells("PersistentVolumeClaim", spec=spec, status=status) == [
        *("a", "Bound", "v", "4Gi", "RWO,RWX", "fast", "<unset>", "<unknown>", "Filesystem")
    ]
    assert _cells("PersistentVolumeClaim", status={"phase": "Pending"})[1:5] == [
        "Pending",
        *[""] * 3,
    ]


def test_volume_shows_its_claim() -> None:
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadOnlyMany"],
        "persistentVolumeReclaimPolicy": "Retain",
        "claimRef": {"namespace": "default", "name": "data"},
    }
    assert _cells("PersistentVolume", spec=spec, status={"phase": "Bound"})[1:8] == [
        *("1Gi", "ROX", "Retain", "Bound", "default/data", "", "<unset>")
    ]


def test_default_class_says_so() -> None:
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
    row = _cells("StorageClass", metadata={"annotations": annotations}, provisioner="p")
    assert row[:5] == ["a (default)", "p", "Delete", "Immediate", False]


@pytest.mark.parametrize(
    ("status", "metadata", "state"),
    [
        ({}, {}, "pending"),
        ({}, {"deletionTimestamp": "x"}, "deleted"),
        ({"allocation": {"devices": {}}, "reservedFor": [{}]}, {}, "allocated,reserved"),
    ],
)
def test_resource_claim_shows_its_state(status: Any, metadata: Any, state: str) -> None:
    assert _cells("ResourceClaim", status=status, metadata=metadata)[1] == state


def test_quota_shows_what_is_used() -> None:
    hard = {"limits.cpu": "2", "pods": "4", "requests.memory": "1Gi"}
    row = _cells("ResourceQuota", status={"hard": hard, "used": {"pods": "1"}})
    assert row[1:3] == ["pods: 1/4, requests.memory: 0/1Gi", "limits.cpu: 0/2"]


def test_event_of_the_core_group() -> None:
    row = _cells(
        "Event",
        type="Warning",
        reason="Failed",
        message=" no \n",
        involvedObject={"kind": "Pod", "name": "web", "fieldPath": "spec"},
        source={"component": "kubelet", "host": "n1"},
        firstTimestamp=timestamp(NOW - HOUR),
        lastTimestamp=timestamp(NOW - MINUTE),
        count=6,
    )
    assert row == [
        "60s",
        "Warning",
        "Failed",
        "pod/web",
        "spec",
        "kubelet, n1",
        "no",
        "60m",
        6,
        "a",
    ]


def test_series_of_the_events_group() -> None:
    row = _cells(
        "Event",
        regarding={"kind": "Node"},
        reportingController="scheduler",
        note="once more",
        eventTime=timestamp(NOW - HOUR),
        series={"count": 4, "lastObservedTime": timestamp(NOW)},
    )
    assert row == ["0s", "", "", "node", "", "scheduler", "once more", "60m", 4, "a"]


def test_single_event_counts_as_one() -> None:
    assert _cells("Event", eventTime=timestamp(NOW - SECOND))[7:9] == ["1s", 1]


def test_kind_without_columns_shows_its_creation() -> None:
    table = _rows("LimitRange").head("5")
    assert [one["name"] for one in table["columnDefinitions"]] == ["Name", "Created At"]
    assert _cells("LimitRange", metadata={"creationTimestamp": timestamp(0)})[1] == timestamp(0)


def test_each_row_has_a_cell_for_each_column() -> None:
    for resource in SERVED:
        rows = Rows(resource, "v1", NOW)
        width = len(rows.head("1")["columnDefinitions"])
        assert len(rows.row({"metadata": {"name": "a"}})["cells"]) == width, resource.kind


def test_wide_columns_have_priority_one() -> None:
    table = _rows("Pod").head("812")
    assert table["metadata"] == {"resourceVersion": "812"}
    wide = [one["name"] for one in table["columnDefinitions"] if one["priority"]]
    assert wide == ["IP", "Node", "Nominated Node", "Readiness Gates"]


def test_row_brings_what_is_asked_for() -> None:
    node = {"kind": "Node", "metadata": {"name": "a"}, "spec": {}}
    assert "object" not in _rows("Node").row(node)
    assert _rows("Node", "Object").row(node)["object"] == node
    assert (
        _rows("Node", "Metadata").row(node)["object"]
        == partial(node, "v1")
        == {
            "kind": "PartialObjectMetadata",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": {"name": "a"},
        }
    )
    with pytest.raises(ApiError):
        _rows("Node", "All")


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (-2 * SECOND, "<invalid>"),
        (-SECOND, "0s"),
        (0, "0s"),
        (2 * MINUTE - SECOND, "119s"),
        (2 * MINUTE, "2m"),
        (10 * MINUTE - SECOND, "9m59s"),
        (3 * HOUR - SECOND, "179m"),
        (3 * HOUR, "3h"),
        (8 * HOUR - MINUTE, "7h59m"),
        (2 * DAY - SECOND, "47h"),
        (2 * DAY, "2d"),
        (2 * DAY + HOUR, "2d1h"),
        (8 * DAY, "8d"),
        (2 * 365 * DAY - SECOND, "729d"),
        (2 * 365 * DAY, "2y"),
        (3 * 365 * DAY + 2 * DAY, "3y2d"),
        (9 * 365 * DAY, "9y"),
    ],
)
def test_ages_are_written_as_upstream(duration: int, text: str) -> None:
    assert human_duration(duration) == text


def test_unreadable_timestamp_has_no_age() -> None:
    assert _cells("Namespace", metadata={"creationTimestamp": "yesterday"})[-1] == "<unknown>"


def test_unreadable_field_spoils_its_cell_only() -> None:
    row = _cells("Service", spec={"type": "NodePort", "ports": 5, "externalIPs": [[]]})
    assert row[1:5] == ["NodePort", "<none>", "<unknown>", "<unknown>"]
    assert _pod(spec={"readinessGates": "x"})[:3] == ["a", "<unknown>", "<unknown>"]

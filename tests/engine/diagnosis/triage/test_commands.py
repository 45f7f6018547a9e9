"""Changes of triage as commands: sent to a fork of the run they do what the change says."""

from typing import Any

import pytest

from engine.diagnosis.triage.report import Change, Group
from tests.builders.nodes import node
from tests.builders.pods import pod
from tests.engine.diagnosis.triage.carried_out import placed_by_commands
from tests.engine.diagnosis.triage.clusters import cluster_of, leaving, only_group, placed, silent

_GPU = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
_UNREACHABLE = {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}
_QUOTA = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "team", "namespace": "default"},
    "spec": {"hard": {"requests.cpu": "1"}},
    "status": {"hard": {"requests.cpu": "1"}, "used": {"requests.cpu": "0"}},
}


def _of_kind(group: Group, kind: str) -> Change:
    return next(each for each in group.changes if each.kind == kind)


def _owned(kind: str, number: int, **spec: Any) -> list[dict[str, Any]]:
    """A workload with a template and its waiting pods."""
    waiting = [pod(f"web-{n}", labels={"app": "web"}, cpu="2", **spec) for n in range(number)]
    template = {"metadata": {"labels": {"app": "web"}}, "spec": waiting[0]["spec"]}
    body = {"replicas": number, "template": template, "selector": {"matchLabels": {"app": "web"}}}
    if kind == "Job":
        body = {"parallelism": number, "completions": number, "template": template}
        template["spec"] = {**template["spec"], "restartPolicy": "Never"}
    if kind == "StatefulSet":
        body["serviceName"] = "web"
    group = "batch/v1" if kind == "Job" else "apps/v1"
    metadata = {"name": "web", "namespace": "default", "uid": "web"}
    reference = {"apiVersion": group, "kind": kind, "name": "web", "uid": "web"}
    for each in waiting:
        each["metadata"]["ownerReferences"] = [{**reference, "controller": True}]
    return [{"apiVersion": group, "kind": kind, "metadata": metadata, "spec": body}, *waiting]


@pytest.mark.parametrize(
    ("kind", "nodes", "pods"),
    [
        ("node", [node("n1", cpu="4")], [pod(f"p{n}", cpu="3") for n in range(3)]),
        ("taint", [node("n1", taints=[_GPU])], [pod("a")]),
        ("toleration", [node("n1", taints=[_GPU])], [pod("a")]),
        ("uncordon", [node("n1", unschedulable=True)], [pod("a")]),
        ("ready", [silent(node("n1", taints=[_UNREACHABLE]))], [pod("a")]),
        ("selector", [node("n1")], [pod("a", nodeSelector={"disk": "fast"})]),
        ("requests", [node("n1", cpu="4")], [pod("a", cpu="5")]),
        ("gate", [node("n1")], [pod("a", schedulingGates=[{"name": "acme.io/wait"}])]),
        ("template", [node("n1")], [pod("a", schedulerName="other")]),
    ],
)
def test_pods_get_nodes_by_the_commands(
    kind: str, nodes: list[dict[str, Any]], pods: list[dict[str, Any]]
) -> None:
    group = only_group(*nodes, *pods)
    change = _of_kind(group, kind)
    assert placed_by_commands(cluster_of(*nodes, *pods), group, change) == change.places


@pytest.mark.parametrize("kind", ["StatefulSet", "ReplicaSet", "Job"])
def test_template_is_changed_where_there_is_one(kind: str) -> None:
    manifests = [node("n1", taints=[_GPU]), *_owned(kind, 2)]
    group = only_group(*manifests)
    change = _of_kind(group, "toleration")
    assert "in the template of" in change.text
    assert placed_by_commands(cluster_of(*manifests), group, change) == change.places == 2


def test_missing_pods_are_made_by_the_commands() -> None:
    owner, *_ = _owned("ReplicaSet", 2)
    refused = (
        'pods "web-1" is forbidden: exceeded quota: team, requested: requests.cpu=2, used: '
        "requests.cpu=0, limited: requests.cpu=1"
    )
    failure = {"type": "ReplicaFailure", "status": "True", "message": refused}
    manifests = [node("n1"), {**owner, "status": {"conditions": [failure]}}, _QUOTA]
    group = only_group(*manifests)
    change = group.changes[0]
    assert placed_by_commands(cluster_of(*manifests), group, change) == change.places == 2


def test_missing_object_is_created_by_the_command() -> None:
    volume = {"name": "keys", "secret": {"secretName": "tls"}}
    other = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "x", "namespace": "default"},
    }
    group = only_group(node("n1"), placed(pod("a", volumes=[volume])), other)
    (body,) = group.changes[0].commands
    assert (body["verb"], body["manifest"]["metadata"]["name"]) == ("create", "tls")


def test_objects_that_runs_never_hold_get_no_command() -> None:
    metadata = {"name": "w", "namespace": "default"}
    widget = {"apiVersion": "acme.io/v1", "kind": "Widget", "metadata": metadata}
    group = only_group(leaving(widget, "acme.io/cleanup"))
    assert [each.commands for each in group.changes] == [()]

"""Plays a scenario of scripts and objects, and tells how pods and Jobs stand."""

from typing import Any

from engine.input.loader import load_files
from engine.input.scenario import Scenario
from engine.objects.yaml_text import yaml_text
from tests.builders import node
from tests.scenarios.played import Played

Manifest = dict[str, Any]


def scenario(
    *objects: Manifest, containers: list[Manifest], duration: str = "20m", **spec: Any
) -> Scenario:
    """One node, *objects*, and what their containers do, read as files are."""
    header = {
        "apiVersion": "kscope.dev/v1",
        "kind": "Scenario",
        "metadata": {"name": "scripted"},
        "spec": {"duration": duration, "containers": containers, **spec},
    }
    text = "---\n".join(yaml_text(each) for each in (header, node("n1"), *objects))
    result = load_files([("scripted.yaml", text.encode())])
    assert result.problems == []
    return Scenario.from_load(result, name="scripted")


def play(*objects: Manifest, containers: list[Manifest], **spec: Any) -> Played:
    """The run of such a scenario."""
    return Played(scenario(*objects, containers=containers, **spec))


def pod(name: str, *containers: Manifest, annotations: Manifest | None = None, **spec: Any) -> Any:
    """A pod; without *containers* of one that is called main."""
    metadata: Manifest = {"name": name, "namespace": "default"}
    if annotations:
        metadata["annotations"] = annotations
    listed = [*containers] or [{"name": "main", "image": "app:1"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": listed, **spec},
    }


def job(name: str, restart_policy: str = "Never", **spec: Any) -> Manifest:
    """A Job of one container, main."""
    template = {
        "spec": {
            "restartPolicy": restart_policy,
            "containers": [{"name": "main", "image": "app:1"}],
        }
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"template": template, **spec},
    }


def status(played: Played, kind: str, name: str) -> Manifest:
    """The status of an object of the default namespace in the end."""
    return dict(played.cluster.store.get(kind, f"default/{name}").status)


def container(played: Played, name: str, place: int = 0) -> Manifest:
    """The status of a container of a pod in the end."""
    return status(played, "Pod", name)["containerStatuses"][place]


def condition(played: Played, kind: str, name: str, of: str) -> tuple[str, str, str]:
    """(status, reason, message) of a condition in the end; three times "" for none."""
    found = status(played, kind, name).get("conditions") or []
    for each in found:
        if each["type"] == of:
            return each["status"], each.get("reason", ""), each.get("message", "")
    return "", "", ""

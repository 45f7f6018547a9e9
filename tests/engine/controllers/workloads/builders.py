"""Clusters with workloads, in a few words."""

from typing import Any

from engine.cluster.cluster import Cluster
from engine.input.scenario import Scenario
from engine.kernel.units import SECOND
from engine.objects.objects import ApiObject, Pod
from tests.builders import apply_command, host, owner_reference, pod

Json = dict[str, Any]
CONTAINERS: list[Json] = [{"name": "c", "image": "app:1"}]


def make_node(name: str, ready: str = "True", **labels: str) -> Json:
    """A node with 8 CPUs; *ready* is the status of its condition Ready."""
    made = {**host(name, cpu="8", memory="16Gi", labels=labels), "spec": {}}
    made["status"]["conditions"] = [{"type": "Ready", "status": ready}]
    return made


def template(app: str = "web", **spec: Any) -> Json:
    return {"metadata": {"labels": {"app": app}}, "spec": {"containers": CONTAINERS, **spec}}


def make(kind: str, name: str = "web", *, version: str = "apps/v1", **spec: Any) -> Json:
    """A Deployment, ReplicaSet, StatefulSet, DaemonSet or Job whose pods are labelled app=name."""
    given = {"template": template(name), "selector": {"matchLabels": {"app": name}}}
    if kind == "Job":
        version = "batch/v1"
        given = {"template": template(name, restartPolicy="Never")}
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {**given, **spec},
    }


def make_pod(name: str, node: str = "", owner: Json | None = None, **metadata: Any) -> Json:
    """A pod labelled app=web that runs on *node*, if any."""
    labels = {"app": "web", **metadata.pop("labels", {})}
    made = pod(name, labels=labels, containers=CONTAINERS)
    made["metadata"] |= metadata
    if owner is not None:
        made["metadata"]["ownerReferences"] = [owner_reference(owner)]
    if node:
        made["spec"]["nodeName"] = node
        conditions = [{"type": "Ready", "status": "True"}]
        made["status"] = {"phase": "Running", "conditions": conditions}
    return made


class World:
    """A run of these objects, with shorthands to act and to look; *more* is of its scenario."""

    def __init__(self, *objects: Json, profile: str = "v1.34", seed: int = 0, **more: Any) -> None:
        more = {"until": 3600 * SECOND, **more}
        scenario = Scenario(name="test", objects=objects, **more)
        self.cluster = Cluster.create(scenario, profile=profile, seed=seed)
        self.store = self.cluster.store

    def run(self, seconds: float) -> None:
        """Go on by that much."""
        self.cluster.advance(self.cluster.now + round(seconds * SECOND))

    def do(self, verb: str, object: str = "", **more: Any) -> None:
        """A command that must be accepted."""
        apply_command(self.cluster, verb=verb, object=object, **more)

    def patch(self, object: str, **patch: Any) -> None:
        """A merge patch."""
        self.do("patch", object, patch=patch)

    def get(self, kind: str, name: str = "web") -> ApiObject:
        """An object of namespace default."""
        return self.store.get(kind, f"default/{name}")

    def pods(self) -> list[Pod]:
        """Pods that are not on their way out."""
        pods = [pod for pod in self.store.objects("Pod") if isinstance(pod, Pod)]
        return [pod for pod in pods if not pod.deletion_timestamp]

    def names(self) -> list[str]:
        """Their names."""
        return [pod.name for pod in self.pods()]

    def said(self, component: str = "") -> list[str]:
        """The Kubernetes Events so far, of one component or of all."""
        return [
            f"{event.kind}: {event.message}"
            for event in self.cluster.recorder.pending
            if (event.data or {}).get("event") and component in ("", event.component)
        ]

    def facts(self, kind: str) -> list[float]:
        """The times, in seconds, of the events of that kind."""
        pending = self.cluster.recorder.pending
        return [event.at / SECOND for event in pending if event.kind == kind]

"""Random writes of a client: workloads come and go, pods are evicted, nodes fail, labels change."""

from collections.abc import Callable
from random import Random
from typing import Any

from tests.kube.clients.http import AWAY, JSON, MERGE, Http

NODES = 8
_PODS = "/api/v1/namespaces/default/pods"
_CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
_DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
_SETS = "/apis/apps/v1/namespaces/default/statefulsets"
_JOBS = "/apis/batch/v1/namespaces/default/jobs"
_CLASS = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "provisioner": "ebs.csi.aws.com",
}
_SPACE = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def node(number: int) -> dict[str, Any]:
    labels = {
        "topology.kubernetes.io/zone": f"z{number % 3}",
        "kubernetes.io/hostname": f"n{number}",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"n{number}", "labels": labels},
        "status": {"allocatable": {"cpu": "8", "memory": "32Gi", "pods": "30"}},
    }


CLUSTER: list[dict[str, Any]] = [
    *map(node, range(NODES)),
    {**_CLASS, "metadata": {"name": "late"}, "volumeBindingMode": "WaitForFirstConsumer"},
    {**_CLASS, "metadata": {"name": "soon"}, "volumeBindingMode": "Immediate"},
    {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "some", "namespace": "default"},
        "spec": {"maxUnavailable": 2, "selector": {"matchLabels": {"app": "web-0"}}},
    },
]


class Storm:
    """Sends one random write after the other; what is refused is refused."""

    def __init__(self, http: Http, seed: int) -> None:
        self._http = http
        self._draw = Random(seed)
        self.sent = self.done = 0

    def blow(self, writes: int) -> None:
        """Send so many writes, whether the server is there or not."""
        for _ in range(writes):
            self._draw.choice(_WRITES)(self)

    def _send(self, method: str, path: str, body: Any = None, content_type: str = JSON) -> None:
        self.sent += 1
        try:
            status, found = self._http.ask(method, path, body, content_type)
        except AWAY:
            return
        assert status < 500 or status in (503, 504), (method, path, found)
        self.done += status < 300

    def _name(self, path: str) -> str:
        """Of an object that is there."""
        try:
            status, found = self._http.ask("GET", path)
        except AWAY:
            return "nobody"
        names = [one["metadata"]["name"] for one in found["items"]] if status == 200 else []
        return self._draw.choice(names or ["nobody"])

    def _pod_spec(self) -> dict[str, Any]:
        requests = {"cpu": self._draw.choice(["100m", "500m", "2"]), "memory": "256Mi"}
        container = {"name": "c", "image": "app:1", "resources": {"requests": requests}}
        return {
            "containers": [container],
            "terminationGracePeriodSeconds": self._draw.choice([0, 5]),
        }

    # -- what is written -------------------------------------------------------------------------

    def _make_pod(self) -> None:
        spec = self._pod_spec()
        if self._draw.random() < 0.3:
            source = {"claimName": self._name(_CLAIMS)}
            spec["volumes"] = [{"name": "data", "persistentVolumeClaim": source}]
        labels = {"tier": self._draw.choice("ab")}
        name = f"p{self._draw.randrange(40)}"
        self._send("POST", _PODS, {"metadata": {"name": name, "labels": labels}, "spec": spec})

    def _make_claim(self) -> None:
        spec = {**_SPACE, "storageClassName": self._draw.choice(["late", "soon"])}
        name = f"data-{self._draw.randrange(12)}"
        self._send("POST", _CLAIMS, {"metadata": {"name": name}, "spec": spec})

    def _workload(self, name: str, **parts: Any) -> dict[str, Any]:
        labels = {"app": name, "tier": self._draw.choice("ab")}
        template = {"metadata": {"labels": labels}, "spec": self._pod_spec()}
        selector = {"matchLabels": {"app": name}}
        spec = {"replicas": 2, "selector": selector, "template": template, **parts}
        return {"metadata": {"name": name}, "spec": spec}

    def _make_deployment(self) -> None:
        self._send("POST", _DEPLOYMENTS, self._workload(f"web-{self._draw.randrange(4)}"))

    def _make_set(self) -> None:
        claims = [{"metadata": {"name": "d"}, "spec": {**_SPACE, "storageClassName": "late"}}]
        name = f"db-{self._draw.randrange(2)}"
        made = self._workload(name, serviceName=name, volumeClaimTemplates=claims)
        self._send("POST", _SETS, made)

    def _make_job(self) -> None:
        spec = {**self._pod_spec(), "restartPolicy": "Never"}
        parts = {"completions": 3, "parallelism": 2, "template": {"spec": spec}}
        self._send(
            "POST", _JOBS, {"metadata": {"name": f"job-{self._draw.randrange(4)}"}, "spec": parts}
        )

    def _scale(self) -> None:
        path = self._draw.choice([_DEPLOYMENTS, _DEPLOYMENTS, _SETS])
        wanted = {"spec": {"replicas": self._draw.randrange(13)}}
        self._send("PATCH", f"{path}/{self._name(path)}/scale", wanted, MERGE)

    def _restart(self) -> None:
        note = {"restartedAt": str(self._draw.random())}
        patch = {"spec": {"template": {"metadata": {"annotations": note}}}}
        self._send("PATCH", f"{_DEPLOYMENTS}/{self._name(_DEPLOYMENTS)}", patch, MERGE)

    def _label_pod(self) -> None:
        patch = {"metadata": {"labels": {"tier": self._draw.choice(["a", "b", None])}}}
        self._send("PATCH", f"{_PODS}/{self._name(_PODS)}", patch, MERGE)

    def _delete_pod(self) -> None:
        grace = self._draw.choice(["", "?gracePeriodSeconds=0"])
        self._send("DELETE", f"{_PODS}/{self._name(_PODS)}{grace}")

    def _evict_pod(self) -> None:
        name = self._name(_PODS)
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
        self._send("POST", f"{_PODS}/{name}/eviction", body)

    def _delete_other(self) -> None:
        path = self._draw.choice([_DEPLOYMENTS, _SETS, _JOBS, _CLAIMS, _CLAIMS])
        self._send("DELETE", f"{path}/{self._name(path)}")

    def _change_node(self) -> None:
        number = self._draw.randrange(NODES)
        path, taint = f"/api/v1/nodes/n{number}", {"key": "worn", "effect": "NoExecute"}
        match self._draw.randrange(8):
            case 0:
                self._send("DELETE", path)
            case 1 | 2:
                self._send("POST", "/api/v1/nodes", node(number))
            case 3:
                self._send("PATCH", path, {"spec": {"taints": [taint]}}, MERGE)
            case 4:
                self._send("PATCH", path, {"spec": {"taints": None}}, MERGE)
            case _:
                wanted = {"spec": {"unschedulable": self._draw.random() < 0.4}}
                self._send("PATCH", path, wanted, MERGE)

    def _reset_pods(self) -> None:
        self._send("DELETE", f"{_PODS}?labelSelector=tier={self._draw.choice('ab')}")


_WRITES: list[Callable[[Storm], None]] = [
    *[Storm._make_pod] * 5,
    *[Storm._scale] * 5,
    *[Storm._label_pod] * 4,
    *[Storm._delete_pod] * 4,
    *[Storm._evict_pod] * 3,
    *[Storm._make_claim] * 3,
    *[Storm._make_deployment] * 3,
    *[Storm._change_node] * 3,
    *[Storm._make_set, Storm._make_job, Storm._restart] * 2,
    *[Storm._delete_other, Storm._reset_pods],
]

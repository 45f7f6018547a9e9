"""Nodes whose network is not ready, and the pods that wait for it.

Upstream: pkg/kubelet/kubelet.go, syncPod(), which starts only pods on the network of the host then.
"""

from engine.kubelet.worker import Worker


class NodeNetworks:
    """Why the network of a node is not ready, and who could start but for it."""

    __slots__ = ("_problems", "_waiting")

    def __init__(self) -> None:
        self._problems: dict[str, str] = {}
        # By uid of the pod.
        self._waiting: dict[str, Worker] = {}

    def lack(self, worker: Worker) -> str:
        """Why the pod cannot start; "" where its network is ready, or that of the host."""
        return "" if worker.pod.spec.get("hostNetwork") else self._problems.get(worker.node, "")

    def wait(self, worker: Worker) -> None:
        """The pod could start but for the network."""
        self._waiting[worker.pod.uid] = worker

    def set(self, node: str, problem: str) -> list[Worker]:
        """The network of *node* has a *problem*, or "": returns who waits for it no more."""
        if problem:
            self._problems[node] = problem
            return []
        if not self._problems.pop(node, ""):
            return []
        found = [worker for worker in self._waiting.values() if worker.node == node]
        for worker in found:
            del self._waiting[worker.pod.uid]
        return found

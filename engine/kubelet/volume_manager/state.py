"""What the kubelet of one node knows of its volumes."""

from dataclasses import dataclass
from typing import Protocol

from engine.kubelet.volume_manager.actual_state import ActualStateOfWorld
from engine.kubelet.volume_manager.desired_state import DesiredStateOfWorld
from engine.kubelet.volume_manager.operations.executor import OperationExecutor
from engine.objects.kinds import entity_id
from engine.objects.objects import Pod
from engine.storage.operations.pending import NestedPendingOperations
from engine.storage.plugins.spec import VolumePlugins


@dataclass(slots=True)
class VolumeManagerOptions:
    """How the volume managers of Kubernetes versions differ.

    *reconstructs_all*: after a restart, everything found on disk enters the actual state (since
    1.25). *verify_backs_off*: a node that waits for an attachment checks less and less often, down
    to every 2 m 2 s; False for emulated kubelets that do not, as in the reference recordings.
    *mounts_protected*: a claim that is being deleted is mounted while pvc-protection holds it.
    *names_unprocessed*: FailedMount says which volumes could not be processed, and is not emitted
    when the wait for volumes only times out. *migrates_in_tree*: CSI drivers serve in-tree volumes.
    *out_of_reach*: what is said of a volume whose node affinity the node does not meet.
    *updates_limits*: a pod is refused whose volumes a full node cannot attach.
    """

    reconstructs_all: bool = True
    verify_backs_off: bool = True
    mounts_protected: bool = True
    names_unprocessed: bool = True
    migrates_in_tree: bool = False
    out_of_reach: str = "no matching NodeSelectorTerms"
    updates_limits: bool = False


class PodWorkers(Protocol):
    """The kubelet's pod workers, as volume managers see them."""

    def volumes_mounted(self, uid: str) -> None:
        """Every volume of the pod is mounted."""
        ...

    def volumes_unmounted(self, uid: str) -> None:
        """No volume of the pod is mounted any more."""
        ...

    def volumes_over_limit(self, pod: Pod, drivers: list[str], message: str) -> None:
        """The node cannot attach a volume of the pod, by its *drivers*: it has too many."""
        ...

    def has_running_containers(self, uid: str) -> bool:
        """Whether containers of the pod still run."""
        ...


class NodeState:
    """The pods of a node and the two states of its volumes, which begin empty at every start.

    `executor` is set by the manager, at every start, too.
    """

    __slots__ = ("actual", "desired", "executor", "id", "is_down", "node", "pods")

    executor: OperationExecutor

    def __init__(self, node: str, plugins: VolumePlugins) -> None:
        self.node = node
        self.id = entity_id("Node", node)
        self.pods: dict[str, Pod] = {}
        self.is_down = False
        self.begin(plugins)

    def begin(self, plugins: VolumePlugins) -> None:
        """The kubelet starts: it knows neither pods nor volumes."""
        self.pods.clear()
        self.desired = DesiredStateOfWorld(plugins)
        self.actual = ActualStateOfWorld(self.node, plugins)

    @property
    def pending(self) -> NestedPendingOperations:
        """Operations that run or back off."""
        return self.executor.pending

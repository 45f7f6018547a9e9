"""The trace of a question about volumes: which objects it follows, and what it reads of caches."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from engine.cluster.cluster import Cluster
from engine.controllers.persistent_volumes.trace_steps.syncs import SyncBegan, SyncEnded
from engine.diagnosis.inside.caches import Held, Known, read_held, read_known
from engine.kernel.trace import Trace
from engine.objects.objects import PersistentVolume, PersistentVolumeClaim, Pod
from engine.storage.binding.trace_steps import VolumesAssumed, VolumesLooked, VolumesWritten

# The steps of a scheduler that are kept about a pod.
_OF_POD = (VolumesAssumed, VolumesLooked, VolumesWritten)


class Asked(NamedTuple):
    """What is asked for: a claim or a pod, "namespace/name", or a node."""

    claim: str = ""
    pod: str = ""
    node: str = ""

    @property
    def entity(self) -> str:
        """Its id."""
        kind = "claim" if self.claim else "pod" if self.pod else "node"
        return f"{kind}/{self.claim or self.pod or self.node}"


@dataclass(frozen=True, slots=True)
class VolumeEntry:
    """A step, and what the caches held just then of the followed claims and volumes.

    For a step about a node the caches are not read.
    """

    at: int
    seq: int
    entity: str
    step: object
    known: tuple[Known, ...]
    held: tuple[Held, ...]


class VolumesTrace(Trace):
    """Follows the claims that are asked for, their volumes, and the nodes of the pods that use them.

    An object that was followed once stays followed. `volume_entries` has all steps, in order;
    `claims`, `volumes` and `pods` are those that were followed.
    """

    __slots__ = (
        "_cluster",
        "_is_syncing_claim",
        "_nodes",
        "_rules",
        "asked",
        "claims",
        "pods",
        "volume_entries",
        "volumes",
    )

    def __init__(self, cluster: Cluster, asked: Asked) -> None:
        super().__init__(cluster.loop, cluster.recorder)
        self._cluster = cluster
        self.asked = asked
        self.volume_entries: list[VolumeEntry] = []
        self.claims: dict[str, None] = {asked.claim: None} if asked.claim else {}
        self.volumes: dict[str, None] = {}
        self.pods: dict[str, None] = {asked.pod: None} if asked.pod else {}
        self._nodes: dict[str, None] = {asked.node: None} if asked.node else {}
        self._is_syncing_claim = False
        self._rules: dict[str, tuple[dict[str, None], Callable[[str], bool]]] = {
            "claim": (self.claims, self._concerns_claim),
            "volume": (self.volumes, self._concerns_volume),
            "node": (self._nodes, self._concerns_node),
            "pod": (self.pods, self._concerns_pod),
        }

    def follows(self, entity: str) -> bool:
        """See Trace."""
        kind, _, key = entity.partition("/")
        if kind not in self._rules:
            return False
        followed, concerns = self._rules[kind]
        if key not in followed and concerns(key):
            followed[key] = None
        return key in followed

    def add(self, entity: str, step: object) -> None:
        """See Trace. Of a pod only what is done about its volumes is kept."""
        if entity.startswith("pod/"):
            if not isinstance(step, _OF_POD):
                return
            self._follow_chosen(step)
        elif isinstance(step, SyncBegan):
            self._is_syncing_claim = entity.startswith("claim/")
        elif isinstance(step, SyncEnded):
            self._is_syncing_claim = False
        cluster = self._cluster
        known: tuple[Known, ...] = ()
        held: tuple[Held, ...] = ()
        if not entity.startswith("node/"):
            known = tuple(read_known(cluster, self.volumes, self.claims))
            held = tuple(read_held(cluster, self.volumes, self.claims))
        self.volume_entries.append(VolumeEntry(cluster.now, cluster.seq, entity, step, known, held))

    def _follow_chosen(self, step: object) -> None:
        """Follow the volumes that the scheduler chose: nothing names them but its cache."""
        if isinstance(step, VolumesAssumed):
            chosen = [one.volume for one in step.bind if self.follows(f"claim/{one.claim}")]
            self.volumes.update(dict.fromkeys(chosen))

    def _concerns_claim(self, key: str) -> bool:
        pod = self._pod(self.asked.pod)
        return pod is not None and key in _claims_of(pod)

    def _concerns_volume(self, name: str) -> bool:
        if self._is_syncing_claim:
            # It is written now, and names the claim only after that.
            return True
        volume = self._cluster.store.find("PersistentVolume", name)
        if not isinstance(volume, PersistentVolume):
            return False
        if volume.claim_ref is not None and self.follows(f"claim/{volume.claim_key}"):
            return True
        return any(self._volume_of(key) == name for key in self.claims)

    def _concerns_pod(self, key: str) -> bool:
        pod = self._pod(key)
        return pod is not None and any(claim in self.claims for claim in _claims_of(pod))

    def _concerns_node(self, name: str) -> bool:
        found = [pod.key for pod in self._users() if pod.node_name == name]
        self.pods.update(dict.fromkeys(found))
        return bool(found)

    def _users(self) -> Iterator[Pod]:
        """The pod that is asked for, and the pods that use a followed claim."""
        pod = self._pod(self.asked.pod)
        if pod is not None:
            yield pod
        listers = self._cluster.volumes.pv_controller.context.listers
        for key in self.claims:
            yield from listers.pods_of_claim(key)

    def _pod(self, key: str) -> Pod | None:
        pod = self._cluster.store.find("Pod", key) if key else None
        return pod if isinstance(pod, Pod) else None

    def _volume_of(self, key: str) -> str:
        claim = self._cluster.store.find("PersistentVolumeClaim", key)
        return claim.volume_name if isinstance(claim, PersistentVolumeClaim) else ""


def _claims_of(pod: Pod) -> list[str]:
    return [f"{pod.namespace}/{name}" for name in pod.claim_names]

"""The recycler pod: scrubs a volume by running `rm -rf` in a pod that mounts it.

Upstream: pkg/volume/util/recyclerclient/recycler_client.go and the pod template of
pkg/volume/plugins.go, NewPersistentVolumeRecyclerPodTemplate().
"""

from typing import Final

from engine.api_server.store.store import ObjectStore
from engine.controllers.persistent_volumes.in_tree.plugin import PluginError
from engine.kernel.errors import AlreadyExists, NotFound
from engine.kernel.units import MILLISECOND
from engine.objects.objects import EMPTY, Manifest, PersistentVolume, Pod
from engine.storage.ports import NORMAL

AUTHOR: Final = "pv-controller"
NAMESPACE: Final = "default"
# Upstream: PersistentVolumeRecyclerConfiguration of kube-controller-manager.
DEADLINE_SECONDS: Final = 60
NFS_DEADLINE_SECONDS: Final = 300
SECONDS_PER_GI: Final = 30
GI: Final = 1 << 30
POLL: Final = 100 * MILLISECOND

_SCRUB: Final = (
    "test -e /scrub && rm -rf /scrub/..?* /scrub/.[!.]* /scrub/*  && "
    'test -z "$(ls -A /scrub)" || exit 1'
)


class PodRecycler:
    """One volume's recycler pod, from its creation to its deletion. See Recycler.

    *scrubbing* is how long the pod runs, in ns.
    """

    def __init__(self, store: ObjectStore, volume: PersistentVolume, scrubbing: int) -> None:
        self._store = store
        self._volume = volume
        self._scrubbing = scrubbing
        self._name = f"recycler-for-{volume.name}"
        nfs = volume.spec.get("nfs")
        path = (volume.spec.get("hostPath") or EMPTY).get("path", "")
        self._source: Manifest = {"nfs": nfs} if nfs else {"hostPath": {"path": path}}
        least = NFS_DEADLINE_SECONDS if nfs else DEADLINE_SECONDS
        # Upstream: pkg/volume/util, CalculateTimeoutForVolume().
        self._deadline_seconds = max(least, volume.capacity_bytes // GI * SECONDS_PER_GI)
        self._created = False
        self._node = ""

    def step(self) -> tuple[int | None, list[tuple[str, str]]]:
        """See Recycler."""
        if not self._created:
            self._create()
            return POLL, []
        pod = self._store.find("Pod", f"{NAMESPACE}/{self._name}")
        if not isinstance(pod, Pod):
            raise PluginError("recycler pod was deleted")
        messages: list[tuple[str, str]] = []
        if pod.node_name and not self._node:
            # Upstream copies every Event of the pod; this is the scheduler's.
            self._node = pod.node_name
            messages.append((NORMAL, f"Successfully assigned {pod.key} to {pod.node_name}"))
        if pod.phase == "Succeeded":
            self._delete(pod)
            return None, messages
        if pod.phase == "Failed":
            self._delete(pod)
            why = pod.status.get("message") or "pod failed, pod.Status.Message unknown"
            raise PluginError(why)
        return POLL, messages

    def _create(self) -> None:
        try:
            self._store.create(
                Pod(self._manifest()), by=AUTHOR, message=f"scrubs volume {self._volume.name}"
            )
        except AlreadyExists:
            old = self._store.find("Pod", f"{NAMESPACE}/{self._name}")
            if isinstance(old, Pod):
                self._delete(old)
            raise PluginError("old recycler pod found, will retry later") from None
        self._created = True

    def _delete(self, pod: Pod) -> None:
        try:
            self._store.delete("Pod", pod.key, by=AUTHOR, message="the recycler pod is done")
        except NotFound:
            return

    def _manifest(self) -> Manifest:
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": self._name,
                "namespace": NAMESPACE,
                "annotations": {"kscope.dev/run-for": f"{self._scrubbing}ns"},
            },
            "spec": {
                "activeDeadlineSeconds": self._deadline_seconds,
                "restartPolicy": "Never",
                "priority": 0,
                "volumes": [{"name": "vol", **self._source}],
                "containers": [
                    {
                        "name": "pv-recycler",
                        "image": "busybox:1.27",
                        "command": ["/bin/sh"],
                        "args": ["-c", _SCRUB],
                        "volumeMounts": [{"name": "vol", "mountPath": "/scrub"}],
                    }
                ],
            },
            "status": {"phase": "Pending"},
        }


class PodRecyclers:
    """Makes recyclers that run pods in *store*."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def recycler(self, volume: PersistentVolume, scrubbing: int) -> PodRecycler:
        """A recycler for *volume* whose pod runs *scrubbing* ns."""
        return PodRecycler(self._store, volume, scrubbing)

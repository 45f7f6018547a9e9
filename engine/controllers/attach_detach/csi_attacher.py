"""The external attachers of all CSI drivers.

Upstream: kubernetes-csi/external-attacher, pkg/controller/csi_handler.go.
"""

from contextlib import suppress
from typing import ClassVar, Final

from engine.api_server.store.store import ObjectStore
from engine.api_server.store.watches import WatchEvent
from engine.controllers.attach_detach.names import ATTACHER
from engine.controllers.attach_detach.operations import is_multi_attach_forbidden
from engine.controllers.attach_detach.table import discard
from engine.kernel.errors import ApiError
from engine.kernel.loop import EventLoop
from engine.kernel.units import MINUTE, SECOND
from engine.objects.objects import ApiObject, Manifest, PersistentVolume
from engine.storage.plugins.attach_limits import error_code
from engine.storage.plugins.simulated import CSI, SimulatedPlugins
from engine.storage.plugins.spec import Answer, VolumeError, VolumePlugin, VolumeSpec

NODE_ID_ANNOTATION: Final = "csi.alpha.kubernetes.io/node-id"

# A failed call is repeated after 1 s; the delay doubles with every failure up to five minutes.
_RETRY: Final = SECOND
_MAX_RETRY: Final = 5 * MINUTE


class CsiAttacher:
    """Attaches and detaches as VolumeAttachments ask for it, for all CSI drivers at once."""

    PARTS: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        loop: EventLoop,
        store: ObjectStore,
        plugins: SimulatedPlugins,
        *,
        watch_latency: int = 0,
        reports_codes: bool = False,
    ) -> None:
        """With *reports_codes* an error has its code beside its text."""
        self._loop = loop
        self._store = store
        self._plugin: VolumePlugin | None = plugins.find_by_name(CSI)
        self._busy: dict[str, None] = {}
        self._failures: dict[str, int] = {}
        self._obstacles = plugins.obstacles
        self._reports_codes = reports_codes
        # Names of the attachments of each volume, and of each driver on each node.
        self._by_volume: dict[str, dict[str, None]] = {}
        self._by_node: dict[str, dict[str, None]] = {}
        # Attachments that the drivers are making.
        self._attaching: dict[str, None] = {}
        loop.tried_each(self._note, store.objects("VolumeAttachment"))
        store.watch("VolumeAttachment", self.observe, watch_latency)
        store.watch("PersistentVolume", self.observe_volume, watch_latency)

    def observe(self, event: WatchEvent) -> None:
        """Take a watch event of a VolumeAttachment."""
        name, volume = event.new.name, _volume_of(event.new)
        if event.type == "DELETED":
            self._failures.pop(name, None)
            discard(self._by_volume, volume, name)
            discard(self._by_node, _place_of(event.new), name)
            self._release(volume)
        else:
            self._note(event.new)
            self._sync(name)

    def _note(self, attachment: ApiObject) -> None:
        for table, key in (
            (self._by_volume, _volume_of(attachment)),
            (self._by_node, _place_of(attachment)),
        ):
            table.setdefault(key, {})[attachment.name] = None

    def observe_volume(self, event: WatchEvent) -> None:
        """A deleted volume loses its finalizer once it is attached nowhere."""
        if event.type != "DELETED" and event.new.deletion_timestamp:
            self._release(event.new.name)

    def _sync(self, name: str) -> None:
        found = self._store.find("VolumeAttachment", name)
        if found is None or name in self._busy:
            return
        deleting = bool(found.deletion_timestamp)
        if not deleting and found.status.get("attached"):
            return
        if deleting and not found.finalizers:
            return
        missing = self._missing(found)
        if missing:
            self._failed(name, "detachError" if deleting else "attachError", missing)
            return
        self._busy[name] = None
        try:
            if not deleting:
                self._add_finalizers(found)
        except ApiError:
            self._retry(name)
            return
        answer = self._call("Detach" if deleting else "Attach", found)
        if not deleting and answer.error is None:
            self._attaching[name] = None
        done = self._try_detached if deleting else self._try_attached
        self._loop.call_after(answer.latency, done, found, answer)

    def _missing(self, attachment: ApiObject) -> str:
        """Why nothing can be done for want of the volume; "" where it is there.

        Upstream: csiAttach() and csiDetach(), before they change anything.
        """
        name = _volume_of(attachment)
        volume = self._volume(attachment)
        if name and volume is None:
            return f'persistentvolume "{name}" not found'
        if volume is not None and volume.deletion_timestamp and not attachment.deletion_timestamp:
            return f'PersistentVolume "{name}" is marked for deletion'
        return ""

    def _add_finalizers(self, attachment: ApiObject) -> None:
        """Keep both objects until the attach is undone. Upstream: csiAttach().

        Without its driver on the node the attach does not begin, so that nothing is to be undone.
        """
        finalizer = _finalizer(attachment.spec["attacher"])
        volume = self._volume(attachment)
        if volume is not None and finalizer not in volume.finalizers:
            patch = {"metadata": {"finalizers": [*volume.finalizers, finalizer]}}
            self._store.patch("PersistentVolume", volume.key, patch, by=ATTACHER)
        node, driver = attachment.spec["nodeName"], attachment.spec["attacher"]
        if finalizer not in attachment.finalizers and not self._obstacles.lacks_driver(
            driver, node
        ):
            metadata = {"finalizers": [finalizer], "annotations": {NODE_ID_ANNOTATION: node}}
            self._store.patch(
                "VolumeAttachment", attachment.key, {"metadata": metadata}, by=ATTACHER
            )

    def _call(self, call: str, attachment: ApiObject) -> Answer:
        volume = self._volume(attachment)
        if self._plugin is None or volume is None:
            return Answer()
        refuse = self._refusal if call == "Attach" else self._undetachable
        refusal = refuse(attachment, volume)
        if refusal is not None:
            return refusal
        return self._plugin.call(
            call, VolumeSpec(persistent_volume=volume.raw), None, attachment.spec["nodeName"]
        )

    def _refusal(self, attachment: ApiObject, volume: ApiObject) -> Answer | None:
        """The error of a driver that has the volume published to another node, or None.

        CSI specification: ControllerPublishVolume, "Volume published to another node".
        """
        full = self._over_limit(attachment)
        if full is not None:
            return full
        spec = VolumeSpec(persistent_volume=volume.raw)
        if not is_multi_attach_forbidden(spec):
            return None
        for key in self._by_volume.get(volume.name, ()):
            other = self._store.find("VolumeAttachment", key)
            # VolumeAttachments may have any name; a second one for the same node does no harm.
            if other is None or other.spec["nodeName"] == attachment.spec["nodeName"]:
                continue
            if other.spec["source"] == attachment.spec["source"] and other.status.get("attached"):
                handle, node = spec.source["csi"]["volumeHandle"], other.spec["nodeName"]
                text = f"volume {handle} is published to another node {node}"
                text = f"rpc error: code = FailedPrecondition desc = {text}"
                return Answer(error=VolumeError(text))
        return None

    def _undetachable(self, attachment: ApiObject, volume: ApiObject) -> Answer | None:
        """The error if nothing says any more how the driver calls the node. Upstream: getNodeID()."""
        node = attachment.spec["nodeName"]
        if NODE_ID_ANNOTATION in attachment.annotations or any(
            self._store.find(kind, node) is not None for kind in ("CSINode", "Node")
        ):
            return None
        return Answer(error=VolumeError(f'csinode.storage.k8s.io "{node}" not found'))

    def _over_limit(self, attachment: ApiObject) -> Answer | None:
        """CSI specification: ControllerPublishVolume, "Max volumes attached".

        A volume that no pod on the node uses any more is about to be detached, and does not count.
        """
        driver, node = attachment.spec["attacher"], attachment.spec["nodeName"]
        limit = self._obstacles.limit(driver, node)
        others = [
            key
            for key in self._by_node.get(_place_of(attachment), ())
            if key != attachment.name and (key in self._attaching or self._is_attached(key))
        ]
        if limit is None or len(others) < limit:
            return None
        if sum(self._is_used(key, node) for key in others) < limit:
            return None
        text = f"driver {driver} attaches at most {limit} volumes to node {node}"
        return Answer(error=VolumeError(f"rpc error: code = ResourceExhausted desc = {text}"))

    def _is_used(self, name: str, node: str) -> bool:
        """Whether a pod on *node* uses the volume of a VolumeAttachment."""
        attachment = self._store.find("VolumeAttachment", name)
        volume = None if attachment is None else self._volume(attachment)
        if not isinstance(volume, PersistentVolume):
            return attachment is not None
        namespace, _, claim = volume.claim_key.partition("/")
        return any(
            pod.namespace == namespace and claim in pod.claim_names and not pod.is_terminated
            for pod in self._store.pods_on(node)
        )

    def _is_attached(self, name: str) -> bool:
        found = self._store.find("VolumeAttachment", name)
        return found is not None and bool(found.status.get("attached"))

    def _volume(self, attachment: ApiObject) -> ApiObject | None:
        return self._store.find("PersistentVolume", _volume_of(attachment))

    def _try_attached(self, attachment: ApiObject, answer: Answer) -> None:
        self._loop.tried(self._attached, attachment, answer)

    def _try_detached(self, attachment: ApiObject, answer: Answer) -> None:
        self._loop.tried(self._detached, attachment, answer)

    def _attached(self, attachment: ApiObject, answer: Answer) -> None:
        name = attachment.name
        del self._busy[name]
        self._attaching.pop(name, None)
        found = self._store.find("VolumeAttachment", name)
        if found is None:
            return
        if found.deletion_timestamp:
            self._sync(name)
            return
        volume = self._volume(found)
        if answer.error is None and volume is not None:
            # Another attach may have ended in the meantime.
            answer = self._refusal(found, volume) or answer
        if answer.error is not None:
            self._failed(name, "attachError", answer.error.text)
            return
        node = found.spec["nodeName"]
        try:
            self._store.patch(
                "VolumeAttachment",
                name,
                {"status": {"attached": True, "attachError": None}},
                by=ATTACHER,
                event="VolumeAttachmentAttached",
                message=f"{found.spec['source'].get('persistentVolumeName', '')} to {node}",
            )
        except ApiError:
            self._retry(name)
        else:
            self._failures.pop(name, None)

    def _detached(self, attachment: ApiObject, answer: Answer) -> None:
        name = attachment.name
        del self._busy[name]
        found = self._store.find("VolumeAttachment", name)
        if found is None:
            return
        if answer.error is not None:
            self._failed(name, "detachError", answer.error.text)
            return
        status = {"status": {"attached": False, "detachError": None}}
        without_finalizers = {"metadata": {"finalizers": None}}
        try:
            self._store.patch("VolumeAttachment", name, status, by=ATTACHER)
            self._store.patch("VolumeAttachment", name, without_finalizers, by=ATTACHER)
        except ApiError:
            self._retry(name)

    def _failed(self, name: str, where: str, error: str) -> None:
        code = error_code(error) if self._reports_codes else None
        shown: Manifest = {"message": error} | ({} if code is None else {"errorCode": code})
        with suppress(ApiError):
            self._store.patch("VolumeAttachment", name, {"status": {where: shown}}, by=ATTACHER)
        self._retry(name)

    def _retry(self, name: str) -> None:
        failures = self._failures[name] = self._failures.get(name, 0) + 1
        delay = min(_RETRY << (failures - 1), _MAX_RETRY)
        self._busy[name] = None
        self._loop.call_after(delay, self._try_again, name)

    def _try_again(self, name: str) -> None:
        self._busy.pop(name, None)
        self._loop.tried(self._sync, name)

    def _release(self, volume_name: str) -> None:
        """Take the finalizer from a deleted volume that is attached nowhere."""
        volume = self._store.find("PersistentVolume", volume_name)
        if volume is None or not volume.deletion_timestamp:
            return
        for key in self._by_volume.get(volume_name, ()):
            if self._store.find("VolumeAttachment", key) is not None:
                return
        kept = [f for f in volume.finalizers if not f.startswith("external-attacher/")]
        if len(kept) != len(volume.finalizers):
            patch = {"metadata": {"finalizers": kept or None}}
            try:
                self._store.patch("PersistentVolume", volume_name, patch, by=ATTACHER)
            except ApiError:
                self._loop.call_after(_RETRY, self._release_again, volume_name)

    def _release_again(self, volume_name: str) -> None:
        self._loop.tried(self._release, volume_name)


def _place_of(attachment: ApiObject) -> str:
    return f"{attachment.spec['nodeName']}/{attachment.spec['attacher']}"


def _volume_of(attachment: ApiObject) -> str:
    return attachment.spec["source"].get("persistentVolumeName", "")


def _finalizer(driver: str) -> str:
    return f"external-attacher/{driver.replace('.', '-')}"

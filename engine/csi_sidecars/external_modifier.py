"""Changes the volumes of CSI drivers to the VolumeAttributesClass that their claim names.

    user names a class ─▶ modifyVolumeStatus InProgress, condition ModifyingVolume
                       ─▶ the driver changes the volume, volume.volumeAttributesClassName
                       ─▶ claim.status.currentVolumeAttributesClassName
    no such class      ─▶ modifyVolumeStatus Pending, until there is one

It is a part of the external resizer. Upstream: kubernetes-csi/external-resizer pkg/modifycontroller.
"""

from typing import ClassVar, Final

from engine.api_server.store.informer import Informer
from engine.api_server.store.watches import WatchEvent
from engine.api_server.store.workqueue import WorkQueue
from engine.csi_sidecars.context import SidecarContext
from engine.kernel.errors import ApiError
from engine.kernel.units import timestamp
from engine.objects.objects import (
    EMPTY,
    ApiObject,
    Manifest,
    PersistentVolume,
    PersistentVolumeClaim,
)
from engine.objects.phases import ATTRIBUTES_CLASS, CLAIM_BOUND
from engine.storage.ports import NORMAL, WARNING, EventSink

MODIFYING: Final = "ModifyingVolume"
_PENDING: Final = "Pending"
_IN_PROGRESS: Final = "InProgress"


class VolumeModifier:
    """Changes volumes, one change at a time for each claim. It writes as *author*."""

    PARTS: ClassVar[tuple[str, ...]] = ("queue", "classes")

    def __init__(
        self, context: SidecarContext, events: EventSink, author: str, watch_latency: int
    ) -> None:
        self._loop = context.loop
        self._store = context.store
        self._listers = context.listers
        self._delays = context.delays
        self._events = events
        self._author = author
        self._busy: dict[str, None] = {}
        self.queue = WorkQueue(context.loop, self.sync)
        self.classes: Informer[ApiObject] = Informer(context.store, ATTRIBUTES_CLASS, watch_latency)
        self.classes.on_event(self._on_class)
        context.listers.claim_informer.on_event(self._on_claim)

    def _on_class(self, event: WatchEvent) -> None:
        if event.type == "ADDED":
            self._loop.tried_each(self._queue_if_naming, self._listers.claims(), event.new)

    def _queue_if_naming(self, claim: PersistentVolumeClaim, found: ApiObject) -> None:
        if _target(claim) == found.name:
            self.queue.add(claim.key)

    def _on_claim(self, event: WatchEvent) -> None:
        claim = event.new
        # Most claims name no class; a claim that has one cannot drop it.
        if event.type != "DELETED" and claim.raw["spec"].get("volumeAttributesClassName"):
            self.queue.add(claim.key)

    def sync(self, key: str) -> None:
        """Begin to change the claim's volume, if it names another class than it has."""
        claim = self._listers.claim(key)
        if claim is None or claim.uid in self._busy:
            return
        target = _target(claim)
        if not target:
            if claim.status.get("modifyVolumeStatus") and not claim.deletion_timestamp:
                # It names the class that it has again.
                status: Manifest = {"modifyVolumeStatus": None}
                self._patch_claim(claim, status, "ClaimModified", "keeps its class")
            return
        volume = self._listers.volume(claim.volume_name)
        driver = "" if volume is None else _driver_of(volume)
        if not driver:
            return
        found = self.classes.get(target)
        if found is None or found.raw.get("driverName") != driver:
            self._refuse(claim, target, exists=found is not None)
            return
        condition = {
            "type": MODIFYING,
            "status": "True",
            "lastTransitionTime": timestamp(self._loop.clock),
        }
        changed = {"conditions": [*_other_conditions(claim), condition]}
        if not self._write_status(claim, target, _IN_PROGRESS, changed):
            return
        message = f"external resizer is modifying volume {claim.name} with vac {target}"
        self._events.event(claim, NORMAL, "VolumeModify", message)
        self._busy[claim.uid] = None
        self._loop.call_after(self._delays.draw("modify"), self._finish, claim, target)

    def _refuse(self, claim: PersistentVolumeClaim, target: str, *, exists: bool) -> None:
        """Wait for a class that the driver can use."""
        modifying: Manifest = claim.status.get("modifyVolumeStatus") or {}
        if modifying == {"targetVolumeAttributesClassName": target, "status": _PENDING}:
            return
        if self._write_status(claim, target, _PENDING, {}):
            why = "is of another driver." if exists else "does not exist."
            self._events.event(claim, WARNING, "VolumeModifyFailed", f"VAC {target} {why}")

    def _write_status(
        self, claim: PersistentVolumeClaim, target: str, phase: str, more: Manifest
    ) -> bool:
        modifying = {"targetVolumeAttributesClassName": target, "status": phase}
        status = {"modifyVolumeStatus": modifying, **more}
        return self._patch_claim(claim, status, "ClaimModifying", f"class {target} is {phase}")

    def _finish(self, claim: PersistentVolumeClaim, target: str) -> None:
        """The driver has changed the volume."""
        del self._busy[claim.uid]
        newest = self._listers.claim(claim.key)
        if newest is None or newest.uid != claim.uid:
            return
        patch = {"spec": {"volumeAttributesClassName": target}}
        message = f"has the attributes of class {target}"
        try:
            self._store.patch(
                "PersistentVolume",
                claim.volume_name,
                patch,
                by=self._author,
                event="VolumeModified",
                message=message,
            )
        except ApiError:
            self.queue.add_rate_limited(claim.key)
            return
        status: Manifest = {
            "currentVolumeAttributesClassName": target,
            "modifyVolumeStatus": None,
            "conditions": _other_conditions(newest) or None,
        }
        if self._patch_claim(claim, status, "ClaimModified", message):
            text = f"external resizer modified volume {claim.name} with vac {target} successfully"
            self._events.event(claim, NORMAL, "VolumeModifySuccessful", text)
            # If it names yet another class by now, the event of this write begins that change.

    def _patch_claim(
        self, claim: PersistentVolumeClaim, status: Manifest, kind: str, message: str
    ) -> bool:
        patch = {"status": status}
        try:
            self._store.patch(
                "PersistentVolumeClaim",
                claim.key,
                patch,
                by=self._author,
                event=kind,
                message=message,
            )
        except ApiError:
            self.queue.add_rate_limited(claim.key)
            return False
        self.queue.forget(claim.key)
        return True


def _target(claim: PersistentVolumeClaim) -> str:
    """The class that the bound claim names and does not have yet, or ""."""
    wanted: str = claim.spec.get("volumeAttributesClassName") or ""
    if claim.phase != CLAIM_BOUND or claim.deletion_timestamp:
        return ""
    return wanted if wanted != claim.status.get("currentVolumeAttributesClassName") else ""


def _driver_of(volume: PersistentVolume) -> str:
    return (volume.spec.get("csi") or EMPTY).get("driver") or ""


def _other_conditions(claim: PersistentVolumeClaim) -> list[Manifest]:
    conditions: list[Manifest] = claim.status.get("conditions") or []
    return [condition for condition in conditions if condition.get("type") != MODIFYING]

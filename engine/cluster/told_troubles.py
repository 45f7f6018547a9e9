"""What the files of a cluster tell to be wrong with its objects, as pages show it before play."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from typing import Final

from engine.kernel.recorder import Recorder
from engine.kernel.view import Attributes, Changes
from engine.objects.manifest_parts import section, wanted_pods
from engine.objects.objects import ApiObject, Manifest
from engine.objects.outside import TELLING, Outside, ToldFailure
from engine.objects.phases import VOLUME_FAILED, VOLUME_RELEASED
from engine.objects.pods.told_containers import told_on_pages
from engine.objects.values.quantity import value

_ENDED: Final = ("Succeeded", "Failed")


class ToldTroubles:
    """Gives an initial object the `trouble` of the newest Event that tells of a refused operation.

    A pod gets `told` as well, where its status says that its containers wait, ended or are unready.

    An Event that the state of its object has overtaken tells nothing: of another object of the same
    name, of a claim that is bound or has grown, of a workload that has all its pods, of a pod that
    runs.
    """

    def __init__(self, outside: Outside, manifests: Iterable[Manifest], recorder: Recorder) -> None:
        """*manifests* are all initial objects."""
        self._told = outside.refusals()
        self._telling = outside.objects.get(TELLING, {})
        self._manifests = manifests
        self._recorder = recorder

    def shown(self, obj: ApiObject, ahead: int) -> Changes | None:
        """What its first event shows beside the object itself; None for nothing.

        The run begins *ahead* ns after EPOCH. The failure lies before it: `failed` is not positive.
        """
        changes: Attributes = {}
        if trouble := self._trouble(obj, ahead):
            changes["trouble"] = self._recorder.troubles[obj.id] = trouble
        if obj.kind == "Pod" and obj.key in self._telling and (told := told_on_pages(obj, ahead)):
            changes["told"] = self._recorder.told[obj.id] = told
        return {obj.id: changes} if changes else None

    def _trouble(self, obj: ApiObject, ahead: int) -> Attributes | None:
        told = self._told.get((obj.kind, obj.key))
        if told is None or not self._stands(obj, told):
            return None
        trouble: Attributes = {"name": told.reason, "failures": told.count, "error": told.message}
        trouble["failed"] = min(told.at - ahead, 0)
        return trouble

    def _stands(self, obj: ApiObject, told: ToldFailure) -> bool:
        """Whether the object is still as the Event found it."""
        if obj.deletion_timestamp or told.uid not in ("", obj.uid):
            return False
        phase = obj.status.get("phase")
        if obj.kind == "Pod":
            return bool(obj.spec.get("nodeName")) and phase not in ("Running", *_ENDED)
        if obj.kind == "PersistentVolume":
            # An external provisioner leaves the volume Released.
            return phase in (VOLUME_FAILED, VOLUME_RELEASED)
        if obj.kind == "PersistentVolumeClaim":
            is_provisioned = bool(obj.spec.get("volumeName"))
            if told.reason == "ProvisioningFailed":
                return not is_provisioned
            return is_provisioned and not _is_over(obj.raw, told.reason)
        return wanted_pods(obj.raw) > self._pods_of[obj.kind, obj.key]

    @cached_property
    def _pods_of(self) -> Counter[tuple[str, str]]:
        """How many pods that have not ended each workload has, by its kind and key."""
        found: Counter[tuple[str, str]] = Counter()
        for pod in self._manifests:
            if pod["kind"] != "Pod" or section(pod, "status").get("phase") in _ENDED:
                continue
            metadata = pod["metadata"]
            namespace = metadata.get("namespace") or "default"
            for owner in metadata.get("ownerReferences") or ():
                if owner.get("controller"):
                    found[owner["kind"], f"{namespace}/{owner['name']}"] += 1
        return found


def has_grown(claim: Manifest) -> bool:
    """Whether a claim has, by its status, all that it asks for."""
    has = section(claim, "status", "capacity").get("storage")
    wanted = section(claim, "spec", "resources", "requests").get("storage")
    return bool(has and wanted) and value(str(has)) >= value(str(wanted))


def _is_over(claim: Manifest, reason: str) -> bool:
    """Whether what failed of a bound claim has come to pass since."""
    if reason == "VolumeResizeFailed":
        return has_grown(claim)
    wanted = section(claim, "spec").get("volumeAttributesClassName")
    has = section(claim, "status").get("currentVolumeAttributesClassName")
    return bool(has) and has == wanted

"""Which claims go with their StatefulSet or their pod: persistentVolumeClaimRetentionPolicy.

A claim that is to go has its owner as an owner reference; the garbage collector does the rest.
Upstream: pkg/controller/statefulset, UpdatePodClaimForRetentionPolicy().
"""

from collections.abc import Iterable

from engine.api_server.store.store import ObjectStore
from engine.controllers.shared.manifests import part
from engine.controllers.shared.owners import controller_ref
from engine.objects.objects import ApiObject, Manifest, Pod


class ClaimRetention:
    """Writes the owner references of claims as *author*."""

    def __init__(self, store: ObjectStore, author: str) -> None:
        self._store = store
        self._author = author

    def apply(
        self, owner: ApiObject, pod: Pod, claims: Iterable[str], *, is_condemned: bool
    ) -> None:
        """Let the *claims* of *pod*, given by name, be owned as the policy of *owner* says.

        *is_condemned* says that the pod is deleted because the set was scaled down. Raises ApiError.
        """
        policy = part(owner.spec, "persistentVolumeClaimRetentionPolicy")
        goes_with_set = policy.get("whenDeleted") == "Delete"
        goes_with_pod = policy.get("whenScaled") == "Delete" and is_condemned
        stored = self._store.find("Pod", pod.key)
        for name in claims:
            claim = self._store.find("PersistentVolumeClaim", f"{owner.namespace}/{name}")
            if claim is None:
                continue
            ours = (owner.uid, "" if stored is None else stored.uid)
            refs = [ref for ref in claim.owner_references if ref.get("uid") not in ours]
            if goes_with_pod and stored is not None:
                refs.append(controller_ref(stored))
            elif goes_with_set:
                refs.append(controller_ref(owner))
            if _owners(refs) != _owners(claim.owner_references):
                kept = claim.with_metadata(ownerReferences=refs)
                self._store.update(kept, by=self._author, message="by the retention policy")


def _owners(refs: list[Manifest]) -> list[str]:
    return [ref["uid"] for ref in refs]

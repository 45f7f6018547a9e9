"""The functions of the PV controller as trees: a line for each question, and one for each end.

Ids are named by the code of `claim_sync`, `volume_sync` and `operations`; a test goes through all of
them. Upstream: pv_controller.go.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from engine.kernel.sentences import Sentence, say

Kind = Literal["function", "question", "end"]


@dataclass(frozen=True, slots=True)
class Branch:
    """A line of a tree. *depth* counts from 0; a line belongs to the nearest less deep one above.

    Versions of Kubernetes before v1.*since* do not have it.
    """

    id: str
    depth: int
    kind: Kind
    text: Sentence
    since: int = 0


SYNC_CLAIM: Final = (
    Branch("sync_claim", 0, "function", say("syncClaim")),
    Branch("bind_completed", 1, "question", say("annotation bind-completed?")),
    Branch("bound", 2, "function", say("yes → syncBoundClaim")),
    Branch("bound_volume_name", 3, "question", say("spec.volumeName?")),
    Branch("lost_reference", 4, "end", say("empty: phase Lost, Event ClaimLost")),
    Branch("bound_volume", 4, "question", say("a name → is it in the cache of volumes?")),
    Branch("lost_volume", 5, "end", say("no: phase Lost, Event ClaimLost")),
    Branch("bound_claim_ref", 5, "question", say("yes → volume.spec.claimRef?")),
    Branch("bind_again", 6, "end", say("nil: bind")),
    Branch("all_well", 6, "end", say("with the uid of this claim: bind, usually nothing to write")),
    Branch("misbound", 6, "end", say("with another uid: phase Lost, Event ClaimMisbound")),
    Branch("unbound", 2, "function", say("no → syncUnboundClaim")),
    Branch("volume_name", 3, "question", say("spec.volumeName?")),
    Branch("find_match", 4, "function", say("empty → findBestMatchForClaim")),
    Branch("found", 5, "end", say("found: bind")),
    Branch("none", 5, "question", say("none: must it wait, can one be made?")),
    Branch("default_class", 6, "end", say("class nil, and there is a default one: assign it"), 26),
    Branch(
        "waits_for_consumer", 6, "end", say("delayed, no selected-node: stay Pending, an Event")
    ),
    Branch("provision", 6, "end", say("it has a class: provisionClaim")),
    Branch("no_class", 6, "end", say("no class: Event FailedBinding, stay Pending")),
    Branch("named", 4, "function", say("a name → the user asked for this volume")),
    Branch("named_missing", 5, "end", say("not in the cache: stay Pending")),
    Branch("named_claim_ref", 5, "question", say("in the cache → volume.spec.claimRef?")),
    Branch(
        "named_mismatch", 6, "end", say("nil, the volume does not satisfy the claim: stay Pending")
    ),
    Branch("named_free", 6, "end", say("nil, the volume satisfies the claim: bind")),
    Branch("named_reserved", 6, "end", say("names this claim: bind")),
    Branch(
        "named_invalid", 6, "end", say("names another, annotation bound-by-controller: an error")
    ),
    Branch("named_taken", 6, "end", say("names another: stay Pending")),
)

SYNC_VOLUME: Final = (
    Branch("sync_volume", 0, "function", say("syncVolume")),
    Branch("claim_ref", 1, "question", say("spec.claimRef?")),
    Branch("unused", 2, "end", say("nil: phase Available")),
    Branch("reserved", 2, "end", say("without a uid: phase Available")),
    Branch("claimed", 2, "function", say("names a claim → in the cache, else in the API")),
    Branch("claim_gone", 3, "end", say("gone, or another uid: phase Released, reclaimVolume")),
    Branch("claim_volume_name", 3, "question", say("found → claim.spec.volumeName?")),
    Branch("mode_mismatch", 4, "end", say("empty, another volumeMode: Events VolumeMismatch")),
    Branch("waits_for_claim", 4, "end", say("empty: claimQueue.Add")),
    Branch("bound_properly", 4, "end", say("this volume: phase Bound")),
    Branch(
        "not_needed", 4, "end", say("another, provisioned, policy Delete: Released, reclaimVolume")
    ),
    Branch("unbind", 4, "end", say("another: unbindVolume")),
)

PROVISION_CLAIM: Final = (
    Branch("provision_claim", 0, "function", say("provisionClaim")),
    Branch("provisioning_off", 1, "end", say("dynamic provisioning is off: nothing")),
    Branch("find_plugin", 1, "question", say("findProvisionablePlugin")),
    Branch("plugin_error", 2, "end", say("an error: Event ProvisioningFailed")),
    Branch("in_tree", 2, "end", say("a plugin: provisionClaimOperation")),
    Branch("external", 2, "end", say("none: provisionClaimOperationExternal")),
)

RECLAIM_VOLUME: Final = (
    Branch("reclaim_volume", 0, "function", say("reclaimVolume")),
    Branch(
        "migrated", 1, "end", say("annotation migrated-to: the external provisioner does it"), 17
    ),
    Branch("policy", 1, "question", say("spec.persistentVolumeReclaimPolicy?")),
    Branch("retain", 2, "end", say("Retain: nothing")),
    Branch("recycle", 2, "end", say("Recycle: recycleVolumeOperation")),
    Branch("delete", 2, "end", say("Delete: deleteVolumeOperation")),
    Branch(
        "unknown_policy", 2, "end", say("another: phase Failed, Event VolumeUnknownReclaimPolicy")
    ),
)

TREES: Final[Mapping[str, Sequence[Branch]]] = {
    "syncClaim": SYNC_CLAIM,
    "syncVolume": SYNC_VOLUME,
    "provisionClaim": PROVISION_CLAIM,
    "reclaimVolume": RECLAIM_VOLUME,
}
"""By the function of upstream."""


def tree_of(function: str, minor: int) -> list[Branch]:
    """The lines of *function* in version v1.*minor*."""
    return [branch for branch in TREES[function] if branch.since <= minor]


def way_to(function: str, leaf: str) -> list[str]:
    """The ids of the lines from the first to *leaf*. Raises ValueError for a line it does not have."""
    return [*_upwards(TREES[function], leaf)][::-1]


def _upwards(tree: Sequence[Branch], leaf: str) -> Iterator[str]:
    place = [branch.id for branch in tree].index(leaf)
    depth = tree[place].depth + 1
    for branch in reversed(tree[: place + 1]):
        if branch.depth < depth:
            depth = branch.depth
            yield branch.id

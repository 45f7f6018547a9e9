"""Recreates volumes, and their claims, that are out of reach of nodes where the pod could run."""

from __future__ import annotations

from collections.abc import Iterator

from engine.cluster.commands import Command
from engine.diagnosis.candidates import Candidate, Situation, made_again
from engine.framework.explaining.case import listed
from engine.framework.explaining.manifests import deep_copy
from engine.kernel.sentences import say, say_count
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Node, PersistentVolume, PersistentVolumeClaim
from engine.objects.phases import NO_PROVISIONER, claim_class
from engine.objects.selectors import NodeSelector

_NODES = 3
_LOST = say("The data on the old volume is not moved: restore it from a backup.")


def moved_volumes(situation: Situation) -> Iterator[Candidate]:
    """Recreate the claims, so that new volumes are provisioned, or volumes for a close node."""
    bound = list(_out_of_reach(situation))
    provisioned = [claim for claim, _ in bound if _is_provisioned(situation, claim)]
    if bound and len(provisioned) == len(bound):
        for claim in provisioned[: 1 if len(provisioned) > 1 else 0]:
            yield _claims_again([claim])
        yield _claims_again(provisioned)
    for claim, volume in bound:
        if not _is_provisioned(situation, claim):
            for _, node in situation.near(_NODES):
                candidate = _volume_again(claim, volume, node)
                if candidate is not None:
                    yield candidate


def _out_of_reach(
    situation: Situation,
) -> Iterator[tuple[PersistentVolumeClaim, PersistentVolume]]:
    """The bound claims whose volume some node cannot reach."""
    world = situation.world
    for name in situation.pod.claim_names:
        claim = world.listers.claim(f"{situation.pod.namespace}/{name}")
        volume = None if claim is None else world.listers.volume(claim.volume_name)
        if claim is None or volume is None:
            continue
        required = section(volume.spec, "nodeAffinity", "required")
        if not required:
            continue
        selector = NodeSelector.parse(required)
        near = [node for _, node in situation.near(len(situation.refused))]
        if any(not selector.matches(node.labels, node.name) for node in near):
            yield claim, volume


def _is_provisioned(situation: Situation, claim: PersistentVolumeClaim) -> bool:
    storage_class = situation.world.listers.storage_class(claim_class(claim))
    return storage_class is not None and storage_class.provisioner not in ("", NO_PROVISIONER)


def _claims_again(claims: list[PersistentVolumeClaim]) -> Candidate:
    first, *rest = [made_again(each, {"volumeName": None}) for each in claims]
    names = listed([each.key for each in claims])
    return Candidate(
        kind="moved",
        text=say_count(
            "Recreate the claim {claims}, so that new volumes are provisioned",
            "Recreate the claims {claims}, so that new volumes are provisioned",
            len(claims),
            claims=names,
        ),
        command=first,
        more=tuple(rest),
        decidable=False,
        note=_LOST,
    )


def _volume_again(
    claim: PersistentVolumeClaim, volume: PersistentVolume, node: Node
) -> Candidate | None:
    """The volume and its claim made again, with a node affinity that holds for *node*."""
    affinity = deep_copy(volume.spec["nodeAffinity"])
    labels: list[str] = []
    for term in items(section(affinity, "required"), "nodeSelectorTerms"):
        for requirement in items(term, "matchExpressions"):
            key = str(requirement.get("key"))
            if requirement.get("operator") == "In" and node.labels.get(key):
                requirement["values"] = [node.labels[key]]
                labels.append(f"{key}={node.labels[key]}")
    if not labels:
        return None
    again = made_again(volume, {"nodeAffinity": affinity, "claimRef": None})
    claimed: Command = made_again(claim, {"volumeName": None})
    return Candidate(
        kind="moved",
        text=say(
            "Recreate volume {volume} and claim {claim} for {labels}",
            volume=volume.name,
            claim=claim.key,
            labels=listed(labels),
        ),
        command=again,
        more=(claimed,),
        decidable=False,
        note=_LOST,
    )

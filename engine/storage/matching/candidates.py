"""Every volume as a candidate for one claim: the verdicts of the rules, in matching order.

`VolumeIndex` chooses, as it does for the PV controller and the scheduler, and `explain_candidates`
applies the rules to each volume. This module puts the verdicts into the order of the search, and
says why one of the volumes that fit is chosen and the others are not.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from engine.kernel.sentences import Sentence, enumerated, phrase, say
from engine.objects.objects import (
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    quantity,
)
from engine.objects.phases import WAIT_FOR_FIRST_CONSUMER, claim_class
from engine.storage.matching.explanation import CandidateVerdict, Fault, explain_candidates
from engine.storage.matching.index import VolumeIndex
from engine.storage.matching.offers import Offer, offer_of, wanted_of
from engine.storage.matching.rules import check_volume_satisfies_claim

SHOWN: Final = 200
CONTROLLER: Final = "pv-controller"
SCHEDULER: Final = "scheduler"
_NAMES_ANOTHER: Final = phrase("the claim names {volume}")
_NAMED_BUT: Final = phrase("the claim names it, but {fault}")


@dataclass(frozen=True, slots=True)
class Candidates:
    """The verdicts on all volumes for a claim.

    `asker` is the component that chooses: the scheduler for a claim that waits for its first
    consumer and a `node`, else the PV controller, which does not look at nodes. `verdicts` has the
    chosen volume, then the others that fit in matching order, then the rest, those with the fewest
    faults first.
    """

    claim: str
    asker: str
    node: str
    delayed: bool
    chosen: str
    verdicts: tuple[tuple[CandidateVerdict, PersistentVolume, str], ...]

    def to_dict(self, shown: int = SHOWN) -> dict[str, Any]:
        """As JSON, with at most *shown* of the candidates."""
        counts = Counter(_rule(verdict) for verdict, _, _ in self.verdicts)
        return {
            "claim": self.claim,
            "asker": self.asker,
            "node": self.node,
            "delayed": self.delayed,
            "chosen": self.chosen,
            "volumes": len(self.verdicts),
            "fits": sum(not verdict.faults for verdict, _, _ in self.verdicts),
            "counts": dict(sorted(counts.items())),
            "candidates": [_row(*each) for each in self.verdicts[:shown]],
        }


def candidates_for(
    claim: PersistentVolumeClaim,
    volumes: VolumeIndex,
    storage_class: StorageClass | None,
    node: Node | None = None,
) -> Candidates:
    """The verdict on each of *volumes* for *claim*, as if the claim were matched now.

    *storage_class* is the claim's. If the claim is bound or names a volume, that volume is chosen.
    """
    delayed = _is_delayed(storage_class)
    node = node if delayed else None
    waits = delayed and not claim.is_bind_completed
    chosen = claim.volume_name or _choice(claim, volumes, node, waits)
    verdicts = explain_candidates(claim, volumes, node, (), waits, chosen)
    is_gone = volumes.get(claim.volume_name) is None
    if claim.volume_name and (is_gone or not claim.is_bind_completed):
        chosen, verdicts = _named(claim, volumes, verdicts)
    ordered = in_matching_order(claim, volumes, node)
    place = {volume.name: at for at, volume in enumerate(ordered)}
    verdicts.sort(key=lambda one: (not one.chosen, len(one.faults), place[one.volume]))
    best = volumes.get(chosen)
    explained = [
        (verdict, volume, _text(verdict, offer_of(volume), best and offer_of(best), claim, node))
        for verdict in verdicts
        if (volume := volumes.get(verdict.volume)) is not None
    ]
    asker = CONTROLLER if node is None else SCHEDULER
    name = node.name if node else ""
    return Candidates(claim.key, asker, name, delayed, chosen, tuple(explained))


def in_matching_order(
    claim: PersistentVolumeClaim, volumes: VolumeIndex, node: Node | None = None
) -> list[PersistentVolume]:
    """All volumes in the order in which a search for *claim* looks at them.

    For a *node* as `find_for_node` does: volumes that name the claim, then by size. Without one as
    `find_best_match_for_claim` does: the smallest suitable set of access modes first. Volumes that
    are never looked at come last.
    """
    wanted = wanted_of(claim)
    if node is not None:
        first = [offer.name for offer in volumes.reserved_in_class(wanted)]
    else:
        first = [
            volume.name
            for modes in volumes.all_possible_matching_access_modes(wanted.modes)
            for volume in sorted(
                volumes.list_by_access_modes(modes),
                key=lambda volume: not offer_of(volume).names(wanted),
            )
        ]
    by_size = sorted(volumes, key=lambda volume: offer_of(volume).rank)
    names = dict.fromkeys([*first, *(volume.name for volume in by_size)])
    return [volume for name in names if (volume := volumes.get(name)) is not None]


def claimants_of(
    volume: PersistentVolume,
    claims: Iterable[PersistentVolumeClaim],
    volumes: VolumeIndex,
    classes: Mapping[str, StorageClass],
) -> list[tuple[CandidateVerdict, PersistentVolumeClaim, str]]:
    """The verdict on *volume* for each of *claims* without a volume; fitting claims come first.

    Nodes are not considered: where a claim waits for its first consumer, the scheduler chooses.
    """
    explained: list[tuple[CandidateVerdict, PersistentVolumeClaim, str]] = []
    for claim in claims:
        if claim.is_bind_completed or claim.volume_name not in ("", volume.name):
            continue
        delayed = _is_delayed(classes.get(claim_class(claim)))
        chosen = claim.volume_name or _choice(claim, volumes, None, delayed)
        (verdict,) = explain_candidates(claim, [volume], None, (), False, chosen)
        if claim.volume_name:
            _, (verdict,) = _named(claim, volumes, [verdict])
        best = volumes.get(chosen)
        text = _text(verdict, offer_of(volume), best and offer_of(best), claim, None)
        if delayed and not verdict.faults and not verdict.chosen:
            text = "fits; the scheduler chooses when a pod that uses the claim gets a node"
        explained.append((verdict, claim, text))
    explained.sort(key=lambda one: (not one[0].chosen, len(one[0].faults), one[1].key))
    return explained


def claimants_dict(
    claimants: list[tuple[CandidateVerdict, PersistentVolumeClaim, str]], shown: int = SHOWN
) -> dict[str, Any]:
    """The result of `claimants_of` as JSON, with at most *shown* of the claims."""
    return {
        "claims": len(claimants),
        "fits": sum(not verdict.faults for verdict, _, _ in claimants),
        "claimants": [
            {
                "claim": claim.key,
                "request": claim.request_bytes,
                "modes": list(claim.access_modes),
                "class": claim_class(claim),
                "verdict": _rule(verdict),
                "text": text,
                "faults": verdict.to_dict()["faults"],
            }
            for verdict, claim, text in claimants[:shown]
        ],
    }


def _is_delayed(storage_class: StorageClass | None) -> bool:
    return storage_class is not None and storage_class.binding_mode == WAIT_FOR_FIRST_CONSUMER


def _choice(
    claim: PersistentVolumeClaim, volumes: VolumeIndex, node: Node | None, waits: bool
) -> str:
    if node is None:
        found = volumes.find_best_match_for_claim(claim, waits)
    else:
        found = volumes.find_for_node(claim, node)
    return found.name if found else ""


def _named(
    claim: PersistentVolumeClaim, volumes: VolumeIndex, verdicts: list[CandidateVerdict]
) -> tuple[str, list[CandidateVerdict]]:
    """The verdicts for a claim that names its volume: no other volume is considered."""
    name = claim.volume_name
    volume = volumes.get(name)
    wrong = None
    if volume is not None and volume.claim_ref is None:
        wrong = check_volume_satisfies_claim(volume, claim)
    other = Fault("named", _NAMES_ANOTHER, {"volume": name}, {"names": name})
    judged: list[CandidateVerdict] = []
    for verdict in verdicts:
        if verdict.volume != name:
            judged.append(replace(verdict, faults=(other, *verdict.faults)))
        elif wrong is not None:
            fault = Fault("named", _NAMED_BUT, {"fault": wrong}, {"names": name})
            judged.append(replace(verdict, chosen=False, faults=(fault,)))
        else:
            taken = tuple(fault for fault in verdict.faults if fault.rule == "claimed")
            judged.append(replace(verdict, chosen=not taken, faults=taken))
    fits = any(verdict.chosen for verdict in judged)
    return (name if fits else ""), judged


def _rule(verdict: CandidateVerdict) -> str:
    # A bound volume stays chosen, even if the claim has requested more since.
    if verdict.chosen:
        return "chosen"
    return "fits" if verdict.rule == "larger" else verdict.rule


def _row(verdict: CandidateVerdict, volume: PersistentVolume, text: str) -> dict[str, Any]:
    offer = offer_of(volume)
    return {
        **verdict.to_dict(),
        "verdict": _rule(verdict),
        "text": text,
        "modes": list(offer.modes),
        "class": offer.storage_class,
        "phase": offer.phase,
    }


def _text(
    verdict: CandidateVerdict,
    offer: Offer,
    best: Offer | None,
    claim: PersistentVolumeClaim,
    node: Node | None,
) -> Sentence:
    if verdict.faults and not verdict.chosen:
        return verdict.faults[0].text
    if verdict.chosen:
        return _why_chosen(verdict, offer, claim)
    return say("fits") if best is None else _why_not(verdict, offer, best, node)


def _why_chosen(verdict: CandidateVerdict, offer: Offer, claim: PersistentVolumeClaim) -> Sentence:
    has, asks = _size(offer.capacity_bytes), _size(claim.request_bytes)
    if claim.is_bind_completed:
        return say("the claim is bound to it: {size} for {asked}", size=has, asked=asks)
    if claim.volume_name:
        return say("the claim names it: {size} for {asked}", size=has, asked=asks)
    if verdict.prebound:
        return say("its claimRef names the claim: {size} for {asked}", size=has, asked=asks)
    return say("the first that fits: {size} for {asked}", size=has, asked=asks)


def _why_not(verdict: CandidateVerdict, offer: Offer, best: Offer, node: Node | None) -> Sentence:
    if verdict.prebound:
        return say("its claimRef names the claim, too, but {volume} comes first", volume=best.name)
    extra = [mode for mode in offer.modes if mode not in best.modes]
    if node is None and extra:
        return say(
            "offers {modes} as well: comes after {volume}, which offers less",
            modes=enumerated(extra),
            volume=best.name,
        )
    more = offer.capacity_bytes - best.capacity_bytes
    if more > 0:
        return say("larger than {volume} by {size}", volume=best.name, size=_size(more))
    if more < 0:
        return say("smaller than {volume}, which the claim already has", volume=best.name)
    return say("as large as {volume}, which comes first by name", volume=best.name)


def _size(amount: int) -> str:
    return quantity.format_bytes(amount)

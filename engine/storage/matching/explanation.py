"""Why a claim may or may not have a volume: every broken rule, with the numbers.

The rules are those of rules.py; here each one that a volume breaks becomes a `Fault`.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from engine.kernel.sentences import Sentence, enumerated, say
from engine.objects.objects import Node, PersistentVolume, PersistentVolumeClaim, quantity
from engine.storage.matching.offers import Offer, Wanted, fits_node, offer_of, wanted_of
from engine.storage.matching.rules import NOTHING_EXCLUDED


class Fault(NamedTuple):
    """One rule that a volume breaks for a claim: the rule's name, a sentence, and the numbers."""

    rule: str
    text: Sentence
    detail: dict[str, Any]


@dataclass(frozen=True, slots=True)
class CandidateVerdict:
    """The verdict on one volume for one claim.

    `faults` has every rule that it breaks, in the order in which the rules are applied; the first one
    is why it was not taken. A volume without faults that is not `chosen` was not the best one.
    """

    volume: str
    capacity: int
    chosen: bool
    prebound: bool
    faults: tuple[Fault, ...]

    @property
    def rule(self) -> str:
        """The deciding rule: "chosen", "larger" (fits, but another fits better) or a fault's."""
        if self.faults:
            return self.faults[0].rule
        return "chosen" if self.chosen else "larger"

    def to_dict(self) -> dict[str, Any]:
        """As evidence in an event."""
        return {
            "volume": self.volume,
            "capacity": self.capacity,
            "verdict": self.rule,
            "prebound": self.prebound,
            "faults": [
                {"rule": fault.rule, "text": fault.text, **fault.detail} for fault in self.faults
            ],
        }


def explain_candidates(
    claim: PersistentVolumeClaim,
    volumes: Iterable[PersistentVolume],
    node: Node | None = None,
    excluded: Collection[str] = NOTHING_EXCLUDED,
    delay_binding: bool = False,
    chosen: str = "",
) -> list[CandidateVerdict]:
    """The verdict on each of *volumes*: the chosen one, those that fit, then by number of faults.

    *chosen* is the name of the volume that was taken, or "".
    """
    wanted = wanted_of(claim)
    verdicts = [
        _verdict(wanted, offer_of(each), node, excluded, delay_binding, chosen) for each in volumes
    ]
    blocking = next((v for v in verdicts if v.prebound and v.rule == "node-affinity"), None)
    if blocking is not None and not chosen:
        # A claim with a reserved volume takes no other one, even on nodes that cannot reach it.
        fault = Fault(
            "reserved",
            say("the claim has volume {volume} reserved for it", volume=blocking.volume),
            {},
        )
        verdicts = [v if v.faults else replace(v, faults=(fault,)) for v in verdicts]
    verdicts.sort(key=_nearness)
    return verdicts


def _nearness(verdict: CandidateVerdict) -> tuple[bool, int, int, str]:
    return not verdict.chosen, len(verdict.faults), verdict.capacity, verdict.volume


def _verdict(
    wanted: Wanted,
    offer: Offer,
    node: Node | None,
    excluded: Collection[str],
    delay_binding: bool,
    chosen: str,
) -> CandidateVerdict:
    prebound = offer.names(wanted)
    found = [
        Fault("excluded", say("chosen for another claim of the pod"), {})
        if offer.name in excluded
        else None,
        _claimed_fault(wanted, offer),
        _size_fault(wanted, offer),
        _mode_fault(wanted, offer),
        _attributes_fault(wanted, offer),
        _deleting_fault(offer),
    ]
    if prebound:
        # The PV controller searches by access modes, the scheduler by class.
        listed = _access_fault(wanted, offer) if node is None else _class_fault(wanted, offer)
        found += [listed, _affinity_fault(offer, node)]
    else:
        found += [
            Fault("delayed", say("left to the scheduler until a pod needs the claim"), {})
            if delay_binding and node is None
            else None,
            # The phase adds nothing for a volume that another claim has.
            _phase_fault(offer) if offer.claim_key is None else None,
            _selector_fault(wanted, offer),
            _class_fault(wanted, offer),
            _affinity_fault(offer, node),
            _access_fault(wanted, offer),
        ]
    return CandidateVerdict(
        offer.name,
        offer.capacity_bytes,
        offer.name == chosen,
        prebound,
        tuple(fault for fault in found if fault is not None),
    )


# The faults, one function per rule


def _size_fault(wanted: Wanted, offer: Offer) -> Fault | None:
    if offer.size >= wanted.size:
        return None
    has, asks = offer.capacity_bytes, wanted.bytes
    short = asks - has
    text = say(
        "{size} is {short} too small",
        size=quantity.format_bytes(has),
        short=quantity.format_bytes(short),
    )
    return Fault("size", text, {"capacity": has, "request": asks, "short": short})


def _claimed_fault(wanted: Wanted, offer: Offer) -> Fault | None:
    if offer.claim_key is None or offer.names(wanted):
        return None
    if offer.claim_key == wanted.key:
        text = say(
            "reserved for an earlier claim {claim_key} (uid {claim_uid})",
            claim_key=offer.claim_key,
            claim_uid=offer.claim_uid,
        )
    else:
        text = say("reserved for claim {claim}", claim=offer.claim_key)
        if offer.claim_uid:
            text = say("bound to claim {claim}", claim=offer.claim_key)
    return Fault("claimed", text, {"claim": offer.claim_key, "uid": offer.claim_uid})


def _mode_fault(wanted: Wanted, offer: Offer) -> Fault | None:
    if offer.mode == wanted.mode:
        return None
    text = say(
        "volumeMode is {mode}, the claim asks for {wanted}", mode=offer.mode, wanted=wanted.mode
    )
    return Fault("volume-mode", text, {"volumeMode": offer.mode, "asked": wanted.mode})


def _deleting_fault(offer: Offer) -> Fault | None:
    return Fault("deleting", say("it is being deleted"), {}) if offer.deleting else None


def _phase_fault(offer: Offer) -> Fault | None:
    if offer.available:
        return None
    return Fault(
        "phase", say("phase is {phase}, not Available", phase=offer.phase), {"phase": offer.phase}
    )


def _selector_fault(wanted: Wanted, offer: Offer) -> Fault | None:
    selector, labels = wanted.selector, offer.labels
    if selector is None or selector.matches(labels):
        return None
    broken = next((r for r in selector.requirements if not r.matches(labels)), None)
    if broken is None:
        return Fault("selector", say("the claim's selector matches nothing"), {})
    has = labels.get(broken.key)
    text = (
        say(
            "label {requirement} is not met: {key}={value}",
            requirement=str(broken),
            key=broken.key,
            value=has,
        )
        if has
        else say("label {requirement} is missing", requirement=str(broken))
    )
    return Fault("selector", text, {"requirement": str(broken), "label": has})


def _class_fault(wanted: Wanted, offer: Offer) -> Fault | None:
    if offer.storage_class == wanted.storage_class:
        return None
    none = say("none")
    has, asks = offer.storage_class or none, wanted.storage_class or none
    detail = {"class": offer.storage_class, "asked": wanted.storage_class}
    return Fault(
        "class", say("class is {has}, the claim asks for {asks}", has=has, asks=asks), detail
    )


def _affinity_fault(offer: Offer, node: Node | None) -> Fault | None:
    if node is None or fits_node(offer, node):
        return None
    text = say(
        "its node affinity needs {affinity}, unlike {node}",
        affinity=str(offer.affinity),
        node=node.name,
    )
    return Fault("node-affinity", text, {"node": node.name, "needs": str(offer.affinity)})


def _access_fault(wanted: Wanted, offer: Offer) -> Fault | None:
    missing = [mode for mode in wanted.modes if mode not in offer.modes]
    if not missing:
        return None
    text = say("does not offer {modes}", modes=enumerated(missing))
    return Fault("access-modes", text, {"missing": missing, "offers": list(offer.modes)})


def _attributes_fault(wanted: Wanted, offer: Offer) -> Fault | None:
    asks, has = wanted.attributes_class, offer.attributes_class
    if asks == has:
        return None
    text = say(
        "volumeAttributesClass is {has}, the claim asks for {asks}",
        has=has or say("none"),
        asks=asks or say("none"),
    )
    return Fault("attributes-class", text, {"class": has, "asked": asks})

"""Why a claim may or may not have a volume: every broken rule, with the numbers.

The rules are those of rules.py; here each one that a volume breaks becomes a `Fault`.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from engine.kernel.sentences import Argument, Phrase, Sentence, enumerated, phrase, say
from engine.objects.objects import Node, PersistentVolume, PersistentVolumeClaim, quantity
from engine.storage.matching.offers import Offer, Wanted, fits_node, offer_of, wanted_of
from engine.storage.matching.rules import NOTHING_EXCLUDED


class Fault(NamedTuple):
    """One rule that a volume breaks for a claim: the rule's name, a sentence, and the numbers.

    The sentence is its phrase with something at the places, and is made when it is read: of all
    volumes that a claim could not have, only the nearest few are shown.
    """

    rule: str
    phrase: Phrase
    places: Mapping[str, Argument]
    detail: dict[str, Any]

    @property
    def text(self) -> Sentence:
        """The sentence."""
        return self.phrase.say(**self.places)


_RESERVED: Final = phrase("the claim has volume {volume} reserved for it")
_EXCLUDED: Final = phrase("chosen for another claim of the pod")
_DELAYED: Final = phrase("left to the scheduler until a pod needs the claim")
_TOO_SMALL: Final = phrase("{size} is {short} too small")
_RESERVED_EARLIER: Final = phrase("reserved for an earlier claim {claim_key} (uid {claim_uid})")
_RESERVED_FOR: Final = phrase("reserved for claim {claim}")
_BOUND_TO: Final = phrase("bound to claim {claim}")
_OTHER_MODE: Final = phrase("volumeMode is {mode}, the claim asks for {wanted}")
_DELETING: Final = phrase("it is being deleted")
_UNAVAILABLE: Final = phrase("phase is {phase}, not Available")
_MATCHES_NOTHING: Final = phrase("the claim's selector matches nothing")
_OTHER_LABEL: Final = phrase("label {requirement} is not met: {key}={value}")
_NO_LABEL: Final = phrase("label {requirement} is missing")
_OTHER_CLASS: Final = phrase("class is {has}, the claim asks for {asks}")
_OUT_OF_REACH: Final = phrase("its node affinity needs {affinity}, unlike {node}")
_NO_ACCESS: Final = phrase("does not offer {modes}")
_OTHER_ATTRIBUTES: Final = phrase("volumeAttributesClass is {has}, the claim asks for {asks}")


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
        fault = Fault("reserved", _RESERVED, {"volume": blocking.volume}, {})
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
        Fault("excluded", _EXCLUDED, {}, {}) if offer.name in excluded else None,
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
            Fault("delayed", _DELAYED, {}, {}) if delay_binding and node is None else None,
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
        tuple([fault for fault in found if fault is not None]),
    )


# The faults, one function per rule


def _size_fault(wanted: Wanted, offer: Offer) -> Fault | None:
    if offer.size >= wanted.size:
        return None
    has, asks = offer.capacity_bytes, wanted.bytes
    short = asks - has
    places = {"size": quantity.format_bytes(has), "short": quantity.format_bytes(short)}
    detail = {"capacity": has, "request": asks, "short": short}
    return Fault("size", _TOO_SMALL, places, detail)


def _claimed_fault(wanted: Wanted, offer: Offer) -> Fault | None:
    if offer.claim_key is None or offer.names(wanted):
        return None
    detail = {"claim": offer.claim_key, "uid": offer.claim_uid}
    if offer.claim_key == wanted.key:
        places = {"claim_key": offer.claim_key, "claim_uid": offer.claim_uid}
        return Fault("claimed", _RESERVED_EARLIER, places, detail)
    claimed = _BOUND_TO if offer.claim_uid else _RESERVED_FOR
    return Fault("claimed", claimed, {"claim": offer.claim_key}, detail)


def _mode_fault(wanted: Wanted, offer: Offer) -> Fault | None:
    if offer.mode == wanted.mode:
        return None
    places = {"mode": offer.mode, "wanted": wanted.mode}
    detail = {"volumeMode": offer.mode, "asked": wanted.mode}
    return Fault("volume-mode", _OTHER_MODE, places, detail)


def _deleting_fault(offer: Offer) -> Fault | None:
    return Fault("deleting", _DELETING, {}, {}) if offer.deleting else None


def _phase_fault(offer: Offer) -> Fault | None:
    if offer.available:
        return None
    return Fault("phase", _UNAVAILABLE, {"phase": offer.phase}, {"phase": offer.phase})


def _selector_fault(wanted: Wanted, offer: Offer) -> Fault | None:
    selector, labels = wanted.selector, offer.labels
    if selector is None or selector.matches(labels):
        return None
    broken = next((r for r in selector.requirements if not r.matches(labels)), None)
    if broken is None:
        return Fault("selector", _MATCHES_NOTHING, {}, {})
    requirement, has = str(broken), labels.get(broken.key)
    detail = {"requirement": requirement, "label": has}
    if not has:
        return Fault("selector", _NO_LABEL, {"requirement": requirement}, detail)
    places = {"requirement": requirement, "key": broken.key, "value": has}
    return Fault("selector", _OTHER_LABEL, places, detail)


def _class_fault(wanted: Wanted, offer: Offer) -> Fault | None:
    if offer.storage_class == wanted.storage_class:
        return None
    none = say("none")
    has, asks = offer.storage_class or none, wanted.storage_class or none
    detail = {"class": offer.storage_class, "asked": wanted.storage_class}
    return Fault("class", _OTHER_CLASS, {"has": has, "asks": asks}, detail)


def _affinity_fault(offer: Offer, node: Node | None) -> Fault | None:
    if node is None or fits_node(offer, node):
        return None
    affinity = str(offer.affinity)
    places = {"affinity": affinity, "node": node.name}
    return Fault("node-affinity", _OUT_OF_REACH, places, {"node": node.name, "needs": affinity})


def _access_fault(wanted: Wanted, offer: Offer) -> Fault | None:
    missing = [mode for mode in wanted.modes if mode not in offer.modes]
    if not missing:
        return None
    detail = {"missing": missing, "offers": list(offer.modes)}
    return Fault("access-modes", _NO_ACCESS, {"modes": enumerated(missing)}, detail)


def _attributes_fault(wanted: Wanted, offer: Offer) -> Fault | None:
    asks, has = wanted.attributes_class, offer.attributes_class
    if asks == has:
        return None
    places = {"has": has or say("none"), "asks": asks or say("none")}
    return Fault("attributes-class", _OTHER_ATTRIBUTES, places, {"class": has, "asked": asks})

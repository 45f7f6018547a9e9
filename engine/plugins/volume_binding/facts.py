"""VolumeBinding: which volume is out of reach of which node, and why a claim finds none."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any, Final

import numpy as np

from engine.framework.explaining.case import FEW, FEW_LEFT, Case, listed, nodes_text
from engine.framework.explaining.fact import Explanation, Fact, fact
from engine.framework.explaining.label_changes import label_change
from engine.framework.explaining.labels import RENAMED, described, holds
from engine.framework.explaining.proposes import Proposal
from engine.framework.explaining.refusals import Refusals
from engine.framework.nodes.arrays import BoolArray
from engine.kernel.sentences import (
    NOTHING,
    Argument,
    Sentence,
    any_of,
    each_of,
    say,
    say_count,
    together,
)
from engine.objects.manifest_parts import items, section
from engine.objects.objects import (
    ApiObject,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    quantity,
)
from engine.objects.phases import NO_PROVISIONER, claim_class
from engine.objects.selectors import LabelSelector, NodeSelector
from engine.plugins.volume_binding.reasons import (
    REASON_NO_SPACE,
    REASON_NODE_CONFLICT,
    REASON_NODE_CONFLICT_1_16,
)
from engine.storage.matching.explanation import CandidateVerdict, Fault, explain_candidates
from engine.storage.matching.storage_capacity import volume_limit

# In the words of v1.34, and of v1.20 and before.
_CONFLICTS: Final = frozenset((REASON_NODE_CONFLICT, REASON_NODE_CONFLICT_1_16))
_AFFINITY = ("spec", "nodeAffinity", "required")
_PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"


def explain_binding(case: Case) -> Explanation:
    """The volumes that lie elsewhere; else the claims without a volume, each with its candidates."""
    if _CONFLICTS.intersection(case.reasons):
        found = _out_of_reach(case)
        if found.because:
            return found
    return _without_volume(case, is_full=REASON_NO_SPACE in case.reasons)


# -- volumes that lie elsewhere ------------------------------------------------------------------


def _out_of_reach(case: Case) -> Explanation:
    bound = list(_bound_volumes(case))
    limited = [(claim, volume) for claim, volume in bound if _terms(volume)]
    away = [
        (claim, volume)
        for claim, volume in limited
        for reached in (_reached_rows(case, volume),)
        if not all(reached[each.row] for each in case.refused)
    ]
    because = [one for claim, volume in away for one in _facts_of_volume(case, claim, volume)]
    why = _why(case, limited, away)
    return Explanation(
        sentence=_sentence_of(case, away),
        lead=why,
        overall=_overall(case, away),
        why=why,
        because=tuple(because),
    )


def _overall(case: Case, away: list[tuple[PersistentVolumeClaim, PersistentVolume]]) -> Sentence:
    """The few nodes that a volume leaves, and what keeps the pod off them; "" for many or none."""
    for claim, volume in away:
        within = _reached_nodes(case, volume)
        faults = case.faults_of(within) if 0 < len(within) <= FEW_LEFT else NOTHING
        if faults:
            return say_count(
                "Volume {volume} of claim {claim} can only be used on {nodes}, which refuses the "
                "pod: {faults}.",
                "Volume {volume} of claim {claim} can only be used on {nodes}, which refuse the "
                "pod: {faults}.",
                len(within),
                volume=volume.name,
                claim=claim.name,
                nodes=listed([node.name for node in within]),
                faults=faults,
            )
    return NOTHING


def _bound_volumes(case: Case) -> Iterator[tuple[PersistentVolumeClaim, PersistentVolume]]:
    listers, pod = case.world.listers, case.pod
    for name in pod.claim_names:
        claim = listers.claim(f"{pod.namespace}/{name}")
        volume = None if claim is None else listers.volume(claim.volume_name)
        if claim is not None and volume is not None:
            yield claim, volume


def _terms(volume: PersistentVolume) -> list[dict[str, Any]]:
    return items(section(volume.spec, "nodeAffinity", "required"), "nodeSelectorTerms")


def _reached_rows(case: Case, volume: PersistentVolume) -> BoolArray:
    """The rows of the nodes that the volume's node affinity allows."""
    required = section(volume.spec, "nodeAffinity", "required")
    table = case.world.table
    if not required:
        return np.ones(table.capacity, np.bool_)
    return table.matching(NodeSelector.parse(required))


def _reached_nodes(case: Case, volume: PersistentVolume) -> list[Node]:
    """The nodes that the volume's node affinity allows, in the order they were added."""
    table, reached = case.world.table, _reached_rows(case, volume)
    rows: list[int] = table.active[reached[table.active]].tolist()
    return list(map(table.node, rows))


def _requirements(volume: PersistentVolume) -> list[tuple[int, int, dict[str, Any]]]:
    """Each requirement of its node affinity, with the place of its term and its own."""
    return [
        (place, at, requirement)
        for place, term in enumerate(_terms(volume))
        for at, requirement in enumerate(items(term, "matchExpressions"))
    ]


def _wants(volume: PersistentVolume) -> Sentence:
    """Its node affinity in words: terms joined by "or"."""
    terms = [
        each_of(
            [
                described(each)
                for each in (*items(term, "matchExpressions"), *items(term, "matchFields"))
            ]
        )
        for term in _terms(volume)
    ]
    return any_of(terms)


def _sentence_of(
    case: Case, away: list[tuple[PersistentVolumeClaim, PersistentVolume]]
) -> Sentence:
    if not away:
        return NOTHING
    claim, volume = away[0]
    where = nodes_text(case.names)
    if len(away) > 1:
        names = [
            say("{volume} ({requirement})", volume=each.name, requirement=_wants(each))
            for _, each in away
        ]
        return say(
            "{nodes}: out of reach of the pod's volumes {volumes}.",
            nodes=where,
            volumes=listed(names, 3),
        )
    return say(
        "{nodes}: volume {volume} of claim {claim} can only be used on nodes with {requirement}.",
        nodes=where,
        volume=volume.name,
        claim=claim.name,
        requirement=_wants(volume),
    )


def _why(
    case: Case,
    limited: list[tuple[PersistentVolumeClaim, PersistentVolume]],
    away: list[tuple[PersistentVolumeClaim, PersistentVolume]],
) -> Sentence:
    for (_, one), (_, other) in combinations(limited, 2):
        both = _reached_rows(case, one) & _reached_rows(case, other)
        if not both[case.world.table.active].any():
            return say(
                "Volumes {one} and {other} exclude each other: no node has both {one_needs} "
                "and {other_needs}.",
                one=one.name,
                other=other.name,
                one_needs=_wants(one),
                other_needs=_wants(other),
            )
    for _, volume in away:
        within = [node.name for node in _reached_nodes(case, volume)]
        if not within:
            nowhere = say(
                "No node of the cluster has {requirement}, which volume {volume} needs.",
                requirement=_wants(volume),
                volume=volume.name,
            )
            return together(nowhere, _why_unlabelled(case, volume) or _why_renamed(case, volume))
        faults = case.faults_of(_reached_nodes(case, volume)[:FEW_LEFT])
        if faults:
            return say_count(
                "Volume {volume} can only be used on {nodes}, which refuses the pod: {faults}.",
                "Volume {volume} can only be used on {nodes}, which refuse the pod: {faults}.",
                len(within),
                volume=volume.name,
                nodes=listed(within),
                faults=faults,
            )
        return say(
            "Volume {volume} can only be used on {nodes}.",
            volume=volume.name,
            nodes=listed(within),
        )
    return NOTHING


def _why_unlabelled(case: Case, volume: PersistentVolume) -> Sentence:
    """Where the label that the volume asks for is missing because its driver does not run.

    A kubelet labels its node by what the driver says of it when that registers.
    Upstream: pkg/volume/csi/nodeinfomanager/nodeinfomanager.go, updateTopologyLabels().
    """
    driver = section(volume.spec, "csi").get("driver")
    keys = {str(requirement.get("key")) for _, _, requirement in _requirements(volume)}
    registered = {
        str(node.name): found
        for node in case.world.listers.all("CSINode")
        for found in items(node.spec, "drivers")
        if found.get("name") == driver
    }
    known = [each.get("topologyKeys") or () for each in registered.values()]
    of_driver = sorted(keys.intersection(*known))
    if not registered or not of_driver:
        return NOTHING
    without = [
        node.name
        for _, node in case.world.nodes()
        if node.name not in registered and of_driver[0] not in node.labels
    ]
    if not without:
        return NOTHING
    return say_count(
        "{nodes} lacks that label: driver {driver}, which sets it, is not registered there.",
        "{nodes} lack that label: driver {driver}, which sets it, is not registered there.",
        len(without),
        nodes=listed(without),
        driver=driver,
    )


def _why_renamed(case: Case, volume: PersistentVolume) -> Sentence:
    """Where the nodes have the label that the volume asks for under its newer name only."""
    labels = [node.labels for _, node in case.world.nodes()]
    for _, _, requirement in _requirements(volume):
        key = str(requirement.get("key"))
        newer = RENAMED.get(key, "")
        if any(newer in each for each in labels) and not any(key in each for each in labels):
            return say("The label was renamed, and the nodes carry {newer} alone.", newer=newer)
    return NOTHING


def labels_renamed(refusals: Refusals) -> Iterator[Proposal]:
    """The old name of a label that a volume asks for, on close nodes that have the newer one."""
    listers, pod = refusals.world.listers, refusals.pod
    for name in pod.claim_names:
        claim = listers.claim(f"{pod.namespace}/{name}")
        volume = None if claim is None else listers.volume(claim.volume_name)
        for _, _, requirement in () if volume is None else _requirements(volume):
            key = str(requirement.get("key"))
            newer = RENAMED.get(key, "")
            for _, node in refusals.near():
                value = node.labels.get(newer)
                if value in (requirement.get("values") or ()) and key not in node.labels:
                    change = label_change(node, key, value)
                    if change is not None:
                        yield change


def _facts_of_volume(
    case: Case, claim: PersistentVolumeClaim, volume: PersistentVolume
) -> Iterator[Fact]:
    yield fact(
        claim,
        ("spec", "volumeName"),
        say("Claim {claim} is bound to volume {volume}.", claim=claim.key, volume=volume.name),
    )
    for place, at, requirement in _requirements(volume):
        key = str(requirement.get("key"))
        path = (*_AFFINITY, "nodeSelectorTerms", place, "matchExpressions", at)
        yield fact(
            volume,
            path,
            say(
                "Volume {volume} requires {requirement}.",
                volume=volume.name,
                requirement=described(requirement),
            ),
        )
        for node in [case.node(each) for each in case.refused[:FEW]]:
            if not holds(requirement, node):
                has = node.labels.get(key)
                label_text = (
                    say("Node {node} has {key}={has}.", node=node.name, key=key, has=has)
                    if has
                    else say("Node {node} has no label {key}.", node=node.name, key=key)
                )
                wanted = requirement.get("values")
                yield fact(node, ("metadata", "labels", key), label_text, compared_with=wanted)
    for node in _reached_nodes(case, volume)[:1]:
        refusal = case.everywhere.get(node.name)
        reasons = [each.detail.text for each in refusal.obstacles] if refusal else []
        text = say("Volume {volume} can be used on {node}.", volume=volume.name, node=node.name)
        if reasons:
            text = say(
                "Volume {volume} can be used on {node}, but: {reasons}.",
                volume=volume.name,
                node=node.name,
                reasons=listed(reasons),
            )
        yield fact(node, ("metadata", "name"), text)
    yield from _facts_of_immediate(case, claim, volume)


def _facts_of_immediate(
    case: Case, claim: PersistentVolumeClaim, volume: PersistentVolume
) -> Iterator[Fact]:
    """The class that had the volume made before anyone knew where the pod would go."""
    storage_class = case.world.listers.storage_class(claim_class(claim))
    is_provisioned = _PROVISIONED_BY in volume.annotations
    if storage_class is None or storage_class.binding_mode != "Immediate" or not is_provisioned:
        return
    yield fact(
        storage_class,
        ("volumeBindingMode",),
        say(
            "Class {storage_class} binds immediately: volume {volume} was placed "
            "before the pod was scheduled.",
            storage_class=storage_class.name,
            volume=volume.name,
        ),
        compared_with="WaitForFirstConsumer",
    )


# -- claims that find no volume ------------------------------------------------------------------


def _without_volume(case: Case, *, is_full: bool) -> Explanation:
    listers, pod = case.world.listers, case.pod
    because: list[Fact] = []
    why: list[Sentence] = []
    for name in pod.claim_names:
        claim = listers.claim(f"{pod.namespace}/{name}")
        if claim is None or claim.volume_name:
            continue
        storage_class = listers.storage_class(claim_class(claim))
        size = quantity.format_bytes(claim.request_bytes)
        text = say("Claim {claim} asks for {size} without a class.", claim=claim.key, size=size)
        if claim_class(claim):
            text = say(
                "Claim {claim} asks for {size} of class {storage_class}.",
                claim=claim.key,
                size=size,
                storage_class=claim_class(claim),
            )
        because.append(fact(claim, ("spec", "resources", "requests", "storage"), text))
        if is_full and storage_class is not None:
            found = list(_capacity_facts(case, claim, storage_class))
            because.extend(found)
            why.append(_why_no_capacity(case, claim, storage_class))
            continue
        because.extend(_candidate_facts(case, claim))
        if storage_class is not None:
            because.append(_provisioner_fact(storage_class))
            because.extend(_topology_facts(case, storage_class))
        why.append(_why_no_volume(case, claim, storage_class))
    first = next(filter(None, why), NOTHING)
    return Explanation(lead=first, why=first, because=tuple(because))


def _provisions(storage_class: StorageClass) -> bool:
    return storage_class.provisioner not in ("", NO_PROVISIONER)


def _why_no_volume(
    case: Case, claim: PersistentVolumeClaim, storage_class: StorageClass | None
) -> Sentence:
    """The nearest volume and the first rule that it breaks, or why none can be provisioned."""
    if storage_class is not None and _provisions(storage_class):
        return _allowed_text(storage_class)
    volumes = _volumes_for(case, claim)
    verdicts = explain_candidates(claim, volumes, case.nearest, (), True)
    broken = next((each for each in verdicts if each.faults), None)
    if broken is not None:
        return _nearest_volume(claim, broken)
    if not claim_class(claim):
        return say(
            "There is no volume without a class for claim {claim}, and nothing provisions one.",
            claim=claim.name,
        )
    return say(
        "There is no volume of class {storage_class} for claim {claim}, and nothing provisions one.",
        storage_class=claim_class(claim),
        claim=claim.name,
    )


def _nearest_volume(claim: PersistentVolumeClaim, broken: CandidateVerdict) -> Sentence:
    if not claim_class(claim):
        return say(
            "No volume without a class fits claim {claim}; the closest is {volume}: {fault}.",
            claim=claim.name,
            volume=broken.volume,
            fault=broken.faults[0].text,
        )
    return say(
        "No volume of class {storage_class} fits claim {claim}; the closest is {volume}: {fault}.",
        storage_class=claim_class(claim),
        claim=claim.name,
        volume=broken.volume,
        fault=broken.faults[0].text,
    )


def _allowed_text(storage_class: StorageClass) -> Sentence:
    """Where allowedTopologies lets volumes be; "" where it says nothing."""
    terms = [
        each_of(
            [described({**each, "operator": "In"}) for each in items(term, "matchLabelExpressions")]
        )
        for term in items(storage_class.raw, "allowedTopologies")
    ]
    if not terms:
        return NOTHING
    return say(
        "Class {storage_class} allows volumes only where {requirement}.",
        storage_class=storage_class.name,
        requirement=any_of(terms),
    )


def _topology_facts(case: Case, storage_class: StorageClass) -> Iterator[Fact]:
    """Where the class allows volumes, and the labels that the nodes have there."""
    text = _allowed_text(storage_class)
    if not text:
        return
    yield fact(storage_class, ("allowedTopologies",), text)
    for term in items(storage_class.raw, "allowedTopologies"):
        for each in items(term, "matchLabelExpressions"):
            key, values = str(each.get("key")), each.get("values")
            for node, _ in case.few():
                has = node.labels.get(key)
                label = say("Node {node} has no label {key}.", node=node.name, key=key)
                if has:
                    label = say("Node {node} has {key}={has}.", node=node.name, key=key, has=has)
                yield fact(node, ("metadata", "labels", key), label, compared_with=values)


def _provisioner_fact(storage_class: StorageClass) -> Fact:
    name = storage_class.provisioner
    if not _provisions(storage_class):
        text = say(
            "Class {storage_class} provisions nothing: its volumes are made by hand.",
            storage_class=storage_class.name,
        )
    else:
        text = say(
            "Class {storage_class} is provisioned by {name}.",
            storage_class=storage_class.name,
            name=name,
        )
    return fact(storage_class, ("provisioner",), text)


def _candidate_facts(case: Case, claim: PersistentVolumeClaim) -> Iterator[Fact]:
    """What speaks against each volume that comes nearest."""
    volumes = _volumes_for(case, claim)
    by_name = {volume.name: volume for volume in volumes}
    node = case.nearest
    verdicts = explain_candidates(claim, volumes, node, (), True)
    for verdict in verdicts[:FEW]:
        if not verdict.faults:
            continue
        yield fault_fact(by_name[verdict.volume], verdict.faults[0], node.name)


def _volumes_for(case: Case, claim: PersistentVolumeClaim) -> list[PersistentVolume]:
    """The volumes of the claim's class, and those that are reserved for it."""
    return [
        each
        for each in case.world.volumes()
        if each.storage_class_name == claim_class(claim) or each.claim_key == claim.key
    ]


def fault_fact(volume: PersistentVolume, broken: Fault, node: str = "") -> Fact:
    """The rule that a volume breaks for a claim, on a node, as a fact of the volume."""
    path = _FIELDS.get(broken.rule, ("spec",))
    text = say("Volume {volume} does not fit: {fault}.", volume=volume.name, fault=broken.text)
    if node:
        text = say(
            "Volume {volume} does not fit on {node}: {fault}.",
            volume=volume.name,
            node=node,
            fault=broken.text,
        )
    wanted = next((broken.detail[key] for key in _WANTED if key in broken.detail), None)
    return fact(volume, path, text, compared_with=wanted)


# What a claim asks for, in the numbers of a fault.
_WANTED: Final = ("request", "asked", "missing", "requirement", "node")
# Where in a volume the rule of a fault looks; the names are those of matching.py.
_FIELDS: dict[str, tuple[str, ...]] = {
    "size": ("spec", "capacity", "storage"),
    "access-modes": ("spec", "accessModes"),
    "volume-mode": ("spec", "volumeMode"),
    "class": ("spec", "storageClassName"),
    "claimed": ("spec", "claimRef"),
    "node-affinity": _AFFINITY,
    "selector": ("metadata", "labels"),
    "phase": ("status", "phase"),
    "deleting": ("metadata", "deletionTimestamp"),
    "attributes-class": ("spec", "volumeAttributesClassName"),
}


def _capacities(case: Case, storage_class: StorageClass) -> list[ApiObject]:
    return [
        each
        for each in case.world.listers.all("CSIStorageCapacity")
        if each.raw.get("storageClassName") == storage_class.name
    ]


def _why_no_capacity(
    case: Case, claim: PersistentVolumeClaim, storage_class: StorageClass
) -> Sentence:
    driver = storage_class.provisioner
    capacities = _capacities(case, storage_class)
    if not capacities:
        return say(
            "No CSIStorageCapacity is published for class {storage_class}, so the "
            "scheduler treats every node of driver {driver} as full.",
            storage_class=storage_class.name,
            driver=driver,
        )
    size = quantity.format_bytes(claim.request_bytes)
    most = max((volume_limit(each) or 0) for each in capacities)
    if most >= claim.request_bytes:
        return say(
            "No storage of class {storage_class} with room for {size} is within reach "
            "of these nodes.",
            storage_class=storage_class.name,
            size=size,
        )
    return say(
        "The driver {driver} reports room for {most} at most, and claim {claim} asks for {size}.",
        driver=driver,
        most=quantity.format_bytes(most),
        claim=claim.name,
        size=size,
    )


def _capacity_facts(
    case: Case, claim: PersistentVolumeClaim, storage_class: StorageClass
) -> Iterator[Fact]:
    driver = case.world.listers.get("CSIDriver", storage_class.provisioner)
    if driver is not None:
        yield fact(
            driver,
            ("spec", "storageCapacity"),
            say(
                "Driver {driver} says that it publishes its capacity, so the scheduler "
                "asks for it.",
                driver=driver.name,
            ),
        )
    capacities = _capacities(case, storage_class)
    if not capacities:
        yield fact(
            storage_class,
            ("metadata", "name"),
            say(
                "No CSIStorageCapacity names class {storage_class}.",
                storage_class=storage_class.name,
            ),
        )
    for capacity in capacities[:FEW]:
        limit = volume_limit(capacity)
        field = "maximumVolumeSize" if capacity.raw.get("maximumVolumeSize") else "capacity"
        topology = capacity.raw.get("nodeTopology")
        within = [
            node.name
            for _, node in case.world.nodes()
            if topology is not None and LabelSelector.parse(topology).matches(node.labels)
        ]
        room = say("no size") if limit is None else quantity.format_bytes(limit)
        known: dict[str, Argument] = {
            "capacity": capacity.key,
            "storage_class": storage_class.name,
            "room": room,
        }
        text = say(
            "CSIStorageCapacity {capacity} of class {storage_class} reports {room} for none of the "
            "nodes.",
            **known,
        )
        if within:
            text = say(
                "CSIStorageCapacity {capacity} of class {storage_class} reports {room} for {nodes}.",
                **known,
                nodes=listed(within),
            )
        yield fact(capacity, (field,), text, compared_with=claim.request_bytes)

"""Pods without a node: grouped by what keeps them from one, one diagnosis for pods of one spec."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import orjson

from engine.diagnosis.candidates import Situation
from engine.diagnosis.causes import Refused, closest_nodes, node_causes, outright_cause
from engine.diagnosis.explaining import family_of
from engine.diagnosis.headline import headline
from engine.diagnosis.observed.evidence import Evidence, condition
from engine.diagnosis.report import Cause
from engine.diagnosis.triage.deciding import Deciding, scheduling_spec
from engine.diagnosis.triage.drawn import known_as
from engine.diagnosis.triage.pending_pods.signatures import signature_of
from engine.diagnosis.world import World
from engine.kernel.sentences import NOTHING, Sentence, say
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest, Node, PersistentVolume, Pod
from engine.scheduler.cycle.decision.result import SCHEDULED

# How many nodes of each combination of refusals are looked at one by one, the closest, where a
# cluster has more than so many.
_LOOKED_AT, _MANY_NODES = 32, 500


@dataclass(slots=True)
class PodClass:
    """Pods of one workload and one spec, to which one diagnosis applies."""

    workload: str
    pods: list[Pod] = field(default_factory=list[Pod])
    world: World | None = None
    refused: list[Refused] = field(default_factory=list[Refused])
    causes: list[Cause] = field(default_factory=list[Cause])
    sentence: Sentence = NOTHING
    # The node that would take the pods as things are; "" for none.
    fits: str = ""

    @property
    def pod(self) -> Pod:
        """The pod that stands for all."""
        return self.pods[0]

    @property
    def situation(self) -> Situation:
        """The refusals, as changes are looked for."""
        assert self.world is not None
        return Situation(self.world, self.refused)


@dataclass(frozen=True, slots=True)
class GroupChange:
    """One change: other fields of the specs of some workloads' pods, or other nodes."""

    kind: str
    text: Sentence
    # The fields of the spec that are replaced, by the class that they are meant for.
    fields: Mapping[int, Manifest] = field(default_factory=dict[int, Manifest])
    objects: tuple[Node, ...] = ()
    note: Sentence = NOTHING
    loses: Sentence = NOTHING
    shared: Sentence = NOTHING
    # Whether pods that run are changed with it, because the rule is read from both sides.
    is_mutual: bool = False


@dataclass(slots=True)
class Held:
    """Classes of pods that the same thing holds back.

    `number` tells it from the others. `tried` are the changes that place some, by their texts.
    """

    signature: tuple[str, ...]
    main: Cause | None
    classes: list[PodClass] = field(default_factory=list[PodClass])
    number: int = 0
    tried: dict[str, GroupChange] = field(default_factory=dict[str, GroupChange])

    @property
    def pods(self) -> list[Pod]:
        """All of them."""
        return [pod for each in self.classes for pod in each.pods]

    @property
    def workloads(self) -> list[str]:
        """The workloads of the pods, each once."""
        return list(dict.fromkeys(each.workload for each in self.classes if each.workload))


def was_refused(evidence: Evidence, pod: Pod) -> bool:
    """Whether the files say that a scheduler refused the pod."""
    found = condition(pod.raw, "PodScheduled")
    if found is not None and found.get("status") == "False":
        return True
    return bool(evidence.events(pod.raw, "FailedScheduling"))


def held_back(evidence: Evidence, deciding: Deciding) -> list[Held]:
    """The pods that wait for a node in vain, in groups.

    A pod of which nothing was observed, and that fits, is placed: it will run, and is pending no
    more.
    """
    classes: dict[tuple[str, ...], PodClass] = {}
    blocked: set[tuple[str, ...]] = set()
    left: list[Pod] = []
    for pod in deciding.pending:
        key = _class_key(evidence, deciding, pod)
        is_plain = deciding.serves(pod) and not pod.scheduling_gates
        if is_plain and key not in blocked and not was_refused(evidence, pod):
            if node := deciding.place(pod):
                deciding.foreseen[pod.key] = node
                continue
            blocked.add(key)
        found = classes.setdefault(key, PodClass(evidence.workload(pod.raw)))
        found.pods.append(pod)
        left.append(pod)
    deciding.pending = left
    groups: dict[tuple[str, ...], Held] = {}
    for each in classes.values():
        signature, main = _diagnosed(evidence, deciding, each)
        held = groups.setdefault(signature, Held(signature, main, number=len(groups) + 1))
        held.classes.append(each)
    return list(groups.values())


def _diagnosed(
    evidence: Evidence, deciding: Deciding, found: PodClass
) -> tuple[tuple[str, ...], Cause | None]:
    """Why the class has no node; its signature is that of its group."""
    pod = found.pod
    if pod.scheduling_gates:
        return ("gate", *pod.scheduling_gates, _queue_of(pod)), None
    if not deciding.serves(pod):
        return ("scheduler", pod.scheduler_name), None
    if leaving_for(deciding, pod):
        return ("nominated", pod.nominated_node_name), None
    world = found.world = deciding.world(pod)
    decision = world.decide()
    if decision.result == SCHEDULED:
        found.fits = decision.node or ""
        found.sentence = say("It fits {node} as things are.", node=found.fits)
        return ("fits", found.workload or pod.key), None
    outright = outright_cause(decision, world)
    most = _LOOKED_AT if len(world.table) > _MANY_NODES else len(world.table)
    found.refused, by_rule = closest_nodes(world, decision, most)
    found.causes = node_causes(world, found.refused, by_rule)
    if outright is not None:
        found.causes = [outright, *found.causes]
        found.sentence = outright.sentence
        return signature_of(world, outright, found.refused, found.workload), outright
    found.sentence = headline(world, found.refused, found.causes)
    main = main_cause(world, found.refused, found.causes)
    return signature_of(world, main, found.refused, found.workload), main


def leaving_for(deciding: Deciding, pod: Pod) -> list[Pod]:
    """The pods of lower priority that end on the node that *pod* is nominated to."""
    table = deciding.cluster.handle.table
    row = table.rows.get(pod.nominated_node_name)
    if row is None:
        return []
    there = (info.pod for info in table.pods[row].values())
    return [each for each in there if each.deletion_timestamp and each.priority < pod.priority]


def main_cause(world: World, refused: Sequence[Refused], causes: Sequence[Cause]) -> Cause:
    """The cause that a person would name: what all nodes share, else a volume, else the closest."""
    shared = [each for each in causes if each.severity == "blocks"]
    if shared:
        return shared[0]
    bound = [each for each in causes if each.overall and family_of(world, each.plugin) == "volume"]
    if bound:
        return bound[0]
    nearest = next((each for each in refused if not _is_reserved(each)), refused[0])
    for obstacle in nearest.obstacles:
        for each in causes:
            if nearest.node in each.nodes and each.plugin == obstacle.name:
                return each
    return causes[0]


_RESERVED = ("node-role.kubernetes.io/", "node.kubernetes.io/", "CriticalAddonsOnly")


def _is_reserved(refused: Refused) -> bool:
    """Whether the node is kept for others or is broken, so that nobody means it for such pods."""
    return any(
        any(known_as("taint", key) in each.detail.text for key in _RESERVED)
        for each in refused.obstacles
    )


def _class_key(evidence: Evidence, deciding: Deciding, pod: Pod) -> tuple[str, ...]:
    """What pods of one diagnosis have in common: workload, spec, and where their volumes are."""
    workload = evidence.workload(pod.raw)
    # A pod of its own keeps all that it has: changes make it again.
    spec = scheduling_spec(pod) if workload else dict(pod.spec)
    for name in ("volumes", "hostname"):
        spec.pop(name, None)
    if any(each.get("kind") == "DaemonSet" for each in pod.owner_references):
        # Each of its pods is meant for one node, by its name.
        spec.pop("affinity", None)
    text = orjson.dumps(spec, option=orjson.OPT_SORT_KEYS).decode()
    return (workload, pod.namespace, text, *_volumes_of(deciding, pod))


def _volumes_of(deciding: Deciding, pod: Pod) -> list[str]:
    """Where the volumes of the pod are, and from which class claims without one want theirs."""
    listers = deciding.cluster.handle.listers
    found: list[str] = []
    for name in pod.claim_names:
        claim = listers.claim(f"{pod.namespace}/{name}")
        if claim is None:
            found.append(f"no claim {name}")
            continue
        volume = listers.volume(claim.volume_name) if claim.volume_name else None
        found.append(f"{claim.storage_class_name} {claim.phase} {_place_of(volume)}")
    return found


def _place_of(volume: PersistentVolume | None) -> str:
    """The nodes that a volume leaves, by its affinity and by the labels of older disks."""
    if volume is None:
        return "{}"
    labels = {key: value for key, value in volume.labels.items() if key.endswith(_ZONED)}
    where = (section(volume.spec, "nodeAffinity"), labels)
    return orjson.dumps(where, option=orjson.OPT_SORT_KEYS).decode()


_ZONED = ("/zone", "/region")


def _queue_of(pod: Pod) -> str:
    """The queue that a gated pod names, whatever its operator calls the label."""
    texts = {**pod.annotations, **pod.labels}
    return next((f"{key}={value}" for key, value in sorted(texts.items()) if "queue" in key), "")


def containers_of(pod: Pod) -> list[Manifest]:
    """Its containers and init containers."""
    return [*items(pod.spec, "initContainers"), *items(pod.spec, "containers")]

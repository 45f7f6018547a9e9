"""One recording of a real control plane beside the same scenario run here, both told as facts.

A fact is what one write changed of what matters, and by whom; or a Kubernetes Event. Both sides are
reduced to facts per object in order; what the recordings themselves vary in (their README and
REPEAT.json) is taken out of both.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from engine.input.loader import load_files
from engine.input.scenario import Scenario, Step
from engine.kernel.latency import Latency
from engine.kernel.units import MILLISECOND, SECOND
from engine.kernel.view import diff
from tests.conformance.vectors import Json
from tests.engine.controllers.workloads.recorded import KINDS, History, histories
from tests.vectors import vector_set

# By profile, the recordings of a control plane of that version.
FOLDERS = {
    "v1.20": vector_set("control-plane-1.20"),
    "v1.36": vector_set("control-plane-1.36"),
}
# The recordings' controllers started this long before the first step: the phase of their periods.
ORIGIN = 4_120 * MILLISECOND
# The initial objects were created this long before it, one after the other.
SET_UP = ORIGIN - 2_060 * MILLISECOND
# The stand-in for the kubelet says a second late that a volume is no longer in use.
LATENCIES = {"node_status": Latency("fixed", 1_200 * MILLISECOND)}
# So much earlier or later something may come here, in seconds; the stand-ins for attachers and
# kubelets say a second late what the real ones say at once.
TOLERANCE = 0.4
TOLERANCE_OF_STAND_INS = 1.6
# By profile, how long after one object the next of the same step was created.
GAPS = {"v1.36": 12 * MILLISECOND}
# The machine of the recordings of v1.36 was busier.
MORE_TOLERANCE = {"v1.36": 0.4}


class Told(NamedTuple):
    """A fact, and when it came about: seconds after the first step."""

    at: float
    fact: Any


# Per pod and plugin the score of each node, of the last attempt that scored any.
Scores = dict[str, dict[str, dict[str, int]]]
# When, by whom, the type of the watch event, and the object.
Write = tuple[float, str, str, Json]
# When, which pod, and why no node was found, or "".
Tried = tuple[float, str, str]
# Per object its facts in order; objects with made-up names share one entry, a history for each.
Facts = dict[str, list[list[Told]]]


class Recording:
    """A folder of the recordings; *profile* is the version of its control plane."""

    def __init__(self, name: str, profile: str = "v1.20") -> None:
        self.name = name
        self.profile = profile
        self.folder = folder = FOLDERS[profile] / name
        self.timeline: Json = json.loads((folder / "timeline.json").read_text())
        lines = (folder / "recording.jsonl").read_text().splitlines()
        self.lines: list[Json] = [json.loads(line) for line in lines]
        text = (folder / "scenario.yaml").read_bytes()
        loaded = load_files([("scenario.yaml", text)])
        assert loaded.ok, loaded.problems
        self.server_side_apply = b"ServerSideApply=false" not in text
        self.scenario = Scenario.from_load(loaded, name=name)

    def shifted(self) -> Scenario:
        """The scenario as it was played: controllers first, then the objects, then the steps."""
        scenario = self.scenario
        set_up = [
            Step(at=SET_UP + place * 3 * MILLISECOND, verb="create", manifest=manifest)
            for place, manifest in enumerate(scenario.objects)
        ]
        gap = GAPS.get(self.profile, 0)
        at_once: dict[int, int] = {}
        steps: list[Step] = []
        for step in scenario.steps:
            place = at_once[step.at] = at_once.get(step.at, -1) + 1
            steps.append(_merged(replace(step, at=step.at + ORIGIN + place * gap)))
        return replace(
            scenario,
            objects=(),
            steps=(*set_up, *steps),
            latencies={**LATENCIES, **scenario.latencies},
            until=round(self.timeline["end"] * SECOND) + ORIGIN,
        )

    def writes(self) -> list[Write]:
        """Every write but those of Events."""
        authors = {each["rv"]: each["by"] for each in self.timeline["order"] if "by" in each}
        return [
            (
                line["t"],
                authors.get(line["rv"], ""),
                line["type"],
                {**line["object"], "kind": line["kind"]},
            )
            for line in self.lines
            if line["kind"] != "Event"
        ]

    def changes(self) -> Facts:
        """What was written, per object."""
        return changes_told(self.writes(), self._names())

    def attempts(self) -> Facts:
        """The attempts at scheduling that found no node, with why."""
        tried: list[Tried] = []
        for each in self.timeline.get("schedulingAttempts") or ():
            if each["what"] == "attempt":
                tried.append((each["t"], each["pod"], ""))
            elif each["what"] == "unschedulable":
                # In its place, if the attempt was written down.
                before = (n for n in reversed(range(len(tried))) if tried[n][1] == each["pod"])
                place = next(before, None)
                if place is not None and not tried[place][2] and self.profile != "v1.20":
                    del tried[place]
                tried.append((each["t"], each["pod"], each["message"]))
        return attempts_told(tried, self._names(), self.profile)

    def scores(self) -> Scores:
        """The weighted scores of the scheduler's log, where there is one."""
        log = self.folder / "scheduler.log"
        told: Scores = {}
        for line in log.read_text().splitlines() if log.exists() else ():
            found = _SCORED.search(line)
            if found is not None:
                plugin, pod, nodes = found.groups()
                scores = {name: int(score) for name, score in _NODE_SCORE.findall(nodes)}
                told.setdefault(pod, {})[plugin] = scores
        return told

    def statuses(self) -> dict[str, History]:
        """The values that the fields of workloads took."""
        return statuses_told(self.writes())

    def events(self) -> Facts:
        """The Kubernetes Events, per object; one that was only counted up is there again."""
        told: dict[str, list[tuple[float, str]]] = {}
        for each in self.timeline["order"]:
            if "event" in each and each["t"] > START:
                kind, reason, where = each["event"].split(" ", 2)
                about, message = where.split(": ", 1)
                if each["source"].startswith("csi.example.com"):
                    about += BY_PROVISIONER
                if each["source"] == "ephemeral_volume":
                    about += BY_EPHEMERAL_CONTROLLER
                told.setdefault(about, []).append((each["t"], f"{kind} {reason}: {message}"))
        return events_told(told, self._names(), self.profile)

    @property
    def tolerance(self) -> float:
        """How many seconds earlier or later something may come about."""
        attacher = any(line["kind"] == "VolumeAttachment" for line in self.lines)
        tolerance = TOLERANCE_OF_STAND_INS if attacher else TOLERANCE
        return tolerance + MORE_TOLERANCE.get(self.profile, 0)

    def nodes_taken(self) -> dict[str, list[str]]:
        """The nodes of the pods in the order in which these were created; "" without one.

        Of a pod that was never bound it is the node that was selected for its claims.
        """
        nodes: dict[str, str] = {}
        groups: dict[str, list[str]] = {}
        selected = self._selected_nodes()
        for line in self.lines:
            if line["kind"] != "Pod":
                continue
            metadata, spec = line["object"]["metadata"], line["object"]["spec"]
            uid = metadata["uid"]
            if uid not in nodes:
                groups.setdefault(pod_group(line["object"]), []).append(uid)
            claims = [
                f"{metadata['namespace']}/{each['persistentVolumeClaim']['claimName']}"
                for each in spec.get("volumes") or ()
                if "persistentVolumeClaim" in each
            ]
            chosen = [selected[claim] for claim in claims if claim in selected]
            nodes[uid] = spec.get("nodeName") or (chosen or [""])[0]
        return {group: [nodes[uid] for uid in uids] for group, uids in groups.items()}

    def stalled_binds(self) -> dict[str, list[bool]]:
        """Per claim that names its volume: whether, once the volume was its own, it had to wait.

        The claim worker lost against the volume worker wherever it took longer than a second.
        """
        claims: dict[str, Json] = {}
        reserved: dict[str, str] = {}
        began: dict[str, list[float]] = {}
        ended: dict[str, list[float]] = {}
        for line in self.lines:
            raw, spec = line["object"], line["object"].get("spec") or {}
            if line["kind"] == "PersistentVolumeClaim":
                key = f"{raw['metadata']['namespace']}/{raw['metadata']['name']}"
                before = (claims.get(key, {}).get("status") or {}).get("phase")
                claims[key] = raw
                if raw["status"].get("phase") == "Bound" != before:
                    ended.setdefault(key, []).append(line["t"])
            elif line["kind"] == "PersistentVolume":
                ref, name = spec.get("claimRef") or {}, raw["metadata"]["name"]
                key = f"{ref.get('namespace')}/{ref.get('name')}" if ref.get("uid") else ""
                news = key != reserved.get(name, "") and key in claims
                reserved[name] = key
                if news and claims[key]["spec"].get("volumeName"):
                    began.setdefault(key, []).append(line["t"])
        return {
            key: [not any(at <= end <= at + 1 for end in ended.get(key, [])) for at in starts]
            for key, starts in began.items()
        }

    def _selected_nodes(self) -> dict[str, str]:
        selected: dict[str, str] = {}
        for line in self.lines:
            metadata = line["object"]["metadata"]
            node = (metadata.get("annotations") or {}).get("volume.kubernetes.io/selected-node")
            if line["kind"] == "PersistentVolumeClaim" and node:
                selected.setdefault(f"{metadata['namespace']}/{metadata['name']}", node)
        return selected

    def _names(self) -> dict[str, str]:
        return made_up_names({**each["object"], "kind": each["kind"]} for each in self.lines)


def _merged(step: Step) -> Step:
    """*step*, whose patch of a pod's conditions leaves PodScheduled: theirs merge conditions by type."""
    conditions = ((step.patch or {}).get("status") or {}).get("conditions")
    if not conditions or not step.object.startswith("pod/"):
        return step
    scheduled = {"type": "PodScheduled", "status": "True"}
    return replace(step, patch={"status": {"conditions": [scheduled, *conditions]}})


# Components that do not wait for each other: their Events come in any order.
BY_PROVISIONER = " by the provisioner"
BY_EPHEMERAL_CONTROLLER = " by the ephemeral volume controller"

# What comes before the first step is set-up.
START = -0.5

# The recordings' names of the components, by those here.
_AUTHORS = {
    "pv-controller": "persistent-volume-binder",
    "pvc-protection": "pvc-protection-controller",
    "pv-protection": "pv-protection-controller",
    "attach-detach": "attachdetach-controller",
    "garbage-collector": "generic-garbage-collector",
    "daemonset-controller": "daemon-set-controller",
    "taint-controller": "node-controller",
    "scenario": "user",
    "fake-kubelet": "kubelet",
    "fake-csi-provisioner": "external-provisioner",
    "fake-csi-attacher": "csi-attacher",
    "fake-csi-resizer": "external-resizer",
    "vac-protection": "volumeattributesclass-protection-controller",
}

# In a namespace that is being deleted: whose delete of its content comes first differs, and the
# claim's is ascribed to the protection controller, which never deletes.
_DELETERS = {
    "generic-garbage-collector": "namespace-controller",
    "pvc-protection-controller": "namespace-controller",
}

# Who takes the last finalizer off a volume: protection, the stand-in for the attacher and, since
# it has one, the provisioner do not wait for each other.
_LAST_HOLDERS = {
    "csi-attacher": "pv-protection-controller",
    "external-provisioner": "pv-protection-controller",
}

# What the scheduler's log says of a plugin: the pod, and each node with its score.
_SCORED = re.compile(r"Plugin (\w+) scores on (\S+) => \[(.*)\]")
_NODE_SCORE = re.compile(r"\{(\S+) (-?\d+)\}")
_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LEFT_OUT = frozenset({"Event", "Lease"})


def changes_told(writes: Iterable[Write], names: Mapping[str, str]) -> Facts:
    told: dict[str, list[tuple[float, str, Json]]] = {}
    states: dict[str, Json] = {}
    terminating: set[str] = set()
    for at, author, watch_type, raw in writes:
        if raw["kind"] in _LEFT_OUT:
            continue
        entity = _entity(raw)
        before = states.get(entity, {})
        state = {"gone": True} if watch_type == "DELETED" else _meaning(raw)
        if raw["kind"] == "PersistentVolume" and raw["metadata"].get("deletionTimestamp"):
            state |= {"finalizers": before["finalizers"]} if "finalizers" in before else {}
        change = diff(before, state)
        deleted = "deleting" in change
        if watch_type == "DELETED":
            change = {"gone": True}
            states.pop(entity, None)
        else:
            states[entity] = state
        author = author.rpartition("/")[2]
        author = _AUTHORS.get(author, author)
        if raw["kind"] == "PersistentVolume" and "gone" in change:
            author = _LAST_HOLDERS.get(author, author)
        if raw["kind"] == "Namespace" and raw["metadata"].get("deletionTimestamp"):
            terminating.add(raw["metadata"]["name"])
        if raw["metadata"].get("namespace") in terminating:
            author = _DELETERS.get(author, author) if "gone" in change or deleted else author
        if at > START and change and not _is_stand_ins(author, raw):
            told.setdefault(entity, []).append((at, author, change))
    for entity, facts in told.items():
        if entity.startswith("ResourceClaim/"):
            _leave_out_release(facts)
    return _grouped({entity: _tidied(facts) for entity, facts in told.items()}, names)


def _leave_out_release(facts: list[tuple[float, str, Json]]) -> None:
    """How a claim goes: its controller and the garbage collector do not wait for each other."""
    if "gone" not in facts[-1][2]:
        return
    at, _, _ = facts.pop()
    while facts and facts[-1][2] in ({"deleting": True}, {"finalizers": None}):
        facts.pop()
    facts.append((at, "generic-garbage-collector", {"gone": True}))


def statuses_told(writes: Iterable[Write]) -> dict[str, History]:
    """The values that the fields of workloads took from the first step on."""
    before: dict[str, Json] = {}
    later: list[tuple[str, str, str, Json]] = []
    for at, author, watch_type, raw in writes:
        if raw["kind"] in KINDS and at < START:
            before[_entity(raw)] = raw
        elif raw["kind"] in KINDS:
            author = author.rpartition("/")[2]
            later.append((watch_type, raw["kind"], _AUTHORS.get(author, author), raw))
    first = [("ADDED", raw["kind"], "", raw) for raw in before.values()]
    return histories([*first, *later])


def _is_stand_ins(author: str, raw: Json) -> bool:
    """The stand-in kubelet reports volumes in use at times of its own."""
    return author == "kubelet" and raw["kind"] == "Node"


def _tidied(facts: list[tuple[float, str, Json]]) -> list[Told]:
    kept: list[Told] = []
    for place, (at, author, change) in enumerate(facts):
        following = facts[place + 1] if place + 1 < len(facts) else None
        gone_at_once = following is not None and "gone" in following[2]
        if change.keys() & {"deleting", "grace"} and following is not None and gone_at_once:
            soon = following[0] - at < 0.1 or author == "kubelet"
        else:
            soon = False
        if soon and following is not None and following[1] == author:
            continue
        if author == "kubelet" and "gone" not in change:
            change = {name: value for name, value in change.items() if name in ("phase",)}
        if change:
            kept.append(Told(at, [author, change]))
    return kept


def _meaning(raw: Json) -> Json:
    metadata, spec, status = raw["metadata"], raw.get("spec") or {}, raw.get("status") or {}
    ref = spec.get("claimRef") or {}
    kind = raw["kind"]
    meaning: Json = {
        "annotations": {
            name: value
            for name, value in (metadata.get("annotations") or {}).items()
            if name not in _CLERICAL and not name.startswith("kscope.dev/")
        },
        "finalizers": sorted(metadata.get("finalizers") or []),
        "deleting": bool(metadata.get("deletionTimestamp")),
        "phase": status.get("phase") or ("Pending" if kind in _WITH_PHASE else None),
    }
    if kind in ("PersistentVolume", "PersistentVolumeClaim"):
        meaning |= {
            "message": status.get("message"),
            "claim": {k: ref.get(k) for k in ("namespace", "name")} if ref else None,
            "reserved": bool(ref) and not ref.get("uid"),
            "volume": spec.get("volumeName"),
            "capacity": status.get("capacity"),
            "modes": status.get("accessModes"),
            "class": spec.get("storageClassName"),
            "conditions": _conditions(status, ()),
            "owners": _owners(metadata),
            "labels": _labels(metadata),
            "offered": spec.get("capacity"),
            "asked": (spec.get("resources") or {}).get("requests"),
            "allowed modes": spec.get("accessModes"),
            "reclaim": spec.get("persistentVolumeReclaimPolicy"),
            "affinity": spec.get("nodeAffinity"),
            "attributes": spec.get("volumeAttributesClassName"),
            "has attributes": status.get("currentVolumeAttributesClassName"),
            "modifying": status.get("modifyVolumeStatus"),
        }
    elif kind == "Pod":
        meaning |= {
            "node": spec.get("nodeName"),
            "nominated": status.get("nominatedNodeName"),
            "scheduled": _conditions(status, ("PodScheduled",)),
            "owners": _owners(metadata),
            "labels": _labels(metadata),
            "grace": metadata.get("deletionGracePeriodSeconds"),
            "priority": spec.get("priority"),
        }
    elif kind == "Node":
        taints = sorted(f"{t['key']}:{t['effect']}" for t in spec.get("taints") or [])
        meaning |= {
            "taints": taints,
            "unschedulable": bool(spec.get("unschedulable")),
            "attached": sorted(each["name"] for each in status.get("volumesAttached") or []),
            "labels": _labels(metadata),
        }
        del meaning["annotations"]
    elif kind == "VolumeAttachment":
        meaning |= {"attached": bool(status.get("attached"))}
    elif kind in ("Deployment", "ReplicaSet", "StatefulSet"):
        meaning = {"replicas": spec.get("replicas"), "deleting": meaning["deleting"]}
        meaning |= {"finalizers": sorted(metadata.get("finalizers") or [])}
        meaning |= {"owners": _owners(metadata)}
    elif kind in ("DaemonSet", "PodDisruptionBudget"):
        meaning = {"deleting": meaning["deleting"]}
    return {
        name: value for name, value in meaning.items() if value not in (None, {}, [], "", False)
    }


def _owners(metadata: Json) -> list[Any]:
    return [
        [ref["kind"], ref["name"], ref.get("controller"), ref.get("blockOwnerDeletion")]
        for ref in metadata.get("ownerReferences") or ()
    ]


def _labels(metadata: Json) -> Json:
    """The labels; a hash of a template, which the API's defaults go into, only as that it is there."""
    labels: Json = metadata.get("labels") or {}
    return {name: "<hash>" if name.endswith("-hash") else text for name, text in labels.items()}


# What comes within that many seconds comes at once.
_AT_ONCE = 0.1

_WITH_PHASE = ("PersistentVolume", "PersistentVolumeClaim", "Pod")
_CLERICAL = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        "volumes.kubernetes.io/controller-managed-attach-detach",
        "csi.alpha.kubernetes.io/node-id",
        "volume.kubernetes.io/storage-provisioner",
    }
)


def _conditions(status: Json, types: tuple[str, ...]) -> Json:
    return {
        each["type"]: [each.get("status"), each.get("reason"), each.get("message")]
        for each in status.get("conditions") or []
        if not types or each["type"] in types
    }


def _entity(raw: Json) -> str:
    metadata = raw["metadata"]
    if raw["kind"] == "VolumeAttachment":
        spec = raw["spec"]
        return f"VolumeAttachment/{spec['source']['persistentVolumeName']}@{spec['nodeName']}"
    namespace = metadata.get("namespace")
    key = f"{namespace}/{metadata['name']}" if namespace else metadata["name"]
    return f"{raw['kind']}/{key}"


def pod_group(raw: Json) -> str:
    """The pod's owner, or the pod itself where its name is not made up."""
    metadata = raw["metadata"]
    name = metadata["name"]
    for ref in metadata.get("ownerReferences") or ():
        if ref["kind"] == "ReplicaSet":
            name = ref["name"].rpartition("-")[0]
        elif ref["kind"] != "StatefulSet":
            name = ref["name"]
    return f"{metadata['namespace']}/{name}"


def made_up_names(objects: Iterable[Json]) -> dict[str, str]:
    """Names with a hash or random letters in them, and how both sides are made to call them."""
    named: dict[str, str] = {}
    for raw in objects:
        metadata = raw["metadata"]
        for ref in metadata.get("ownerReferences") or []:
            # Pods of a StatefulSet have an ordinal in their names.
            if ref["kind"] != "StatefulSet" or raw["kind"] == "ControllerRevision":
                owner = named.get(ref["name"], ref["name"])
                named[metadata["name"]] = f"{owner}-<r>"
        if not metadata.get("ownerReferences") and metadata.get("generateName"):
            named.setdefault(metadata["name"], metadata["generateName"] + "<r>")
    return named


def events_told(
    told: Mapping[str, list[tuple[float, str]]], names: Mapping[str, str], profile: str
) -> Facts:
    """The Events, per object.

    How often ExternalProvisioning comes varies in the recordings themselves: once is enough. The
    same holds for what is tried again until it succeeds; see also `attempts_told`.
    """
    kept: dict[str, list[Told]] = {}
    for entity, events in told.items():
        texts: list[Told] = []
        before = -_AT_ONCE
        for at, text in events:
            again = "ExternalProvisioning" in text and at - before < _AT_ONCE
            if "ExternalProvisioning" in text:
                before = at
            if profile in _COUNTS_BY_CHANCE and any(reason in text for reason in _REPEATED):
                again = bool(texts) and texts[-1].fact == text
            text = text.replace("no capacity on node ", "no capacity on ")
            if not again:
                texts.append(Told(at, text))
        if texts:
            kept[entity] = texts
    return _grouped(kept, names)


# Since v1.36 pops from backoffQ a pod that is woken several times within some milliseconds is tried
# again each time, unless it is just being tried: how often that is so is left to chance.
_COUNTS_BY_CHANCE = frozenset({"v1.36"})
# Events of what is tried again.
_REPEATED = ("FailedScheduling", "FailedBinding", "FailedResourceClaimCreation")


def attempts_told(tried: Iterable[Tried], names: Mapping[str, str], profile: str) -> Facts:
    """The failed attempts, per pod, each with why.

    Of attempts that come at once only the last counts, where their number is left to chance.
    """
    of_pods: dict[str, list[Told]] = {}
    for at, pod, message in tried:
        attempts = of_pods.setdefault(f"Pod/{pod}", [])
        if profile in _COUNTS_BY_CHANCE and attempts and at - attempts[-1].at < _AT_ONCE:
            attempts.pop()
        attempts.append(Told(at, message))
    failed = {pod: [each for each in told if each.fact] for pod, told in of_pods.items()}
    return _grouped(failed, names)


def _grouped(facts: Mapping[str, list[Told]], names: Mapping[str, str]) -> Facts:
    """Objects with made-up names are told apart by what happened to them only."""
    known = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    pattern = re.compile(rf"(?<![0-9a-z])(?:{known})(?![0-9a-z])") if known else None

    def plain(text: str) -> str:
        text = re.sub(r"\^vol-[^\"]+", "^<handle>", _UID.sub("<uid>", text))
        return text if pattern is None else pattern.sub(lambda found: names[found[0]], text)

    grouped: Facts = {}
    for entity, told in facts.items():
        if told:
            history = [Told(at, json.loads(plain(json.dumps(fact)))) for at, fact in told]
            grouped.setdefault(plain(entity), []).append(history)
    return {entity: sorted(each, key=_order) for entity, each in sorted(grouped.items())}


def _order(history: list[Told]) -> tuple[str, float]:
    return json.dumps([fact for _, fact in history]), history[0].at


def differences(
    ours: Facts, theirs: Facts, tolerance: float = TOLERANCE_OF_STAND_INS
) -> dict[str, tuple[Any, Any]]:
    """What was (recorded, done here), for each object where the two are not the same.

    Times are told only where the facts are the same and came at other times.
    """
    found: dict[str, tuple[Any, Any]] = {}
    for entity in sorted({*ours, *theirs}):
        there, here = theirs.get(entity, []), ours.get(entity, [])
        if _facts(there) != _facts(here):
            found[entity] = _facts(there), _facts(here)
        elif any(_lag(one, other) > tolerance for one, other in zip(there, here, strict=True)):
            found[entity] = there, here
    return found


def _facts(histories: list[list[Told]]) -> Any:
    told = [[fact for _, fact in history] for history in histories]
    return told[0] if len(told) == 1 else told


def _lag(there: list[Told], here: list[Told]) -> float:
    return max(abs(one.at - other.at) for one, other in zip(there, here, strict=True))

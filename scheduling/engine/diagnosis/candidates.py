"""Single changes that may give the pod a node, and what they are made from.

Nothing here says that a change helps: `diagnose` tries them and offers what does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from kscope.sim.objects.objects import Manifest, Node, Pod
from scheduling.engine.cluster.commands import Command
from scheduling.engine.diagnosis.causes import Refused
from scheduling.engine.diagnosis.world import World
from scheduling.engine.pods.pod_template import Taint

# How many nodes, the closest to fitting first, are looked at for changes of a node.
NODES: Final = 8
# Taints that the node controller puts on by itself: they tell a state, and go with it.
CONDITION: Final = "node.kubernetes.io/"
HOSTNAME: Final = "kubernetes.io/hostname"
REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"

_HARD = ("NoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One change that is worth trying.

    `text` says what to do, as an order without a full stop. Where `decidable` is false only a fork
    can tell what comes of it, because a controller has to act first. Where `evicts` is true the pod
    gets its node by evictions.
    """

    kind: str
    text: str
    command: Command
    decidable: bool = True
    evicts: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class Situation:
    """The world the pod does not fit, and the nodes that refuse it, closest first.

    `others` says how much else may stand in the way of a change that is worth trying.
    """

    world: World
    refused: list[Refused]
    others: int = 0

    @property
    def pod(self) -> Pod:
        """The pod in question."""
        return self.world.pod

    def near(self, most: int = NODES) -> list[tuple[Refused, Node]]:
        """The closest nodes."""
        return [(each, self.world.table.node(each.row)) for each in self.refused[:most]]

    def untolerated(self, node: Node) -> list[Taint]:
        """The node's hard taints that the pod does not tolerate."""
        state = self.world.algorithm.framework.new_state(self.world.info())
        tolerated = state.template.tolerations
        return [
            taint
            for taint in dict.fromkeys(map(taint_of, node.taints))
            if taint.effect in _HARD and not any(each.tolerates(taint) for each in tolerated)
        ]


def patched(entity: str, patch: Manifest) -> Command:
    """The command that patches an object."""
    return Command(verb="patch", object=entity, patch=patch)


def replaced(pod: Pod, fields: Mapping[str, Any], *, kind: str, text: str) -> Candidate:
    """The pod deleted and created anew with other fields in its spec, which cannot be patched."""
    spec = {key: value for key, value in {**pod.spec, **fields}.items() if key != "nodeName"}
    kept = ("name", "namespace", "labels", "annotations", "ownerReferences", "generateName")
    manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {key: pod.metadata[key] for key in kept if key in pod.metadata},
        "spec": spec,
    }
    command = Command(verb="replace", manifest=manifest)
    return Candidate(kind=kind, text=text, command=command, note=template_note(pod, anew=True))


def template_note(pod: Pod, *, anew: bool = False) -> str:
    """What else there is to know of a change of this pod."""
    notes = ["The pod is deleted and created anew."] if anew else []
    owner = next((each for each in pod.owner_references if each.get("controller")), None)
    if owner is not None:
        kind, name = owner.get("kind"), owner.get("name")
        notes.append(f"The template of {kind} {name} stays as it is: change it there for good.")
    return " ".join(notes)


def taint_of(raw: Manifest) -> Taint:
    """A taint as plugins read it."""
    return Taint(raw.get("key") or "", raw.get("value") or "", raw.get("effect") or "")


def taint_text(taint: Taint) -> str:
    """A taint as kubectl writes it."""
    key = f"{taint.key}={taint.value}" if taint.value else taint.key
    return f"{key}:{taint.effect}"


def section(manifest: Mapping[str, Any], *path: str) -> Manifest:
    """The mapping at *path* of a manifest; empty where it is absent."""
    found: Any = manifest
    for name in path:
        found = found.get(name) or {}
    return found


def items(manifest: Mapping[str, Any], name: str) -> list[Manifest]:
    """The list of mappings called *name*; empty where it is absent."""
    return list(manifest.get(name) or ())


def deep_copy(manifest: Any) -> Any:
    """A manifest that can be changed in place."""
    return orjson.loads(orjson.dumps(manifest))


def node_terms(pod: Pod) -> list[Manifest]:
    """The terms of the pod's required node affinity."""
    return items(section(pod.spec, "affinity", "nodeAffinity", REQUIRED), "nodeSelectorTerms")

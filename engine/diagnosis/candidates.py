"""Single changes that may give the pod a node, and what they are made from.

Nothing here says that a change helps: `diagnose` tries them and offers what does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from engine.cluster.commands import Command
from engine.diagnosis.causes import Refused
from engine.diagnosis.world import World
from engine.framework.explaining.manifests import taint_of
from engine.framework.pods.pod_template import Taint
from engine.objects.objects import ApiObject, Manifest, Node, Pod
from engine.objects.phases import (
    BETA_STORAGE_PROVISIONER,
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    PROVISIONED_BY,
    SELECTED_NODE,
    STORAGE_PROVISIONER,
)

# How many nodes, the closest to fitting first, are looked at for changes of a node.
NODES: Final = 8

# Fields that controllers and the scheduler write on claims and volumes; a new object has none of them.
_OF_CONTROLLERS = (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    PROVISIONED_BY,
    SELECTED_NODE,
    STORAGE_PROVISIONER,
    BETA_STORAGE_PROVISIONER,
)
_HARD = ("NoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One change that is worth trying.

    `text` says what to do, as an imperative without a full stop; `note` says in full sentences what
    it costs and what it may break. If `decidable` is false only a fork can show the result, because
    a controller has to act first. If `evicts` is true the pod gets its node by evictions.
    """

    kind: str
    text: str
    command: Command
    note: str
    decidable: bool = True
    evicts: bool = False
    # Commands after `command`, in order.
    more: tuple[Command, ...] = ()

    @property
    def commands(self) -> tuple[Command, ...]:
        """All of them, in order."""
        return self.command, *self.more


@dataclass(frozen=True, slots=True)
class Situation:
    """The cluster that has no node for the pod, and the nodes that refuse it, closest first.

    A change is worth trying if at most `others` other obstacles of its kind remain.
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


def made_again(obj: ApiObject, fields: Mapping[str, Any]) -> Command:
    """The command that deletes an object and creates it anew, with *fields* of its spec replaced.

    A field that is None is left out.
    """
    spec = {key: value for key, value in {**obj.spec, **fields}.items() if value is not None}
    kept = ("name", "namespace", "labels", "annotations")
    metadata = {key: obj.metadata[key] for key in kept if key in obj.metadata}
    if "annotations" in metadata:
        own = metadata["annotations"].items()
        metadata["annotations"] = {key: text for key, text in own if key not in _OF_CONTROLLERS}
    manifest = {
        "apiVersion": obj.raw.get("apiVersion", "v1"),
        "kind": obj.kind,
        "metadata": metadata,
        "spec": spec,
    }
    return Command(verb="replace", manifest=manifest)


def replaced(
    pod: Pod, fields: Mapping[str, Any], *, kind: str, text: str, breaks: str = ""
) -> Candidate:
    """The pod deleted and created anew with other fields in its spec, which cannot be patched.

    *breaks* is a sentence on what the change may break.
    """
    spec = {key: value for key, value in {**pod.spec, **fields}.items() if key != "nodeName"}
    kept = ("name", "namespace", "labels", "annotations", "ownerReferences", "generateName")
    manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {key: pod.metadata[key] for key in kept if key in pod.metadata},
        "spec": spec,
    }
    command = Command(verb="replace", manifest=manifest)
    note = template_note(pod, anew=True, breaks=breaks)
    return Candidate(kind=kind, text=text, command=command, note=note)


def template_note(pod: Pod, *, anew: bool = False, breaks: str = "") -> str:
    """What a change of this pod costs: it is created *anew*, *breaks* something, has a template."""
    notes = ["The pod is deleted and created anew."] if anew else []
    if breaks:
        notes.append(breaks)
    owner = next((each for each in pod.owner_references if each.get("controller")), None)
    if owner is not None:
        kind, name = owner.get("kind"), owner.get("name")
        notes.append(f"The template of {kind} {name} stays as it is: change it there for good.")
    return " ".join(notes)

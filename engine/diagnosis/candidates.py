"""Single changes that may give the pod a node, and what they are made from.

Nothing here says that a change helps: `diagnose` tries them and offers what does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from engine.cluster.commands import Command
from engine.diagnosis.causes import Refused
from engine.diagnosis.world import World
from engine.framework.explaining.proposes import Kind, Proposal, Proposes, template_note
from engine.framework.explaining.refusals import Refusals
from engine.kernel.sentences import NOTHING, Sentence
from engine.objects.objects import ApiObject, Manifest, Node, Pod
from engine.objects.phases import (
    BETA_STORAGE_PROVISIONER,
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    PROVISIONED_BY,
    SELECTED_NODE,
    STORAGE_PROVISIONER,
)

# Fields that controllers and the scheduler write on claims and volumes; a new object has none of them.
_OF_CONTROLLERS = (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    PROVISIONED_BY,
    SELECTED_NODE,
    STORAGE_PROVISIONER,
    BETA_STORAGE_PROVISIONER,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One change that is worth trying.

    `text` says what to do, as an imperative without a full stop; `note` says in full sentences what
    it costs and what it may break. If `decidable` is false only a fork can show the result, because
    a controller has to act first. If `evicts` is true the pod gets its node by evictions.
    """

    kind: str
    text: Sentence
    command: Command
    note: Sentence
    decidable: bool = True
    evicts: bool = False
    # Commands after `command`, in order.
    more: tuple[Command, ...] = ()

    @property
    def commands(self) -> tuple[Command, ...]:
        """All of them, in order."""
        return self.command, *self.more


@dataclass(frozen=True)
class Situation(Refusals):
    """The same as plugins are given, with all that a diagnosis knows of the cluster."""

    world: World
    refused: Sequence[Refused]

    @cached_property
    def proposals(self) -> Mapping[Kind, list[Proposal]]:
        """What the plugins of the profile propose, by kind, each change once.

        If several plugins propose changes of a kind, those of the closest node come first.
        """
        by_kind: dict[Kind, list[Proposal]] = {}
        authors: dict[Kind, set[str]] = {}
        for name in self.world.algorithm.framework.plugins.by_name:
            plugin = self.world.plugin(name)
            for one in plugin.propose_changes(self) if isinstance(plugin, Proposes) else ():
                by_kind.setdefault(one.kind, []).append(one)
                authors.setdefault(one.kind, set()).add(name)
        for kind, found in by_kind.items():
            if len(authors[kind]) > 1:
                by_kind[kind] = _each_once(sorted(found, key=self._place))
        return by_kind

    def _place(self, proposal: Proposal) -> int:
        """The place of the node that is changed, the closest first; 0 for other objects."""
        places = (
            place for place, each in enumerate(self.refused) if each.node == proposal.object.name
        )
        return next(places, 0) if proposal.object.kind == Node.KIND else 0


def _each_once(proposals: Iterable[Proposal]) -> list[Proposal]:
    found: dict[str, Proposal] = {}
    for each in proposals:
        found.setdefault(each.text, each)
    return list(found.values())


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
    pod: Pod, fields: Mapping[str, Any], *, kind: str, text: Sentence, breaks: Sentence = NOTHING
) -> Candidate:
    """The pod deleted and created anew with other fields in its spec, which cannot be patched.

    *breaks* is a sentence on what the change may break.
    """
    note = template_note(pod, anew=True, breaks=breaks)
    return Candidate(kind=kind, text=text, command=pod_made_again(pod, fields), note=note)


def pod_made_again(pod: Pod, fields: Mapping[str, Any]) -> Command:
    """The command that deletes a pod and creates it anew, with *fields* of its spec replaced."""
    spec = {key: value for key, value in {**pod.spec, **fields}.items() if key != "nodeName"}
    kept = ("name", "namespace", "labels", "annotations", "ownerReferences", "generateName")
    manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {key: pod.metadata[key] for key in kept if key in pod.metadata},
        "spec": spec,
    }
    return Command(verb="replace", manifest=manifest)

"""Placeholders for the namespaces of objects, where something depends on their labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from engine.input.assumed.placeholder import Placeholder, assumed
from engine.kernel.sentences import say
from engine.objects.manifest_parts import items, section

Manifest = dict[str, Any]

# Every namespace has it. Upstream: LabelMetadataName.
_NAME: Final = "kubernetes.io/metadata.name"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def absent_namespaces(objects: Sequence[Manifest]) -> Iterator[Placeholder]:
    """One for each namespace that a cluster has objects in and that is not among *objects*.

    None where the files hold no namespaces and no pod selects namespaces by labels: then nothing
    depends on them.
    """
    known = {each["metadata"]["name"] for each in objects if each["kind"] == "Namespace"}
    if not known and not any(map(_selects_namespaces, objects)):
        return
    seen: dict[str, str] = {}
    for each in objects:
        metadata = each["metadata"]
        name = metadata.get("namespace")
        if name and name not in known and (metadata.get("uid") or section(each, "status")):
            seen.setdefault(name, f"{each['kind']} {metadata['name']}")
    for name, inhabitant in seen.items():
        yield _namespace(name, inhabitant)


def _namespace(name: str, inhabitant: str) -> Placeholder:
    sentence = say(
        "Namespace {name} is not in these files; it is assumed to be there, because {inhabitant} is in it. Of its labels only its name is known.",
        name=name,
        inhabitant=inhabitant,
    )
    metadata = {"name": name, "labels": {_NAME: name}}
    phase = {"phase": "Active"}
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata, "status": phase}
    return assumed(manifest, sentence)


def _selects_namespaces(manifest: Manifest) -> bool:
    """Whether a pod, or the template of one, has affinities to pods in namespaces with labels."""
    spec = section(manifest, "spec") if isinstance(manifest.get("spec"), dict) else {}
    inner = spec if manifest["kind"] == "Pod" else section(spec, "template", "spec")
    return any(each.get("namespaceSelector") for each in _terms(section(inner, "affinity")))


def _terms(affinity: Manifest) -> Iterator[Manifest]:
    for part in ("podAffinity", "podAntiAffinity"):
        yield from items(section(affinity, part), _REQUIRED)
        for each in items(section(affinity, part), _PREFERRED):
            yield section(each, "podAffinityTerm")

"""The CustomResourceDefinitions of files, and the objects of their kinds, which a run keeps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from engine.api_server.custom.kinds import CustomScenario, formed
from engine.api_server.validation.custom.definitions import custom_definition, not_done
from engine.api_server.validation.report import Report
from engine.kernel.sentences import grouped, phrase
from engine.objects.custom.definition import (
    CustomDefinition,
    group_of,
    is_definition,
    kind_in_group,
)
from engine.objects.documents import show_path
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest

_REFUSED = phrase(
    "{count} {kind} left out: the CustomResourceDefinition in the files does not allow it, as in {name}: {why}"
)

_NOT_DONE = phrase("CustomResourceDefinition {name}: {what}")


def custom_objects(manifests: Sequence[Manifest]) -> tuple[dict[int, Manifest], Sequence[str]]:
    """By place among *manifests*, what a run keeps of them, and notes about what is refused.

    Of an object that is there more than once the last one is kept.
    """
    definitions = {place: one for place, one in enumerate(manifests) if _is_right(one)}
    custom = CustomScenario(definitions.values())
    places = {_key(one): place for place, one in definitions.items()}
    found = dict(definitions)
    refused: Counter[str] = Counter()
    reasons: dict[str, tuple[str, str]] = {}
    for place, one in enumerate(manifests) if definitions else ():
        definition = custom.of(one)
        if definition is None:
            continue
        new, errors = _formed(definition, one)
        if errors:
            refused[definition.kind] += 1
            reasons.setdefault(definition.kind, (str(_key(one)[2]), errors[0]))
            continue
        found[place] = new
        places[_key(new)] = place
    notes = [
        _NOT_DONE.say(name=str(_key(one)[2]), what=what)
        for one in definitions.values()
        for what in not_done(one)
    ]
    notes += [
        _REFUSED.say(count=grouped(count), kind=kind, name=reasons[kind][0], why=reasons[kind][1])
        for kind, count in refused.items()
    ]
    kept = set(places.values())
    return {place: one for place, one in sorted(found.items()) if place in kept}, notes


def _formed(definition: CustomDefinition, manifest: Manifest) -> tuple[Manifest, list[str]]:
    """As formed(); a schema that cannot be applied is what is wrong, and ends no load."""
    try:
        return formed(definition, manifest)
    except Exception as error:  # noqa: BLE001 whatever a schema makes the library raise
        why = f"{type(error).__name__}: {error}"
    versions = items(section(definition.raw, "spec"), "versions")
    place = next(place for place, one in enumerate(versions) if one is definition.stored.raw)
    path = show_path(("spec", "versions", place, "schema", "openAPIV3Schema"))
    name = f"{definition.plural}.{definition.group}"
    return manifest, [f"CustomResourceDefinition {name}: {path}: cannot be applied ({why[:200]})"]


def _is_right(manifest: Manifest) -> bool:
    if not is_definition(manifest):
        return False
    report = Report()
    custom_definition(manifest, (), report)
    return not report.problems


def _key(manifest: Manifest) -> tuple[str, str, str]:
    metadata = section(manifest, "metadata")
    kind = kind_in_group(str(manifest.get("kind")), group_of(manifest))
    return kind, metadata.get("namespace") or "", metadata["name"]

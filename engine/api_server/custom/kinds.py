"""The custom kinds of a run: those of the CustomResourceDefinitions in its store.

Their objects are pruned, get their defaults and are checked by the schema of the version in which
they are stored. Upstream: pkg/apiserver/customresource_handler.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from engine.api_server.custom.checking import schema_errors
from engine.api_server.custom.rules import rule_errors
from engine.api_server.custom.status import with_status, with_usual_names
from engine.api_server.store.held_objects import Objects
from engine.api_server.validation.report import aggregate
from engine.kernel.errors import Invalid, NotFound
from engine.kernel.units import timestamp
from engine.objects.custom.definition import (
    DEFINITION,
    CustomDefinition,
    group_of,
    is_definition,
)
from engine.objects.custom.objects import CustomObject
from engine.objects.custom.structural import unknown_fields, with_schema_defaults
from engine.objects.documents import Path
from engine.objects.manifest_parts import section
from engine.objects.objects import ApiObject, Manifest
from engine.objects.openapi.fields import without


class CustomKinds:
    """Finds the definition of a kind, and admits definitions and their objects."""

    __slots__ = ("_known", "_store")

    def __init__(self, store: Objects) -> None:
        self._store = store
        # By the name of a definition, the object that was read, and what it says.
        self._known: dict[str, tuple[ApiObject, CustomDefinition]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return CustomKinds, (self._store,)

    def definition_of(self, group: str, kind: str) -> CustomDefinition | None:
        """The definition of a kind of a group whose objects are served, or None."""
        for obj in self._store.objects(DEFINITION):
            spec = obj.spec
            if spec.get("group") == group and section(spec, "names").get("kind") == kind:
                found = self._read(obj)
                if found.is_established:
                    return found
        return None

    def of(self, manifest: Mapping[str, Any]) -> CustomDefinition | None:
        """The definition of the kind of an object, or None."""
        if not self._store.objects(DEFINITION):
            return None
        return self.definition_of(group_of(manifest), str(manifest.get("kind")))

    def of_object(self, obj: ApiObject) -> CustomDefinition | None:
        """The definition of the kind of *obj*, where it is a custom one."""
        return self.of(obj.raw) if isinstance(obj, CustomObject) else None

    def _read(self, obj: ApiObject) -> CustomDefinition:
        known = self._known.get(obj.key)
        if known is None or known[0] is not obj:
            known = self._known[obj.key] = obj, CustomDefinition(obj.raw)
        return known[1]

    # Definitions

    def admitted_definition(self, obj: ApiObject) -> ApiObject:
        """A definition as it is stored, with its status."""
        raw = with_usual_names(obj.raw)
        others = [one.raw for one in self._store.objects(DEFINITION) if one.key != obj.key]
        raw = with_status(raw, others, timestamp(self._store.clock))
        return obj.replaced(spec=raw["spec"], status=raw["status"])

    # Their objects

    def with_generation(self, old: ApiObject, new: ApiObject) -> ApiObject:
        """*new* with its generation, which counts changes of all but metadata and status.

        Upstream: pkg/registry/customresource/strategy.go, PrepareForUpdate().
        """
        definition = self.of(new.raw)
        apart = {"metadata", "apiVersion"}
        if definition is not None and definition.stored.has_status:
            apart.add("status")
        before, after = ({k: v for k, v in one.raw.items() if k not in apart} for one in (old, new))
        generation = int(old.metadata.get("generation") or 1)
        return new.with_metadata(generation=generation + (before != after))

    def checked(self, definition: CustomDefinition, manifest: Manifest) -> Manifest:
        """An object of a custom kind as it is stored. Raises NotFound and Invalid."""
        asked = str(manifest.get("apiVersion") or "").rpartition("/")[2]
        given = definition.version(asked)
        if given is None or not given.is_served:
            raise NotFound("the server could not find the requested resource")
        return stored_form(definition, manifest)


class CustomScenario:
    """The custom kinds of the objects of a scenario."""

    def __init__(self, manifests: Iterable[Manifest]) -> None:
        found = [CustomDefinition(one) for one in manifests if is_definition(one)]
        self._known = {(one.group, one.kind): one for one in found}

    def of(self, manifest: Mapping[str, Any]) -> CustomDefinition | None:
        """The definition of the kind of an object, or None."""
        if not self._known:
            return None
        return self._known.get((group_of(manifest), str(manifest.get("kind"))))


def stored_form(
    definition: CustomDefinition, manifest: Manifest, old: Manifest | None = None
) -> Manifest:
    """An object in the stored version, pruned and with its defaults, in place of *old* if any.

    Raises Invalid.
    """
    new, errors = formed(definition, manifest, old)
    if errors:
        name = section(manifest, "metadata").get("name")
        raise Invalid(f'{definition.stored_kind} "{name}" is invalid: {aggregate(errors)}')
    return new


def formed(
    definition: CustomDefinition, manifest: Manifest, old: Manifest | None = None
) -> tuple[Manifest, list[str]]:
    """An object in the stored version, pruned and with its defaults, and what is wrong with it."""
    version = definition.stored
    metadata = section(manifest, "metadata")
    if definition.is_namespaced and not metadata.get("namespace"):
        metadata = {**metadata, "namespace": "default"}
    elif not definition.is_namespaced and "namespace" in metadata:
        metadata = {name: part for name, part in metadata.items() if name != "namespace"}
    new = {**manifest, "apiVersion": version.api_version, "metadata": metadata}
    if version.schema:
        unknown: list[Path] = unknown_fields(version.schema, new)
        new = with_schema_defaults(version.schema, without(new, unknown))
    errors = schema_errors(version, new)
    return new, [*errors, *rule_errors(version, new, old, errors)]

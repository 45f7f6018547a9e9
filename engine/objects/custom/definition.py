"""What a CustomResourceDefinition says: names, versions, schemas, subresources and columns.

A kind of another group may have the name of one that a run knows (Service, Ingress). So a run calls
the kind by its name and its group: "Widget.example.com". Upstream: pkg/apis/apiextensions/types.go.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, cast

from engine.objects.manifest_parts import items, section

Manifest = dict[str, Any]
Schema = Mapping[str, Any]

DEFINITION: Final = "CustomResourceDefinition"
GROUP: Final = "apiextensions.k8s.io"
ESTABLISHED: Final = "Established"
NAMES_ACCEPTED: Final = "NamesAccepted"
TERMINATING: Final = "Terminating"
_VERSION: Final = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?", re.ASCII)
_STABILITY: Final = {"alpha": 1, "beta": 2, None: 3}


def is_definition(manifest: Mapping[str, Any]) -> bool:
    """Whether this is a CustomResourceDefinition, of the version that a run keeps."""
    kind, version = manifest.get("kind"), manifest.get("apiVersion")
    return (kind, version) == (DEFINITION, f"{GROUP}/v1")


def group_of(manifest: Mapping[str, Any]) -> str:
    """The API group of an object, "" for that of pods."""
    return str(manifest.get("apiVersion") or "").rpartition("/")[0]


def kind_in_group(kind: str, group: str) -> str:
    """What a run calls a kind that a definition adds: "Widget.example.com"."""
    return f"{kind}.{group}"


def written_kind(kind: str) -> str:
    """The kind as manifests write it: "Widget" of "Widget.example.com"."""
    return kind.partition(".")[0]


@dataclass(frozen=True, eq=False)
class CustomVersion:
    """A version of a custom kind. Two of them are the same only if they are one object."""

    definition: CustomDefinition
    name: str
    raw: Manifest

    @property
    def is_served(self) -> bool:
        """Whether clients can ask for objects in this version."""
        return self.raw.get("served") is True

    @property
    def is_stored(self) -> bool:
        """Whether objects are stored in this version."""
        return self.raw.get("storage") is True

    @property
    def api_version(self) -> str:
        """As in manifests: "example.com/v1"."""
        return f"{self.definition.group}/{self.name}"

    @property
    def schema(self) -> Schema:
        """The structural schema of its objects."""
        return section(self.raw, "schema", "openAPIV3Schema")

    @property
    def has_status(self) -> bool:
        """Whether the status is written at an address of its own."""
        return "status" in section(self.raw, "subresources")

    @property
    def scale(self) -> Mapping[str, str]:
        """Where the replicas are: specReplicasPath and others; empty for a kind without scale."""
        return cast("Mapping[str, str]", section(self.raw, "subresources", "scale"))

    @property
    def columns(self) -> list[Manifest]:
        """Columns beside the name."""
        found = [one for one in items(self.raw, "additionalPrinterColumns") if one.get("jsonPath")]
        return found or [{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}]

    @property
    def selectable_fields(self) -> list[str]:
        """The fields by which objects can be selected: "spec.color"."""
        found = (str(one.get("jsonPath") or "") for one in items(self.raw, "selectableFields"))
        return [path.removeprefix(".") for path in found if path]


@dataclass(frozen=True, eq=False)
class CustomDefinition:
    """A kind that a CustomResourceDefinition adds. `kind` is the one that manifests write."""

    raw: Manifest

    @cached_property
    def group(self) -> str:
        """The API group: "example.com"."""
        return str(section(self.raw, "spec").get("group") or "")

    @cached_property
    def names(self) -> Mapping[str, Any]:
        """The names that the definition asks for."""
        return section(self.raw, "spec", "names")

    @property
    def kind(self) -> str:
        """As manifests write it."""
        return str(self.names.get("kind") or "")

    @property
    def stored_kind(self) -> str:
        """As a run calls it."""
        return kind_in_group(self.kind, self.group)

    @property
    def plural(self) -> str:
        """The name in addresses."""
        return str(self.names.get("plural") or "")

    @property
    def singular(self) -> str:
        """The name of one of them."""
        return str(self.names.get("singular") or self.kind.lower())

    @property
    def list_kind(self) -> str:
        """The kind of a list of them."""
        return str(self.names.get("listKind") or f"{self.kind}List")

    @property
    def short_names(self) -> tuple[str, ...]:
        """What kubectl takes as well."""
        return tuple(map(str, self.names.get("shortNames") or ()))

    @property
    def categories(self) -> tuple[str, ...]:
        """What kubectl lists it under: "all"."""
        return tuple(map(str, self.names.get("categories") or ()))

    @property
    def is_namespaced(self) -> bool:
        """Whether its objects are in namespaces."""
        return section(self.raw, "spec").get("scope") == "Namespaced"

    @cached_property
    def versions(self) -> tuple[CustomVersion, ...]:
        """All versions, the preferred one first."""
        found = [
            CustomVersion(self, str(one.get("name") or ""), one)
            for one in items(section(self.raw, "spec"), "versions")
        ]
        return tuple(sorted(found, key=lambda one: by_priority(one.name)))

    @cached_property
    def stored(self) -> CustomVersion:
        """The version in which objects are stored."""
        return next((one for one in self.versions if one.is_stored), self.versions[0])

    def version(self, name: str) -> CustomVersion | None:
        """The version of that name, or None."""
        return next((one for one in self.versions if one.name == name), None)

    @property
    def is_established(self) -> bool:
        """Whether its objects are served: nobody else had its names."""
        return condition_of(self.raw, ESTABLISHED).get("status") == "True"

    @property
    def is_terminating(self) -> bool:
        """Whether the definition is being deleted, and its objects with it."""
        return bool(section(self.raw, "metadata").get("deletionTimestamp"))


def by_priority(version: str) -> tuple[int, int, int, str]:
    """What to sort the names of versions by: stable ones first, then beta, then alpha, then others by name; the highest of each first.

    Upstream: apimachinery/pkg/version/helpers.go, CompareKubeAwareVersionStrings().
    """
    found = _VERSION.fullmatch(version)
    if found is None:
        return 0, 0, 0, version
    return -_STABILITY[found[2]], -int(found[1]), -int(found[3] or 0), ""


_NO_CONDITION: Final[Mapping[str, Any]] = {}


def condition_of(raw: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """A condition of a definition; empty where it has none of that type."""
    found = items(section(raw, "status"), "conditions")
    return next((one for one in found if one.get("type") == kind), _NO_CONDITION)


def with_condition(
    raw: Manifest, kind: str, status: str, reason: str, message: str, since: str
) -> list[Manifest]:
    """The conditions of a definition with this one. Upstream: SetCRDCondition()."""
    before = condition_of(raw, kind)
    if before.get("status") == status:
        since = str(before.get("lastTransitionTime") or since)
    new = {"lastTransitionTime": since, "message": message, "reason": reason, "status": status}
    new["type"] = kind
    kept = [dict(one) for one in items(section(raw, "status"), "conditions")]
    places = [place for place, one in enumerate(kept) if one.get("type") == kind]
    if places:
        kept[places[0]] = new
        return kept
    return [*kept, new]

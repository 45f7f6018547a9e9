"""The resources that the CustomResourceDefinitions of a run add to those that every run serves.

Upstream: apiextensions-apiserver pkg/apiserver/customresource_discovery_controller.go.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from engine.objects.custom.definition import CustomDefinition, CustomVersion, by_priority
from engine.objects.objects import Manifest
from kube.resources import SCALE, Resource, Subresource, status_of


@dataclass(frozen=True, eq=False)
class CustomResources:
    """The kinds that are established and served, each once for each of its versions."""

    definitions: tuple[CustomDefinition, ...]

    @classmethod
    def of(cls, manifests: Iterable[Manifest]) -> "CustomResources":
        """Those of CustomResourceDefinitions."""
        read = map(CustomDefinition, manifests)
        return cls(tuple(one for one in read if one.is_established))

    @cached_property
    def resources(self) -> tuple[Resource, ...]:
        """All of them; of each group the preferred versions come first."""
        versions = [one for each in self.definitions for one in each.versions if one.is_served]
        found = map(_resource, versions)
        return tuple(sorted(found, key=lambda one: (one.group, by_priority(one.version))))

    @cached_property
    def _by_address(self) -> dict[tuple[str, str, str], Resource]:
        return {(one.group, one.version, one.plural): one for one in self.resources}

    def found(self, group: str, version: str, plural: str) -> Resource | None:
        """The resource at /apis/GROUP/VERSION/PLURAL."""
        return self._by_address.get((group, version, plural))


NO_CUSTOM = CustomResources(())


def _resource(version: CustomVersion) -> Resource:
    one = version.definition
    parts: list[Subresource] = []
    if version.scale:
        parts.append(SCALE)
    if version.has_status:
        parts.append(status_of(one.kind))
    return Resource(
        one.group,
        version.name,
        one.stored_kind,
        one.plural,
        one.is_namespaced,
        one.short_names,
        one.categories,
        subresources=tuple(parts),
        custom=version,
    )

"""The resources that the CustomResourceDefinitions of a run add to those that every run serves.

Upstream: apiextensions-apiserver pkg/apiserver/customresource_discovery_controller.go.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import orjson

from engine.objects.custom.definition import CustomDefinition, CustomVersion, by_priority
from engine.objects.objects import Manifest
from kube.resources import SCALE, Resource, Subresource, status_of


@dataclass(frozen=True, eq=False)
class CustomResources:
    """The kinds that are established and served, each once for each of its versions."""

    definitions: tuple[CustomDefinition, ...]

    @staticmethod
    def of(manifests: Iterable[Manifest]) -> "CustomResources":
        """Those of CustomResourceDefinitions; the same ones for definitions that say the same."""
        read = (_definition(_Content.of(one)) for one in manifests)
        return _kinds(tuple(one for one in read if one.is_established))

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


@dataclass(frozen=True)
class _Content:
    """A definition, which equals others of the same digest: of what it says of its kind."""

    digest: bytes
    manifest: Manifest = field(compare=False)

    @classmethod
    def of(cls, manifest: Manifest) -> "_Content":
        read = CustomDefinition(manifest)
        said = orjson.dumps([manifest.get("spec"), read.is_established, read.is_terminating])
        return cls(hashlib.sha256(said).digest(), manifest)


# What is made of kinds (documents, printers, shapes) is kept by their identity. So that these stay the
# same for each instant of the past, and after each write of a status, one of each content is kept.
@lru_cache(maxsize=1024)
def _definition(content: _Content) -> CustomDefinition:
    return CustomDefinition(content.manifest)


@lru_cache(maxsize=64)
def _kinds(definitions: tuple[CustomDefinition, ...]) -> CustomResources:
    return CustomResources(definitions) if definitions else NO_CUSTOM


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

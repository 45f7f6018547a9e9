"""The definition of a kind, by its name and by the version of its API group."""

from __future__ import annotations

from functools import cache
from typing import Final

from engine.objects.openapi.definitions import NEWEST, Schema, definitions

# Versions that only older clients and manifests have, and the ones in which their objects are kept.
# The fields are the same.
OLDER: Final = {
    "apps/v1beta1": "apps/v1",
    "apps/v1beta2": "apps/v1",
    "autoscaling/v2beta2": "autoscaling/v2",
    "batch/v1beta1": "batch/v1",
    "coordination.k8s.io/v1beta1": "coordination.k8s.io/v1",
    "events.k8s.io/v1beta1": "events.k8s.io/v1",
    "extensions/v1beta1": "apps/v1",
    "policy/v1beta1": "policy/v1",
    "resource.k8s.io/v1beta2": "resource.k8s.io/v1",
    "scheduling.k8s.io/v1beta1": "scheduling.k8s.io/v1",
    "storage.k8s.io/v1beta1": "storage.k8s.io/v1",
}
# A version that has no definitions of its own any more, and the one whose fields it had.
_ALIKE: Final = {"resource.k8s.io/v1alpha3": "resource.k8s.io/v1beta1"}
# Kinds that such a version has and the kept one has not.
_NEW: Final = frozenset(("DeviceTaintRule", "DeviceTaintRuleList"))
_PREFIX: Final = "io.k8s.api."
_OF_OTHER_SERVERS: Final = {
    "apiextensions.k8s.io": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions",
    "apiregistration.k8s.io": "io.k8s.kube-aggregator.pkg.apis.apiregistration",
}


def kept_version(api_version: str, kind: str = "") -> str:
    """The version in which objects of this one are kept: policy/v1 of policy/v1beta1."""
    return api_version if kind in _NEW else OLDER.get(api_version, api_version)


def definition_of(api_version: str, kind: str) -> str:
    """The name of the definition of a kind: batch/v1 Job is io.k8s.api.batch.v1.Job."""
    group, _, version = kept_version(api_version, kind).rpartition("/")
    if group in _OF_OTHER_SERVERS:
        return f"{_OF_OTHER_SERVERS[group]}.{version}.{kind}"
    return f"{_PREFIX}{group.partition('.')[0] or 'core'}.{version}.{kind}"


def place_of(version: str, api_version: str, kind: str) -> tuple[str, str] | None:
    """Where the definition of a kind is: the version of Kubernetes, and its name there.

    None for a kind that is not Kubernetes' own. A kind that is newer than *version* has the newest
    definition: runs serve it all the same.
    """
    group = api_version.rpartition("/")[0]
    if "." in group and not group.endswith(".k8s.io"):
        return None
    names = (definition_of(one, kind) for one in (api_version, _ALIKE.get(api_version, "")) if one)
    known = ((each, name) for name in names for each in (version, NEWEST) if _is_kind(each, name))
    return next(known, None)


def usual_place(version: str, kind: str) -> tuple[str, str] | None:
    """The same of a kind whose group is not known: that of its stable version, or of the first."""
    name = _usual().get(kind.lower())
    found = (version, NEWEST) if name else ()
    return next(((each, name) for each in found if name and _is_kind(each, name)), None)


def _is_kind(version: str, name: str) -> bool:
    return "metadata" in _properties(definitions(version).get(name, {}))


@cache
def _usual() -> dict[str, str]:
    """The names of definitions by those of kinds, in lower case."""
    found: dict[str, str] = {}
    for is_stable in (True, False):
        for name, schema in sorted(definitions().items()):
            *_, version, kind = name.split(".")
            is_kind = name.startswith(_PREFIX) and "metadata" in _properties(schema)
            if is_kind and (version == "v1") is is_stable:
                found.setdefault(kind.lower(), name)
    return found


def _properties(schema: Schema) -> Schema:
    return schema.get("properties") or {}

"""What there is to ask for: the documents that clients read before they ask.

Older clients read a list of groups and then each group-version; newer ones read two documents that
hold everything. A group-version without resources is not listed: a client's cache would be worthless.
Upstream: apiserver/pkg/endpoints/discovery.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from kube.custom_kinds import NO_CUSTOM, CustomResources
from kube.forms import Form
from kube.resources import (
    READ,
    REVIEWS,
    SERVED,
    Resource,
    Subresource,
    group_versions,
    resources_of,
)

Manifest = dict[str, Any]


def document(
    path: str,
    form: Form,
    address: str,
    *,
    is_past: bool = False,
    custom: CustomResources = NO_CUSTOM,
) -> Manifest | None:
    """The document at *path*, such as /api or /apis/apps/v1; None for a path of another kind.

    *address* is the host and port that the client has reached. The past can only be read. *custom*
    are the resources that the run adds.
    """
    parts = path.strip("/").split("/")
    is_aggregated = form.kind == "APIGroupDiscoveryList"
    match parts:
        case [""]:
            return {"paths": paths(custom)}
        case ["api"] if is_aggregated:
            return _aggregated("api", form.version, is_past, custom)
        case ["api"]:
            return _core_versions(address)
        case ["apis"] if is_aggregated:
            return _aggregated("apis", form.version, is_past, custom)
        case ["apis"]:
            groups = [_group(name, custom) for name in _groups(custom) if name]
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
        case ["apis", name] if name and name in _groups(custom):
            return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, custom)}
        case ["api", "v1"]:
            return _resources("v1", is_past, custom)
        case ["apis", name, version] if _resources_of(f"{name}/{version}", custom):
            return _resources(f"{name}/{version}", is_past, custom)
        case _:
            return None


def paths(custom: CustomResources = NO_CUSTOM) -> list[str]:
    """The addresses of the server, as `kubectl get --raw /` shows them."""
    found = ["/api", "/api/v1", "/apis"]
    for name in _groups(custom):
        if name:
            versions = _versions(name, custom)
            found += [f"/apis/{name}", *(f"/apis/{name}/{version}" for version in versions)]
    return [*found, "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"]


def _group_versions(custom: CustomResources) -> list[str]:
    """All groups with their versions: those of every run first, then those that this one adds."""
    return [*dict.fromkeys((*group_versions(), *(one.api_version for one in custom.resources)))]


def _groups(custom: CustomResources) -> list[str]:
    return list(dict.fromkeys(one.rpartition("/")[0] for one in _group_versions(custom)))


def _versions(group: str, custom: CustomResources) -> list[str]:
    found = (one.rpartition("/") for one in _group_versions(custom))
    return [version for name, _, version in found if name == group]


def _resources_of(group_version: str, custom: CustomResources) -> list[Resource]:
    added = [one for one in custom.resources if one.api_version == group_version]
    return [*resources_of(group_version), *added]


def _core_versions(address: str) -> Manifest:
    clients = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": clients}


def _group(name: str, custom: CustomResources) -> Manifest:
    versions = [
        {"groupVersion": f"{name}/{version}", "version": version}
        for version in _versions(name, custom)
    ]
    return {"name": name, "versions": versions, "preferredVersion": versions[0]}


def _served(is_past: bool, custom: CustomResources) -> Sequence[Resource]:
    """All that is listed; each group and version picks its own."""
    found = (*SERVED, *custom.resources)
    return _readable(found) if is_past else found


def _readable(resources: Iterable[Resource]) -> list[Resource]:
    """What is left of *resources* where nothing can be written."""
    return [
        one if one.kind in REVIEWS else _only_read(one)
        for one in resources
        if one.kind in REVIEWS or not set(READ).isdisjoint(one.verbs)
    ]


def _only_read(one: Resource) -> Resource:
    parts = [replace(part, verbs=_reading(part.verbs)) for part in one.subresources]
    kept = tuple(part for part in parts if part.verbs)
    return replace(one, verbs=_reading(one.verbs), subresources=kept)


def _reading(verbs: Iterable[str]) -> tuple[str, ...]:
    return tuple(verb for verb in verbs if verb in READ)


def _resources(group_version: str, is_past: bool, custom: CustomResources) -> Manifest:
    listed: list[Manifest] = []
    resources = _resources_of(group_version, custom)
    for one in _readable(resources) if is_past else resources:
        listed.append(_resource(one))
        listed += [_subresource(one, part) for part in one.subresources]
    listed.sort(key=lambda one: str(one["name"]))
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version,
        "resources": listed,
    }


def _resource(one: Resource) -> Manifest:
    found: Manifest = {
        "name": one.plural,
        "singularName": one.singular,
        "namespaced": one.namespaced,
        "kind": one.written_kind,
        "verbs": sorted(one.verbs),
    }
    if one.short_names:
        found["shortNames"] = list(one.short_names)
    if one.categories:
        found["categories"] = list(one.categories)
    return found


def _subresource(one: Resource, part: Subresource) -> Manifest:
    group, _, version = part.api_version.rpartition("/")
    of_another = {"group": group, "version": version} if part.api_version else {}
    return {
        "name": f"{one.plural}/{part.name}",
        "singularName": "",
        "namespaced": one.namespaced,
        **of_another,
        "kind": part.kind,
        "verbs": list(part.verbs),
    }


def _aggregated(root: str, version: str, is_past: bool, custom: CustomResources) -> Manifest:
    names = [name for name in _groups(custom) if bool(name) == (root == "apis")]
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": f"apidiscovery.k8s.io/{version}",
        "metadata": {},
        "items": [_discovered_group(name, is_past, custom) for name in names],
    }


def _discovered_group(name: str, is_past: bool, custom: CustomResources) -> Manifest:
    served = _served(is_past, custom)
    versions = [
        {
            "version": version,
            "freshness": "Current",
            "resources": [
                _discovered(one) for one in served if (one.group, one.version) == (name, version)
            ],
        }
        for version in _versions(name, custom)
    ]
    return {"metadata": {"name": name} if name else {}, "versions": versions}


def _discovered(one: Resource) -> Manifest:
    found: Manifest = {
        "resource": one.plural,
        "responseKind": {"group": one.group, "version": one.version, "kind": one.written_kind},
        "scope": "Namespaced" if one.namespaced else "Cluster",
        "singularResource": one.singular,
        "verbs": sorted(one.verbs),
    }
    if one.short_names:
        found["shortNames"] = list(one.short_names)
    if one.categories:
        found["categories"] = list(one.categories)
    if one.subresources:
        found["subresources"] = [_discovered_part(one, part) for part in one.subresources]
    return found


def _discovered_part(one: Resource, part: Subresource) -> Manifest:
    group, _, version = part.api_version.rpartition("/")
    kind = (
        {"group": group, "version": version, "kind": part.kind}
        if part.api_version
        else {"group": one.group, "version": one.version, "kind": part.kind}
    )
    return {"subresource": part.name, "responseKind": kind, "verbs": list(part.verbs)}

"""What an address of the Kubernetes API means: the run, the instant, and the object in it."""

import re
from dataclasses import dataclass
from urllib.parse import quote

from engine.objects.kinds import entity_id
from engine.objects.values.durations import parse_duration
from kube.custom_kinds import NO_CUSTOM, CustomResources
from kube.resources import Resource, found

PREFIX = "/k8s/runs/"
_ADDRESS = re.compile(r"/k8s/runs/(\d{1,18})(?:@([^/]+))?(/.*)?")
_SEQ = re.compile(r"\d{1,18}")
# Path segments after the name of a namespace that belong to the Namespace itself.
_OF_NAMESPACES = frozenset({"status", "finalize"})
# The part of an object behind which another server answers.
_PROXY = "proxy"


@dataclass(frozen=True, slots=True)
class Address:
    """A run, the instant that is meant ("" for now), and the path below it."""

    run_id: int
    instant: str
    path: str

    @property
    def root(self) -> str:
        """The address of the API server."""
        return api_root(self.run_id, self.instant)


def api_root(run_id: int, instant: str = "") -> str:
    """The address of a run's API server, without the host."""
    return f"{PREFIX}{run_id}@{quote(instant)}" if instant else f"{PREFIX}{run_id}"


def address_of(path: str) -> Address | None:
    """The address that *path* names; None when it is not an address of this API."""
    match = _ADDRESS.fullmatch(path)
    if match is None:
        return None
    return Address(int(match[1]), match[2] or "", match[3] or "/")


@dataclass(frozen=True, slots=True)
class Moment:
    """An instant of the past: after event *seq*, or at virtual time *at*, in nanoseconds."""

    seq: int | None = None
    at: int | None = None


def moment_of(instant: str) -> Moment | None:
    """The moment that "812" (an event) or "5m30s" (a virtual time) names; None for neither."""
    if _SEQ.fullmatch(instant):
        return Moment(seq=int(instant))
    try:
        return Moment(at=parse_duration(instant))
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Target:
    """What a path below a group and version names: a collection, an object, or a part of it."""

    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    path: str = ""
    """What follows a part that has addresses of its own: "/healthz" of a pod's proxy."""

    @property
    def entity(self) -> str:
        """The id of the object in the run."""
        key = f"{self.namespace}/{self.name}" if self.resource.namespaced else self.name
        return entity_id(self.resource.kind, key)

    @property
    def is_collection(self) -> bool:
        """Whether it names no single object."""
        return not self.name

    @property
    def is_of_all_namespaces(self) -> bool:
        """Whether it names the objects of every namespace, which can only be read.

        Upstream: apiserver/pkg/endpoints/installer.go, registerResourceHandlers().
        """
        return self.resource.namespaced and not self.namespace


def target_of(path: str, custom: CustomResources = NO_CUSTOM) -> Target | None:
    """The objects that "/api/v1/namespaces/default/pods/web" names; None for no such resource.

    *custom* are the resources that the run adds.

    Upstream: apiserver/pkg/endpoints/request/requestinfo.go, NewRequestInfo().
    """
    parts = path.strip("/").split("/")
    if parts[:1] == ["api"] and len(parts) > 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[:1] == ["apis"] and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in _OF_NAMESPACES:
        namespace, rest = rest[1], rest[2:]
    below = ""
    if rest[2:3] == [_PROXY]:
        below = path.partition(f"/{_PROXY}")[2] or "/"
        rest = rest[:3]
    if not all(rest) or len(rest) > 3:
        return None
    named = group, version, rest[0]
    resource = found(*named) or custom.found(*named)
    if resource is None or (namespace and not resource.namespaced):
        return None
    name, subresource = (*rest[1:], "", "")[:2]
    if name and resource.namespaced and not namespace:
        return None
    return Target(resource, namespace, name, subresource, below)

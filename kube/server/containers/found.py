"""A container that a request names, and the script that it follows.

Upstream: pkg/registry/core/pod/strategy.go, LogLocation() and streamLocation().
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from engine.kernel.units import nanoseconds_of
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest, Pod
from engine.objects.scripts.matching import (
    all_containers,
    entries_about,
    script_followed,
    scripts_for,
)
from engine.objects.scripts.script import Script
from kube.status import bad_request

_STATUSES: Final = ("initContainerStatuses", "containerStatuses")


class FoundContainer(NamedTuple):
    """A container: its spec, its status ({} for none), and its script; None: no entry is about the pod."""

    spec: Manifest
    status: Manifest
    script: Script | None

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.spec["name"])

    @property
    def state(self) -> tuple[str, Manifest]:
        """ "running", "terminated" or "waiting", and what the status says of that."""
        for name in ("running", "terminated", "waiting"):
            if name in section(self.status, "state"):
                return name, section(self.status, "state", name)
        return "waiting", {}


def container_named(pod: Pod, name: str, scenario: Sequence[Script]) -> FoundContainer:
    """The container *name* of *pod*, or its only one. Raises ApiError."""
    name = name or _only_container(pod)
    spec = next((one for one in all_containers(pod) if one.get("name") == name), None)
    if spec is None:
        raise bad_request(f"container {name} is not valid for pod {pod.name}")
    found = (one for field in _STATUSES for one in items(pod.status, field))
    status = next((one for one in found if one.get("name") == name), {})
    entries = scripts_for(pod, scenario)
    if not any(True for one in all_containers(pod) for _ in entries_about(pod, one, entries)):
        return FoundContainer(spec, status, None)
    return FoundContainer(spec, status, script_followed(pod, spec, status, entries))


def _only_container(pod: Pod) -> str:
    names = [str(one.get("name") or "") for one in items(pod.spec, "containers")]
    if len(names) == 1:
        return names[0]
    inits = [str(one.get("name") or "") for one in items(pod.spec, "initContainers")]
    more = f" or one of the init containers: [{' '.join(inits)}]" if inits else ""
    message = f"a container name must be specified for pod {pod.name}"
    raise bad_request(f"{message}, choose one of: [{' '.join(names)}]{more}")


def time_of(part: Manifest, name: str, default: int = 0) -> int:
    """A timestamp of a status, in ns since EPOCH."""
    text = part.get(name)
    return nanoseconds_of(text) if text else default

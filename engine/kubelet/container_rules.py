"""How the Events of kubelets about containers differ from version to version, as data."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerRules:
    """What one version says of pods and of their containers. By default, as in the oldest one.

    Patterns have the places {name}, of the container, {pod}, which is its name and uid, {image} and
    {error}, of a pull.
    """

    ports_taken: str = "Predicate PodFitsHostPorts failed"
    """Why a kubelet refuses a pod whose host port another pod of the node has."""
    labels_differ: str = "Predicate MatchNodeSelector failed"
    """Why it refuses a pod whose node selector or required affinity its node does not match."""
    labels_before_ports: bool = False
    """Whether it looks at labels before it looks at ports."""
    tainted: str = ""
    """Why it refuses a pod that does not tolerate a NoExecute taint of its node; "" if it does not."""
    created: str = "Created container"
    """The Event Created of a container."""
    started: str = "Started container"
    """The Event Started of a container."""
    backing_off: str = "Back-off restarting failed container"
    """The Event BackOff of a container."""
    waits_to_pull: str = 'Back-off pulling image "{image}"'
    """What the status of a container says whose image is to be pulled again."""

    def of_start(self, name: str) -> Iterator[tuple[str, str]]:
        """The Events, as (reason, message), of a container that is started."""
        yield "Created", self.created.format(name=name)
        yield "Started", self.started.format(name=name)

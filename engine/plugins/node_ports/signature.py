"""What NodePorts reads of a pod."""

from __future__ import annotations

from engine.framework.pods.pod_info import PodInfo
from engine.framework.pods.signing import SignFragment, containers_of


def signature_of(pod: PodInfo) -> tuple[SignFragment, ...]:
    """The host ports without protocols and addresses. Upstream: HostPortsSigner()."""
    ports = (port for one in containers_of(pod) for port in one.get("ports") or ())
    found = sorted({port["hostPort"] for port in ports if port.get("hostPort")})
    return (SignFragment("host ports", found),)

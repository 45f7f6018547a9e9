"""Whether a container is started again, and when.

Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, doBackOff(); pkg/kubelet/container/helpers.go,
ShouldContainerBeRestarted(); client-go util/flowcontrol/backoff.go.
"""

from typing import Any, Final

from engine.kernel.units import SECOND
from engine.kubelet.containers.state import Container, Role
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Pod

BACKOFF: Final = 10 * SECOND
MAX_BACKOFF: Final = 300 * SECOND
# How often the kubelet looks at a pod whose containers it cannot start yet, and says so.
# Upstream: pkg/kubelet/kubelet.go, backOffPeriod; without the jitter.
LOOK_AGAIN: Final = 10 * SECOND


def restarts(pod: Pod, container: Container) -> bool:
    """Whether the container, which has ended, is to be started again."""
    code = container.exit_code
    for rule in items(container.spec, "restartPolicyRules"):
        if rule.get("action") == "Restart" and _matches(section(rule, "exitCodes"), code):
            return True
    policy = container.spec.get("restartPolicy") or pod.spec.get("restartPolicy") or "Always"
    if container.role is Role.INIT:
        # One that has succeeded is through.
        return code != 0 and policy != "Never"
    return policy == "Always" or (policy == "OnFailure" and code != 0)


def _matches(codes: dict[str, Any], code: int | None) -> bool:
    is_in = code in (codes.get("values") or ())
    return is_in if codes.get("operator") == "In" else not is_in


def wait_left(container: Container, now: int) -> int:
    """How long the container has still to wait for its restart, ns. Upstream: IsInBackOffSince()."""
    if not container.backoff or _is_stable(container):
        return 0
    return max(0, container.ended_at + container.backoff - now)


def note_restart(container: Container, now: int) -> None:
    """The container is started again: it waits for longer after its next end. Upstream: Next()."""
    if not container.backoff or _is_stable(container):
        container.backoff = BACKOFF
    else:
        container.backoff = min(2 * container.backoff, MAX_BACKOFF)
    container.backed_off_at = now


def _is_stable(container: Container) -> bool:
    """Whether it has run for so long that its failures are forgotten. Upstream: hasExpired()."""
    return container.ended_at - container.backed_off_at > 2 * MAX_BACKOFF

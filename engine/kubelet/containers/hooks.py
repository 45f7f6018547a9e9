"""The hooks of containers: what runs after a start, and before a stop.

Upstream: pkg/kubelet/kuberuntime/kuberuntime_container.go, startContainer(), killContainer() and
executePreStopHook(); pkg/kubelet/lifecycle/handlers.go.
"""

from typing import Final

from engine.kernel.units import SECOND
from engine.kubelet.containers.state import Container
from engine.objects.manifest_parts import section
from engine.objects.scripts.script import HookScript

POST_START_FAILED: Final = "FailedPostStartHook", "PostStartHook failed"
PRE_STOP_FAILED: Final = "FailedPreStopHook", "PreStopHook failed"
# What is left to a container after its hook. Upstream: minimumGracePeriodInSeconds.
LEAST_GRACE: Final = 2 * SECOND


def post_start(container: Container) -> HookScript | None:
    """What the container's postStart hook does; None where its spec has none."""
    return _hook(container, "postStart", container.part.script.post_start)


def pre_stop(container: Container) -> HookScript | None:
    """What the container's preStop hook does; None where its spec has none."""
    return _hook(container, "preStop", container.part.script.pre_stop)


def _hook(container: Container, name: str, script: HookScript) -> HookScript | None:
    spec = section(container.spec, "lifecycle", name)
    if not spec:
        return None
    if script.lasts is not None or "sleep" not in spec:
        return script
    # A sleep takes its time whoever says nothing of it.
    return HookScript((section(spec, "sleep").get("seconds") or 0) * SECOND, script.exit_code)


def time_of_hook(hook: HookScript | None, grace: int) -> int:
    """How long the kubelet waits for a preStop hook, in ns: no longer than *grace*."""
    return 0 if hook is None or grace <= 0 else min(hook.lasts or 0, grace)


def left_after_hook(hook: HookScript | None, grace: int, passed: int) -> int:
    """What is left of *grace* for the container to stop in, after *passed* ns."""
    return max(0 if hook is None else LEAST_GRACE, grace - passed)

"""One probe of a container. Upstream: pkg/kubelet/prober/worker.go."""

from typing import Final

from engine.kernel.loop import Timer
from engine.kernel.units import SECOND
from engine.objects.manifest_parts import section
from engine.objects.objects import Manifest
from engine.objects.scripts.script import ProbeKind, ProbeScript

# The fields of a container's spec.
FIELD_OF: Final = {
    ProbeKind.STARTUP: "startupProbe",
    ProbeKind.READINESS: "readinessProbe",
    ProbeKind.LIVENESS: "livenessProbe",
}
# What a failed probe says unless the script does. Upstream: pkg/probe/{http,tcp,grpc}.
_OUTPUTS: Final = {
    "httpGet": "HTTP probe failed with statuscode: 503",
    "grpc": 'service unhealthy (responded with "NOT_SERVING")',
}


class Probe:
    """Counts what a probe finds, and says when its result turns."""

    __slots__ = ("_last", "_run", "kind", "result", "script", "spec", "timer", "told")

    def __init__(self, kind: ProbeKind, spec: Manifest, script: ProbeScript) -> None:
        self.kind = kind
        self.spec = spec
        self.script = script
        # What counts; None before a threshold was reached.
        self.result: bool | None = None
        self._last: bool | None = None
        self._run = 0
        self.timer: Timer | None = None
        # What it finds by a command that was run in the container; None: what the script says.
        self.told: bool | None = None

    @property
    def period(self) -> int:
        """From one probe to the next, ns."""
        return self._seconds("periodSeconds", 10)

    @property
    def initial_delay(self) -> int:
        """From the start of the container until it is probed, ns."""
        return self._seconds("initialDelaySeconds", 0)

    @property
    def grace(self) -> int | None:
        """How long the container may take to end because of it, ns; None: as long as the pod says."""
        seconds = self.spec.get("terminationGracePeriodSeconds")
        return None if seconds is None else seconds * SECOND

    def find(self, at: int) -> tuple[bool, bool]:
        """Probe *at* ns after the start; whether it passes, and whether the result has turned."""
        passes = self.script.passes(at) if self.told is None else self.told
        self._run = self._run + 1 if passes is self._last else 1
        self._last = passes
        field, default = ("successThreshold", 1) if passes else ("failureThreshold", 3)
        if self._run < (self.spec.get(field) or default):
            return passes, False
        has_turned = self.result is not passes
        self.result = passes
        return passes, has_turned

    @property
    def has_begun(self) -> bool:
        """Whether the container has been probed."""
        return self._last is not None

    def next_failure(self, at: int) -> int | None:
        """When it may begin to fail, later than *at*, in ns after the start; None: not by itself."""
        return self.script.next_failure(at) if self.told is None else None

    @property
    def is_settled(self) -> bool:
        """Whether it has passed, so that nothing happens before it fails."""
        return self.result is True and self._last is True

    @property
    def failure(self) -> str:
        """What the Event of a failed probe says. Upstream: pkg/kubelet/prober/prober.go, probe()."""
        return f"{self.kind.value} probe failed: {self._output}"

    @property
    def _output(self) -> str:
        if self.script.output is not None:
            return self.script.output
        found = [text for name, text in _OUTPUTS.items() if name in self.spec]
        if found:
            return found[0]
        port = section(self.spec, "tcpSocket").get("port")
        return "" if port is None else f"dial tcp :{port}: connect: connection refused"

    def cancel(self) -> None:
        """It is not due any more, and what it found is forgotten."""
        if self.timer is not None:
            self.timer.cancel()
        self.timer = self.result = self._last = None
        self._run = 0

    def _seconds(self, field: str, default: int) -> int:
        return (self.spec.get(field) or default) * SECOND


def probes_of(spec: Manifest, scripts: dict[ProbeKind, ProbeScript]) -> list[Probe]:
    """The probes of a container's *spec*, startup first."""
    return [
        Probe(kind, spec[field], scripts.get(kind) or ProbeScript())
        for kind, field in FIELD_OF.items()
        if spec.get(field)
    ]

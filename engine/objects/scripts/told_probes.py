"""What commands in containers have made of later probes, as an annotation of the pod tells it.

    kscope.dev/probes: main:0:readiness=fail

That is the container, how often it had been started again, the probe, and what it finds from then
on: what a command does to a container is gone with it, and the next one begins as the first.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from engine.objects.objects import Pod
from engine.objects.scripts.script import ProbeKind

PROBES_ANNOTATION: Final = "kscope.dev/probes"


class ToldProbe(NamedTuple):
    """A probe of one run of a container."""

    container: str
    restarts: int
    kind: ProbeKind


def told_probes(pod: Pod) -> dict[ToldProbe, bool]:
    """Whether these probes of *pod* pass, whatever the time is; what is not understood is left out."""
    found: dict[ToldProbe, bool] = {}
    kinds = {each.value.lower(): each for each in ProbeKind}
    for entry in pod.annotations.get(PROBES_ANNOTATION, "").split(","):
        probe, _, word = entry.strip().partition("=")
        container, restarts, kind = (*probe.split(":"), "", "")[:3]
        if restarts.isdecimal() and kind in kinds and word in ("pass", "fail"):
            found[ToldProbe(container, int(restarts), kinds[kind])] = word == "pass"
    return found


def told_text(pod: Pod, container: str, restarts: int, told: Mapping[ProbeKind, bool]) -> str:
    """The annotation once a command in that run of *container* has *told* what probes find."""
    new = {ToldProbe(container, restarts, kind): passes for kind, passes in told.items()}
    # Earlier runs of the container are gone.
    kept = {
        one: passes
        for one, passes in told_probes(pod).items()
        if (one.container, one.restarts) == (container, restarts) or one.container != container
    }
    return ", ".join(
        f"{one.container}:{one.restarts}:{one.kind.value.lower()}={'pass' if passes else 'fail'}"
        for one, passes in {**kept, **new}.items()
    )

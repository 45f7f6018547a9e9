"""How the containers of a pod end of which no script says more than its annotations."""

from typing import Final

from engine.input.scenario import parse_duration
from engine.kernel.latency import Latency
from engine.objects.objects import Pod
from engine.objects.scripts.matching import completion_index
from engine.objects.scripts.script import ContainerRun
from engine.storage.plugins.latencies import Latencies

# How long the containers of a pod run before they end by themselves ("10s"), and with what code;
# several codes ("1,0") are those of the pods of an indexed Job, the last for all further indexes.
RUN_FOR_ANNOTATION: Final = "kscope.dev/run-for"
# In place of a time: the containers run until their pod is deleted, or its deadline ends them.
FOREVER: Final = "forever"
EXIT_CODE_ANNOTATION: Final = "kscope.dev/exit-code"


def runs_for(pod: Pod, latencies: Latencies) -> int | None:
    """How long the containers of *pod* run by themselves, ns; None: they run on."""
    if pod.annotations.get(RUN_FOR_ANNOTATION) == FOREVER:
        return None
    run_for = _told(pod)
    if run_for is None and pod.spec.get("restartPolicy") == "Never":
        run_for = latencies.draw("run") or None
    return run_for


def _told(pod: Pod) -> int | None:
    """What the annotation says, in ns; None where there is none, or where the text is not a time."""
    text = pod.annotations.get(RUN_FOR_ANNOTATION)
    if not text or pod.spec.get("restartPolicy", "Always") == "Always":
        return None
    try:
        return parse_duration(text)
    except ValueError:
        return None


def exit_code(pod: Pod) -> int:
    """The code with which the containers of *pod* end."""
    codes = pod.annotations.get(EXIT_CODE_ANNOTATION, "0").split(",")
    text = codes[min(completion_index(pod), len(codes) - 1)]
    return int(text) if text.isdecimal() else 1


def own_run(latencies: Latencies, pod: Pod) -> ContainerRun:
    """The run of a container of which no script says so, in a pod of which one says something."""
    run_for = runs_for(pod, latencies)
    lasts = None if run_for is None else Latency("fixed", run_for)
    return ContainerRun(lasts, exit_code(pod))

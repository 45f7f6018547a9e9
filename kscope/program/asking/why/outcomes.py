"""What becomes of the one object that is asked about, after each change: carried out in a fork."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.diagnosis.fork import Limits, MakeForks, run_fork
from engine.diagnosis.triage.answer import Answer, Help
from engine.kernel.errors import SimError
from engine.objects.objects import Pod
from kscope.program.asking.reading.kinds import Found

# In larger clusters a fork for each change takes longer than somebody on call waits.
_MOST_PODS: Final = 500
_LIMITS: Final = Limits(steps=20_000, cycles=2_000)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Where a pod went after a change; "" for nowhere."""

    node: str

    @property
    def text(self) -> str:
        """For a table."""
        return f"to {self.node}" if self.node else "still waits"


def outcomes_of(
    cluster: Cluster, found: Found, answer: Answer, make_forks: MakeForks
) -> Mapping[int, Outcome]:
    """By the place of each change: what came of it for the pod; nothing for other kinds."""
    if found.kind != Pod.KIND or len(cluster.store.live(Pod.KIND)) > _MOST_PODS:
        return {}
    pod = cluster.store.find(Pod.KIND, found.key)
    if cluster.asks_extenders or not isinstance(pod, Pod) or pod.node_name:
        return {}
    tried = {
        place: _outcome(cluster, found.key, each, make_forks)
        for place, each in enumerate(answer.fixes)
    }
    return {place: outcome for place, outcome in tried.items() if outcome is not None}


def _outcome(cluster: Cluster, key: str, change: Help, make_forks: MakeForks) -> Outcome | None:
    node = change.content.get("node")
    if node:
        return Outcome(str(node))
    try:
        commands = [Command.from_dict(each) for each in commands_of(change)]
    except SimError:
        return None
    if not commands:
        return None
    trial = make_forks(cluster).run(
        partial(run_fork, pod_key=key, limits=_LIMITS, commands=commands)
    )
    return None if trial.refusal or trial.cut else Outcome(trial.node)


def commands_of(change: Help) -> list[dict[str, Any]]:
    """The commands that carry a change out: of one for a group, or of one for the object alone."""
    content = change.content
    if "commands" in content:
        return list(content["commands"])
    return [each for each in (content["command"], content["then"], *content["more"]) if each]

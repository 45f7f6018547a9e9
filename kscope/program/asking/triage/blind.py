"""`kscope triage` where the nodes may not be seen: what waits, by what the schedulers have said.

What the objects prove (claims, quotas, pods that do not start) stays as it is. For pods that wait
nothing is decided and no change is tried, because there is no place to try.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from engine.diagnosis.observed.evidence import Evidence
from engine.diagnosis.triage.report import Group, Triage
from engine.kernel.sentences import NOTHING, verbatim
from engine.objects.objects import Manifest
from kscope.program.asking.reading.scheduler_message import in_other_words, refusals_of, said_of
from kscope.program.asking.reading.sight import Sight
from kscope.program.speech.words import counted

_CONCLUSION: Final = verbatim("No change was tried: without nodes nothing can be proven.")
_SILENT: Final = "no scheduler has said why"


def as_seen(found: Triage, evidence: Evidence, sight: Sight) -> Triage:
    """*found* with what waits as the schedulers have it, where the nodes were not seen."""
    if sight.has_nodes:
        return found
    waiting = [key for group in found.groups if group.kind == "pending" for key in group.pods]
    proven = [group for group in found.groups if group.kind not in ("pending", "node")]
    groups = [*proven, *_groups_of(evidence, waiting)]
    groups.sort(key=lambda each: -each.size)
    return replace(
        found, groups=tuple(groups), together=None, shared_causes=(), questions=(), unanswerable=""
    )


def is_proven(group: Group) -> bool:
    """Whether a group needed no node that was not seen."""
    return group.conclusion != _CONCLUSION


def _groups_of(evidence: Evidence, keys: Iterable[str]) -> Iterator[Group]:
    """The pods that wait, by what is said of them."""
    by_message: dict[str, list[Manifest]] = {}
    for key in keys:
        pod = evidence.find("Pod", key)
        if pod is not None:
            said = said_of(evidence, pod)
            by_message.setdefault(_of_message(said.message if said else ""), []).append(pod)
    for pods in by_message.values():
        yield _group(evidence, pods)


def _of_message(message: str) -> str:
    """What two messages have in common that say the same of the nodes."""
    return str([(each.count, each.reason) for each in refusals_of(message)]) or message


def _group(evidence: Evidence, pods: list[Manifest]) -> Group:
    first, said = pods[0], said_of(evidence, pods[0])
    keys = tuple(f"{each['metadata']['namespace']}/{each['metadata']['name']}" for each in pods)
    wait = f"{counted(len(pods), 'pod')} {'waits' if len(pods) == 1 else 'wait'}"
    words = list(in_other_words(evidence, first, said.message)) if said else []
    why = " ".join(words) if words else f"{(said.message if said else '') or _SILENT}."
    lead = f"{wait}, says the scheduler: " if said else f"{wait}, and "
    return Group(
        kind="pending",
        cause=verbatim(f"{lead}{why}"),
        by="",
        observed=verbatim(f"FailedScheduling: {said.message}") if said else NOTHING,
        since=said.since if said else "",
        pods=keys,
        workloads=tuple(evidence.workloads(pods)),
        conclusion=_CONCLUSION,
        short=verbatim(words[0].rstrip(".") if words else _SILENT),
    )

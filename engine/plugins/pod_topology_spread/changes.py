"""Changes after which the pods of a node's domain are not too many."""

from __future__ import annotations

from collections.abc import Iterator

from engine.framework.explaining.label_changes import topology_labels
from engine.framework.explaining.proposes import Proposal, pod_made_anew
from engine.framework.explaining.refusals import Refusals
from engine.kernel.sentences import Sentence, say
from engine.objects.objects import Manifest, Pod


def spread_changes(refusals: Refusals) -> Iterator[Proposal]:
    """A topology label of a node, or a looser constraint."""
    yield from topology_labels(refusals)
    yield from _spreading(refusals)


def _spreading(refusals: Refusals) -> Iterator[Proposal]:
    """Changes of a spread constraint: honor taints, the smallest skew that suffices, no minimum, a preference."""
    pod = refusals.pod
    constraints: list[Manifest] = list(pod.spec.get("topologySpreadConstraints") or ())
    for place, constraint in enumerate(constraints):
        if constraint.get("whenUnsatisfiable", "DoNotSchedule") != "DoNotSchedule":
            continue
        key = constraint.get("topologyKey") or ""
        if constraint.get("nodeTaintsPolicy") != "Honor":
            text = say(
                "Do not count nodes whose taints it does not tolerate over {key} "
                "(nodeTaintsPolicy: Honor)",
                key=key,
            )
            yield _with_constraint(pod, constraints, place, {"nodeTaintsPolicy": "Honor"}, text)
        skew, allowed = _least_skew(refusals, key), constraint.get("maxSkew") or 1
        if skew is not None and skew > allowed:
            text = say(
                "Allow a skew of {skew} instead of {allowed} over {key}",
                skew=skew,
                allowed=allowed,
                key=key,
            )
            yield _with_constraint(pod, constraints, place, {"maxSkew": skew}, text)
        if constraint.get("minDomains"):
            text = say("Ask for no minimum of domains of {key}", key=key)
            yield _with_constraint(pod, constraints, place, {"minDomains": None}, text)
        text = say("Let the spread over {key} be a preference (ScheduleAnyway)", key=key)
        changed = {"whenUnsatisfiable": "ScheduleAnyway", "minDomains": None}
        yield _with_constraint(pod, constraints, place, changed, text)


def _least_skew(refusals: Refusals, key: str) -> int | None:
    skews = [
        int(obstacle.detail.numbers["skew"])
        for each in refusals.refused
        for obstacle in each.obstacles
        if obstacle.detail.numbers.get("topologyKey") == key and "skew" in obstacle.detail.numbers
    ]
    return min(skews, default=None)


def _with_constraint(
    pod: Pod, constraints: list[Manifest], place: int, changes: Manifest, text: Sentence
) -> Proposal:
    changed = {k: v for k, v in {**constraints[place], **changes}.items() if v is not None}
    spread = [*constraints[:place], changed, *constraints[place + 1 :]]
    return pod_made_anew(
        pod,
        {"topologySpreadConstraints": spread},
        kind="spread",
        text=text,
        breaks=say("More of its kind may then fail with one domain."),
    )

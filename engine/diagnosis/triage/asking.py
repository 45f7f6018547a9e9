"""The question: why is one object of a cluster as it stands, and what would let it go on.

Three things are kept apart: what the files say of it, what holds it at their instant, and what the
model predicts for the next minute. Where the model would let go on what the files show as stuck,
that contradiction is the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from engine.cluster.cluster import Cluster
from engine.diagnosis.fork import CopiedForks, MakeForks
from engine.diagnosis.observed.evidence import Evidence, claims_of, is_ready, key_of
from engine.diagnosis.report import Diagnosis
from engine.diagnosis.subjects.workloads import KINDS as WORKLOADS
from engine.diagnosis.triage.alone import AtOnce
from engine.diagnosis.triage.answer import Answer
from engine.diagnosis.triage.observed_facts import (
    condition_text,
    facts_of,
    how_it_ended,
)
from engine.diagnosis.triage.predictions import Prediction, decided, predict
from engine.diagnosis.triage.report import Group
from engine.diagnosis.triage.resting import assumed_of
from engine.diagnosis.triage.stuck.controllers import ready_pods, stands
from engine.diagnosis.triage.stuck.told import PATIENCE_SECONDS
from engine.diagnosis.triage.triage import ask
from engine.diagnosis.why import ASKED, diagnosis_of
from engine.framework.explaining.case import listed
from engine.input.assumed.placeholder import placeholder_sentence
from engine.kernel.sentences import NOTHING, enumerated, say, together, unstopped
from engine.objects.manifest_parts import items, section, wanted_pods
from engine.objects.objects import Manifest, PersistentVolumeClaim, Pod

# The state of an object that the files do not hold.
ASSUMED: Final = "assumed"
# In larger clusters a minute takes minutes, and forks are given up before a second has passed in
# them: each pod is good for some thirty steps.
_MOST_PODS_PLAYED: Final = 2_000


def explain_as_it_stands(
    cluster: Cluster,
    evidence: Evidence,
    kind: str,
    key: str,
    *,
    tries_changes: bool = True,
    make_forks: MakeForks = CopiedForks,
) -> Answer | None:
    """Why the object is as it is at the instant of the files; None where there is no such object.

    *cluster* is at its beginning and is left so; *evidence* is of its files. Nothing is bound,
    nominated, evicted or written: what the schedulers would decide is computed with queues and
    caches that are filled at once. Without *tries_changes* there are causes alone. Changes are tried,
    and the next minute is played, in the forks of *make_forks*.
    """
    raw = evidence.find(kind, key)
    if raw is None:
        return None
    if sentence := placeholder_sentence(raw):
        return _assumed_alone(cluster, evidence, raw, sentence)
    asked = ask(cluster, evidence, tries_changes=tries_changes)
    found = asked.causes.groups
    naming = sorted(_naming(evidence, raw, found), key=lambda place: _is_aside(raw, found[place]))
    # With thousands of stuck objects, changes are tried only for the groups that matter here.
    groups = tuple(map(asked.group, naming or _around(evidence, raw, found)))
    companion = _companion(evidence, raw, groups)
    at_once = AtOnce(cluster, make_forks)
    is_played = len(cluster.store.live(Pod.KIND)) <= _MOST_PODS_PLAYED

    def explained(kind: str, key: str) -> Diagnosis:
        return at_once.explained(kind, key, tries_changes=tries_changes and is_played)

    diagnosis = explained(kind, key) if kind in ASKED else _unasked(cluster, kind, key, raw)
    beside = explained(*companion) if companion else None
    if kind not in ASKED or cluster.asks_extenders:
        # Extenders decide too, and are not asked about what is only tried.
        predicted = Prediction()
    elif is_played:
        predicted = make_forks(cluster).run(partial(predict, kind=kind, key=key))
    else:
        predicted = decided(groups)
    if not groups:
        diagnosis = _without_denial(evidence, raw, diagnosis, predicted)
    elif diagnosis.state == "well":
        diagnosis = replace(diagnosis, state="held")
    holding = [each for each in groups if _holds(evidence, raw, each)] if predicted.goes_on else []
    contradicts = any(_is_evidence(evidence, each) for each in holding)
    answer = Answer(
        instant=evidence.instant,
        facts=facts_of(evidence, raw),
        diagnosis=diagnosis,
        beside=beside,
        groups=groups,
        is_named=bool(naming),
        predicted=say(
            "{prediction}; what holds it now is over by then", prediction=unstopped(predicted.text)
        )
        if holding and not contradicts
        else predicted.text,
        contradicts=contradicts,
        waits_seconds=evidence.age_seconds(groups[0].since) if groups and groups[0].since else 0,
        is_played=is_played,
    )
    return _with_assumed(evidence, raw, answer)


def _assumed_alone(cluster: Cluster, evidence: Evidence, raw: Manifest, why: str) -> Answer:
    """The answer about an object that the files do not hold: nothing follows from what is assumed."""
    kind, key = raw["kind"], key_of(raw)
    sentence = say(
        "{kind} {key} is not in these files, so nothing is known of it but what names it.",
        kind=kind,
        key=key,
    )
    diagnosis = diagnosis_of(cluster, kind, key, ASSUMED, sentence)
    facts = facts_of(evidence, raw)
    return Answer(instant=evidence.instant, facts=facts, diagnosis=diagnosis, assumed=(why,))


def _with_assumed(evidence: Evidence, raw: Manifest, answer: Answer) -> Answer:
    """*answer* with the placeholders that it rests on."""
    if not evidence.assumed:
        return answer
    found = answer.diagnosis
    is_waiting = bool(found.pod) and not section(raw, "spec").get("nodeName")
    said = " ".join((answer.sentence, answer.predicted, *(each.sentence for each in answer.causes)))
    assumed = assumed_of(evidence, raw, said, is_waiting=is_waiting)
    return replace(answer, assumed=assumed)


def _is_aside(raw: Manifest, group: Group) -> bool:
    """Whether a group is of a node, and holds a workload by a drain only."""
    return raw["kind"] in WORKLOADS and group.kind == "node" and not group.pods


def _holds(evidence: Evidence, raw: Manifest, group: Group) -> bool:
    """Whether a group says of the object itself that it is stuck, and not of what uses it."""
    key, part = key_of(raw), _PARTS.get(raw["kind"], "")
    if part:
        return key in getattr(group, part) or f"{raw['kind'].lower()}/{key}" in group.objects
    pods = {key_of(pod) for pod in _pods_of(evidence, raw)}
    says = bool(group.pods_missing) and bool(section(raw, "status"))
    is_short = says and ready_pods(raw) < wanted_pods(raw)
    return is_short or not pods.isdisjoint(group.pods) or not pods


def _is_evidence(evidence: Evidence, group: Group) -> bool:
    """Whether a group speaks against a model that lets its objects go on within a minute.

    What follows from the objects alone does not, but what their nodes refuse, or that they have been
    held for long.
    """
    is_refused = group.kind == "placed-but-stuck"
    return group.contradicts or is_refused or evidence.age_seconds(group.since) > PATIENCE_SECONDS


def _unasked(cluster: Cluster, kind: str, key: str, raw: Manifest) -> Diagnosis:
    """Of an object of a kind that no component acts on: what its own metadata say."""
    finalizers = raw["metadata"].get("finalizers") or ()
    if raw["metadata"].get("deletionTimestamp"):
        sentence = say("{kind} {name} is terminating.", kind=kind, name=key)
        if finalizers:
            sentence = say(
                "{kind} {name} is terminating: it keeps {finalizers}.",
                kind=kind,
                name=key,
                finalizers=enumerated(finalizers),
            )
        state = "terminating"
    else:
        told = [condition_text(each) for each in items(section(raw, "status"), "conditions")]
        told = [each for each in told if each]
        sentence = say(
            "Nothing in the files holds {kind} {key}; kscope plays no objects of this kind.",
            kind=kind,
            key=key,
        )
        if told:
            sentence = say(
                "{kind} {key} says: {told}. kscope plays no objects of this kind.",
                kind=kind,
                key=key,
                told=listed(told, 3),
            )
        state = "kept"
    return diagnosis_of(cluster, kind, key, state, sentence)


def _without_denial(
    evidence: Evidence, raw: Manifest, found: Diagnosis, predicted: Prediction
) -> Diagnosis:
    """*found*, which calls nothing well that the files, or the next minute, do not show as well."""
    status = section(raw, "status")
    is_short = status and raw["kind"] in WORKLOADS and ready_pods(raw) < wanted_pods(raw)
    if found.state == "well" and is_short:
        unready = [each for each in _pods_of(evidence, raw) if not is_ready(each)]
        told = [each.text for pod in unready for each in evidence.events(pod) if each.is_warning]
        rest = say("The newest Event of its pods: {event}.", event=told[-1]) if told else NOTHING
        text = say("{state}; nothing in the model holds it.", state=stands(evidence, raw))
        return replace(found, state="held", sentence=together(text, rest))
    if found.state == "ended" and (how := how_it_ended(raw)):
        text = say("{sentence}: {how}.", sentence=unstopped(found.sentence), how=unstopped(how))
        return replace(found, sentence=text)
    if not found.causes and not predicted.goes_on and predicted.causes:
        sentence = say(
            "The files say nothing of it; the model predicts: {prediction}",
            prediction=predicted.text,
        )
        # What the causes come from stands in the next minute, and not in the files.
        causes = tuple(replace(each, because=()) for each in predicted.causes)
        return replace(found, sentence=sentence, causes=causes)
    if found.state != "placed" or found.causes or status.get("phase") == "Running":
        return found
    if not status:
        rest = say("the files have no status of it, so nothing was observed")
    elif not evidence.has_events:
        rest = say(
            "its phase is {phase}, and no Events are in the files that say why",
            phase=status.get("phase"),
        )
    else:
        rest = say(
            "its phase is {phase}, and no Event says that anything holds it",
            phase=status.get("phase"),
        )
    text = say("{sentence}; {observed}.", sentence=unstopped(found.sentence), observed=rest)
    return replace(found, sentence=text)


# -- what holds it -----------------------------------------------------------------------------------


def _naming(evidence: Evidence, raw: Manifest, groups: Iterable[Group]) -> Iterator[int]:
    """The places of the groups that hold the object itself, or of which it is the cause."""
    part, kind, key = _PARTS.get(raw["kind"], ""), raw["kind"].lower(), key_of(raw)
    itself = {f"{kind}/{key}", f"{kind} {key}"}
    if raw["kind"] == "ReplicaSet":
        itself.add(evidence.workload(raw))
    for place, each in enumerate(groups):
        is_held = bool(part) and key in getattr(each, part)
        if is_held or itself & {*each.workloads, *each.objects} or each.by in itself:
            yield place


_PARTS: Final = {
    "Pod": "pods",
    "PersistentVolumeClaim": "claims",
    "ResourceClaim": "claims",
    "Node": "nodes",
    "Namespace": "namespaces",
}


def _around(evidence: Evidence, raw: Manifest, groups: Iterable[Group]) -> Iterator[int]:
    """The places of the groups that hold what the object uses, what it consists of, or what it belongs to."""
    pods = {key_of(pod) for pod in _pods_of(evidence, raw)}
    claims, workload = {*_claims_of(raw)}, evidence.workload(raw)
    for place, each in enumerate(groups):
        is_above = bool(workload) and workload in each.workloads
        if pods & {*each.pods} or claims & {*each.claims} or (is_above and raw["kind"] != "Pod"):
            yield place


def _claims_of(raw: Manifest) -> list[str]:
    if raw["kind"] == "PersistentVolume":
        bound_to = section(raw, "spec", "claimRef")
        return [f"{bound_to.get('namespace')}/{bound_to.get('name')}"] if bound_to else []
    return claims_of(raw) if raw["kind"] == Pod.KIND else []


def _pods_of(evidence: Evidence, raw: Manifest) -> list[Manifest]:
    """The pods that use a claim, or that belong to a workload, directly or not."""
    if raw["kind"] == "PersistentVolumeClaim":
        key = key_of(raw)
        return evidence.users(key)
    if raw["kind"] == "PersistentVolume":
        return [pod for key in _claims_of(raw) for pod in evidence.users(key)]
    if raw["kind"] == "ResourceClaim":
        return [pod for pod in evidence.all("Pod") if _asks_for_devices(pod, raw)]
    return [
        pod for pod in evidence.all("Pod") if any(each is raw for each in _owners(evidence, pod))
    ]


def _asks_for_devices(pod: Manifest, claim: Manifest) -> bool:
    """Whether a pod names a ResourceClaim, or has it from a template."""
    asked = items(section(pod, "spec"), "resourceClaims")
    made = items(section(pod, "status"), "resourceClaimStatuses")
    is_beside = pod["metadata"].get("namespace") == claim["metadata"].get("namespace")
    names = [each.get("resourceClaimName") for each in (*asked, *made)]
    return is_beside and claim["metadata"]["name"] in names


def _owners(evidence: Evidence, found: Manifest) -> Iterator[Manifest]:
    above = evidence.controller(found)
    while above is not None:
        yield above
        above = evidence.controller(above)


def _companion(
    evidence: Evidence, raw: Manifest, groups: Iterable[Group]
) -> tuple[str, str] | None:
    """One that shares the lot of the object: a pod of a claim or workload, a claim of a pod."""
    held = {key for group in groups for key in (*group.pods, *group.claims)}
    if raw["kind"] == "Pod":
        claims = [(key, evidence.find(_CLAIM, key)) for key in _claims_of(raw)]
        waits = [key for key, claim in claims if claim and (key in held or not _is_bound(claim))]
        return (_CLAIM, waits[0]) if waits else None
    pods = [key_of(pod) for pod in _pods_of(evidence, raw)]
    stuck = next((key for key in pods if key in held), pods[0] if pods else "")
    return (Pod.KIND, stuck) if stuck else None


def _is_bound(claim: Manifest) -> bool:
    return section(claim, "status").get("phase") == "Bound"


_CLAIM: Final = PersistentVolumeClaim.KIND

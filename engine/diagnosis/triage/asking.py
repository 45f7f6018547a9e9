"""The question: why is one object of a cluster as it stands, and what would let it go on.

Three things are kept apart: what the files say of it, what holds it at their instant, and what the
model predicts for the next minute. Where the model would let go on what the files show as stuck,
that contradiction is the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from engine.cluster.cluster import Cluster
from engine.diagnosis.fork import CopiedForks, MakeForks
from engine.diagnosis.observed.evidence import Evidence, claims_of, is_ready, key_of
from engine.diagnosis.report import Cause, Diagnosis, Fix
from engine.diagnosis.subjects.scene import Scene
from engine.diagnosis.subjects.workloads import KINDS as WORKLOADS
from engine.diagnosis.subjects.workloads import pods_of, replica_sets
from engine.diagnosis.triage.after_play import Observed
from engine.diagnosis.triage.alone import LOSING, SHARED, AtOnce, change_of
from engine.diagnosis.triage.observed_facts import (
    ObservedFact,
    condition_text,
    facts_of,
    how_it_ended,
    texts_of,
)
from engine.diagnosis.triage.report import Change, Group, change_text
from engine.diagnosis.triage.stuck.controllers import ready_pods, state_of
from engine.diagnosis.triage.stuck.nodes import OFF
from engine.diagnosis.triage.stuck.told import PATIENCE_SECONDS
from engine.diagnosis.triage.triage import ask
from engine.diagnosis.why import ASKED, diagnosis_of, explain_object
from engine.framework.explaining.case import listed
from engine.kernel.units import SECOND
from engine.objects.manifest_parts import items, section, wanted_pods
from engine.objects.objects import ApiObject, Manifest, PersistentVolumeClaim, Pod

# How far the model looks ahead.
AHEAD: Final = 60 * SECOND
# In larger clusters a minute takes minutes, and forks are given up before a second has passed in
# them: each pod is good for some thirty steps.
_MOST_PODS_PLAYED: Final = 2_000
# A pod in one of these states waits for a scheduler, which has the best answer.
_NOT_WAITING: Final = ("placed", "ended", "deleting")
# A pod that no scheduler looks at: the objects around it say more than the schedulers.
_UNMINDED: Final = "unminded"
_PENDING: Final = "pending"
# Who is named where a workload waits until its pods are placed.
_SCHEDULER: Final = "kube-scheduler"
_HELD_OUTSIDE: Final = (_UNMINDED, "gated")
_NOTHING_TRIED: Final = "No change was tried: none is known that kscope could show to work."
_NOT_CARRIED_OUT: Final = (
    "No change was tried: none is known for all that this holds, and forks of so large a cluster, in "
    "which one would be carried out, take too long."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Help:
    """A change that would help: one tried for the object alone, or one for a whole group.

    `loses` data or work, is `shared` with others who have to agree, `buys` a machine, or `repairs`
    one that others do not want to wait for.
    """

    text: str
    note: str
    loses: bool
    shared: bool
    buys: bool
    content: dict[str, Any]
    repairs: bool = False

    @classmethod
    def of_fix(cls, fix: Fix) -> Help:
        """A change that was tried for the object alone."""
        return cls(
            text=f"{fix.text} ({'tried in a fork' if fix.shown == 'fork' else 'decided again'})",
            note=fix.note,
            loses=fix.kind in LOSING,
            shared=fix.kind in SHARED,
            buys=fix.kind == "node",
            content=fix.to_dict(),
        )

    @classmethod
    def of_change(cls, change: Change) -> Help:
        """A change for a group."""
        return cls(
            text=change_text(change),
            note=change.note,
            loses=bool(change.loses),
            shared=bool(change.shared),
            buys=change.kind == "node",
            content={"shown": "decision", **change.to_dict()},
        )


def _price(helps: Help) -> tuple[bool, bool, bool, bool]:
    """Changes that cost nobody anything come first, those that lose something last."""
    return helps.repairs, helps.loses, helps.shared, helps.buys


def _is_repair(change: Change, group: Group) -> bool:
    """Whether a machine is to be repaired, where the objects can be freed from it as it is."""
    return change.kind == "ready" and any(each.kind == OFF for each in group.changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Why an object is as it is at the instant of the files.

    `facts` are what the files say of it. `diagnosis` is what follows from the objects as they
    stand, with the changes that were tried for it alone, and `beside` the same for one that shares
    its lot: the pod of a claim or workload, the claim of a pod. `groups` are the causes that hold it, with
    the changes for all that they hold. Where `is_named` is not set, they hold what it uses or
    consists of. `predicted` is what a fork does in the next minute; `contradicts`: it would go on
    there, although it is stuck in the files. Where the cluster is too large to be played,
    `is_played` is not set, and both are what the schedulers decide at the instant of the files.
    """

    instant: str
    facts: tuple[ObservedFact, ...]
    diagnosis: Diagnosis
    beside: Diagnosis | None = None
    groups: tuple[Group, ...] = ()
    is_named: bool = True
    predicted: str = ""
    contradicts: bool = False
    is_played: bool = True

    @property
    def observed(self) -> tuple[str, ...]:
        """The facts in words."""
        return tuple(texts_of(self.facts))

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        if self._own_leads or not self.groups:
            return self.diagnosis.sentence
        return self.groups[0].cause

    @property
    def causes(self) -> tuple[Cause, ...]:
        """All that holds it, the answer first."""
        shared = tuple(Cause(severity="blocks", sentence=each.cause) for each in self.groups)
        own = tuple(each for each in self.diagnosis.causes if not self._is_weaker(each))
        known = {(each.plugin, each.sentence) for each in own}
        other = () if self.beside is None else self.beside.causes
        other = tuple(each for each in other if (each.plugin, each.sentence) not in known)
        return (*own, *shared, *other) if self._own_leads else (*shared, *own, *other)

    def _is_weaker(self, cause: Cause) -> bool:
        """Whether the group knows more: of a scheduler that is not played, of a claim that is refused."""
        if not self.groups or not self.is_named:
            return False
        if self.diagnosis.state == _UNMINDED:
            return True
        return self.groups[0].kind == "claim" and cause.severity == "delays"

    @property
    def _own_leads(self) -> bool:
        """Whether its own diagnosis says more: of what waits for a scheduler, or for another object."""
        if self.diagnosis.state in _HELD_OUTSIDE and self.groups:
            return False
        first = next(iter(self.diagnosis.causes), None)
        if first is not None and first.plugin == _SCHEDULER and not self.diagnosis.pod:
            # That it waits for a pod to be placed says less than why the pod is not.
            return not self.groups
        waits = bool(self.diagnosis.pod) and self.diagnosis.state not in _NOT_WAITING
        is_aside = not self.is_named or (bool(self.groups) and self.groups[0].kind == _PENDING)
        return bool(self.diagnosis.causes) and (waits or is_aside)

    @property
    def contradiction(self) -> str:
        """What the files and the model disagree on, and what that means; "" where they agree."""
        if not self.contradicts:
            return ""
        seen = "; ".join(self.observed[:2]).rstrip(".")
        seen = f"In your cluster: {seen}." if seen else ""
        likely = (
            f"most likely {self.groups[0].by}" if self.groups else "which the files do not show"
        )
        means = (
            f"The model would let it go on ({self.predicted.rstrip('.')}): the cause lies outside"
        )
        return f"{seen} {means} the model, {likely}.".strip()

    @property
    def fixes(self) -> list[Help]:
        """What would help, in the order in which an expert would try it.

        Of a change that was tried for the object alone and for its group, which has no other pod,
        the former is shown: it was carried out.
        """
        tried = self.diagnosis.fixes
        if self.beside is not None:
            mine, its = self.diagnosis.fixes, self.beside.fixes
            # What holds a pod by its claim is mended at the claim.
            tried = (*its, *mine) if self._waits_for_claim else (*mine, *its)
        own = {change_of(each): Help.of_fix(each) for each in reversed(tried)}
        found: dict[str, Help] = {}
        offered = ((each, change) for each in self.groups for change in each.changes)
        for group, change in offered:
            helps = replace(Help.of_change(change), repairs=_is_repair(change, group))
            tried_alone = own.get(change.text) if change.of in (None, 1) else None
            if tried_alone is not None:
                helps = replace(
                    tried_alone, loses=helps.loses, shared=helps.shared, repairs=helps.repairs
                )
            found.setdefault(change.text, helps)
        alone = [own[key] for key in reversed(own) if key not in found]
        return sorted([*found.values(), *alone], key=_price)

    @property
    def _waits_for_claim(self) -> bool:
        """Whether a pod is held by what holds its claim."""
        own, its = self.diagnosis, self.beside
        return bool(own.pod) and its is not None and not its.pod and own.sentence == its.sentence

    @property
    def conclusion(self) -> str:
        """What was tried without success, or why nothing was; "" where a change is offered."""
        if self.fixes:
            return ""
        found = (each.conclusion for each in self.groups if each.conclusion)
        default = _NOTHING_TRIED if self.is_played else _NOT_CARRIED_OUT
        return next(found, "") or self.diagnosis.conclusion or default

    def to_dict(self) -> dict[str, Any]:
        """The JSON form: that of a diagnosis, and what was observed and predicted."""
        return {
            **self.diagnosis.to_dict(),
            "instant": self.instant,
            "sentence": self.sentence,
            "observed": list(self.observed),
            "observed_facts": [each.to_dict() for each in self.facts],
            "predicted": self.predicted,
            "is_played": self.is_played,
            "contradicts": self.contradicts,
            "contradiction": self.contradiction,
            "causes": [each.to_dict() for each in self.causes],
            "fixes": [each.content for each in self.fixes],
            "groups": [each.to_dict() for each in self.groups],
            "conclusion": self.conclusion,
        }

    def text(self) -> str:
        """The answer for a terminal."""
        return "\n".join(_lines(self)) + "\n"


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
    asked = ask(cluster, evidence, tries_changes=tries_changes)
    found = asked.causes.groups
    naming = list(_naming(evidence, raw, found))
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
        predicted = _Prediction()
    elif is_played:
        predicted = make_forks(cluster).run(partial(_prediction, kind=kind, key=key))
    else:
        predicted = _decided(groups)
    if not groups:
        diagnosis = _without_denial(evidence, raw, diagnosis, predicted)
    elif diagnosis.state == "well":
        diagnosis = replace(diagnosis, state="held")
    return Answer(
        instant=evidence.instant,
        facts=facts_of(evidence, raw),
        diagnosis=diagnosis,
        beside=beside,
        groups=groups,
        is_named=bool(naming),
        predicted=predicted.text,
        contradicts=predicted.goes_on and any(_is_evidence(evidence, each) for each in groups),
        is_played=is_played,
    )


def _is_evidence(evidence: Evidence, group: Group) -> bool:
    """Whether a group speaks against a model that lets its objects go on within a minute.

    What follows from the objects alone does not, but that they have been held for long does.
    """
    return group.contradicts or evidence.age_seconds(group.since) > PATIENCE_SECONDS


def _unasked(cluster: Cluster, kind: str, key: str, raw: Manifest) -> Diagnosis:
    """Of an object of a kind that no component acts on: what its own metadata say."""
    finalizers = raw["metadata"].get("finalizers") or ()
    if raw["metadata"].get("deletionTimestamp"):
        sentence = f"{kind} {key} is terminating"
        sentence += f": it keeps {', '.join(finalizers)}." if finalizers else "."
        state = "terminating"
    else:
        told = [condition_text(each) for each in items(section(raw, "status"), "conditions")]
        told = [each for each in told if each]
        sentence = f"Nothing in the files holds {kind} {key}; kscope plays no objects of this kind."
        if told:
            sentence = (
                f"{kind} {key} says: {listed(told, 3)}. kscope plays no objects of this kind."
            )
        state = "kept"
    return diagnosis_of(cluster, kind, key, state, sentence)


def _without_denial(
    evidence: Evidence, raw: Manifest, found: Diagnosis, predicted: _Prediction
) -> Diagnosis:
    """*found*, which calls nothing well that the files, or the next minute, do not show as well."""
    status = section(raw, "status")
    if found.state == "well" and raw["kind"] in WORKLOADS and ready_pods(raw) < wanted_pods(raw):
        said = f"{raw['kind']} {key_of(raw)} {state_of(evidence, raw)}"
        unready = [each for each in _pods_of(evidence, raw) if not is_ready(each)]
        told = [each.text for pod in unready for each in evidence.events(pod) if each.is_warning]
        rest = f" The newest Event of its pods: {told[-1]}." if told else ""
        return replace(
            found, state="held", sentence=f"{said}; nothing in the model holds it.{rest}"
        )
    if found.state == "ended" and (how := how_it_ended(raw)):
        return replace(found, sentence=f"{found.sentence.rstrip('.')}: {how.rstrip('.')}.")
    if not found.causes and not predicted.goes_on and predicted.causes:
        sentence = f"The files say nothing of it; the model predicts: {predicted.text}"
        return replace(found, sentence=sentence, causes=predicted.causes)
    if found.state != "placed" or found.causes or status.get("phase") == "Running":
        return found
    if not status:
        rest = "the files have no status of it, so nothing was observed"
    elif not evidence.has_events:
        rest = f"its phase is {status.get('phase')}, and no Events are in the files that say why"
    else:
        rest = f"its phase is {status.get('phase')}, and no Event says that anything holds it"
    return replace(found, sentence=f"{found.sentence.rstrip('.')}; {rest}.")


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
    return [
        pod for pod in evidence.all("Pod") if any(each is raw for each in _owners(evidence, pod))
    ]


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


# -- what the model predicts -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Prediction:
    """What becomes of an object, whether it goes on as it should, and what holds it then."""

    text: str = ""
    goes_on: bool = False
    causes: tuple[Cause, ...] = ()


def _decided(groups: Iterable[Group]) -> _Prediction:
    """What the schedulers make of the groups of an object as things are."""
    text = next((each.predicted for each in groups if each.predicted), "")
    return _Prediction(text, goes_on=any(each.contradicts for each in groups))


def _prediction(cluster: Cluster, kind: str, key: str) -> _Prediction:
    cluster.advance(AHEAD)
    obj = cluster.store.find(kind, key)
    if obj is None:
        return _Prediction("it is gone", goes_on=True)
    if isinstance(obj, Pod) and obj.phase == "Running" and not obj.deletion_timestamp:
        return _Prediction(f"it runs on {obj.node_name}", goes_on=True)
    if kind in WORKLOADS and (waiting := _not_running(cluster, obj)):
        return _Prediction(
            f"{listed(waiting, 3)} still {'does' if len(waiting) == 1 else 'do'} not run"
        )
    if isinstance(obj, PersistentVolumeClaim) and _is_served(obj):
        return _Prediction(f"it is bound to {obj.volume_name}", goes_on=True)
    found = explain_object(cluster, kind, key, tries_changes=False)
    if isinstance(obj, Pod) and found.state == "placed" and not (found.causes or _has_ended(obj)):
        return _Prediction(f"it stays on {obj.node_name} and does not run, as it was observed")
    is_well = found.state in ("well", "ended") or not (found.causes or found.pod)
    return _Prediction(found.sentence, is_well, found.causes)


def _not_running(cluster: Cluster, workload: ApiObject) -> list[str]:
    """The pods of a workload that have a node and do not run there."""
    scene = Scene.of(cluster)
    pods = (pod for each in replica_sets(scene, workload) for pod in pods_of(scene, each))
    return [f"pod {pod.key}" for pod in pods if pod.node_name and pod.phase != "Running"]


def _has_ended(pod: Pod) -> bool:
    return bool(pod.deletion_timestamp) or pod.is_terminated


def _is_served(claim: ApiObject) -> bool:
    return claim.status.get("phase") == "Bound" and not claim.deletion_timestamp


# -- as text -----------------------------------------------------------------------------------------


def _lines(answer: Answer) -> Iterator[str]:
    found = answer.diagnosis
    yield f"{found.pod or found.entity} ({found.state}): {answer.sentence}"
    yield ""
    yield from Observed(instant=answer.instant, facts=answer.facts).lines()
    if answer.predicted:
        yield ""
        yield (
            f"The model predicts for the next {AHEAD // SECOND} s (a fork; nothing was played)"
            if answer.is_played
            else "The model decides as things are (so large a cluster is not played ahead)"
        )
        yield f"  {'the same' if answer.predicted == answer.diagnosis.sentence else answer.predicted}"
        if answer.contradicts:
            yield f"  This contradicts the files, and they win. {answer.contradiction}"
    yield from _cause_lines(answer)
    if answer.fixes:
        yield ""
        yield "What would help"
    for place, each in enumerate(answer.fixes, 1):
        yield f"  {place}. {each.text}"
        if each.note:
            yield f"     {each.note}"
    if answer.conclusion:
        yield ""
        yield answer.conclusion


def _cause_lines(answer: Answer) -> Iterator[str]:
    rest = [each for each in answer.causes if each.sentence != answer.sentence or each.because]
    if rest:
        yield ""
        yield "Why"
    for cause in rest:
        yield f"  {cause.severity:<8}{cause.sentence}"
        if cause.why:
            yield f"          {cause.why}"
        for fact in cause.because:
            yield f"          - {fact.text}"

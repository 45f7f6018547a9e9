"""What the files say of one object, each fact with its instant and its source, and what superseded it.

    at the instant of the files   every fact stands
    after the run was played      it stands, or is superseded: by which event, when, and what it says

Facts are read from the files each time and are never changed: see `Evidence`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from engine.api_server.store.superseding import DELETED, Superseding
from engine.cluster.cluster import Cluster
from engine.diagnosis.observed.evidence import Evidence, SeenEvent, is_ready, key_of
from engine.diagnosis.triage.stuck.controllers import KINDS as WORKLOADS
from engine.diagnosis.triage.stuck.controllers import ready_pods
from engine.diagnosis.triage.stuck.inferred import sources
from engine.diagnosis.triage.stuck.told import container_statuses
from engine.input.assumed.placeholder import placeholder_sentence
from engine.kernel.sentences import (
    NOTHING,
    Argument,
    Sentence,
    enumerated,
    grouped,
    in_turn,
    phrase,
    say,
    verbatim,
)
from engine.kernel.units import SECOND
from engine.objects.kinds import entity_id
from engine.objects.manifest_parts import items, section, wanted_pods
from engine.objects.objects import Manifest, Pod

_TROUBLE: Final = ("Failure", "Pressure", "Unavailable", "Problem", "Error", "Disruption")
_EVENT: Final = "Event"
_FILES: Final = "files"
_LEASE: Final = "Lease spec.renewTime"
_READY: Final = "status.conditions[Ready]"


@dataclass(frozen=True, slots=True)
class SupersededBy:
    """What took the place of a fact when the run was played: event *seq*, at *t* ns of virtual time."""

    t: int
    seq: int
    text: str

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {"t": self.t, "seq": self.seq, "text": self.text}


@dataclass(frozen=True, slots=True)
class ObservedFact:
    """One fact of the files about one object.

    `at` is when it was seen, in RFC 3339; "" where the files name no time. `source` is a field of the
    object's manifest, "Event of COMPONENT", or "files" for what they do not have. `says` is what an
    Event says, for comparison.
    """

    text: Sentence
    at: str
    source: str
    says: str = ""
    superseded_by: SupersededBy | None = None

    @property
    def marked(self) -> Sentence:
        """The fact and, where it has one, its mark."""
        mark = self.superseded_by
        if mark is None:
            return self.text
        return say(
            "{fact} (superseded at t={time} by event {seq}, {text})",
            fact=self.text,
            time=f"{mark.t / SECOND:g} s",
            seq=grouped(mark.seq),
            text=mark.text,
        )

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        mark = self.superseded_by
        return {
            "text": self.text,
            "at": self.at,
            "source": self.source,
            "superseded_by": None if mark is None else mark.to_dict(),
        }


def facts_of(evidence: Evidence, raw: Manifest) -> tuple[ObservedFact, ...]:
    """What the files say of the object itself, as it stood; of one that is assumed, nothing."""
    if placeholder_sentence(raw):
        text = say("not in these files: whatever is said of it is assumed")
        return (ObservedFact(text, "", _FILES),)
    return tuple(
        each if each.at or each.source == _FILES else replace(each, at=evidence.instant)
        for each in _facts(evidence, raw)
    )


def facts_after_play(
    cluster: Cluster, evidence: Evidence, kind: str, key: str
) -> tuple[ObservedFact, ...]:
    """What the files say of an object, each fact with a mark where *cluster* has gone on since.

    Nothing for an object that is not in the files.
    """
    raw = evidence.find(kind, key)
    if raw is None:
        return ()
    facts, superseding = facts_of(evidence, raw), cluster.store.record.superseding
    if superseding is None:
        return facts
    entity = entity_id(kind, key)
    return tuple(_marked(each, superseding, entity) for each in facts)


def _marked(fact: ObservedFact, superseding: Superseding, entity: str) -> ObservedFact:
    if fact.source.startswith(_EVENT):
        found = superseding.of_event(entity, fact.says)
    else:
        # Leases are not played: what the node's condition says later is heard instead of them.
        found = superseding.of_field(entity, _READY if fact.source == _LEASE else fact.source)
    if found is None:
        return fact
    return replace(fact, superseded_by=SupersededBy(found.at, found.seq, found.text))


# -- what was observed -------------------------------------------------------------------------------


def _facts(evidence: Evidence, raw: Manifest) -> Iterator[ObservedFact]:
    status, events = section(raw, "status"), evidence.events(raw)
    if phase := status.get("phase"):
        yield ObservedFact(say("phase {phase}", phase=phase), "", "status.phase")
    for event in [each for each in reversed(events) if each.is_warning] or events[-1:]:
        yield _of_event(evidence, event)
    yield from _of_deletion(raw)
    wanted, is_daemon = wanted_pods(raw), raw["kind"] == "DaemonSet"
    # Of a DaemonSet the status alone says that it wants no pod.
    if status and raw["kind"] in WORKLOADS and (wanted or is_daemon):
        name = "numberReady" if is_daemon else "readyReplicas"
        yield ObservedFact(
            say("{ready_pods} of {wanted} pods ready", ready_pods=ready_pods(raw), wanted=wanted),
            "",
            f"status.{name}",
        )
    for name in ("initContainerStatuses", "containerStatuses"):
        for each in items(status, name):
            yield from _of_container(each, f"status.{name}[{each.get('name')}]")
    for each in items(status, "conditions"):
        yield from _of_condition(raw, each)
    if message := section(status, "error").get("message"):
        yield ObservedFact(say("error: {message}", message=message), "", "status.error")
    if raw["kind"] == "Node":
        yield from _of_lease(evidence, raw)
    if raw["kind"] == "VolumeAttachment":
        yield from _of_attachment(status)
    yield from _not_in_files(evidence, raw) if status.get("phase") != "Running" else ()


def _of_condition(raw: Manifest, seen: Manifest) -> Iterator[ObservedFact]:
    kind, at = seen.get("type"), str(seen.get("lastTransitionTime") or "")
    source = f"status.conditions[{kind}]"
    if text := condition_text(seen):
        yield ObservedFact(text, at, source)
    elif raw["kind"] == "Node" and kind == "Ready" and is_ready(raw):
        yield ObservedFact(say("condition Ready is True"), at, source)


def condition_text(seen: Manifest) -> Sentence:
    """A condition that tells of trouble, in words; "" for any other."""
    if not _is_bad(seen) or not (seen.get("reason") or seen.get("message")):
        return NOTHING
    return say(
        "condition {type} is {status}: {said}",
        type=seen.get("type"),
        status=seen.get("status"),
        said=_said(seen),
    )


def how_it_ended(pod: Manifest) -> Sentence:
    """What the status of a failed pod says: of the pod as a whole, else of its containers."""
    status = section(pod, "status")
    if status.get("phase") != "Failed":
        return NOTHING
    ended = (_of_container(each, "") for each in container_statuses(pod))
    return verbatim(_said(status)) or in_turn([fact.text for facts in ended for fact in facts])


def _not_in_files(evidence: Evidence, raw: Manifest) -> Iterator[ObservedFact]:
    """What a pod needs and the files say nothing about: neither that it is there nor that it is not."""
    if raw["kind"] != Pod.KIND or not section(raw, "status"):
        return
    for kind in dict.fromkeys(kind for kind, _, _ in sources(raw)):
        if not evidence.has(kind):
            told = say(
                "no {kinds} are in these files: whether those of the pod exist is not known",
                kinds=f"{kind}s",
            )
            yield ObservedFact(told, "", _FILES)
    if not evidence.has_events:
        yield ObservedFact(say("no Events are in these files"), "", _FILES)


def _is_bad(seen: Manifest) -> bool:
    """Whether a condition tells of trouble: those that are named after it do so by being true."""
    names_trouble = str(seen.get("type")).endswith(_TROUBLE)
    return seen.get("status") != ("False" if names_trouble else "True")


def _of_deletion(raw: Manifest) -> Iterator[ObservedFact]:
    metadata = raw["metadata"]
    if deleted := metadata.get("deletionTimestamp"):
        finalizers = enumerated(metadata.get("finalizers") or ())
        text = say("deleted at {time}", time=deleted)
        if finalizers:
            text = say(
                "deleted at {time}, with the finalizers {finalizers}",
                time=deleted,
                finalizers=finalizers,
            )
        yield ObservedFact(text, str(deleted), DELETED)


def _of_container(status: Manifest, source: str) -> Iterator[ObservedFact]:
    state = section(status, "state")
    restarts = status.get("restartCount") or 0
    for name, (text, text_of_restarted) in _CONTAINER.items():
        found = section(state, name)
        if found.get("reason"):
            known: dict[str, Argument] = {"container": status.get("name"), "said": _said(found)}
            told = text_of_restarted.say(**known, times=restarts) if restarts else text.say(**known)
            yield ObservedFact(told, str(found.get("finishedAt") or ""), source)


# What is said of a container in a state, and of one that was restarted.
_CONTAINER: Final = {
    "waiting": (
        phrase("container {container} waits in {said}"),
        phrase("container {container} waits in {said}, restarted {times} times"),
    ),
    "terminated": (
        phrase("container {container} ended: {said}"),
        phrase("container {container} ended: {said}, restarted {times} times"),
    ),
}


def _of_lease(evidence: Evidence, node: Manifest) -> Iterator[ObservedFact]:
    """When the node's kubelet was last heard of."""
    lease = evidence.find("Lease", f"kube-node-lease/{key_of(node)}")
    renewed = None if lease is None else section(lease, "spec").get("renewTime")
    if renewed:
        text = say("its Lease was renewed at {renewed}", renewed=renewed)
        yield ObservedFact(text, str(renewed), _LEASE)


def _of_attachment(status: Manifest) -> Iterator[ObservedFact]:
    """What the driver's attacher said of a VolumeAttachment."""
    if "attached" in status:
        told = say("attached") if status["attached"] else say("not attached")
        yield ObservedFact(told, "", "status.attached")
    for name in ("attachError", "detachError"):
        error = section(status, name)
        if error.get("message"):
            text = verbatim(f"{name}: {error['message']}")
            yield ObservedFact(text, str(error.get("time") or ""), f"status.{name}")


def _said(part: Manifest) -> str:
    return ": ".join(str(part[name]) for name in ("reason", "message") if part.get(name))


def _of_event(evidence: Evidence, event: SeenEvent) -> ObservedFact:
    ago = evidence.age_seconds(event.last)
    age = f"{ago // 60} min" if ago >= 60 else f"{ago} s"
    text = say(
        "Event ×{times}, last {age} before: {text}", times=event.count, age=age, text=event.text
    )
    source = f"{_EVENT} of {event.component}" if event.component else _EVENT
    return ObservedFact(text, event.last, source, event.text)


def texts_of(facts: Iterable[ObservedFact]) -> list[Sentence]:
    """The facts in words, each with its mark where it has one."""
    return [each.marked for each in facts]

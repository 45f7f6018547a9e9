"""The first look at a cluster that was brought: docs/why-pending.md.

files ──▶ Evidence ──▶ what was read, what is assumed ─┐
  └─────▶ Cluster ───▶ the picture, what is stuck ─────┴▶ how far the model agrees with the files
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from engine.cluster.cluster import Cluster
from engine.diagnosis.first_look.assumed import Assumption, assumptions
from engine.diagnosis.first_look.picture import Picture, picture_of
from engine.diagnosis.first_look.printed import printed_state
from engine.diagnosis.first_look.trust import Comparison, comparisons
from engine.diagnosis.observed.evidence import Evidence
from engine.diagnosis.triage.deciding import deciding_on
from engine.diagnosis.triage.report import Group, Triage
from engine.diagnosis.triage.triage import triage
from engine.input.scenario import Scenario
from engine.input.sources.versions import Told
from engine.kernel.sentences import NOTHING, Sentence, enumerated, grouped, say, say_count, together
from engine.kernel.trace import minor_of
from engine.objects.kinds import entity_id
from engine.versions.shown.choices import minor_told, proposed_version

# What people ask about first; all other kinds come after these, by name.
_FIRST: Final = (
    *("Pod", "Node", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job"),
    *("CronJob", "HorizontalPodAutoscaler"),
    *("PersistentVolumeClaim", "PersistentVolume", "StorageClass", "CSINode", "CSIDriver"),
)
_PLACES: Final = {kind: place for place, kind in enumerate(_FIRST)}


@dataclass(frozen=True, slots=True)
class Read:
    """The objects of one kind, and their state as it is printed."""

    kind: str
    number: int
    state: Sentence = NOTHING

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {"kind": self.kind, "number": self.number, "state": self.state}


@dataclass(frozen=True, slots=True)
class Version:
    """The version that was followed, the one that the kubelets propose, and why that one."""

    profile: str
    proposed: str
    because: Sentence

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What the files alone say of an import, before a cluster is made of them."""

    instant: str
    read: tuple[Read, ...]
    version: Version
    assumed: tuple[Assumption, ...]

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "instant": self.instant,
            "read": [each.to_dict() for each in self.read],
            "version": self.version.to_dict(),
            "assumed": [each.to_dict() for each in self.assumed],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstLook(Reading):
    """What a person should know of an import before it is played."""

    triage: Triage
    picture: Picture
    trust: tuple[Comparison, ...]

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            **Reading.to_dict(self),
            "headline": self.triage.headline,
            "causes": [_cause(each) for each in self.triage.groups],
            "picture": self.picture.to_dict(),
            "trust": [each.to_dict() for each in self.trust],
        }


def reading(profile: str, scenario: Scenario, evidence: Evidence) -> Reading:
    """What was read of *scenario*, whose files say *evidence*; *profile* is the version followed."""
    return Reading(
        instant=evidence.instant,
        read=tuple(
            Read(kind, number, printed_state(evidence, kind))
            for kind, number in sorted(evidence.counts.items(), key=_place)
        ),
        version=_version(profile, scenario, evidence),
        assumed=tuple(assumptions(scenario, evidence)),
    )


def first_look(cluster: Cluster, scenario: Scenario, evidence: Evidence) -> FirstLook:
    """The first look at *cluster*, which is of *scenario*, at its beginning; it is only read.

    *evidence* is of the same files. Nothing is called stuck in a scenario with steps: it goes on.
    """
    if scenario.stands:
        found = triage(cluster, evidence, tries_changes=False)
    else:
        found = Triage(instant=evidence.instant, profile=cluster.profile)
    deciding, read = deciding_on(cluster), reading(cluster.profile, scenario, evidence)
    return FirstLook(
        instant=read.instant,
        read=read.read,
        version=read.version,
        assumed=read.assumed,
        triage=found,
        picture=picture_of(evidence, deciding),
        trust=tuple(comparisons(evidence, deciding, found.groups)),
    )


def _place(counted: tuple[str, int]) -> tuple[int, str]:
    kind, _ = counted
    return _PLACES.get(kind, len(_PLACES)), kind


def _cause(group: Group) -> dict[str, Any]:
    """A cause in short: its sentence, what it holds, and since when; `held` are entities of a run."""
    held = [entity_id("Pod", key) for key in group.pods]
    held += [entity_id("PersistentVolumeClaim", key) for key in group.claims]
    held += [entity_id("Node", key) for key in group.nodes]
    return {
        "kind": group.kind,
        "cause": group.cause,
        "by": group.by,
        "holds": group.holds,
        "pods": len(group.pods) + group.pods_missing,
        "since": group.since,
        "contradicts": group.contradicts,
        "held": held,
    }


def _version(profile: str, scenario: Scenario, evidence: Evidence) -> Version:
    told = evidence.versions_told(scenario.served)
    proposed = scenario.profile or proposed_version(told.versions)
    is_known = any(minor_of(proposed) == minor_told(each) for each in told.versions)
    nearest = say("Of the versions that kscope knows {version} is the nearest.", version=proposed)
    needs_word = bool(told.versions) and not scenario.profile and not is_known
    because = _because(scenario.profile, told)
    return Version(profile, proposed, together(because, nearest) if needs_word else because)


def _because(chosen: str, told: Told) -> Sentence:
    if chosen:
        return say("The files ask for {version}.", version=chosen)
    versions = told.versions
    parts = enumerated(
        [
            version if len(versions) == 1 else f"{grouped(number)} {version}"
            for version, number in sorted(versions.items())
        ]
    )
    match told.source:
        case "scheduler":
            return say("The image of kube-scheduler is of {version}.", version=parts)
        case "server":
            return say(
                "The API server said that it is {version}: that the scheduler is of the same is a "
                "guess.",
                version=parts,
            )
        case "control-plane":
            return say(
                "The kubelets of the control plane say {version}: that its scheduler is of the "
                "same is a guess.",
                version=parts,
            )
        case "kubelets":
            return _of_kubelets(versions, parts)
        case _:
            return say(
                "No file says of which version the cluster is, so the newest one is followed."
            )


def _of_kubelets(versions: Mapping[str, int], parts: str) -> Sentence:
    if len(versions) == 1:
        ((version, number),) = versions.items()
        return say_count(
            "The kubelet says {version}: that the scheduler is of the same is a guess.",
            "All {count} kubelets say {version}: that the scheduler is of the same is a guess.",
            number,
            version=version,
            count=grouped(number),
        )
    return say(
        "The kubelets say {versions}: the newest counts, because no kubelet is newer than its API "
        "server. That the scheduler is of the same is a guess.",
        versions=parts,
    )

"""What the files do not say, and what a run takes for granted instead."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from statistics import median_low
from typing import Any, Final, Literal

from engine.diagnosis.first_look.printed import node_state
from engine.diagnosis.observed.evidence import Evidence, condition, key_of
from engine.framework.explaining.case import listed
from engine.input.instants import is_time, moment
from engine.input.scenario import Scenario
from engine.kernel.latency import DEFAULT_LATENCIES, Latency
from engine.kernel.sentences import (
    NOTHING,
    Sentence,
    enumerated,
    grouped,
    phrase,
    say,
    say_count,
    verbatim,
)
from engine.kernel.units import MILLISECOND, SECOND
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest, Pod

# How the assumption can be replaced: by files that say it, or not at all.
Act = Literal["files", ""]
_TIMES: Final = (
    ("attach", phrase("attach {time}")),
    ("provision", phrase("provision {time}")),
    ("container_start", phrase("container start {time}")),
)
# Kinds that a pod needs, and the assumption where the files have no such object.
_NOT_GIVEN: Final = {
    "Event": say("nothing was observed beyond states and conditions"),
    "Lease": say("a node is silent only where its condition Ready says Unknown"),
    "CSINode": say("every driver is registered on every node"),
    "Secret": say("those that pods name are there"),
    "ConfigMap": say("those that pods name are there"),
    "ServiceAccount": say("those that pods name are there"),
}
_IMAGE_REASONS: Final = frozenset(("ErrImagePull", "ImagePullBackOff", "InvalidImageName"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumption:
    """What is assumed of *what*, where that comes from, and how it can be replaced."""

    what: Sentence
    text: Sentence
    source: Sentence = NOTHING
    act: Act = ""

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return asdict(self)


def assumptions(scenario: Scenario, evidence: Evidence) -> list[Assumption]:
    """What a run of *scenario*, whose files are *evidence*, takes for granted."""
    return [
        *_instant(scenario, evidence),
        *_scheduler(scenario),
        *_durations(scenario.latencies, evidence),
        *_silent_nodes(evidence),
        *_images(evidence),
        *_not_given(evidence),
    ]


def _instant(scenario: Scenario, evidence: Evidence) -> Iterator[Assumption]:
    if scenario.instant and not evidence.instant:
        yield Assumption(
            what=say("The instant"),
            text=say("the time of the import"),
            source=say("the files name no time"),
        )


def _scheduler(scenario: Scenario) -> Iterator[Assumption]:
    if scenario.configuration is not None or scenario.schedulers:
        return
    yield Assumption(
        what=say("Scheduler"),
        text=say("one kube-scheduler with the default profile"),
        source=say("no KubeSchedulerConfiguration is in the files"),
        act="files",
    )


def _durations(latencies: Mapping[str, Latency], evidence: Evidence) -> Iterator[Assumption]:
    """The durations that no file sets, and the one that Events show."""
    unset = [(name, words) for name, words in _TIMES if name not in latencies]
    if not unset:
        return
    text = enumerated([words.say(time=_seconds(DEFAULT_LATENCIES[name])) for name, words in unset])
    took = attach_times(evidence)
    source = NOTHING
    if took and "attach" not in latencies:
        source = say(
            "your Events say that attach took {time} (median of {number})",
            time=_seconds(median_low(took) * SECOND),
            number=grouped(len(took)),
        )
    yield Assumption(what=say("How long things take"), text=text, source=source)


def attach_times(evidence: Evidence) -> list[int]:
    """For each pod with one disk attached, the seconds from its scheduling until then.

    Upstream: attachdetach/util, SuccessfulAttachVolume; schedule_one.go, Scheduled.
    """
    found: list[int] = []
    for pod in evidence.all(Pod.KIND):
        scheduled = evidence.events(pod, "Scheduled")
        attached = evidence.events(pod, "SuccessfulAttachVolume")
        if len(scheduled) == len(attached) == 1:
            times = scheduled[0].first, attached[0].first
            if all(map(is_time, times)):
                found.append(int((moment(times[1]) - moment(times[0])).total_seconds()))
    return [each for each in found if each >= 0]


def _seconds(nanoseconds: int) -> str:
    tenths = nanoseconds // (100 * MILLISECOND)
    return f"{tenths // 10} s" if tenths % 10 == 0 else f"{tenths // 10}.{tenths % 10} s"


def _silent_nodes(evidence: Evidence) -> Iterator[Assumption]:
    silent = [each for each in evidence.all("Node") if node_state(each) == "unknown"]
    if not silent:
        return
    since = [
        str((condition(each, "Ready") or {}).get("lastTransitionTime") or "") for each in silent
    ]
    first = min((each for each in since if each), default="")
    yield Assumption(
        what=listed([key_of(each) for each in silent]),
        text=say_count(
            "stays silent until you change it", "stay silent until you change it", len(silent)
        ),
        source=say("Ready=Unknown since {time}", time=first)
        if first
        else verbatim("Ready=Unknown"),
    )


def _images(evidence: Evidence) -> Iterator[Assumption]:
    missing = sum(_lacks_image(each) for each in evidence.all(Pod.KIND))
    text = say("can be pulled")
    if missing:
        text = say_count(
            "can be pulled, except where {count} pod could not",
            "can be pulled, except where {count} pods could not",
            missing,
            count=grouped(missing),
        )
    yield Assumption(what=say("Images"), text=text, source=say("image pulls are outside the model"))


def _lacks_image(pod: Manifest) -> bool:
    status = section(pod, "status")
    containers = [*items(status, "initContainerStatuses"), *items(status, "containerStatuses")]
    return any(
        section(each, "state", "waiting").get("reason") in _IMAGE_REASONS for each in containers
    )


def _not_given(evidence: Evidence) -> Iterator[Assumption]:
    """The assumptions in the place of evidence that the files lack."""
    missing: dict[Sentence, list[str]] = {}
    for kind, assumed in _NOT_GIVEN.items():
        is_there = evidence.has_events if kind == "Event" else evidence.has(kind)
        if not is_there:
            missing.setdefault(assumed, []).append(f"{kind}s")
    for assumed, kinds in missing.items():
        are = listed(kinds)
        yield Assumption(
            what=are,
            text=assumed,
            source=say("no {kinds} are in the files", kinds=are),
            act="files",
        )

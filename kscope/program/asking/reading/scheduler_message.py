"""What a kube-scheduler says of a pod, in other words: its message without its nodes.

0/6 nodes are available: 2 Insufficient memory, 4 node(s) didn't match PersistentVolume's node
affinity. ─▶ "4 of 6 nodes are out of reach of a volume of the pod."

Upstream: framework.FitError.Error(), and the reasons of the plugins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from engine.diagnosis.observed.evidence import Evidence, condition, key_of
from engine.framework.explaining.amounts import format_amount
from engine.objects.manifest_parts import section
from engine.objects.pods.pod_resources import NEWEST, pod_resources

Manifest = Mapping[str, Any]

UNSCHEDULABLE: Final = "FailedScheduling"
_HEAD: Final = re.compile(
    r"(?P<none>\d+)/(?P<of>\d+) nodes are available: (?P<reasons>.*)", re.DOTALL
)
# Upstream puts what preemption came to behind what the filters say.
_BEHIND: Final = re.compile(r"\.? (no new claims to deallocate|still not schedulable|preemption:)")
_REASON: Final = re.compile(r"(?P<count>\d+) (?P<text>(?:(?!, \d+ ).)+)", re.DOTALL)
_LACKS: Final = re.compile(r"Insufficient (\S+)")
_TAINT: Final = re.compile(r"node\(s\) had (?:untolerated )?taint (\{.*\}).*")
# Reasons, and how they go on behind "4 of 6 nodes"; {volume} and {pod} are said of the pod.
_WORDS: Final = (
    (r"node\(s\) had (untolerated )?taint\(s\).*", "have taints that the pod does not tolerate"),
    (r"node\(s\) were unschedulable", "are cordoned"),
    (r"node\(s\) didn't match Pod's node affinity.*", "lack the labels that the pod asks for"),
    (r"node\(s\) didn't match node selector", "lack the labels that the pod asks for"),
    (
        r"node\(s\) (didn't match PersistentVolume's node affinity|had volume node affinity conflict)",
        "are out of reach of {volume}",
    ),
    (
        r"node\(s\) didn't find available persistent volumes to bind",
        "have no free volume that fits {claim}",
    ),
    (r"node\(s\) exceed max volume count", "have as many volumes attached as they may"),
    (r"node\(s\) did not have enough free storage", "lack the storage that {claim} asks for"),
    (
        r"node\(s\) didn't have free ports for the requested pod ports",
        "have the port of the pod in use",
    ),
    (
        r"node\(s\) didn't match pod topology spread constraints.*",
        "would spread the pods too unevenly",
    ),
    (r"node\(s\) didn't match pod anti-affinity rules", "hold a pod that this one keeps away from"),
    (
        r"node\(s\) didn't satisfy existing pods anti-affinity rules",
        "hold a pod that keeps this one away",
    ),
    (r"node\(s\) didn't match pod affinity rules", "hold none of the pods that it wants beside it"),
    (r"cannot allocate all claims", "have no free device that the pod asks for"),
    (r"Too many pods", "hold as many pods as they may"),
)
_KNOWN: Final = tuple((re.compile(pattern), words) for pattern, words in _WORDS)


@dataclass(frozen=True, slots=True)
class Said:
    """The newest word of a scheduler about a pod: its message, since when, and how often."""

    message: str
    since: str
    times: int
    last: str
    component: str


@dataclass(frozen=True, slots=True)
class Refused:
    """A reason for which some nodes were refused."""

    count: int
    of: int
    reason: str

    @property
    def lacks(self) -> str:
        """The resource that is short; "" for another reason."""
        match = _LACKS.fullmatch(self.reason)
        return match[1] if match else ""


def said_of(evidence: Evidence, pod: Manifest) -> Said | None:
    """What the schedulers of the cluster have said of a pod; None where they were not heard."""
    raw = dict(pod)
    events = evidence.events(raw, UNSCHEDULABLE)
    told = condition(raw, "PodScheduled") or {}
    is_refused = told.get("status") == "False" and told.get("reason") == "Unschedulable"
    since = str(told.get("lastTransitionTime") or "") if is_refused else ""
    if not events:
        message = str(told.get("message") or "")
        return Said(message, since, 0, since, "") if is_refused else None
    newest = events[-1]
    times = sum(each.count for each in events)
    return Said(newest.message, since or events[0].first, times, newest.last, newest.component)


def refusals_of(message: str) -> list[Refused]:
    """The nodes by why they were refused, the most first; none where the message has another form."""
    match = _HEAD.match(message)
    if match is None:
        return []
    reasons = _BEHIND.split(match["reasons"])[0].rstrip(". ")
    of = int(match["of"])
    found = [Refused(int(each["count"]), of, each["text"]) for each in _REASON.finditer(reasons)]
    return sorted(found, key=lambda each: -each.count)


def in_other_words(evidence: Evidence, pod: Manifest, message: str) -> Iterator[str]:
    """The message in sentences, one for each reason."""
    for each in refusals_of(message):
        nodes = f"{each.count:,} of {each.of:,} nodes"
        yield f"{nodes} {_predicate(evidence, pod, each)}."


def _predicate(evidence: Evidence, pod: Manifest, refused: Refused) -> str:
    if refused.lacks:
        asked = pod_resources(dict(pod), NEWEST).fit.get(refused.lacks)
        amount = format_amount(refused.lacks, asked)
        return f"lack {refused.lacks}" + (f". The pod asks for {amount}" if asked else "")
    taint = _TAINT.fullmatch(refused.reason)
    if taint:
        return f"have the taint {taint[1]}, which the pod does not tolerate"
    for pattern, words in _KNOWN:
        if pattern.fullmatch(refused.reason):
            return words.format(
                volume=volume_words(evidence, pod), claim=_claim_words(evidence, pod)
            )
    return f'were refused: "{refused.reason}"'


def volume_words(evidence: Evidence, pod: Manifest) -> str:
    """The volume of a pod: "a volume of claim data-web-3 (Bound to pvc-8f2c)"."""
    bound = [each for each in _claims(evidence, pod) if each[1]]
    if len(bound) == 1:
        return f"a volume of claim {bound[0][0]} (Bound to {bound[0][1]})"
    return "a volume of the pod"


def bound_volumes(evidence: Evidence, pod: Manifest) -> list[str]:
    """The names of the volumes that the claims of a pod are bound to."""
    return [volume for _, volume in _claims(evidence, pod) if volume]


def _claim_words(evidence: Evidence, pod: Manifest) -> str:
    unbound = [name for name, volume in _claims(evidence, pod) if not volume]
    return f"claim {unbound[0]}" if len(unbound) == 1 else "the claims of the pod"


def _claims(evidence: Evidence, pod: Manifest) -> list[tuple[str, str]]:
    """The claims that a pod names, and the volume of each; "" for one that is not bound, or unseen."""
    namespace = key_of(dict(pod)).rpartition("/")[0]
    found: list[tuple[str, str]] = []
    for each in section(pod, "spec").get("volumes") or ():
        name = section(each, "persistentVolumeClaim").get("claimName")
        if name:
            claim = evidence.find("PersistentVolumeClaim", f"{namespace}/{name}") or {}
            found.append((str(name), str(section(claim, "spec").get("volumeName") or "")))
    return found

"""What kscope decides on a pod, beside what the cluster's own scheduler has decided."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from engine.objects.objects import Pod
from engine.objects.pods.conditions import condition_of
from engine.scheduler.cycle.shadow.trials import Decided, is_same_refusal

ALIKE, OTHER, UNKNOWN, TIE = "=", "≠", "?", "≠ tie"
_REASONS: Final = re.compile(
    r"\d+/\d+ nodes are available: (?P<reasons>.*?)(?:\. |\.?$)", re.DOTALL
)
_REASON: Final = re.compile(r"(?P<count>\d+) (?P<text>(?:(?!, \d+ ).)+)", re.DOTALL)
_WORDS: Final = re.compile(r"^node\(s\) (?:had |were |didn't match |didn't )?")
_MOST: Final = 1


@dataclass(frozen=True, slots=True)
class Verdict:
    """One decision of the cluster, and kscope's: in words for a table, and whether they are alike."""

    pod: str
    state: str
    kscope: str
    scheduler: str
    sign: str
    node: str = ""
    chosen: str = ""
    best: tuple[str, ...] = ()
    score: int | None = None
    message: str = ""
    expected_message: str = ""

    def fields(self) -> dict[str, Any]:
        """For documents: unknown is null."""
        return {
            "pod": self.pod,
            "state": self.state,
            "verdict": {ALIKE: "alike", OTHER: "differs", TIE: "tied"}.get(self.sign, "unknown"),
            "node": self.node or None,
            "chosen": self.chosen or None,
            "best": list(self.best),
            "score": self.score,
            "message": self.message or None,
            "expected_message": self.expected_message or None,
        }


def placed(pod: Pod, node: str, decided: Decided | None) -> Verdict:
    """The cluster has given the pod a node."""
    if decided is None:
        return Verdict(pod.key, "placed", "not its scheduler", node, UNKNOWN, node=node)
    result = decided.result
    chosen = result.node or ""
    many = f", tie of {len(decided.best)}" if len(decided.best) > 1 else ""
    sign = ALIKE if node == chosen else TIE if node in decided.best else OTHER
    return Verdict(
        pod=pod.key,
        state="placed",
        kscope=f"{chosen}{many}" if chosen else short(result.message),
        scheduler=node,
        sign=sign,
        node=node,
        chosen=chosen,
        best=decided.best,
        score=decided.score,
        expected_message=result.message,
    )


def waits(pod: Pod, message: str, decided: Decided | None) -> Verdict:
    """The cluster has no node for the pod; *message* is "" where its scheduler has not said why yet."""
    said = short(message) if message else "nothing yet"
    if decided is None:
        return Verdict(pod.key, "waits", "not its scheduler", said, UNKNOWN, message=message)
    result = decided.result
    chosen = result.node or ""
    sign = ALIKE if is_same_refusal(result, message) else OTHER
    return Verdict(
        pod=pod.key,
        state="waits",
        kscope=f"fits {chosen}" if chosen else short(result.message),
        scheduler=said,
        sign=sign if message else UNKNOWN,
        chosen=chosen,
        best=decided.best,
        score=decided.score,
        message=message,
        expected_message=result.message,
    )


def refusal_of(pod: Pod) -> str:
    """What a scheduler has written of a pod that fits nowhere; "" where none has."""
    told = condition_of(pod, "PodScheduled") or {}
    is_refused = told.get("status") == "False" and told.get("reason") == "Unschedulable"
    return str(told.get("message") or "") if is_refused else ""


def short(message: str) -> str:
    """A message for a table: "Insufficient memory on 6, 3 more"."""
    match = _REASONS.search(message)
    found = (
        [(int(each["count"]), each["text"]) for each in _REASON.finditer(match["reasons"])]
        if match
        else []
    )
    if not found:
        return message.partition(". ")[0].rstrip(".") or "not known"
    found.sort(key=lambda each: -each[0])
    told = [
        f"{_WORDS.sub('', text).partition(' {')[0]} on {count}" for count, text in found[:_MOST]
    ]
    more = f", {len(found) - _MOST} more" if len(found) > _MOST else ""
    return f"{', '.join(told)}{more}"

"""Upstream's own messages: what the schedulers say of pods at their first attempt, in a fork."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from typing import Final

from engine.cluster.cluster import Cluster
from engine.diagnosis.fork import MakeForks
from engine.kernel.units import SECOND
from engine.objects.objects import Pod

# Attempts of thousands of pods take minutes.
MOST_PODS: Final = 2_000
_PATIENCE: Final = 30 * SECOND
_STEPS: Final = 500
# Upstream puts what preemption came to behind what the filters say.
_PREEMPTION: Final = (" no new claims to deallocate,", " still not schedulable,", " preemption:")


def first_refusals(
    cluster: Cluster, keys: Collection[str], make_forks: MakeForks
) -> Mapping[str, str]:
    """The message of the first attempt of each of the pods *keys*; none for one that is placed.

    Nothing for clusters that are too large to be played.
    """
    if not keys or len(cluster.store.live(Pod.KIND)) > MOST_PODS or cluster.asks_extenders:
        return {}
    return make_forks(cluster).run(partial(_attempted, wanted=frozenset(keys)))


def _attempted(cluster: Cluster, wanted: frozenset[str]) -> dict[str, str]:
    cluster.limit(None)
    for each in cluster.schedulers:
        each.take_over()
    found: dict[str, str] = {}
    until = cluster.now + _PATIENCE
    while len(found) < len(wanted):
        due = cluster.next_at
        if due is None or due > until:
            break
        cluster.advance(until, max_steps=_STEPS)
        for attempt in cluster.take().attempts:
            if attempt.pod in wanted:
                found.setdefault(attempt.pod, attempt.message)
    return {key: message for key, message in found.items() if message}


def shared_message(messages: Mapping[str, str], keys: Iterable[str]) -> tuple[str, int]:
    """The message that most of the pods have, and how many have it; "" and 0 for none."""
    said = Counter(messages[key] for key in keys if messages.get(key))
    return said.most_common(1)[0] if said else ("", 0)


def without_preemption(message: str) -> str:
    """The first part of a message: what the filters say."""
    for words in _PREEMPTION:
        before, found, _ = message.partition(words)
        if found:
            return before
    return message

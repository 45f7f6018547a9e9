"""Decides whether a cluster event is worth a new attempt for a pod that waits (v1.34).

Upstream: pkg/scheduler/backend/queue/scheduling_queue.go isPodWorthRequeuing().
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from engine.framework.cluster_events import ClusterEvent
from engine.framework.registrations import About, Subject
from engine.scheduler.queue.active import InFlight
from engine.scheduler.queue.queued_pod import QueuedPodInfo
from engine.scheduler.queue.queueing_hints import QueueingHints
from engine.scheduler.queue.trace_steps import EventConsidered, HintAsked

if TYPE_CHECKING:
    from engine.framework.framework import PreEnqueuePlugin


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueProfile:
    """The PreEnqueue plugins and queueing hints of one scheduler profile."""

    pre_enqueue: tuple[PreEnqueuePlugin, ...] = ()
    hints: QueueingHints = field(default_factory=QueueingHints)


class Strategy(enum.Enum):
    """Where an event sends a pod. Upstream: queueingStrategy."""

    SKIP = enum.auto()
    AFTER_BACKOFF = enum.auto()
    IMMEDIATELY = enum.auto()


class Requeueing:
    """Asks the queueing hints of a pod's profile.

    `profiles` go by schedulerName; a pod that names none of them gets the first.
    """

    __slots__ = ("_abouts", "_default_profile", "_interest", "_only_profile", "_profiles")

    def __init__(self, profiles: Mapping[str, QueueProfile] | None) -> None:
        self._profiles: dict[str, QueueProfile] = dict(profiles or {"": QueueProfile()})
        self._default_profile = next(iter(self._profiles.values()))
        self._only_profile = self._default_profile if len(self._profiles) == 1 else None
        # Whether any profile's plugins registered for the event.
        self._interest: dict[ClusterEvent, bool] = {}
        # The plugins that listen to the event, each with what says what the event is about.
        self._abouts: dict[ClusterEvent, tuple[tuple[str, About | None], ...]] = {}

    def profile_of(self, info: QueuedPodInfo) -> QueueProfile:
        """The profile that schedules the pod."""
        return self._only_profile or self._profiles.get(
            info.pod.scheduler_name, self._default_profile
        )

    def is_of_interest(self, event: ClusterEvent) -> bool:
        """Whether any profile's plugins registered for the event."""
        known = self._interest.get(event)
        if known is None:
            known = self._interest[event] = event.is_wild_card or any(
                profile.hints.registered_for(event) for profile in self._profiles.values()
            )
        return known

    def concern(
        self, event: ClusterEvent, old: Any, new: Any
    ) -> tuple[list[Subject], list[str]] | None:
        """Whom hints may let go: pods that name a subject, or that one of the plugins rejected.

        So may pods that no plugin rejected, of whom no hint is asked. None: it may be any pod.
        """
        if event.is_wild_card:
            return None
        subjects: list[Subject] = []
        plugins: list[str] = []
        for plugin, about in self._abouts_of(event):
            subject = None if about is None else about(old, new)
            if subject is None:
                plugins.append(plugin)
            else:
                subjects.append(subject)
        return subjects, plugins

    def _abouts_of(self, event: ClusterEvent) -> tuple[tuple[str, About | None], ...]:
        known = self._abouts.get(event)
        if known is None:
            profiles = self._profiles.values()
            entries = [entry for each in profiles for entry in each.hints.abouts(event)]
            known = self._abouts[event] = tuple(dict.fromkeys(entries))
        return known

    def may_open_gate(self, info: QueuedPodInfo, event: ClusterEvent) -> bool:
        """Whether the plugin that gates the pod registered for the event."""
        return info.gating_plugin in self.profile_of(info).hints.registered_for(event)

    def worth_requeuing(
        self,
        info: QueuedPodInfo,
        event: ClusterEvent,
        old: Any,
        new: Any,
        asked: list[HintAsked] | None = None,
    ) -> Strategy:
        """What the event means for the pod that the plugins rejected.

        Each plugin that is asked goes into *asked*, if there is one. Upstream: isPodWorthRequeuing().
        """
        if not (info.unschedulable_plugins or info.pending_plugins):
            return Strategy.AFTER_BACKOFF
        if event.is_wild_card:
            aimed_elsewhere = new is not None and getattr(new, "uid", "") != info.pod_info.uid
            return Strategy.SKIP if aimed_elsewhere else Strategy.AFTER_BACKOFF
        registered = self.profile_of(info).hints.registered_for(event)
        if not registered:
            return Strategy.SKIP
        hints = self.profile_of(info).hints
        for plugin in info.pending_plugins:
            if plugin not in registered:
                continue
            queues = hints.queues(plugin, event, info.pod_info, old, new)
            if asked is not None:
                asked.append(HintAsked(plugin, queues))
            if queues:
                return Strategy.IMMEDIATELY
        for plugin in info.unschedulable_plugins:
            if plugin not in registered:
                continue
            queues = hints.queues(plugin, event, info.pod_info, old, new)
            if asked is not None:
                asked.append(HintAsked(plugin, queues))
            if queues:
                return Strategy.AFTER_BACKOFF
        return Strategy.SKIP

    def strategy_after_attempt(
        self,
        info: QueuedPodInfo,
        in_flight: InFlight,
        missed: list[EventConsidered] | None = None,
    ) -> Strategy:
        """Where the pod goes after a failed attempt, by the events that it has missed.

        Each event that is considered goes into *missed*, if there is one.
        Upstream: determineSchedulingHintForInFlightPod().
        """
        uid = info.pod_info.uid
        if not (info.unschedulable_plugins or info.pending_plugins) or uid not in in_flight:
            # It failed with an error, so no event would bring it back.
            return Strategy.AFTER_BACKOFF
        strategy = Strategy.SKIP
        for one in in_flight.events_for(uid):
            asked: list[HintAsked] | None = None if missed is None else []
            worth = self.worth_requeuing(info, one.event, one.old, one.new, asked)
            if missed is not None and asked is not None:
                missed.append(EventConsidered(one.event.label, tuple(asked), worth.name))
            match worth:
                case Strategy.IMMEDIATELY:
                    return Strategy.IMMEDIATELY
                case Strategy.AFTER_BACKOFF:
                    if not info.pending_plugins:
                        return Strategy.AFTER_BACKOFF
                    strategy = Strategy.AFTER_BACKOFF
                case Strategy.SKIP:
                    pass
        return strategy

"""The HorizontalPodAutoscaler controller. Upstream: pkg/controller/podautoscaler/horizontal.go."""

from contextlib import suppress
from typing import ClassVar, Final, NamedTuple

from engine.api_server.store.watches import WatchEvent
from engine.controllers.autoscaling.behavior import Behavior
from engine.controllers.autoscaling.history import History
from engine.controllers.autoscaling.limits import (
    Wish,
    allowed,
    forbidden_windows,
    stabilized,
)
from engine.controllers.autoscaling.metrics import error_of, name_of
from engine.controllers.autoscaling.status import ABLE, ACTIVE, LIMITED, AutoscalerStatus
from engine.controllers.autoscaling.targets import Scale, scale_of
from engine.controllers.shared.controller import Controller, ControllerContext
from engine.controllers.shared.pods import time_of
from engine.kernel.errors import ApiError
from engine.objects.autoscalers import AUTOSCALER, asked_for, bounds, metrics_of
from engine.objects.objects import ApiObject
from engine.objects.selectors import LabelSelector
from engine.storage.ports import NORMAL, WARNING, EventSink

_GOT_SCALE: Final = "the HPA controller was able to get the target's current scale"
_NO_SCALE: Final = "the HPA controller was unable to get the target's current scale"
_NOT_COMPUTED: Final = "the HPA was unable to compute the replica count"
_FOUND: Final = "the HPA was able to successfully calculate a replica count from"
_DISABLED: Final = "scaling is disabled since the replica count of the target is zero"
_ABOVE: Final = "Current number of replicas above Spec.MaxReplicas"
_BELOW: Final = "Current number of replicas below Spec.MinReplicas"


class _Look(NamedTuple):
    """One look at an autoscaler."""

    autoscaler: ApiObject
    scale: Scale
    current: int
    status: AutoscalerStatus


class _Decision(NamedTuple):
    """How many replicas the target gets, and why; no reason where it has them."""

    replicas: int
    reason: str = ""


class AutoscalerController(Controller):
    """Looks at each autoscaler once a period, whatever changes."""

    AUTHOR: ClassVar[str] = "horizontal-pod-autoscaler"
    KIND: ClassVar[str] = AUTOSCALER

    def __init__(self, context: ControllerContext, events: EventSink) -> None:
        super().__init__(context, events)
        self._waiting: set[str] = set()
        self._histories: dict[str, History] = {}
        # What each was last found to select; None before that.
        self._selectors: dict[str, LabelSelector | None] = {}
        self._listers.of(AUTOSCALER).on_event(self._on_autoscaler)

    def _on_autoscaler(self, event: WatchEvent) -> None:
        key = event.new.key
        if event.type == "DELETED":
            self._selectors.pop(key, None)
        else:
            self._selectors.setdefault(key, None)
            self._wait(key)

    def _wait(self, key: str) -> None:
        if key not in self._waiting:
            self._waiting.add(key)
            self._queue.add_after(key, self._rules.autoscaler_period)

    def sync(self, key: str) -> None:
        """See Controller. Upstream: reconcileKey()."""
        self._waiting.discard(key)
        autoscaler = self._listers.of(AUTOSCALER).get(key)
        if autoscaler is None:
            self._histories.pop(key, None)
            return
        # Whatever is refused is tried again a period later, as everything is.
        with suppress(ApiError):
            self._reconcile(autoscaler)
        self._wait(key)

    def _reconcile(self, autoscaler: ApiObject) -> None:
        """Upstream: reconcileAutoscaler(). Raises ApiError."""
        status = AutoscalerStatus(autoscaler, self._loop.clock)
        try:
            scale = self._scale_of(autoscaler)
        except ApiError as refusal:
            self._events.event(autoscaler, WARNING, "FailedGetScale", str(refusal))
            status.condition(ABLE, False, "FailedGetScale", f"{_NO_SCALE}: {refusal}")
            self._write(autoscaler, status)
            return
        status.condition(ABLE, True, "SucceededGetScale", _GOT_SCALE)
        current = scale.wanted if self._rules.obeys_scaling_behavior else scale.found
        look = _Look(autoscaler, scale, current, status)
        decision = self._decision(look)
        if decision is not None and self._carry_out(look, decision):
            status.decided(current, decision.replicas, scaled=bool(decision.reason))
        else:
            status.counted(current)
        self._write(autoscaler, status)

    def _scale_of(self, autoscaler: ApiObject) -> Scale:
        # The last version with extensions/v1beta1 is the one without stabilization.
        old = not self._rules.stabilizes_scaling
        return scale_of(self._store, autoscaler, has_extensions=old)

    def _decision(self, look: _Look) -> _Decision | None:
        """How many replicas the target gets; None if that cannot be said."""
        low, high = bounds(look.autoscaler)
        history = self._histories.setdefault(look.autoscaler.key, History())
        if self._rules.obeys_scaling_behavior:
            history.begin(look.current, self._loop.now)
        if look.scale.wanted == 0 and low != 0:
            look.status.condition(ACTIVE, False, "ScalingDisabled", _DISABLED)
            return _Decision(look.current)
        if look.current > high:
            return _Decision(high, _ABOVE)
        if look.current < low:
            return _Decision(low, _BELOW)
        desired = self._desired(look)
        if desired is None:
            return None
        wish = Wish(look.current, desired, low, high)
        return self._limited(look, history, wish)

    # What the metrics say

    def _desired(self, look: _Look) -> int | None:
        """What the metrics ask for. Upstream: computeReplicasForMetrics()."""
        autoscaler, status = look.autoscaler, look.status
        ambiguous = self._ambiguous_selector(look)
        if ambiguous:
            self._events.event(autoscaler, WARNING, "AmbiguousSelector", ambiguous)
            status.condition(ACTIVE, False, "AmbiguousSelector", ambiguous)
            self._cannot_compute(autoscaler, ambiguous)
            return None
        desired = asked_for(autoscaler, self._loop.now)
        if desired is None:
            self._miss_metrics(autoscaler, status)
            return None
        found = f"{_FOUND} {name_of(metrics_of(autoscaler)[0])}"
        status.condition(ACTIVE, True, "ValidMetricFound", found)
        return desired

    def _ambiguous_selector(self, look: _Look) -> str:
        """Which others select its pods, too; "" for none. Upstream: validateAndParseSelector()."""
        if not self._rules.guards_scaled_selectors:
            return ""
        key, selector = look.autoscaler.key, look.scale.selector
        self._selectors[key] = selector
        pods = self._listers.pods_in(look.autoscaler.namespace)
        labels = [pod.labels for pod in pods if selector.matches(pod.labels)]
        namespace = f"{look.autoscaler.namespace}/"
        keys = [
            other
            for other, others in self._selectors.items()
            if others is not None
            and other.startswith(namespace)
            and any(map(others.matches, labels))
        ]
        text = f"pods by selector {look.scale.selector_text} are controlled by multiple HPAs"
        return f"{text}: [{' '.join(sorted(keys))}]" if len(keys) > 1 else ""

    def _miss_metrics(self, autoscaler: ApiObject, status: AutoscalerStatus) -> None:
        metrics = metrics_of(autoscaler)
        looked_at = metrics if self._rules.counts_failed_metrics else metrics[:1]
        errors = [error_of(metric, autoscaler, self._rules) for metric in looked_at]
        for error in errors:
            self._events.event(autoscaler, WARNING, error.reason, error.message)
        first = errors[0]
        status.condition(ACTIVE, False, first.reason, f"{_NOT_COMPUTED}: {first.message}")
        counted = f"invalid metrics ({len(errors)} invalid out of {len(errors)}), first error is: "
        prefix = counted if self._rules.counts_failed_metrics else ""
        self._cannot_compute(autoscaler, f"{prefix}{first.summed}")

    def _cannot_compute(self, autoscaler: ApiObject, why: str) -> None:
        self._events.event(autoscaler, WARNING, "FailedComputeMetricsReplicas", why)

    # How much of that is allowed

    def _limited(self, look: _Look, history: History, wish: Wish) -> _Decision:
        reason = ""
        if wish.desired > wish.current:
            reason = f"{name_of(metrics_of(look.autoscaler)[0])} above target"
        elif wish.desired < wish.current:
            reason = "All metrics below target"
        if self._rules.stabilizes_scaling:
            replicas = self._normalized(look, history, wish)
        else:
            replicas = self._unless_forbidden(look, wish)
        return _Decision(replicas, reason if replicas != wish.current else "")

    def _normalized(self, look: _Look, history: History, wish: Wish) -> int:
        """Upstream: normalizeDesiredReplicas(), normalizeDesiredReplicasWithBehaviors()."""
        behavior, now = self._behavior(look.autoscaler), self._loop.now
        if behavior is None:
            stable = stabilized(history, wish, now)
        else:
            stable = behavior.stabilized(history, wish, now)
        look.status.condition(ABLE, True, stable.reason, stable.message)
        wish = Wish(wish.current, stable.replicas, wish.low, wish.high)
        found = allowed(wish) if behavior is None else behavior.allowed(history, wish, now)
        is_limited = found.replicas != stable.replicas
        look.status.condition(LIMITED, is_limited, found.reason, found.message)
        return found.replicas

    def _unless_forbidden(self, look: _Look, wish: Wish) -> int:
        """Upstream: v1.11, shouldScale()."""
        found = allowed(wish)
        is_limited = found.replicas != wish.desired
        look.status.condition(LIMITED, is_limited, found.reason, found.message)
        last = look.autoscaler.status.get("lastScaleTime")
        window = forbidden_windows(time_of(last) if last else None, self._loop.clock)
        is_free = not (window.ups or window.downs)
        look.status.condition(ABLE, is_free, window.reason, window.message)
        is_forbidden = window.ups if found.replicas > wish.current else window.downs
        return wish.current if is_forbidden else found.replicas

    def _behavior(self, autoscaler: ApiObject) -> Behavior | None:
        if not self._rules.obeys_scaling_behavior:
            return None
        return Behavior.of({**autoscaler.spec}, both_ways=self._rules.counts_both_directions)

    # Writes

    def _carry_out(self, look: _Look, decision: _Decision) -> bool:
        """Scale the target, if need be; whether that went well."""
        if not decision.reason:
            return True
        autoscaler, target, replicas = look.autoscaler, look.scale.target, decision.replicas
        size = f"New size: {replicas}; reason: {decision.reason}"
        patch = {"spec": {"replicas": replicas}}
        try:
            self._store.patch(target.kind, target.key, patch, by=self.AUTHOR)
        except ApiError as refusal:
            self._events.event(autoscaler, WARNING, "FailedRescale", f"{size}; error: {refusal}")
            message = f"the HPA controller was unable to update the target scale: {refusal}"
            look.status.condition(ABLE, False, "FailedUpdateScale", message)
            return False
        message = f"the HPA controller was able to update the target scale to {replicas}"
        look.status.condition(ABLE, True, "SucceededRescale", message)
        self._events.event(autoscaler, NORMAL, "SuccessfulRescale", size)
        behavior = self._behavior(autoscaler)
        if behavior is not None:
            longest = behavior.longest_period(up=replicas > look.current)
            history = self._histories[autoscaler.key]
            history.scaled(look.current, replicas, self._loop.now, longest)
        return True

    def _write(self, autoscaler: ApiObject, status: AutoscalerStatus) -> None:
        """Upstream: updateStatusIfNeeded(). Raises ApiError."""
        if not status.changed:
            return
        try:
            self._write_status(autoscaler, status.new)
        except ApiError as refusal:
            self._events.event(autoscaler, WARNING, "FailedUpdateStatus", str(refusal))
            raise

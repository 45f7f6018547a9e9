"""What the status of a DeviceTaintRule says of the evictions for which it is a reason.

Upstream: pkg/controller/devicetainteviction/device_taint_eviction.go, maybeUpdateRuleStatus().
"""

from typing import ClassVar, Final, Protocol

from engine.api_server.store.informer import Informer
from engine.api_server.store.watches import WatchEvent
from engine.api_server.store.workqueue import WorkQueue
from engine.controllers.shared.controller import ControllerContext, generation_of, write_status
from engine.controllers.shared.pods import time_of
from engine.kernel.errors import ApiError
from engine.kernel.units import SECOND, timestamp
from engine.objects.device_taint_rules import DEVICE_TAINT_RULE, NO_EXECUTE, taint_of
from engine.objects.objects import ApiObject, Manifest, Pod
from engine.objects.pods.conditions import condition_of, with_condition

# The shortest time between two writes of a status.
PERIOD: Final = 10 * SECOND
CONDITION: Final = "EvictionInProgress"
_ONCE: Final = (
    "if the effect was NoExecute. This information will not be updated again. Recreate the "
    "DeviceTaintRule to trigger an update."
)


class Evictions(Protocol):
    """The controller, as far as the status of its rules depends on it."""

    AUTHOR: ClassVar[str]

    def rules_changed(self) -> None:
        """Look at every pod with devices again."""
        ...

    def pods_hit_by(self, rule: ApiObject) -> list[Pod]:
        """The pods that would be evicted, now or later, because of *rule* with NoExecute."""
        ...

    def devices_hit_by(self, rule: ApiObject) -> tuple[int, int]:
        """How many published and how many allocated devices *rule* selects."""
        ...


class TaintRules:
    """The rules of a cluster, what they have done, and their status."""

    def __init__(self, context: ControllerContext, evictions: Evictions) -> None:
        self._loop = context.loop
        self._store = context.store
        self._evictions = evictions
        self.queue = WorkQueue(
            context.loop, self._work, answers=context.store.answers.of(evictions.AUTHOR)
        )
        # By the uid of the rule, since the controller started.
        self._evicted: dict[str, int] = {}
        self.informer: Informer[ApiObject] = Informer(
            context.store, DEVICE_TAINT_RULE, context.watch_latency
        )
        self.informer.on_event(self._on_rule)

    def evicting(self) -> list[ApiObject]:
        """The rules that evict pods."""
        return [rule for rule in self.informer if taint_of(rule).get("effect") == NO_EXECUTE]

    def _on_rule(self, event: WatchEvent) -> None:
        """Upstream: handleRuleChange()."""
        old, new = event.old, event.new
        if event.type == "DELETED":
            self._evicted.pop(new.uid, None)
        elif old is not None and old.uid == new.uid and old.spec == new.spec:
            return
        else:
            self.queue.add(new.key)
        self._evictions.rules_changed()

    def concern(self, rules: list[ApiObject]) -> None:
        """A pod is to be evicted because of *rules*: their status follows soon."""
        for rule in rules:
            self.queue.add_after(rule.key, PERIOD)

    def evicted(self, rules: list[ApiObject]) -> None:
        """A pod was evicted because of *rules*."""
        for rule in rules:
            self._evicted[rule.uid] = self._evicted.get(rule.uid, 0) + 1
        self.concern(rules)

    def _work(self, key: str) -> None:
        rule = self.informer.get(key)
        if rule is None:
            return
        try:
            self._update(rule)
        except ApiError:
            self.queue.add_rate_limited(key)
        else:
            self.queue.forget(key)

    def _update(self, rule: ApiObject) -> None:
        """Raises ApiError."""
        known = condition_of(rule, CONDITION)
        if known is not None and known.get("observedGeneration", 0) == generation_of(rule):
            since = self._loop.clock - time_of(known.get("lastTransitionTime"))
            if since < PERIOD:
                self.queue.add_after(rule.key, PERIOD - since)
                return
        status, reason, message = self._said(rule)
        now = timestamp(self._loop.clock)
        condition: Manifest = {
            "type": CONDITION,
            "status": status,
            "observedGeneration": generation_of(rule),
            "lastTransitionTime": now,
            "reason": reason,
            "message": message,
        }
        if known is not None and {**known, "lastTransitionTime": now} == condition:
            return
        conditions = with_condition(rule, condition)
        write_status(
            self._store,
            rule,
            {**rule.status, "conditions": conditions},
            by=self._evictions.AUTHOR,
        )

    def _said(self, rule: ApiObject) -> tuple[str, str, str]:
        """The status, reason and message of the condition."""
        effect, done = taint_of(rule).get("effect"), self._evicted.get(rule.uid, 0)
        said = f"{_counted(done, 'pod')} evicted since starting the controller." if done else ""
        if effect == "None":
            return "False", "NoEffect", _joined(self._simulated(rule), said)
        if effect != NO_EXECUTE:
            message = "Eviction only happens for the NoExecute effect."
            return "False", "OtherEffect", _joined(message, said)
        pods = self._evictions.pods_hit_by(rule)
        if pods:
            verb = "needs" if len(pods) == 1 else "need"
            message = f"{_counted(len(pods), 'pod')} {verb} to be evicted in {_namespaces(pods)}."
            return "True", "PodsPendingEviction", _joined(message, said)
        return "False", "Completed" if done else "NotStarted", said

    def _simulated(self, rule: ApiObject) -> str:
        """What a rule without effect would do."""
        published, allocated = self._evictions.devices_hit_by(rule)
        pods = self._evictions.pods_hit_by(rule)
        return (
            f"{_counted(published, 'published device')} selected. "
            f"{_counted(allocated, 'allocated device')} selected. "
            f"{_counted(len(pods), 'pod')} would be evicted in {_namespaces(pods)} {_ONCE}"
        )


def _namespaces(pods: list[Pod]) -> str:
    count = len({pod.namespace for pod in pods})
    return "1 namespace" if count == 1 else f"{count} different namespaces"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _joined(*parts: str) -> str:
    return " ".join(part for part in parts if part)

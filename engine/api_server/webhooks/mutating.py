"""Webhooks that change what is written.

Upstream: apiserver/pkg/admission/plugin/webhook/mutating/{dispatcher,reinvocationcontext}.go.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final

from engine.api_server.custom.kinds import CustomKinds
from engine.api_server.policies.evaluating import PolicyError
from engine.api_server.policies.given import variables_of
from engine.api_server.policies.mutations import mutated
from engine.api_server.policies.writes import Write
from engine.api_server.webhooks.calls import Hook, Webhooks
from engine.api_server.webhooks.servers import CallError
from engine.kernel.errors import Denied
from engine.objects.manifest_parts import items
from engine.objects.objects import Manifest

_AGAIN: Final = "IfNeeded"
# Completes an object that a webhook has changed, by the rules of its kind.
Filled = Callable[[Manifest], Manifest]


@dataclass(frozen=True, slots=True)
class Invocations:
    """Which webhooks were called that may be called again, and which have to be, by their places.

    Those have to that were called before one that has changed the object.
    """

    reinvocable: list[int] = field(default_factory=list[int])
    again: set[int] = field(default_factory=set[int])


@dataclass(frozen=True, slots=True)
class MutatingWebhooks(Webhooks):
    """Those of MutatingWebhookConfigurations, which are called one after the other."""

    KIND: ClassVar[str] = "MutatingWebhookConfiguration"
    FAILED_OPEN: ClassVar[str] = "failed-open.mutation.webhook.admission.k8s.io/"

    custom: CustomKinds = field(repr=False)

    def invoked(
        self, write: Write, filled: Filled, told: list[str], before: Invocations | None = None
    ) -> tuple[Write, Invocations]:
        """The write as they leave it, and which were called. Raises Denied.

        *told* gets what they say of it. With *before*, those are called that are to be called again.
        """
        calls = Invocations()
        for place, raw in self.hooks():
            is_due = before is None or place in before.again
            hook = self.called(place, raw, write) if is_due else None
            if hook is None:
                continue
            made = self._changed(hook, write, filled, 0 if before is None else 1, told)
            if made.manifest != write.manifest:
                calls.again.update(calls.reinvocable)
            if raw.get("reinvocationPolicy") == _AGAIN:
                calls.reinvocable.append(place)
            write = made
        return write, calls

    def _changed(
        self, hook: Hook, write: Write, filled: Filled, number: int, told: list[str]
    ) -> Write:
        try:
            answer = self.allowed_by(hook, write, told)
        except CallError as failure:
            self.failed(hook, failure, number, told)
            return write
        if answer is None or not items(answer.rules, "mutations"):
            return write
        if write.new is None:
            why = "attempted to modify the object, which is not supported for this operation"
            raise _internal(f'admission webhook "{hook.name}" {why}')
        store = self.servers.store
        try:
            made = mutated(answer.rules, write, lambda now: variables_of(store, now), self.custom)
        except PolicyError as error:
            # Upstream: what comes of a patch that cannot be applied no failurePolicy is asked about.
            raise _internal(str(error)) from None
        return made if made is write else replace(made, new=filled(made.manifest))


def _internal(why: str) -> Denied:
    return Denied(f"Internal error occurred: {why}", "InternalError")

"""Webhooks that allow a write or deny it.

Upstream: apiserver/pkg/admission/plugin/webhook/validating/dispatcher.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from engine.api_server.policies.writes import Write
from engine.api_server.webhooks.calls import Webhooks
from engine.api_server.webhooks.servers import CallError


@dataclass(frozen=True, slots=True)
class ValidatingWebhooks(Webhooks):
    """Those of ValidatingWebhookConfigurations, which are called one beside the other."""

    KIND: ClassVar[str] = "ValidatingWebhookConfiguration"
    FAILED_OPEN: ClassVar[str] = "failed-open.validating.webhook.admission.k8s.io/"

    def check(self, write: Write, told: list[str]) -> None:
        """Raises Denied where one does not allow the write. *told* gets what they say of it."""
        # Which of them are called is clear before the first is.
        called = [self.called(place, raw, write) for place, raw in self.hooks()]
        for hook in filter(None, called):
            try:
                self.allowed_by(hook, write, told)
            except CallError as failure:
                self.failed(hook, failure, 0, told)

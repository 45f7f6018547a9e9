"""Applies the ValidatingAdmissionPolicies of a run to a write.

Upstream: apiserver/pkg/admission/plugin/policy/validating/{dispatcher,validator}.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Final

from engine.api_server.policies.bound import DENY, BoundPolicies
from engine.api_server.policies.evaluating import Evaluation, PolicyError
from engine.api_server.policies.writes import Write
from engine.objects.manifest_parts import items
from engine.objects.objects import ApiObject, Manifest

WARN: Final = "Warn"
# What warnings begin with.
WARNS: Final = "Validation failed for "
_INVALID: Final = "Invalid"


@dataclass(frozen=True, slots=True)
class ValidatingPolicies(BoundPolicies):
    """Those that allow a write, warn of it or deny it."""

    KIND: ClassVar[str] = "ValidatingAdmissionPolicy"
    CALLED: ClassVar[str] = KIND

    def check(self, write: Write) -> Iterator[str]:
        """What policies that are bound warn of. Raises Denied where one does not allow the write."""
        for policy, binding in self.matching(write):
            yield from self._applied(policy, binding, write)

    def _applied(self, policy: ApiObject, binding: ApiObject, write: Write) -> Iterator[str]:
        is_ignored = policy.spec.get("failurePolicy") == "Ignore"
        try:
            found = list(self.parameters(policy, binding, write))
        except PolicyError as error:
            if not is_ignored:
                why = f"failed to configure binding: {error}"
                raise self.denied(policy, binding, write, why) from None
            return
        actions: list[str] = binding.spec.get("validationActions") or []
        if DENY not in actions and WARN not in actions:
            return
        for parameters in found:
            for why, reason in self._failures(policy, write, parameters):
                if DENY in actions:
                    raise self.denied(policy, binding, write, why, reason)
                named = f"{self.CALLED} '{policy.name}' with binding '{binding.name}'"
                yield f"{WARNS}{named}: {why}"

    def _failures(
        self, policy: ApiObject, write: Write, parameters: Manifest | None
    ) -> Iterator[tuple[str, str]]:
        """What does not hold, or cannot be evaluated where that counts, with its reason."""
        is_ignored = policy.spec.get("failurePolicy") == "Ignore"
        evaluation = Evaluation(policy.spec, self.variables(write, parameters))
        try:
            if not evaluation.is_wanted():
                return
        except PolicyError as error:
            if not is_ignored:
                yield str(error), _INVALID
            return
        for rule in items(policy.spec, "validations"):
            try:
                if not evaluation.is_true(rule):
                    yield evaluation.message(rule), str(rule.get("reason") or _INVALID)
            except PolicyError as error:
                if not is_ignored:
                    yield str(error), _INVALID

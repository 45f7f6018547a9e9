"""Applies the ValidatingAdmissionPolicies of a run to a write.

Upstream: apiserver/pkg/admission/plugin/policy/validating/{dispatcher,validator}.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from engine.api_server.policies.bound import DENY, BoundPolicies
from engine.api_server.policies.evaluating import Evaluation, PolicyError
from engine.api_server.policies.writes import Write
from engine.objects.manifest_parts import items
from engine.objects.objects import ApiObject, Manifest


@dataclass(frozen=True, slots=True)
class ValidatingPolicies(BoundPolicies):
    """Those that allow a write or deny it."""

    KIND: ClassVar[str] = "ValidatingAdmissionPolicy"
    CALLED: ClassVar[str] = KIND

    def check(self, write: Write) -> None:
        """Raises Denied where a policy that is bound does not allow the write."""
        for policy, binding in self.matching(write):
            self._apply(policy, binding, write)

    def _apply(self, policy: ApiObject, binding: ApiObject, write: Write) -> None:
        is_ignored = policy.spec.get("failurePolicy") == "Ignore"
        try:
            found = list(self.parameters(policy, binding, write))
        except PolicyError as error:
            if not is_ignored:
                why = f"failed to configure binding: {error}"
                raise self.denied(policy, binding, write, why) from None
            return
        if DENY not in (binding.spec.get("validationActions") or ()):
            return
        for parameters in found:
            try:
                self._validate(policy, binding, write, parameters)
            except PolicyError as error:
                if not is_ignored:
                    raise self.denied(policy, binding, write, str(error)) from None

    def _validate(
        self, policy: ApiObject, binding: ApiObject, write: Write, parameters: Manifest | None
    ) -> None:
        """Raises Denied, and PolicyError where an expression cannot be evaluated."""
        is_ignored = policy.spec.get("failurePolicy") == "Ignore"
        evaluation = Evaluation(policy.spec, self.variables(write, parameters))
        if not evaluation.is_wanted():
            return
        for rule in items(policy.spec, "validations"):
            try:
                if evaluation.is_true(rule):
                    continue
            except PolicyError:
                if is_ignored:
                    continue
                raise
            reason = str(rule.get("reason") or "Invalid")
            raise self.denied(policy, binding, write, evaluation.message(rule), reason)

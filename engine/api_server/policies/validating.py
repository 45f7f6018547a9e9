"""Applies the ValidatingAdmissionPolicies of a run to a write.

Upstream: apiserver/pkg/admission/plugin/policy/validating/{dispatcher,validator}.go.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

from engine.api_server.policies.bound import DENY, BoundPolicies
from engine.api_server.policies.evaluating import Evaluation, PolicyError
from engine.api_server.policies.told import VALIDATION_FAILED, audited
from engine.api_server.policies.writes import Write
from engine.objects.manifest_parts import items
from engine.objects.objects import ApiObject

WARN: Final = "Warn"
AUDIT: Final = "Audit"
_INVALID: Final = "Invalid"
_FAILURE_KEY: Final = "validation.policy.admission.k8s.io/validation_failure"
# Upstream: maxAuditAnnotationValueLength, in bytes.
_LONGEST_ANNOTATION: Final = 10 * 1024


class Failure(NamedTuple):
    """A validation that does not hold, and its place among those of the policy."""

    message: str
    reason: str = _INVALID
    place: int = 0


@dataclass(frozen=True, slots=True)
class ValidatingPolicies(BoundPolicies):
    """Those that allow a write, warn of it or deny it."""

    KIND: ClassVar[str] = "ValidatingAdmissionPolicy"
    CALLED: ClassVar[str] = KIND

    def check(self, write: Write) -> Iterator[str]:
        """What policies that are bound warn of, and their audit annotations.

        Raises Denied where one does not allow the write.
        """
        annotations: dict[str, dict[str, dict[str, None]]] = {}
        for policy, binding in self.matching(write):
            of_policy = annotations.setdefault(policy.name, {})
            yield from self._applied(policy, binding, write, of_policy)
        for name, of_policy in annotations.items():
            for key, values in of_policy.items():
                yield audited(f"{name}/{key}", ", ".join(values))

    def _applied(
        self,
        policy: ApiObject,
        binding: ApiObject,
        write: Write,
        annotations: dict[str, dict[str, None]],
    ) -> Iterator[str]:
        is_ignored = policy.spec.get("failurePolicy") == "Ignore"
        try:
            found = list(self.parameters(policy, binding, write))
        except PolicyError as error:
            if not is_ignored:
                why = f"failed to configure binding: {error}"
                raise self.denied(policy, binding, write, why) from None
            return
        for parameters in found:
            evaluation = Evaluation(policy.spec, self.variables(write, parameters))
            for failure in self._failures(policy, evaluation):
                yield from self._told(policy, binding, write, failure)
            if not evaluation.is_over:
                self._annotate(policy, binding, write, evaluation, annotations)

    def _told(
        self, policy: ApiObject, binding: ApiObject, write: Write, failure: Failure
    ) -> Iterator[str]:
        """What a binding makes of a validation that does not hold."""
        actions: list[str] = binding.spec.get("validationActions") or []
        if DENY in actions:
            raise self.denied(policy, binding, write, failure.message, failure.reason)
        if WARN in actions:
            named = f"{self.CALLED} '{policy.name}' with binding '{binding.name}'"
            yield f"{VALIDATION_FAILED}{named}: {failure.message}"
        if AUDIT in actions:
            # Upstream: publishValidationFailureAnnotation().
            told = {
                "message": failure.message,
                "policy": policy.name,
                "binding": binding.name,
                "expressionIndex": failure.place,
                "validationActions": actions,
            }
            yield audited(_FAILURE_KEY, json.dumps([told], separators=(",", ":")))

    def _failures(self, policy: ApiObject, evaluation: Evaluation) -> Iterator[Failure]:
        """What does not hold, or cannot be evaluated where that counts."""
        is_ignored = policy.spec.get("failurePolicy") == "Ignore"
        try:
            if not evaluation.is_wanted():
                evaluation.is_over = True
                return
        except PolicyError as error:
            evaluation.is_over = True
            if not is_ignored:
                yield Failure(str(error))
            return
        for place, rule in enumerate(items(policy.spec, "validations")):
            try:
                if not evaluation.is_true(rule):
                    reason = str(rule.get("reason") or _INVALID)
                    yield Failure(evaluation.message(rule), reason, place)
            except PolicyError as error:
                if not is_ignored:
                    yield Failure(str(error), place=place)

    def _annotate(
        self,
        policy: ApiObject,
        binding: ApiObject,
        write: Write,
        evaluation: Evaluation,
        annotations: dict[str, dict[str, None]],
    ) -> None:
        """Add what the policy notes of the write. Raises Denied where it cannot and that counts."""
        for one in items(policy.spec, "auditAnnotations"):
            try:
                value = evaluation.annotation(str(one.get("valueExpression") or "").strip())
            except PolicyError as error:
                if policy.spec.get("failurePolicy") != "Ignore":
                    raise self.denied(policy, binding, write, str(error)) from None
                continue
            if value:
                values = annotations.setdefault(str(one.get("key")), {})
                values[value[:_LONGEST_ANNOTATION]] = None

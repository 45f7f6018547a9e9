"""Applies the MutatingAdmissionPolicies of a run to an object that is about to be stored.

Upstream: apiserver/pkg/admission/plugin/policy/mutating/{dispatcher.go,patch/smd.go,patch/json_patch.go}.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from engine.api_server.policies.bound import BoundPolicies
from engine.api_server.policies.evaluating import Evaluation, PolicyError
from engine.api_server.policies.mutations import mutated
from engine.api_server.policies.writes import Write
from engine.objects.objects import ApiObject, Manifest

_AGAIN: Final = "IfNeeded"


@dataclass(frozen=True, slots=True)
class MutatingPolicies(BoundPolicies):
    """Those that change what is written, by a configuration that is applied to it, or by a patch."""

    KIND: ClassVar[str] = "MutatingAdmissionPolicy"

    def invoked(self, write: Write, *, again: bool = False) -> Write:
        """The write as the policies leave it; *again*: as those do that may be invoked again.

        Raises Denied where one fails. Upstream: dispatcher.go, dispatchInvocations().
        """
        for policy, binding in self.matching(write):
            if again and policy.spec.get("reinvocationPolicy") != _AGAIN:
                continue
            try:
                write = self._applied(policy, binding, write)
            except PolicyError as error:
                if policy.spec.get("failurePolicy") != "Ignore":
                    raise self.denied(policy, binding, write, str(error)) from None
        return write

    def _applied(self, policy: ApiObject, binding: ApiObject, write: Write) -> Write:
        for parameters in [*self.parameters(policy, binding, write)]:

            def given(now: Write, parameters: Manifest | None = parameters) -> Manifest:
                return self.variables(now, parameters)

            if Evaluation(policy.spec, given(write)).is_wanted():
                write = mutated(policy.spec, write, given, self.custom)
        return write

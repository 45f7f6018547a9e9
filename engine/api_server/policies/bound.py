"""Policies with what binds them, and what their expressions are given.

Upstream: apiserver/pkg/admission/plugin/policy/generic/policy_dispatcher.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from engine.api_server.custom.kinds import CustomKinds
from engine.api_server.policies.evaluating import PolicyError
from engine.api_server.policies.given import labels_of_namespace, variables_of
from engine.api_server.policies.writes import Write
from engine.api_server.store.held_objects import Objects
from engine.kernel.errors import Denied
from engine.objects.custom.definition import kind_in_group
from engine.objects.manifest_parts import section
from engine.objects.objects import ApiObject, Manifest
from engine.objects.selectors import LabelSelector

DENY: Final = "Deny"


@dataclass(frozen=True, slots=True)
class BoundPolicies:
    """The policies of one kind in a store, whose parameters may be of custom kinds."""

    KIND: ClassVar[str] = ""
    # What a refusal calls such a policy.
    CALLED: ClassVar[str] = "policy"

    store: Objects
    custom: CustomKinds = field(repr=False)

    @property
    def are_there(self) -> bool:
        """Whether any policy is bound to anything."""
        return bool(self.store.objects(f"{self.KIND}Binding"))

    def matching(self, write: Write) -> Iterator[tuple[ApiObject, ApiObject]]:
        """The policies with the bindings by which they are about the write, in order of their names."""
        if write.is_exempt:
            return
        labels = labels_of_namespace(self.store, write.namespace)
        bindings = sorted(self.store.objects(f"{self.KIND}Binding"), key=lambda one: one.name)
        for policy in sorted(self.store.objects(self.KIND), key=lambda one: one.name):
            if not write.is_matched(section(policy.spec, "matchConstraints"), labels):
                continue
            for binding in bindings:
                matches = section(binding.spec, "matchResources")
                is_its = binding.spec.get("policyName") == policy.name
                if is_its and write.is_matched(matches, labels):
                    yield policy, binding

    def denied(
        self,
        policy: ApiObject,
        binding: ApiObject,
        write: Write,
        why: str,
        reason: str = "Invalid",
    ) -> Denied:
        """Upstream: Dispatch() and PolicyError.Error() of policies; admission.NewForbidden()."""
        return Denied(
            f"{write.group_resource} \"{write.name}\" is forbidden: {self.CALLED} '{policy.name}' "
            f"with binding '{binding.name}' denied request: {why}",
            reason,
        )

    def variables(self, write: Write, parameters: Manifest | None) -> dict[str, Any]:
        """What expressions are given."""
        return variables_of(self.store, write, parameters)

    # Parameters

    def parameters(
        self, policy: ApiObject, binding: ApiObject, write: Write
    ) -> Iterator[Manifest | None]:
        """What the policy is evaluated with, once for each. Raises PolicyError.

        Upstream: generic/policy_dispatcher.go, CollectParams().
        """
        kind, reference = section(policy.spec, "paramKind"), binding.spec.get("paramRef")
        if not kind or reference is None:
            yield None
            return
        found = [*self._referred(kind, reference, write)]
        if not found and reference.get("parameterNotFoundAction") == DENY:
            raise PolicyError(
                "no params found for policy binding with `Deny` parameterNotFoundAction"
            )
        for one in found:
            yield {
                "apiVersion": kind.get("apiVersion"),
                "kind": kind.get("kind"),
                **one.raw,
            }

    def _referred(
        self, kind: Mapping[str, Any], reference: Mapping[str, Any], write: Write
    ) -> Iterator[ApiObject]:
        name, group = str(kind.get("kind")), str(kind.get("apiVersion")).rpartition("/")[0]
        definition = self.custom.definition_of(group, name) if group else None
        stored = definition.stored_kind if definition is not None else name
        candidates = self.store.objects(stored)
        if not candidates and kind_in_group(name, group) != stored:
            candidates = self.store.objects(kind_in_group(name, group))
        namespace = str(reference.get("namespace") or write.namespace)
        selector: Any = reference.get("selector")
        for one in sorted(candidates, key=lambda one: one.key):
            if one.namespace and one.namespace != namespace:
                continue
            if reference.get("name"):
                if one.name == reference["name"]:
                    yield one
            elif LabelSelector.parse(selector).matches(one.labels):
                yield one

"""Applies the ValidatingAdmissionPolicies of a run to a write.

Upstream: apiserver/pkg/admission/plugin/policy/validating/{dispatcher,validator}.go,
generic/policy_dispatcher.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from engine.api_server.custom.kinds import CustomKinds
from engine.api_server.policies.evaluating import Evaluation, PolicyError
from engine.api_server.policies.writes import Write
from engine.api_server.store.store import ObjectStore
from engine.kernel.errors import Denied
from engine.objects.custom.definition import kind_in_group
from engine.objects.manifest_parts import items, section
from engine.objects.objects import ApiObject, Manifest
from engine.objects.selectors import LabelSelector

POLICY: Final = "ValidatingAdmissionPolicy"
BINDING: Final = "ValidatingAdmissionPolicyBinding"
_DENY: Final = "Deny"
_NAME_LABEL: Final = "kubernetes.io/metadata.name"
# What of a Namespace expressions see. Upstream: plugin/cel/condition.go, CreateNamespaceObject().
_METADATA: Final = (
    *("name", "generateName", "namespace", "labels", "annotations", "uid", "creationTimestamp"),
    *("deletionGracePeriodSeconds", "deletionTimestamp", "generation", "resourceVersion"),
    *("finalizers",),
)


@dataclass(frozen=True, slots=True)
class ValidatingPolicies:
    """The policies in a store, whose parameters may be of custom kinds."""

    store: ObjectStore
    custom: CustomKinds = field(repr=False)

    @property
    def are_there(self) -> bool:
        """Whether any policy is bound to anything."""
        return bool(self.store.objects(BINDING))

    def check(self, write: Write) -> None:
        """Raises Denied where a policy that is bound does not allow the write."""
        if write.is_exempt:
            return
        labels = self._labels_of(write.namespace)
        for policy in sorted(self.store.objects(POLICY), key=lambda one: one.name):
            if not write.is_matched(section(policy.spec, "matchConstraints"), labels):
                continue
            for binding in self._bindings(policy):
                if write.is_matched(section(binding.spec, "matchResources"), labels):
                    self._apply(policy, binding, write)

    def _bindings(self, policy: ApiObject) -> Iterator[ApiObject]:
        for binding in sorted(self.store.objects(BINDING), key=lambda one: one.name):
            if binding.spec.get("policyName") == policy.name:
                yield binding

    def _apply(self, policy: ApiObject, binding: ApiObject, write: Write) -> None:
        is_ignored = policy.spec.get("failurePolicy") == "Ignore"
        try:
            found = list(self._parameters(policy, binding, write))
        except PolicyError as error:
            if not is_ignored:
                why = f"failed to configure binding: {error}"
                raise _denied(policy, binding, write, why) from None
            return
        if _DENY not in (binding.spec.get("validationActions") or ()):
            return
        for parameters in found:
            try:
                self._validate(policy, binding, write, parameters)
            except PolicyError as error:
                if not is_ignored:
                    raise _denied(policy, binding, write, str(error)) from None

    def _validate(
        self, policy: ApiObject, binding: ApiObject, write: Write, parameters: Manifest | None
    ) -> None:
        """Raises Denied, and PolicyError where an expression cannot be evaluated."""
        is_ignored = policy.spec.get("failurePolicy") == "Ignore"
        evaluation = Evaluation(policy.spec, self._variables(write, parameters))
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
            raise _denied(policy, binding, write, evaluation.message(rule), reason)

    def _variables(self, write: Write, parameters: Manifest | None) -> dict[str, Any]:
        return {
            "object": write.new,
            "oldObject": write.old,
            "request": write.request(),
            "params": parameters,
            "namespaceObject": self._namespace_object(write),
        }

    def _namespace_object(self, write: Write) -> Manifest | None:
        if not write.namespace or write.is_of_namespace:
            return None
        found = self.store.find("Namespace", write.namespace)
        if found is None:
            labels = {_NAME_LABEL: write.namespace}
            return {"metadata": {"name": write.namespace, "labels": labels}}
        metadata = {name: found.metadata[name] for name in _METADATA if name in found.metadata}
        parts = {name: found.raw[name] for name in ("spec", "status") if name in found.raw}
        return {"metadata": metadata, **parts}

    def _labels_of(self, namespace: str) -> Mapping[str, str]:
        found = self.store.find("Namespace", namespace) if namespace else None
        return {_NAME_LABEL: namespace, **(found.labels if found is not None else {})}

    # Parameters

    def _parameters(
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
        if not found and reference.get("parameterNotFoundAction") == _DENY:
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


def _denied(
    policy: ApiObject, binding: ApiObject, write: Write, why: str, reason: str = "Invalid"
) -> Denied:
    """Upstream: dispatcher.go, Dispatch(), and admission.NewForbidden()."""
    group = write.api_version.rpartition("/")[0]
    resource = f"{write.resource}.{group}" if group else write.resource
    return Denied(
        f"{resource} \"{write.name}\" is forbidden: ValidatingAdmissionPolicy '{policy.name}' "
        f"with binding '{binding.name}' denied request: {why}",
        reason,
    )

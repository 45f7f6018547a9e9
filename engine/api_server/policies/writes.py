"""A write as admission policies see it, and whether they match it.

Upstream: apiserver/pkg/admission/plugin/policy/matching/matching.go,
apiserver/pkg/admission/plugin/webhook/predicates/rules/rules.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from engine.api_server.policies.users import user_of
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest
from engine.objects.openapi.names import OLDER, kept_version
from engine.objects.selectors import LabelSelector

# Policies do not look at themselves. Upstream: generic/policy_dispatcher.go, isPolicyResource().
_GROUP: Final = "admissionregistration.k8s.io"


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """What is created, updated or deleted: *new* and *old* with the defaults of a server.

    *resource* is the plural of the kind; *versions* are those in which it is served as well.
    """

    resource: str
    subresource: str = ""
    new: Manifest | None
    old: Manifest | None
    versions: tuple[str, ...] = ()
    by: str = ""
    """The component that writes; "" for a client."""
    is_trial: bool = False
    """Whether it is only tried (`dryRun`)."""
    connects_to: tuple[str, str] | None = None
    """The namespace and name of what a client connects to, with *new* as its options."""

    @property
    def operation(self) -> str:
        """As rules name it."""
        if self.connects_to is not None:
            return "CONNECT"
        if self.old is None:
            return "CREATE"
        return "UPDATE" if self.new is not None else "DELETE"

    @property
    def manifest(self) -> Manifest:
        """The object as it would be stored, or the one that goes."""
        found = self.new if self.new is not None else self.old
        assert found is not None
        return found

    @property
    def api_version(self) -> str:
        """As in manifests."""
        return str(self.manifest.get("apiVersion") or "v1")

    @property
    def group_resource(self) -> str:
        """As refusals name it: "pods", or "deployments.apps"."""
        group = self.api_version.rpartition("/")[0]
        return f"{self.resource}.{group}" if group else self.resource

    @property
    def name(self) -> str:
        """Of the object."""
        if self.connects_to is not None:
            return self.connects_to[1]
        return str(section(self.manifest, "metadata").get("name") or "")

    @property
    def namespace(self) -> str:
        """Of the object; "" for one of the whole cluster."""
        if self.connects_to is not None:
            return self.connects_to[0]
        return str(section(self.manifest, "metadata").get("namespace") or "")

    @property
    def is_of_namespace(self) -> bool:
        """Whether the object is a Namespace, whose own labels count as those of its namespace."""
        return self.manifest.get("kind") == "Namespace" and self.api_version == "v1"

    @property
    def is_exempt(self) -> bool:
        """Whether no policy looks at it."""
        return self.api_version.partition("/")[0] == _GROUP

    def request(self) -> Manifest:
        """The variable `request`. Upstream: plugin/cel/condition.go, CreateAdmissionRequest()."""
        group, _, version = self.api_version.rpartition("/")
        kind = {"group": group, "version": version, "kind": str(self.manifest.get("kind"))}
        resource = {"group": group, "version": version, "resource": self.resource}
        return {
            "kind": kind,
            "resource": resource,
            "subResource": self.subresource,
            "requestKind": kind,
            "requestResource": resource,
            "requestSubResource": self.subresource,
            "name": self.name,
            "namespace": self.namespace,
            "operation": self.operation,
            "userInfo": dict(user_of(self.by, self._node)),
            "dryRun": self.is_trial,
            "options": {},
        }

    @property
    def _node(self) -> str:
        """The node whose kubelet may write this."""
        is_node = self.manifest.get("kind") == "Node"
        return self.name if is_node else str(section(self.manifest, "spec").get("nodeName") or "")

    def is_matched(self, match: Mapping[str, Any], labels_of_namespace: Mapping[str, str]) -> bool:
        """Whether the matchConstraints or matchResources *match* are about it.

        A binding without rules of resources is about whatever its policy is about.
        """
        if not self._is_selected(match, labels_of_namespace):
            return False
        places = self._places(str(match.get("matchPolicy") or "Equivalent"))
        if any(self._is_named(rule, places) for rule in items(match, "excludeResourceRules")):
            return False
        rules = items(match, "resourceRules")
        return not rules or any(self._is_named(rule, places) for rule in rules)

    def _is_selected(
        self, match: Mapping[str, Any], labels_of_namespace: Mapping[str, str]
    ) -> bool:
        wanted: Any = match.get("namespaceSelector")
        if wanted and (self.namespace or self.is_of_namespace):
            own = section(self.manifest, "metadata", "labels")
            labels = own if self.is_of_namespace else labels_of_namespace
            if not LabelSelector.parse(wanted).matches(labels):
                return False
        wanted = match.get("objectSelector")
        if not wanted:
            return True
        selector = LabelSelector.parse(wanted)
        return any(
            selector.matches(section(one, "metadata", "labels"))
            for one in (self.new, self.old)
            if one is not None
        )

    def _places(self, policy: str) -> list[tuple[str, str]]:
        """The groups and versions under which rules may name it."""
        kept = kept_version(self.api_version)
        known = [self.api_version]
        if policy == "Equivalent":
            older = [old for old, new in OLDER.items() if new == kept]
            known += [kept, *older, *self.versions]
        parted = (one.rpartition("/") for one in dict.fromkeys(known))
        return [(group, version) for group, _, version in parted]

    def _is_named(self, rule: Mapping[str, Any], places: list[tuple[str, str]]) -> bool:
        names: list[str] = list(rule.get("resourceNames") or ())
        if names and self.name not in names:
            return False
        scope = rule.get("scope") or "*"
        is_in_namespace = bool(self.namespace) and not self.is_of_namespace
        if scope != "*" and (scope == "Namespaced") is not is_in_namespace:
            return False
        groups, versions = (list(rule.get(name) or ()) for name in ("apiGroups", "apiVersions"))
        return (
            _has(rule.get("operations"), self.operation)
            and any(_has(groups, group) and _has(versions, version) for group, version in places)
            and any(self._is_resource(str(one)) for one in rule.get("resources") or ())
        )

    def _is_resource(self, named: str) -> bool:
        resource, _, subresource = named.partition("/")
        is_part = subresource == self.subresource or subresource == "*"
        return resource in ("*", self.resource) and is_part


def _has(known: Any, wanted: str) -> bool:
    return any(one in ("*", wanted) for one in known or ())

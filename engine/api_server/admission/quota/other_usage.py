"""What claims, Services and other objects take of a quota.

Upstream: pkg/quota/v1/evaluator/core/persistent_volume_claims.go, services.go;
apiserver pkg/quota/v1/generic/evaluator.go.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Final

from engine.api_server.admission.quota.amounts import ONE, Amounts, count
from engine.api_server.admission.quota.scopes import claim_in_scope
from engine.api_server.admission.rules import AdmissionRules
from engine.objects.objects import ApiObject, Manifest, PersistentVolumeClaim
from engine.objects.values.quantity import NANO, Quantity, parse

_OF_CLASS: Final = ".storageclass.storage.k8s.io/"
_CLAIMS: Final = "persistentvolumeclaims"
_STORAGE: Final = "requests.storage"
_NODE_PORTS: Final = "services.nodeports"
_LOAD_BALANCERS: Final = "services.loadbalancers"
_OF_SERVICES: Final = ("services", "count/services", _NODE_PORTS, _LOAD_BALANCERS)


class ClaimUsage:
    """Counts claims and the storage that they request, in all and for each storage class."""

    def __init__(self, rules: AdmissionRules) -> None:
        self._rules = rules

    def matching(self, names: Iterable[str]) -> list[str]:
        """The resources in *names* that claims use, sorted."""
        known = (f"count/{_CLAIMS}", _CLAIMS, _STORAGE)
        by_class = (_OF_CLASS + _CLAIMS, _OF_CLASS + _STORAGE)
        return sorted(name for name in names if name in known or name.endswith(by_class))

    def is_in_scope(self, obj: ApiObject, scope: Manifest) -> bool:
        """Whether the claim meets this requirement of a quota."""
        return claim_in_scope(obj, scope, self._rules)

    def missing(self, names: Iterable[str], obj: ApiObject) -> str:
        """A claim has nothing to specify for a quota."""
        return ""

    def usage(self, obj: ApiObject, clock: int) -> Amounts:
        """What the claim takes."""
        assert isinstance(obj, PersistentVolumeClaim)
        taken: Amounts = {_CLAIMS: ONE, f"count/{_CLAIMS}": ONE}
        storage = self._storage(obj)
        if storage is not None:
            taken[_STORAGE] = storage
        if obj.storage_class_name:
            taken[obj.storage_class_name + _OF_CLASS + _CLAIMS] = ONE
            if storage is not None:
                taken[obj.storage_class_name + _OF_CLASS + _STORAGE] = storage
        return taken

    def likeness(self, obj: ApiObject, clock: int) -> Hashable:
        """Each claim is looked at by itself."""
        return obj.key

    def is_charged_again(self, old: ApiObject, new: ApiObject) -> bool:
        """Every update of a claim is compared with the quota: it may ask for more storage."""
        return True

    def frees(self, old: ApiObject, new: ApiObject, clock: int) -> bool:
        """Whether an update frees some of the quota. Upstream: RequiresQuotaReplenish()."""
        before, after = _allocated(old), _allocated(new)
        return self._rules.allocated_storage and before != after

    def _storage(self, claim: ApiObject) -> Quantity | None:
        """What the claim requests, or what was allocated for it if that is more."""
        resources: Manifest = claim.spec.get("resources") or {}
        requests: Mapping[str, Any] = resources.get("requests") or {}
        if "storage" not in requests:
            return None
        wanted = _whole(parse(requests["storage"]))
        allocated = _allocated(claim) if self._rules.allocated_storage else None
        return wanted if allocated is None else max(wanted, _whole(parse(allocated)))


def _allocated(claim: ApiObject) -> Any:
    amounts: Mapping[str, Any] = claim.status.get("allocatedResources") or {}
    return amounts.get("storage")


def _whole(amount: Quantity) -> Quantity:
    """Storage counts in whole bytes, rounded up."""
    return Quantity(amount.value * NANO, amount.format)


class ServiceUsage:
    """Counts Services, their node ports and their load balancers."""

    def __init__(self, rules: AdmissionRules) -> None:
        self._rules = rules

    def matching(self, names: Iterable[str]) -> list[str]:
        """The resources in *names* that Services use, sorted."""
        return sorted(name for name in names if name in _OF_SERVICES)

    def is_in_scope(self, obj: ApiObject, scope: Manifest) -> bool:
        """A quota with a scope does not count Services."""
        return False

    def missing(self, names: Iterable[str], obj: ApiObject) -> str:
        """A Service has nothing to specify for a quota."""
        return ""

    def usage(self, obj: ApiObject, clock: int) -> Amounts:
        """What the Service takes."""
        ports: list[Manifest] = obj.spec.get("ports") or []
        node_ports = load_balancers = 0
        if obj.spec.get("type") == "NodePort":
            node_ports = len(ports)
        elif obj.spec.get("type") == "LoadBalancer":
            load_balancers, node_ports = 1, len(ports)
            allocates = obj.spec.get("allocateLoadBalancerNodePorts") is not False
            if self._rules.spares_node_ports and not allocates:
                node_ports = sum(bool(port.get("nodePort")) for port in ports)
        return {
            "services": ONE,
            "count/services": ONE,
            _NODE_PORTS: count(node_ports),
            _LOAD_BALANCERS: count(load_balancers),
        }

    def likeness(self, obj: ApiObject, clock: int) -> Hashable:
        """Each Service is looked at by itself."""
        return obj.key

    def is_charged_again(self, old: ApiObject, new: ApiObject) -> bool:
        """Every update of a Service is compared with the quota: its type may change."""
        return True

    def frees(self, old: ApiObject, new: ApiObject, clock: int) -> bool:
        """Whether an update frees some of the quota. Upstream: GetQuotaServiceType()."""
        return _type_that_counts(old) != _type_that_counts(new)


def _type_that_counts(service: ApiObject) -> str:
    kind: str = service.spec.get("type") or ""
    return kind if kind in ("NodePort", "LoadBalancer") else ""


class CountUsage:
    """Counts the objects of one kind, under the names by which quotas know it."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        # What each object takes.
        self.each: Amounts = dict.fromkeys(names, ONE)

    def matching(self, names: Iterable[str]) -> list[str]:
        """The resources in *names* that count this kind, sorted."""
        return sorted(name for name in names if name in self._names)

    def is_in_scope(self, obj: ApiObject, scope: Manifest) -> bool:
        """A quota with a scope does not count objects of this kind."""
        return False

    def missing(self, names: Iterable[str], obj: ApiObject) -> str:
        """Such an object has nothing to specify for a quota."""
        return ""

    def usage(self, obj: ApiObject, clock: int) -> Amounts:
        """One object."""
        return self.each

    def likeness(self, obj: ApiObject, clock: int) -> Hashable:
        """All of them count the same."""
        return self._names

    def is_charged_again(self, old: ApiObject, new: ApiObject) -> bool:
        """An update makes no new object."""
        return False

    def frees(self, old: ApiObject, new: ApiObject, clock: int) -> bool:
        """An update frees nothing."""
        return False


# What controllers make in each namespace: it is shown when it is asked for, and stored only where a
# client has written it. Upstream: serviceaccounts_controller.go, rootcacertpublisher/publisher.go.
ALWAYS_THERE: Final[Mapping[str, str]] = {
    "ConfigMap": "kube-root-ca.crt",
    "ServiceAccount": "default",
}
# Kinds of which a quota counts only the number of objects, with the resource names for that. In
# older versions the group `extensions` held some of them.
COUNTED: Final[Mapping[str, tuple[str, ...]]] = {
    "ReplicationController": ("count/replicationcontrollers", "replicationcontrollers"),
    "ResourceQuota": ("count/resourcequotas", "resourcequotas"),
    "LimitRange": ("count/limitranges",),
    "ReplicaSet": ("count/replicasets.apps", "count/replicasets.extensions"),
    "Deployment": ("count/deployments.apps", "count/deployments.extensions"),
    "DaemonSet": ("count/daemonsets.apps", "count/daemonsets.extensions"),
    "StatefulSet": ("count/statefulsets.apps",),
    "ControllerRevision": ("count/controllerrevisions.apps",),
    "Job": ("count/jobs.batch",),
    "CronJob": ("count/cronjobs.batch",),
    "HorizontalPodAutoscaler": ("count/horizontalpodautoscalers.autoscaling",),
    "PodDisruptionBudget": ("count/poddisruptionbudgets.policy",),
    "CSIStorageCapacity": ("count/csistoragecapacities.storage.k8s.io",),
    "ConfigMap": ("configmaps", "count/configmaps"),
    "Secret": ("secrets", "count/secrets"),
    "ServiceAccount": ("count/serviceaccounts",),
}
# Kinds of which a run does not hold those of its files: what they take is in a quota's first status.
PARTLY_HELD: Final = ("ConfigMap", "Secret", "ServiceAccount")

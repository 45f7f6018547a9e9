"""What kscope does not model, in words for users: kinds of objects, and needs of pods.

A kind that scheduling and storage do not depend on is left out without consequences, and so is one
that is read as evidence: it decides something, and does not change while a run goes on. Any other
kind that is left out makes the simulation differ from the real cluster, and its note says how.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Final

from engine.kernel.sentences import Sentence, grouped, phrase, say
from engine.objects.objects import Pod

Manifest = dict[str, Any]

# The kind and the component of the events in which kscope says so.
NOT_MODELLED_FACT: Final = "NotModelled"
KSCOPE: Final = "kscope"

# Scheduling and storage do not depend on these.
_NEUTRAL: Final = frozenset(
    ("APIService", "CertificateSigningRequest", "ClusterRole", "ClusterRoleBinding")
    + ("ComponentStatus", "CustomResourceDefinition", "EndpointSlice", "Endpoints")
    + ("FlowSchema", "IPAddress", "Ingress", "IngressClass", "NetworkPolicy")
    + ("NodeMetrics", "PodMetrics", "PriorityLevelConfiguration", "Role", "RoleBinding")
    + ("ServiceCIDR",)
)
_NEUTRAL_NOTE: Final = say("scheduling and storage do not depend on it")

_NAMES: Final = say(
    "only its name is kept; where the files have any, a pod that needs another one does not start"
)
_RESTORED: Final = say("a claim is restored from it only if it is ready to use")
# What is read of the kinds that are evidence: see observed.Evidence and outside.Outside.
EVIDENCE: Final[dict[str, Sentence]] = {
    "ConfigMap": _NAMES,
    "Event": say("it tells what was observed of its object"),
    "Lease": say("a node whose Lease is over has no kubelet"),
    "Secret": _NAMES,
    "ServiceAccount": _NAMES,
    "VolumeSnapshot": _RESTORED,
    "VolumeSnapshotContent": _RESTORED,
}

_CLAIMED_DEVICES: Final = say(
    "devices are allocated since v1.35; under older versions pods that ask for them stay pending"
)
_GANG: Final = say("gangs are not scheduled together, so pods that belong to one stay pending")
_BEHIND_GATES: Final = say(
    "pods are scheduled in groups behind the feature gates GenericWorkload and GangScheduling of "
    "v1.36; without them each pod is scheduled on its own"
)
_WEBHOOKS: Final = say(
    "nothing is refused or changed by it when objects are created or updated; what it did refuse is "
    "read from Events and conditions"
)
_AUTOSCALED: Final = say("no node is added or removed by it")
_POOLS: Final = say("no node is added or removed by it; what it allows is read as evidence")

# What the simulation does not do because the kind is left out.
_NOTES: Final[dict[str, Sentence]] = {
    "ControllerRevision": say("StatefulSets and DaemonSets begin with a revision of their own"),
    "DeviceClass": _CLAIMED_DEVICES,
    "DeviceTaintRule": say(
        "it is applied behind the feature gate DRADeviceTaintRules of v1.35 and v1.36, which is off by "
        "default; without it no device gets its taint, and no pod is evicted by it"
    ),
    "MutatingAdmissionPolicy": _WEBHOOKS,
    "MutatingWebhookConfiguration": _WEBHOOKS,
    "MachineDeployment": _POOLS,
    "NodeClaim": _POOLS,
    "NodePool": _POOLS,
    "PodGroup": _GANG,
    "PodSecurityPolicy": _WEBHOOKS,
    "PodTemplate": say("no pod is made from it"),
    "ProvisioningRequest": _AUTOSCALED,
    "ResourceClaim": _CLAIMED_DEVICES,
    "ResourceClaimTemplate": _CLAIMED_DEVICES,
    "ResourceSlice": _CLAIMED_DEVICES,
    "ValidatingAdmissionPolicy": _WEBHOOKS,
    "ValidatingAdmissionPolicyBinding": _WEBHOOKS,
    "ValidatingWebhookConfiguration": _WEBHOOKS,
    "VerticalPodAutoscaler": say("requests stay as the pod says"),
    "VolumeAttributesClass": (
        say(
            "volumes are changed to it since v1.34; under older versions it is not applied to volumes"
        )
    ),
    "VolumeSnapshotClass": say("no snapshot is made or deleted by it"),
    "Workload": _GANG,
}
_UNKNOWN_NOTE: Final = say(
    "kscope does not know this kind; what its controller does is not simulated, and its finalizers "
    "and conditions are read as evidence"
)


_READ: Final = phrase("{count} {kind} read as evidence: {note}")
_IGNORED: Final = phrase("{count} {kind} ignored: {note}")
_NOT_MODELLED: Final = phrase("{count} {kind} not modelled: {note}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Objects of one kind that a run does without; *is_neutral* says that nothing depends on them."""

    kind: str
    group: str
    count: int
    note: Sentence
    is_neutral: bool

    @property
    def name(self) -> str:
        """The kind, with its API group where it is a custom one."""
        return f"{self.kind} ({self.group})" if "." in self.group else self.kind

    @property
    def is_evidence(self) -> bool:
        """Whether a run and its answers heed the objects, although it does not hold them."""
        return self.is_neutral and self.kind in EVIDENCE

    def __str__(self) -> str:
        pattern = _IGNORED if self.is_neutral else _NOT_MODELLED
        pattern = _READ if self.is_evidence else pattern
        return pattern.say(count=grouped(self.count), kind=self.name, note=self.note)

    def to_dict(self) -> Manifest:
        """The JSON form."""
        return asdict(self)


# What only the newest version acts on.
SINCE_1_36: Final = frozenset(
    ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice")
)


# What only v1.34 and later versions act on.
SINCE_1_34: Final = frozenset(("VolumeAttributesClass",))
# Kinds that have an effect only where the feature gate GenericWorkload is on.
OF_GROUPS: Final = frozenset(("PodGroup", "Workload"))
# Kinds that have an effect only where the feature gate DRADeviceTaintRules is on.
OF_TAINT_RULES: Final = frozenset(("DeviceTaintRule",))
# The kinds on which some versions act, or gates, and others do not.
OPTIONAL: Final = SINCE_1_34 | SINCE_1_36 | OF_GROUPS | OF_TAINT_RULES
_GROUPS_API: Final = "scheduling.k8s.io"


def left_out(manifests: Iterable[Manifest]) -> list[LeftOut]:
    """What a run without these objects does not do, by kind and group; what matters goes first."""
    counts: dict[tuple[str, str], int] = {}
    for manifest in manifests:
        version = str(manifest.get("apiVersion") or "")
        key = str(manifest["kind"]), version.rpartition("/")[0]
        counts[key] = counts.get(key, 0) + 1
    found = [_left_out(kind, group, count) for (kind, group), count in counts.items()]
    return sorted(found, key=_order)


def _left_out(kind: str, group: str, count: int) -> LeftOut:
    is_evidence = kind in EVIDENCE
    is_neutral = is_evidence or kind in _NEUTRAL
    note = _NEUTRAL_NOTE if is_neutral else _NOTES.get(kind, _UNKNOWN_NOTE)
    note = EVIDENCE[kind] if is_evidence else note
    if kind in OF_GROUPS and group == _GROUPS_API:
        note = _BEHIND_GATES
    return LeftOut(kind=kind, group=group, count=count, note=note, is_neutral=is_neutral)


def _order(one: LeftOut) -> tuple[bool, str, str]:
    return one.is_neutral, one.kind, one.group


# The label of a pod that belongs to a PodGroup, of today's and of older versions of coscheduling.
_GROUP_LABELS: Final = ("scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io")


def unmodelled_need(pod: Pod, *, allocates_devices: bool = False) -> str:
    """Why kscope does not schedule the pod although a real cluster might; "" where it does.

    With *allocates_devices* resource claims are no reason.
    """
    devices = "" if allocates_devices else unmodelled_devices(pod)
    if devices:
        return devices
    workload: Any = pod.spec.get("workloadRef")
    if workload:
        named = workload.get("name") if isinstance(workload, dict) else None  # pyright: ignore
        return _gang_need(f"Workload {named}" if named else "a Workload")
    for label in _GROUP_LABELS:
        group = pod.labels.get(label)
        if group:
            return _gang_need(f"PodGroup {group}")
    return ""


def unmodelled_devices(pod: Pod) -> str:
    """Why kscope does not run the pod, which asks for devices; "" where it asks for none."""
    claims: Any = pod.spec.get("resourceClaims")
    if not claims:
        return ""
    names = [str(each.get("name")) for each in claims if isinstance(each, dict)]  # pyright: ignore
    several = "s" if len(names) > 1 else ""
    return (
        "kscope does not model dynamic resource allocation: the pod stays pending, because it asks "
        f"for the resource claim{several} {', '.join(names)}"
    )


def _gang_need(gang: str) -> str:
    return (
        "kscope does not model gang scheduling: the pod stays pending, because it belongs to "
        f"{gang}"
    )

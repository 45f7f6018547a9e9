"""Signatures of pods: the same one means the same verdicts and scores on the same nodes.

A profile whose plugins depend on more than the pod signs no pods.

Upstream: framework/runtime/framework.go computeBatchablePlugins(), SignPod(); SignPod() of each
plugin; k8s.io/kube-scheduler/framework/signers.go (v1.35).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import orjson

from engine.framework import names
from engine.framework.handle import Handle
from engine.framework.pods.pod_info import PodInfo
from engine.objects.manifest_parts import items, section
from engine.plugins.dynamic_resources.allocation.extended import ListedClasses
from engine.plugins.image_locality.plugin import normalized_image_name
from engine.plugins.node_declared_features.plugin import required_features
from engine.plugins.pod_topology_spread.constraints import has_defaults
from engine.scheduler.configuration.profiles import Profile

Manifest = Mapping[str, Any]
_Part = Callable[[PodInfo], Any]


class PodSigner:
    """Signs pods for one profile; *has_extenders* keeps it from signing any."""

    def __init__(self, profile: Profile, handle: Handle, *, has_extenders: bool) -> None:
        asked = _asked(profile)
        self._asked = frozenset(asked)
        self._classes = ListedClasses(handle.listers)
        counts_resources = not self._asked.isdisjoint(_RESOURCE_PLUGINS)
        fit = profile.kubernetes.plugins.arguments.get(names.NODE_RESOURCES_FIT) or {}
        # Whether devices may provide what pods request. Upstream: enableDRAExtendedResource.
        self._provides_extended = counts_resources and bool(fit.get("delegates_to_devices"))
        spread = profile.arguments.get(names.POD_TOPOLOGY_SPREAD) or {}
        self.is_enabled = (
            profile.rules.batches_pods
            and not has_extenders
            and all(name in _PARTS for name in asked)
            and not (names.POD_TOPOLOGY_SPREAD in self._asked and has_defaults(spread))
            and (profile.rules.signs_extended_resources or not self._provides_extended)
        )
        parts = dict.fromkeys(part for name in asked for part in _PARTS.get(name, ()))
        affinity = profile.arguments.get(names.INTER_POD_AFFINITY) or {}
        if affinity.get("ignorePreferredTermsOfExistingPods"):
            # Only pods with terms of their own depend on labels then, and those have no signature.
            parts.pop(_labels, None)
        self._parts = tuple(parts)

    def sign(self, pod: PodInfo) -> bytes | None:
        """The signature of *pod*; None if it has none."""
        if not self.is_enabled or self._depends_on_others(pod):
            return None
        return orjson.dumps([part(pod) for part in self._parts], option=orjson.OPT_SORT_KEYS)

    def _depends_on_others(self, pod: PodInfo) -> bool:
        """Whether a plugin reads more for *pod* than its nodes, so that it does not sign it."""
        spec, asked = pod.pod.spec, self._asked
        affinity: Manifest = spec.get("affinity") or {}
        if names.INTER_POD_AFFINITY in asked and any(
            affinity.get(kind) is not None for kind in ("podAffinity", "podAntiAffinity")
        ):
            return True
        if names.POD_TOPOLOGY_SPREAD in asked and spec.get("topologySpreadConstraints"):
            return True
        if names.DYNAMIC_RESOURCES in asked and spec.get("resourceClaims"):
            return True
        scalars = pod.resources.fit.scalars if self._provides_extended else ()
        return any(amount and name in self._classes.by_resource for name, amount in scalars)


def _asked(profile: Profile) -> tuple[str, ...]:
    """The plugins at PreFilter, Filter, PreScore and Score, each once."""
    scored = (name for name, _ in profile.scores)
    # A plugin that is disabled at one of these points takes part at another.
    partly = sorted(name for name, _ in profile.left_out)
    return tuple(dict.fromkeys((*profile.filters, *scored, *profile.pre_scores, *partly)))


def _containers(pod: PodInfo) -> Iterator[Manifest]:
    spec = pod.pod.spec
    yield from spec.get("containers") or ()
    yield from spec.get("initContainers") or ()


def _images(pod: PodInfo) -> list[str]:
    return sorted({normalized_image_name(one.get("image") or "") for one in _containers(pod)})


def _labels(pod: PodInfo) -> Any:
    return pod.pod.labels or None


def _node_name(pod: PodInfo) -> str:
    return pod.pod.node_name


def _node_selector(pod: PodInfo) -> Any:
    return pod.pod.spec.get("nodeSelector") or None


def _node_affinity(pod: PodInfo) -> Any:
    """Terms and requirements in any order. Upstream: NodeAffinitySigner()."""
    affinity = section(section(pod.pod.spec, "affinity"), "nodeAffinity")
    required = section(affinity, "requiredDuringSchedulingIgnoredDuringExecution")
    preferred = items(affinity, "preferredDuringSchedulingIgnoredDuringExecution")
    return [
        _sorted(_term(term) for term in items(required, "nodeSelectorTerms")),
        _sorted([one.get("weight"), _term(section(one, "preference"))] for one in preferred),
    ]


def _term(term: Manifest) -> list[list[str]]:
    return [
        _sorted({**one, "values": sorted(one.get("values") or ())} for one in term.get(kind) or ())
        for kind in ("matchExpressions", "matchFields")
    ]


def _sorted(parts: Iterator[Any]) -> list[str]:
    return sorted(orjson.dumps(part, option=orjson.OPT_SORT_KEYS).decode() for part in parts)


def _host_ports(pod: PodInfo) -> list[int]:
    """Without protocols and addresses. Upstream: HostPortsSigner()."""
    ports = (port for one in _containers(pod) for port in one.get("ports") or ())
    return sorted({port["hostPort"] for port in ports if port.get("hostPort")})


def _resources(pod: PodInfo) -> dict[str, str]:
    # As texts, for a sum may be beyond the integers of JSON.
    return {name: str(amount) for name, amount in pod.resources.fit.amounts().items()}


def _tolerations(pod: PodInfo) -> list[Manifest]:
    return sorted(pod.pod.spec.get("tolerations") or (), key=_key_and_value)


def _key_and_value(toleration: Manifest) -> tuple[str, str]:
    return toleration.get("key") or "", toleration.get("value") or ""


def _volumes(pod: PodInfo) -> list[str]:
    """Without config maps and secrets, which do not matter here. Upstream: VolumesSigner()."""
    sources = (
        {key: value for key, value in volume.items() if key != "name"}
        for volume in pod.pod.spec.get("volumes") or ()
        if volume.get("configMap") is None and volume.get("secret") is None
    )
    return _sorted(sources)


def _features(pod: PodInfo) -> list[str]:
    return sorted(required_features(pod.pod))


_RESOURCE_PLUGINS: Final = (names.NODE_RESOURCES_FIT, names.NODE_RESOURCES_BALANCED_ALLOCATION)
# What each plugin signs. A plugin that is not here has no SignPod.
_PARTS: Final[Mapping[str, tuple[_Part, ...]]] = {
    names.NODE_UNSCHEDULABLE: (_tolerations,),
    names.NODE_NAME: (_node_name,),
    names.TAINT_TOLERATION: (_tolerations,),
    names.NODE_AFFINITY: (_node_affinity, _node_selector),
    names.NODE_PORTS: (_host_ports,),
    names.NODE_RESOURCES_FIT: (_resources,),
    names.NODE_RESOURCES_BALANCED_ALLOCATION: (_resources,),
    names.VOLUME_RESTRICTIONS: (_volumes,),
    names.NODE_VOLUME_LIMITS: (_volumes,),
    names.VOLUME_BINDING: (_volumes,),
    names.VOLUME_ZONE: (_volumes,),
    names.POD_TOPOLOGY_SPREAD: (),
    names.INTER_POD_AFFINITY: (_labels,),
    names.DYNAMIC_RESOURCES: (),
    names.IMAGE_LOCALITY: (_images,),
    names.NODE_DECLARED_FEATURES: (_features,),
}

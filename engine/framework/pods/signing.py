"""The protocol of a plugin that signs pods, and parts of a pod that several plugins sign.

Upstream: k8s.io/kube-scheduler/framework/interface.go SignPlugin, signers.go (v1.35).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import orjson

from engine.framework.asked_once import AskedOnce
from engine.framework.pods.pod_info import PodInfo
from engine.objects.objects import Manifest


class SignFragment(NamedTuple):
    """A part of a pod that a plugin reads: plain values, the same for the same meaning.

    Of several fragments with one key only one becomes part of the signature.
    """

    key: str
    value: Any


# What a plugin signs; None where it reads more for the pod than the pod and its nodes.
Signed = Sequence[SignFragment] | None


@runtime_checkable
class SignPlugin(Protocol, metaclass=AskedOnce):
    """A plugin that says what its verdicts and scores depend on.

    With a plugin at PreFilter, Filter, PreScore or Score that does not, no pod of the profile has a
    signature.
    """

    name: ClassVar[str]

    def sign_pod(self, pod: PodInfo) -> Signed:
        """All that the plugin reads of *pod*; None if *pod* cannot have a signature."""
        ...


def sign_tolerations(pod: PodInfo) -> Signed:
    """Upstream: TolerationsSigner()."""
    tolerations = sorted(pod.pod.spec.get("tolerations") or (), key=_key_and_value)
    return (SignFragment("tolerations", tolerations),)


def _key_and_value(toleration: Manifest) -> tuple[str, str]:
    return toleration.get("key") or "", toleration.get("value") or ""


def sign_volumes(pod: PodInfo) -> Signed:
    """Without config maps and secrets, which do not matter here. Upstream: VolumesSigner()."""
    sources = (
        {key: value for key, value in volume.items() if key != "name"}
        for volume in pod.pod.spec.get("volumes") or ()
        if volume.get("configMap") is None and volume.get("secret") is None
    )
    return (SignFragment("volumes", in_any_order(sources)),)


def containers_of(pod: PodInfo) -> Iterator[Mapping[str, Any]]:
    """Its containers, then its init containers."""
    spec = pod.pod.spec
    yield from spec.get("containers") or ()
    yield from spec.get("initContainers") or ()


def in_any_order(parts: Iterable[Any]) -> list[str]:
    """*parts*, as a list whose order does not depend on theirs."""
    return sorted(orjson.dumps(part, option=orjson.OPT_SORT_KEYS).decode() for part in parts)

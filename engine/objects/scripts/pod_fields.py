"""What a pod tells its containers of itself, as text.

Upstream: pkg/fieldpath/fieldpath.go, ExtractFieldPathAsString(); pkg/api/v1/resource/helpers.go,
ExtractContainerResourceValue(); pkg/kubelet/kubelet_pods.go, podFieldSelectorRuntimeValue().
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest, Pod
from engine.objects.values import quantity

_CPU: Final = "cpu"
_SUBSCRIPT: Final = re.compile(r"([^\[\]]+)\['(.*)'\]")
# Of limits that a container does not have, those that its node allows for. Upstream:
# MergeContainerResourceLimits().
_OF_NODE: Final = (_CPU, "memory", "ephemeral-storage")


def field_text(pod: Pod, path: str) -> str:
    """The text of the field at *path*; "" for one that the pod does not have."""
    if found := _SUBSCRIPT.fullmatch(path):
        return str(section(pod.raw, *found[1].split(".")).get(found[2]) or "")
    match path:
        case "metadata.annotations" | "metadata.labels":
            return _map_text(section(pod.raw, *path.split(".")))
        case "spec.serviceAccountName":
            return str(pod.spec.get("serviceAccountName") or "default")
        case "status.hostIPs" | "status.podIPs":
            found = items(pod.status, path.partition(".")[2])
            return ",".join(str(one.get("ip") or "") for one in found)
        case _:
            part, _, name = path.partition(".")
            return str(section(pod.raw, part).get(name) or "")


def _map_text(texts: Mapping[str, Any]) -> str:
    """Upstream: FormatMap()."""
    quoted = (json.dumps(str(texts[key]), ensure_ascii=False) for key in sorted(texts))
    return "\n".join(f"{key}={text}" for key, text in zip(sorted(texts), quoted, strict=True))


def resource_text(
    container: Manifest, amounts: str, resource: str, allocatable: Mapping[str, Any], divisor: Any
) -> str:
    """An amount of "limits" or "requests" of a container, in units of *divisor*, rounded up.

    For a limit that it does not have counts what is *allocatable* on its node.
    """
    given = section(container, "resources", amounts).get(resource)
    if not given and amounts == "limits" and resource in _OF_NODE:
        given = allocatable.get(resource)
    measure = quantity.milli_value if resource == _CPU else quantity.value
    unit = measure(divisor or 1) or measure(1)
    return str(-(-measure(given or 0) // unit))

"""Reading and writing parts of manifests, as facts and changes do everywhere."""

from __future__ import annotations

from typing import Any, Final

import orjson

from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest, Pod
from engine.objects.pods.tolerations import Taint

# Taints that the node controller puts on by itself: they show a condition, and go with it.
CONDITION: Final = "node.kubernetes.io/"
CORDON_TAINT: Final = f"{CONDITION}unschedulable"
HOSTNAME: Final = "kubernetes.io/hostname"
REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def taint_of(raw: Manifest) -> Taint:
    """A taint as plugins read it."""
    return Taint.parse(raw)


def taint_text(taint: Taint) -> str:
    """A taint as kubectl writes it."""
    key = f"{taint.key}={taint.value}" if taint.value else taint.key
    return f"{key}:{taint.effect}"


def deep_copy(manifest: Any) -> Any:
    """A manifest that can be changed in place."""
    return orjson.loads(orjson.dumps(manifest))


def node_terms(pod: Pod) -> list[Manifest]:
    """The terms of the pod's required node affinity."""
    return items(section(pod.spec, "affinity", "nodeAffinity", REQUIRED), "nodeSelectorTerms")

"""What the API server has where a fact of a diagnosis says that it looked."""

import re
from typing import Any

from engine.cluster.cluster import Cluster
from engine.diagnosis.report import Fact

# "spec.taints[0].key", "metadata.labels[kubernetes.io/os]"
_STEP = re.compile(r"\[([^\]]*)\]|([^.\[]+)")


def value_of(cluster: Cluster, fact: Fact) -> Any:
    """The value now; the object has to exist."""
    named = [
        obj
        for kind in cluster.store.kinds()
        for obj in cluster.store.objects(kind)
        if obj.id == fact.object
    ]
    assert named, f"there is no {fact.object}"
    return _value_at(named[0].raw, fact.field)


def _value_at(manifest: Any, field: str) -> Any:
    """What a manifest has at the path of a fact; None where it is absent."""
    found = manifest
    for bracketed, plain in _STEP.findall(field):
        step = plain or bracketed
        if isinstance(found, list):
            found = found[int(step)] if int(step) < len(found) else None
        else:
            found = found.get(step) if isinstance(found, dict) else None
    return found

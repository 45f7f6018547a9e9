"""Kubernetes objects for tests: one function for each kind, with Kubernetes' words as arguments.

Each function returns a manifest, a new dictionary that the test may change. Keyword arguments that
a function does not name become fields of the object's `spec`. Names are in namespace default unless
another one is given. Folders of tests that want other defaults, or objects in place of manifests,
wrap these functions. `clusters` plays such objects.
"""

from tests.builders.clusters import Manifest, apply_command, node_of, played, scene
from tests.builders.devices import (
    claims_in_pod,
    device,
    device_class,
    device_request,
    left_over,
    resource_claim,
    resource_slice,
    selectors,
)
from tests.builders.nodes import csi_node, host, node
from tests.builders.pods import budget, claim_volume, owner_reference, pod, user_of
from tests.builders.storage import (
    claim,
    local_disk,
    local_volume,
    reachable_from,
    storage_class,
    volume,
)

__all__ = [
    "Manifest",
    "apply_command",
    "budget",
    "claim",
    "claim_volume",
    "claims_in_pod",
    "csi_node",
    "device",
    "device_class",
    "device_request",
    "left_over",
    "host",
    "local_disk",
    "local_volume",
    "node",
    "node_of",
    "owner_reference",
    "played",
    "pod",
    "reachable_from",
    "resource_claim",
    "resource_slice",
    "scene",
    "selectors",
    "storage_class",
    "user_of",
    "volume",
]

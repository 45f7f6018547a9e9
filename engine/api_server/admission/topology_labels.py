"""The node labels that the API server copies to a bound pod (on by default since v1.35).

Upstream: plugin/pkg/admission/podtopologylabels, pkg/registry/core/pod/storage
setPodNodeAndMetadata().
"""

from engine.api_server.store.store import ObjectStore
from engine.objects.objects import Labels

REGION = "topology.kubernetes.io/region"
ZONE = "topology.kubernetes.io/zone"


def topology_labels(store: ObjectStore, node_name: str) -> Labels:
    """The zone and the region of the node, as far as it has these labels; none without the node."""
    node = store.find("Node", node_name)
    if node is None:
        return ()
    labels = node.labels
    region = ((REGION, labels[REGION]),) if REGION in labels else ()
    return (*region, (ZONE, labels[ZONE])) if ZONE in labels else region

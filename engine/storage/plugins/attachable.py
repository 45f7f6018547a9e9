"""Whether the attach/detach controller or the kubelet itself attaches the volumes of a node."""

from typing import Final

from engine.objects.objects import ApiObject

CONTROLLER_MANAGED_ANNOTATION: Final = "volumes.kubernetes.io/controller-managed-attach-detach"


def is_controller_managed(node: ApiObject) -> bool:
    """Whether the attach/detach controller attaches for *node*.

    A real kubelet annotates its node by default. A node of a scenario need not be annotated: the
    controller attaches for it unless the annotation is "false".
    """
    return node.annotations.get(CONTROLLER_MANAGED_ANNOTATION, "true") != "false"

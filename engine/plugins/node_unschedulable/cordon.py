"""The taint that goes with a cordon."""

from __future__ import annotations

from engine.framework.pods.pod_template import PodTemplate
from engine.objects.pods.tolerations import Taint

UNSCHEDULABLE_TAINT = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")


def tolerates_cordon(template: PodTemplate) -> bool:
    """Whether a pod of *template* may go to a cordoned node."""
    return any(toleration.tolerates(UNSCHEDULABLE_TAINT) for toleration in template.tolerations)

"""What InterPodAffinity reads of a pod. Upstream: plugins/interpodaffinity/plugin.go SignPod()."""

from __future__ import annotations

from engine.framework.pods.pod_info import PodInfo
from engine.framework.pods.signing import Signed, SignFragment
from engine.objects.manifest_parts import section


def signature_of(pod: PodInfo, *, ignores_labels: bool) -> Signed:
    """The labels, which terms of placed pods select; None for a pod with terms of its own.

    With *ignores_labels* (ignorePreferredTermsOfExistingPods) only a pod's own terms matter.
    """
    affinity = section(pod.pod.spec, "affinity")
    if any(affinity.get(kind) is not None for kind in ("podAffinity", "podAntiAffinity")):
        return None
    return () if ignores_labels else (SignFragment("labels", pod.pod.labels or None),)

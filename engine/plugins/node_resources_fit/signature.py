"""What the plugins for resources read of a pod. Upstream: plugins/noderesources/fit.go SignPod()."""

from __future__ import annotations

from engine.framework.handle import Arguments, Handle
from engine.framework.pods.pod_info import PodInfo
from engine.framework.pods.signing import Signed, SignFragment
from engine.plugins.dynamic_resources.allocation.extended import ListedClasses


class ResourceSigner:
    """Signs the requests of pods, unless devices may provide some of them (DRAExtendedResource).

    `may_sign` is False where, before v1.36, the feature gate keeps it from signing any pod.
    """

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._delegates: bool = arguments.get("delegates_to_devices", False)
        self._classes = ListedClasses(handle.listers)
        self.may_sign: bool = not self._delegates or arguments.get(
            "signs_extended_resources", False
        )

    def sign(self, pod: PodInfo) -> Signed:
        """See `SignPlugin`."""
        fit = pod.resources.fit
        provided = self._classes.by_resource if self._delegates else ()
        if any(amount and name in provided for name, amount in fit.scalars):
            return None
        # As texts, for a sum may be beyond the integers of JSON.
        amounts = {name: str(amount) for name, amount in fit.amounts().items()}
        return (SignFragment("requests", amounts),)

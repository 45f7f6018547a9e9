"""What an API server sees to when a client changes a pod, beyond what a run asks of its own pages."""

from typing import Any

from kscope.runs.engine import Manifest
from kscope.sim.input.cleaning import without_nulls
from kscope.sim.objects.validation.manifests import check_stored
from kscope.sim.objects.validation.pod_updates import update_error, with_admitted
from kscope.sim.objects.validation.report import Report
from kube.addresses import Target
from kube.resources import PODS
from kube.status import cause_of, invalid


def completed(target: Target, old: Manifest, new: Manifest) -> Manifest:
    """*new*, which is to be written over *old*, with what admission fills in of a pod."""
    spec: Any = new.get("spec")
    if target.resource != PODS or target.subresource or not isinstance(spec, dict):
        return new
    if not isinstance(spec.get("tolerations") or [], list):
        return new
    return {**new, "spec": with_admitted(old["spec"], spec)}


def check_pod_update(target: Target, old: Manifest, new: Manifest) -> None:
    """Raises ApiError when a client may not make *new* of the pod *old*.

    A pod that is not well formed is left to the engine to refuse.
    """
    if target.resource != PODS or target.subresource:
        return
    report = Report()
    check_stored(new, (), report)
    error = "" if report.problems else update_error(old["spec"], without_nulls(new)["spec"])
    if error:
        raise invalid(target.resource, target.name, [cause_of(error)])

"""The defaults of an object of any kind."""

from engine.api_server.admission.defaults.cluster import CLUSTER
from engine.api_server.admission.defaults.pods import fill_pod
from engine.api_server.admission.defaults.sections import Fill, Manifest
from engine.api_server.admission.defaults.storage import STORAGE
from engine.api_server.admission.defaults.webhooks import WEBHOOKS
from engine.api_server.admission.defaults.workloads import WORKLOADS

_FILL: dict[str, Fill] = {"Pod": fill_pod, **CLUSTER, **STORAGE, **WEBHOOKS, **WORKLOADS}


def with_defaults(manifest: Manifest) -> Manifest:
    """The manifest with the defaults of its kind; what is given stays as it is.

    The top level of what is returned may be changed, nothing below it.
    """
    found = {**manifest}
    fill = _FILL.get(found["kind"])
    if fill is not None:
        fill(found)
    return found

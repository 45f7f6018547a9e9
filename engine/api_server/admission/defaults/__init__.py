"""What an API server fills in before it stores an object.

A run keeps manifests as they came. The defaults are filled in where they count: when a client of
the Kubernetes API reads an object (a pod without `spec.schedulerName` belongs to no scheduler), and
before an update is compared with what is stored. `pods`, `workloads`, `storage` and `cluster` have
those of their kinds.
Upstream: pkg/apis/core/v1/defaults.go and those of the other groups, and the admission plugins that
set plain values (ServiceAccount, Priority).
"""

from engine.api_server.admission.defaults.objects import with_defaults

__all__ = ["with_defaults"]

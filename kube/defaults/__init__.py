"""What an API server fills in before it stores an object, filled in on the way out.

A run keeps manifests as they came; clients rely on the defaults (a pod without `spec.schedulerName`
belongs to no scheduler). `pods`, `workloads`, `storage` and `cluster` have those of their kinds.
Upstream: pkg/apis/core/v1/defaults.go and those of the other groups, and the admission plugins that
set plain values (ServiceAccount, Priority).
"""

from kube.defaults.objects import defaulted

__all__ = ["defaulted"]

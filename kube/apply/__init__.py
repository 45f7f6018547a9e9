"""Server-side apply: which client manages which field of an object, and what follows from it.

    schemas ─▶ values (compare, merge, remove, check) ─▶ updater ─▶ object_fields

`fields` has the paths of fields, `managers` reads and writes `metadata.managedFields`. Everything
here is a function of what it is given; nothing given is changed. Upstream: the module
sigs.k8s.io/structured-merge-diff, and k8s.io/apimachinery/pkg/util/managedfields on top of it.
"""

from kube.apply.manager_names import check_options, manager_of
from kube.apply.object_fields import ObjectFields

__all__ = ["ObjectFields", "check_options", "manager_of"]

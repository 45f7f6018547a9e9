"""The resources that tests are about."""

from kube.resources import SERVED, Resource


def of_kind(kind: str) -> Resource:
    """The first resource of that kind: core/v1's Event rather than events.k8s.io/v1's."""
    return next(one for one in SERVED if one.kind == kind)

"""The messages with which the API server refuses an object in admission."""

from engine.kernel.errors import Forbidden
from engine.objects.objects import ApiObject, group_resource


def forbidden(obj: ApiObject, why: str) -> Forbidden:
    """The answer 403 to the creation or the update of *obj*. Upstream: admission.NewForbidden()."""
    return Forbidden(f'{group_resource(obj)} "{obj.name}" is forbidden: {why}')


def forbidden_unnamed(obj: ApiObject, why: str) -> Forbidden:
    """The same from what changes objects in admission: a name that is generated comes later.

    Upstream: apiserver/pkg/admission/errors.go, extractResourceName().
    """
    name = obj.metadata.get("generateName") or obj.name
    return Forbidden(f'{group_resource(obj)} "{name}" is forbidden: {why}')

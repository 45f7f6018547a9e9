"""The messages with which the API server refuses an object in admission."""

from kscope.sim.errors import Forbidden
from kscope.sim.objects.objects import ApiObject, group_resource


def forbidden(obj: ApiObject, why: str) -> Forbidden:
    """The answer 403 to the creation or the update of *obj*. Upstream: admission.NewForbidden()."""
    return Forbidden(f'{group_resource(obj)} "{obj.name}" is forbidden: {why}')

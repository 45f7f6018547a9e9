"""What a write may do to an object, as a value that comes with it.

A client of the Kubernetes API may do what an API server allows at the address that it writes to.
Pages, commands, steps of scenarios and imports may do more, because kscope is for trying things out.
Whoever writes says which it is; the rules are those of `strategy`, for all of them.
"""

from dataclasses import dataclass, replace

from engine.objects.custom.definition import CustomDefinition


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """What one write may change.

    - `rest`: all but the status and what the server itself writes.
    - `status`: the status.
    - `resources`: of a pod, cpu and memory of its containers.
    - `system`: what the server itself writes of an object: uid, version, times, and a new object's
      status. So an object keeps what another cluster has written of it.
    - `pods`: of a pod that is stored, also what it asks for (requests, ports …) and its grace period,
      to see what would follow. An API server allows new images, additional tolerations, fewer
      scheduling gates and a shorter deadline.
    """

    name: str
    rest: bool = False
    status: bool = False
    resources: bool = False
    system: bool = False
    pods: bool = False

    def covers(self, part: str) -> bool:
        """Whether the part of that name of a manifest may change, apart from metadata."""
        match part:
            case "apiVersion" | "kind":
                return self.system
            case "spec":
                return self.rest or self.resources
            case "status":
                return self.status
            case _:
                return self.rest


# A client of the Kubernetes API, at the address of an object or at that of its scale.
OBJECT = Permission(name="object", rest=True)
# The same at the address of its status, and at `pods/NAME/resize`.
STATUS = Permission(name="status", status=True)
RESIZE = Permission(name="resize", resources=True)
# Pages, the admin, commands of the REST API, steps of scenarios, and imports.
ANYTHING = Permission(
    name="anything", rest=True, status=True, resources=True, system=True, pods=True
)

PERMISSIONS = {one.name: one for one in (OBJECT, STATUS, RESIZE, ANYTHING)}


def permission_at(subresource: str) -> Permission:
    """What a client may do at this address of an object; "" is that of the object itself."""
    return {"approval": STATUS, "status": STATUS, "resize": RESIZE}.get(subresource, OBJECT)


def custom_permission(permission: Permission, definition: CustomDefinition | None) -> Permission:
    """What a write of an object of a custom kind may change, or of another one, for None.

    The status of a custom kind that gives it no address of its own is a part like any other.
    """
    if definition is None or definition.stored.has_status or not permission.rest:
        return permission
    return replace(permission, status=True)

"""`{% kubectl_get %}` is the kubectl command that prints every object that kscope can read."""

from django import template

from kscope.sim.objects.validation.kinds import KINDS

register = template.Library()


@register.simple_tag
def kubectl_get() -> str:
    """The command, with every kind that is read."""
    return f"kubectl get {','.join(sorted(map(_resource, KINDS)))} -A -o yaml > cluster.yaml"


def _resource(kind: str) -> str:
    """The name of a kind's resource: "storageclasses"."""
    name = kind.lower()
    if name.endswith("y"):
        return f"{name[:-1]}ies"
    return f"{name}es" if name.endswith("s") else f"{name}s"

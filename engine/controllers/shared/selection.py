"""What the objects of controllers select. Upstream: each controller's own, by the API's types."""

from engine.objects.objects import ApiObject
from engine.objects.selectors import LabelSelector


def selector_of(owner: ApiObject) -> LabelSelector:
    """spec.selector. Raises SelectorError if it is invalid."""
    given = owner.spec.get("selector")
    if owner.kind == "ReplicationController":
        return LabelSelector.parse({"matchLabels": given or {}})
    if owner.kind == "Job" and given is None:
        # The API server would have made one up. Upstream: strategy.go, generateSelector().
        return LabelSelector.from_labels({"controller-uid": owner.uid})
    return LabelSelector.parse(given)

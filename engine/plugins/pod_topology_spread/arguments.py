"""The arguments of PodTopologySpread.

Upstream: pkg/scheduler/apis/config/validation/validation_pluginargs.go ValidatePodTopologySpreadArgs().
"""

from __future__ import annotations

from engine.input.reading import Fields
from engine.objects.selectors import label_key_fault
from engine.plugins.arguments import META

_CONSTRAINT = (
    "maxSkew",
    "topologyKey",
    "whenUnsatisfiable",
    "labelSelector",
    "minDomains",
    "nodeAffinityPolicy",
    "nodeTaintsPolicy",
    # Without effect: the selector is then replaced by the one that is deduced.
    "matchLabelKeys",
)


def check_arguments(fields: Fields) -> None:
    """Raise ConfigurationError where they are not what the plugin takes."""
    fields.only(*META, "defaultConstraints", "defaultingType")
    # Upstream: SetDefaults_PodTopologySpreadArgs() makes "System" of "".
    kind = fields.one_of("defaultingType", ("System", "List", ""), "") or "System"
    constraints = fields.items("defaultConstraints")
    if kind == "System" and constraints:
        raise fields.error("defaultingType", "when .defaultConstraints are not empty")
    seen: dict[tuple[str, str], None] = {}
    for constraint in constraints:
        if constraint.get("labelSelector") is not None:
            raise constraint.error(
                "labelSelector",
                "constraint must not define a selector, as they deduced for each pod",
            )
        constraint.only(*_CONSTRAINT)
        constraint.integer("maxSkew", 0, low=1)
        # Upstream does not look into these any further.
        constraint.integer("minDomains", 1)
        constraint.texts("matchLabelKeys")
        for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            constraint.text(policy)
        key = constraint.text("topologyKey")
        if not key:
            raise constraint.error("topologyKey", "can not be empty")
        fault = label_key_fault(key)
        if fault is not None:
            raise constraint.error("topologyKey", fault)
        action = constraint.one_of("whenUnsatisfiable", ("DoNotSchedule", "ScheduleAnyway"), "")
        pair = constraint.text("topologyKey"), action
        if pair in seen:
            raise constraint.error("topologyKey", f"duplicate of {pair[0]}, {pair[1]}")
        seen[pair] = None

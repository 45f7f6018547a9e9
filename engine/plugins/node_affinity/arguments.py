"""The arguments of NodeAffinity.

Upstream: pkg/scheduler/apis/config/validation/validation_pluginargs.go ValidateNodeAffinityArgs().
"""

from __future__ import annotations

from collections.abc import Mapping

from engine.input.reading import ConfigurationError, Fields
from engine.objects.selectors import NodeSelector, SelectorError
from engine.plugins.arguments import META


def check_arguments(fields: Fields) -> None:
    """Raise ConfigurationError where they are not what the plugin takes."""
    added = fields.only(*META, "addedAffinity").mapping("addedAffinity")
    if added is None:
        return
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    added.only(required, preferred)
    enforced = added.mapping(required)
    if enforced is not None:
        _selector(enforced, enforced.only("nodeSelectorTerms").raw)
    for term in added.items(preferred):
        # Upstream: NewPreferredSchedulingTerms() passes over what is empty or has no weight.
        term.only("weight", "preference")
        term.integer("weight", 0, low=-(1 << 31), high=(1 << 31) - 1)
        preference = term.mapping("preference")
        if preference is not None and term.get("weight"):
            _selector(preference, {"nodeSelectorTerms": [preference.raw]})


def _selector(fields: Fields, selector: Mapping[str, object]) -> None:
    try:
        parsed = NodeSelector.parse(dict(selector))
    except SelectorError as fault:
        raise ConfigurationError(fields.path, fields.raw, str(fault)) from fault
    for requirement in (one for term in parsed.terms for one in term.expressions):
        if requirement.flaws:
            problem = f"{requirement}: {requirement.flaws[0].problem}"
            raise ConfigurationError(fields.path, fields.raw, problem)

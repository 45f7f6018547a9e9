"""DeviceTaintRules: taints that an admin gives to devices, beside those of their drivers.

Upstream: staging/src/k8s.io/dynamic-resource-allocation/resourceslice/tracker,
pkg/controller/devicetainteviction ruleMatchesDevice().
"""

from collections.abc import Iterable
from typing import Final

from engine.objects.manifest_parts import section
from engine.objects.objects import ApiObject, Manifest

DEVICE_TAINT_RULE: Final = "DeviceTaintRule"
NO_EXECUTE: Final = "NoExecute"


def taint_of(rule: ApiObject) -> Manifest:
    """The taint that the rule gives to its devices."""
    return section(rule.spec, "taint")


def selects(rule: ApiObject, driver: str, pool: str, device: str) -> bool:
    """Whether the rule is for the device. One without a selector is for none."""
    selector = rule.spec.get("deviceSelector")
    if selector is None:
        return False
    wanted = section(rule.spec, "deviceSelector")
    found = {"driver": driver, "pool": pool, "device": device}
    return all(wanted.get(name) in (None, value) for name, value in found.items())


def rules_for(rules: Iterable[ApiObject], driver: str, pool: str, device: str) -> list[ApiObject]:
    """The rules for the device, by name."""
    found = [rule for rule in rules if selects(rule, driver, pool, device)]
    return sorted(found, key=_name)


def _name(rule: ApiObject) -> str:
    return rule.name

"""Feature gates that a run can turn on or off.

A version lists its gates with their defaults, `gates` says what follows from each.

Upstream: component-base/featuregate/feature_gate.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kscope.sim.input.reading import ConfigurationError
from scheduling.engine.versions.gates import GATES
from scheduling.engine.versions.kubernetes_version import KubernetesVersion


def with_gates(
    version: KubernetesVersion, gates: Mapping[str, Any], path: str = "featureGates"
) -> KubernetesVersion:
    """*version* with these gates on or off; *version* itself if nothing differs.

    Raises ConfigurationError naming a gate that the version does not have or that cannot be set.
    """
    chosen = {name: _checked(version, name, value, path) for name, value in gates.items()}
    known = version.feature_gates
    changed = {
        name: known[name]._replace(default=on)
        for name, on in chosen.items()
        if on != known[name].default
    }
    if not changed:
        return version
    for name, gate in {**known, **changed}.items():
        needed = GATES[name].needs
        if gate.default and needed and not {**known, **changed}[needed].default:
            problem = f"feature gate {name} requires {needed} to be on"
            raise ConfigurationError(f"{path}.{name}", True, problem)
    return version.but(feature_gates=changed)


def _checked(version: KubernetesVersion, name: str, value: Any, path: str) -> bool:
    where = f"{path}.{name}"
    gate = version.feature_gates.get(name)
    if gate is None:
        known = ", ".join(version.feature_gates) or "none"
        if name in GATES:
            problem = f"{version.name} does not have this feature gate"
        else:
            problem = "unrecognized feature gate"
        raise ConfigurationError(where, value, f"{problem}; kscope has for {version.name}: {known}")
    if not isinstance(value, bool):
        raise ConfigurationError(where, value, "expected true or false")
    if gate.is_locked and value != gate.default:
        locked = f"feature is locked to {str(gate.default).lower()}"
        problem = f"cannot set feature gate {name} to {str(value).lower()}, {locked}"
        raise ConfigurationError(where, value, problem)
    return value

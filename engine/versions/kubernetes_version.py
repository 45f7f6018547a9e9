"""One version of Kubernetes, as a value, and under other values of its feature gates.

Upstream: component-base/featuregate/feature_gate.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass, replace
from typing import Any, cast

from engine.api_server.admission.rules import AdmissionRules
from engine.controllers.persistent_volumes.rules import ControllerRules
from engine.controllers.shared.rules import WorkloadRules
from engine.framework.nodes.cache_rules import CacheRules
from engine.framework.rules.preemption import PreemptionRules
from engine.framework.rules.queue import QueueRules
from engine.framework.wording import Wording
from engine.input.reading import ConfigurationError
from engine.kubelet.container_rules import ContainerRules
from engine.objects.pods.pod_resources import ResourceRules
from engine.storage.binding.binder import BinderRules
from engine.storage.rules import StorageRules
from engine.versions.configuration_rules import ConfigurationRules, PolicyRules
from engine.versions.cycle_rules import CycleRules, ExtenderRules
from engine.versions.default_plugins import DefaultPlugins
from engine.versions.gates import GATES, FeatureGate


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesVersion:
    """Everything in which one version differs from the others.

    The oldest version has the default of every rule. Each later one is the version before it `but`
    for what it changed.
    """

    name: str
    summary: str
    """What the version stands for, in one sentence for those who choose one."""
    since_patch: int = 0
    """The first patch release of its minor release that it stands for."""
    is_measured: bool = True
    """A real kube-scheduler of this version was compared; otherwise it follows what was read of it."""
    formats: tuple[str, ...]
    """The formats of a scheduler's configuration that this version reads."""
    feature_gates: Mapping[str, FeatureGate] = field(default_factory=dict[str, FeatureGate])
    """The feature gates that are simulated, with their defaults."""
    namespaces_have_name_label: bool = False
    """Each namespace has its name as the label kubernetes.io/metadata.name."""
    plugins: DefaultPlugins
    configuration: ConfigurationRules | None = None
    policy: PolicyRules | None = None
    wording: Wording | None = None
    """The reasons of shared plugins whose text differs from the newest version."""
    cycle: CycleRules = CycleRules()
    extenders: ExtenderRules = ExtenderRules()
    preemption: PreemptionRules = PreemptionRules()
    queue: QueueRules = field(default_factory=QueueRules)
    cache: CacheRules = CacheRules()
    resources: ResourceRules = ResourceRules()
    admission: AdmissionRules = AdmissionRules()
    workloads: WorkloadRules = WorkloadRules()
    containers: ContainerRules = ContainerRules()
    storage: StorageRules = StorageRules()
    controller: ControllerRules = ControllerRules()
    binder: BinderRules = BinderRules()

    def but(
        self,
        *,
        feature_gates: Mapping[str, FeatureGate | None] | None = None,
        settings: Mapping[str, Mapping[str, Any]] | None = None,
        **changed: Any,
    ) -> KubernetesVersion:
        """This version, but for what *changed*.

        A mapping changes the rules that it names in their class; any other value takes the place of
        the field. *settings* are those of plugins that differ. *feature_gates* lists gates that are
        new or have another default, and None for those that are gone; a gate brings along what
        follows from it.

        Raises TypeError for a field or a rule that does not exist.
        """
        if "name" in changed:
            # A new version stands for all of its patch releases, unless it says otherwise.
            changed = {"since_patch": 0, **changed}
        version = replace(
            self, **{name: _changed(getattr(self, name, None), to) for name, to in changed.items()}
        )
        version = replace(version, plugins=version.plugins.with_settings(settings or {}))
        gates = {**self.feature_gates, **(feature_gates or {})}
        known = {name: gate for name in GATES if (gate := gates.get(name)) is not None}
        for name in feature_gates or {}:
            if (gate := known.get(name)) is not None:
                version = _switched(version, name, gate.default)
        # The queue and the cache read pods by the same rules.
        resources = version.resources
        return replace(
            version,
            feature_gates=known,
            queue=replace(version.queue, resources=resources),
            cache=replace(version.cache, resources=resources),
        )


def _changed(value: Any, to: Any) -> Any:
    """*value* with the rules of the mapping *to*; *to* itself where it is no mapping."""
    if is_dataclass(value) and isinstance(to, Mapping):
        return replace(cast("Any", value), **cast("Mapping[str, Any]", to))
    return to


def _switched(version: KubernetesVersion, name: str, on: bool) -> KubernetesVersion:
    """*version* with the gate *name* on or off."""
    gate, plugins = GATES[name], version.plugins
    for plugin, setting in gate.settings:
        plugins = plugins.with_settings({plugin: {setting: on}})
    if gate.plugin is not None:
        plugins = plugins.with_plugin(gate.plugin) if on else plugins.without(gate.plugin.name)
    if gate.score is not None:
        plugins = plugins.with_gated_score(gate.score, on=on)
    version = replace(version, plugins=plugins)
    for area, rule in gate.rules:
        version = replace(version, **{area: _changed(getattr(version, area), {rule: on})})
    return version


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

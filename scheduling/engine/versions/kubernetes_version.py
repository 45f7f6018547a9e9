"""One version of Kubernetes, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kscope.sim.objects.pod_resources import ResourceRules
from scheduling.engine.api_server.rules import AdmissionRules
from scheduling.engine.framework.wording import Wording
from scheduling.engine.nodes.cache_rules import CacheRules
from scheduling.engine.preemption.dry_run import PreemptionRules
from scheduling.engine.queue.rules import QueueRules
from scheduling.engine.versions.configuration_rules import (
    ConfigurationRules,
    DefaultPlugins,
    PolicyRules,
)
from scheduling.engine.versions.cycle_rules import CycleRules, ExtenderRules
from scheduling.engine.versions.gate_names import FeatureGate
from scheduling.engine.workloads.rules import WorkloadRules
from volumes.engine.actors import StorageRules
from volumes.engine.binding.binder import BinderRules
from volumes.engine.pv_controller.rules import ControllerRules


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesVersion:
    """Everything in which one version differs from the others.

    A module of this folder holds one such value and spells out every rule of it.
    """

    name: str
    summary: str
    """What the version stands for, in one sentence for those who choose one."""
    formats: tuple[str, ...]
    """The formats of a scheduler's configuration that this version reads."""
    feature_gates: Mapping[str, FeatureGate]
    """The feature gates that are simulated, with their defaults."""
    namespaces_have_name_label: bool
    """Each namespace has its name as the label kubernetes.io/metadata.name."""
    plugins: DefaultPlugins
    configuration: ConfigurationRules | None
    policy: PolicyRules | None
    wording: Wording | None
    """The reasons of shared plugins whose text differs from the newest version."""
    cycle: CycleRules
    extenders: ExtenderRules
    preemption: PreemptionRules
    queue: QueueRules
    cache: CacheRules
    resources: ResourceRules
    admission: AdmissionRules
    workloads: WorkloadRules
    storage: StorageRules
    controller: ControllerRules
    binder: BinderRules

"""How one scheduler process is configured: its profiles and what they share."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from engine.framework.rules.queue import QueueRules
from engine.kernel.units import SECOND
from engine.scheduler.configuration.extenders import ExtenderSettings
from engine.scheduler.configuration.profiles import PROFILES, Profile, default_profile
from engine.versions.kubernetes_version import KubernetesVersion
from engine.versions.registry import VERSIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderElection:
    """How replicas agree on a leader, in ns. Upstream: LeaderElectionConfiguration."""

    lease_duration: int = 15 * SECOND
    renew_deadline: int = 10 * SECOND
    retry_period: int = 2 * SECOND
    resource_namespace: str = "kube-system"
    resource_name: str = "kube-scheduler"


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerSetup:
    """One scheduler process.

    Its profiles share one queue and one cache; a pod chooses between them by schedulerName.
    The backoffs are ns; None leaves the version's default. What is `external` is done by a client of
    the Kubernetes API, and only followed here.
    """

    profiles: tuple[Profile, ...]
    initial_backoff: int | None = None
    max_backoff: int | None = None
    extenders: tuple[ExtenderSettings, ...] = ()
    leader_election: LeaderElection = field(default_factory=LeaderElection)
    external: bool = False
    # Warnings about settings that the real scheduler accepts but that do not do what they seem to.
    warnings: tuple[str, ...] = ()

    @property
    def kubernetes(self) -> KubernetesVersion:
        """The version of Kubernetes, the same for all profiles."""
        return self.profiles[0].kubernetes

    @property
    def names(self) -> tuple[str, ...]:
        """The schedulerNames that this process answers to."""
        return tuple(profile.name for profile in self.profiles)

    @property
    def queue_rules(self) -> QueueRules:
        """The queue's rules with this process's backoffs."""
        rules = self.kubernetes.queue
        if self.initial_backoff is not None:
            rules = replace(rules, initial_backoff=self.initial_backoff)
        if self.max_backoff is not None:
            rules = replace(rules, max_backoff=self.max_backoff)
        return rules

    def named(self, name: str) -> SchedulerSetup:
        """The same process answering to another name: only where it has a single profile."""
        return replace(self, profiles=(replace(self.profiles[0], name=name),))


def default_setup(version: KubernetesVersion) -> SchedulerSetup:
    """The scheduler of *version* without a configuration."""
    if version is VERSIONS[version.name]:
        return SchedulerSetup(profiles=(PROFILES[version.name],))
    return SchedulerSetup(profiles=(default_profile(version),))

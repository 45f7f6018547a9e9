"""The schedulers of a scenario: several beside each other, and the check before a run is made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from engine.api_server.admission.first_objects import missing_classes, refused_objects
from engine.api_server.admission.setup_fault import SetupFault
from engine.framework.handle import Handle
from engine.input.formats.plugins import CHOICE
from engine.input.load_result import SetupReport
from engine.input.reading import ConfigurationError, Fields
from engine.objects.objects import Manifest
from engine.objects.unmodelled import OF_GROUPS, OF_TAINT_RULES, SINCE_1_34, SINCE_1_36
from engine.scheduler.configuration.configuration import read_setup
from engine.scheduler.configuration.formats import FORMATS, POLICY
from engine.scheduler.configuration.plugin_sets import BUILT_IN
from engine.scheduler.configuration.policy import provider
from engine.scheduler.configuration.profiles import Profile
from engine.scheduler.configuration.registry import IN_TREE, UnknownPlugin, factory_of
from engine.scheduler.configuration.setup import SchedulerSetup, default_setup
from engine.versions.kubernetes_version import KubernetesVersion, with_gates
from engine.versions.registry import DEFAULT, VERSIONS

# A scenario can have this many schedulers, each with a queue and a cache of its own.
MOST_SCHEDULERS = 50
# The scheduler of pods that name none.
DEFAULT_NAME = "default-scheduler"


def check_setup(
    scenario: Mapping[str, Any], configuration: Any, objects: Sequence[Manifest] = ()
) -> SetupReport:
    """What is wrong with a scenario's schedulers and initial objects; see loader.SetupCheck.

    A scenario that does not name its profile gets the one that its configuration is for.
    """
    report = SetupReport(faults=refused_objects(objects), warnings=missing_classes(objects))
    named = str(scenario.get("profile") or "")
    entries = scenario.get("schedulers") or ()
    unknown = unknown_profile(named)
    if unknown is not None:
        report.faults.append(unknown)
        return report
    version = named or _profile_of(configuration)
    report.reads = _optional_kinds(VERSIONS[version])
    part = "spec"
    try:
        kubernetes = with_gates(VERSIONS[version], scenario.get("feature_gates") or {})
        report.reads = _optional_kinds(kubernetes)
        part = "spec" if entries else "configuration"
        external = bool(scenario.get("external_scheduler"))
        specs = read_schedulers(entries, configuration, kubernetes, external=external)
        for spec in specs:
            report.warnings += spec.setup.warnings
            for profile in spec.setup.profiles:
                _try_plugins(profile)
    except ConfigurationError as fault:
        is_unknown = isinstance(fault.__cause__, UnknownPlugin) and part == "configuration"
        message = f"{fault.problem}; {CHOICE}" if is_unknown else fault.problem
        found = SetupFault(part=part, path=fault.path, value=fault.value, message=message)
        report.faults.append(found)
        return report
    if entries and configuration is not None:
        report.warnings.append(
            "the scheduler configuration among the files is not used: "
            "the scenario says how its schedulers are configured"
        )
    if version not in (named, DEFAULT.name):
        report.profile = version
        report.warnings.append(f"runs under profile {version}, which its configuration is for")
    return report


def _optional_kinds(version: KubernetesVersion) -> frozenset[str]:
    """The kinds that this version acts on and others do not."""
    cycle = version.cycle
    devices = SINCE_1_36 if cycle.allocates_devices else frozenset[str]()
    groups = OF_GROUPS if cycle.schedules_groups else frozenset[str]()
    classes = SINCE_1_34 if version.storage.modifies_volumes else frozenset[str]()
    rules = OF_TAINT_RULES if cycle.watches_taint_rules else frozenset[str]()
    return devices | groups | classes | rules


def unknown_profile(name: str) -> SetupFault | None:
    """The fault of a scenario whose profile is no version; "" is the default."""
    if not name or name in VERSIONS:
        return None
    message = f'"{name}" is not one of {", ".join(VERSIONS)}'
    return SetupFault(part="spec", path="profile", value=name, message=message)


def _profile_of(configuration: Any) -> str:
    """The default version if it reads the format of *configuration*, or else the newest that does."""
    if not isinstance(configuration, dict):
        return DEFAULT.name
    document = cast("dict[str, Any]", configuration)
    api_version = str(document.get("apiVersion") or "")
    format_ = POLICY if document.get("kind") == POLICY else FORMATS.get(api_version)
    if format_ in DEFAULT.formats:
        return DEFAULT.name
    readers = (name for name, one in VERSIONS.items() if format_ in one.formats)
    return next(readers, DEFAULT.name)


def is_known_plugin(name: str) -> bool:
    """Whether some version, or a plugin of one's own, is called so."""
    if name in IN_TREE or name in BUILT_IN:
        return True
    try:
        factory_of(name)
    except UnknownPlugin:
        return False
    return True


def _try_plugins(profile: Profile) -> None:
    """Raise ConfigurationError where a plugin that is not in-tree refuses its arguments."""
    for name in profile.custom_plugins:
        try:
            factory_of(name)(profile.arguments.get(name) or {}, Handle())
        except (KeyError, TypeError, ValueError) as refusal:
            problem = f"plugin {name} does not take its arguments: {refusal!r}"
            raise ConfigurationError("", None, problem) from refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerSpec:
    """One scheduler of a scenario: its setup, and how many replicas of it there are."""

    setup: SchedulerSetup
    replicas: int = 1


def read_schedulers(
    entries: Iterable[Any],
    configuration: Any,
    version: KubernetesVersion,
    *,
    external: bool = False,
) -> tuple[SchedulerSpec, ...]:
    """The schedulers of a scenario.

    *entries* are `{name, profile, featureGates, configuration, replicas, external}`; without any there is one
    scheduler, as *configuration* says, or as the version comes. With *external*, one of them leaves its
    pods to a client: see with_external_scheduler. Raises ConfigurationError.
    """
    specs = _read_entries(entries, configuration, version)
    return with_external_scheduler(specs) if external else specs


def with_external_scheduler(specs: tuple[SchedulerSpec, ...]) -> tuple[SchedulerSpec, ...]:
    """*specs*, of which the one for default-scheduler, or else the first, leaves its pods to a client.

    The others, and how that scheduler is configured, stay as they are, so that its shadow decisions
    follow its configuration. Raises ConfigurationError when it has replicas.
    """
    names = [spec.setup.names for spec in specs]
    place = next((number for number, one in enumerate(names) if DEFAULT_NAME in one), 0)
    chosen = specs[place]
    if chosen.replicas > 1:
        path = f"schedulers[{place}].replicas"
        problem = "with external_scheduler, this scheduler has no replicas in the run"
        raise ConfigurationError(path, chosen.replicas, problem)
    left = replace(chosen, setup=replace(chosen.setup, external=True))
    return (*specs[:place], left, *specs[place + 1 :])


def _read_entries(
    entries: Iterable[Any], configuration: Any, version: KubernetesVersion
) -> tuple[SchedulerSpec, ...]:
    items = [Fields(entry, f"schedulers[{place}]") for place, entry in enumerate(entries)]
    if not items:
        setup = (
            setup_without_configuration(version)
            if configuration is None
            else read_setup(configuration, version)
        )
        return (SchedulerSpec(setup=setup),)
    if len(items) > MOST_SCHEDULERS:
        problem = f"there are {len(items):,} schedulers; at most {MOST_SCHEDULERS} are run"
        raise ConfigurationError("schedulers", None, problem)
    found: list[SchedulerSpec] = []
    taken: dict[str, None] = {}
    for item in items:
        spec = _read_scheduler(item, version)
        for name in spec.setup.names:
            if name in taken:
                raise item.error("name", f'two schedulers answer to schedulerName "{name}"')
            taken[name] = None
        found.append(spec)
    return tuple(found)


def setup_without_configuration(version: KubernetesVersion) -> SchedulerSetup:
    """The default scheduler of *version*, whose feature gates may have been changed."""
    if version.policy is not None and version is not VERSIONS[version.name]:
        return provider(version, "DefaultProvider")
    return default_setup(version)


def _read_scheduler(item: Fields, version: KubernetesVersion) -> SchedulerSpec:
    item.only("name", "profile", "featureGates", "configuration", "replicas", "external")
    profile = item.text("profile", version.name)
    if profile not in VERSIONS:
        raise item.error("profile", f'"{profile}" is not one of {", ".join(VERSIONS)}')
    if profile != version.name:
        version = VERSIONS[profile]
    gates = item.mapping("featureGates")
    if gates is not None:
        version = with_gates(version, gates.raw, gates.path)
    given = item.get("configuration")
    setup = setup_without_configuration(version)
    if given is not None:
        try:
            setup = read_setup(given, version)
        except ConfigurationError as fault:
            path = f"{item.at('configuration')}.{fault.path}".rstrip(".")
            raise ConfigurationError(path, fault.value, fault.problem) from fault
    name = item.object_name("name")
    if name and name not in setup.names:
        if len(setup.profiles) > 1:
            raise item.error("name", f"is not among {', '.join(setup.names)}")
        setup = setup.named(name)
    replicas = item.integer("replicas", 1, low=1, high=9)
    if item.boolean("external"):
        if replicas > 1:
            raise item.error("replicas", "an external scheduler has no replicas in the run")
        setup = replace(setup, external=True)
    return SchedulerSpec(setup=setup, replicas=replicas)

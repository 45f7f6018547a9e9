"""A scheduler's setup as a person reads it: which plugins run where, and what is not as it comes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from engine.framework.handle import Handle
from engine.kernel.units import SECOND
from engine.scheduler.configuration.profiles import Profile, default_profile
from engine.scheduler.configuration.setup import LeaderElection, SchedulerSetup
from engine.versions.registry import VERSIONS

# Of each extension point its plugins in order, with their weights where they have one.
Points = dict[str, dict[str, int | None]]


def described(setup: SchedulerSetup) -> dict[str, Any]:
    """The setup as JSON.

    Of each profile the plugins by extension point, in order, as {name, weight, arguments, is_changed};
    `removed` are those of the version's defaults that are not asked there.
    """
    rules, election = setup.queue_rules, setup.leader_election
    return {
        "version": setup.kubernetes.name,
        "profiles": [_profile(one) for one in setup.profiles],
        "initial_backoff": rules.initial_backoff,
        "max_backoff": rules.max_backoff,
        "extenders": [one.url_prefix for one in setup.extenders],
        "lease": None if election == LeaderElection() else election.lease_duration // SECOND,
        "warnings": list(setup.warnings),
    }


def _profile(profile: Profile) -> dict[str, Any]:
    usual = _points(default_profile(VERSIONS[profile.version]))
    return {
        "name": profile.name,
        "percentage": profile.percentage,
        "points": [
            _point(profile, point, plugins, usual[point])
            for point, plugins in _points(profile).items()
            if plugins or usual[point]
        ],
    }


def _point(
    profile: Profile, point: str, plugins: Mapping[str, int | None], usual: Mapping[str, int | None]
) -> dict[str, Any]:
    return {
        "point": point,
        "plugins": [
            {
                "name": name,
                "weight": weight,
                "arguments": (given := _given(profile, name)),
                "is_changed": bool(given) or name not in usual or usual[name] != weight,
            }
            for name, weight in plugins.items()
        ],
        "removed": [name for name in usual if name not in plugins],
    }


def _given(profile: Profile, name: str) -> dict[str, Any]:
    """The arguments of a plugin that its version does not come with."""
    usual = VERSIONS[profile.version].plugins.arguments.get(name, {})
    found = profile.arguments.get(name) or {}
    return {part: value for part, value in found.items() if usual.get(part) != value}


def _points(profile: Profile) -> Points:
    """What is really asked: some plugins have no method for a point where they are enabled."""
    built = profile.build(Handle()).plugins
    return {
        "preEnqueue": _names(profile.pre_enqueues),
        "queueSort": _names((profile.queue_sort,)),
        "preFilter": _names(each.name for each in built.pre_filter),
        # With alwaysCheckAllPredicates one plugin asks all of them.
        "filter": _names(
            profile.filters if profile.checks_all else (each.name for each in built.filter)
        ),
        "postFilter": _names(profile.post_filters),
        "preScore": _names(each.name for each in built.pre_score),
        "score": {each.name: weight for each, weight in built.score},
        "reserve": _names(profile.reserves),
        "permit": _names(profile.permits),
        "preBind": _names(profile.pre_binds),
        "bind": _names(profile.binds),
        "postBind": _names(profile.post_binds),
    }


def _names(names: Iterable[str]) -> dict[str, int | None]:
    return dict.fromkeys(names)

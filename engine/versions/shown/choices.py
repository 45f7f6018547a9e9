"""The versions as pages offer them, without their rules."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from engine.framework import names
from engine.kernel.trace import minor_of
from engine.versions.kubernetes_version import KubernetesVersion
from engine.versions.registry import DEFAULT, VERSIONS

# "v1.34.1", and what vendors add: "v1.34.1-gke.3900".
_RELEASE: Final = re.compile(r"v1\.(\d{1,4})(?:\.(\d{1,4}))?(?:\D|$)", re.ASCII)


@dataclass(frozen=True, slots=True)
class VersionChoice:
    """A version in a list of choices.

    `has` names what the state machines of pods have in this version and not in every one:
    "gates", "early_pop" (backoff to in flight) and "expiry" (of an assumed pod).
    """

    name: str
    summary: str
    has: tuple[str, ...]
    gates: Mapping[str, bool]
    """The feature gates that a run can turn on or off, with their defaults."""


@cache
def version_choices() -> tuple[VersionChoice, ...]:
    """All versions, the newest first."""
    return tuple(
        VersionChoice(version.name, version.summary, _has(version), _gates(version))
        for version in VERSIONS.values()
    )


def proposed_version(told: Iterable[str]) -> str:
    """The version for a cluster that has *told* of these versions: "v1.34.1".

    No kubelet is newer than the API server, so the newest one counts, and of the versions that are
    simulated the nearest; the default where none is told. Of the patch releases of a
    minor release the newest one that is no newer counts, or else the oldest.
    """
    releases = [
        (int(match[1]), _patch(match[2])) for each in told if (match := _RELEASE.match(each))
    ]
    if not releases:
        return DEFAULT.name
    newest = max(releases)
    minor = min((minor_of(name) for name in VERSIONS), key=lambda one: abs(one - newest[0]))
    alike = [each for each in VERSIONS.values() if minor_of(each.name) == minor]
    older = [each for each in alike if (minor, each.since_patch) <= newest]
    return (older[0] if older else alike[-1]).name


def minor_told(version: str) -> int | None:
    """34 of "v1.34.1-gke.3900"; None of what is no version."""
    match = _RELEASE.match(version)
    return int(match[1]) if match else None


def _patch(text: str | None) -> int:
    """The number of a patch release; of "v1.34" without one the newest is meant."""
    return 10_000 if text is None else int(text)


def _gates(version: KubernetesVersion) -> Mapping[str, bool]:
    gates = version.feature_gates.items()
    return {name: gate.default for name, gate in gates if not gate.is_locked}


def _has(version: KubernetesVersion) -> tuple[str, ...]:
    features = {
        "gates": names.SCHEDULING_GATES in version.plugins.pre_enqueues,
        "early_pop": version.queue.pops_from_backoff,
        "expiry": version.cache.assume_ttl > 0,
    }
    return tuple(name for name, is_there in features.items() if is_there)

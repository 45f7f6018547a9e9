"""The steps of the volume binder."""

from __future__ import annotations

from dataclasses import dataclass

from engine.storage.binding.assume_cache import AssumeCache, Obj


@dataclass(frozen=True, slots=True)
class CachedVersions:
    """An object in the assume cache: the version assumed, and the one that the informer has.

    A volume or claim that is not assumed is as the informer has it; None is not there.
    """

    kind: str
    name: str
    assumed: bool
    latest_version: str | None
    informer_version: str | None


@dataclass(frozen=True, slots=True)
class ClaimToVolume:
    """A volume that is chosen for a claim."""

    claim: str
    volume: str


@dataclass(frozen=True, slots=True)
class WrittenVersion:
    """An object that was written, and the version that the API server answered."""

    kind: str
    name: str
    version: str


@dataclass(frozen=True, slots=True)
class VolumesAssumed:
    """AssumePodVolumes: nothing to bind (`all_bound`), or which claims to which volumes.

    `provision` are the claims to be provisioned for the node; `caches` their objects afterwards.
    """

    node: str
    all_bound: bool
    bind: tuple[ClaimToVolume, ...]
    provision: tuple[str, ...]
    caches: tuple[CachedVersions, ...]


@dataclass(frozen=True, slots=True)
class VolumesWritten:
    """BindPodVolumes has written; it waits until `deadline`, with a look every second.

    In v1.11 the worker of the BindQueue writes, and nothing waits (`deadline` is None).
    """

    written: tuple[WrittenVersion, ...]
    deadline: int | None
    error: str


@dataclass(frozen=True, slots=True)
class VolumesLooked:
    """A look whether everything is bound: each second until it is, fails, or takes too long."""

    is_bound: bool
    error: str
    caches: tuple[CachedVersions, ...]


def versions_of(kind: str, name: str, cache: AssumeCache[Obj]) -> CachedVersions:
    """Both versions of an object."""
    latest, informer = cache.latest.get(name), cache.informer.get(name)
    return CachedVersions(
        kind,
        name,
        latest is not informer,
        None if latest is None else latest.resource_version,
        None if informer is None else informer.resource_version,
    )

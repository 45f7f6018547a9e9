"""A cluster that stands still at its beginning, and what its files say: what triage and why ask."""

from __future__ import annotations

from dataclasses import dataclass

from engine.cluster.cluster import Cluster
from engine.diagnosis.observed.evidence import Evidence
from engine.input.load_result import LoadResult
from engine.input.scenario import Scenario
from engine.versions.shown.choices import proposed_version


@dataclass(frozen=True, slots=True)
class Standing:
    """A cluster at its beginning, and what its files say."""

    cluster: Cluster
    evidence: Evidence


def standing(loaded: LoadResult, profile: str | None, *, at: str) -> Standing:
    """The cluster of the files, of *profile*, else of the scenario's, else as its kubelets propose.

    *at* is the time of the import, for files that name none. Raises SimError or ValueError where no
    cluster can be made.
    """
    scenario = Scenario.from_load(loaded, name="files", at=at)
    evidence = Evidence.of(loaded)
    told = evidence.versions_told(scenario.served)
    name = profile or scenario.profile or proposed_version(told.versions)
    return Standing(Cluster.create(scenario, profile=name), evidence)

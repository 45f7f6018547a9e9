"""The first look and the triage of a cluster as it was brought: the file has no engine to ask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.cluster.cluster import Cluster
from engine.diagnosis.first_look.first_look import first_look
from engine.diagnosis.observed.evidence import Evidence
from engine.diagnosis.triage.triage import triage
from engine.input.scenario import Scenario
from kscope.exports.page.waiting import tries_changes


@dataclass(frozen=True, slots=True)
class Looks:
    """The answers of the resources first-look and triage; without `is_whole` no change was tried."""

    first_look: Mapping[str, Any]
    triage: Mapping[str, Any]


def looks_at(
    cluster: Cluster, scenario: Scenario, evidence: Evidence, report: Mapping[str, Any] | None
) -> Looks | None:
    """The looks at *cluster* at its beginning, which is of *scenario*; None for one that has steps.

    *evidence* is of the same files, and *report* says how they were read. The cluster is only read.
    """
    if not scenario.stands:
        return None
    look = first_look(cluster, scenario, evidence)
    tries = tries_changes(cluster)
    found = triage(cluster, evidence) if tries else look.triage
    return Looks(
        {"run": 0, **look.to_dict(), "report": report}, {**found.to_dict(), "is_whole": tries}
    )

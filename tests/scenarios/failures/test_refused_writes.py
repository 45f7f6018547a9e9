"""Writes of the PV controller that the API server refuses: what fails, how often, and when next."""

import pytest

from engine.cluster.cluster import Cluster
from engine.diagnosis.why import explain_object
from engine.input.scenario import Scenario
from engine.kernel.units import MILLISECOND, MINUTE, SECOND
from engine.kernel.view import State, fold
from tests.scenarios.cases import claim, fault, storage_class, volume

_REFUSED = fault(
    fail="write", by="pv-controller", kind="PersistentVolumeClaim", times=3, text="conflict"
)


def _played(profile: str, until: int) -> Cluster:
    objects = (storage_class("Immediate"), volume("pv"), claim("data"))
    scenario = Scenario(name="refused", objects=objects, steps=(_REFUSED,), until=MINUTE)
    cluster = Cluster.create(scenario, profile=profile)
    cluster.advance(until)
    return cluster


def _trouble(cluster: Cluster) -> dict[str, object]:
    view: State = {}
    for event in cluster.take().events:
        fold(view, event.changes or {})
    return view["claim/default/data"].get("trouble") or {}


@pytest.mark.parametrize("profile", ["v1.34", "v1.20"])
def test_claim_shows_refusals_and_the_resync(profile: str) -> None:
    trouble = _trouble(_played(profile, 2 * SECOND))
    assert (trouble["name"], trouble["error"]) == ("WriteRefused", "conflict")
    assert trouble["failures"] == 2
    assert trouble["retry_at"] == 15 * SECOND


def test_claim_is_well_after_its_write() -> None:
    assert _trouble(_played("v1.36", MINUTE)) == {}


def test_a_queue_that_retries_says_when() -> None:
    cluster = _played("v1.36", 0)
    while (cluster.recorder.troubles.get("claim/default/data") or {}).get("failures") != 3:
        assert cluster.next_at is not None
        cluster.advance(cluster.next_at, max_steps=1)
    trouble = cluster.recorder.troubles["claim/default/data"]
    assert trouble["retry_at"] - trouble["failed"] == 20 * MILLISECOND


def test_why_tells_of_refused_writes() -> None:
    found = explain_object(_played("v1.34", 2 * SECOND), "PersistentVolumeClaim", "default/data")
    told = next(each for each in found.causes if "refused a write" in each.sentence)
    assert "2 times in a row" in told.sentence
    assert told.why.startswith("It said: ")
    assert told.why.endswith(" It is tried again at 15.000 s.")

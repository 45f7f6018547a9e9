"""Real incidents: what a diagnosis has to name, and a fix that works when it is carried out.

`must_name` of incidents.json has to stand in the causes, as text or as data: not in the fixes.
"""

import json
from functools import cache
from typing import Any

import orjson
import pytest

from kscope.sim.input.loader import load_paths
from kscope.sim.input.scenario import Scenario
from kscope.sim.kernel.units import MILLISECOND, SECOND
from scheduling.engine.cluster.cluster import Cluster
from scheduling.engine.cluster.commands import Command
from scheduling.engine.diagnosis.report import Diagnosis, Fix
from scheduling.engine.diagnosis.subjects.goals import Goal
from scheduling.engine.diagnosis.why import explain_object
from tests.reasons.sentences import long_sentences
from tests.vectors import vector_set, why_absent

_FOLDER = vector_set("incidents")
_KINDS = {"pod": "Pod", "claim": "PersistentVolumeClaim", "replicaset": "ReplicaSet"}
# When to ask. The victim of incident 36 goes within a second here: its kubelet works.
_ASKED_AT = {"36": 500 * MILLISECOND}


def _incidents() -> list[Any]:
    listed = _FOLDER / "incidents.json"
    if not listed.exists():
        return [pytest.param({}, marks=pytest.mark.skip(reason=why_absent("incidents")))]
    return [pytest.param(each, id=each["file"]) for each in json.loads(listed.read_text())]


@cache
def _cluster_and_answer(file: str, kind: str, key: str) -> tuple[bytes, Diagnosis]:
    scenario = Scenario.from_load(load_paths([_FOLDER / file]), name=file)
    cluster = Cluster.create(scenario, profile="v1.34", seed=0)
    cluster.advance(_ASKED_AT.get(file[:2], 60 * SECOND))
    cluster.take()
    return cluster.checkpoint(), explain_object(cluster, kind, key)


def _asked(incident: dict[str, Any]) -> tuple[bytes, Diagnosis, str, str]:
    word, _, key = incident["subject"].partition(" ")
    blob, found = _cluster_and_answer(incident["file"], _KINDS[word], key)
    return blob, found, _KINDS[word], key


@pytest.mark.parametrize("incident", _incidents())
def test_the_causes_name_every_fact(incident: dict[str, Any]) -> None:
    _, found, _, _ = _asked(incident)
    told = orjson.dumps([each.to_dict() for each in found.causes]).decode().lower()
    missing = [
        fact
        for fact in incident["must_name"]
        if not any(word.strip().lower() in told for word in fact.split("|"))
    ]
    assert not missing, found.text()


@pytest.mark.parametrize("incident", _incidents())
def test_an_offered_fix_works_when_carried_out(incident: dict[str, Any]) -> None:
    blob, found, kind, key = _asked(incident)
    assert found.fixes, found.text()
    for fix in found.fixes:
        assert _is_reached(blob, fix, Goal(kind, key)), fix.text


def _is_reached(blob: bytes, fix: Fix, goal: Goal) -> bool:
    cluster = Cluster.restore(blob)
    for command in fix.commands:
        assert cluster.apply(Command.from_dict(command)).applied
    assert fix.at is not None
    cluster.advance(fix.at)
    pod = cluster.store.find(goal.kind, goal.key)
    if fix.node and pod is not None:
        return pod.spec.get("nodeName") == fix.node
    return bool(goal.outcome(cluster))


@pytest.mark.parametrize("incident", _incidents())
def test_sentences_have_thirty_words_at_most(incident: dict[str, Any]) -> None:
    _, found, _, _ = _asked(incident)
    assert not long_sentences(found)

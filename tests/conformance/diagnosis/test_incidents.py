"""Real incidents: what a diagnosis has to name, and a fix that works when it is carried out.

`must_name` of incidents.json has to stand in the causes, as text or as data: not in the fixes. The
folder `incidents` has some of our own, each rebuilt from the public thread that it names.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import pytest

from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.diagnosis.report import Diagnosis, Fix
from engine.diagnosis.subjects.goals import Goal
from engine.diagnosis.why import KIND_OF, explain_object
from engine.input.loader import load_paths
from engine.input.scenario import Scenario
from engine.kernel.units import MILLISECOND
from tests.reasons.sentences import long_sentences
from tests.vectors import vector_set, why_absent

_SHARED = vector_set("incidents")
OWN = Path(__file__).parent / "incidents"
# When to ask. The victim of incident 36 goes within a second here: its kubelet works.
_ASKED_AT = {"36": 500}
_MINUTE = 60_000


def incidents() -> list[Any]:
    """All of them, one parameter each; skipped where they are not at hand."""
    found = [
        pytest.param({**each, "folder": folder}, id=each["file"])
        for folder in (_SHARED, OWN)
        if (folder / "incidents.json").exists()
        for each in json.loads((folder / "incidents.json").read_text())
    ]
    if not (_SHARED / "incidents.json").exists():
        found.append(pytest.param({}, marks=pytest.mark.skip(reason=why_absent("incidents"))))
    return found


def _played() -> list[Any]:
    """Those that are asked after a minute, too. What the model cannot show has to be asked at once."""
    return [each for each in incidents() if "seen" not in each.values[0]]


@cache
def _cluster_and_answer(
    path: Path, profile: str, milliseconds: int, subject: str
) -> tuple[bytes, Diagnosis]:
    scenario = Scenario.from_load(load_paths([path]), name=path.name)
    cluster = Cluster.create(scenario, profile=profile, seed=0)
    cluster.advance(milliseconds * MILLISECOND)
    cluster.take()
    word, _, key = subject.partition(" ")
    return cluster.checkpoint(), explain_object(cluster, KIND_OF[word], key)


def _asked(incident: dict[str, Any]) -> tuple[bytes, Diagnosis, str, str]:
    file, subject = incident["file"], incident["subject"]
    milliseconds = incident.get("asked_at_ms", _ASKED_AT.get(file[:2], _MINUTE))
    blob, found = _cluster_and_answer(
        incident["folder"] / file, incident["profile"], milliseconds, subject
    )
    word, _, key = subject.partition(" ")
    return blob, found, KIND_OF[word], key


@pytest.mark.parametrize("incident", _played())
def test_the_causes_name_every_fact(incident: dict[str, Any]) -> None:
    _, found, _, _ = _asked(incident)
    named = orjson.dumps([each.to_dict() for each in found.causes]).decode().lower()
    missing = [
        fact
        for fact in incident["must_name"]
        if not any(word.strip().lower() in named for word in fact.split("|"))
    ]
    assert not missing, found.text()


@pytest.mark.parametrize("incident", _played())
def test_an_offered_fix_works_when_carried_out(incident: dict[str, Any]) -> None:
    blob, found, kind, key = _asked(incident)
    assert bool(found.fixes) == incident.get("offers_fix", True), found.text()
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
    drained = Goal(goal.kind, goal.key, drains=True)
    return bool(goal.outcome(cluster)) or ("a drain" in fix.text and bool(drained.outcome(cluster)))


@pytest.mark.parametrize("incident", _played())
def test_sentences_have_thirty_words_at_most(incident: dict[str, Any]) -> None:
    _, found, _, _ = _asked(incident)
    assert not long_sentences(found)

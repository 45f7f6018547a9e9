"""Cycles of real runs as the films of the front end get them: `python -m tests.films` writes them anew.

The browser's tests read them from tests/js/model/film/recorded.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from engine.cluster.cluster import Cluster
from engine.diagnosis.inside.steps import inside_volumes
from engine.diagnosis.inside.trace import Asked, VolumesTrace
from engine.input.loader import load_paths
from engine.input.scenario import Scenario
from engine.kernel.trace import Trace
from engine.kernel.units import SECOND
from engine.scheduler.cycle.inside.answer import Cycle, cycle_inside
from engine.scheduler.queue.trace_steps import Popped
from tests.builders import node, pod, scene

_ROOT = Path(__file__).resolve().parents[1]
RECORDED = _ROOT / "tests" / "js" / "model" / "film" / "recorded"


@dataclass(frozen=True, slots=True)
class Take:
    """One cycle of a demo: its version and seed, and how long the run plays."""

    demo: str
    cycle: int
    profile: str = "v1.36"
    seed: int = 0
    seconds: int = 20


TAKES = {
    "placed": Take("checkout-surge", 6, "v1.34", 11, 6),
    "preempts": Take("budget-cascade", 3),
    "nominated": Take("budget-cascade", 5),
    "fails": Take("fits-nowhere", 2),
    "refused": Take("half-bound", 1),
    "undone": Take("all-or-none", 2),
    "rounds": Take("local-volumes", 1, "v1.11"),
    "large": Take("", 2, seconds=2),
}

NAMES = (*TAKES, "claim")


def film(take: Take) -> dict[str, Any]:
    """What the REST interface answers about a cycle, and the events that its film needs."""
    cluster = Cluster.create(_scenario(take.demo), profile=take.profile, seed=take.seed)
    trace = cluster.loop.trace = Trace(cluster.loop, cluster.recorder)
    cluster.advance(take.seconds * SECOND)
    told = _told(trace, take)
    events = [event for event in cluster.take().events if event.object in _objects(told)]
    start = f"cycle {take.cycle}, attempt"
    seq = next(event.seq for event in events if event.message.startswith(start))
    fields = ("seq", "at", "kind", "object", "component", "message")
    return {
        "answer": {"run": 1, "seq": seq, "cycle": take.cycle, **asdict(told)},
        "events": [
            {name: getattr(event, name) for name in fields} for event in events if event.seq >= seq
        ],
    }


def claim_film() -> dict[str, Any]:
    """What the REST interface answers about a claim that waits for its first consumer."""
    cluster = Cluster.create(_scenario("checkout-surge"), profile="v1.34", seed=11)
    trace = VolumesTrace(cluster, Asked("shop/data-ledger-0", "", ""))
    cluster.loop.trace = trace
    cluster.advance(6 * SECOND)
    return {"answer": {"run": 1, "seq": cluster.seq, **asdict(inside_volumes(trace, "v1.34"))}}


def written(name: str) -> str:
    """A film as the file has it."""
    told = film(TAKES[name]) if name in TAKES else claim_film()
    return json.dumps(told, ensure_ascii=False, separators=(",", ":")) + "\n"


def _scenario(demo: str) -> Scenario:
    if demo:
        loaded = load_paths([_ROOT / "scenarios" / f"{demo}.yaml"])
        return Scenario.from_load(loaded, name=demo)
    nodes = [node(f"n{place:02}", cpu="1" if place % 3 else "4") for place in range(90)]
    return scene(*nodes, pod("first", cpu="2"), pod("second", cpu="2"))


def _told(trace: Trace, take: Take) -> Cycle:
    entity = next(
        step.entity for step, pop in trace.each(Popped) if pop.scheduling_cycle == take.cycle
    )
    told = cycle_inside(trace.entries, take.profile, entity, take.cycle)
    assert told is not None
    return told


def _objects(told: Cycle) -> tuple[str, ...]:
    """The pod, its volumes and claims, and its victims."""
    return (f"pod/{told.pod}", *_stored(told), *_victims(told))


def _stored(told: Cycle) -> Iterator[str]:
    for assumed in told.volumes.assumed if told.volumes else ():
        yield from (f"{each.kind}/{each.name}" for each in assumed.caches)


def _victims(told: Cycle) -> Iterator[str]:
    for candidate in told.post_filter.outcome.candidates if told.post_filter else ():
        yield from (f"pod/{victim}" for victim in candidate.victims)


if __name__ == "__main__":
    RECORDED.mkdir(exist_ok=True)
    for name in NAMES:
        (RECORDED / f"{name}.json").write_text(written(name))

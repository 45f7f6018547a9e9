"""The OpenB trace of a GPU cluster: 1,523 nodes, 8,152 pods, decided one after the other.

Looked for in $KSCOPE_OPENB, or in shared/data/openb beside the checkout. GPU share is an extended
resource in milli; gpu_spec is a node affinity on the model's label. Departures are left out.
"""

import csv
import os
from pathlib import Path
from typing import Any

from bench.shapes import Manifest
from bench.size import usual
from bench.table import Row, seconds
from engine.input.formats.openb import node_of, pod_of
from engine.kernel.rng import Streams
from engine.objects.objects import from_manifest
from engine.scheduler.configuration.profiles import PROFILES
from engine.scheduler.cycle.decisions_mode.decide import decide


def folder() -> Path:
    """Where the trace is, if it is anywhere."""
    beside = Path(__file__).resolve().parent.parent.parent / "shared" / "data" / "openb"
    return Path(os.environ.get("KSCOPE_OPENB") or beside)


def bench(full: bool = False) -> list[Row]:
    """One row: the time for the whole trace without evidence, beside that with evidence."""
    if not folder().is_dir():
        print(f"\n  skipped: no trace in {folder()}; set KSCOPE_OPENB")
        return []
    placed, quick_s = _decide(evidence=False, every=usual(1, least=500))
    share = 1 if full else usual(8, least=500)
    _, slow_s = _decide(evidence=True, every=share)
    return [
        Row(
            name="8,152 pods on 1,523 nodes",
            figure=quick_s,
            unit="s",
            baseline=slow_s * share,
            against="with all evidence" + ("" if full else f" (every {share}th pod, scaled)"),
            given="about 50 s",
            aim=3,
            at_least=False,
            note=f"{placed:,} placed; the real scheduler places 8,103",
        )
    ]


def _decide(*, evidence: bool, every: int = 1) -> tuple[int, float]:
    objects = [from_manifest(raw) for raw in (*nodes(), *pods()[::every])]
    found: dict[str, Any] = {}

    def work() -> None:
        ties = Streams(0).stream("ties")
        found.update(decide(objects, PROFILES["v1.34"], ties=ties, evidence=evidence))

    took = seconds(work)
    return sum(bool(node) for node in found["final"]["pods"].values()), took


def nodes() -> list[Manifest]:
    """The trace's nodes."""
    return [node_of(row) for row in _rows("openb_node_list_all_node.csv")]


def pods(name: str = "openb_pod_list_default.csv") -> list[Manifest]:
    """The trace's pods, in order of creation."""
    rows = sorted(_rows(name), key=lambda row: int(row["creation_time"]))
    return [pod_of(row) for row in rows]


def _rows(name: str) -> list[dict[str, str]]:
    with (folder() / name).open() as file:
        return list(csv.DictReader(file))

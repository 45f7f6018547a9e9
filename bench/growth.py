"""How the engine grows: with nodes, with pods already placed, and in memory.

Each size runs in a process of its own, so that memory is its own too. The baseline is what linear
growth from the smallest size would give.
"""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from bench.shapes import SHAPES, pod
from bench.size import usual
from bench.table import Row, median, most_mib

# One unit of placed pods, or of nodes.
UNIT = usual(1_000, least=4)
FEW, MANY = UNIT, 5 * UNIT
SIZES = ((FEW, 0), (MANY, 0), *((MANY, times * UNIT) for times in (1, 10, 50)))
PODS = usual(500, least=5)


def bench(full: bool = False) -> list[Row]:
    """Microseconds per pod by size, and the memory of the largest."""
    found = {size: _in_a_process(*size) for size in SIZES}
    small = found[FEW, 0]
    rows = [
        Row(
            name=f"{MANY:,} nodes, nothing placed",
            figure=found[MANY, 0]["us"],
            unit="µs/pod",
            baseline=small["us"],
            against=f"{FEW:,} nodes",
            aim=5 * small["us"],
            at_least=False,
        )
    ]
    few = found[MANY, UNIT]
    for (nodes, placed), measured in found.items():
        if placed > UNIT:
            rows.append(
                Row(
                    name=f"{nodes:,} nodes, {placed:,} placed",
                    figure=measured["us"],
                    unit="µs/pod",
                    baseline=few["us"],
                    against=f"{UNIT:,} placed",
                    aim=placed / UNIT * few["us"],
                    at_least=False,
                )
            )
    nodes, placed = max(found)
    rows.append(
        Row(
            name=f"memory, {nodes:,} nodes, {placed:,} placed",
            figure=found[nodes, placed]["mib"],
            unit="MiB",
            baseline=small["mib"],
            against=f"{FEW:,} nodes, nothing placed",
            aim=1_024,
            at_least=False,
            note="the largest the process ever was",
        )
    )
    return rows


def _in_a_process(nodes: int, placed: int) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", "bench.growth", str(nodes), str(placed)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).resolve().parent.parent,
        check=True,
    )
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def _measure(nodes: int, placed: int) -> dict[str, float]:
    from bench.engine import place, prepared

    def already_placed(_shape: object) -> list[dict[str, object]]:
        names = (f"node-{index % nodes}" for index in range(placed))
        return [pod(f"old-{i}", cpu="10m", node=name) for i, name in enumerate(names)]

    shape = replace(SHAPES[0], nodes=nodes, warm_up=usual(100, least=1), objects=already_placed)
    cluster = prepared(shape)
    rates = [place(cluster, shape, f"round-{turn}", PODS).rate for turn in range(3)]
    return {"us": 1e6 / median(rates), "mib": most_mib()}


if __name__ == "__main__":
    print(json.dumps(_measure(int(sys.argv[1]), int(sys.argv[2]))))

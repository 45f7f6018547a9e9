"""A CEL expression is refused with its path and value, or it plays to the end of its run."""

import gc
import json
import os
from random import Random

from engine.cluster.cluster import Cluster
from engine.input.loader import load_files
from engine.kernel.units import SECOND
from tests.builders import (
    Manifest,
    claims_in_pod,
    device,
    device_class,
    device_request,
    node,
    node_of,
    pod,
    resource_claim,
    resource_slice,
    scene,
)
from tests.fuzz.expressions import expression
from tests.fuzz.limits import Tally

KIND = "expressions"
EACH_RUN = 10
_COLLECTED_EACH = 500
_PLACE = "spec.selectors[0].cel.expression"


def _asking(name: str, selects: str) -> tuple[Manifest, Manifest, Manifest]:
    """A class with that expression, a claim of it, and a pod that waits for the claim."""
    request = device_request("r", name)
    claim = resource_claim(name, request)
    return device_class(name, selects), claim, pod(name, **claims_in_pod(name))


def _is_refused(made: Manifest) -> bool:
    """Whether the class is refused when it is imported, with the path and the value."""
    loaded = load_files([("a.json", json.dumps(made).encode())])
    for problem in loaded.problems:
        assert problem.field == _PLACE, problem
        assert problem.message, problem
        assert problem.value, problem
    return not loaded.ok


def _played(numbers: range) -> int:
    """How many of the expressions of these numbers are accepted; they are played in one run."""
    gpu = device(
        "gpu-0",
        memory="40Gi",
        attributes={"model": "a", "numa": 1, "driverVersion": {"version": "1.10.0"}},
    )
    objects: list[Manifest] = [node("n1"), resource_slice("n1", [gpu])]
    asked = [_asking(f"c{number}", expression(Random(f"{KIND} {number}"))) for number in numbers]
    accepted = [parts for parts in asked if not _is_refused(parts[0])]
    for parts in accepted:
        objects += parts
    late = (1, "create", {"manifest": pod("late")})
    cluster = Cluster.create(scene(*objects, steps=(late,), until=30 * SECOND))
    cluster.advance(30 * SECOND)
    for row in cluster.take().rows:
        row.message.encode()
    assert not cluster.failure
    assert not cluster.unexpected
    assert node_of(cluster, "late") == "n1", "others are scheduled"
    return len(accepted)


def test_expressions_are_refused_or_played() -> None:
    if os.environ.get("FUZZ_KIND", KIND) != KIND:
        return
    first, count = int(os.environ.get("FUZZ_FIRST", 0)), int(os.environ.get("FUZZ_COUNT", 200))
    tally, accepted = Tally(KIND), 0
    for start in range(first, first + count, EACH_RUN):
        numbers = range(start, min(start + EACH_RUN, first + count))

        def give(numbers: range = numbers) -> bool:
            nonlocal accepted
            accepted += (found := _played(numbers))
            return found > 0

        tally.watch(start, give)
        if start % _COLLECTED_EACH == 0 and start > first:
            # Dead clusters by the hundred take seconds, which would be told of one expression.
            gc.collect()
    print(f"{tally}; {accepted:,} of {count:,} expressions accepted")
    assert not tally.findings, "\n".join([str(tally), *tally.findings.values()])

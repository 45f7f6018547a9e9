"""The allocator beside a literal port of upstream's, on random worlds.

10,000 worlds were compared when the port was written; the suite runs the first few hundred.
"""

from __future__ import annotations

from collections import Counter

import pytest

from engine.framework.nodes.listers import Listers
from engine.objects.objects import from_manifest
from engine.objects.values.quantity import parse
from engine.plugins.dynamic_resources.allocation.allocated_devices import AllocatedDevices
from engine.plugins.dynamic_resources.allocation.devices import DeviceClass
from engine.plugins.dynamic_resources.allocation.requests import ClaimRequests
from engine.plugins.dynamic_resources.allocation.search.allocator import (
    AllocationError,
    Allocator,
    AllocatorRules,
)
from engine.plugins.dynamic_resources.allocation.search.published import ListedSlices
from engine.plugins.dynamic_resources.allocation_results import allocation
from tests.engine.plugins.dynamic_resources.device_worlds import World, matches, world
from tests.engine.plugins.dynamic_resources.upstream_allocator import (
    FailedOnNode,
    LiteralError,
    Manifest,
    Node,
    OutOfSteps,
    UpstreamAllocator,
    gather_allocated_state,
)

WORLDS = 400
PARTS = 8
STEPS = 3_000

Outcome = tuple[str, object]


def upstream(made: World) -> UpstreamAllocator:
    state = gather_allocated_state(made.allocated)
    return UpstreamAllocator(made.slices, made.classes, state, matches)


def ours(made: World) -> Allocator:
    classes = {name: DeviceClass.parse(from_manifest(each)) for name, each in made.classes.items()}
    listers = Listers()
    for each in (*made.slices, *made.allocated):
        listers.put(from_manifest(each))
    index, allocated = ListedSlices(listers).index, AllocatedDevices(listers)
    return Allocator(index, classes.get, allocated.state(), AllocatorRules())


def upstream_outcome(allocator: UpstreamAllocator, made: World, node: Node) -> Outcome:
    try:
        found = allocator.allocate(node, made.claims, STEPS)
    except FailedOnNode as error:
        return "error on node", str(error)
    except LiteralError as error:
        return "error", str(error)
    return ("none", None) if found is None else ("found", found)


def outcome(allocator: Allocator, made: World, node: Node) -> Outcome:
    claims = [ClaimRequests.parse(from_manifest(each)) for each in made.claims]
    try:
        found = allocator.allocate(claims, *node)
    except AllocationError as error:
        text = str(error)
        return ("error on node" if text.startswith("invalid resource pools") else "error"), text
    if found is None:
        return "none", None
    written = [
        allocation(claim, devices, allocator.classes, node[0], "uid")
        for claim, devices in zip(claims, found, strict=True)
    ]
    return "found", [_comparable(each) for each in written]


def _comparable(written: Manifest) -> Manifest:
    """Without share IDs, and with amounts as numbers."""
    for result in written["devices"]["results"]:
        result.pop("shareID", None)
        if "consumedCapacity" in result:
            result["consumedCapacity"] = {
                name: parse(amount).nanos for name, amount in result["consumedCapacity"].items()
            }
    return written


def compare(seed: int, seen: Counter[str]) -> None:
    """Allocate on every node of a world; *seen* counts the outcomes."""
    made = world(seed)
    expected_by, found_by = upstream(made), ours(made)
    for node in made.nodes:
        try:
            expected = upstream_outcome(expected_by, made, node)
        except OutOfSteps:
            seen["too long"] += 1
            return
        seen[expected[0]] += 1
        assert outcome(found_by, made, node) == expected, f"seed {seed}, node {node[0]}"


@pytest.mark.parametrize("part", range(PARTS))
def test_upstream_allocates_the_same_devices(part: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(part, WORLDS, PARTS):
        compare(seed, seen)
    assert min(seen["found"], seen["none"], seen["error"]) > 0
    assert seen["too long"] < WORLDS // PARTS // 10

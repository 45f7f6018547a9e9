"""Matching one claim among 10,000 volumes, and binding 10,000 claims by the PV controller."""

from random import Random
from typing import cast

from bench.shapes import claim, scenario, volume
from bench.table import Row, median, seconds
from kscope.sim.objects import PersistentVolume, PersistentVolumeClaim, from_manifest
from kscope.sim.units import MINUTE
from scheduling.engine.cluster import Cluster
from volumes.engine.matching import VolumeIndex, find_matching_volume

VOLUMES = 10_000
ASKED = 2_000
SCANNED = 20


def bench(full: bool = False) -> list[Row]:
    """Matching cost per claim, and claims bound per second."""
    return [_matching(), _binding(VOLUMES if full else 3_000)]


def _matching() -> Row:
    """The claims ask for what random volumes have, so that the search ends anywhere in the order."""
    chance = Random(1)
    volumes = [
        cast("PersistentVolume", from_manifest(_available(f"pv-{i}", chance.randint(1, 500))))
        for i in range(VOLUMES)
    ]
    claims = [
        cast("PersistentVolumeClaim", from_manifest(claim(f"c-{i}", chance.randint(1, 500), "")))
        for i in range(ASKED)
    ]
    index = VolumeIndex(volumes)
    for each in claims[:5]:
        found = index.find_best_match_for_claim(each, delay_binding=False)
        looked_for = find_matching_volume(each, volumes)
        # Among volumes of one size the index takes the smaller name, the loop the earlier one.
        assert _size(found) == _size(looked_for)
    found_s = median(
        seconds(lambda: [index.find_best_match_for_claim(c, delay_binding=False) for c in claims])
        for _ in range(3)
    )
    scanned_s = seconds(lambda: [find_matching_volume(c, volumes) for c in claims[:SCANNED]])
    return Row(
        name=f"matching a claim among {VOLUMES:,} volumes",
        figure=found_s / ASKED * 1e6,
        unit="µs",
        baseline=scanned_s / SCANNED * 1e6,
        against="upstream's loop over all",
        aim=100,
        at_least=False,
    )


def _size(found: PersistentVolume | None) -> int:
    return found.capacity_bytes if found else 0


def _available(name: str, gibibytes: int) -> dict[str, object]:
    return {**volume(name, gibibytes), "status": {"phase": "Available"}}


def _binding(count: int) -> Row:
    """From the first watch event to the last claim bound, every write of the binding included."""
    took = {size: _bind_all(size) for size in (count // 10, count)}
    return Row(
        name=f"PV controller, {count:,} claims on {count:,} volumes",
        figure=count / took[count],
        unit="claims/s",
        baseline=count // 10 / took[count // 10],
        against=f"the same with {count // 10:,}",
        aim=5_000,
        note="events recorded in memory, not encoded",
    )


def _bind_all(count: int) -> float:
    chance = Random(2)
    sizes = [chance.randint(1, 500) for _ in range(count)]
    objects = [volume(f"pv-{i}", size) for i, size in enumerate(sizes)]
    objects += [claim(f"claim-{i}", size, "") for i, size in enumerate(sizes)]
    cluster = Cluster.create(scenario("claims", objects))
    took = seconds(lambda: cluster.advance(MINUTE))
    waiting = [c.key for c in cluster.store.objects("PersistentVolumeClaim") if not _is_bound(c)]
    assert not waiting, f"{len(waiting)} claims wait, the first is {waiting[0]}"
    return took


def _is_bound(obj: object) -> bool:
    return isinstance(obj, PersistentVolumeClaim) and obj.phase == "Bound"

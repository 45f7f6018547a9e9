"""Which claim has a device, found without a look at all claims."""

from random import Random
from typing import Any

import pytest

from engine.framework.nodes.listers import Listers
from engine.objects.objects import ApiObject, from_manifest
from engine.objects.pods.resource_claims import RESOURCE_CLAIM
from engine.plugins.dynamic_resources.allocation import device_holders
from engine.plugins.dynamic_resources.allocation.claims import results_of
from engine.plugins.dynamic_resources.allocation.device_holders import DeviceHolders
from engine.plugins.dynamic_resources.allocation.devices import DeviceID
from tests.builders import resource_claim


def allocated(name: str, *devices: str) -> ApiObject:
    results = [{"driver": "d", "pool": "n", "device": each, "request": "r"} for each in devices]
    status = {"allocation": {"devices": {"results": results}}}
    return from_manifest({**resource_claim(name), "status": status})


def looked_up(listers: Listers) -> dict[str, str]:
    """The same, by a look at all claims in order."""
    return {
        each["device"]: claim.key
        for claim in listers.all(RESOURCE_CLAIM)
        for each in results_of(claim)
    }


@pytest.mark.parametrize("seed", range(20))
def test_holders_are_the_last_claims_with_them(seed: int) -> None:
    chance, listers = Random(seed), Listers()
    holders = DeviceHolders(listers)
    for _ in range(30):
        name = f"c{chance.randrange(4)}"
        if chance.random() < 0.3:
            listers.remove(RESOURCE_CLAIM, f"default/{name}")
        else:
            listers.put(allocated(name, *chance.choices("abc", k=chance.randrange(3))))
        wanted = looked_up(listers)
        found = {each: holders.holder(DeviceID("d", "n", each)) for each in "abc"}
        assert found == {each: wanted.get(each, "") for each in "abc"}


def test_a_changed_claim_alone_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def count(claim: ApiObject) -> Any:
        read.append(claim.name)
        return results_of(claim)

    monkeypatch.setattr(device_holders, "results_of", count)
    listers = Listers()
    for place in range(5):
        listers.put(allocated(f"c{place}", f"gpu-{place}"))
    holders = DeviceHolders(listers)
    assert holders.holder(DeviceID("d", "n", "gpu-3")) == "default/c3"
    read.clear()
    listers.put(allocated("c3", "gpu-9"))
    assert holders.holder(DeviceID("d", "n", "gpu-9")) == "default/c3"
    assert read == ["c3"]

"""What plugins look up: services by the labels of the pods that they select."""

from random import Random
from typing import Any

import pytest

from engine.framework.nodes.listers import Listers
from engine.objects.objects import ApiObject, from_manifest


def service(name: str, selector: dict[str, str | None]) -> ApiObject:
    metadata = {"name": name, "namespace": "default"}
    body: dict[str, Any] = {"apiVersion": "v1", "kind": "Service", "metadata": metadata}
    return from_manifest({**body, "spec": {"selector": selector}})


def selects(one: ApiObject, labels: dict[str, str]) -> bool:
    return all(labels.get(key) == value for key, value in one.spec["selector"].items())


@pytest.mark.parametrize("seed", range(20))
def test_services_are_found_in_their_order(seed: int) -> None:
    chance, listers = Random(seed), Listers()
    for _ in range(40):
        name = f"s{chance.randrange(5)}"
        if chance.random() < 0.3:
            listers.remove("Service", f"default/{name}")
        else:
            keys = chance.sample("ab", chance.randrange(3))
            listers.put(service(name, {key: chance.choice(["x", "y", None]) for key in keys}))
        labels = {key: chance.choice("xy") for key in chance.sample("ab", chance.randrange(3))}
        found = listers.services_selecting("default", labels)
        wanted = [one for one in listers.all("Service") if selects(one, labels)]
        assert [one for one in found if selects(one, labels)] == wanted


def test_services_for_other_labels_are_left() -> None:
    listers = Listers()
    for place in range(4):
        listers.put(service(f"s{place}", {"app": f"a{place}", "tier": "web"}))
    found = listers.services_selecting("default", {"app": "a2", "tier": "db"})
    assert [one.name for one in found] == ["s2"]

"""Random clusters with devices, and claims to allocate in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, TypeVar

from tests.builders import device_class, resource_claim, selectors
from tests.engine.plugins.dynamic_resources.upstream_allocator import (
    LiteralError,
    Manifest,
    Node,
    nanos,
)

Value = TypeVar("Value")

GPU, NIC = "gpu.example.com", "nic.example.com"
ZONES = ("a", "b")
# What the expressions of the worlds ask of the model, the index and the memory of a device.
MODEL = 'device.attributes["gpu.example.com"].model == "{}"'
MODEL_IF_ANY = '"model" in device.attributes["gpu.example.com"] && ' + MODEL
INDEX = "device.attributes[device.driver].index >= {}"
MEMORY = 'device.capacity[device.driver].memory.compareTo(quantity("{}")) >= 0'
SHARED = "device.allowMultipleAllocations == true"
DRIVER = 'device.driver == "{}"'


@dataclass(frozen=True)
class World:
    nodes: list[Node]
    slices: list[Manifest]
    classes: dict[str, Manifest]
    allocated: list[Manifest]
    claims: list[Manifest]


def matches(expression: str, driver: str, device: Manifest) -> bool:
    """What the expressions of a world answer, without CEL. Raises LiteralError."""
    attributes: Manifest = device.get("attributes", {})
    if expression.startswith('"model" in '):
        return "model" in _of(driver, attributes) and matches(
            expression.partition(" && ")[2], driver, device
        )
    argument = expression.rpartition(" ")[2].strip('"')
    if expression == MODEL.format(argument):
        model = _of(driver, attributes).get("model")
        if model is None:
            raise LiteralError("no such key: model")
        return bool(model["string"] == argument)
    if expression == INDEX.format(argument):
        if "index" not in attributes:
            raise LiteralError("no such key: index")
        return bool(attributes["index"]["int"] >= int(argument))
    if expression == SHARED:
        return bool(device.get("allowMultipleAllocations"))
    if expression == DRIVER.format(argument):
        return driver == argument
    least = expression.split('"')[1]
    assert expression == MEMORY.format(least)
    if "memory" not in device.get("capacity", {}):
        raise LiteralError("no such key: memory")
    return nanos(device["capacity"]["memory"]["value"]) >= nanos(least)


def _of(driver: str, attributes: Manifest) -> Manifest:
    """The attributes in the domain gpu.example.com, by their plain names."""
    plain = {name: each for name, each in attributes.items() if "/" not in name}
    in_domain = {
        name.partition("/")[2]: each
        for name, each in attributes.items()
        if name.startswith(f"{GPU}/")
    }
    return {**(plain if driver == GPU else {}), **in_domain}


def world(seed: int) -> World:
    """The world of that seed."""
    return _Maker(Random(seed)).world()


class _Maker:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.is_strict = random.random() < 0.6
        """Nothing in the world leads to an error, so that searches go on to their end."""
        self.partitions = random.random() < 0.4
        self.sharing = random.random() < 0.4
        self.conditions = random.random() < 0.15

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def one(self, values: Sequence[Value]) -> Value:
        return self.random.choice(values)

    def world(self) -> World:
        nodes = [
            (f"n{place}", {"zone": self.one(ZONES), "kubernetes.io/hostname": f"n{place}"})
            for place in range(self.random.randint(1, 3))
        ]
        slices: list[Manifest] = []
        for driver in (GPU, NIC) if self.chance(0.5) else (GPU,):
            names = self.random.sample(("n0", "n1", "n2", "pool"), self.random.randint(1, 3))
            for name in names:
                slices += self.pool(driver, name)
        self.random.shuffle(slices)
        allocated = [
            claim
            for place in range(self.random.randint(0, 3))
            if (claim := self.allocated_claim(place, slices)) is not None
        ]
        claims = [self.claim(f"c{place}") for place in range(self.one((1, 1, 2, 3)))]
        return World(nodes, slices, self.classes(), allocated, claims)

    # -- slices ----------------------------------------------------------------------------------

    def pool(self, driver: str, name: str) -> list[Manifest]:
        """The slices of a pool, some of an older generation, not always all of them."""
        generation = self.random.randint(1, 3)
        slices = self.slices_of_generation(driver, name, generation)
        if self.chance(0.15):
            slices += self.slices_of_generation(driver, name, generation + 1)
        if self.chance(0.0 if self.is_strict else 0.15):
            slices.pop(self.random.randrange(len(slices)))
        return slices

    def slices_of_generation(self, driver: str, name: str, generation: int) -> list[Manifest]:
        sets = self.counter_sets() if self.partitions else []
        count = self.random.randint(1, 3)
        specs: list[Manifest] = []
        if sets:
            specs.append({"sharedCounters": sets, **self.reach(name)})
        where = self.reach(name)
        for place in range(count):
            reach = where if self.chance(0.7) else self.reach(name)
            devices = [
                self.device(f"d{place}-{number}", sets)
                for number in range(self.random.randint(0, 4))
            ]
            if devices and self.chance(0.0 if self.is_strict else 0.05):
                devices.append(self.device(devices[0]["name"], sets))
            if reach.get("perDeviceNodeSelection"):
                for each in devices:
                    each.update(self.reach(name, per_device=False))
            specs.append({**reach, "devices": devices})
        total = len(specs)
        names = self.random.sample(range(100), total)
        return [
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceSlice",
                "metadata": {"name": f"{driver}-{name}-{generation}-{number:02}"},
                "spec": {
                    "driver": driver,
                    "pool": {"name": name, "generation": generation, "resourceSliceCount": total},
                    **spec,
                },
            }
            for number, spec in zip(names, specs, strict=True)
        ]

    def reach(self, pool: str, *, per_device: bool = True) -> Manifest:
        choice = self.random.randrange(5 if per_device else 4)
        if choice == 0:
            return {"allNodes": True}
        if choice == 1:
            zone = {"key": "zone", "operator": "In", "values": [self.one(ZONES)]}
            return {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [zone]}]}}
        if choice == 4:
            return {"perDeviceNodeSelection": True}
        return {"nodeName": pool if pool != "pool" else self.one(("n0", "n1"))}

    def counter_sets(self) -> list[Manifest]:
        return [
            {
                "name": f"card-{place}",
                "counters": {
                    name: {"value": str(self.random.randint(1, 6))} for name in ("memory", "cores")
                },
            }
            for place in range(self.random.randint(1, 2))
        ]

    def device(self, name: str, sets: Sequence[Manifest]) -> Manifest:
        found: Manifest = {"name": name, "attributes": self.attributes(), "capacity": {}}
        if self.is_strict or self.chance(0.9):
            found["capacity"]["memory"] = self.capacity()
        if self.chance(0.2):
            found["capacity"]["lanes"] = {"value": self.one(("0", "4"))}
        if self.sharing and self.chance(0.6):
            found["allowMultipleAllocations"] = True
        if sets and self.chance(0.8):
            found["consumesCounters"] = [
                self.consumption(each) for each in sets if self.chance(0.7)
            ]
        if self.chance(0.2):
            found["taints"] = [self.taint() for _ in range(self.random.randint(1, 2))]
        if self.conditions and self.chance(0.4):
            found["bindingConditions"] = ["ready"]
            found["bindingFailureConditions"] = ["broken"]
            if self.chance(0.5):
                found["bindsToNode"] = True
        return found

    def attributes(self) -> Manifest:
        found: Manifest = {}
        if self.is_strict or self.chance(0.9):
            found[self.one(("model", f"{GPU}/model"))] = {"string": self.one(("a", "b"))}
        if self.is_strict or self.chance(0.9):
            found["index"] = {"int": self.random.randint(0, 2)}
        if self.chance(0.8):
            name = self.one(("rack", f"{GPU}/rack"))
            found[name] = self.one(
                ({"int": 1}, {"int": 0}, {"bool": True}, {"string": "1"}, {"version": "1.0.0"})
            )
        return found

    def capacity(self) -> Manifest:
        found: Manifest = {"value": self.one(("4Gi", "8Gi", "16Gi"))}
        choice = self.random.randrange(5)
        if choice == 0:
            found["requestPolicy"] = {
                "default": self.one(("1Gi", "2Gi")),
                "validRange": self.valid_range(),
            }
        elif choice == 1:
            found["requestPolicy"] = {"default": "2Gi", "validValues": ["1Gi", "2Gi", "4Gi"]}
        elif choice == 2:
            found["requestPolicy"] = {"default": "4Gi"}
        return found

    def valid_range(self) -> Manifest:
        found = {"min": "1Gi"}
        if self.chance(0.5):
            found["max"] = "4Gi"
        if self.chance(0.5):
            found["step"] = self.one(("512Mi", "1Gi"))
        return found

    def consumption(self, counter_set: Manifest) -> Manifest:
        amounts = {
            name: {"value": str(self.random.randint(0, 3))}
            for name in counter_set["counters"]
            if self.chance(0.8)
        }
        if self.chance(0.0 if self.is_strict else 0.04):
            amounts["unknown"] = {"value": "1"}
        return {"counterSet": counter_set["name"], "counters": amounts}

    def taint(self) -> Manifest:
        return {
            "key": self.one(("hot", "old")),
            "value": self.one(("", "very")),
            "effect": self.one(("NoSchedule", "NoExecute", "None")),
        }

    # -- claims ----------------------------------------------------------------------------------

    def classes(self) -> dict[str, Manifest]:
        config = {"opaque": {"driver": GPU, "parameters": {"mode": "fast"}}}
        return {
            "gpu": device_class("gpu", DRIVER.format(GPU), config=[config]),
            "any": device_class("any"),
            "large": device_class("large", MEMORY.format("8Gi"), config=[config, config]),
        }

    def allocated_claim(self, place: int, slices: Sequence[Manifest]) -> Manifest | None:
        """A claim that has devices already, of any generation of their pools."""
        devices = [(one["spec"], each) for one in slices for each in one["spec"].get("devices", [])]
        if not devices:
            return None
        results: list[Manifest] = []
        for spec, each in self.random.sample(devices, min(len(devices), self.random.randint(1, 2))):
            result = {
                "request": "r0",
                "driver": spec["driver"],
                "pool": spec["pool"]["name"],
                "device": each["name"],
            }
            if each.get("allowMultipleAllocations"):
                result["shareID"] = f"share-{place}-{len(results)}"
                result["consumedCapacity"] = {
                    name: self.one(("0", "1Gi", "2Gi")) for name in each["capacity"]
                }
            elif self.chance(0.2):
                result["adminAccess"] = True
            results.append(result)
        claim = resource_claim(f"given-{place}", {"name": "r0", "exactly": self.fields()})
        return {**claim, "status": {"allocation": {"devices": {"results": results}}}}

    def claim(self, name: str) -> Manifest:
        requests: list[Manifest] = []
        for place in range(self.one((1, 1, 2, 3))):
            if self.chance(0.25):
                several = [
                    {"name": f"s{each}", **self.fields(is_sub_request=True)}
                    for each in range(self.random.randint(1, 3))
                ]
                requests.append({"name": f"r{place}", "firstAvailable": several})
            else:
                requests.append({"name": f"r{place}", "exactly": self.fields()})
        devices: Manifest = {}
        if self.chance(0.3):
            devices["constraints"] = [
                self.constraint(requests) for _ in range(self.random.randint(1, 2))
            ]
        if self.chance(0.2):
            opaque: Manifest = {"opaque": {"driver": GPU, "parameters": {"mode": "slow"}}}
            if self.chance(0.7):
                opaque["requests"] = self.some_requests(requests)
            devices["config"] = [opaque]
        return resource_claim(name, *requests, **devices)

    def fields(self, *, is_sub_request: bool = False) -> Manifest:
        names = (
            ("gpu", "gpu", "any", "large") if self.is_strict else ("gpu", "any", "large", "lost")
        )
        found: Manifest = {"deviceClassName": self.one(names)}
        if found["deviceClassName"] == "lost" and self.chance(0.8):
            found["deviceClassName"] = "gpu"
        kind = self.random.randrange(10)
        if kind == 0:
            found["allocationMode"] = "All"
        elif kind == 1 and is_sub_request:
            found |= {"allocationMode": "ExactCount", "count": self.one((31, 32, 40))}
        elif kind < 5:
            found |= {"allocationMode": "ExactCount", "count": self.random.randint(1, 3)}
        if self.chance(0.3):
            found["selectors"] = selectors(self.expression())
        if self.chance(0.3):
            found["tolerations"] = [self.toleration() for _ in range(self.random.randint(1, 2))]
        if self.chance(0.5 if self.sharing else 0.1):
            amount = self.one(("0", "512Mi", "1Gi", "1536Mi", "3Gi", "20Gi"))
            found["capacity"] = {"requests": {self.one(("memory",) * 4 + ("lanes",)): amount}}
        if not is_sub_request and self.chance(0.1):
            found["adminAccess"] = True
        return found

    def expression(self) -> str:
        return self.one(
            (
                INDEX.format(self.random.randint(0, 2)),
                MEMORY.format("8Gi"),
                SHARED,
                MODEL_IF_ANY.format(self.one(("a", "b"))),
                MODEL_IF_ANY.format("a") if self.is_strict else MODEL.format("a"),
            )
        )

    def toleration(self) -> Manifest:
        found: dict[str, Any] = {"operator": self.one(("Exists", "Equal"))}
        if found["operator"] == "Equal":
            found |= {"key": self.one(("hot", "old")), "value": self.one(("", "very"))}
        elif self.chance(0.7):
            found["key"] = self.one(("hot", "old"))
        if self.chance(0.5):
            found["effect"] = self.one(("NoSchedule", "NoExecute"))
        return found

    def constraint(self, requests: Sequence[Manifest]) -> Manifest:
        kind = self.one(("matchAttribute", "distinctAttribute"))
        found: Manifest = {kind: f"{GPU}/{self.one(('model', 'index', 'rack'))}"}
        if self.chance(0.5):
            found["requests"] = self.some_requests(requests)
        return found

    def some_requests(self, requests: Sequence[Manifest]) -> list[str]:
        names = [each["name"] for each in requests]
        names += [
            f"{each['name']}/{one['name']}"
            for each in requests
            for one in each.get("firstAvailable", [])
        ]
        return self.random.sample(names, self.random.randint(1, min(2, len(names))))

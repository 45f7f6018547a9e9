"""The affinity that an in-tree disk has once a CSI driver serves it."""

from typing import Any

import pytest

from engine.objects.objects import PersistentVolume
from engine.objects.selectors import NodeSelector
from engine.storage.migration import translated_affinity
from tests.engine.storage_world import make_volume

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
OLD_REGION = "failure-domain.beta.kubernetes.io/region"
EBS = "topology.ebs.csi.aws.com/zone"


def translated(
    *terms: list[Any], labels: dict[str, str] | None = None, plugin: str = "aws-ebs"
) -> list[list[str]]:
    """The requirements of each term afterwards; *terms* are lists of expressions before."""
    raw = make_volume("pv")
    raw["metadata"]["labels"] = labels or {}
    selector = {"nodeSelectorTerms": [{"matchExpressions": term} for term in terms]}
    affinity = NodeSelector.parse(selector) if terms else None
    found = translated_affinity(PersistentVolume(raw), affinity, f"kubernetes.io/{plugin}")
    return [[str(one) for one in term.expressions] for term in found.terms] if found else []


def at(key: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": list(values)}


def test_the_zone_goes_by_the_drivers_key() -> None:
    assert translated([at(ZONE, "a"), at("disk", "ssd")]) == [[f"{EBS} in (a)", "disk in (ssd)"]]


def test_the_new_zone_key_hides_the_old_ones() -> None:
    both = [at(ZONE, "a"), at(OLD_ZONE, "b"), at(OLD_REGION, "r")]
    assert translated(both) == [[f"{EBS} in (a)", f"{OLD_ZONE} in (b)", f"{OLD_REGION} in (r)"]]


def test_the_old_region_key_follows_the_old_zone() -> None:
    assert translated([at(OLD_ZONE, "a"), at(OLD_REGION, "r")]) == [
        [f"{EBS} in (a)", f"{REGION} in (r)"]
    ]
    assert translated([at(OLD_REGION, "r")], labels={OLD_ZONE: "a"}) == [
        [f"{REGION} in (r)", f"{EBS} in (a)"]
    ]


def test_zone_labels_count_without_a_zone_affinity() -> None:
    assert translated(labels={ZONE: "b__a__ __b"}) == [[f"{EBS} in (a,b)"]]
    any_zone = {"key": ZONE, "operator": "Exists"}
    assert translated([any_zone], labels={ZONE: "a"}) == [[ZONE, f"{EBS} in (a)"]]
    assert translated([any_zone], labels={OLD_ZONE: "a"}) == [[ZONE]]


@pytest.mark.parametrize("labels", [{ZONE: ""}, {ZONE: "", OLD_ZONE: "a"}, {}])
def test_without_any_zone_the_affinity_stays(labels: dict[str, str]) -> None:
    assert translated(labels=labels) == []
    assert translated([at("disk", "ssd")], labels=labels) == [["disk in (ssd)"]]


@pytest.mark.parametrize("plugin", ["azure-disk", "portworx-volume"])
def test_some_drivers_translate_no_zones(plugin: str) -> None:
    assert translated([at(ZONE, "a")], plugin=plugin) == [[f"{ZONE} in (a)"]]

"""A volume's affinity is asked of a node's labels; the name is not told.

Since 1.20 what wants a name keeps no node out then, before that every node.
"""

import pytest

from engine.cluster.cluster import Cluster
from tests.builders import (
    Manifest,
    claim,
    host,
    local_volume,
    node_of,
    played,
    scene,
    storage_class,
    user_of,
)


def by_name(volume: Manifest, *names: str) -> Manifest:
    """*volume* with an affinity to nodes of these names."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": list(names)}]}
    volume["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
    return volume


def with_labels(volume: Manifest, **labels: str) -> Manifest:
    """*volume* with labels asked for beside the names."""
    expressions = [{"key": key, "operator": "In", "values": [labels[key]]} for key in labels]
    volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"][0] |= {
        "matchExpressions": expressions
    }
    return volume


def placed(*objects: Manifest, profile: str) -> str:
    return node_of(played(Cluster.create(scene(*objects), profile=profile), 60), "p")


@pytest.mark.parametrize(
    ("profile", "where"), [("v1.34", "b"), ("v1.20", "b"), ("v1.16", ""), ("v1.11", "")]
)
def test_named_node_affinity_matches_all_nodes_or_none(profile: str, where: str) -> None:
    volume = by_name(local_volume("disk", "a"), "a")
    objects = (storage_class("local"), volume, claim("data", "local"), host("b"), user_of("data"))
    assert placed(*objects, profile=profile) == where


@pytest.mark.parametrize("profile", ["v1.34", "v1.20", "v1.16", "v1.11"])
def test_labels_count_beside_a_nodes_name(profile: str) -> None:
    volume = with_labels(by_name(local_volume("disk", "a"), "a"), disk="ssd")
    objects = (storage_class("local"), volume, claim("data", "local"), host("a"), user_of("data"))
    assert placed(*objects, profile=profile) == ""


@pytest.mark.parametrize(("profile", "where"), [("v1.34", "b"), ("v1.20", "b"), ("v1.16", "")])
def test_bound_named_volume_matches_all_nodes_or_none(profile: str, where: str) -> None:
    volume = by_name(local_volume("disk", "a"), "a")
    volume["spec"] |= {
        "storageClassName": "",
        "claimRef": {"name": "data", "namespace": "default"},
    }
    wanted = claim("data", "")
    wanted["spec"]["volumeName"] = "disk"
    assert placed(volume, wanted, host("b"), user_of("data"), profile=profile) == where

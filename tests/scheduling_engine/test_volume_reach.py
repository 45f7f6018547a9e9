"""A volume's affinity is asked of a node's labels; its name it is not told."""

import pytest

from scheduling.engine.cluster import Cluster
from tests.scheduling_engine.scenes import Manifest, node_of, played, scene
from tests.scheduling_engine.volume_scenes import (
    claim,
    host,
    local_volume,
    storage_class,
    user_of,
)


def by_name(volume: Manifest, *names: str) -> Manifest:
    """*volume* with an affinity to nodes of these names."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": list(names)}]}
    volume["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
    return volume


def message(*objects: Manifest, profile: str) -> str:
    cluster = played(Cluster.create(scene(*objects), profile=profile), 5)
    assert node_of(cluster, "p") == ""
    return cluster.store.get("Pod", "default/p").status["conditions"][0]["message"]


@pytest.mark.parametrize("profile", ["v1.34", "v1.20", "v1.16", "v1.11"])
def test_a_volume_for_a_node_by_name_is_found_for_no_node(profile: str) -> None:
    volume = by_name(local_volume("disk", "a"), "a")
    objects = (storage_class("local"), volume, claim("data"), host("a"), user_of("data"))
    text = "0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind."
    assert message(*objects, profile=profile).startswith(text)


@pytest.mark.parametrize("profile", ["v1.34", "v1.20"])
def test_a_bound_volume_for_a_node_by_name_is_within_nobodys_reach(profile: str) -> None:
    volume = by_name(local_volume("disk", "a"), "a")
    volume["spec"] |= {
        "storageClassName": "",
        "claimRef": {"name": "data", "namespace": "default"},
    }
    wanted = claim("data", "")
    wanted["spec"]["volumeName"] = "disk"
    conflict = {
        "v1.34": "node(s) didn't match PersistentVolume's node affinity",
        "v1.20": "node(s) had volume node affinity conflict",
    }
    told = message(volume, wanted, host("a"), user_of("data"), profile=profile)
    assert told.startswith(f"0/1 nodes are available: 1 {conflict[profile]}.")

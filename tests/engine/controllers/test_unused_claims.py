"""The condition Unused of claims, which v1.37 has and v1.36 has not."""

from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.kernel.units import SECOND
from tests.builders import apply_command, claim, node, pod, scene, storage_class


def bound(profile: str) -> Cluster:
    """A claim that is bound for a pod, which runs."""
    objects = [node("n1"), storage_class("fast", provisioner="csi.example"), claim("data", "fast")]
    cluster = Cluster.create(scene(*objects, pod("p", claims=["data"])), profile=profile)
    cluster.advance(60 * SECOND)
    return cluster


def unused(cluster: Cluster) -> dict[str, Any]:
    conditions = cluster.store.get("PersistentVolumeClaim", "default/data").status.get("conditions")
    return next((each for each in conditions or () if each["type"] == "Unused"), {})


def test_claim_tells_since_when_no_pod_names_it() -> None:
    cluster = bound("v1.37")
    used = unused(cluster)
    assert (used["status"], used["reason"]) == ("False", "PodUsingPVC")
    apply_command(cluster, verb="delete", object="pod/default/p", grace_seconds=0)
    cluster.advance(120 * SECOND)
    free = unused(cluster)
    assert (free["status"], free["reason"]) == ("True", "NoPodsUsingPVC")
    assert free["lastTransitionTime"] >= "2026-01-01T00:01:00Z"


@pytest.mark.parametrize("profile", ["v1.36", "v1.34.9"])
def test_older_versions_do_not_tell_it(profile: str) -> None:
    assert unused(bound(profile)) == {}

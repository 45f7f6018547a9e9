"""Which pods that come, go or change wake a pod that affinity or spreading has turned away."""

from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.framework.cluster_events import ASSIGNED_POD_DELETE
from engine.framework.pods.pod_info import PodInfo
from engine.kernel.units import SECOND
from engine.objects.objects import Pod
from engine.versions.registry import VERSIONS
from tests.builders import apply_command, node, node_of, played, pod, scene
from tests.engine.scheduler.queue.hints import hints_of

ZONE = "topology.kubernetes.io/zone"


def _labelled(manifest: dict[str, Any], **labels: str) -> dict[str, Any]:
    return {**manifest, "metadata": {**manifest["metadata"], "labels": labels}}


def test_namespace_selector_does_not_wake_pods_when_wanted() -> None:
    """Upstream: isSchedulableAfterPodChange() matches terms against no namespace labels."""
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": "db"}},
        "namespaceSelector": {"matchLabels": {"tier": "gold"}},
    }
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    team = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
    team["metadata"] |= {"labels": {"tier": "gold"}}
    here = node("n", labels={"kubernetes.io/hostname": "n"})
    cluster = Cluster.create(scene(team, here, pod("web", affinity=affinity), until=900 * SECOND))
    database = _labelled(pod("db", nodeName="n"), app="db")
    database["metadata"]["namespace"] = "team"
    played(cluster, 5)
    apply_command(cluster, verb="create", manifest=database)
    assert node_of(played(cluster), "web") == ""
    # The flush of what has waited for five minutes.
    assert node_of(played(cluster, 400), "web") == "n"


def test_leaving_pod_wakes_those_that_spread_by_default() -> None:
    constraint = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    arguments = {"defaultingType": "List", "defaultConstraints": [constraint]}
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"pluginConfig": [{"name": "PodTopologySpread", "args": arguments}]}],
    }
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"app": "web"}},
    }
    taint = {"key": "dedicated", "value": "x", "effect": "NoSchedule"}
    tainted = {**node("b", labels={ZONE: "b"}), "spec": {"taints": [taint]}}
    placed = _labelled(pod("placed", nodeName="a"), app="web")
    waiting = _labelled(pod("waiting"), app="web")
    objects = (service, node("a", labels={ZONE: "a"}), tainted, placed, waiting)
    cluster = Cluster.create(scene(*objects, configuration=configuration, until=900 * SECOND))
    assert node_of(played(cluster, 5), "waiting") == ""
    apply_command(cluster, verb="delete", object="pod/default/placed")
    assert node_of(played(cluster), "waiting") == "a"


def test_namespace_bears_its_name_as_label_since_1_21() -> None:
    team = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
    labels = {
        profile: Cluster.create(scene(team), profile=profile).store.get("Namespace", "team").labels
        for profile in ("v1.34", "v1.20")
    }
    assert labels == {"v1.34": {"kubernetes.io/metadata.name": "team"}, "v1.20": {}}


def _affinity(kind: str, app: str) -> dict[str, Any]:
    term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": app}}}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


@pytest.mark.parametrize(("profile", "wakes"), [("v1.36", True), ("v1.35", False)])
def test_a_deleted_pod_frees_those_it_repelled(profile: str, wakes: bool) -> None:
    """Upstream: kubernetes#135325."""
    guard = pod("guard", nodeName="n", affinity=_affinity("podAntiAffinity", "web"))
    objects = (node("n", labels={ZONE: "a"}), guard, _labelled(pod("web"), app="web"))
    cluster = Cluster.create(scene(*objects, until=900 * SECOND), profile=profile)
    assert node_of(played(cluster, 5), "web") == ""
    apply_command(cluster, verb="delete", object="pod/default/guard")
    assert (node_of(played(cluster), "web") == "n") is wakes


@pytest.mark.parametrize(("profile", "wakes"), [("v1.36", True), ("v1.35", False)])
def test_new_labels_of_its_own_wake_a_pod(profile: str, wakes: bool) -> None:
    """Upstream: kubernetes#135394."""
    guard = pod("guard", nodeName="n", affinity=_affinity("podAntiAffinity", "web"))
    objects = (node("n", labels={ZONE: "a"}), guard, _labelled(pod("web"), app="web"))
    cluster = Cluster.create(scene(*objects, until=900 * SECOND), profile=profile)
    assert node_of(played(cluster, 5), "web") == ""
    patch = {"metadata": {"labels": {"app": "other"}}}
    apply_command(cluster, verb="patch", object="pod/default/web", patch=patch)
    assert (node_of(played(cluster), "web") == "n") is wakes


@pytest.mark.parametrize(
    "field",
    [
        {"affinity": _affinity("podAntiAffinity", "db")},
        {
            "topologySpreadConstraints": [
                {
                    "maxSkew": 1,
                    "topologyKey": ZONE,
                    "whenUnsatisfiable": "DoNotSchedule",
                    "labelSelector": {"matchLabels": {"app": "db"}},
                }
            ]
        },
    ],
)
@pytest.mark.parametrize(("profile", "wakes"), [("v1.36", True), ("v1.35", False)])
def test_end_of_a_nomination_wakes_excluded_pods(
    field: dict[str, Any], profile: str, wakes: bool
) -> None:
    """Upstream: kubernetes#135392."""
    hints = hints_of(profile)
    nominated = _labelled(pod("db"), app="db") | {"status": {"nominatedNodeName": "n"}}
    nominated["metadata"]["uid"] = "another"
    waiting = PodInfo(Pod(pod("web", **field)), VERSIONS[profile].resources)
    plugin = "InterPodAffinity" if "affinity" in field else "PodTopologySpread"
    assert hints.queues(plugin, ASSIGNED_POD_DELETE, waiting, Pod(nominated), None) is wakes

"""Volumes that a node cannot reach, and objects that are not there: what attaches and mounts say."""

from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from tests import builders
from tests.builders.clusters import apply_command, played, scene
from tests.builders.nodes import HOSTNAME, ZONE
from tests.scenarios.cases import deployment

_DRIVER = "csi.example.com"


def _csi(name: str = "data", **spec: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    source = {"driver": _DRIVER, "volumeHandle": name}
    ref = {"namespace": "default", "name": name}
    spec = {"csi": source, "claimRef": ref, **spec}
    return builders.claim(name, volumeName=f"pv-{name}"), builders.volume(f"pv-{name}", **spec)


def _driver(**spec: Any) -> dict[str, Any]:
    return {"kind": "CSIDriver", "metadata": {"name": _DRIVER}, "spec": spec}


def _told(cluster: Cluster, *kinds: str) -> list[str]:
    told = [event.message for event in cluster.untaken if event.kind in kinds]
    return [*dict.fromkeys(told)]


def _play(*objects: dict[str, Any], outside: tuple[dict[str, Any], ...] = ()) -> Cluster:
    return played(Cluster.create(scene(*objects, outside=outside)))


def _phase(cluster: Cluster, name: str = "p") -> str:
    return str(cluster.store.get("Pod", f"default/{name}").status.get("phase"))


def _pod(**spec: Any) -> dict[str, Any]:
    return builders.pod("p", nodeName="n1", **spec)


@pytest.mark.parametrize(
    ("mode", "prefix"), [("Filesystem", "MountVolume"), ("Block", "MapVolume")]
)
def test_the_kubelet_checks_a_volumes_affinity(mode: str, prefix: str) -> None:
    far = builders.reachable_from(HOSTNAME, "n2")
    pod = _pod(claims=["data"])
    if mode == "Block":
        container = pod["spec"]["containers"][0]
        del container["volumeMounts"]
        container["volumeDevices"] = [{"name": "data", "devicePath": "/dev/data"}]
    cluster = _play(builders.host("n1"), *_csi(nodeAffinity=far, volumeMode=mode), pod)
    reason = (
        f'{prefix}.NodeAffinity check failed for volume "pv-data" : no matching NodeSelectorTerms'
    )
    assert reason in _told(cluster, "FailedMount")
    assert _phase(cluster) == "Pending"


def test_a_driver_that_is_not_registered_attaches_nothing() -> None:
    cluster = _play(
        builders.host("n1"), builders.csi_node("n1", "other"), *_csi(), _pod(claims=["data"])
    )
    why = f"CSINode n1 does not contain driver {_DRIVER}"
    assert _told(cluster, "FailedAttachVolume") == [
        f'AttachVolume.Attach failed for volume "pv-data" : {why}'
    ]
    attachment = cluster.store.objects("VolumeAttachment")[0]
    assert (attachment.finalizers, attachment.status["attachError"]["message"]) == ((), why)
    registered = {"spec": {"drivers": [{"name": _DRIVER, "nodeID": "n1"}]}}
    apply_command(cluster, verb="patch", object="csinode/n1", patch=registered)
    assert _phase(played(cluster, 300)) == "Running"


def test_driver_that_attaches_nothing_is_missed_at_mount() -> None:
    objects = (builders.host("n1"), builders.csi_node("n1", "other"), _driver(attachRequired=False))
    cluster = _play(*objects, *_csi(), _pod(claims=["data"]))
    assert (
        'MountVolume.MountDevice failed for volume "pv-data" : kubernetes.io/csi: '
        "attacher.MountDevice failed to create newCsiDriverClient: driver name csi.example.com not "
        "found in the list of registered CSI drivers"
    ) in _told(cluster, "FailedMount")


def test_a_migrated_disk_needs_its_driver_as_well() -> None:
    claim, volume = _csi(gcePersistentDisk={"pdName": "d"})
    del volume["spec"]["csi"]
    cluster = _play(
        builders.host("n1"), builders.csi_node("n1", "other"), claim, volume, _pod(claims=["data"])
    )
    told = _told(cluster, "FailedAttachVolume")
    assert "CSINode n1 does not contain driver pd.csi.storage.gke.io" in told[0]


@pytest.mark.parametrize("key", [ZONE, "failure-domain.beta.kubernetes.io/region"])
@pytest.mark.parametrize("by", ["label", "affinity"])
def test_a_disk_attaches_in_its_own_zone_only(key: str, by: str) -> None:
    node = builders.node("n1", labels={key: "here"})
    claim, volume = _csi()
    if by == "label":
        volume["metadata"]["labels"] = {key: "there__elsewhere"}
    else:
        volume["spec"]["nodeAffinity"] = builders.reachable_from(key, "there", "elsewhere")
    cluster = _play(node, claim, volume, _pod(claims=["data"]))
    level = key.rpartition("/")[2]
    told = f"volume pv-data is in {level} there or elsewhere, node n1 is in {level} here"
    assert told in _told(cluster, "FailedAttachVolume")[0]
    assert _phase(cluster) == "Pending"


def test_a_driver_never_exceeds_its_limit() -> None:
    node = builders.csi_node("n1", _DRIVER)
    node["spec"]["drivers"][0]["allocatable"] = {"count": 1}
    pods = [builders.pod(name, nodeName="n1", claims=[name]) for name in ("a", "b")]
    cluster = _play(builders.host("n1"), node, *_csi("a"), *_csi("b"), *pods)
    assert sorted([_phase(cluster, "a"), _phase(cluster, "b")]) == ["Pending", "Running"]
    told = _told(cluster, "FailedAttachVolume")
    assert "driver csi.example.com attaches at most 1 volumes to node n1" in told[0]


def _named(kind: str, name: str) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": name, "namespace": "default"}}


@pytest.mark.parametrize(
    ("kind", "source", "told"),
    [
        ("Secret", {"secret": {"secretName": "cert"}}, 'secret "cert" not found'),
        ("ConfigMap", {"configMap": {"name": "cert"}}, 'configmap "cert" not found'),
        (
            "Secret",
            {"projected": {"sources": [{"secret": {"name": "cert"}}]}},
            'secret "cert" not found',
        ),
        (
            "ServiceAccount",
            {"projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}},
            'failed to fetch token: serviceaccounts "cert" not found',
        ),
    ],
)
def test_what_the_files_lack_cannot_be_mounted(
    kind: str, source: dict[str, Any], told: str
) -> None:
    pod = _pod(volumes=[{"name": "v", **source}], serviceAccountName="cert")
    pod["spec"]["containers"][0]["volumeMounts"] = [{"name": "v", "mountPath": "/v"}]
    objects = (builders.host("n1"), pod)
    assert _phase(_play(*objects)) == "Running"
    cluster = _play(*objects, outside=(_named(kind, "another"),))
    wanted = f'MountVolume.SetUp failed for volume "v" : {told}'
    assert (_told(cluster, "FailedMount"), _phase(cluster)) == ([wanted], "Pending")
    apply_command(cluster, verb="create", manifest={"apiVersion": "v1", **_named(kind, "cert")})
    assert _phase(played(cluster, 300)) == "Running"


def test_an_optional_source_may_be_missing() -> None:
    pod = _pod(volumes=[{"name": "v", "secret": {"secretName": "cert", "optional": True}}])
    pod["spec"]["containers"][0]["volumeMounts"] = [{"name": "v", "mountPath": "/v"}]
    assert _phase(_play(builders.host("n1"), pod, outside=(_named("Secret", "x"),))) == "Running"


def test_containers_wait_for_their_environment() -> None:
    pod = _pod()
    pod["spec"]["containers"][0]["envFrom"] = [{"secretRef": {"name": "db"}}]
    cluster = _play(builders.host("n1"), pod, outside=(_named("Secret", "x"),))
    waiting = cluster.store.get("Pod", "default/p").status["containerStatuses"][0]["state"]
    reason = {"reason": "CreateContainerConfigError", "message": 'secret "db" not found'}
    assert waiting == {"waiting": reason}
    assert _told(cluster, "Failed") == ['Error: secret "db" not found']
    apply_command(cluster, verb="create", manifest={"apiVersion": "v1", **_named("Secret", "db")})
    assert _phase(played(cluster)) == "Running"


def test_missing_object_can_be_present_again() -> None:
    pod = _pod()
    pod["spec"]["containers"][0]["envFrom"] = [{"secretRef": {"name": "db"}}]
    cluster = _play(builders.host("n1"), pod, outside=(_named("Secret", "x"),))
    apply_command(cluster, verb="fault", patch={"present": "secret/default/db"})
    assert _phase(played(cluster)) == "Running"


def test_a_pod_without_its_service_account_is_refused() -> None:
    spec = {**builders.pod("p")["spec"], "serviceAccountName": "web"}
    objects = (builders.host("n1"), deployment("web", spec))
    cluster = _play(*objects, outside=(_named("ServiceAccount", "x"),))
    assert not cluster.store.objects("Pod")
    why = 'error looking up service account default/web: serviceaccount "web" not found'
    assert any(why in told for told in _told(cluster, "FailedCreate"))


@pytest.mark.parametrize("node", [{"node": "n1"}, {}])
def test_a_driver_can_be_unregistered_on_purpose(node: dict[str, str]) -> None:
    cluster = Cluster.create(
        scene(builders.host("n1"), builders.csi_node("n1"), *_csi(), _pod(claims=["data"]))
    )
    apply_command(cluster, verb="fault", patch={"unregister": _DRIVER, **node})
    assert _phase(played(cluster)) == "Pending"
    assert "does not contain driver" in _told(cluster, "FailedAttachVolume")[0]


def test_a_driver_is_registered_again_as_it_was() -> None:
    csi_node = builders.csi_node("n1")
    cluster = Cluster.create(scene(builders.host("n1"), csi_node, *_csi(), _pod(claims=["data"])))
    apply_command(cluster, verb="fault", patch={"unregister": _DRIVER})
    apply_command(cluster, verb="fault", patch={"register": _DRIVER, "node": "n1"})
    assert cluster.store.get("CSINode", "n1").spec == csi_node["spec"]
    assert _phase(played(cluster, 300)) == "Running"


def test_a_driver_is_registered_as_on_another_node() -> None:
    objects = builders.host("n1"), builders.csi_node("n1"), builders.csi_node("n2", "other")
    cluster = Cluster.create(scene(*objects))
    apply_command(cluster, verb="fault", patch={"register": _DRIVER, "node": "n2"})
    (_, added) = cluster.store.get("CSINode", "n2").spec["drivers"]
    assert added == {"name": _DRIVER, "nodeID": "n2", "topologyKeys": [HOSTNAME]}


def test_a_secret_can_be_missing_on_purpose() -> None:
    pod = _pod(volumes=[{"name": "v", "secret": {"secretName": "cert"}}])
    pod["spec"]["containers"][0]["volumeMounts"] = [{"name": "v", "mountPath": "/v"}]
    cluster = Cluster.create(scene(builders.host("n1"), pod))
    apply_command(cluster, verb="fault", patch={"missing": "secret/default/cert"})
    assert _phase(played(cluster)) == "Pending"
    assert not cluster.apply(Command(verb="fault", patch={"missing": "pod/default/p"})).applied
    created = {"apiVersion": "v1", **_named("Secret", "cert")}
    apply_command(cluster, verb="create", manifest=created)
    assert _phase(played(cluster, 300)) == "Running"

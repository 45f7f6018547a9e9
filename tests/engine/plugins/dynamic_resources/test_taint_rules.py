"""DeviceTaintRules: what they keep off, whom they evict, and what they say of it."""

from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.diagnosis import diagnose
from tests.builders import (
    apply_command,
    device,
    device_class,
    device_request,
    node,
    node_of,
    played,
    pod,
    resource_slice,
    scene,
)

Manifest = dict[str, Any]
CLASS = device_class("gpu", 'device.driver == "gpu.example.com"')
GATES = {"DRADeviceTaintRules": True}


def _template(**request: Any) -> Manifest:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "one-gpu", "namespace": "default"},
        "spec": {"spec": {"devices": {"requests": [device_request("r", "gpu", **request)]}}},
    }


def _user(name: str) -> Manifest:
    return pod(name, resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}])


def _rule(effect: str = "NoSchedule", **selector: str) -> Manifest:
    """A rule for the devices of the driver, or those that *selector* names."""
    return {
        "apiVersion": "resource.k8s.io/v1beta2",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "broken"},
        "spec": {
            "deviceSelector": {"driver": "gpu.example.com", **selector},
            "taint": {"key": "broken", "value": "yes", "effect": effect},
        },
    }


def _cluster(
    *objects: Manifest,
    tolerations: list[Manifest] | None = None,
    profile: str = "v1.36",
    gates: dict[str, bool] | None = None,
) -> Cluster:
    request = {} if tolerations is None else {"tolerations": tolerations}
    slices = [resource_slice(name, [device("gpu-0"), device("gpu-1")]) for name in ("n1", "n2")]
    known = node("n1"), node("n2"), CLASS, _template(**request), *slices
    given = scene(*known, *objects, feature_gates=GATES if gates is None else gates)
    return Cluster.create(given, profile=profile)


def _condition(cluster: Cluster) -> Manifest:
    (found,) = cluster.store.get("DeviceTaintRule", "broken").status["conditions"]
    return found


def _said(cluster: Cluster) -> tuple[str, str, str]:
    found = _condition(cluster)
    return found["status"], found["reason"], found["message"]


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
def test_a_rule_keeps_claims_off_its_devices(effect: str) -> None:
    cluster = played(_cluster(_rule(effect, pool="n1"), _user("p")))
    assert node_of(cluster, "p") == "n2"


def test_a_rule_may_be_for_one_device() -> None:
    rules = [_rule(pool="n1", device="gpu-0"), _rule(pool="n2")]
    rules[1]["metadata"]["name"] = "other"
    cluster = played(_cluster(*rules, _user("p")))
    (claim,) = cluster.store.objects("ResourceClaim")
    (result,) = claim.status["allocation"]["devices"]["results"]
    assert (result["pool"], result["device"]) == ("n1", "gpu-1")


def test_a_rule_without_selector_is_for_no_device() -> None:
    rule = _rule()
    del rule["spec"]["deviceSelector"]
    cluster = played(_cluster(rule, _user("p")))
    assert node_of(cluster, "p")


def test_a_toleration_bears_the_taint_of_a_rule() -> None:
    toleration = {"key": "broken", "operator": "Exists"}
    cluster = played(_cluster(_rule(), _user("p"), tolerations=[toleration]))
    assert node_of(cluster, "p")


@pytest.mark.parametrize("profile", ["v1.35", "v1.36"])
def test_rules_wait_for_their_gate(profile: str) -> None:
    gates = {"DRADeviceTaints": True}
    cluster = played(_cluster(_rule("NoExecute"), _user("p"), profile=profile, gates=gates), 300)
    assert node_of(cluster, "p")
    assert "status" not in cluster.store.get("DeviceTaintRule", "broken").raw
    both = {**gates, **GATES}
    cluster = played(_cluster(_rule("NoExecute"), _user("p"), profile=profile, gates=both))
    assert node_of(cluster, "p") == ""


def test_a_waiting_pod_goes_when_the_rule_does() -> None:
    cluster = played(_cluster(_rule(), _user("p")))
    assert node_of(cluster, "p") == ""
    apply_command(cluster, verb="delete", object="devicetaintrule/broken")
    played(cluster)
    assert node_of(cluster, "p")


def test_a_rule_evicts_the_pods_of_its_devices() -> None:
    cluster = played(_cluster(_user("p")))
    where = node_of(cluster, "p")
    apply_command(cluster, verb="create", manifest=_rule("NoExecute", pool=where))
    played(cluster, 2)
    # The status comes first; the pod is already on its way.
    assert _said(cluster)[:2] == ("True", "PodsPendingEviction")
    played(cluster, 60)
    assert cluster.store.find("Pod", "default/p") is None
    assert _said(cluster) == (
        "False",
        "Completed",
        "1 pod evicted since starting the controller.",
    )
    told = [
        event.message for event in cluster.untaken if event.kind == "DeviceTaintManagerEviction"
    ]
    assert told == ["Marking for deletion"]


def test_a_tolerated_rule_evicts_later() -> None:
    bears = {
        "key": "broken",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 60,
    }
    cluster = played(_cluster(_user("p"), tolerations=[bears]), 20)
    apply_command(cluster, verb="create", manifest=_rule("NoExecute"))
    played(cluster, 20)
    assert cluster.store.find("Pod", "default/p") is not None
    pending = "1 pod needs to be evicted in 1 namespace."
    assert _said(cluster) == ("True", "PodsPendingEviction", pending)
    played(cluster, 90)
    assert cluster.store.find("Pod", "default/p") is None


def test_a_rule_without_effect_says_what_follows() -> None:
    cluster = played(_cluster(_user("p"), _user("q")))
    apply_command(cluster, verb="create", manifest=_rule("None"))
    played(cluster, 30)
    assert _said(cluster) == (
        "False",
        "NoEffect",
        "4 published devices selected. 2 allocated devices selected. 2 pods would be evicted in "
        "1 namespace if the effect was NoExecute. This information will not be updated again. "
        "Recreate the DeviceTaintRule to trigger an update.",
    )
    assert node_of(cluster, "p")


def test_a_rule_that_only_keeps_off_says_so() -> None:
    cluster = played(_cluster(_rule()))
    said = "Eviction only happens for the NoExecute effect."
    assert _said(cluster) == ("False", "OtherEffect", said)


def test_a_changed_effect_counts_from_its_change() -> None:
    cluster = played(_cluster(_user("p"), _rule("None")), 100)
    before = cluster.store.get("DeviceTaintRule", "broken").spec["taint"]["timeAdded"]
    patch = {"spec": {"taint": {"effect": "NoExecute"}}}
    apply_command(cluster, verb="patch", object="devicetaintrule/broken", patch=patch)
    after = cluster.store.get("DeviceTaintRule", "broken")
    assert after.spec["taint"]["timeAdded"] > before
    assert after.metadata["generation"] == 2
    played(cluster, 60)
    assert cluster.store.find("Pod", "default/p") is None
    assert _condition(cluster)["observedGeneration"] == 2


def test_a_restarted_controller_counts_anew() -> None:
    cluster = played(_cluster(_user("p")))
    apply_command(cluster, verb="create", manifest=_rule("NoExecute"))
    played(cluster, 30)
    assert _said(cluster)[1] == "Completed"
    cluster.workloads.restart(["device-taint-eviction-controller"])
    played(cluster, 30)
    assert _said(cluster) == ("False", "NotStarted", "")


def test_a_rule_that_refuses_is_named() -> None:
    cluster = played(_cluster(_rule(), _user("p")), 20)
    (found,) = diagnose(cluster, "default/p").causes
    told = [str(each.text) for each in found.because if each.object == "devicetaintrule/broken"]
    assert told[0] == (
        "Device gpu-0 of n1-slice has a taint of DeviceTaintRule broken that the claim does not "
        "tolerate."
    )

"""Why a pod with its node waits for devices: they are not ready for the node, or not prepared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from engine.diagnosis.report import Cause
from engine.diagnosis.subjects.scene import Scene, cause
from engine.framework import names
from engine.framework.explaining.case import listed
from engine.framework.explaining.fact import Fact, fact
from engine.kernel.sentences import say
from engine.objects.objects import ApiObject, Pod
from engine.objects.pods.resource_claims import RESOURCE_CLAIM, all_claims_named
from engine.plugins.dynamic_resources.allocation.binding_conditions import missing_conditions
from engine.plugins.dynamic_resources.allocation.claims import results_of

_KUBELET: Final = "kubelet"
_RESULTS: Final = ("status", "allocation", "devices", "results")


def readiness_causes(scene: Scene, pod: Pod, node: str) -> Iterator[Cause]:
    """What keeps *pod* from being bound to *node*: devices that lack binding conditions."""
    lacking: list[str] = []
    because: list[Fact] = []
    for claim in _claims(scene, pod):
        for place, result in enumerate(results_of(claim)):
            missing = missing_conditions(claim, result)
            if missing:
                device = _name(result)
                lacking.append(
                    say("{missing} of device {device}", missing=listed(missing), device=device)
                )
                text = say(
                    "Device {device} of claim {claim} needs {missing} to be true.",
                    device=device,
                    claim=claim.key,
                    missing=listed(missing),
                )
                because.append(fact(claim, (*_RESULTS, place, "bindingConditions"), text))
    if not lacking:
        return
    yield cause(
        names.DYNAMIC_RESOURCES,
        say(
            "Node {node} is chosen; pod {pod} is bound when its devices are ready: "
            "{lacking} is not true yet.",
            node=node,
            pod=pod.key,
            lacking=listed(lacking),
        ),
        because,
        why=say(
            "The driver of the devices sets the conditions in the status of the claim. "
            "The scheduler reads them every 5 s and gives up 10 min after the "
            "allocation."
        ),
        event=scene.event(pod, "BindingConditionsPending"),
        severity="delays",
    )


def preparation_causes(scene: Scene, pod: Pod) -> Iterator[Cause]:
    """Why the kubelet starts no container of *pod*: a driver cannot prepare its devices."""
    event = scene.event(pod, "FailedPrepareDynamicResources")
    refused = [claim for claim in _claims(scene, pod) if not _is_for(claim, pod)]
    if refused:
        yield _not_reserved(pod, refused, event)
        return
    if not event:
        return
    because = [
        fact(
            pod,
            ("spec", "nodeName"),
            say("Pod {pod} has its node, {node_name}.", pod=pod.key, node_name=pod.node_name),
        )
    ]
    for claim in _claims(scene, pod):
        devices = listed([_name(each) for each in results_of(claim)])
        because.append(
            fact(
                claim,
                _RESULTS,
                say("Claim {claim} has {devices}.", claim=claim.key, devices=devices),
            )
        )
    yield cause(
        _KUBELET,
        say(
            "The driver on {node_name} cannot prepare the devices of pod {pod}.",
            node_name=pod.node_name,
            pod=pod.key,
        ),
        because,
        why=say(
            "The kubelet starts no container before that, and tries again every 10 s; "
            "the Event has the error of the driver."
        ),
        event=event,
    )


def _not_reserved(pod: Pod, claims: list[ApiObject], event: str) -> Cause:
    """A pod came to its node without a scheduler, which alone allocates and reserves claims.

    Upstream: pkg/kubelet/cm/dra/manager.go PrepareResources(), resourceclaim.IsReservedForPod().
    """
    keys = listed([claim.key for claim in claims])
    text = say("Pod {pod} has spec.nodeName {node_name}.", pod=pod.key, node_name=pod.node_name)
    because = [fact(pod, ("spec", "nodeName"), text)]
    for claim in claims:
        text = say("Claim {claim} is not allocated.", claim=claim.key)
        if claim.status.get("allocation"):
            text = say("Claim {claim} is not reserved for the pod.", claim=claim.key)
        because.append(fact(claim, ("status",), text))
    return cause(
        _KUBELET,
        say(
            "Pod {pod} has nodeName {node_name}, and no scheduler reserved for it: "
            "{keys}. The kubelet refuses to prepare its devices.",
            pod=pod.key,
            node_name=pod.node_name,
            keys=keys,
        ),
        because,
        why=say(
            "A scheduler allocates a resource claim and reserves it "
            "(status.reservedFor) before it binds a pod. Where spec.nodeName was set "
            "without one, no scheduler does: make the pod again with a node selector "
            "in place of nodeName."
        ),
        event=event,
    )


def _is_for(claim: ApiObject, pod: Pod) -> bool:
    return bool(claim.status.get("allocation")) and any(
        user.get("uid") == pod.uid for user in claim.status.get("reservedFor") or ()
    )


def _claims(scene: Scene, pod: Pod) -> Iterator[ApiObject]:
    """The resource claims of the pod that exist."""
    for name in all_claims_named(pod):
        found = scene.store.find(RESOURCE_CLAIM, f"{pod.namespace}/{name}")
        if found is not None:
            yield found


def _name(result: Any) -> str:
    return f"{result['driver']}/{result['pool']}/{result['device']}"

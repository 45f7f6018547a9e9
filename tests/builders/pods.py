"""Pods, and disruption budgets for them."""

from collections.abc import Sequence
from typing import Any

Manifest = dict[str, Any]


def pod(
    name: str,
    *,
    cpu: str = "1",
    memory: str = "",
    claims: Sequence[str] = (),
    labels: dict[str, str] | None = None,
    phase: str = "",
    namespace: str = "default",
    **spec: Any,
) -> Manifest:
    """A pod of one container, with a volume for each of the *claims*.

    Without *cpu* and *memory* it requests nothing. *phase* is its status.
    """
    requests = {key: amount for key, amount in (("cpu", cpu), ("memory", memory)) if amount}
    container: Manifest = {"name": "main", "image": "app"}
    if requests:
        container["resources"] = {"requests": requests}
    body: Manifest = {"containers": [container]}
    if claims:
        body["volumes"] = [claim_volume(each) for each in claims]
        mounts = [{"name": each, "mountPath": f"/{each}"} for each in claims]
        container["volumeMounts"] = mounts
    made: Manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {**body, **spec},
    }
    if labels:
        made["metadata"]["labels"] = labels
    if phase:
        made["status"] = {"phase": phase}
    return made


def claim_volume(claim: str) -> Manifest:
    """The volume of a pod that is the claim, under the claim's name."""
    return {"name": claim, "persistentVolumeClaim": {"claimName": claim}}


def user_of(claim: str, name: str = "p", **fields: Any) -> Manifest:
    """A pod with the claim."""
    return pod(name, claims=[claim], **fields)


def owner_reference(owner: Manifest) -> Manifest:
    """What says that the stored object *owner* controls an object."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def budget(app: str, *, allowed: int | None = None, **spec: Any) -> Manifest:
    """A PodDisruptionBudget named *app*, for the pods with that label; *allowed* is its status."""
    made: Manifest = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": app, "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": app}}, **spec},
    }
    if allowed is not None:
        made["status"] = {"disruptionsAllowed": allowed}
    return made

"""Why containers do not run: images, restarts, and Secrets and ConfigMaps that are not there."""

from __future__ import annotations

from typing import Final

from engine.diagnosis.observed.evidence import Evidence
from engine.diagnosis.triage.carrying_out import bodies, created, named
from engine.diagnosis.triage.report import Change
from engine.diagnosis.triage.stuck.explained import Explained, Stuck
from engine.diagnosis.triage.stuck.told import container_statuses
from engine.framework.explaining.case import listed
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest

_KIND_NAMES: Final = {
    "secret": "Secret",
    "configmap": "ConfigMap",
    "serviceaccount": "ServiceAccount",
}


def explain_image(evidence: Evidence, image: str, found: Stuck) -> Explained:
    """An image that cannot be pulled: what the registry said, and the Secrets that are missing."""
    said = [
        each.message for each in found.events if each.reason == "Failed" and image in each.message
    ]
    reason = (said[-1] if said else found.message).rstrip(".")
    namespace = str(found.objects[0]["metadata"].get("namespace"))
    wanted = {
        str(each.get("name")): None
        for pod in found.objects
        for each in items(section(pod, "spec"), "imagePullSecrets")
    }
    is_told = any(each["metadata"].get("namespace") == namespace for each in evidence.all("Secret"))
    absent = [
        name for name in wanted if is_told and not evidence.find("Secret", f"{namespace}/{name}")
    ]
    text = f"image {image} cannot be pulled ({reason})."
    if not absent:
        return Explained(text, f"image {image}")
    text = (
        f"{text} Its imagePullSecrets name {listed(absent)}, which is not in namespace {namespace}."
    )
    changes = [
        Change(
            text=f"Create Secret {namespace}/{name} with the credentials of the registry",
            kind="missing",
            commands=bodies([created(named("Secret", f"{namespace}/{name}"))]),
        )
        for name in absent
    ]
    return Explained(text, f"secret {namespace}/{absent[0]}", tuple(changes))


def explain_container(found: Stuck) -> Explained:
    """A container that ends again and again: which one, how often, and how it last ended."""
    said = f"{found.reason}: {found.message}" if found.message else found.reason
    text, changes = f"{said.rstrip('.')}.", list[Change]()
    for name in ("initContainerStatuses", "containerStatuses"):
        for each in items(section(found.objects[0], "status"), name):
            last = section(each, "lastState", "terminated")
            if not last or each.get("ready"):
                continue
            what = "init container" if name.startswith("init") else "container"
            text = f"{text} Its {what} {each.get('name')} was restarted {each.get('restartCount')} times"
            text += f" and last ended with {last.get('reason')} (exit code {last.get('exitCode')})."
            if last.get("reason") == "OOMKilled":
                change = (
                    f"Give container {each.get('name')} a higher memory limit, or let it use less"
                )
                changes.append(Change(text=change, kind="template"))
    return Explained(text, "", tuple(changes))


def explain_missing(evidence: Evidence, kind: str, key: str) -> Explained:
    """An object that pods need and that is not there: what the namespace has instead."""
    name, namespace = _KIND_NAMES[kind], key.partition("/")[0]
    there = [
        str(each["metadata"]["name"])
        for each in evidence.all(name)
        if each["metadata"].get("namespace") == namespace
    ]
    others = [
        str(each["metadata"].get("namespace"))
        for each in evidence.all(name)
        if each["metadata"]["name"] == key.partition("/")[2]
    ]
    if not evidence.has(name):
        rest = f"No {name}s are in these files."
    else:
        rest = (
            f"Namespace {namespace} has {listed(there, 4)}."
            if there
            else (f"The files have no {name} in namespace {namespace}.")
        )
    if others:
        rest = f"{rest} One of that name is in {listed(others, 3)}."
    commands = bodies([created(named(name, key))])
    change = Change(text=f"Create {name} {key}", kind="missing", commands=commands)
    return Explained(f"{name} {key} does not exist. {rest}", f"{kind} {key}", (change,))


def failing_image(pod: Manifest) -> str:
    """The image of the first container that waits for it, else that of the first container."""
    images = {
        str(each.get("name")): str(each.get("image"))
        for name in ("initContainers", "containers")
        for each in items(section(pod, "spec"), name)
    }
    for each in container_statuses(pod):
        if "Image" in str(section(each, "state", "waiting").get("reason")):
            return images.get(str(each.get("name")), str(each.get("image")))
    return next(iter(images.values()), "")

"""Why containers do not run: images, restarts, and Secrets and ConfigMaps that are not there."""

from __future__ import annotations

from typing import Final

from engine.diagnosis.observed.evidence import Evidence
from engine.diagnosis.triage.carrying_out import bodies, created, named
from engine.diagnosis.triage.drawn import known_as
from engine.diagnosis.triage.report import Change
from engine.diagnosis.triage.stuck.explained import Explained, Stuck
from engine.diagnosis.triage.stuck.told import container_statuses
from engine.framework.explaining.case import listed
from engine.kernel.sentences import Sentence, phrase, say, together, verbatim
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest

_KIND_NAMES: Final = {
    "secret": "Secret",
    "configmap": "ConfigMap",
    "serviceaccount": "ServiceAccount",
}
# How a container ended that starts again and again.
_CONTAINER: Final = phrase(
    "Its container {container} was restarted {times} times and last ended with {reason} (exit code "
    "{exit_code})."
)
_INIT_CONTAINER: Final = phrase(
    "Its init container {container} was restarted {times} times and last ended with {reason} (exit "
    "code {exit_code})."
)


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
    text = say("image {image} cannot be pulled ({reason}).", image=image, reason=reason)
    if not absent:
        return Explained(text, known_as("image", image))
    text = together(
        text,
        say(
            "Its imagePullSecrets name {absent}, which is not in namespace {namespace}.",
            absent=listed(absent),
            namespace=namespace,
        ),
    )
    changes = [
        Change(
            text=say(
                "Create Secret {namespace}/{name} with the credentials of the registry",
                namespace=namespace,
                name=name,
            ),
            kind="missing",
            commands=bodies([created(named("Secret", f"{namespace}/{name}"))]),
        )
        for name in absent
    ]
    return Explained(text, known_as("secret", f"{namespace}/{absent[0]}"), tuple(changes))


def explain_container(found: Stuck) -> Explained:
    """A container that ends again and again: which one, how often, and how it last ended."""
    said = f"{found.reason}: {found.message}" if found.message else found.reason
    text, changes = verbatim(f"{said.rstrip('.')}."), list[Change]()
    for name in ("initContainerStatuses", "containerStatuses"):
        for each in items(section(found.objects[0], "status"), name):
            last = section(each, "lastState", "terminated")
            if not last or each.get("ready"):
                continue
            ended = _INIT_CONTAINER if name.startswith("init") else _CONTAINER
            text = together(
                text,
                ended.say(
                    container=each.get("name"),
                    times=each.get("restartCount"),
                    reason=last.get("reason"),
                    exit_code=last.get("exitCode"),
                ),
            )
            if last.get("reason") == "OOMKilled":
                change = say(
                    "Give container {name} a higher memory limit, or let it use less",
                    name=each.get("name"),
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
        rest = _none_of(name)
    else:
        rest = (
            say("Namespace {namespace} has {there}.", namespace=namespace, there=listed(there, 4))
            if there
            else say(
                "The files have no {kind} in namespace {namespace}.", kind=name, namespace=namespace
            )
        )
    if others:
        elsewhere = say("One of that name is in {namespaces}.", namespaces=listed(others, 3))
        rest = together(rest, elsewhere)
    commands = bodies([created(named(name, key))])
    change = Change(
        text=say("Create {kind} {name}", kind=name, name=key), kind="missing", commands=commands
    )
    return Explained(
        together(say("{kind} {name} does not exist.", kind=name, name=key), rest),
        f"{kind} {key}",
        (change,),
    )


def _none_of(kind: str) -> Sentence:
    if kind == "Secret":
        return say("No Secrets are in these files.")
    if kind == "ConfigMap":
        return say("No ConfigMaps are in these files.")
    return say("No ServiceAccounts are in these files.")


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

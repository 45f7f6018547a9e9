"""Changes as commands: the bodies for `POST runs/<id>/commands/` that carry one out in a fork."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, cast

from engine.api_server.validation.kinds import is_known
from engine.cluster.commands import Command
from engine.diagnosis.candidates import patched, replaced
from engine.diagnosis.observed.evidence import Evidence, key_of
from engine.kernel.sentences import NOTHING
from engine.kernel.view import merge
from engine.objects.kinds import entity_id
from engine.objects.manifest_parts import items, section
from engine.objects.objects import OUT_OF_SERVICE_TAINT, Manifest, Node, Pod

# The body of one command.
Body = dict[str, Any]
# A change that takes more commands than this is not offered as commands.
MOST: Final = 512
# These replace their pods by themselves when their template changes.
_ROLLS: Final = ("Deployment", "DaemonSet")
_TEMPLATED: Final = (*_ROLLS, "StatefulSet", "ReplicaSet", "ReplicationController")
# What of a pod can be patched where it is; the rest takes a new pod.
_IN_PLACE: Final = frozenset(("tolerations", "schedulingGates"))
_CONTAINERS: Final = ("containers", "initContainers")
# What a Job gets from the API server and from its controller.
_OF_JOB: Final = frozenset(
    ("controller-uid", "job-name", "batch.kubernetes.io/controller-uid")
    + ("batch.kubernetes.io/job-name",)
)


def bodies(commands: Iterable[Command | None]) -> tuple[Body, ...]:
    """The JSON form of some commands; empty where there are too many, or one that no run knows."""
    found: list[Body] = []
    for each in commands:
        if each is None or len(found) == MOST:
            return ()
        found.append(each.to_dict())
    return tuple(found)


def created(manifest: Manifest) -> Command:
    """The command that creates an object."""
    return Command(verb="create", manifest=manifest)


def patch_of(manifest: Manifest, patch: Manifest) -> Command | None:
    """The command that patches an object of the files; None for one that is not in a run."""
    if not is_known(manifest):
        return None
    return patched(entity_id(manifest["kind"], key_of(manifest)), patch)


def named(kind: str, key: str, api_version: str = "v1", **fields: Any) -> Manifest:
    """The manifest of an object that has a name and little else."""
    namespace, _, name = key.rpartition("/")
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def without_finalizer(manifest: Manifest, finalizer: str) -> Command | None:
    """The command that takes a finalizer off an object."""
    left = [each for each in manifest["metadata"].get("finalizers") or () if each != finalizer]
    return patch_of(manifest, {"metadata": {"finalizers": left}})


def deleted_at_once(manifest: Manifest) -> Command | None:
    """The command that deletes an object without waiting for anything to end."""
    if not is_known(manifest):
        return None
    entity = entity_id(manifest["kind"], key_of(manifest))
    return Command(verb="delete", object=entity, grace_seconds=0)


# -- nodes -----------------------------------------------------------------------------------------


def of_nodes(nodes: Iterable[Node], before: Mapping[str, Node]) -> Iterator[Command]:
    """What makes nodes as they are in *nodes*: those that are not there *before* are created."""
    for node in nodes:
        old = before.get(node.name)
        if old is None:
            yield created(node.raw)
            continue
        if node.is_ready and not old.is_ready:
            yield from ready_again(old)
        elif old.unschedulable and not node.unschedulable:
            yield Command(verb="uncordon", object=node.id)
        elif old.raw != node.raw:
            yield patched(node.id, difference(old.raw, node.raw))


def ready_again(node: Node) -> Iterator[Command]:
    """A node's kubelet runs again and says so."""
    conditions = [
        {**each, "status": "True"} if each.get("type") == "Ready" else each
        for each in items(node.status, "conditions")
    ]
    yield Command(verb="start_kubelet", object=node.id)
    yield patched(node.id, {"status": {"conditions": conditions}})


def out_of_service(node: Node) -> Command:
    """A node whose pods are then deleted by force and their volumes detached."""
    taint = {"key": OUT_OF_SERVICE_TAINT, "value": "nodeshutdown", "effect": "NoExecute"}
    return patched(node.id, {"spec": {"taints": [*node.taints, taint]}})


# -- pods and their templates ----------------------------------------------------------------------


def opened(pod: Pod) -> Command:
    """The pod without its scheduling gates."""
    return patched(pod.id, {"spec": {"schedulingGates": []}})


def of_pods(
    evidence: Evidence, pods: Iterable[Pod], fields: Manifest, *, at_once: bool
) -> Iterator[Command | None]:
    """Other *fields* in the specs of pods of one workload: in its template, where it is there.

    A controller that does not replace pods by itself, or only once they are ready, makes them
    again when they are deleted. A Job is made again as a whole. *at_once*, pods that run are
    replaced together with those that wait.
    """
    pods = list(pods)
    owner = _templated(evidence, pods[0])
    if owner is None:
        for pod in pods:
            yield _of_pod(pod, fields)
        return
    if owner["kind"] == "Job":
        yield _job_again(owner, pods[0], fields)
        return
    template = section(owner, "spec", "template", "spec")
    patch: Manifest = {"template": {"spec": _template_patch(pods[0], template, fields)}}
    if at_once and owner["kind"] == "Deployment":
        patch["strategy"] = {"type": "Recreate", "rollingUpdate": None}
    yield patch_of(owner, {"spec": patch})
    if owner["kind"] in _ROLLS and not _is_on_delete(owner):
        return
    gone = [pod.raw for pod in pods] if not at_once else _all_of(evidence, owner)
    yield from map(deleted_at_once, gone)


def _all_of(evidence: Evidence, owner: Manifest) -> list[Manifest]:
    return [pod for pod in evidence.all("Pod") if evidence.controller(pod) is owner]


def _templated(evidence: Evidence, pod: Pod) -> Manifest | None:
    """The uppermost object in the files that makes the pod from a template and is played."""
    found: Manifest | None = None
    above = evidence.controller(pod.raw)
    while above is not None:
        if above["kind"] in (*_TEMPLATED, "Job"):
            found = above
        above = evidence.controller(above)
    return found


def _is_on_delete(owner: Manifest) -> bool:
    return section(owner, "spec", "updateStrategy").get("type") == "OnDelete"


def _of_pod(pod: Pod, fields: Manifest) -> Command:
    """A pod that no template is known of: patched where that is allowed, else made again."""
    if fields.keys() <= _IN_PLACE:
        return patched(pod.id, {"spec": {name: part or [] for name, part in fields.items()}})
    return replaced(pod, fields, kind="", text=NOTHING).command


def _job_again(job: Manifest, pod: Pod, fields: Manifest) -> Command:
    """A Job whose template cannot be changed: deleted, and created with another one."""
    spec = {name: part for name, part in job["spec"].items() if name != "selector"}
    template = dict(section(spec, "template"))
    changes = _template_patch(pod, section(template, "spec"), fields)
    labels = {
        name: text
        for name, text in section(template, "metadata", "labels").items()
        if name not in _OF_JOB
    }
    template["metadata"] = {**section(template, "metadata"), "labels": labels}
    template["spec"] = merge(section(template, "spec"), changes)
    kept = ("name", "namespace", "labels", "annotations", "ownerReferences")
    metadata = {name: job["metadata"][name] for name in kept if name in job["metadata"]}
    return Command(
        verb="replace",
        manifest={
            "apiVersion": job.get("apiVersion", "batch/v1"),
            "kind": "Job",
            "metadata": metadata,
            "spec": {**spec, "template": template},
        },
    )


def _template_patch(pod: Pod, template: Manifest, fields: Manifest) -> Manifest:
    """The merge patch of a template that does to it what *fields* do to *pod*.

    Fields that admission has added to the pod are not carried into the template.
    """
    patch: Manifest = {}
    for name, part in fields.items():
        old = pod.spec.get(name)
        if name in _CONTAINERS:
            patch[name] = _containers(items(template, name), old or [], part or [])
        elif name == "tolerations":
            added = [each for each in part or () if each not in (old or ())]
            patch[name] = [*items(template, name), *added]
        else:
            patch[name] = difference(old, part)
    return patch


def _containers(
    template: list[Manifest], old: list[Manifest], new: list[Manifest]
) -> list[Manifest]:
    before = {each.get("name"): each for each in old}
    after = {each.get("name"): each for each in new}
    changed: list[Manifest] = []
    for each in template:
        name = each.get("name")
        fields = {
            field: part
            for field, part in after.get(name, {}).items()
            if before.get(name, {}).get(field) != part
        }
        changed.append({**each, **fields})
    return changed


def difference(old: Any, new: Any) -> Any:
    """The merge patch from *old* to *new*."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    before, after = cast("Manifest", old), cast("Manifest", new)
    gone: Manifest = dict.fromkeys(name for name in before if name not in after)
    changed = {
        name: difference(before.get(name), part)
        for name, part in after.items()
        if before.get(name) != part
    }
    return {**gone, **changed}

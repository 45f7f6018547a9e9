"""Workloads that lack pods because their own controller waits: paused, failed, queued, or in order."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Final

from engine.diagnosis.observed.evidence import (
    Evidence,
    condition,
    controller_reference,
    entity,
    is_ready,
    key_of,
)
from engine.diagnosis.triage.carrying_out import bodies, patch_of
from engine.diagnosis.triage.drawn import WorkloadCount
from engine.diagnosis.triage.report import Change, Group, counted
from engine.diagnosis.triage.stuck.told import container_statuses
from engine.objects.manifest_parts import section, wanted_pods
from engine.objects.objects import Manifest

# Labels by which queues take a Job: it is suspended until the queue lets it go.
_QUEUES: Final = ("kueue.x-k8s.io/queue-name",)
_FAILURES: Final = ("Failed", "FailureTarget")
# Upstream: deployment/util/deployment_util.go, TimedOutReason.
_OVERDUE: Final = "ProgressDeadlineExceeded"
# A Job that failed longer ago is history, as that of a CronJob is which has run well since.
_HISTORY_SECONDS: Final = 24 * 3600


def stalled_groups(evidence: Evidence) -> Iterator[Group]:
    """One group for each workload whose controller makes no more pods, and says or shows why."""
    for deployment in evidence.all("Deployment"):
        if section(deployment, "spec").get("paused"):
            yield from _paused(evidence, deployment)
    ends = _Ends(evidence)
    for job in evidence.all("Job"):
        failed = _failure(job)
        if failed is not None:
            yield from _failed(evidence, job, failed, ends)
        elif section(job, "spec").get("suspend"):
            yield from _queued(evidence, job)


def overdue_groups(evidence: Evidence, held: Collection[str]) -> Iterator[Group]:
    """Deployments past their deadline of which nothing else is known: no group holds them yet.

    *held* are the workloads of the other groups. Upstream: deployment/progress.go,
    syncRolloutStatus().
    """
    for deployment in evidence.all("Deployment"):
        seen, name = condition(deployment, "Progressing"), entity(deployment)
        if name in held or seen is None or seen.get("reason") != _OVERDUE:
            continue
        status, wanted = section(deployment, "status"), wanted_pods(deployment)
        updated, ready = (
            int(status.get(each) or 0) for each in ("updatedReplicas", "readyReplicas")
        )
        if wanted == 0 or min(updated, ready) >= wanted:
            continue
        yield _group(
            deployment,
            max(wanted - int(status.get("replicas") or 0), 0),
            cause=f"Deployment {key_of(deployment)} has not gone on in time ({_OVERDUE}): of {wanted} "
            f"pods {updated} are of the new template and {ready} ready. No pod, Event or condition in "
            "the files says why.",
            observed=_said(deployment, "Progressing"),
            since=str(seen.get("lastTransitionTime") or ""),
            changes=(),
        )


def _paused(evidence: Evidence, deployment: Manifest) -> Iterator[Group]:
    """A paused Deployment makes no new ReplicaSet. Upstream: deployment_controller.go, syncDeployment()."""
    sets = [
        each
        for each in evidence.in_namespace("ReplicaSet", deployment["metadata"].get("namespace"))
        if evidence.controller(each) is deployment
    ]
    wanted = wanted_pods(deployment)
    missing = wanted - sum(map(wanted_pods, sets))
    if missing <= 0 or not section(deployment, "status"):
        return
    key, seen = key_of(deployment), condition(deployment, "Progressing")
    lacks = "has no ReplicaSet yet" if not sets else "has no ReplicaSet that wants them"
    yield _group(
        deployment,
        missing,
        cause=f"Deployment {key} is paused (spec.paused) and {lacks}: "
        f"{counted(missing, 'pod')} of {wanted} {'is' if missing == 1 else 'are'} not made.",
        observed=_said(deployment, "Progressing") or "spec.paused is true; no Event.",
        since=str((seen or {}).get("lastTransitionTime") or ""),
        changes=(
            Change(
                text=f"Resume Deployment {key}",
                kind="resume",
                note="kubectl rollout resume does it. Somebody has paused it: ask why.",
                commands=bodies([patch_of(deployment, {"spec": {"paused": None}})]),
            ),
        ),
    )


def _failure(job: Manifest) -> Manifest | None:
    found = (condition(job, kind) for kind in _FAILURES)
    return next((each for each in found if each and each.get("status") == "True"), None)


class _Ends:
    """How the pods of Jobs have failed, by the key of the Job; read once it is asked for."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence

    def last_of(self, job: str) -> str:
        """How the last of the Job's failed pods has ended, in a sentence; "" where nothing says it."""
        return self._found.get(job, "")

    @cached_property
    def _found(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for pod in self._evidence.all("Pod"):
            owner = controller_reference(pod)
            if owner is None or section(pod, "status").get("phase") != "Failed":
                continue
            if text := _end_of(pod):
                found[f"{pod['metadata'].get('namespace')}/{owner.get('name')}"] = text
        return found


def _failed(evidence: Evidence, job: Manifest, seen: Manifest, ends: _Ends) -> Iterator[Group]:
    """A Job that makes no pods any more. Upstream: job_controller.go, syncJob()."""
    since = str(seen.get("lastTransitionTime") or "")
    if evidence.age_seconds(since) > _HISTORY_SECONDS or _has_run_since(evidence, job):
        return
    key, spec = key_of(job), section(job, "spec")
    failed = int(section(job, "status").get("failed") or 0)
    reason = str(seen.get("reason") or "")
    text = f"Job {key} has failed ({reason}): {str(seen.get('message') or '').rstrip('.')}."
    if reason == "BackoffLimitExceeded":
        text = f"{text} {counted(failed, 'pod')} failed; backoffLimit is {spec.get('backoffLimit', 6)}."
    yield _group(
        job,
        0,
        cause=f"{text} {ends.last_of(key)} It makes no more pods.".replace("  ", " "),
        observed=f"Condition {seen.get('type')} is True, {reason}: {seen.get('message')}",
        since=since,
        changes=(
            Change(
                text=f"Make Job {key} again once what ends its pods is mended: see the log of the last one",
                kind="again",
                note="A Job that has failed never starts again.",
            ),
        ),
    )


def _has_run_since(evidence: Evidence, job: Manifest) -> bool:
    """Whether another Job of the same CronJob has completed since."""
    owner, started = controller_reference(job), str(job["metadata"].get("creationTimestamp") or "")
    if owner is None:
        return False
    for other in evidence.in_namespace("Job", job["metadata"].get("namespace")):
        same, done = controller_reference(other), condition(other, "Complete")
        is_later = str(other["metadata"].get("creationTimestamp") or "") > started
        if same and same.get("uid") == owner.get("uid") and is_later and done is not None:
            return True
    return False


def _end_of(pod: Manifest) -> str:
    """How a failed pod ended: by its container, or by what its status says."""
    status = section(pod, "status")
    for each in container_statuses(pod):
        ended = section(each, "state", "terminated")
        if ended.get("exitCode"):
            return (
                f"Container {each.get('name')} of pod {key_of(pod)} ended with "
                f"{ended.get('reason')} (exit code {ended.get('exitCode')})."
            )
    said = ": ".join(str(status[name]) for name in ("reason", "message") if status.get(name))
    return f"Pod {key_of(pod)}: {said.rstrip('.')}." if said else ""


def _queued(evidence: Evidence, job: Manifest) -> Iterator[Group]:
    """A Job that a queue has not admitted; one without a queue was suspended on purpose."""
    labels = section(job, "metadata", "labels")
    queue = next((str(labels[name]) for name in _QUEUES if name in labels), "")
    if not queue:
        return
    key, asked = key_of(job), int(section(job, "spec").get("parallelism", 1))
    told = [
        _said(each, "QuotaReserved")
        for each in evidence.in_namespace(
            "Workload.kueue.x-k8s.io", job["metadata"].get("namespace")
        )
        if evidence.controller(each) is job
    ]
    yield _group(
        job,
        asked,
        cause=f"Job {key} is suspended until the queue {queue} admits it: "
        f"{counted(asked, 'pod')} {'is' if asked == 1 else 'are'} not made. {' '.join(told)}".rstrip(),
        observed=" ".join(told) or _said(job, "Suspended") or "spec.suspend is true; no Event.",
        since=str((condition(job, "Suspended") or {}).get("lastTransitionTime") or ""),
        changes=(
            Change(
                text=f"Let Job {key} start (spec.suspend false)",
                kind="resume",
                shared="it goes round the queue",
                commands=bodies([patch_of(job, {"spec": {"suspend": False}})]),
            ),
        ),
    )


def _said(manifest: Manifest, kind: str) -> str:
    """What a condition says: "Condition Progressing is Unknown, DeploymentPaused: …"; "" for none."""
    found = condition(manifest, kind)
    if found is None:
        return ""
    return (
        f"Condition {kind} of {manifest['kind']} {key_of(manifest)} is {found.get('status')}, "
        f"{found.get('reason')}: {str(found.get('message') or '').rstrip('.')}."
    )


def _group(
    workload: Manifest,
    missing: int,
    *,
    cause: str,
    observed: str,
    since: str,
    changes: tuple[Change, ...],
) -> Group:
    name = entity(workload)
    return Group(
        kind="workload-refused",
        cause=cause,
        by=name.replace("/", " ", 1),
        observed=observed,
        predicted="Its controller waits here as well.",
        since=since,
        pods_missing=missing,
        workloads=(name,),
        workload_counts=(WorkloadCount(workload=name, waiting=missing, of=missing),)
        if missing
        else (),
        objects=() if missing else (name,),
        facts=(name,),
        changes=changes,
        conclusion="" if changes else "No change was tried: what holds it is not in the files.",
    )


# -- StatefulSets that make their pods in order ------------------------------------------------------


class InOrder:
    """The StatefulSets that make a pod when the one before it is ready, by the pod they wait for.

    Upstream: pkg/controller/statefulset/stateful_set_control.go, updateStatefulSet().
    """

    def __init__(self, evidence: Evidence) -> None:
        self._waiting = dict(_waiting(evidence))

    def named_in(self, group: Group) -> Group:
        """*group* with the pods that StatefulSets do not make because of one that it holds."""
        found = [self._waiting[pod] for pod in group.pods if pod in self._waiting]
        if not found:
            return group
        told = [
            f"{owner['kind']} {key_of(owner)} (OrderedReady) makes {counted(missing, 'more pod')} "
            f"only when pod {pod} is ready."
            for pod, owner, missing in found
        ]
        more = (
            WorkloadCount(workload=entity(owner), waiting=missing, of=missing)
            for _, owner, missing in found
        )
        return replace(
            group,
            cause=" ".join([group.cause, *told]),
            pods_missing=group.pods_missing + sum(missing for _, _, missing in found),
            workload_counts=(*group.workload_counts, *more),
        )


def _waiting(evidence: Evidence) -> Iterator[tuple[str, tuple[str, Manifest, int]]]:
    """By the first pod that is not ready: that pod, its StatefulSet, and how many pods it lacks."""
    for owner in evidence.all("StatefulSet"):
        spec, metadata = section(owner, "spec"), owner["metadata"]
        if spec.get("podManagementPolicy") == "Parallel":
            continue
        first = int(section(spec, "ordinals").get("start") or 0)
        keys = [
            f"{metadata.get('namespace')}/{metadata['name']}-{number}"
            for number in range(first, first + wanted_pods(owner))
        ]
        found = {key: evidence.find("Pod", key) for key in keys}
        missing = sum(each is None for each in found.values())
        unready = [key for key, pod in found.items() if pod is not None and not is_ready(pod)]
        if missing and unready:
            yield unready[0], (unready[0], owner, missing)

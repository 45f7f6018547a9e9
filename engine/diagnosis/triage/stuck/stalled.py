"""Workloads that lack pods although the API server would take them.

Their own controller waits (paused, failed, queued, or in order), or the kubelet refuses each pod.
"""

from __future__ import annotations

from collections import Counter
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
    is_under_way,
    key_of,
)
from engine.diagnosis.triage.carrying_out import bodies, patch_of
from engine.diagnosis.triage.drawn import WorkloadCount
from engine.diagnosis.triage.report import Change, Group, counted
from engine.diagnosis.triage.stuck.controllers import ready_pods
from engine.diagnosis.triage.stuck.told import container_statuses
from engine.kernel.sentences import (
    NOTHING,
    Sentence,
    count_phrase,
    grouped,
    phrase,
    say,
    say_count,
    together,
)
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
    for cron_job in evidence.all("CronJob"):
        yield from _without_job(evidence, cron_job)


def _without_job(evidence: Evidence, cron_job: Manifest) -> Iterator[Group]:
    """A CronJob whose newest Job was refused, and not created since."""
    refused = evidence.events(cron_job, "FailedCreate")
    made = evidence.events(cron_job, "SuccessfulCreate")
    if not refused or (made and made[-1].last > refused[-1].last):
        return
    why = refused[-1].message.rstrip(".")
    yield _group(
        cron_job,
        0,
        cause=say(
            "CronJob {cron_job} starts no Job: the API server refuses to create it (FailedCreate).",
            cron_job=key_of(cron_job),
        ),
        observed=say("Event FailedCreate: {message}.", message=why),
        since=refused[0].first,
        changes=(),
    )


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
            cause=say(
                "Deployment {deployment} has not gone on in time ({reason}): of {wanted} pods "
                "{updated} are of the new template and {ready} ready. No pod, Event or "
                "condition in the files says why.",
                deployment=key_of(deployment),
                reason=_OVERDUE,
                wanted=wanted,
                updated=updated,
                ready=ready,
            ),
            observed=_said(deployment, "Progressing"),
            since=str(seen.get("lastTransitionTime") or ""),
            changes=(),
        )


def rejected_groups(evidence: Evidence, held: Collection[str]) -> Iterator[Group]:
    """Workloads all of whose newer pods a kubelet has refused or ended, of which nothing else is known.

    *held* are the workloads of the other groups. Upstream: pkg/kubelet/lifecycle/predicate.go,
    Admit(); pkg/kubelet/eviction/eviction_manager.go.
    """
    ended: dict[str, list[Manifest]] = {}
    active = Counter[str]()
    for pod in evidence.all("Pod"):
        owner = controller_reference(pod)
        if owner is None or owner.get("kind") == "Job":
            continue
        if is_under_way(pod):
            active[evidence.workload(pod)] += 1
        elif section(pod, "status").get("reason"):
            ended.setdefault(evidence.workload(pod), []).append(pod)
    for name, pods in ended.items():
        kind, _, key = name.partition("/")
        found = next((each for each in _MAKERS if each.lower() == kind), "")
        workload = evidence.find(found, key)
        if name in held or workload is None:
            continue
        lacks = wanted_pods(workload) - max(ready_pods(workload), active[name])
        if lacks > 0:
            yield _rejected(workload, lacks, sorted(pods, key=_created))


_MAKERS: Final = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController")


def _created(pod: Manifest) -> str:
    return str(pod["metadata"].get("creationTimestamp") or "")


def _rejected(workload: Manifest, lacks: int, pods: list[Manifest]) -> Group:
    newest = pods[-1]
    node = section(section(workload, "spec", "template"), "spec").get("nodeName")
    told = section(newest, "status")
    text = say_count(
        "{kind} {workload} lacks {count} pod: the kubelet of {node} has refused or ended {pods}.",
        "{kind} {workload} lacks {count} pods: the kubelet of {node} has refused or ended {pods}.",
        lacks,
        kind=workload["kind"],
        workload=key_of(workload),
        count=grouped(lacks),
        node=str(section(newest, "spec").get("nodeName") or "its node"),
        pods=say_count("{count} pod", "{count} pods", len(pods)),
    )
    text = together(text, _end_of(newest))
    changes: tuple[Change, ...] = ()
    if node:
        text = together(text, _BY_NAME.say(node=node))
        off: Manifest = {"spec": {"template": {"spec": {"nodeName": None}}}}
        changes = (
            Change(
                text=say(
                    "Take nodeName out of the template of {kind} {workload}, so that a scheduler "
                    "chooses a node that has room",
                    kind=workload["kind"],
                    workload=key_of(workload),
                ),
                kind="template",
                commands=bodies([patch_of(workload, off)]),
            ),
        )
    group = _group(
        workload,
        lacks,
        cause=text,
        observed=say("Phase Failed, {reason} ×{count}", reason=told["reason"], count=len(pods)),
        since=_created(pods[0]),
        changes=changes,
    )
    again = say("Each new pod meets the same kubelet: it is refused or ended again.")
    return replace(group, predicted=again, short=say("kubelet refuses the pods"))


_BY_NAME: Final = phrase(
    "The template names node {node} (nodeName), so no scheduler looks for a node that has room."
)


_NONE_YET: Final = count_phrase(
    "Deployment {deployment} is paused (spec.paused) and has no ReplicaSet yet: {count} pod of "
    "{wanted} is not made.",
    "Deployment {deployment} is paused (spec.paused) and has no ReplicaSet yet: {count} pods of "
    "{wanted} are not made.",
)
_NONE_WANTS_THEM: Final = count_phrase(
    "Deployment {deployment} is paused (spec.paused) and has no ReplicaSet that wants them: "
    "{count} pod of {wanted} is not made.",
    "Deployment {deployment} is paused (spec.paused) and has no ReplicaSet that wants them: "
    "{count} pods of {wanted} are not made.",
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
    lacks = _NONE_WANTS_THEM if sets else _NONE_YET
    yield _group(
        deployment,
        missing,
        cause=lacks.say(missing, deployment=key, wanted=wanted, count=grouped(missing)),
        observed=_said(deployment, "Progressing") or say("spec.paused is true; no Event."),
        since=str((seen or {}).get("lastTransitionTime") or ""),
        changes=(
            Change(
                text=say("Resume Deployment {key}", key=key),
                kind="resume",
                note=say("kubectl rollout resume does it. Somebody has paused it: ask why."),
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

    def last_of(self, job: str) -> Sentence:
        """How the last of the Job's failed pods has ended, in a sentence; "" where nothing says it."""
        return self._found.get(job, NOTHING)

    @cached_property
    def _found(self) -> dict[str, Sentence]:
        found: dict[str, Sentence] = {}
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
    text = say(
        "Job {job} has failed ({reason}): {message}.",
        job=key,
        reason=reason,
        message=str(seen.get("message") or "").rstrip("."),
    )
    if reason == "BackoffLimitExceeded":
        text = together(
            text,
            say_count(
                "{count} pod failed; backoffLimit is {backoff_limit}.",
                "{count} pods failed; backoffLimit is {backoff_limit}.",
                failed,
                count=grouped(failed),
                backoff_limit=spec.get("backoffLimit", 6),
            ),
        )
    yield _group(
        job,
        0,
        cause=together(text, ends.last_of(key), say("It makes no more pods.")),
        observed=say(
            "Condition {type} is True, {reason}: {message}",
            type=seen.get("type"),
            reason=reason,
            message=seen.get("message"),
        ),
        since=since,
        changes=(
            Change(
                text=say(
                    "Make Job {key} again once what ends its pods is mended: see the log of "
                    "the last one",
                    key=key,
                ),
                kind="again",
                note=say("A Job that has failed never starts again."),
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


def _end_of(pod: Manifest) -> Sentence:
    """How a failed pod ended: by its container, or by what its status says."""
    status = section(pod, "status")
    for each in container_statuses(pod):
        ended = section(each, "state", "terminated")
        if ended.get("exitCode"):
            return say(
                "Container {name} of pod {key_of} ended with {reason} (exit code {exit_code}).",
                name=each.get("name"),
                key_of=key_of(pod),
                reason=ended.get("reason"),
                exit_code=ended.get("exitCode"),
            )
    said = ": ".join(str(status[name]) for name in ("reason", "message") if status.get(name))
    if not said:
        return NOTHING
    return say("Pod {pod}: {message}.", pod=key_of(pod), message=said.rstrip("."))


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
        cause=together(
            say_count(
                "Job {job} is suspended until the queue {queue} admits it: {count} pod is not made.",
                "Job {job} is suspended until the queue {queue} admits it: {count} pods are not "
                "made.",
                asked,
                job=key,
                queue=queue,
                count=grouped(asked),
            ),
            *told,
        ),
        observed=together(*told)
        or _said(job, "Suspended")
        or say("spec.suspend is true; no Event."),
        since=str((condition(job, "Suspended") or {}).get("lastTransitionTime") or ""),
        changes=(
            Change(
                text=say("Let Job {key} start (spec.suspend false)", key=key),
                kind="resume",
                shared=say("it goes round the queue"),
                commands=bodies([patch_of(job, {"spec": {"suspend": False}})]),
            ),
        ),
    )


def _said(manifest: Manifest, kind: str) -> Sentence:
    """What a condition says: "Condition Progressing is Unknown, DeploymentPaused: …"; "" for none."""
    found = condition(manifest, kind)
    if found is None:
        return NOTHING
    return say(
        "Condition {condition} of {kind} {name} is {status}, {reason}: {message}.",
        condition=kind,
        kind=manifest["kind"],
        name=key_of(manifest),
        status=found.get("status"),
        reason=found.get("reason"),
        message=str(found.get("message") or "").rstrip("."),
    )


def _group(
    workload: Manifest,
    missing: int,
    *,
    cause: Sentence,
    observed: Sentence,
    since: str,
    changes: tuple[Change, ...],
) -> Group:
    name = entity(workload)
    return Group(
        kind="workload-refused",
        cause=cause,
        by=name.replace("/", " ", 1),
        observed=observed,
        predicted=say("Its controller waits here as well."),
        since=since,
        pods_missing=missing,
        workloads=(name,),
        workload_counts=(WorkloadCount(workload=name, waiting=missing, of=missing),)
        if missing
        else (),
        objects=() if missing else (name,),
        facts=(name,),
        changes=changes,
        conclusion=NOTHING
        if changes
        else say("No change was tried: what holds it is not in the files."),
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
            say(
                "{kind} {key_of} (OrderedReady) makes {counted} only when pod {pod} is ready.",
                kind=owner["kind"],
                key_of=key_of(owner),
                counted=counted(missing, "more pod"),
                pod=pod,
            )
            for pod, owner, missing in found
        ]
        more = (
            WorkloadCount(workload=entity(owner), waiting=missing, of=missing)
            for _, owner, missing in found
        )
        return replace(
            group,
            cause=together(group.cause, *told),
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

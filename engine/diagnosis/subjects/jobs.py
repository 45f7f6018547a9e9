"""Why a Job creates no more pods: it has failed, is failing, or is suspended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.controllers.shared.owners import is_controlled_by
from engine.controllers.workloads.job.backoff import finished_at
from engine.diagnosis.report import Cause
from engine.diagnosis.subjects.scene import Scene, cause
from engine.framework.explaining.fact import Fact, fact
from engine.kernel.sentences import phrase, say, say_count
from engine.objects.manifest_parts import items, section
from engine.objects.objects import ApiObject, Pod

_CONTROLLER: Final = "job-controller"
# Upstream: pkg/apis/batch/v1/defaults.go.
_LIMIT: Final = 6
# The conditions after which a Job creates no pod, and what is said of it.
_FAILURES: Final = {
    "Failed": phrase("Job {job} has failed: {message}."),
    "FailureTarget": phrase("Job {job} is failing: {message}."),
}
_ENDINGS: Final = (*_FAILURES, "Complete", "SuccessCriteriaMet")


def job_causes(scene: Scene, job: ApiObject) -> Iterator[Cause]:
    """Why the job creates no more pods, or waits to replace one that failed, unless it is complete."""
    found = _true_conditions(job)
    for kind, said in _FAILURES.items():
        if kind in found:
            place, message = found[kind]
            sentence = said.say(job=job.key, message=message.rstrip("."))
            because = [fact(job, ("status", "conditions", place), sentence)]
            yield cause(_CONTROLLER, sentence, [*because, *_failures(scene, job)])
            return
    if job.spec.get("suspend"):
        sentence = say("Job {job} is suspended.", job=job.key)
        yield cause(_CONTROLLER, sentence, [fact(job, ("spec", "suspend"), sentence)])
    elif job.status.get("failed") and not any(kind in found for kind in _ENDINGS):
        yield _backing_off(scene, job)


def _backing_off(scene: Scene, job: ApiObject) -> Cause:
    """Pods of the job have failed, and it has not given up yet."""
    failed, limit = int(job.status["failed"]), job.spec.get("backoffLimit", _LIMIT)
    each = job.spec.get("backoffLimitPerIndex")
    if each is not None:
        sentence = say_count(
            "One pod of Job {job} has failed; an index is given up when more than {limit} of its pods "
            "have (backoffLimitPerIndex).",
            "{count} pods of Job {job} have failed; an index is given up when more than {limit} of its "
            "pods have (backoffLimitPerIndex).",
            failed,
            job=job.key,
            limit=each,
        )
        return cause(_CONTROLLER, sentence, _failures(scene, job), severity="delays")
    sentence = say_count(
        "One pod of Job {job} has failed; it gives up when more than {limit} have (backoffLimit).",
        "{count} pods of Job {job} have failed; it gives up when more than {limit} have "
        "(backoffLimit).",
        failed,
        job=job.key,
        limit=limit,
    )
    why = say(
        "It replaces each failed pod, and waits longer each time: 10 s, doubled up to 10 min."
    )
    return cause(_CONTROLLER, sentence, _failures(scene, job), why=why, severity="delays")


def _failures(scene: Scene, job: ApiObject) -> list[Fact]:
    """How many pods have failed, what is allowed, and how the last of them ended."""
    failed, found = int(job.status.get("failed") or 0), list[Fact]()
    if failed:
        text = say_count("One pod has failed.", "{count} pods have failed.", failed)
        found.append(fact(job, ("status", "failed"), text))
    for field in ("backoffLimit", "backoffLimitPerIndex"):
        if job.spec.get(field) is not None:
            text = say("{field} is {limit}.", field=field, limit=job.spec[field])
            found.append(fact(job, ("spec", field), text))
    last = max(_failed_pods(scene, job), key=finished_at, default=None)
    for place, status in enumerate(items({} if last is None else last.status, "containerStatuses")):
        ended = section(status, "state", "terminated")
        if last is not None and ended.get("exitCode"):
            text = say(
                "Container {container} of pod {pod} ended with exit code {exit_code} ({reason}).",
                container=status.get("name"),
                pod=last.key,
                exit_code=ended["exitCode"],
                reason=ended.get("reason"),
            )
            path = ("status", "containerStatuses", place, "state", "terminated", "exitCode")
            found.append(fact(last, path, text))
    return found


def _failed_pods(scene: Scene, job: ApiObject) -> Iterator[Pod]:
    for pod in scene.store.objects(Pod.KIND):
        if isinstance(pod, Pod) and pod.phase == "Failed" and is_controlled_by(pod, job):
            yield pod


def wanted_pods_of_job(job: ApiObject) -> int:
    """How many pods of the job should run now."""
    if job.spec.get("suspend") or any(kind in _ENDINGS for kind in _true_conditions(job)):
        return 0
    parallelism = int(job.spec.get("parallelism", 1))
    completions = job.spec.get("completions")
    if completions is None:
        return parallelism
    return max(0, min(parallelism, int(completions) - int(job.status.get("succeeded") or 0)))


def _true_conditions(job: ApiObject) -> dict[str, tuple[int, str]]:
    """By type, the place and the message of each condition that is True."""
    return {
        str(one.get("type")): (place, str(one.get("message") or one.get("reason") or ""))
        for place, one in enumerate(items(job.status, "conditions"))
        if one.get("status") == "True"
    }

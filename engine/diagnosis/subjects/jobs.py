"""Why a Job creates no more pods: it has failed, is failing, or is suspended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.diagnosis.report import Cause
from engine.diagnosis.subjects.scene import cause
from engine.framework.explaining.fact import fact
from engine.kernel.sentences import phrase, say
from engine.objects.manifest_parts import items
from engine.objects.objects import ApiObject

_CONTROLLER: Final = "job-controller"
# The conditions after which a Job creates no pod, and what is said of it.
_FAILURES: Final = {
    "Failed": phrase("Job {job} has failed: {message}."),
    "FailureTarget": phrase("Job {job} is failing: {message}."),
}
_ENDINGS: Final = (*_FAILURES, "Complete", "SuccessCriteriaMet")


def job_causes(job: ApiObject) -> Iterator[Cause]:
    """Why the job creates no more pods, unless it is complete."""
    found = _true_conditions(job)
    for kind, said in _FAILURES.items():
        if kind in found:
            place, message = found[kind]
            sentence = said.say(job=job.key, message=message.rstrip("."))
            yield cause(
                _CONTROLLER, sentence, [fact(job, ("status", "conditions", place), sentence)]
            )
            return
    if job.spec.get("suspend"):
        sentence = say("Job {job} is suspended.", job=job.key)
        yield cause(_CONTROLLER, sentence, [fact(job, ("spec", "suspend"), sentence)])


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

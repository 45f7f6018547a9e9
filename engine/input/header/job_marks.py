"""Which Jobs need that each of their pods is tracked, and the mark of those that are in v1.34.

The mark is an annotation, as upstream had one from v1.22 to v1.26
(batch.kubernetes.io/job-tracking). It is put on what is read or written from now on; what was stored
without it is played as it was.
"""

from typing import Any, Final, cast

from engine.objects.objects import ApiObject, Manifest

MARK: Final = "kscope.dev/job-tracking"
_FIELDS: Final = ("podFailurePolicy", "successPolicy", "managedBy", "suspend")


def is_marked(job: ApiObject) -> bool:
    """Whether the pods of *job* are tracked in v1.34."""
    return MARK in job.annotations


def with_job_mark(given: Any, kind: str) -> Any:
    """*given*, a manifest or a patch of that kind, with the mark if it is of a Job that needs it.

    Of a CronJob, the template of its Jobs has the mark. Otherwise it is the same object.
    """
    if not isinstance(given, dict) or kind.lower() not in ("job", "cronjob"):
        return cast("Any", given)
    manifest = cast("Manifest", given)
    spec = _mapping(manifest.get("spec"))
    if kind.lower() == "cronjob":
        template = spec.get("jobTemplate")
        marked: Any = with_job_mark(template, "Job")
        if marked is template:
            return manifest
        made: Manifest = {**manifest, "spec": {**spec, "jobTemplate": marked}}
        return made
    if not _needs_tracking(spec):
        return manifest
    metadata = _mapping(manifest.get("metadata"))
    annotations = {**_mapping(metadata.get("annotations")), MARK: "true"}
    return {**manifest, "metadata": {**metadata, "annotations": annotations}}


def with_job_marks(command: Manifest) -> Manifest:
    """A command, or a step of a scenario, with marks at what it writes; see with_job_mark."""
    kind = str(_mapping(command.get("manifest")).get("kind") or command.get("object") or "")
    parts = {name: command[name] for name in ("manifest", "patch") if name in command}
    return {
        **command,
        **{name: with_job_mark(part, kind.partition("/")[0]) for name, part in parts.items()},
    }


def _needs_tracking(spec: Manifest) -> bool:
    """Whether a Job says something that a controller which only counts pods cannot follow."""
    return (
        spec.get("completionMode") == "Indexed"
        or spec.get("podReplacementPolicy") == "Failed"
        or any(spec.get(name) for name in _FIELDS)
    )


def _mapping(part: Any) -> Manifest:
    return cast("Manifest", part) if isinstance(part, dict) else {}

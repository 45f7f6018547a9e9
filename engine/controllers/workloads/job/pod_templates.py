"""The templates of the pods that a Job creates next. Upstream: indexed_job_utils.go."""

from typing import Final

from engine.controllers.shared.manifests import part
from engine.controllers.workloads.job.base import labelled_template
from engine.controllers.workloads.job.indexes import INDEX
from engine.controllers.workloads.job.progress import FINALIZER, JobProgress
from engine.objects.manifest_parts import items
from engine.objects.objects import ApiObject, Manifest

_GROUP: Final = "batch.kubernetes.io/"
# Upstream: completionIndexEnvName.
_VARIABLE: Final = "JOB_COMPLETION_INDEX"


class PodTemplates:
    """Gives the template of each new pod; those of an indexed job differ."""

    def __init__(self, progress: JobProgress, indexes: list[int]) -> None:
        """Without *indexes* all pods are alike."""
        self._progress = progress
        self._indexes = iter(indexes)
        self._common = _held_template(progress.job)

    def next(self) -> tuple[Manifest, str]:
        """The template of the next pod, and the beginning of its name ("" for that of the job)."""
        index = next(self._indexes, None)
        if index is None:
            return self._common, ""
        job = self._progress.job
        annotations = {INDEX: str(index)}
        if self._progress.limits_each_index:
            annotations |= self._progress.failure_counts(index)
        metadata = part(self._common, "metadata")
        spec = {"hostname": f"{job.name}-{index}", **_told_index(part(self._common, "spec"))}
        own = {
            **metadata,
            "annotations": {**part(metadata, "annotations"), **annotations},
            "labels": {**part(metadata, "labels"), INDEX: str(index)},
        }
        return {**self._common, "metadata": own, "spec": spec}, f"{job.name}-{index}-"


def _told_index(spec: Manifest) -> Manifest:
    """The spec, whose containers are told their index. Upstream: addCompletionIndexEnvVariables()."""
    told = {
        "name": _VARIABLE,
        "valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}},
    }
    lists = {
        field: [
            each
            if any(one.get("name") == _VARIABLE for one in items(each, "env"))
            else {**each, "env": [*items(each, "env"), told]}
            for each in items(spec, field)
        ]
        for field in ("initContainers", "containers")
        if spec.get(field)
    }
    return {**spec, **lists}


def _held_template(job: ApiObject) -> Manifest:
    labels = {"controller-uid": job.uid, "job-name": job.name}
    labels |= {f"{_GROUP}{name}": value for name, value in labels.items()}
    template = labelled_template(job, labels)
    metadata = part(template, "metadata")
    finalizers = [*(metadata.get("finalizers") or ()), FINALIZER]
    return {**template, "metadata": {**metadata, "finalizers": finalizers}}

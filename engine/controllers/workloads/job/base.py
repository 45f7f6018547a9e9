"""What the controllers of Jobs share: how they find, create and delete the pods of a job."""

from collections.abc import Callable
from typing import ClassVar, Final

from engine.controllers.shared.controller import Controller, ControllerContext
from engine.controllers.shared.expectations import Expectations
from engine.controllers.shared.manifests import part
from engine.controllers.shared.owners import controller_of
from engine.controllers.shared.pods import time_of
from engine.controllers.shared.selection import selector_of
from engine.controllers.workloads.creation import batches
from engine.controllers.workloads.job.progress import FINALIZER
from engine.kernel.errors import ApiError, Forbidden
from engine.objects.objects import ApiObject, Manifest, Pod
from engine.objects.pods.conditions import is_ready
from engine.storage.ports import EventSink

_RANK: Final = {"Pending": 0, "Unknown": 1, "Running": 2}


class JobPods(Controller):
    """Finds, creates and deletes the pods of Jobs."""

    AUTHOR: ClassVar[str] = "job-controller"
    KIND: ClassVar[str] = "Job"

    def __init__(self, context: ControllerContext, events: EventSink) -> None:
        super().__init__(context, events)
        self._expectations = Expectations(context.loop)

    def await_creation(self, key: str) -> None:
        """See Controller."""
        self._expectations.expect(key, 1, [])

    def _is_own(self, job: ApiObject) -> bool:
        """Whether this controller has the pods of *job*, and not another one of the same process."""
        return True

    def _owner_of(self, obj: ApiObject) -> ApiObject | None:
        found = super()._owner_of(obj)
        return found if found is not None and self._is_own(found) else None

    def _pods_of(self, job: ApiObject) -> list[Pod]:
        return self._claim_pods(job, selector_of(job))

    def _keeps(self, owner: ApiObject, pod: Pod) -> bool:
        # Pods of files may lack the labels that the API server would have given to those of a Job.
        return owner.spec.get("selector") is None and FINALIZER not in pod.finalizers

    def _create(
        self, job: ApiObject, count: int, create_one: Callable[[], Pod]
    ) -> tuple[int, ApiError | None]:
        """Create *count* pods; returns how many were created, and why one was refused, which ends it."""
        made, refused = 0, None
        for size in batches(count):
            for _ in range(size):
                try:
                    create_one()
                    made += 1
                except Forbidden as refusal:
                    refused = refusal
                except ApiError:
                    self._expectations.created(job.key, count - made)
                    raise
            if refused is not None:
                self._expectations.created(job.key, count - made)
                break
        return made, refused

    def _delete_all(self, job: ApiObject, pods: list[Pod]) -> None:
        if not pods:
            return
        self._expectations.expect(job.key, 0, [pod.key for pod in pods])
        refused = self._delete_pods(job, pods, self._expectations)
        if refused is not None:
            raise refused


def may_be_adopted(old: ApiObject | None, pod: ApiObject) -> bool:
    """Whether *pod* has come without a controller, or lost it, or got other labels without one.

    Upstream: job_controller.go, addPod(), updatePod().
    """
    if controller_of(pod) is not None:
        return False
    return old is None or controller_of(old) is not None or old.labels != pod.labels


def labelled_template(job: ApiObject, labels: Manifest) -> Manifest:
    """The template of *job*, whose pods get *labels*, too."""
    template: Manifest = part(job.spec, "template")
    metadata: Manifest = part(template, "metadata")
    return {**template, "metadata": {**metadata, "labels": {**labels, **part(metadata, "labels")}}}


def parallelism_of(job: ApiObject) -> int:
    """How many pods may run at a time."""
    parallelism = job.spec.get("parallelism")
    return 1 if parallelism is None else parallelism


def removal_order(pod: Pod) -> tuple[int | str, ...]:
    """The pods to be deleted first come first. Upstream: controller.ActivePods."""
    return (
        bool(pod.node_name),
        _RANK.get(pod.phase, 0),
        is_ready(pod),
        -time_of(pod.creation_timestamp),
        pod.name,
    )

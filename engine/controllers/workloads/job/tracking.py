"""The Job controller since v1.35. Upstream: pkg/controller/job/job_controller.go.

watch events ─(1 s)─▶ queue ─▶ sync ─▶ JobProgress ─▶ pods created or deleted
                                                  └─▶ JobStatusWriter
"""

from functools import partial
from typing import ClassVar, Final

from engine.api_server.store.watches import WatchEvent
from engine.api_server.store.workqueue import WorkQueue
from engine.controllers.shared.controller import (
    MOST_PODS_PER_SYNC,
    ControllerContext,
    generation_of,
)
from engine.controllers.shared.owners import controller_of
from engine.controllers.shared.selection import selector_of
from engine.controllers.workloads.job.backoff import BackoffRecord
from engine.controllers.workloads.job.base import (
    JobPods,
    may_be_adopted,
    parallelism_of,
    removal_order,
)
from engine.controllers.workloads.job.conditions import (
    SUCCESS_CRITERIA_MET,
    SUSPENDED,
    condition,
    deadline_left,
    ending,
    is_finished,
)
from engine.controllers.workloads.job.failure_policy import replaces_only_failed
from engine.controllers.workloads.job.indexes import index_of, is_indexed, pending_indexes
from engine.controllers.workloads.job.pod_templates import PodTemplates
from engine.controllers.workloads.job.progress import FINALIZER, JobProgress, is_terminating
from engine.controllers.workloads.job.retry_queue import RetryQueue
from engine.controllers.workloads.job.status import JobStatusWriter, remove_finalizer
from engine.kernel.errors import ApiError
from engine.kernel.units import SECOND, timestamp
from engine.objects.objects import ApiObject, Manifest, Pod
from engine.objects.pods.conditions import is_ready
from engine.storage.ports import NORMAL, EventSink

# Changes within that time after one of a pod or of a status are handled in one sync.
BATCH_PERIOD: Final = 1 * SECOND
API_BACKOFF: Final = 1 * SECOND
MAX_API_BACKOFF: Final = 60 * SECOND
_OWN_NAMES: Final = (None, "", "kubernetes.io/job-controller")


class TrackingJobController(JobPods):
    """Runs the pods of Jobs until enough have succeeded or too many failed, and counts each once.

    A finalizer holds each pod until the status counts it.
    """

    ADOPTED_FINALIZER: ClassVar[str] = FINALIZER
    PARTS: ClassVar[tuple[str, ...]] = ("_queue", "_later", "_orphans")

    def __init__(self, context: ControllerContext, events: EventSink) -> None:
        super().__init__(context, events)
        self._later = RetryQueue(context.loop, self._queue, API_BACKOFF, MAX_API_BACKOFF)
        # The keys of pods that keep their finalizer although their job is gone, or has finished.
        self._orphans = WorkQueue(context.loop, self._release_orphan)
        self._records: dict[str, BackoffRecord] = {}
        # By job, the uids of pods whose finalizer is removed, until the watch shows that.
        self._removed: dict[str, dict[str, None]] = {}
        self._writer = JobStatusWriter(self._store, events, self.AUTHOR, self._pod_released)
        self._watches_pods = False
        self._listers.of("Job").on_event(self._on_job)

    # Watch events

    def _on_job(self, event: WatchEvent) -> None:
        job, key = event.new, event.new.key
        if not self._is_own(job):
            return
        if not self._watches_pods:
            # Without a job no pod is of interest.
            self._watches_pods = True
            self._listers.pods.on_event(self._on_pod, plain=False)
        if event.type == "DELETED":
            self._expectations.forget(key)
            self._records.pop(key, None)
            self._removed.pop(key, None)
            self._later.forget(key)
        elif event.old is None or generation_of(event.old) != generation_of(job):
            self._queue.add(key)
        else:
            self._later.add_after(key, BATCH_PERIOD)
        if event.type == "DELETED" or is_finished(job):
            for pod in self._listers.pods_controlled_by(job):
                if FINALIZER in pod.finalizers:
                    self._orphans.add(pod.key)

    def _on_pod(self, event: WatchEvent) -> None:
        pod, old = event.new, event.old
        owner = self._owner_of(pod)
        gone = event.type == "DELETED"
        if old is not None and controller_of(old) != controller_of(pod):
            self._lost(old, pod)
        if owner is None:
            if not gone:
                self._on_orphan(pod, old)
            return
        if event.type == "ADDED":
            self._expectations.created(owner.key)
        if gone or pod.deletion_timestamp:
            self._expectations.deleted(owner.key, pod.key)
        if gone or FINALIZER not in pod.finalizers:
            self._removed.get(owner.key, {}).pop(pod.uid, None)
        self._later.add_after(owner.key, BATCH_PERIOD)

    def _lost(self, old: ApiObject, pod: ApiObject) -> None:
        """The job that controlled *pod* before, if any, does no more."""
        before = self._owner_of(old)
        if before is not None:
            if FINALIZER not in pod.finalizers:
                self._removed.get(before.key, {}).pop(pod.uid, None)
            self._later.add_after(before.key, BATCH_PERIOD)

    def _on_orphan(self, pod: ApiObject, old: ApiObject | None) -> None:
        """No job controls *pod*: its finalizer goes, and a job that selects it may adopt it."""
        is_free = controller_of(pod) is None
        if (is_free or pod.deletion_timestamp) and FINALIZER in pod.finalizers:
            self._orphans.add(pod.key)
        if is_free and not pod.deletion_timestamp and may_be_adopted(old, pod):
            self._queue_selecting(self.KIND, pod)

    def _queue_if_selecting(self, owner: ApiObject, orphan: ApiObject) -> None:
        if self._is_own(owner) and selector_of(owner).matches(orphan.labels):
            self._later.add_after(owner.key, BATCH_PERIOD)

    # Workers

    def _work(self, key: str) -> None:
        try:
            self.sync(key)
        except ApiError:
            self._later.add_rate_limited(key)
        else:
            self._later.forget(key)

    def _release_orphan(self, key: str) -> None:
        """Upstream: syncOrphanPod()."""
        pod = self._listers.pods.get(key)
        if pod is None or FINALIZER not in pod.finalizers:
            return
        owner = self._owner_of(pod)
        if owner is not None and not is_finished(owner):
            return
        try:
            remove_finalizer(self._store, pod, by=self.AUTHOR)
        except ApiError:
            self._orphans.add_rate_limited(key)
        else:
            self._orphans.forget(key)

    def sync(self, key: str) -> None:
        """See Controller. Upstream: syncJob()."""
        job = self._listers.of("Job").get(key)
        if job is None or not self._is_own(job) or job.spec.get("managedBy") not in _OWN_NAMES:
            return
        if is_finished(job):
            self._records.pop(key, None)
            return
        clock = self._loop.clock
        if not job.status.get("startTime") and not job.spec.get("suspend"):
            job = job.with_status({**job.status, "startTime": timestamp(clock)})
        due = self._expectations.satisfied(key)
        left = deadline_left(job, clock)
        if left:
            self._later.add_after(key, left)
        pods = self._pods_of(job)
        record = self._records.get(key, BackoffRecord())
        progress = JobProgress(job, pods, self._removed.get(key, {}), record)
        status: Manifest = dict(job.status)
        end = ending(progress, clock)
        refused: ApiError | None = None
        if end is not None:
            self._delete(progress, progress.active)
            end = end if due else None
        else:
            managed = due and not job.deletion_timestamp
            if managed:
                refused = self._manage(progress)
            if _is_complete(progress):
                message = "Reached expected number of succeeded pods"
                end = condition(SUCCESS_CRITERIA_MET, "CompletionsReached", message, clock)
            elif managed:
                self._follow_suspension(job, status)
        status |= {
            "active": progress.active_count,
            "ready": progress.ready,
            "terminating": progress.terminating,
        }
        self._writer.track(progress, status, end, partial(self._keep_record, progress), clock)
        if refused is not None:
            raise refused

    def _keep_record(self, progress: JobProgress) -> None:
        self._records[progress.job.key] = progress.record

    def _pod_released(self, pod: Pod) -> None:
        owner = self._owner_of(pod)
        if owner is not None:
            self._removed.setdefault(owner.key, {})[pod.uid] = None

    # Pods

    def _manage(self, progress: JobProgress) -> ApiError | None:
        """Create or delete pods; returns why a pod was refused. Upstream: manageJob()."""
        job = progress.job
        self._store.limit.still_to_make(job, 0)
        if job.spec.get("suspend"):
            self._delete(progress, progress.active)
            return None
        wanted = _wanted(progress)
        surplus = _surplus(progress, len(progress.active) - wanted)
        if surplus:
            self._delete(progress, surplus[:MOST_PODS_PER_SYNC])
            return None
        ending_pods = progress.terminating if replaces_only_failed(job) else 0
        missing = wanted - ending_pods - len(progress.active)
        return self._create_missing(progress, missing) if missing > 0 else None

    def _create_missing(self, progress: JobProgress, missing: int) -> ApiError | None:
        job, clock = progress.job, self._loop.clock
        count = min(missing, MOST_PODS_PER_SYNC)
        indexes: list[int] = []
        wait = 0 if progress.limits_each_index else progress.record.remaining(clock)
        if is_indexed(job) and not wait:
            pending = pending_indexes(_taken(progress), progress.completions or 0, count)
            indexes = [index for index in pending if not progress.wait_of(index, clock)]
            if pending and not indexes:
                wait = min(progress.wait_of(index, clock) for index in pending)
            count = len(indexes)
        if wait:
            self._later.add_after(job.key, wait)
            # Upstream, too, writes that none is active then.
            progress.active_count = 0
            return None
        self._expectations.expect(job.key, count, [])
        templates = PodTemplates(progress, indexes)
        made, refused = self._create(job, count, partial(self._create_next, job, templates))
        progress.active_count += made
        if refused is None:
            self._store.limit.still_to_make(job, missing - count)
        return refused

    def _create_next(self, job: ApiObject, templates: PodTemplates) -> Pod:
        template, prefix = templates.next()
        return self._create_pod(job, template, prefix)

    def _delete(self, progress: JobProgress, pods: list[Pod]) -> None:
        self._delete_all(progress.job, pods)
        progress.active_count -= len(pods)
        progress.terminating += len(pods)
        progress.ready -= sum(map(is_ready, pods))

    # Suspension

    def _follow_suspension(self, job: ApiObject, status: Manifest) -> None:
        """Write into *status* that *job* was suspended or resumed; emits Events."""
        conditions: list[Manifest] = list(status.get("conditions") or ())
        known = next((one for one in conditions if one.get("type") == SUSPENDED), None)
        is_suspended = known is not None and known.get("status") == "True"
        suspend = bool(job.spec.get("suspend"))
        if suspend is is_suspended:
            return
        word = "Suspended" if suspend else "Resumed"
        changed = condition(SUSPENDED, f"Job{word}", f"Job {word.lower()}", self._loop.clock)
        if not suspend:
            changed["status"] = "False"
            status["startTime"] = timestamp(self._loop.clock)
        status["conditions"] = [one for one in conditions if one is not known] + [changed]
        self._events.event(job, NORMAL, word, f"Job {word.lower()}")


def _is_complete(progress: JobProgress) -> bool:
    if progress.active_count:
        return False
    completions = progress.completions
    if completions is None:
        # A work queue: the first success says that there is nothing left to fetch.
        return progress.succeeded > 0
    return progress.succeeded >= completions


def _wanted(progress: JobProgress) -> int:
    """How many pods should be active."""
    parallelism, completions = parallelism_of(progress.job), progress.completions
    if completions is None:
        return len(progress.active) if progress.succeeded else parallelism
    return max(0, min(completions - progress.succeeded, parallelism))


def _surplus(progress: JobProgress, count: int) -> list[Pod]:
    """The active pods to be deleted, *count* or more. Upstream: activePodsForRemoval()."""
    pods = sorted(progress.active, key=removal_order)
    if not is_indexed(progress.job):
        return pods[: max(0, count)]
    kept: dict[int, Pod] = {}
    removed: list[Pod] = []
    for pod in reversed(pods):
        index = index_of(pod)
        if progress.is_valid(index) and index not in kept:
            kept[index] = pod
        else:
            removed.append(pod)
    left = [pod for pod in pods if kept.get(index_of(pod)) is pod]
    return [*removed, *left[: max(0, count - len(removed))]]


def _taken(progress: JobProgress) -> list[int]:
    """The indexes that need no new pod."""
    pods = [*progress.active]
    if replaces_only_failed(progress.job):
        pods += filter(is_terminating, progress.pods)
    failed = progress.failed_indexes or {}
    return [*progress.succeeded_indexes, *failed, *map(index_of, pods)]

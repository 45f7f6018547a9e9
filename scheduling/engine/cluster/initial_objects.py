"""The objects that a cluster starts with."""

from collections.abc import Callable, Sequence

from kscope.sim.api_server.store import ObjectStore
from kscope.sim.errors import ApiError
from kscope.sim.kernel.loop import EventLoop
from kscope.sim.objects.objects import ApiObject, Manifest, from_manifest
from scheduling.engine.api_server.admission import Admission
from scheduling.engine.workloads.disruption.budget_count import with_counted_budgets
from scheduling.engine.workloads.rules import WorkloadRules
from volumes.engine.phases import settled

# Told how many objects are there, and of how many.
Progress = Callable[[int, int], None]
TOLD_EVERY = 500  # objects
# Admission looks these up.
_ADMITTED_FIRST = ("Namespace", "PriorityClass", "RuntimeClass", "StorageClass", "LimitRange")


def create_initial_objects(
    manifests: Sequence[Manifest],
    loop: EventLoop,
    store: ObjectStore,
    admission: Admission,
    rules: WorkloadRules,
    progress: Progress | None = None,
) -> None:
    """Create the objects of *manifests*: classes first, quotas last, because they count the others.

    *progress* is told now and then.

    Raises ApiError naming the object when the API server would refuse one.
    """
    objects = with_counted_budgets((from_manifest(raw) for raw in manifests), rules)
    for done, obj in enumerate(sorted(objects, key=_turn)):
        loop.cause = 0
        if progress and done % TOLD_EVERY == 0:
            progress(done, len(objects))
        try:
            store.create(settled(admission.admit(obj)), by="scenario")
        except ApiError as refusal:
            raise type(refusal)(f"{obj.id}: {refusal}") from refusal


def _turn(obj: ApiObject) -> int:
    return 0 if obj.kind in _ADMITTED_FIRST else 2 if obj.kind == "ResourceQuota" else 1

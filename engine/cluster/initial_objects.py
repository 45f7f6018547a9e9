"""The objects that a cluster starts with."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from engine.api_server.admission.admission import Admission
from engine.api_server.store.store import ObjectStore
from engine.cluster.known_fields import KnownFields
from engine.cluster.told_troubles import ToldTroubles
from engine.controllers.disruption.budget_count import with_counted_budgets
from engine.controllers.shared.rules import WorkloadRules
from engine.kernel.boundary import Blame, Failures
from engine.kernel.errors import ApiError
from engine.kernel.loop import Failed, attempted
from engine.objects.objects import ApiObject, Manifest, from_manifest
from engine.objects.phases import settled

# Told how many objects are there, and of how many.
Progress = Callable[[int, int], None]
TOLD_EVERY = 500  # objects
# Admission looks these up.
_ADMITTED_FIRST = ("Namespace", "PriorityClass", "RuntimeClass", "StorageClass", "LimitRange")
API_SERVER: Final = "kube-apiserver"


class InitialObjects:
    """Creates them. An object that fails unexpectedly is left out, with an event."""

    def __init__(
        self,
        store: ObjectStore,
        admission: Admission,
        fields: KnownFields,
        rules: WorkloadRules,
        failures: Failures,
        told: ToldTroubles | None,
    ) -> None:
        """*told* is what the files tell of them; None where they are not a cluster that stands."""
        self._store = store
        self._admission = admission
        self._fields = fields
        self._rules = rules
        self._failures = failures
        self._told = told

    def create(self, manifests: Sequence[Manifest], progress: Progress | None = None) -> None:
        """Create the objects of *manifests*: classes first, quotas last, as they count the others.

        *progress* is called now and then.

        Raises ApiError naming the object when the API server would refuse one.
        """
        objects = self._counted([*self._read(manifests)])
        for done, obj in enumerate(sorted(objects, key=_turn)):
            self._store.loop.cause = 0
            if progress and done % TOLD_EVERY == 0:
                progress(done, len(objects))
            end = attempted(self._admit, obj)
            if not isinstance(end, Failed):
                continue
            if isinstance(end.error, ApiError):
                raise type(end.error)(f"{obj.id}: {end.error}") from end.error
            self._leave_out(end.error, obj.id)

    def _admit(self, obj: ApiObject) -> None:
        admitted = settled(self._admission.admit(obj))
        shown = self._told.shown(admitted, self._store.loop.ahead) if self._told else None
        self._store.create(admitted, by="scenario", changes=shown)

    def _read(self, manifests: Iterable[Manifest]) -> Iterator[ApiObject]:
        for raw in manifests:
            found = attempted(self._object, raw)
            if not isinstance(found, Failed):
                yield found
            elif isinstance(found.error, ApiError):
                raise found.error
            else:
                self._leave_out(found.error)

    def _object(self, raw: Manifest) -> ApiObject:
        return from_manifest(self._fields.initial(raw))

    def _counted(self, objects: list[ApiObject]) -> list[ApiObject]:
        counted = attempted(with_counted_budgets, objects, self._rules)
        if not isinstance(counted, Failed):
            return counted
        self._leave_out(counted.error)
        return objects

    def _leave_out(self, error: Exception, subject: str = "run") -> None:
        if not self._failures.left_out(error, Blame(API_SERVER, (), subject)):
            raise error


def _turn(obj: ApiObject) -> int:
    return 0 if obj.kind in _ADMITTED_FIRST else 2 if obj.kind == "ResourceQuota" else 1

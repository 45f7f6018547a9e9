"""The objects that a cluster starts with."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from engine.api_server.admission.admission import Admission
from engine.api_server.custom.kinds import CustomScenario
from engine.api_server.store.store import ObjectStore
from engine.cluster.alike_pods import AlikePods
from engine.cluster.known_fields import KnownFields
from engine.cluster.told_troubles import ToldTroubles
from engine.controllers.disruption.budget_count import with_counted_budgets
from engine.controllers.shared.rules import WorkloadRules
from engine.kernel.boundary import Blame, Failures
from engine.kernel.errors import ApiError
from engine.kernel.loop import Failed, attempted
from engine.objects.custom.definition import DEFINITION
from engine.objects.objects import ApiObject, Manifest
from engine.objects.phases import settled

# How many objects are there, and how many there will be.
Created = tuple[int, int]
TOLD_EVERY = 250  # objects
# Admission looks these up.
_ADMITTED_FIRST = (
    DEFINITION,
    "Namespace",
    "PriorityClass",
    "RuntimeClass",
    "StorageClass",
    "LimitRange",
)
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
        self._alike = AlikePods()

    def creating(self, manifests: Sequence[Manifest]) -> Iterator[Created]:
        """Create the objects of *manifests*: classes first, quotas last, as they count the others.

        Says now and then how far it is.

        Raises ApiError naming the object when the API server would refuse one.
        """
        read: list[ApiObject] = []
        for obj in self._read(manifests):
            if len(read) % TOLD_EVERY == 0:
                yield 0, len(manifests)
            read.append(obj)
        objects = self._counted(read)
        for done, obj in enumerate(sorted(objects, key=_turn)):
            if done % TOLD_EVERY == 0:
                yield done, len(objects)
            self._store.loop.cause = 0
            end = attempted(self._admit, obj)
            if not isinstance(end, Failed):
                continue
            if isinstance(end.error, ApiError):
                raise type(end.error)(f"{obj.id}: {end.error}") from end.error
            self._leave_out(end.error, obj.id)

    def _admit(self, obj: ApiObject) -> None:
        admitted = settled(self._alike.admitted(obj, self._admission.admit))
        shown = self._told.shown(admitted, self._store.loop.ahead) if self._told else None
        self._store.create(admitted, by="scenario", changes=shown)

    def _read(self, manifests: Sequence[Manifest]) -> Iterator[ApiObject]:
        read = partial(self._fields.initial, custom=CustomScenario(manifests))
        for raw in manifests:
            found = attempted(self._alike.read, raw, read)
            if not isinstance(found, Failed):
                yield found
            elif isinstance(found.error, ApiError):
                raise found.error
            else:
                self._leave_out(found.error)

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

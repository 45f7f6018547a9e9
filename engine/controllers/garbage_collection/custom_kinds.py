"""Deletes the objects of a kind whose CustomResourceDefinition is being deleted.

Upstream: apiextensions-apiserver pkg/controller/finalizer/crd_finalizer.go.
"""

from contextlib import suppress
from typing import ClassVar, Final

from engine.api_server.store.informer import Informer
from engine.api_server.store.watches import WatchEvent
from engine.api_server.store.workqueue import WorkQueue
from engine.controllers.shared.controller import ControllerContext
from engine.controllers.shared.deletion import CLEANUP_FINALIZER, delete
from engine.kernel.errors import ApiError, NotFound
from engine.kernel.units import SECOND, timestamp
from engine.objects.custom.definition import (
    DEFINITION,
    TERMINATING,
    CustomDefinition,
    with_condition,
)
from engine.objects.objects import ApiObject

# How long it waits for finalizers of the objects before it looks again.
PERIOD: Final = 5 * SECOND
_GOING_ON: Final = ("True", "InstanceDeletionInProgress", "CustomResource deletion is in progress")
_DONE: Final = ("False", "InstanceDeletionCompleted", "removed all instances")
_NEVER: Final = ("False", "NeverEstablished", "resource was never established")


class CustomKindFinalizer:
    """A definition goes when all objects of its kind are gone."""

    AUTHOR: ClassVar[str] = "customresourcedefinition-finalizer"
    PARTS: ClassVar[tuple[str, ...]] = ("_queue", "_definitions")

    def __init__(self, context: ControllerContext) -> None:
        self._store = context.store
        self._queue = WorkQueue(
            context.loop, self._work, answers=context.store.answers.of(self.AUTHOR)
        )
        self._definitions: Informer[ApiObject] = Informer(
            context.store, DEFINITION, context.watch_latency
        )
        self._definitions.on_event(self._on_definition)

    def restarted(self, context: ControllerContext) -> "CustomKindFinalizer":
        """The same controller in a new process, which knows nothing yet."""
        return CustomKindFinalizer(context)

    def _on_definition(self, event: WatchEvent) -> None:
        if event.type != "DELETED" and event.new.deletion_timestamp:
            self._queue.add(event.new.key)

    def _work(self, key: str) -> None:
        found = self._store.find(DEFINITION, key)
        if found is None or not found.deletion_timestamp:
            return
        if CLEANUP_FINALIZER not in found.finalizers:
            return
        try:
            self._clean_up(found)
        except ApiError:
            self._queue.add_rate_limited(key)
        else:
            self._queue.forget(key)

    def _clean_up(self, obj: ApiObject) -> None:
        definition = CustomDefinition(obj.raw)
        kind = definition.stored_kind
        for each in self._store.objects(kind) if definition.is_established else ():
            if not each.deletion_timestamp:
                with suppress(NotFound):
                    delete(self._store, each, by=self.AUTHOR)
        if definition.is_established and self._store.objects(kind):
            self._tell(obj, _GOING_ON)
            self._queue.add_after(obj.key, PERIOD)
            return
        self._tell(obj, _DONE if definition.is_established else _NEVER, is_last=True)

    def _tell(self, obj: ApiObject, told: tuple[str, str, str], *, is_last: bool = False) -> None:
        now = timestamp(self._store.clock)
        conditions = with_condition(obj.raw, TERMINATING, *told, now)
        new = obj.replaced(status={**obj.status, "conditions": conditions})
        if is_last:
            left = [name for name in obj.finalizers if name != CLEANUP_FINALIZER]
            new = new.with_metadata(finalizers=left)
        if new.raw != obj.raw:
            self._store.update(new, by=self.AUTHOR)

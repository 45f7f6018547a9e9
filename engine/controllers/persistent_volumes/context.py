"""What the PV controller works with. Upstream: pv_controller_base.go, ControllerParameters."""

from dataclasses import dataclass, field

from engine.api_server.store.answers import Answers
from engine.controllers.persistent_volumes.in_tree.plugin import Delays
from engine.controllers.persistent_volumes.in_tree.registry import PluginRegistry
from engine.controllers.persistent_volumes.rules import ControllerRules
from engine.kernel.loop import EventLoop
from engine.kernel.trace import Trace
from engine.objects.objects import ApiObject
from engine.storage.migration import NO_MIGRATION, Migration
from engine.storage.ports import EventSink, Listers, VolumeApi


@dataclass(slots=True, kw_only=True)
class ControllerContext:
    """The cluster as the PV controller sees it, and the controller's configuration.

    *listers* are the informers, which may be stale; *api* is always up to date. The API server
    answers a write after *answer_delay* ns. Without *delays* no sync is delayed; without *answers*
    no worker waits for the answer to an earlier write.
    """

    loop: EventLoop
    api: VolumeApi
    listers: Listers
    events: EventSink
    rules: ControllerRules
    plugins: PluginRegistry = field(default_factory=PluginRegistry)
    migration: Migration = NO_MIGRATION
    dynamic_provisioning: bool = True
    answer_delay: int = 0
    answers: Answers | None = None
    delays: Delays | None = None

    def trace_of(self, obj: ApiObject) -> Trace | None:
        """The trace, if it follows *obj*; None in a run."""
        trace = self.loop.trace
        return trace if trace is not None and trace.follows(obj.id) else None

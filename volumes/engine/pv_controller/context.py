"""What the PV controller works with. Upstream: pv_controller_base.go, ControllerParameters."""

from dataclasses import dataclass, field

from kscope.sim.api_server.answers import Answers
from kscope.sim.kernel.loop import EventLoop
from volumes.engine.migration import NO_MIGRATION, Migration
from volumes.engine.ports import EventSink, Listers, VolumeApi
from volumes.engine.pv_controller.in_tree.plugin import Delays
from volumes.engine.pv_controller.in_tree.registry import PluginRegistry
from volumes.engine.pv_controller.rules import ControllerRules


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

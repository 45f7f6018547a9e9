"""Where upstream does each phase of a cycle, by version. Paths are below pkg/scheduler."""

from __future__ import annotations

from engine.kernel.trace import Place, Places

_OLD, _CORE = "scheduler.go", "core/generic_scheduler.go"
_ONE, _RUNTIME = "schedule_one.go", "framework/runtime/framework.go"
_DEFAULT_PREEMPTION = "framework/plugins/defaultpreemption/default_preemption.go"
_ALPHA = "framework/v1alpha1/framework.go"

PLACES: Places = {
    "pop": (
        Place(11, "core/scheduling_queue.go", "PriorityQueue.Pop"),
        Place(16, "internal/queue/scheduling_queue.go", "PriorityQueue.Pop"),
        Place(34, "backend/queue/active_queue.go", "activeQueue.pop"),
    ),
    "snapshot": (
        Place(11, "cache/cache.go", "schedulerCache.UpdateNodeNameToInfoMap"),
        Place(16, "internal/cache/cache.go", "schedulerCache.UpdateNodeInfoSnapshot"),
        Place(20, "internal/cache/cache.go", "schedulerCache.UpdateSnapshot"),
        Place(34, "backend/cache/cache.go", "cacheImpl.UpdateSnapshot"),
    ),
    "order": (
        Place(11, _CORE, "genericScheduler.findNodesThatFit"),
        Place(16, "internal/cache/node_tree.go", "NodeTree.Next"),
        Place(20, "internal/cache/node_tree.go", "nodeTree.list"),
        Place(34, "backend/cache/node_tree.go", "nodeTree.list"),
    ),
    "pre_filter": (
        Place(11, "algorithm/predicates/metadata.go", "PredicateMetadataFactory.GetMetadata"),
        Place(16, _ALPHA, "framework.RunPreFilterPlugins"),
        Place(20, _RUNTIME, "frameworkImpl.RunPreFilterPlugins"),
    ),
    "filter": (
        Place(11, _CORE, "podFitsOnNode"),
        Place(16, _CORE, "genericScheduler.podFitsOnNode"),
        Place(20, _CORE, "PodPassesFiltersOnNode"),
        Place(34, _RUNTIME, "frameworkImpl.RunFilterPluginsWithNominatedPods"),
    ),
    "post_filter": (
        Place(11, _CORE, "genericScheduler.Preempt"),
        Place(20, _DEFAULT_PREEMPTION, "DefaultPreemption.PostFilter"),
        Place(34, "framework/preemption/preemption.go", "Evaluator.Preempt"),
    ),
    "score": (
        Place(11, _CORE, "PrioritizeNodes"),
        Place(20, _CORE, "genericScheduler.prioritizeNodes"),
        Place(34, _ONE, "prioritizeNodes"),
    ),
    "host": (
        Place(11, _CORE, "genericScheduler.selectHost"),
        Place(34, _ONE, "selectHost"),
    ),
    "assume": (
        Place(11, _OLD, "Scheduler.assume"),
        Place(34, _ONE, "Scheduler.assume"),
    ),
    "reserve": (
        Place(11, _OLD, "Scheduler.assumeAndBindVolumes"),
        Place(16, _ALPHA, "framework.RunReservePlugins"),
        Place(20, _RUNTIME, "frameworkImpl.RunReservePluginsReserve"),
    ),
    "permit": (
        Place(11, _OLD, "Scheduler.scheduleOne"),
        Place(16, _ALPHA, "framework.RunPermitPlugins"),
        Place(20, _RUNTIME, "frameworkImpl.RunPermitPlugins"),
    ),
    "pre_bind": (
        Place(11, _OLD, "Scheduler.scheduleOne"),
        Place(16, _ALPHA, "framework.RunPreBindPlugins"),
        Place(20, _RUNTIME, "frameworkImpl.RunPreBindPlugins"),
    ),
    "bind_queue": (Place(11, _OLD, "Scheduler.bindVolumesWorker"),),
    "bind": (
        Place(11, _OLD, "Scheduler.bind"),
        Place(34, _ONE, "Scheduler.bind"),
    ),
    "post_bind": (
        Place(11, _OLD, "Scheduler.scheduleOne"),
        Place(16, _ALPHA, "framework.RunPostBindPlugins"),
        Place(20, _RUNTIME, "frameworkImpl.RunPostBindPlugins"),
    ),
}

"""Where upstream does each phase of a cycle, by version. Paths are below pkg/scheduler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.kernel.trace import Place, Places, minor_of

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

# A function below pkg/scheduler, as (file, name); a way is the functions from the outermost in.
Way = tuple[tuple[str, str], ...]


def _in(file: str, *functions: str) -> Way:
    return tuple((file, function) for function in functions)


_LOOP = _in(_OLD, "Scheduler.scheduleOne")
_SCHEDULES_11 = (*_LOOP, (_OLD, "Scheduler.schedule"), (_CORE, "genericScheduler.Schedule"))
_FINDS_11 = (*_SCHEDULES_11, (_CORE, "genericScheduler.findNodesThatFit"))
_SNAPSHOT = _in(_CORE, "genericScheduler.snapshot")
_SCHEDULES_20 = (*_LOOP, (_CORE, "genericScheduler.Schedule"))
_FINDS_20 = (*_SCHEDULES_20, (_CORE, "genericScheduler.findNodesThatFitPod"))
_LISTS_20 = _in(
    "internal/cache/cache.go",
    "schedulerCache.UpdateSnapshot",
    "schedulerCache.updateNodeInfoSnapshotList",
)
_CYCLE_34 = _in(_ONE, "Scheduler.ScheduleOne", "Scheduler.schedulingCycle")
_SCHEDULES_34 = (*_CYCLE_34, (_ONE, "Scheduler.schedulePod"))
_BINDS_34 = _in(_ONE, "Scheduler.ScheduleOne", "Scheduler.bindingCycle")
_POD_36 = _in(_ONE, "Scheduler.ScheduleOne", "Scheduler.scheduleOnePod")
_CYCLE_36 = (*_POD_36, (_ONE, "Scheduler.schedulingCycle"))
_DECIDES_36 = (*_CYCLE_36, (_ONE, "Scheduler.schedulingAlgorithm"))
_SCHEDULES_36 = (*_DECIDES_36, (_ONE, "Scheduler.schedulePod"))
_PREPARES_36 = (*_CYCLE_36, (_ONE, "Scheduler.prepareForBindingCycle"))
_ASSUMES_36 = (*_PREPARES_36, (_ONE, "Scheduler.assumeAndReserve"))
_BINDS_36 = (*_POD_36, *_in(_ONE, "Scheduler.runBindingCycle", "Scheduler.bindingCycle"))
_FINDS = _in(_ONE, "Scheduler.findNodesThatFitPod")
_PASSES = _in(_ONE, "Scheduler.findNodesThatPassFilters")
_LISTS = _in(
    "backend/cache/cache.go", "cacheImpl.UpdateSnapshot", "cacheImpl.updateNodeInfoSnapshotList"
)
_PREEMPTS = _in(_RUNTIME, "frameworkImpl.RunPostFilterPlugins")
_POPS_11 = (*_LOOP, ("factory/factory.go", "configFactory.getNextPod"))
_POPS_16 = (*_LOOP, ("internal/queue/scheduling_queue.go", "MakeNextPodFunc"))
_POPS = (
    (_ONE, "Scheduler.ScheduleOne"),
    ("backend/queue/scheduling_queue.go", "PriorityQueue.Pop"),
)

# By phase, the functions that have called that of PLACES, each since a version.
_CALLERS: Mapping[str, Sequence[tuple[int, Way]]] = {
    "pop": ((11, _POPS_11), (16, _POPS_16), (34, _POPS)),
    "snapshot": (
        (11, _SCHEDULES_11),
        (16, (*_SCHEDULES_11, *_SNAPSHOT)),
        (20, (*_SCHEDULES_20, *_SNAPSHOT)),
        (34, _SCHEDULES_34),
        (36, _CYCLE_36),
    ),
    "order": (
        (11, _SCHEDULES_11),
        (16, _FINDS_11),
        (20, (*_SCHEDULES_20, *_SNAPSHOT, *_LISTS_20)),
        (34, (*_SCHEDULES_34, *_LISTS)),
        (36, (*_CYCLE_36, *_LISTS)),
    ),
    "pre_filter": (
        (11, _FINDS_11),
        (16, _SCHEDULES_11),
        (20, _FINDS_20),
        (34, (*_SCHEDULES_34, *_FINDS)),
        (36, (*_SCHEDULES_36, *_FINDS)),
    ),
    "filter": (
        (11, _FINDS_11),
        (20, (*_FINDS_20, (_CORE, "genericScheduler.findNodesThatPassFilters"))),
        (34, (*_SCHEDULES_34, *_FINDS, *_PASSES)),
        (36, (*_SCHEDULES_36, *_FINDS, *_PASSES)),
    ),
    "post_filter": (
        (11, (*_LOOP, (_OLD, "Scheduler.preempt"))),
        (20, (*_LOOP, *_PREEMPTS)),
        (34, (*_CYCLE_34, *_PREEMPTS, (_DEFAULT_PREEMPTION, "DefaultPreemption.PostFilter"))),
        (36, (*_DECIDES_36, *_PREEMPTS, (_DEFAULT_PREEMPTION, "DefaultPreemption.PostFilter"))),
    ),
    "score": ((11, _SCHEDULES_11), (20, _SCHEDULES_20), (34, _SCHEDULES_34), (36, _SCHEDULES_36)),
    "host": ((11, _SCHEDULES_11), (20, _SCHEDULES_20), (34, _SCHEDULES_34), (36, _SCHEDULES_36)),
    "assume": ((11, _LOOP), (34, _CYCLE_34), (36, _ASSUMES_36)),
    "reserve": ((11, _LOOP), (34, _CYCLE_34), (36, _ASSUMES_36)),
    "permit": ((11, ()), (16, _LOOP), (34, _CYCLE_34), (36, _PREPARES_36)),
    "pre_bind": ((11, ()), (16, _LOOP), (34, _BINDS_34), (36, _BINDS_36)),
    "bind_queue": (
        (11, ((_OLD, "Scheduler.Run"), ("volumebinder/volume_binder.go", "VolumeBinder.Run"))),
    ),
    "bind": ((11, _LOOP), (34, _BINDS_34), (36, _BINDS_36)),
    "post_bind": ((11, ()), (16, _LOOP), (34, _BINDS_34), (36, _BINDS_36)),
}


def callers(phase: str, version: str) -> Way:
    """The functions that have called the one of *phase* in *version*, the outermost first."""
    minor = minor_of(version)
    return [way for since, way in _CALLERS[phase] if since <= minor][-1]

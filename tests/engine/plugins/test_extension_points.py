"""Plugins of others at QueueSort, PostFilter, and from Reserve to PostBind."""

from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from engine.cluster.checks.cluster_checks import cluster_findings
from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.framework.cluster_events import NODE, Action, ClusterEvent
from engine.framework.framework import (
    SKIP,
    SUCCESS,
    Code,
    CycleState,
    Plugin,
    PostFilterResult,
    PreFilterResult,
    Status,
    pods_to_activate,
)
from engine.framework.handle import Arguments, Handle
from engine.framework.pods.pod_info import PodInfo
from engine.framework.registrations import Registration
from engine.framework.waiting_pods import go_duration
from engine.kernel.units import MINUTE, SECOND
from engine.objects.objects import Pod
from engine.scheduler.configuration import registry
from engine.scheduler.queue.queued_pod import QueuedPodInfo
from engine.versions.registry import DEFAULT
from tests.builders import Manifest, host, local_disk, node, node_of, played, pod, scene, user_of

ANSWERS = {
    "ok": SUCCESS,
    "no": Status(Code.UNSCHEDULABLE, ("no quota left",)),
    "error": Status(Code.ERROR, ("the ledger is shut",)),
    "skip": SKIP,
}


class Ledger(Plugin):
    """Answers at each point as its arguments say, and notes that it was asked."""

    name: ClassVar[str] = "Ledger"

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self.arguments = arguments
        self.asked: list[str] = []

    def _answer(self, point: str, node: str) -> Status:
        self.asked.append(f"{point} {node}")
        return ANSWERS[self.arguments.get(point, "ok")]

    def reserve(self, state: CycleState, node: str) -> Status:
        return self._answer("reserve", node)

    def unreserve(self, state: CycleState, node: str) -> None:
        self._answer("unreserve", node)

    def permit(self, state: CycleState, node: str) -> tuple[Status, int]:
        return self._answer("permit", node), 0

    def pre_bind(self, state: CycleState, node: str) -> Status:
        return self._answer("pre_bind", node)

    def bind(self, state: CycleState, node: str) -> Status:
        return self._answer("bind", node)

    def post_bind(self, state: CycleState, node: str) -> None:
        self._answer("post_bind", node)


class SecondLedger(Ledger):
    """Another, to see the order."""

    name: ClassVar[str] = "SecondLedger"


class Gang(Plugin):
    """Pods wait until as many as are wanted have a place. Upstream: the coscheduling plugin."""

    name: ClassVar[str] = "Gang"

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._waiting = handle.waiting_pods
        self._size = int(arguments["size"])
        self._timeout = int(arguments.get("timeout", 10 * SECOND))

    def permit(self, state: CycleState, node: str) -> tuple[Status, int]:
        if len(self._waiting) + 1 < self._size:
            return Status(Code.WAIT), self._timeout
        for waiting in self._waiting:
            waiting.allow(self.name)
        return SUCCESS, 0


class SmallestFirst(Plugin):
    """The active queue by name."""

    name: ClassVar[str] = "SmallestFirst"

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        pass

    def sort_key(self, info: QueuedPodInfo) -> tuple[int, ...]:
        return (ord(info.pod.name[0]),)


class Bouncer(Plugin):
    """Throws everybody off the node that it is told."""

    name: ClassVar[str] = "Bouncer"

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table
        self._node = arguments.get("node", "")
        self._says = arguments.get("says", "")
        self.statuses: dict[str, str] = {}

    def post_filter(self, state: CycleState, statuses: dict[str, Status]) -> PostFilterResult:
        self.statuses = {name: status.message for name, status in statuses.items()}
        if not self._node:
            return PostFilterResult(status=Status(Code[self._says], ("not at this hour",)))
        victims = tuple(self._table.pods[self._table.rows[self._node]].values())
        status = Status(Code[self._says], ("not at this hour",)) if self._says else SUCCESS
        return PostFilterResult(status=status, node=self._node, victims=victims)


class Curfew(Plugin):
    """Lets nobody into the queue, or onto a node, before a node with a lamp is there."""

    name: ClassVar[str] = "Curfew"

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table
        self._point = str(arguments["point"])
        self._code = Code[arguments.get("says", "UNSCHEDULABLE")]

    def _is_lit(self) -> bool:
        return any("lamp" in self._table.node(row).labels for row in self._table.rows.values())

    def pre_enqueue(self, pod: PodInfo) -> Status:
        dark = self._point == "pre_enqueue" and not self._is_lit()
        return Status(Code.UNRESOLVABLE, ("it is dark",)) if dark else SUCCESS

    def reserve(self, state: CycleState, node: str) -> Status:
        dark = self._point == "reserve" and not self._is_lit()
        return Status(self._code, ("it is dark",)) if dark else SUCCESS

    def unreserve(self, state: CycleState, node: str) -> None:
        pass

    def events_to_register(self) -> list[Registration]:
        return [Registration(ClusterEvent(NODE, Action.ADD))]


class Herald(Plugin):
    """Wants a pod tried once another has its place, or its node."""

    name: ClassVar[str] = "Herald"

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._point = str(arguments["point"])
        self._seen: dict[str, Pod] = {}

    def pre_enqueue(self, pod: PodInfo) -> Status:
        self._seen[pod.key] = pod.pod
        return SUCCESS

    def _want(self, point: str, state: CycleState) -> Status:
        if point == self._point and state.pod.key == "default/first":
            pods_to_activate(state)["default/waits"] = self._seen["default/waits"]
        return SUCCESS

    def pre_filter(self, state: CycleState) -> PreFilterResult:
        return PreFilterResult(status=self._want("pre_filter", state))

    def permit(self, state: CycleState, node: str) -> tuple[Status, int]:
        return self._want("permit", state), 0

    def pre_bind(self, state: CycleState, node: str) -> Status:
        return self._want("pre_bind", state)


PLUGINS = {
    one.name: one for one in (Ledger, SecondLedger, Gang, SmallestFirst, Bouncer, Curfew, Herald)
}


class _Entry:
    def __init__(self, plugin: type[Plugin]) -> None:
        self.name = plugin.name
        self._plugin = plugin

    def load(self) -> type[Plugin]:
        return self._plugin


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def entries(*, group: str) -> list[_Entry]:
        known = group == registry.ENTRY_POINT_GROUP
        return [_Entry(one) for one in PLUGINS.values()] if known else []

    monkeypatch.setattr(registry, "entry_points", entries)


def configured(plugins: Manifest, **arguments: Any) -> Manifest:
    """A configuration with *plugins*, and the arguments of each by name."""
    config = [{"name": name, "args": args} for name, args in arguments.items()]
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": plugins, "pluginConfig": config}],
    }


def everywhere(*names: str, **arguments: Any) -> Manifest:
    """*names* at every point they implement."""
    return configured({"multiPoint": {"enabled": [{"name": name} for name in names]}}, **arguments)


def cluster_of(
    *objects: Manifest, configuration: Manifest, profile: str = DEFAULT.name, **fields: Any
) -> Cluster:
    start = scene(*objects, configuration=configuration, **fields)
    return Cluster.create(start, profile=profile, tie_break="name")


def plugin(cluster: Cluster, name: str) -> Any:
    return cluster.scheduler.algorithm.framework.plugins.by_name[name]


def condition(cluster: Cluster, name: str = "p") -> Manifest:
    return cluster.store.get("Pod", f"default/{name}").status["conditions"][0]


def ran(cluster: Cluster) -> list[str]:
    return [one.message for one in cluster.take().events if one.kind == "PluginsRan"]


def test_a_pod_passes_every_point_in_upstreams_order() -> None:
    cluster = played(
        cluster_of(node("a"), pod("p"), configuration=everywhere("Ledger", Ledger={"bind": "skip"}))
    )
    assert node_of(cluster, "p") == "a"
    assert plugin(cluster, "Ledger").asked == [
        "reserve a",
        "permit a",
        "pre_bind a",
        "post_bind a",
    ]


def test_every_point_with_plugins_is_recorded() -> None:
    bind = {"disabled": [{"name": "*"}], "enabled": [{"name": "Ledger"}, {"name": "DefaultBinder"}]}
    plugins = {"multiPoint": {"enabled": [{"name": "Ledger"}]}, "bind": bind}
    told = configured(plugins, Ledger={"bind": "skip"})
    cluster = played(cluster_of(node("a"), pod("p"), configuration=told))
    slice_ = cluster.take()
    assert [one.message for one in slice_.events if one.kind == "PluginsRan"] == [
        "Reserve: Ledger",
        "Permit: Ledger",
        "PreBind: Ledger",
        "Bind: Ledger (Skip), DefaultBinder",
        "PostBind: Ledger",
    ]
    evidence = slice_.attempts[0].evidence
    assert evidence is not None
    said = [{"plugin": "Ledger", "code": "Success", "reasons": []}]
    assert evidence["extension_points"] == {"Reserve": said, "Permit": said}


def test_refusal_at_reserve_undoes_all_reservations_in_reverse() -> None:
    told = everywhere("Ledger", "SecondLedger", SecondLedger={"reserve": "no"})
    cluster = played(cluster_of(node("a"), pod("p"), configuration=told), 1)
    assert node_of(cluster, "p") == ""
    assert condition(cluster)["reason"] == "Unschedulable"
    assert condition(cluster)["message"] == "0/1 nodes are available: 1 no quota left."
    slice_ = cluster.take()
    assert [one.message for one in slice_.events if one.kind == "PluginsRan"][:2] == [
        "Reserve: Ledger, SecondLedger (Unschedulable: no quota left)",
        "Unreserve: SecondLedger, Ledger",
    ]
    attempt = slice_.attempts[0]
    assert (attempt.result, attempt.node) == ("unschedulable", "")
    assert cluster_findings(cluster) == []


def test_refused_pod_comes_back_when_the_cluster_changes() -> None:
    told = everywhere("Ledger", Ledger={"reserve": "no"})
    cluster = played(cluster_of(node("a"), pod("p"), configuration=told), 30)
    assert node_of(cluster, "p") == ""
    plugin(cluster, "Ledger").arguments = {}
    assert cluster.apply(Command(verb="create", manifest=node("z", cpu="1"))).applied
    played(cluster, 30)
    assert node_of(cluster, "p") == "a"


@pytest.mark.parametrize(
    ("arguments", "reason", "message"),
    [
        (
            {"reserve": "error"},
            "SchedulerError",
            'running Reserve plugin "Ledger": the ledger is shut',
        ),
        (
            {"permit": "error"},
            "SchedulerError",
            'running Permit plugin "Ledger": the ledger is shut',
        ),
        ({"permit": "no"}, "Unschedulable", "0/1 nodes are available: 1 no quota left."),
        (
            {"pre_bind": "error"},
            "SchedulerError",
            'running PreBind plugin "Ledger": the ledger is shut',
        ),
        ({"pre_bind": "no"}, "Unschedulable", "no quota left"),
        ({"bind": "error"}, "SchedulerError", 'running Bind plugin "Ledger": the ledger is shut'),
        ({"bind": "no"}, "Unschedulable", "no quota left"),
    ],
)
def test_failures_are_reported_in_upstreams_words(
    arguments: Manifest, reason: str, message: str
) -> None:
    bind = {"disabled": [{"name": "DefaultBinder"}], "enabled": [{"name": "Ledger"}]}
    plugins = {"multiPoint": {"enabled": [{"name": "Ledger"}]}, "bind": bind}
    told = configured(plugins, Ledger=arguments)
    cluster = played(cluster_of(node("a"), pod("p"), configuration=told), 1)
    assert (condition(cluster)["reason"], condition(cluster)["message"]) == (reason, message)
    asked = plugin(cluster, "Ledger").asked
    assert asked.count("unreserve a") == asked.count("reserve a") > 0
    assert cluster_findings(cluster) == []


def test_bind_plugin_replaces_the_default_binder() -> None:
    bind = {"disabled": [{"name": "DefaultBinder"}], "enabled": [{"name": "Ledger"}]}
    cluster = played(cluster_of(node("a"), pod("p"), configuration=configured({"bind": bind})), 1)
    assert node_of(cluster, "p") == "a"
    assert plugin(cluster, "Ledger").asked == ["bind a"]


def test_refused_write_is_the_bind_plugins_failure() -> None:
    bind = {"disabled": [{"name": "DefaultBinder"}], "enabled": [{"name": "Ledger"}]}
    told = configured({"bind": bind, "postBind": {"enabled": [{"name": "Ledger"}]}})
    cluster = cluster_of(node("a"), pod("p"), configuration=told)
    fault = {"fail": "write", "kind": "Pod", "by": "scheduler", "times": 1, "text": "try again"}
    assert cluster.apply(Command(verb="fault", patch=fault)).applied
    played(cluster, 30)
    events = cluster.take().events
    failed = [one.message for one in events if one.kind == "FailedScheduling"]
    assert len(failed) == 1
    assert failed[0].startswith('running Bind plugin "Ledger": ')
    assert plugin(cluster, "Ledger").asked == ["bind a", "bind a", "post_bind a"]


def test_a_slow_answer_keeps_post_bind_waiting() -> None:
    told = configured({"postBind": {"enabled": [{"name": "Ledger"}]}})
    cluster = cluster_of(node("a"), pod("p"), configuration=told)
    slow = {"slow": "scheduler", "delay": "3s"}
    assert cluster.apply(Command(verb="fault", patch=slow)).applied
    played(cluster, 30)
    events = cluster.take().events
    bound = next(one for one in events if one.kind == "PodBound")
    ran = next(one for one in events if one.message == "PostBind: Ledger")
    assert bound.at == ran.at > 3 * SECOND
    assert bound.seq < ran.seq


def test_pods_asked_to_wait_continue_together() -> None:
    told = everywhere("Gang", Gang={"size": 3})
    later = {"manifest": pod("c")}
    cluster = cluster_of(
        node("a"), pod("a"), pod("b"), configuration=told, steps=[(5, "create", later)]
    )
    played(cluster, 4)
    assert [node_of(cluster, name) for name in "ab"] == ["", ""]
    assert "Permit: Gang asks to wait 10s" in ran(cluster)
    assert cluster.view()["pod/default/a"]["cache"] == "assumed"
    played(cluster, 4)
    assert [node_of(cluster, name) for name in "abc"] == ["a", "a", "a"]
    granted = [one.object for one in cluster.take().events if one.kind == "PermitGranted"]
    assert granted == ["pod/default/a", "pod/default/b"]


@pytest.mark.parametrize(("profile", "node_name"), [("v1.36", "a"), ("v1.35", "a"), ("v1.34", "")])
def test_pod_waiting_in_permit_is_nominated_since_v1_35(profile: str, node_name: str) -> None:
    """Upstream: bindingCycle(), WillWaitOnPermit()."""
    told = everywhere("Gang", Gang={"size": 2, "timeout": 20 * SECOND})
    cluster = played(cluster_of(node("a"), pod("p"), configuration=told, profile=profile), 10)
    status = cluster.store.get("Pod", "default/p").status
    assert status.get("nominatedNodeName", "") == node_name
    # Rejected, it has no node any more until it waits again.
    played(cluster, 15)
    kinds = [one.kind for one in cluster.take().events if one.object == "pod/default/p"]
    assert ("PodNominated" in kinds) is bool(node_name)
    assert ("NominationCleared" in kinds) is bool(node_name)


def test_a_permit_timeout_rejects_the_pod() -> None:
    told = everywhere("Ledger", "Gang", Gang={"size": 3, "timeout": 90 * SECOND})
    cluster = played(cluster_of(node("a"), pod("p"), configuration=told), 91)
    text = "rejected due to timeout after waiting 1m30s at plugin Gang"
    assert condition(cluster)["message"] == f"0/1 nodes are available: 1 {text}."
    assert condition(cluster)["reason"] == "Unschedulable"
    assert plugin(cluster, "Ledger").asked[:2] == ["reserve a", "permit a"]
    assert "unreserve a" in plugin(cluster, "Ledger").asked
    kinds = [one.kind for one in cluster.take().events if one.object == "pod/default/p"]
    assert kinds.index("PermitDenied") < kinds.index("PodForgotten")


def test_nobody_waits_longer_than_fifteen_minutes() -> None:
    told = everywhere("Gang", Gang={"size": 3, "timeout": 60 * MINUTE})
    cluster = cluster_of(node("a"), pod("p"), configuration=told, until=30 * MINUTE)
    played(cluster, 15 * 60 + 1)
    assert "after waiting 15m0s at" in condition(cluster)["message"]


def test_deleted_pod_stops_waiting_at_once() -> None:
    told = everywhere("Gang", Gang={"size": 3})
    gone = {"object": "pod/default/p", "grace_seconds": 0}
    cluster = cluster_of(node("a"), pod("p"), configuration=told, steps=[(2, "delete", gone)])
    played(cluster, 5)
    assert len(cluster.scheduler.handle.waiting_pods) == 0
    denied = [one for one in cluster.take().events if one.kind == "PermitDenied"]
    assert [one.message for one in denied] == ["removed"]
    assert cluster_findings(cluster) == []


def test_a_waiting_victim_is_requeued_and_not_deleted() -> None:
    told = everywhere("Gang", Gang={"size": 2, "timeout": 60 * SECOND})
    late = {"manifest": pod("vip", priority=10)}
    cluster = cluster_of(
        node("a", cpu="1"), pod("p"), configuration=told, steps=[(2, "create", late)]
    )
    played(cluster, 10)
    assert cluster.store.find("Pod", "default/p") is not None
    assert condition(cluster, "p")["message"].startswith("0/1 nodes are available: 1 ")
    told_events = cluster.take().events
    assert [one.message for one in told_events if one.kind == "PermitDenied"] == ["preempted"]
    assert not any(one.kind == "PodEvicted" for one in told_events)
    assert [one.message for one in told_events if one.kind == "PluginsRan"].count(
        "Permit: Gang asks to wait 1m0s"
    ) == 2


def test_a_waiting_pod_survives_a_checkpoint() -> None:
    def play(freeze: Callable[[Cluster], Cluster]) -> str:
        told = everywhere("Ledger", "Gang", Gang={"size": 2})
        late = {"manifest": pod("late")}
        cluster = cluster_of(node("a"), pod("p"), configuration=told, steps=[(5, "create", late)])
        played(cluster, 3)
        cluster.take()
        cluster = played(freeze(cluster), 30)
        cluster.take()
        assert node_of(cluster, "late") == node_of(cluster, "p") == "a"
        return cluster.digest()

    assert play(lambda one: one) == play(lambda one: Cluster.restore(one.checkpoint()))


def test_restarted_scheduler_begins_with_plugins_that_know_nothing() -> None:
    told = everywhere("Ledger", "Gang", Gang={"size": 2, "timeout": 20 * SECOND})
    cluster = played(cluster_of(node("a"), pod("p"), configuration=told), 2)
    before = plugin(cluster, "Ledger")
    for verb in ("stop_scheduler", "start_scheduler"):
        assert cluster.apply(Command(verb=verb, object="scheduler/default-scheduler")).applied
    played(cluster, 5)
    # Nobody unreserves what a dead process had in mind.
    assert "unreserve a" not in before.asked
    assert plugin(cluster, "Ledger").asked[:2] == ["reserve a", "permit a"]
    assert len(cluster.scheduler.handle.waiting_pods) == 1


def test_a_queue_sort_plugin_orders_the_active_queue() -> None:
    sort = {"disabled": [{"name": "*"}], "enabled": [{"name": "SmallestFirst"}]}
    told = configured({"queueSort": sort})
    objects = [node("n"), *(pod(name) for name in "cab")]
    cluster = played(cluster_of(*objects, configuration=told), 5)
    started = [one.object for one in cluster.take().events if one.kind == "AttemptStarted"]
    assert started == ["pod/default/a", "pod/default/b", "pod/default/c"]


@pytest.mark.parametrize("point", ["pre_enqueue", "reserve"])
def test_plugins_register_the_events_for_rejected_pods(point: str) -> None:
    told = everywhere("Curfew", Curfew={"point": point})
    lamp = {"manifest": node("lit", cpu="8", labels={"lamp": ""})}
    other = {"manifest": pod("other", schedulerName="nobody")}
    steps = [(5, "create", other), (10, "create", lamp)]
    cluster = played(cluster_of(node("a"), pod("p"), configuration=told, steps=steps), 9)
    events = [one for one in cluster.take().events if one.object == "pod/default/p"]
    assert node_of(cluster, "p") == ""
    if point == "pre_enqueue":
        gated = next(one for one in events if one.kind == "PodGated")
        assert gated.data == {"plugin": "Curfew"}
    else:
        assert [one.kind for one in events].count("AttemptStarted") == 1
    played(cluster, 20)
    assert node_of(cluster, "p") != ""
    movers = [one.message for one in cluster.take().events if one.object == "pod/default/p"]
    assert "NodeAdd" in movers


@pytest.mark.parametrize(("says", "backs_off"), [("UNSCHEDULABLE", True), ("PENDING", False)])
def test_a_pending_pod_skips_the_backoff(says: str, backs_off: bool) -> None:
    """Upstream: Diagnosis.AddPluginStatus(), PendingPlugins."""
    told = everywhere("Curfew", Curfew={"point": "reserve", "says": says})
    cluster = cluster_of(node("a"), pod("p"), configuration=told)
    cluster.advance(SECOND // 4)
    assert node_of(cluster, "p") == ""
    lit = node("lit", cpu="8", labels={"lamp": ""})
    assert cluster.apply(Command(verb="create", manifest=lit)).applied
    cluster.advance(SECOND)
    assert node_of(cluster, "p") != ""
    told_of = [one for one in cluster.take().events if one.object == "pod/default/p"]
    assert ("PodBackedOff" in [one.kind for one in told_of]) == backs_off


def test_post_filter_makes_room_as_it_sees_fit() -> None:
    told = configured({"postFilter": {"enabled": [{"name": "Bouncer"}]}}, Bouncer={"node": "b"})
    objects = (
        node("a", cpu="1"),
        node("b", cpu="1"),
        pod("on-a", nodeName="a"),
        pod("on-b", nodeName="b", terminationGracePeriodSeconds=0),
        pod("p"),
    )
    cluster = played(cluster_of(*objects, configuration=told), 30)
    assert plugin(cluster, "Bouncer").statuses == {
        "a": "Insufficient cpu",
        "b": "Insufficient cpu",
    }
    assert node_of(cluster, "p") == "b"
    assert cluster.store.find("Pod", "default/on-b") is None
    slice_ = cluster.take()
    evidence = slice_.attempts[0].evidence
    assert evidence is not None
    assert [one["plugin"] for one in evidence["extension_points"]["PostFilter"]] == [
        "DynamicResources",
        "DefaultPreemption",
        "Bouncer",
    ]
    assert evidence["preemption"]["victims"] == ["default/on-b"]


@pytest.mark.parametrize(
    ("says", "text"),
    [
        (
            "UNSCHEDULABLE",
            "no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is "
            "not helpful for scheduling., not at this hour",
        ),
        ("UNRESOLVABLE", "not at this hour"),
        ("ERROR", "not at this hour"),
    ],
)
def test_post_filter_reasons_end_the_message(says: str, text: str) -> None:
    told = configured({"postFilter": {"enabled": [{"name": "Bouncer"}]}}, Bouncer={"says": says})
    cluster = played(cluster_of(node("a", cpu="1"), pod("p", cpu="2"), configuration=told), 1)
    assert condition(cluster)["message"] == (f"0/1 nodes are available: 1 Insufficient cpu. {text}")


@pytest.mark.parametrize(("later", "node_name"), [([], "a"), (["DefaultPreemption"], "")])
def test_later_post_filter_may_take_a_nomination_back(later: list[str], node_name: str) -> None:
    """Upstream: RunPostFilterPlugins(), the last result that is not ModeNoop."""
    enabled = [{"name": name} for name in ("Bouncer", *later)]
    points = {"postFilter": {"enabled": enabled, "disabled": [{"name": "*"}]}}
    told = configured(points, Bouncer={"node": "a", "says": "UNSCHEDULABLE"})
    cluster = played(cluster_of(node("a", cpu="1"), pod("p", cpu="2"), configuration=told), 1)
    status = cluster.store.get("Pod", "default/p").status
    assert status.get("nominatedNodeName", "") == node_name


def test_volumes_keep_their_place_among_the_plugins() -> None:
    objects = (*local_disk("data", "a"), host("a"), user_of("data"))
    cluster = played(cluster_of(*objects, configuration=everywhere("Ledger")), 30)
    assert node_of(cluster, "p") == "a"
    events = cluster.take().events
    bound = next(one.seq for one in events if one.kind == "VolumePreBound")
    pre_bind = next(one.seq for one in events if one.message == "PreBind: Ledger")
    assert bound < pre_bind


def test_refusal_after_the_volumes_releases_them() -> None:
    objects = (*local_disk("data", "a"), host("a"), user_of("data"))
    told = everywhere("Ledger", Ledger={"permit": "no"})
    cluster = played(cluster_of(*objects, configuration=told), 30)
    assert "claimRef" not in cluster.store.get("PersistentVolume", "data-disk").spec
    plugin(cluster, "Ledger").arguments = {}
    cluster.apply(Command(verb="create", manifest=node("z", cpu="1")))
    assert node_of(played(cluster, 30), "p") == "a"


@pytest.mark.parametrize("point", ["pre_filter", "permit", "pre_bind"])
def test_pods_are_tried_immediately_when_plugins_want_it(point: str) -> None:
    points = {"preFilter", "permit", "preBind"} if point != "pre_filter" else {"preFilter"}
    enabled = {one: {"enabled": [{"name": "Herald"}]} for one in (*points, "preEnqueue")}
    told = configured(enabled, Herald={"point": point})
    late = (20, "create", {"manifest": pod("first", cpu="1")})
    cluster = cluster_of(node("a"), pod("waits", cpu="8"), configuration=told, steps=[late])
    played(cluster, 60)
    events = cluster.take().events
    woken = next(one for one in events if one.kind == "PodsActivated")
    assert (woken.object, woken.data) == ("pod/default/first", {"pods": ["default/waits"]})
    moved = next(one for one in events if one.seq == woken.seq + 1)
    assert (moved.object, moved.message) == ("pod/default/waits", "ForceActivate")
    bound = next(one.seq for one in events if one.kind == "PodBound")
    assert (woken.seq > bound) == (point == "pre_bind")
    tried = [one for one in events if one.kind == "AttemptStarted" and one.object == moved.object]
    assert [one.at // SECOND for one in tried] == [0, 20]


def test_a_rejected_pod_activates_no_pods() -> None:
    plugins = {"multiPoint": {"enabled": [{"name": "Herald"}, {"name": "Ledger"}]}}
    told = configured(plugins, Herald={"point": "pre_filter"}, Ledger={"permit": "no"})
    late = (20, "create", {"manifest": pod("first", cpu="1")})
    cluster = cluster_of(node("a"), pod("waits", cpu="8"), configuration=told, steps=[late])
    events = played(cluster, 25).take().events
    assert not any(one.kind == "PodsActivated" for one in events)


def test_freed_room_comes_before_the_failure_event() -> None:
    told = everywhere("Ledger", "Gang", Ledger={"pre_bind": "error"}, Gang={"size": 2})
    parked = (2, "create", {"manifest": pod("parked", cpu="3")})
    second = (4, "create", {"manifest": pod("second", cpu="1")})
    cluster = cluster_of(node("a"), pod("p", cpu="3"), configuration=told, steps=[parked, second])
    events = played(cluster, 5).take().events
    freed = next(one.seq for one in events if one.message == "AssignedPodDelete")
    failed = [one for one in events if one.kind == "FailedScheduling"]
    assert [one.object for one in failed[:2]] == ["pod/default/parked", "pod/default/second"]
    assert failed[0].seq < freed < failed[1].seq


def test_in_tree_plugins_are_not_recorded() -> None:
    in_tree = played(cluster_of(node("a"), pod("p"), configuration=None), 5).take().events
    assert any(one.kind == "PodBound" for one in in_tree)
    assert not any(one.kind == "PluginsRan" for one in in_tree)
    gang = everywhere("Gang", Gang={"size": 1})
    custom = played(cluster_of(node("a"), pod("p"), configuration=gang), 5).take().events
    assert any(one.kind == "PluginsRan" for one in custom)


def test_a_rejection_after_a_wait_is_recorded() -> None:
    plugins = {"permit": {"enabled": [{"name": "Gang"}, {"name": "Ledger"}]}}
    told = configured(plugins, Gang={"size": 2}, Ledger={"permit": "no"})
    events = played(cluster_of(node("a"), pod("p"), configuration=told), 1).take().events
    asked = next(
        one for one in events if one.kind == "PluginsRan" and one.data["point"] == "Permit"
    )
    assert [one["code"] for one in asked.data["plugins"]] == ["Wait", "Unschedulable"]
    assert "Gang asks to wait" in asked.message
    assert not any(one.kind == "PodBound" for one in events)


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (0, "0s"),
        (1_500, "1.5µs"),
        (SECOND // 2, "500ms"),
        (10 * SECOND, "10s"),
        (90 * SECOND, "1m30s"),
        (60 * MINUTE + 1, "1h0m0.000000001s"),
    ],
)
def test_durations_are_written_as_go_writes_them(duration: int, text: str) -> None:
    assert go_duration(duration) == text

"""Spreading judged for one row of a kind, in plain ints, is what it is for all rows as columns."""

import random
from typing import Any

import numpy as np
import pytest

from engine.framework.framework import FITS, SKIP, CycleState
from engine.framework.handle import Handle
from engine.framework.nodes.node_table import NodeTable
from engine.framework.pods.pod_info import PodInfo
from engine.objects.objects import Pod, from_manifest
from engine.plugins.pod_topology_spread.constraints import default_selector
from engine.plugins.pod_topology_spread.plugin import PodTopologySpread
from engine.versions.registry import VERSIONS
from tests.engine.scheduler_builders import make_node, make_pod

ZONE, HOST, RACK = "topology.kubernetes.io/zone", "kubernetes.io/hostname", "rack"
KEYS = (ZONE, HOST, RACK)
RULES = VERSIONS["v1.34"].resources


def _cluster(draw: random.Random) -> Handle:
    handle = Handle()
    for number in range(30):
        labels = {HOST: f"n{number}", ZONE: draw.choice("abc"), RACK: f"r{draw.randrange(6)}"}
        for key in KEYS:
            if draw.random() < 0.1:
                del labels[key]
        taint = {"key": "dedicated", "value": "x", "effect": "NoSchedule"}
        taints = [taint] if draw.random() < 0.2 else []
        handle.table.add_node(make_node(f"n{number}", labels=labels, taints=taints))
    for number in range(60):
        _place(handle.table, draw.randrange(30), f"placed-{number}", draw.choice("xy"))
    return handle


def _place(table: NodeTable, row: int, name: str, app: str) -> None:
    pod = PodInfo(make_pod(name, labels={"app": app}), RULES)
    table.add_pod(row, pod.assigned_to(table.name(row)))


def _constraint(draw: random.Random, when: str) -> dict[str, Any]:
    constraint: dict[str, Any] = {
        "maxSkew": draw.choice([1, 2, 5]),
        "topologyKey": draw.choice(KEYS),
        "whenUnsatisfiable": when,
        "labelSelector": draw.choice([{"matchLabels": {"app": "x"}}, {}]),
        "nodeTaintsPolicy": draw.choice(["Honor", "Ignore"]),
    }
    if when == "DoNotSchedule" and draw.random() < 0.3:
        constraint["minDomains"] = 4
    return constraint


def _state(handle: Handle, pod: Pod) -> CycleState:
    info = PodInfo(pod, RULES)
    return CycleState(info, handle.templates.of(info))


def _spread(draw: random.Random, handle: Handle, when: str) -> CycleState:
    count = draw.choice([1, 1, 2, 3])
    spec = {"topologySpreadConstraints": [_constraint(draw, when) for _ in range(count)]}
    return _state(handle, make_pod("p", labels={"app": draw.choice("xy")}, spec=spec))


@pytest.mark.parametrize("rounds", [True, False])
@pytest.mark.parametrize("seed", range(40))
def test_row_of_twins_ranks_like_each_of_them(seed: int, rounds: bool) -> None:
    draw = random.Random(seed)
    handle = _cluster(draw)
    plugin = PodTopologySpread({"rounds": rounds}, handle)
    state = _spread(draw, handle, "ScheduleAnyway")
    rows = draw.sample(range(30), draw.choice([1, 3, 12]))
    cell_sizes = [draw.choice([1, 2, 40]) for _ in rows]
    each = np.repeat(np.array(rows, np.int64), cell_sizes)
    plugin.pre_score(state, each)
    expected = plugin.normalize(state, each, plugin.score(state, each)).tolist()
    ranks = plugin.rank_cells(state, rows, cell_sizes)
    assert ranks is not None
    assert np.repeat(ranks, cell_sizes).tolist() == expected


@pytest.mark.parametrize("seed", range(40))
def test_lone_row_is_judged_as_in_its_column(seed: int) -> None:
    draw = random.Random(seed)
    handle = _cluster(draw)
    plugin = PodTopologySpread({}, handle)
    state = _spread(draw, handle, "DoNotSchedule")
    for turn in range(4):
        plugin.look(state)
        alone = [plugin.fits_row(state, row) for row in range(30)]
        plugin.pre_filter(state)
        codes = plugin.filter(state, np.arange(30))
        assert alone == (codes == FITS).tolist()
        _place(handle.table, draw.randrange(30), f"later-{turn}", "x")


def test_kept_verdict_is_not_reused_for_other_labels() -> None:
    """The pod counts itself where it matches: maxSkew 1 leaves it no room beside another."""
    handle = Handle()
    for zone in "ab":
        handle.table.add_node(make_node(zone, labels={ZONE: zone}))
    _place(handle.table, 0, "placed", "x")
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "x"}},
    }
    spec = {"topologySpreadConstraints": [constraint]}
    plugin = PodTopologySpread({}, handle)
    for app, fits in (("x", False), ("y", True), ("x", False)):
        state = _state(handle, make_pod("p", labels={"app": app}, spec=spec))
        plugin.look(state)
        assert plugin.fits_row(state, 0) is fits


def test_nodes_lacking_labels_of_default_constraints_are_skipped() -> None:
    """Upstream: processAllNode() of PreScore, requireAllTopologies."""
    handle = Handle()
    handle.table.add_node(make_node("a1", labels={ZONE: "a", RACK: "r1"}))
    handle.table.add_node(make_node("a2", labels={ZONE: "a"}))
    handle.table.add_node(make_node("b1", labels={ZONE: "b", RACK: "r2"}))
    for number in range(3):
        _place(handle.table, 1, f"placed-{number}", "x")
    handle.listers.put(from_manifest(_service()))
    defaults = [
        {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "ScheduleAnyway"}
        for key in (ZONE, RACK)
    ]
    arguments = {"defaultingType": "List", "defaultConstraints": defaults}
    plugin = PodTopologySpread(arguments, handle)
    state = _state(handle, make_pod("p", labels={"app": "x"}))
    rows = np.arange(3)
    assert plugin.pre_score(state, rows) is not SKIP
    scores = plugin.score(state, rows)
    assert plugin.normalize(state, rows, scores).tolist() == [100, 0, 100]
    assert plugin.rank_cells(state, [0, 1, 2], [1, 1, 1]) == [100, 0, 100]


def _owned(kind: str, version: str) -> Pod:
    ref = {"apiVersion": version, "kind": kind, "name": "o", "uid": "o", "controller": True}
    pod = make_pod("p", labels={"app": "x"})
    return pod.patched({"metadata": {"ownerReferences": [ref]}})


@pytest.mark.parametrize(("version", "counts"), [("apps/v1", True), ("extensions/v1beta1", False)])
def test_an_owner_is_known_by_kind_and_version(version: str, counts: bool) -> None:
    """Upstream: helper.DefaultSelector()."""
    handle = Handle()
    handle.table.add_node(make_node("a", labels={ZONE: "a", HOST: "a"}))
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "o", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "x"}}},
    }
    handle.listers.put(from_manifest(owner))
    state = _state(handle, _owned("ReplicaSet", version))
    assert PodTopologySpread({}, handle).concerns(state) is counts


def test_controller_labels_go_before_those_of_a_service() -> None:
    handle = Handle()
    for kind, app in (("Service", "x"), ("ReplicationController", "y")):
        metadata = {"name": "o", "namespace": "default"}
        spec = {"selector": {"app": app}}
        manifest = {"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": spec}
        handle.listers.put(from_manifest(manifest))
    info = PodInfo(_owned("ReplicationController", "v1"), RULES)
    assert str(default_selector(info, handle.listers)) == "app in (y)"


def test_default_constraints_have_their_own_policies_and_domains() -> None:
    handle = Handle()
    taint = {"key": "dedicated", "value": "x", "effect": "NoSchedule"}
    handle.table.add_node(make_node("a", labels={ZONE: "a"}))
    handle.table.add_node(make_node("b", labels={ZONE: "b"}, taints=[taint]))
    _place(handle.table, 0, "placed", "x")
    handle.listers.put(from_manifest(_service()))
    constraint = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    fits: list[bool] = []
    for more in ({}, {"nodeTaintsPolicy": "Honor"}, {"nodeTaintsPolicy": "Honor", "minDomains": 2}):
        arguments = {"defaultingType": "List", "defaultConstraints": [{**constraint, **more}]}
        plugin = PodTopologySpread(arguments, handle)
        state = _state(handle, make_pod("p", labels={"app": "x"}))
        plugin.pre_filter(state)
        fits.append(plugin.filter(state, np.arange(1)).tolist() == [FITS])
    assert fits == [False, True, False]


def test_node_without_zone_lies_in_an_empty_zone() -> None:
    """Upstream: initPreScoreState() and PreScore(), for the system's default constraints."""
    handle = Handle()
    for name, zone in (("n0", ""), ("n1", None), ("n2", "a")):
        labels = {} if zone is None else {ZONE: zone}
        handle.table.add_node(make_node(name, labels=labels))
    for number in range(8):
        _place(handle.table, 1, f"bare-{number}", "x")
    _place(handle.table, 2, "placed", "x")
    handle.listers.put(from_manifest(_service()))
    plugin = PodTopologySpread({}, handle)
    state = _state(handle, make_pod("p", labels={"app": "x"}))
    rows = np.arange(3)
    plugin.pre_score(state, rows)
    scores = plugin.score(state, rows)
    # round(8 * log(4) + 4), nothing without the label, round(log(4) + 4): there are two zones.
    assert scores.tolist() == [15, 0, 5]
    expected = plugin.normalize(state, rows, scores).tolist()
    assert plugin.rank_cells(state, [0, 1, 2], [1, 1, 1]) == expected


def _service() -> dict[str, Any]:
    metadata = {"name": "s", "namespace": "default"}
    spec = {"selector": {"app": "x"}}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}

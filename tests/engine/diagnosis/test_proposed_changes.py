"""The changes that plugins propose: in-tree ones and others are tried in the same way."""

from collections.abc import Iterator
from typing import Any, ClassVar, cast

import pytest

from engine.cluster.cluster import Cluster
from engine.diagnosis import diagnose
from engine.diagnosis.observed.evidence import Evidence
from engine.diagnosis.triage.triage import triage
from engine.framework.explaining.proposes import KINDS, Kind, Proposal
from engine.framework.explaining.refusals import Refusals
from engine.framework.framework import SUCCESS, Code, Status
from engine.framework.simple import NodeState, SimplePlugin
from engine.objects.objects import Pod
from engine.scheduler.configuration import registry
from tests.builders import Manifest, node, played, pod, scene

ZONE = "topology.kubernetes.io/zone"
_CONFIGURATION = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "Quiet"}]}}}],
}


class Quiet(SimplePlugin):
    """Refuses nodes with a label, and proposes to take it off."""

    name: ClassVar[str] = "Quiet"

    def fits(self, pod: Pod, node: NodeState) -> Status:
        return Status(Code.UNSCHEDULABLE, ("quiet",)) if "quiet" in node.labels else SUCCESS

    def propose_changes(self, refusals: Refusals) -> Iterator[Proposal]:
        for each in refusals.refused_by(self.name):
            yield Proposal(
                text=f"Let {each.node} be loud",
                object=refusals.world.table.node(each.row),
                patch={"metadata": {"labels": {"quiet": None}}},
            )


class _Entry:
    name = Quiet.name

    def load(self) -> type[Quiet]:
        return Quiet


def _quiet_cluster(monkeypatch: pytest.MonkeyPatch, *objects: Manifest) -> Cluster:
    def entries(*, group: str) -> list[_Entry]:
        assert group == registry.ENTRY_POINT_GROUP
        return [_Entry()]

    monkeypatch.setattr(registry, "entry_points", entries)
    return Cluster.create(scene(*objects, configuration=_CONFIGURATION))


def _tried(*objects: Manifest, profile: str = "v1.34") -> dict[str, Any]:
    cluster = played(Cluster.create(scene(*objects), profile=profile), 1)
    return diagnose(cluster, "default/p").to_dict()["tried"]


def test_triage_offers_changes_of_foreign_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    objects = node("n", labels={"quiet": ""}), pod("p")
    cluster = _quiet_cluster(monkeypatch, *objects)
    (group,) = triage(cluster, Evidence(objects)).groups
    assert "Let n be loud" in [change.text for change in group.changes]


def test_plugin_names_only_the_nodes_it_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    objects = node("full", cpu="0"), node("n", labels={"quiet": ""}), pod("p")
    cluster = _quiet_cluster(monkeypatch, *objects)
    assert diagnose(played(cluster, 1), "default/p").to_dict()["tried"]["plugin"] == 1


def test_change_of_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="kind of a change is 'luck'; it may be gate, label"):
        Proposal(text="Hope", object=Pod(pod("p")), kind=cast("Kind", "luck"))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_tried_on_single_pods(kind: Kind) -> None:
    from engine.diagnosis.inquiry import _KINDS  # pyright: ignore[reportPrivateUsage]

    assert kind in dict(_KINDS)


def test_label_that_two_plugins_propose_counts_once() -> None:
    term = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": ZONE}
    spread = {**term, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    near = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    wanted = pod("p", cpu="3", topologySpreadConstraints=[spread], affinity={"podAffinity": near})
    there = pod("there", cpu="3", labels={"app": "web"}, nodeName="a", phase="Running")
    assert _tried(node("a", "z1"), node("bare"), there, wanted)["label"] == 1


def test_old_version_relaxes_no_spread_constraint() -> None:
    spread = {"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    wanted = pod("p", cpu="9", topologySpreadConstraints=[spread])
    assert "spread" in _tried(node("a"), wanted)
    assert "spread" not in _tried(node("a"), wanted, profile="v1.11")

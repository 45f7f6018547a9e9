"""The first look at files of a cluster: what was read, assumed, and how far the model agrees."""

from typing import Any

import pytest

from engine.diagnosis.first_look.assumed import assumptions, attach_times
from engine.diagnosis.first_look.first_look import FirstLook, first_look
from engine.diagnosis.first_look.trust import Comparison, reasons_of
from engine.diagnosis.observed.evidence import Evidence
from tests.builders.clusters import scene
from tests.builders.nodes import node
from tests.builders.pods import pod
from tests.engine.diagnosis.triage.clusters import (
    Manifest,
    cluster_of,
    deployment,
    event,
    leaving,
    placed,
    silent,
)


def look_at(*manifests: Manifest) -> FirstLook:
    """The first look at files with these manifests."""
    return first_look(cluster_of(*manifests), scene(), Evidence(manifests))


def states(*manifests: Manifest) -> dict[str, str]:
    """The state of each kind, as printed."""
    return {each.kind: each.state for each in look_at(*manifests).read}


def compared(subject: str, *manifests: Manifest) -> tuple[int, int] | None:
    """How many of how many agree with the model; None where there was nothing to compare."""
    found = {each.subject: each for each in look_at(*manifests).trust}
    one: Comparison | None = found.get(subject)
    return (one.same, one.of) if one else None


def running(name: str, on: str, **spec: Any) -> Manifest:
    """A pod that runs."""
    return placed(pod(name, **spec), on, phase="Running")


def versioned(name: str, kubelet: str) -> Manifest:
    """A node that says which kubelet it has."""
    made = node(name)
    return {**made, "status": {**made["status"], "nodeInfo": {"kubeletVersion": kubelet}}}


# -- what was read ----------------------------------------------------------------------------------


def test_pods_are_counted_by_their_state() -> None:
    found = states(node("n1"), running("a", "n1"), placed(pod("b")), pod("c"), leaving(pod("d")))
    assert found["Pod"] == (
        "1 runs, 1 waits for a node, 1 has a node and does not run, 1 is terminating"
    )


def test_nodes_show_whether_they_are_ready() -> None:
    assert states(node("n1"), silent(node("n2")))["Node"] == "1 ready, 1 unknown"


def test_workloads_show_only_what_they_lack() -> None:
    found = states(node("n1"), deployment("web", 2, 1), deployment("shop", 1, 1))
    assert found["Deployment"] == "1 has too few pods that are ready"


def test_a_used_up_quota_is_named() -> None:
    quota: Manifest = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "team", "namespace": "default"},
        "spec": {"hard": {"pods": "3", "cpu": "4"}},
        "status": {"hard": {"pods": "3", "cpu": "4"}, "used": {"pods": "3", "cpu": "1"}},
    }
    assert states(node("n1"), quota)["ResourceQuota"] == "default/team: 3 of 3 pods"


def test_only_names_of_secrets_are_reported_as_kept() -> None:
    secret: Manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    assert states(node("n1"), secret)["Secret"] == "only the names are kept"


# -- the picture ------------------------------------------------------------------------------------


def test_nodes_stand_in_their_zones() -> None:
    zones = look_at(node("n2", zone="b"), node("n1", zone="a"), node("n0")).picture.zones
    assert [(zone, [each.name for each in nodes]) for zone, nodes in zones.items()] == [
        ("a", ["n1"]),
        ("b", ["n2"]),
        ("", ["n0"]),
    ]


def test_a_node_shows_its_pods_by_state() -> None:
    picture = look_at(
        node("n1"), running("a", "n1"), placed(pod("b")), leaving(placed(pod("c"))), pod("d")
    ).picture
    (drawn,) = picture.zones[""]
    assert (drawn.runs, drawn.placed, drawn.terminating) == (1, 1, 1)
    assert picture.waiting == 1


# -- what is assumed, and the version ---------------------------------------------------------------


def test_what_the_files_lack_is_called_assumed() -> None:
    found = {each.what: each for each in look_at(node("n1"), pod("a")).assumed}
    assert "no Events are in the files" in found["Events"].source
    assert found["Secrets, ConfigMaps and ServiceAccounts"].text == "those that pods name are there"


def test_kinds_in_the_files_are_not_assumed() -> None:
    secret: Manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    about = pod("a")
    found = assumptions(scene(), Evidence([about, secret, event(about, "Pulled", "Image pulled")]))
    assert not {"Events", "Secrets"} & {each.what for each in found}


def test_a_silent_node_is_assumed_to_stay_so() -> None:
    found = {each.what: each.text for each in look_at(silent(node("n1")), pod("a")).assumed}
    assert found["n1"] == "stays silent until you change it"


def test_events_show_how_long_attaching_took() -> None:
    web = pod("web")
    evidence = Evidence(
        [
            web,
            event(web, "Scheduled", "assigned", firstTimestamp="2026-11-20T11:00:00Z"),
            event(web, "SuccessfulAttachVolume", "ok", firstTimestamp="2026-11-20T11:00:04Z"),
        ]
    )
    assert attach_times(evidence) == [4]


def test_the_newest_kubelet_proposes_the_version() -> None:
    version = look_at(versioned("n1", "v1.33.4"), versioned("n2", "v1.34.1")).version
    assert version.proposed == "v1.34"
    assert "1 v1.33.4, 1 v1.34.1: the newest counts" in version.because


def test_an_unknown_version_is_said_to_be_near() -> None:
    version = look_at(versioned("n1", "v1.99.1")).version
    assert version.because.endswith(
        f"Of the versions that kscope knows {version.proposed} is the nearest."
    )


# -- how far to trust it ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "reasons"),
    [
        (
            "0/3 nodes are available: 1 node(s) had untolerated taint {a: b}, 2 Insufficient cpu. "
            "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.",
            ("Insufficient cpu", "node(s) had untolerated taint {a: b}"),
        ),
        (
            "0/3 nodes are available: 1 node(s) had taint {a: b}, that the pod didn't tolerate, "
            "2 Insufficient memory.",
            ("Insufficient memory", "node(s) had taint {a: b}, that the pod didn't tolerate"),
        ),
        (
            "0/3 nodes are available: 3 cannot allocate all claims. still not schedulable, "
            "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.",
            ("cannot allocate all claims",),
        ),
        (
            '0/1 nodes are available: persistentvolumeclaim "data" not found.',
            ('persistentvolumeclaim "data" not found',),
        ),
        ("running PreBind plugin: timed out", None),
    ],
)
def test_messages_of_all_versions_give_their_reasons(
    message: str, reasons: tuple[str, ...] | None
) -> None:
    assert reasons_of(message) == reasons


def test_equal_reasons_of_a_refusal_agree() -> None:
    big = pod("big", cpu="99")
    told = "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 x."
    assert compared("refusals", node("n1"), big, event(big, "FailedScheduling", told)) == (1, 1)


def test_other_reasons_of_a_refusal_disagree() -> None:
    big = pod("big", cpu="99")
    told = "0/1 nodes are available: 1 Insufficient memory."
    assert compared("refusals", node("n1"), big, event(big, "FailedScheduling", told)) == (0, 1)


def test_a_pod_that_the_model_would_place_disagrees() -> None:
    small = pod("small")
    told = "0/1 nodes are available: 1 Insufficient memory."
    assert compared("refusals", node("n1"), small, event(small, "FailedScheduling", told)) == (0, 1)


def test_a_running_pod_fits_without_itself() -> None:
    """Its own request, which fills the node, is not in its way."""
    assert compared("placements", node("n1", cpu="4"), running("a", "n1", cpu="3")) == (1, 1)


def test_a_running_pod_that_its_node_refuses_disagrees() -> None:
    assert compared("placements", node("n1", cpu="1"), running("a", "n1", cpu="3")) == (0, 1)


def test_a_resized_pod_fits_with_what_it_has() -> None:
    grown = running("a", "n1", cpu="64")
    given = {"name": "main", "resources": {"requests": {"cpu": "1"}}}
    given["allocatedResources"] = {"cpu": "1"}
    grown["status"]["containerStatuses"] = [given]
    assert compared("placements", node("n1", cpu="4"), grown) == (1, 1)


def test_pods_of_a_cordoned_node_are_not_compared() -> None:
    cordoned = node("n1", unschedulable=True)
    assert compared("placements", cordoned, running("a", "n1")) is None


def test_the_look_leaves_the_cluster_as_it_was() -> None:
    cluster = cluster_of(node("n1"), running("a", "n1"), pod("big", cpu="99"))
    before = cluster.digest()
    first_look(cluster, scene(), Evidence([node("n1"), running("a", "n1"), pod("big", cpu="99")]))
    assert cluster.digest() == before

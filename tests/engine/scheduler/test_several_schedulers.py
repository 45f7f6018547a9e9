"""Schedulers side by side: each with its own queue and cache, and what comes of that."""

import pytest

from engine.cluster.checks.cluster_checks import cluster_findings
from engine.cluster.cluster import Cluster
from engine.input.reading import ConfigurationError
from tests.builders import node, node_of, played, pod, scene

_TWO = ({"name": "default-scheduler"}, {"name": "second"})


def test_each_scheduler_places_the_pods_that_name_it() -> None:
    cluster = Cluster.create(
        scene(node("a"), pod("one"), pod("two", schedulerName="second"), schedulers=_TWO)
    )
    played(cluster)
    assert (node_of(cluster, "one"), node_of(cluster, "two")) == ("a", "a")
    assert cluster_findings(cluster) == []
    cluster.take()
    assert cluster.view()["pod/default/two"]["scheduler"] == "second"
    assert cluster.view()["node/a"]["requested"]["cpu"] == 2000
    assert cluster.view()["queue/second"] == {"scheduler": "second", "cycle": 1}


def test_the_view_agrees_with_what_all_schedulers_hold() -> None:
    cluster = Cluster.create(
        scene(
            node("a", cpu="3"),
            *(pod(f"one-{n}") for n in range(3)),
            *(pod(f"two-{n}", schedulerName="second") for n in range(3)),
            schedulers=_TWO,
        )
    )
    played(cluster)
    cluster.take()
    view = cluster.view()
    for entity, held in cluster.held_view().items():
        assert view[entity].items() >= held.items()


def test_a_pod_that_names_nobody_stays_pending() -> None:
    cluster = played(Cluster.create(scene(node("a"), pod("p", schedulerName="nobody"))))
    assert node_of(cluster, "p") == ""
    assert cluster.store.get("Pod", "default/p").status["phase"] == "Pending"
    assert "conditions" not in cluster.store.get("Pod", "default/p").status


def test_two_schedulers_filling_one_node_meet_at_kubelets() -> None:
    cluster = Cluster.create(
        scene(
            node("a", cpu="1"),
            pod("one", cpu="800m"),
            pod("two", cpu="800m", schedulerName="second"),
            schedulers=_TWO,
        )
    )
    played(cluster)
    statuses = {n: cluster.store.get("Pod", f"default/{n}").status for n in ("one", "two")}
    refused = [status for status in statuses.values() if status.get("reason") == "OutOfcpu"]
    assert len(refused) == 1
    assert refused[0]["phase"] == "Failed"
    assert sum(status["phase"] == "Running" for status in statuses.values()) == 1


def test_schedulers_can_be_of_different_versions() -> None:
    cluster = Cluster.create(
        scene(
            node("a"),
            pod("old", schedulerName="second", cpu="9"),
            pod("new", cpu="9"),
            schedulers=({"name": "default-scheduler"}, {"name": "second", "profile": "v1.16"}),
        )
    )
    played(cluster, 5)
    messages = {
        name: cluster.store.get("Pod", f"default/{name}").status["conditions"][0]["message"]
        for name in ("old", "new")
    }
    assert messages["old"] == "0/1 nodes are available: 1 Insufficient cpu."
    assert "preemption:" in messages["new"]


def test_a_run_of_two_schedulers_survives_a_checkpoint() -> None:
    scenario = scene(
        node("a"), pod("one"), pod("two", schedulerName="second", cpu="9"), schedulers=_TWO
    )
    whole = played(Cluster.create(scenario))
    whole.take()
    parted = Cluster.create(scenario)
    parted.advance(parted.loop.next_at or 0, max_steps=7)
    parted.take()
    parted = Cluster.restore(parted.checkpoint())
    parted.advance(whole.now)
    parted.take()
    assert parted.digest() == whole.digest()


def test_two_schedulers_must_not_answer_to_one_name() -> None:
    with pytest.raises(ConfigurationError, match=r"schedulers\[1\].name"):
        Cluster.create(scene(schedulers=({"name": "x"}, {"name": "x"})))

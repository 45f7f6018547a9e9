"""Counters of pods: they count what a look at all pods would find, and look at few."""

from random import Random
from typing import cast

import pytest

from engine.framework.nodes.node_table import NodeTable
from engine.framework.nodes.pod_counts import PodCounter, PodMatcher
from engine.framework.pods.pod_info import AffinityTerm, PodInfo
from engine.objects.objects import Pod, from_manifest
from engine.objects.selectors import LabelSelector
from engine.versions.registry import VERSIONS
from tests.builders import pod
from tests.engine.scheduler_builders import make_node, make_pod

RULES = VERSIONS["v1.36"].resources


def term(app: str, *namespaces: str, anywhere: bool = False) -> AffinityTerm:
    return AffinityTerm(
        namespaces=frozenset(namespaces or ["default"]),
        selector=LabelSelector.parse({"matchLabels": {"app": app}} if app else None),
        topology_key="zone",
        namespace_selector=LabelSelector() if anywhere else None,
    )


def table_of(nodes: int) -> NodeTable:
    table = NodeTable()
    for place in range(nodes):
        table.add_node(make_node(f"n{place}"))
    return table


@pytest.mark.parametrize("seed", range(20))
def test_counters_made_at_any_time_agree(seed: int) -> None:
    chance, table = Random(seed), table_of(3)
    matchers = [
        PodMatcher((term("a"),)),
        PodMatcher((term("b", "default", "other"),), live_only=True),
        PodMatcher((term("a"), term("b")), any_term=True),
        PodMatcher((term("a", anywhere=True),)),
        PodMatcher((term(""),)),
        PodMatcher(()),
    ]
    counters: dict[PodMatcher, PodCounter] = {}
    placed: dict[str, tuple[int, PodInfo]] = {}
    for _ in range(60):
        if chance.random() < 0.3 and matchers:
            matcher = matchers.pop(chance.randrange(len(matchers)))
            counters[matcher] = table.pod_counts.counter(matcher)
        name = f"p{chance.randrange(8)}"
        if name in placed:
            row, info = placed.pop(name)
            table.remove_pod(row, info.key)
        else:
            namespace = chance.choice(["default", "other"])
            labels = {"app": chance.choice("abc")}
            made = pod(name, namespace=namespace, labels=labels)
            info = PodInfo(cast("Pod", from_manifest(made)), RULES)
            placed[name] = chance.randrange(3), info
            table.add_pod(placed[name][0], info)
        for matcher, counter in counters.items():
            counted = [0, 0, 0]
            for row, info in placed.values():
                one = info.pod
                counted[row] += matcher.matches(one.namespace, one.labels, deleting=False)
            assert counter.tally.counts[:3].tolist() == counted


def test_counters_do_not_ask_about_others(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    matches = AffinityTerm.matches

    def note(one: AffinityTerm, namespace: str, labels: dict[str, str]) -> bool:
        asked.append(f"{one.selector} asks {labels['app']}")
        return matches(one, namespace, labels)

    monkeypatch.setattr(AffinityTerm, "matches", note)
    table = table_of(1)
    for place in range(4):
        app = f"a{place}"
        table.pod_counts.counter(PodMatcher((term(app),)))
        table.add_pod(0, PodInfo(make_pod(f"p{place}", labels={"app": app}), RULES))
    assert asked == [f"app in (a{place}) asks a{place}" for place in range(4)]

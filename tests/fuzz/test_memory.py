"""What clients send does not stay in memory once it is answered."""

import tracemalloc
from collections.abc import Callable

import pytest

from engine.api_server.admission.defaults.sections import amount
from engine.framework.pods.pod_info import parse_affinity
from engine.objects.pods.pod_resources import NEWEST, requests_and_ports
from engine.objects.selectors import Requirement
from kube.apply import fields
from kube.resources import PODS
from kube.timestamps import shifted, timestamps_of

LENGTH, NUMBER = 50_000, 100


def encode_fields(text: str) -> object:
    return fields.encoded(frozenset({("f:metadata", f"f:{text}")}))


def shift_timestamps(text: str) -> object:
    pod = {"metadata": {"creationTimestamp": text}}
    return shifted(timestamps_of(PODS), pod, 60)


def request_resources(text: str) -> object:
    spec = {"containers": [{"name": "c", "resources": {"requests": {f"example.com/{text}": "1"}}}]}
    return requests_and_ports(spec, NEWEST, None)


def keep_away(text: str) -> object:
    term = {"topologyKey": text, "labelSelector": {"matchLabels": {"a": "b"}}}
    terms = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return parse_affinity({"podAntiAffinity": terms}, "default", None)


def select(text: str) -> object:
    return Requirement("a", "In", (text,)).flaws


USES = [encode_fields, amount, shift_timestamps, request_resources, keep_away, select]


@pytest.mark.parametrize("use", USES)
def test_long_texts_are_not_kept(use: Callable[[str], object]) -> None:
    use("short")
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for number in range(NUMBER):
            use(f"{number}{'x' * LENGTH}")
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < LENGTH * NUMBER // 10

"""What clients send does not stay in memory once it is answered."""

import tracemalloc
from collections.abc import Callable

import pytest

from kube.apply import fields
from kube.defaults.sections import amount
from kube.resources import PODS
from kube.timestamps import shifted, timestamps_of

LENGTH, NUMBER = 50_000, 100


def encode_fields(text: str) -> object:
    return fields.encoded(frozenset({("f:metadata", f"f:{text}")}))


def shift_timestamps(text: str) -> object:
    pod = {"metadata": {"creationTimestamp": text}}
    return shifted(timestamps_of(PODS), pod, 60)


@pytest.mark.parametrize("use", [encode_fields, amount, shift_timestamps])
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

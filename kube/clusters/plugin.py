"""A plugin of pytest: `kscope_cluster` makes simulated clusters that end with the test.

def test_a_controller(kscope_cluster):
    running = kscope_cluster("scenario.yaml")
    ...
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from kube.clusters.cluster import Cluster, cluster
from kube.clusters.service import service_stop


@pytest.fixture
def kscope_cluster() -> Iterator[Callable[..., Cluster]]:
    """Starts clusters, with the arguments of `kube.clusters.cluster`; they end with the test."""
    with ExitStack() as stack:

        def start(*arguments: Any, **options: Any) -> Cluster:
            made = cluster(*arguments, **options)
            stack.enter_context(made)
            return made

        yield start


def pytest_unconfigure() -> None:
    """End the service of all clusters with the session."""
    service_stop()

"""Clusters that are read: a run of prod-eu, and one of 1,000 nodes, each made once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from kube.clusters import Cluster, cluster
from tests.program.asked import DATA
from tests.program.live.api_proxy import ApiProxy, kubeconfig, serving
from tests.program.live.large_cluster import large_cluster

Through = Callable[..., tuple[ApiProxy, str]]


def address_of(running: Cluster) -> str:
    """Where its Kubernetes API is."""
    content = yaml.safe_load(Path(running.kubeconfig).read_text())
    return str(content["clusters"][0]["cluster"]["server"])


@pytest.fixture(scope="module")
def prod_eu() -> Iterator[Cluster]:
    """The cluster prod-eu, in which nothing happens while it is read."""
    running = cluster(DATA / "prod-eu.yaml")
    with running:
        yield running


@pytest.fixture(scope="module")
def of_1000_nodes() -> Iterator[Cluster]:
    """A cluster of 1,000 nodes and 3,040 pods."""
    running = cluster(large_cluster())
    with running:
        yield running


@pytest.fixture
def through(tmp_path: Path) -> Iterator[Through]:
    """Puts a proxy in front of a cluster; it, and the kubeconfig that leads to it."""
    with ExitStack() as stack:

        def put(running: Cluster, *, context: dict[str, Any] | None = None, **options: Any) -> Any:
            proxy = ApiProxy(address_of(running), **options)
            server = stack.enter_context(serving(proxy))
            return proxy, str(kubeconfig(tmp_path, server, **(context or {})))

        yield put

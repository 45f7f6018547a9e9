"""Kubeconfig files that clients of all kinds take."""

import pytest

from kube.kubeconfig import kubeconfig


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_plain_http_is_said_to_be_meant(scheme: str) -> None:
    """@kubernetes/client-node refuses an address without TLS otherwise."""
    [cluster] = kubeconfig(f"{scheme}://localhost:8000", 7)["clusters"]
    is_plain = cluster["cluster"].get("insecure-skip-tls-verify", False)
    assert is_plain is (scheme == "http")

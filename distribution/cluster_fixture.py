"""The entry point of pytest: importing kscope makes `kube` known where it is installed."""

from kube.clusters.plugin import kscope_cluster, pytest_unconfigure

__all__ = ["kscope_cluster", "pytest_unconfigure"]

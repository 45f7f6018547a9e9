"""Simulated clusters for tests of programs that speak the Kubernetes API.

    running = cluster("scenario.yaml")
    with running as kubeconfig:
        ...                          # any client of Kubernetes
        running.advance(seconds=30)  # virtual time

A cluster is a run, served by a process that the first cluster starts and the end of this one ends:

    Cluster ── Service ══ socket ══▶ service process: PostgreSQL, Valkey, kscope's web server, drivers

`cluster`, `service` and `plugin` need the standard library only (and pytest), so that they can be
imported beside any other framework. `serving` and `drivers` are the other side.
"""

from kube.clusters.cluster import Cluster, cluster
from kube.clusters.service import ClusterError

__all__ = ["Cluster", "ClusterError", "cluster"]

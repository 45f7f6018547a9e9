"""All checks of a cluster, by name."""

from collections.abc import Callable, Mapping
from typing import Final

from engine.cluster.checks.cache import cache_differences
from engine.cluster.checks.finding import Finding
from engine.cluster.checks.health import health_differences
from engine.cluster.checks.ledger import ledger_differences
from engine.cluster.checks.under_way import under_way
from engine.cluster.checks.view import view_differences
from engine.cluster.cluster import Cluster

CHECKS: Final[Mapping[str, Callable[[Cluster], list[Finding]]]] = {
    "store against cache": cache_differences,
    "ledger against nodes": ledger_differences,
    "view against engine": view_differences,
    "health against facts": health_differences,
}


def cluster_findings(cluster: Cluster) -> list[str]:
    """What does not agree in *cluster*, and by which check; [] when all is well.

    Findings about an object are left out while some component cannot know its newest version.
    """
    expected = under_way(cluster)
    return [
        f"{name}: {finding}"
        for name, check in CHECKS.items()
        for finding in check(cluster)
        if finding.subject not in expected
    ]

"""All checks of a cluster, by name."""

from collections.abc import Callable, Mapping
from typing import Final

from scheduling.engine.checks.cache import cache_differences
from scheduling.engine.checks.finding import Finding
from scheduling.engine.checks.health import health_differences
from scheduling.engine.checks.ledger import ledger_differences
from scheduling.engine.checks.under_way import under_way
from scheduling.engine.checks.view import view_differences
from scheduling.engine.cluster.cluster import Cluster

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

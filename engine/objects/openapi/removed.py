"""Fields of versions before v1.25 that v1.25 has no more.

Upstream: staging/src/k8s.io/api and apimachinery/pkg/apis/meta/v1, types.go of each version.
"""

from __future__ import annotations

from typing import Any, Final

_TEXT: Final[dict[str, Any]] = {"type": "string"}
_ANYTHING: Final[dict[str, Any]] = {"type": "object"}
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"

# By definition and field: the first and the last minor version that has it, and its schema.
REMOVED: Final[dict[str, dict[str, tuple[int, int, dict[str, Any]]]]] = {
    f"{_META}.ObjectMeta": {
        "clusterName": (5, 23, _TEXT),
        "initializers": (7, 15, _ANYTHING),
    },
    "io.k8s.api.core.v1.EventSeries": {"state": (8, 18, _TEXT)},
    "io.k8s.api.core.v1.ServiceSpec": {
        "ipFamily": (16, 19, _TEXT),
        "topologyKeys": (17, 21, {"type": "array", "items": _TEXT}),
    },
    # The kinds of extensions/v1beta1 and apps/v1beta1 that are kept as those of apps/v1.
    "io.k8s.api.apps.v1.DaemonSetSpec": {
        "templateGeneration": (1, 15, {"type": "integer", "format": "int64"}),
    },
    "io.k8s.api.apps.v1.DeploymentSpec": {"rollbackTo": (1, 15, _ANYTHING)},
}

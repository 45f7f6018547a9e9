"""Kubernetes v1.34.2 to v1.34.9: what v1.34.0 and v1.34.1 do, but for what was taken back from v1.35.

Upstream: v1.34.9 pkg/scheduler/framework/plugins/tainttoleration/taint_toleration.go, #134740.
"""

from engine.framework import names
from engine.versions.v1_34 import V1_34

V1_34_9 = V1_34.but(
    name="v1.34.9",
    since_patch=2,
    summary="v1.34 from its patch release 2 on: a refusal for taints no longer says which.",
    settings={names.TAINT_TOLERATION: {"names_taint": False}},
)

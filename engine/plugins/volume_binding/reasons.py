"""Why a node is refused, in upstream's words."""

from __future__ import annotations

REASON_UNBOUND_IMMEDIATE = "pod has unbound immediate PersistentVolumeClaims"
REASON_NOT_EXIST = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
REASON_NODE_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
REASON_BIND_CONFLICT = "node(s) didn't find available persistent volumes to bind"
REASON_NO_SPACE = "node(s) did not have enough free storage"
# Before v1.18.
REASON_NODE_CONFLICT_1_16 = "node(s) had volume node affinity conflict"
REASON_UNBOUND_1_11 = "pod has unbound PersistentVolumeClaims"

"""Attach limits of CSI drivers before v1.18. Upstream: predicates/csi_volume_predicate.go (v1.16)."""

from __future__ import annotations

from typing import ClassVar

from engine.framework import names
from engine.plugins.node_volume_limits.plugin import NodeVolumeLimits


class MaxCSIVolumeCount(NodeVolumeLimits):
    """CSI attach limits, as later in NodeVolumeLimits."""

    name: ClassVar[str] = names.MAX_CSI_VOLUME_COUNT
    needs_volumes: ClassVar[bool] = True
    is_modern: ClassVar[bool] = False

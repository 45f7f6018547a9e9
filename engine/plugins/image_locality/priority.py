"""Images before v1.18. Upstream: priorities/image_locality.go (v1.16)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.framework import names
from engine.framework.framework import CycleState
from engine.framework.nodes.arrays import IntArray
from engine.framework.pods.pod_info import PodInfo
from engine.plugins.classic import MAX_PRIORITY, Priority
from engine.plugins.image_locality.plugin import (
    MAX_CONTAINER_THRESHOLD,
    MIN_THRESHOLD,
    normalized_image_name,
)


class ImageLocalityPriority(Priority):
    """Prefers nodes that already hold the images of the pod's containers.

    How many nodes hold an image is what the cache knew when the node last reported.
    """

    name: ClassVar[str] = names.IMAGE_LOCALITY_PRIORITY
    is_local: ClassVar[bool] = True
    is_static: ClassVar[bool] = True

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """0 up to 23 MiB, 10 from 1000 MiB."""
        if not self._arguments.get("scales_by_spread", True):
            return self._by_size(state.pod, rows)
        table, total = self._table, len(self._table)
        held = np.zeros(table.capacity, np.int64)
        for container in state.pod.pod.containers:
            name = normalized_image_name(container.get("image") or "")
            found = table.images.states.get(name)
            if found is None:
                continue
            for row in found.rows:
                held[row] += int(found.size * (table.images.held[row][name] / total))
        clipped = np.clip(held[rows], MIN_THRESHOLD, MAX_CONTAINER_THRESHOLD)
        return MAX_PRIORITY * (clipped - MIN_THRESHOLD) // (MAX_CONTAINER_THRESHOLD - MIN_THRESHOLD)

    def _by_size(self, pod: PodInfo, rows: IntArray) -> IntArray:
        """By the sizes that each node itself reports: at least 1 from 23 MiB on.

        Upstream: v1.11 calculateScoreFromSize().
        """
        images = [normalized_image_name(one.get("image") or "") for one in pod.pod.containers]
        held = np.zeros(len(rows), np.int64)
        for place, row in enumerate(rows.tolist()):
            sizes = dict(self._table.node(row).image_sizes)
            held[place] = sum(sizes.get(name, 0) for name in images)
        span = MAX_CONTAINER_THRESHOLD - MIN_THRESHOLD
        scores = np.minimum(MAX_PRIORITY * (held - MIN_THRESHOLD) // span + 1, MAX_PRIORITY)
        return np.where(held < MIN_THRESHOLD, 0, scores)

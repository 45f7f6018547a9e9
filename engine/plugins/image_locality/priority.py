"""Images before v1.18. Upstream: priorities/image_locality.go (v1.16)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from engine.framework import names
from engine.framework.arithmetic import Term, Terms
from engine.framework.framework import CycleState
from engine.framework.nodes.arrays import IntArray
from engine.framework.pods.pod_info import PodInfo
from engine.kernel.sentences import say
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
        held = np.zeros(self._table.capacity, np.int64)
        for _, sizes in self._scaled(state.pod):
            for row, size in sizes.items():
                held[row] += size
        clipped = np.clip(held[rows], MIN_THRESHOLD, MAX_CONTAINER_THRESHOLD)
        return MAX_PRIORITY * (clipped - MIN_THRESHOLD) // (MAX_CONTAINER_THRESHOLD - MIN_THRESHOLD)

    def arithmetic(self, state: CycleState, row: int) -> Terms:
        """See `Arithmetic`: the size of each image that the node has, as it counts."""
        found = [(name, sizes.get(row, 0)) for name, sizes in self._scaled(state.pod)]
        if not self._arguments.get("scales_by_spread", True):
            found = self._reported(state.pod, row)
        terms = tuple(
            Term(say("image {name}", name=name), size, "B") for name, size in found if size
        )
        return Terms(terms, int(self.score(state, np.array([row], np.int64))[0]))

    def _scaled(self, pod: PodInfo) -> Iterator[tuple[str, dict[int, int]]]:
        """Each image that some node has, with its size by row, less where few nodes have it."""
        table, total = self._table, len(self._table)
        for name in _images(pod):
            found = table.images.states.get(name)
            if found is not None:
                held = table.images.held
                yield name, {row: int(found.size * (held[row][name] / total)) for row in found.rows}

    def _reported(self, pod: PodInfo, row: int) -> list[tuple[str, int]]:
        """Each image of the pod, and its size as the node reports it; 0 without the image."""
        sizes = dict(self._table.node(row).image_sizes)
        return [(name, sizes.get(name, 0)) for name in _images(pod)]

    def _by_size(self, pod: PodInfo, rows: IntArray) -> IntArray:
        """By the sizes that each node itself reports: at least 1 from 23 MiB on.

        Upstream: v1.11 calculateScoreFromSize().
        """
        held = np.zeros(len(rows), np.int64)
        for place, row in enumerate(rows.tolist()):
            held[place] = sum(size for _, size in self._reported(pod, row))
        span = MAX_CONTAINER_THRESHOLD - MIN_THRESHOLD
        scores = np.minimum(MAX_PRIORITY * (held - MIN_THRESHOLD) // span + 1, MAX_PRIORITY)
        return np.where(held < MIN_THRESHOLD, 0, scores)


def _images(pod: PodInfo) -> list[str]:
    """The images of its containers; those of init containers do not count."""
    return [normalized_image_name(one.get("image") or "") for one in pod.pod.containers]

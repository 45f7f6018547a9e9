"""Nodes that already hold the images. Upstream: plugins/imagelocality/image_locality.go."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from engine.framework import names
from engine.framework.arithmetic import Term, Terms
from engine.framework.framework import MAX_NODE_SCORE, CycleState, Plugin
from engine.framework.handle import Arguments, Handle
from engine.framework.nodes.arrays import IntArray
from engine.framework.nodes.images import ImageState
from engine.framework.pods.pod_info import PodInfo
from engine.framework.pods.signing import Signed, SignFragment, containers_of
from engine.kernel.sentences import say
from engine.plugins.arguments import no_arguments

MEBIBYTE = 1024 * 1024
MIN_THRESHOLD = 23 * MEBIBYTE
MAX_CONTAINER_THRESHOLD = 1000 * MEBIBYTE


class ImageLocality(Plugin):
    """Prefers nodes that have large images of the pod; rare images count less."""

    name: ClassVar[str] = names.IMAGE_LOCALITY
    is_local: ClassVar[bool] = True
    is_static: ClassVar[bool] = True
    check_arguments = staticmethod(no_arguments)

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table
        # v1.20: an image's number of nodes is the cache's count when the node last reported.
        self._as_reported: bool = arguments.get("counts_as_reported", False)
        # v1.36: image volumes count beside the images of containers.
        self._counts_volumes: bool = arguments.get("counts_image_volumes", False)
        # v1.37: and so does the size from which on a node scores 100.
        self._scales_by_volumes: bool = arguments.get("scales_by_volumes", False)

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """0 up to 23 MiB of images, 100 from 1000 MiB per container."""
        held = np.zeros(self._table.capacity, np.int64)
        for _, holders, sizes in self._images(state):
            held[holders] += sizes
        return _score(held[rows], self._scale(state))

    def arithmetic(self, state: CycleState, row: int) -> Terms:
        """See `Arithmetic`: the size of each image that the node has, less where few nodes have it."""
        terms = [
            Term(say("image {name}", name=name), int(sizes[holders == row][0]), "B")
            for name, holders, sizes in self._images(state)
            if row in holders
        ]
        held = np.array([sum(term.value for term in terms)], np.int64)
        return Terms(tuple(terms), int(_score(held, self._scale(state))[0]))

    def sign_pod(self, pod: PodInfo) -> Signed:
        """See `SignPlugin`. Upstream: ImageNamesSigner()."""
        images = {normalized_image_name(one.get("image") or "") for one in containers_of(pod)}
        return (SignFragment("images", sorted(images)),)

    def _scale(self, state: CycleState) -> int:
        """For how many images a node scores 100 at 1000 MiB each."""
        volumes = state.template.image_volumes if self._scales_by_volumes else ()
        return len(state.template.images) + len(volumes)

    def _images(self, state: CycleState) -> Iterator[tuple[str, IntArray, IntArray]]:
        """Each image that some node has: the rows that have it, and its scaled size there."""
        table = self._table
        images = state.template.images
        if self._counts_volumes:
            images += state.template.image_volumes
        for image in images:
            name = normalized_image_name(image)
            found = table.images.states.get(name)
            if found is not None:
                spread = self._holders(name, found) / len(table)
                scaled = (found.size * spread).astype(np.int64)
                yield name, np.fromiter(found.rows, np.int64, len(found.rows)), scaled

    def _holders(self, name: str, found: ImageState) -> IntArray:
        """For each row with the image: how many nodes have it, as the row's entry says."""
        if self._as_reported:
            images = self._table.images.held
            return np.array([images[row][name] for row in found.rows], np.int64)
        seen = np.fromiter(found.rows.values(), np.int64, len(found.rows))
        return np.where(seen == 0, len(found.rows), seen)


def _score(held: IntArray, containers: int) -> IntArray:
    """The scores of nodes that hold so many bytes of the images of so many containers."""
    most = MAX_CONTAINER_THRESHOLD * containers
    clipped = np.clip(held, MIN_THRESHOLD, max(most, MIN_THRESHOLD))
    return MAX_NODE_SCORE * (clipped - MIN_THRESHOLD) // (most - MIN_THRESHOLD)


def normalized_image_name(name: str) -> str:
    """With ":latest" when there is no tag. Upstream: normalizedImageName()."""
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"

"""A cluster as bytes, with the digests of the code that wrote it."""

import io
import pickle
from collections.abc import Callable, Iterable
from typing import Any

from engine.cluster.source import fingerprint, package_digest, plugin_fingerprints
from engine.framework.framework import Plugin
from engine.kernel.errors import SimError


class StaleCheckpoint(SimError):
    """The checkpoint was written by other engine code; replay the run instead."""


class _Parts(io.BytesIO):
    """Bytes that pickle writes, or reads, some dozen kilobytes at a time, with a pause after each."""

    def __init__(self, content: bytes = b"", pause: Callable[[], None] | None = None) -> None:
        super().__init__(content)
        self._pause = pause

    def write(self, part: Any, /) -> int:
        """See BytesIO."""
        size = super().write(part)
        if self._pause:
            self._pause()
        return size

    def read(self, size: int | None = -1, /) -> bytes:
        """See BytesIO."""
        if self._pause:
            self._pause()
        return super().read(size)


def dump(
    cluster: object, plugins: Iterable[Plugin], pause: Callable[[], None] | None = None
) -> bytes:
    """Write *cluster*, with the digests of the engine and of the packages of *plugins*.

    *pause* is called all along, so that others may do something else meanwhile.
    """
    parts = _Parts(pause=pause)
    written_by = fingerprint(), plugin_fingerprints(plugins)
    for part in (written_by, cluster):
        pickle.dump(part, parts, protocol=pickle.HIGHEST_PROTOCOL)
    return parts.getvalue()


def load(blob: bytes, pause: Callable[[], None] | None = None) -> object:
    """Read the cluster that `dump` wrote, with the same *pause*.

    Raises StaleCheckpoint when other code wrote it.
    """
    parts = _Parts(blob, pause)
    try:
        engine, plugins = pickle.load(parts)
        if engine != fingerprint():
            raise StaleCheckpoint("the engine's code has changed since")
        for package, digest in plugins.items():
            if digest != package_digest(package):
                raise StaleCheckpoint(f"the code of the plugins in {package} has changed since")
        return pickle.load(parts)
    except (AttributeError, EOFError, ImportError, TypeError, KeyError) as broken:
        raise StaleCheckpoint(str(broken)) from broken

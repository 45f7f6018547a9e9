"""A cluster as bytes, with the digests of the code that wrote it."""

import io
import pickle
from collections.abc import Iterable

from engine.cluster.source import fingerprint, package_digest, plugin_fingerprints
from engine.framework.framework import Plugin
from engine.kernel.errors import SimError


class StaleCheckpoint(SimError):
    """The checkpoint was written by other engine code; replay the run instead."""


def dump(cluster: object, plugins: Iterable[Plugin]) -> bytes:
    """Write *cluster*, with the digests of the engine and of the packages of *plugins*."""
    parts = io.BytesIO()
    written_by = fingerprint(), plugin_fingerprints(plugins)
    for part in (written_by, cluster):
        pickle.dump(part, parts, protocol=pickle.HIGHEST_PROTOCOL)
    return parts.getvalue()


def load(blob: bytes) -> object:
    """Read the cluster that `dump` wrote. Raises StaleCheckpoint when other code wrote it."""
    parts = io.BytesIO(blob)
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

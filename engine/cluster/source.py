"""Digests of source code: engines and plugins with the same digest decide the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from engine.framework.simple import class_of


@cache
def fingerprint() -> str:
    """A digest of the engine's source."""
    room = Path(__file__).resolve().parents[1]
    return _digest(version("numpy"), room.parent, sorted(room.rglob("*.py")))


def plugin_fingerprints(plugins: Iterable[object]) -> dict[str, str]:
    """The packages of those *plugins* that are not in-tree, each with its digest."""
    modules = (class_of(plugin).__module__ for plugin in plugins)
    others = (name for name in modules if not name.startswith("engine."))
    return {package: package_digest(package) for package in sorted({*map(_package, others)})}


@cache
def package_digest(package: str) -> str:
    """A digest of the source of *package*, a package or a single module; "" where there is none.

    Other packages that it imports are not included.
    """
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        return ""
    if spec is None:
        return ""
    if spec.submodule_search_locations is None:
        path = Path(spec.origin or "")
        return _digest(package, path.parent, [path]) if path.is_file() else ""
    digests = [
        _digest(package, Path(root), sorted(Path(root).rglob("*.py")))
        for root in spec.submodule_search_locations
    ]
    return " ".join(digests)


def _package(module: str) -> str:
    """The outermost package of *module* that is not shared with other distributions."""
    names = module.split(".")
    for count in range(1, len(names)):
        package = ".".join(names[:count])
        spec = find_spec(package)
        # A namespace package has no file of its own, and may contain several distributions.
        if spec is not None and spec.origin is not None:
            return package
    return module


def _digest(seed: str, root: Path, paths: Iterable[Path]) -> str:
    digest = hashlib.sha256(seed.encode())
    for path in paths:
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()

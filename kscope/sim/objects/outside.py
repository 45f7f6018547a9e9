"""Objects of a cluster's files that a run does not hold, but that decide what its drivers can do.

They are Leases of nodes, VolumeSnapshots and their contents, and the names (never the data) of
Secrets, ConfigMaps and ServiceAccounts. They do not change while a run goes on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kscope.sim.kernel.units import nanoseconds_of

Manifest = dict[str, Any]

NODE_LEASES: Final = "kube-node-lease"
# Kinds of which only names are known.
NAMED: Final = ("Secret", "ConfigMap", "ServiceAccount")
READ: Final = frozenset((*NAMED, "Lease", "VolumeSnapshot", "VolumeSnapshotContent"))


@dataclass(frozen=True, slots=True)
class Outside:
    """The objects by kind and by key: "namespace/name", or "name" without a namespace."""

    objects: Mapping[str, Mapping[str, Manifest]] = field(
        default_factory=dict[str, dict[str, Manifest]]
    )

    @classmethod
    def of(cls, manifests: Iterable[Manifest]) -> Outside:
        """What `kept` leaves of *manifests*."""
        found: dict[str, dict[str, Manifest]] = {}
        for manifest in cls.kept(manifests):
            kind = manifest["kind"]
            found.setdefault(kind, {})[_key(kind, manifest["metadata"])] = manifest
        return cls(found)

    @staticmethod
    def kept(manifests: Iterable[Manifest]) -> list[Manifest]:
        """Those of *manifests* that decide something; of NAMED kinds, only the name."""
        return [
            _name_of(manifest) if manifest["kind"] in NAMED else manifest
            for manifest in manifests
            if manifest["kind"] in READ
        ]

    def find(self, kind: str, key: str) -> Manifest | None:
        """The object, or None; that is certain only if `knows` its kind."""
        return self.objects.get(kind, {}).get(key)

    def knows(self, kind: str) -> bool:
        """Whether the files say which objects of *kind* there are."""
        return kind in self.objects

    def lacks(self, kind: str, key: str) -> bool:
        """Whether the files say that there is no such object."""
        return self.knows(kind) and self.find(kind, key) is None

    def silent_nodes(self, grace: int) -> dict[str, int]:
        """By how many ns the Lease of a node is older than the newest, where more than *grace*."""
        renewed = {
            key.removeprefix(f"{NODE_LEASES}/"): _renewed(lease)
            for key, lease in self.objects.get("Lease", {}).items()
            if key.startswith(f"{NODE_LEASES}/")
        }
        known = {node: at for node, at in renewed.items() if at is not None}
        newest = max(known.values(), default=0)
        return {node: newest - at for node, at in known.items() if newest - at > grace}


def _name_of(manifest: Manifest) -> Manifest:
    metadata = {
        part: manifest["metadata"][part]
        for part in ("name", "namespace")
        if part in manifest["metadata"]
    }
    return {"kind": manifest["kind"], "metadata": metadata}


def _key(kind: str, metadata: Manifest) -> str:
    name = metadata.get("name", "")
    if kind == "VolumeSnapshotContent":
        return name
    return f"{metadata.get('namespace') or 'default'}/{name}"


def _renewed(lease: Manifest) -> int | None:
    """When the Lease was renewed, in ns; None if it does not say."""
    try:
        spec: Manifest = lease.get("spec") or {}
        return nanoseconds_of(str(spec.get("renewTime")))
    except (ValueError, TypeError):
        return None

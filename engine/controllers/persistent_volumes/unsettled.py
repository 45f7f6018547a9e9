"""The claims and volumes that the resync of the PV controller has to check.

Upstream's resync queues every claim and every volume. But a sync of a settled object does nothing, and
an object stays settled until it, or the object that it is bound to, changes. Whether a claim is
settled depends on the informer's version of the claim and on the cached volume that it names; whether
a volume is settled, on the informer's version of the volume and on the cached claim that it names.
"""

from collections.abc import Iterable


class UnsettledObjects:
    """The claims and volumes that may be unsettled, each kind in the order of its informer."""

    __slots__ = ("claims", "volumes")

    def __init__(self) -> None:
        self.claims = UnsettledOfOneKind()
        self.volumes = UnsettledOfOneKind()

    def changed(self, volumes: Iterable[str], claims: Iterable[str]) -> None:
        """The cached versions of these objects have changed or were removed."""
        for name in volumes:
            self.claims.mark_bound_to(name)
        for key in claims:
            self.volumes.mark_bound_to(key)


class UnsettledOfOneKind:
    """The objects of one kind that may be unsettled, found by key or by the object they name."""

    __slots__ = ("_added", "_keys", "_named", "_naming", "_observed", "_places")

    def __init__(self) -> None:
        # Key → what it names, for new versions since the last `in_order`.
        self._observed: dict[str, str] = {}
        self._keys: dict[str, None] = {}
        # Key → its place in the informer's order; key → what it names.
        self._places: dict[str, int] = {}
        self._added = 0
        self._named: dict[str, str] = {}
        self._naming: dict[str, dict[str, None]] = {}

    def observe(self, key: str, names: str, gone: bool = False) -> None:
        """The informer has a new version of *key*, or it was deleted (*gone*).

        It *names* the key of the volume or claim that it is bound to, or "".
        """
        if not gone:
            self._observed[key] = names
            return
        self._observed.pop(key, None)
        self._keys.pop(key, None)
        self._places.pop(key, None)
        self._name(key, "")

    def _take_observed(self) -> None:
        for key, names in self._observed.items():
            self._keys[key] = None
            if key not in self._places:
                self._added += 1
                self._places[key] = self._added
            self._name(key, names)
        self._observed.clear()

    def _name(self, key: str, names: str) -> None:
        before = self._named.get(key, "")
        if before == names:
            return
        if before:
            held = self._naming[before]
            del held[key]
            if not held:
                del self._naming[before]
        if names:
            self._named[key] = names
            self._naming.setdefault(names, {})[key] = None
        else:
            del self._named[key]

    def mark_bound_to(self, name: str) -> None:
        """The objects that name *name* may be unsettled now."""
        self._take_observed()
        naming = self._naming.get(name)
        if naming is not None:
            self._keys.update(naming)

    def in_order(self) -> list[str]:
        """All of them, in the informer's order."""
        self._take_observed()
        if len(self._keys) == len(self._places):
            return [*self._places]
        return sorted(self._keys, key=self._places.__getitem__)

    def keep(self, keys: Iterable[str]) -> None:
        """All but *keys* are settled."""
        self._keys = dict.fromkeys(keys)

"""What the PV controller's resync has to look at: all that has changed since it was last settled.

Upstream's resync queues every claim and every volume. A sync of one that is settled does nothing, and
what is settled stays so until it, or what it is bound to, changes. Whether a claim is settled depends
on the claim as the informer has it and on the controller's own copy of the volume that it names;
whether a volume is, on the volume as the informer has it and on the copy of the claim that it names.
"""

from collections.abc import Iterable


class UnsettledObjects:
    """Claims and volumes that may not be settled, each kind in the order of its informer."""

    __slots__ = ("claims", "volumes")

    def __init__(self) -> None:
        self.claims = UnsettledOfOneKind()
        self.volumes = UnsettledOfOneKind()

    def changed(self, volumes: Iterable[str], claims: Iterable[str]) -> None:
        """The controller's own copies of these have changed, or gone."""
        for name in volumes:
            self.claims.mark_bound_to(name)
        for key in claims:
            self.volumes.mark_bound_to(key)


class UnsettledOfOneKind:
    """Objects of one kind that may not be settled, found by their key or by what they are bound to."""

    __slots__ = ("_added", "_keys", "_named", "_naming", "_observed", "_places")

    def __init__(self) -> None:
        # New versions since the last `in_order`, each with the key of what it is bound to.
        self._observed: dict[str, str] = {}
        self._keys: dict[str, None] = {}
        # Key → its place in the informer's order; and what it names.
        self._places: dict[str, int] = {}
        self._added = 0
        self._named: dict[str, str] = {}
        self._naming: dict[str, dict[str, None]] = {}

    def observe(self, key: str, names: str, gone: bool = False) -> None:
        """The informer has a new version of *key*, or it is *gone*.

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
        """What is bound to *name* may not be settled any more."""
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

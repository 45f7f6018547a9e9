"""What the PV controller's resync has to look at: all that has changed since it was last settled.

Upstream's resync queues every claim and every volume. A sync of one that is settled does nothing, and
what is settled stays so until it, or what it is bound to, changes. Whether a claim is settled depends
on the claim as the informer has it and on the controller's own copy of the volume that it names;
whether a volume is, on the volume as the informer has it and on the copy of the claim that it names.
"""

from collections.abc import Iterable


class Suspects:
    """Claims and volumes that may not be settled, each kind in the order of its informer."""

    __slots__ = ("claims", "volumes")

    def __init__(self) -> None:
        self.claims = Suspected()
        self.volumes = Suspected()

    def changed(self, volumes: Iterable[str], claims: Iterable[str]) -> None:
        """The controller's own copies of these have changed, or gone."""
        for name in volumes:
            self.claims.suspect_those_naming(name)
        for key in claims:
            self.volumes.suspect_those_naming(key)


class Suspected:
    """The suspects of one kind, found by their own key or by that of what they name."""

    __slots__ = ("_added", "_heard", "_keys", "_named", "_naming", "_places")

    def __init__(self) -> None:
        # What was heard since somebody last asked, and what it names.
        self._heard: dict[str, str] = {}
        self._keys: dict[str, None] = {}
        # Key → its place in the informer's order; and what it names.
        self._places: dict[str, int] = {}
        self._added = 0
        self._named: dict[str, str] = {}
        self._naming: dict[str, dict[str, None]] = {}

    def hear(self, key: str, names: str, gone: bool = False) -> None:
        """The informer has a new version of *key*, or has it no more.

        It *names* the key of the volume or claim that it is bound to, or "".
        """
        if not gone:
            self._heard[key] = names
            return
        self._heard.pop(key, None)
        self._keys.pop(key, None)
        self._places.pop(key, None)
        self._name(key, "")

    def _take_heard(self) -> None:
        for key, names in self._heard.items():
            self._keys[key] = None
            if key not in self._places:
                self._added += 1
                self._places[key] = self._added
            self._name(key, names)
        self._heard.clear()

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

    def suspect_those_naming(self, name: str) -> None:
        """What names *name* may not be settled any more."""
        self._take_heard()
        naming = self._naming.get(name)
        if naming is not None:
            self._keys.update(naming)

    def in_order(self) -> list[str]:
        """All of them, in the informer's order."""
        self._take_heard()
        if len(self._keys) == len(self._places):
            return [*self._places]
        return sorted(self._keys, key=self._places.__getitem__)

    def keep(self, keys: Iterable[str]) -> None:
        """Only these are suspect still."""
        self._keys = dict.fromkeys(keys)

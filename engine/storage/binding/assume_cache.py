"""The scheduler's view of volumes and claims: the API server's objects, and assumed ones.

The scheduler decides faster than the API server answers. An assumed object hides the informer's;
`restore` drops it again, and a newer object from the API server replaces both. Upstream:
pkg/scheduler/util/assumecache and, before, scheduler_assume_cache.go.
"""

from typing import Final, Generic, TypeVar

from engine.api_server.store.watches import WatchEvent
from engine.kernel.errors import NotFound, SimError
from engine.objects.objects import ApiObject, PersistentVolume, PersistentVolumeClaim
from engine.storage.matching.index import VolumeIndex

Obj = TypeVar("Obj", bound=ApiObject)


class AssumeError(SimError):
    """An object cannot be assumed; the text is upstream's."""


class AssumeCache(Generic[Obj]):
    """Objects of one kind, each as the API server has it and as assumed.

    Fed with `observe`, or with `add` and `delete`. Upstream: assumeCache.
    """

    DESCRIPTION = "object"

    def __init__(self) -> None:
        self._latest: dict[str, Obj] = {}
        self._api: dict[str, Obj] = {}

    @property
    def latest(self) -> dict[str, Obj]:
        """The latest of each, by key. Do not change it."""
        return self._latest

    @property
    def informer(self) -> dict[str, Obj]:
        """Each as the API server has it, by key. Do not change it."""
        return self._api

    def observe(self, event: WatchEvent) -> None:
        """Handle a watch event of this kind."""
        obj: Obj = event.new  # type: ignore[assignment]  # pyright: ignore
        if event.type == "DELETED":
            self.delete(obj)
        elif event.old is not None and event.old is self._latest.get(obj.key):
            # The next version of the very object that is known, and nothing is assumed of it.
            self._take(obj)
        else:
            self.add(obj)

    def add(self, obj: Obj) -> None:
        """Take an object from the API server; one that is no newer than the latest is ignored.

        Thus a resync does not displace what is assumed, which has the version it was made from.
        """
        latest = self._latest.get(obj.key)
        if latest is not None:
            try:
                if int(obj.resource_version) <= int(latest.resource_version):
                    return
            except ValueError:
                return
        self._take(obj)

    def _take(self, obj: Obj) -> None:
        self._api[obj.key] = obj
        self._set_latest(obj)

    def delete(self, obj: Obj) -> None:
        """The API server has deleted the object; what was assumed of it goes too."""
        self._api.pop(obj.key, None)
        if self._latest.pop(obj.key, None) is not None:
            self._forget(obj)

    def get(self, key: str) -> Obj:
        """The assumed object if there is one, else the API server's. Raises NotFound."""
        found = self._latest.get(key)
        if found is None:
            raise self._not_found(key)
        return found

    def find(self, key: str) -> Obj | None:
        """As `get`, but None when there is none."""
        return self._latest.get(key)

    def get_api(self, key: str) -> Obj:
        """The newest object of the API server, without what is assumed. Raises NotFound."""
        found = self._api.get(key)
        if found is None:
            raise self._not_found(key)
        return found

    def assume(self, obj: Obj) -> None:
        """Make *obj* the latest. Raises NotFound, or AssumeError when it is older."""
        latest = self.get(obj.key)
        new, stored = self._version(obj), self._version(latest)
        if new < stored:
            raise AssumeError(
                f'{self.DESCRIPTION} "{obj.key}" is out of sync (stored: {stored}, assume: {new})'
            )
        self._set_latest(obj)

    def restore(self, key: str) -> None:
        """Drop what is assumed. Does nothing for an object that is gone."""
        api = self._api.get(key)
        if api is not None and self._latest[key] is not api:
            self._set_latest(api)

    def _set_latest(self, obj: Obj) -> None:
        self._latest[obj.key] = obj

    def _forget(self, obj: Obj) -> None:
        pass

    def _not_found(self, key: str) -> NotFound:
        return NotFound(f'could not find {self.DESCRIPTION} "{key}"')

    def _version(self, obj: Obj) -> int:
        text = obj.resource_version
        try:
            return int(text)
        except ValueError:
            raise AssumeError(
                f'error parsing ResourceVersion "{text}" for {self.DESCRIPTION} "{obj.key}": '
                f'strconv.ParseInt: parsing "{text}": invalid syntax'
            ) from None


class VolumeAssumeCache(AssumeCache[PersistentVolume]):
    """Volumes, indexed for the search by claim, class and capacity. Upstream: PVAssumeCache."""

    DESCRIPTION: Final = "v1.PersistentVolume"

    def __init__(self) -> None:
        super().__init__()
        self.index = VolumeIndex()

    def _set_latest(self, obj: PersistentVolume) -> None:
        self._latest[obj.key] = obj
        self.index.put(obj)

    def _forget(self, obj: PersistentVolume) -> None:
        self.index.remove(obj.name)


class ClaimAssumeCache(AssumeCache[PersistentVolumeClaim]):
    """Claims by "namespace/name". Upstream: PVCAssumeCache."""

    DESCRIPTION: Final = "v1.PersistentVolumeClaim"

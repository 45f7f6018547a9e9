"""What must hold of volumes and claims whatever happens; a failure prints its seed."""

import pickle
import random

import pytest

from engine.csi_sidecars.driver_faults import DriverFaults
from engine.kernel.errors import ApiError
from engine.objects.objects import PersistentVolume, PersistentVolumeClaim
from engine.objects.phases import SELECTED_NODE
from engine.storage.ports import StoreVolumeApi, WriteEvent
from engine.versions.registry import VERSIONS
from tests.engine.storage_world import Storage, make_claim, make_class, make_pod, make_volume

RULES = (VERSIONS["v1.16"].controller, VERSIONS["v1.20"].controller, VERSIONS["v1.34"].controller)
POLICIES = ("Retain", "Delete", "Recycle")


class FaultyApi(StoreVolumeApi):
    """Refuses every so many writes."""

    __slots__ = ("every", "writes")

    def update_volume(self, volume: PersistentVolume, record_as: WriteEvent) -> PersistentVolume:
        self._stumble()
        return super().update_volume(volume, record_as)

    def update_volume_status(
        self, volume: PersistentVolume, record_as: WriteEvent
    ) -> PersistentVolume:
        self._stumble()
        return super().update_volume_status(volume, record_as)

    def update_claim(
        self, claim: PersistentVolumeClaim, record_as: WriteEvent
    ) -> PersistentVolumeClaim:
        self._stumble()
        return super().update_claim(claim, record_as)

    def update_claim_status(
        self, claim: PersistentVolumeClaim, record_as: WriteEvent
    ) -> PersistentVolumeClaim:
        self._stumble()
        return super().update_claim_status(claim, record_as)

    def create_volume(self, volume: PersistentVolume, record_as: WriteEvent) -> PersistentVolume:
        self._stumble()
        return super().create_volume(volume, record_as)

    def _stumble(self) -> None:
        self.writes += 1
        if self.every and self.writes % self.every == 0:
            raise ApiError("the API server is out to lunch")


def storage_of(seed: int) -> tuple[Storage, FaultyApi]:
    failures = {f"default/c{n}": n % 3 for n in range(12)}
    storage = Storage(rules=RULES[seed % 3], faults=DriverFaults(failures=failures), seed=seed)
    api = FaultyApi(storage.store, "pv-controller")
    api.writes, api.every = 0, (0, 3, 5, 7)[seed % 4]
    storage.controller.context.api = api
    return storage, api


def live_through(storage: Storage, chance: random.Random) -> None:
    storage.create(
        make_class("in-tree", "kubernetes.io/host-path"),
        make_class("csi", "csi.example.com"),
        make_class("wait", "csi.example.com", "WaitForFirstConsumer"),
    )
    for _ in range(60):
        random_step(storage, chance)
        storage.run(chance.random() * 3)


def random_step(storage: Storage, chance: random.Random) -> None:
    store = storage.store
    name = f"v{chance.randrange(8)}"
    claim = f"c{chance.randrange(12)}"
    what = chance.randrange(9)
    if what <= 1 and store.find("PersistentVolume", name) is None:
        spec = {"persistentVolumeReclaimPolicy": chance.choice(POLICIES)}
        size = f"{chance.randrange(1, 4)}Gi"
        storage.create(make_volume(name, size, hostPath={"path": f"/tmp/{name}"}, **spec))
    elif what <= 4 and store.find("PersistentVolumeClaim", f"default/{claim}") is None:
        kind = chance.choice(["", "", "in-tree", "csi", "wait"])
        named = {"volumeName": name} if chance.random() < 0.2 else {}
        size = f"{chance.randrange(1, 4)}Gi"
        storage.create(make_claim(claim, size, storageClassName=kind, **named))
    elif what == 5 and store.find("PersistentVolumeClaim", f"default/{claim}") is not None:
        store.delete("PersistentVolumeClaim", f"default/{claim}", by="user")
    elif what == 6 and store.find("PersistentVolume", name) is not None:
        if chance.random() < 0.5:
            store.patch("PersistentVolume", name, {"metadata": {"finalizers": None}}, by="user")
        if store.find("PersistentVolume", name) is not None:
            store.delete("PersistentVolume", name, by="user")
    elif what == 7 and store.find("PersistentVolume", name) is not None:
        store.patch("PersistentVolume", name, {"spec": {"claimRef": None}}, by="user")
    elif what == 8:
        found = store.find("PersistentVolumeClaim", f"default/{claim}")
        if isinstance(found, PersistentVolumeClaim) and found.storage_class_name == "wait":
            patch = {"metadata": {"annotations": {SELECTED_NODE: "n"}}}
            store.patch("PersistentVolumeClaim", found.key, patch, by="scheduler")
            if store.find("Node", "n") is None:
                storage.create({"kind": "Node", "metadata": {"name": "n"}})
            if store.find("Pod", f"default/p-{claim}") is None:
                storage.create(make_pod(f"p-{claim}", claim, node="n"))


@pytest.mark.parametrize("seed", range(40))
def test_a_quiet_cluster_is_a_consistent_one(seed: int) -> None:
    storage, api = storage_of(seed)
    live_through(storage, random.Random(seed))
    api.every = 0
    for pod in storage.store.objects("Pod"):
        storage.store.delete("Pod", pod.key, by="user")
    storage.run(400)

    claims = {c.key: c for c in storage.listers.claims()}
    owners: dict[str, str] = {}
    for claim in claims.values():
        assert not claim.deletion_timestamp, f"seed {seed}: {claim.key} is stuck"
        if claim.phase != "Bound":
            continue
        volume = storage.volume(claim.volume_name)
        assert volume.claim_ref is not None
        assert volume.claim_ref["uid"] == claim.uid, f"seed {seed}: {claim.key} is misbound"
        assert volume.phase == "Bound"
        assert owners.setdefault(volume.name, claim.key) == claim.key
        # Its size may be too small: upstream gives a Lost claim back whatever volume has its name.
    for volume in storage.listers.volumes():
        held = volume.phase == "Bound"
        assert held or not volume.deletion_timestamp, f"seed {seed}: {volume.name} is stuck"
        if held:
            assert volume.claim_key in claims, f"seed {seed}: {volume.name} is not released"
    assert storage.controller.runner.running() == []
    check_quiet(storage, seed)


def check_quiet(storage: Storage, seed: int) -> None:
    """What still goes on is the resync of claims that wait, and it changes nothing."""
    storage.recorder.take()
    storage.run(100)
    assert storage.facts() == [], f"seed {seed}"
    if all(claim.phase != "Pending" for claim in storage.listers.claims()):
        assert storage.loop.next_at is None, f"seed {seed}"


@pytest.mark.parametrize("seed", range(24))
def test_the_resync_finds_every_unsettled_object(seed: int) -> None:
    storage, _ = storage_of(seed)
    resync, chance = storage.controller.resync, random.Random(seed)
    storage.create(make_class("csi", "csi.example.com"), make_class("in-tree", "csi.example.com"))
    for _ in range(60):
        random_step(storage, chance)
        storage.run(chance.choice([0, 0.001, 0.5, 3, 16]))
        claims, volumes = resync.unsettled()
        every = storage.listers.claims()
        assert claims == [one.key for one in every if not resync.is_claim_settled(one)]
        each = storage.listers.volumes()
        assert volumes == [one.key for one in each if not resync.is_volume_settled(one)]


@pytest.mark.parametrize("seed", range(3))
def test_a_checkpoint_does_not_change_the_history(seed: int) -> None:
    digests: list[str] = []
    for cut in (False, True):
        storage, _ = storage_of(seed)
        live_through(storage, random.Random(seed))
        if cut:
            storage = pickle.loads(pickle.dumps(storage))
        storage.run(50)
        storage.recorder.take()
        digests.append(storage.recorder.digest)
    assert digests[0] == digests[1]

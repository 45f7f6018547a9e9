"""What holds of volumes on nodes whatever pods, faults and restarts come."""

from random import Random

import pytest

from engine.kernel.units import SECOND
from engine.objects.objects import ApiObject
from engine.storage.plugins.simulated import Fault
from engine.storage.plugins.spec import ErrorKind
from tests.conformance.kubelet.volumemanager import POSSIBLE, mounted_volumes
from tests.engine.controllers.test_attach_detach import Machine
from tests.samples import sample

CALLS = ("Attach", "MountDevice", "SetUp", "TearDown", "UnmountDevice", "Detach")
VOLUMES = ("data", "logs", "media")


def stir(machine: Machine, chance: Random) -> None:
    """Some minute of a cluster's life: pods come and go, calls fail, kubelets restart."""
    machine.add_volume("pv-2", "logs", "vol-2", ["ReadWriteOnce"])
    machine.add_volume("pv-3", "media", "vol-3", ["ReadWriteMany"])
    alive: list[str] = []
    down: list[str] = []
    for number in range(chance.randint(4, 12)):
        machine.run(chance.choice([0.05, 0.3, 1, 4]))
        node = chance.choice(["node-1", "node-2"])
        what = chance.random()
        if what < 0.45:
            alive.append(f"p{number}")
            machine.add_pod(f"p{number}", node, claim=chance.choice(VOLUMES))
        elif what < 0.65 and alive:
            name = alive.pop(chance.randrange(len(alive)))
            if machine.pod(name) is not None:
                machine.delete_pod(name, grace=chance.choice([0, 0, 30]))
        elif what < 0.85:
            kind = chance.choice([ErrorKind.FINAL, ErrorKind.UNCERTAIN, ErrorKind.TRANSIENT])
            fault = Fault(call=chance.choice(CALLS), count=chance.randint(1, 3), kind=kind)
            machine.plugins.faults.inject(fault)
        elif node not in down:
            machine.kubelets.stop_kubelet(node)
            down.append(node)
    for node in down:
        machine.kubelets.start_kubelet(node)


def in_use(node: ApiObject) -> list[str]:
    return node.status.get("volumesInUse") or []


@pytest.mark.parametrize("seed", sample(range(60), 4))
def test_quiet_nodes_have_exactly_the_needed_volumes(seed: int) -> None:
    machine = Machine()
    stir(machine, Random(seed))
    machine.run(1800)
    for manager in machine.kubelets.volumes.nodes.values():
        for mounted in mounted_volumes(manager.actual, POSSIBLE):
            assert manager.desired.pod_exists_in_volume(mounted.pod_name, mounted.volume_name)
        for volume in manager.actual.get_attached_volumes():
            assert manager.desired.volume_exists(volume.name)
    blocked = set(machine.events.messages("FailedAttachVolume"))
    for pod in machine.store.objects("Pod"):
        # What does not run waits for a volume that another node has, and was told so.
        assert pod.status.get("phase") == "Running" or any("Multi-Attach" in m for m in blocked)
    assert machine.loop.next_at is None


@pytest.mark.parametrize("seed", sample(range(60), 4))
def test_volumes_in_use_are_never_detached(seed: int) -> None:
    machine = Machine()
    stir(machine, Random(seed))
    machine.run(300)
    machine.recorder.take()
    shown = machine.recorder.view["node/node-1"].get("volumes", {})
    attached = machine.controller.actual.attached_to_node("node-1")
    held = {attachment.name for attachment in attached}
    for name in in_use(machine.node("node-1")):
        assert name in held or not shown[name].get("mounts")


@pytest.mark.parametrize("seed", sample(range(60), 4))
def test_the_shown_volumes_equal_the_held_ones(seed: int) -> None:
    machine = Watched()
    stir(machine, Random(seed))
    for _ in range(40):
        machine.run(0.31)
    machine.run(600)
    assert machine.compared > 40


class Watched(Machine):
    """Compares view and engine whenever it has run for a while."""

    compared = 0

    def run(self, seconds: float) -> None:
        super().run(seconds)
        self.recorder.take()
        for node in ("node-1", "node-2"):
            shown = self.recorder.view[f"node/{node}"]
            assert shown.get("volumes", {}) == self.kubelets.volumes.held_view(node)
            assert shown.get("attachments", {}) == self.controller.held_view(node)
            self.compared += 1


def test_two_runs_of_one_story_are_identical() -> None:
    digests: list[str] = []
    for _ in range(2):
        machine = Machine()
        stir(machine, Random(7))
        machine.loop.run(100 * SECOND)
        machine.recorder.take()
        digests.append(machine.recorder.digest)
    assert digests[0] == digests[1]

"""Watches that break, and what a new list tells those who had them."""

import pytest

from engine.api_server.store.faults import ApiFaults, invalid
from engine.api_server.store.store import ObjectStore
from engine.api_server.store.watches import WatchEvent
from engine.kernel.errors import Invalid
from engine.kernel.loop import EventLoop
from engine.kernel.recorder import Recorder
from engine.kernel.rng import Streams
from engine.objects.objects import ApiObject, from_manifest


class Listener:
    """Notes what its watch delivers."""

    def __init__(self) -> None:
        self.heard: list[WatchEvent] = []

    def observe(self, event: WatchEvent) -> None:
        self.heard.append(event)

    @property
    def story(self) -> list[str]:
        return [f"{event.type} {event.new.name} {value(event.new)}" for event in self.heard]


def value(obj: ApiObject) -> str:
    return obj.labels.get("value", "")


class Api:
    """A store with two listeners; only one of them loses its watch."""

    def __init__(self) -> None:
        self.loop = EventLoop()
        self.store = ObjectStore(self.loop, Recorder(self.loop))
        self.faults = self.store.faults = ApiFaults(Streams(0).stream("faults"), self.told)
        self.deaf, self.other = Listener(), Listener()
        for listener in (self.deaf, self.other):
            self.store.watch("Node", listener.observe, 5)

    def told(self, entity: str, by: str, text: str) -> None:
        raise AssertionError(f"nothing is refused: {entity} {by} {text}")

    def create(self, name: str) -> None:
        raw = {"kind": "Node", "metadata": {"name": name, "labels": {"value": "1"}}}
        self.store.create(from_manifest(raw), by="test")

    def write(self, name: str, value: str) -> None:
        self.store.patch("Node", name, {"metadata": {"labels": {"value": value}}}, by="test")

    def delete(self, name: str) -> None:
        self.store.delete("Node", name, by="test")

    def cut(self) -> None:
        self.loop.run(self.loop.now + 100)
        self.faults.cut("Node", self.store.watches.watchers_of("Node", [self.deaf]))
        self.deaf.heard.clear()
        self.other.heard.clear()

    def mend(self) -> None:
        self.loop.run(self.loop.now + 100)
        assert self.deaf.heard == []
        for cut in self.faults.cuts.pop("Node"):
            self.store.relist(cut)
        self.loop.run(self.loop.now + 100)


@pytest.fixture
def api() -> Api:
    return Api()


def test_an_object_written_several_times_is_delivered_once(api: Api) -> None:
    api.create("a")
    api.cut()
    api.write("a", "2")
    api.write("a", "3")
    api.mend()
    assert api.deaf.story == ["MODIFIED a 3"]
    (event,) = api.deaf.heard
    assert event.old is not None
    assert value(event.old) == "1"
    assert api.other.story == ["MODIFIED a 2", "MODIFIED a 3"]


def test_an_object_created_and_deleted_is_not_delivered(api: Api) -> None:
    api.cut()
    api.create("a")
    api.delete("a")
    api.mend()
    assert api.deaf.story == []
    assert api.other.story == ["ADDED a 1", "DELETED a 1"]


def test_deleted_objects_come_with_their_last_known_state(api: Api) -> None:
    api.create("a")
    api.cut()
    api.write("a", "2")
    api.delete("a")
    api.mend()
    assert api.deaf.story == ["DELETED a 1"]
    assert api.deaf.heard[0].final_state_unknown
    assert not api.other.heard[-1].final_state_unknown


def test_listed_objects_are_delivered_before_deleted_ones(api: Api) -> None:
    api.create("a")
    api.cut()
    api.delete("a")
    api.create("b")
    api.mend()
    assert api.deaf.story == ["ADDED b 1", "DELETED a 1"]


def test_a_recreated_object_replaces_the_first(api: Api) -> None:
    api.create("a")
    api.cut()
    api.delete("a")
    api.create("a")
    api.write("a", "2")
    api.mend()
    assert api.deaf.story == ["DELETED a 1", "ADDED a 2"]


def test_a_write_already_under_way_still_arrives(api: Api) -> None:
    api.create("a")
    api.faults.cut("Node", api.store.watches.watchers_of("Node", [api.deaf]))
    api.loop.run(100)
    assert api.deaf.story == ["ADDED a 1"]


def test_who_watches_after_the_break_hears_everything(api: Api) -> None:
    api.create("a")
    api.cut()
    late = Listener()
    api.store.watch("Node", late.observe, 5)
    api.write("a", "2")
    api.loop.run(api.loop.now + 100)
    assert late.story == ["ADDED a 1", "MODIFIED a 2"]


def test_who_has_died_in_between_hears_nothing(api: Api) -> None:
    api.create("a")
    api.cut()
    api.write("a", "2")
    api.store.watches.remove([api.deaf])
    api.mend()
    assert api.deaf.story == []


def test_a_watch_cut_twice_hears_everything_once(api: Api) -> None:
    api.create("a")
    api.cut()
    api.write("a", "2")
    api.faults.cut("Node", api.store.watches.watchers_of("Node"))
    api.write("a", "3")
    api.mend()
    assert api.deaf.story == ["MODIFIED a 3"]
    assert api.other.story == ["MODIFIED a 2", "MODIFIED a 3"]


def test_only_the_scheduler_can_lose_its_watches_alone() -> None:
    invalid({"cut": "Pod", "of": "scheduler"})
    invalid({"cut": "Pod"})
    for wrong in ({"cut": "Pod", "of": "kubelet"}, {"cut": ""}, {"mend": "Pod", "of": "scheduler"}):
        with pytest.raises(Invalid):
            invalid(wrong)

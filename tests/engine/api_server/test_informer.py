"""An informer tells its handlers, but for those who have nothing to do."""

from engine.api_server.store.informer import Informer
from engine.api_server.store.store import ObjectStore
from engine.api_server.store.watches import WatchEvent
from engine.kernel.loop import EventLoop
from engine.kernel.recorder import Recorder
from engine.objects.objects import ApiObject, Pod, from_manifest


class Ear:
    """Remembers of which objects it heard."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def hear(self, event: WatchEvent) -> None:
        self.heard.append(event.new.name)


def _object(kind: str, name: str) -> ApiObject:
    return from_manifest({"kind": kind, "metadata": {"name": name, "namespace": "default"}})


def test_a_handler_without_objects_gets_no_events() -> None:
    loop = EventLoop()
    store = ObjectStore(loop, Recorder(loop))
    pods: Informer[Pod] = Informer(store, "Pod")
    jobs: Informer[ApiObject] = Informer(store, "Job")
    ear, keen = Ear(), Ear()
    pods.on_event(ear.hear, only_with=jobs)
    pods.on_event(keen.hear)
    store.create(_object("Pod", "before"), by="test")
    loop.run(0)
    store.create(_object("Job", "j"), by="test")
    loop.run(0)
    store.create(_object("Pod", "meanwhile"), by="test")
    loop.run(0)
    store.delete("Job", "default/j", by="test")
    loop.run(0)
    store.create(_object("Pod", "after"), by="test")
    loop.run(0)
    assert ear.heard == ["meanwhile"]
    assert keen.heard == ["before", "meanwhile", "after"]

"""Lets things go wrong on command: in drivers, in the API server, on nodes."""

from collections.abc import Mapping
from typing import Any

from kscope.sim.errors import Invalid, NotFound
from kscope.sim.faults import DRIVER_CALLS, PROVISION, WRITE, ApiFaults, invalid
from kscope.sim.objects import split_entity_id
from kscope.sim.recorder import Recorder
from kscope.sim.rng import Streams
from kscope.sim.scenario import parse_duration
from kscope.sim.store import ObjectStore
from volumes.engine.actors import VolumeActors
from volumes.engine.kubelet.plugins import Fault, Faults, SimulatedPlugins

COMPONENT = "fault"
# As good as for ever: a call that fails with a probability does so to the end of the run.
_ALWAYS = 1 << 60


class FaultInjector:
    """Carries out the verb `fault`. Every fault is on the record when it is injected."""

    def __init__(
        self, store: ObjectStore, recorder: Recorder, streams: Streams, volumes: VolumeActors
    ) -> None:
        self._store = store
        self._recorder = recorder
        self._volumes = volumes
        self._stream = streams.stream("faults")
        plugins = volumes.kubelets.volumes.plugins
        self._drivers = plugins.faults if isinstance(plugins, SimulatedPlugins) else Faults()
        self._api = ApiFaults(self._stream, self._refused)
        store.faults = self._api

    def inject(self, fault: Mapping[str, Any], by: str) -> None:
        """Let *fault* happen from now on. Raises Invalid, NotFound."""
        invalid(fault)
        kind = next(name for name in _ACTIONS if name in fault)
        getattr(self, _ACTIONS[kind])(fault)
        message = ", ".join(f"{name} {value}" for name, value in fault.items())
        self._recorder.record("FaultInjected", "run", by, message, {"fault": dict(fault)})

    def _fail(self, fault: Mapping[str, Any]) -> None:
        call = fault["fail"]
        if call == WRITE:
            self._api.refuse(fault)
        elif call == PROVISION:
            failures = self._volumes.provisioners.faults.failures
            failures[fault["claim"]] = failures.get(fault["claim"], 0) + fault.get("times", 1)
        else:
            probability = fault.get("probability", 0)
            for name in DRIVER_CALLS[call]:
                self._drivers.inject(
                    Fault(
                        call=name,
                        volume=fault.get("volume") or "",
                        node=fault.get("node") or "",
                        count=fault.get("times", _ALWAYS if probability else 1),
                        text=fault.get("text") or "injected fault",
                        probability=probability,
                        stream=self._stream if probability else None,
                    )
                )

    def _absent(self, fault: Mapping[str, Any]) -> None:
        """The driver has neither provisioner nor resizer."""
        drivers = self._volumes.provisioners.faults
        drivers.absent = (*drivers.absent, fault["absent"])
        self._no_resizer({"no_resizer": fault["absent"]})

    def _no_resizer(self, fault: Mapping[str, Any]) -> None:
        resizers = self._volumes.resizers
        resizers.absent = (*resizers.absent, fault["no_resizer"])

    def _full(self, fault: Mapping[str, Any]) -> None:
        drivers = self._volumes.provisioners.faults
        drivers.full_nodes = (*drivers.full_nodes, fault["full"])

    def _place(self, fault: Mapping[str, Any]) -> None:
        self._volumes.provisioners.faults.zones[fault["place"]] = fault["zone"]

    def _lag(self, fault: Mapping[str, Any]) -> None:
        try:
            self._api.lag(fault["lag"], parse_duration(fault.get("delay", 0)))
        except ValueError as wrong:
            raise Invalid(str(wrong)) from wrong

    def _vanish(self, fault: Mapping[str, Any]) -> None:
        """The object goes behind everybody's back: finalizers hold nothing up."""
        prefix, key = split_entity_id(fault["vanish"])
        for kind in self._store.kinds():
            if prefix in (kind, kind.lower()):
                found = self._store.get(kind, key)
                bare = found.with_metadata(finalizers=[], deletionGracePeriodSeconds=0)
                self._store.update(bare, by=COMPONENT, event=f"{kind}Stripped")
                self._store.delete(kind, key, by=COMPONENT)
                return
        raise NotFound(f"{fault['vanish']} not found")

    def _restart(self, fault: Mapping[str, Any]) -> None:
        """The kubelet of a node comes back with empty caches."""
        name = fault["restart"].removeprefix("node/")
        self._store.get("Node", name)
        kubelets = self._volumes.kubelets
        kubelets.stop_kubelet(name)
        kubelets.start_kubelet(name)

    def _refused(self, entity: str, by: str, text: str) -> None:
        message = f"a write of {by} was refused: {text}"
        self._recorder.record("WriteRefused", entity, COMPONENT, message)


_ACTIONS = {
    "fail": "_fail",
    "absent": "_absent",
    "no_resizer": "_no_resizer",
    "full": "_full",
    "place": "_place",
    "lag": "_lag",
    "vanish": "_vanish",
    "restart": "_restart",
}

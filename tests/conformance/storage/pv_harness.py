"""Upstream's test harness of the PV controller: a fake API server, a mock plugin, three runners.

Upstream: pkg/controller/volume/persistentvolume/framework_test.go and testing/testing.go.
"""

import re
from collections import deque
from contextlib import suppress
from typing import Any

from engine.controllers.persistent_volumes.context import ControllerContext
from engine.controllers.persistent_volumes.in_tree.plugin import (
    PluginError,
    ProvisionOptions,
    Recycler,
    provisioned_manifest,
)
from engine.controllers.persistent_volumes.in_tree.registry import PluginRegistry
from engine.controllers.persistent_volumes.pv_controller import PersistentVolumeController
from engine.kernel.errors import AlreadyExists, ApiError, Conflict, NotFound, SimError
from engine.kernel.loop import EventLoop
from engine.kernel.units import SECOND
from engine.objects.objects import (
    ApiObject,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
)
from engine.storage.migration import NO_MIGRATION, Migration
from engine.storage.operations.runner import Operation
from engine.storage.ports import WriteEvent
from engine.versions.registry import VERSIONS
from tests.conformance.vectors import Json, obj, pruned

CLAIMS, VOLUMES = "persistentvolumeclaims", "persistentvolumes"
SKIP_LOCAL_STORE = "pv-testing-skip-local-store"


class VersionError(Conflict):
    def __init__(self) -> None:
        super().__init__("VersionError")


class FakeApi:
    """Volumes and claims by name; update and status update both replace the whole object."""

    def __init__(self, injected: list[Json], trace: list[Json]) -> None:
        self.injected = [dict(error) for error in injected]
        self.trace = trace
        self.objects: dict[str, dict[str, Any]] = {VOLUMES: {}, CLAIMS: {}}
        self.changed: deque[ApiObject] = deque()
        self.changes = 0
        self.watch: Any = None

    def put(self, item: ApiObject) -> None:
        self.objects[_resource(item)][item.key] = item

    def get_volume(self, name: str) -> PersistentVolume:
        return self._get(VOLUMES, name)

    def get_claim(self, key: str) -> PersistentVolumeClaim:
        return self._get(CLAIMS, key)

    def create_volume(self, volume: PersistentVolume, record_as: WriteEvent) -> PersistentVolume:
        call = {"verb": "create", "resource": VOLUMES, "object": pruned(volume.raw)}
        self._inject(call)
        if volume.key in self.objects[VOLUMES]:
            self._fail(call, AlreadyExists(f'{VOLUMES} "{volume.name}" already exists'))
        # As upstream's fake, which gives a created volume no version.
        return self._stored(call, volume)

    def update_volume(self, volume: PersistentVolume, record_as: WriteEvent) -> PersistentVolume:
        return self._update(volume, "")

    def update_volume_status(
        self, volume: PersistentVolume, record_as: WriteEvent
    ) -> PersistentVolume:
        return self._update(volume, "status")

    def update_claim(
        self, claim: PersistentVolumeClaim, record_as: WriteEvent
    ) -> PersistentVolumeClaim:
        return self._update(claim, "")

    def update_claim_status(
        self, claim: PersistentVolumeClaim, record_as: WriteEvent
    ) -> PersistentVolumeClaim:
        return self._update(claim, "status")

    def delete_volume(self, name: str, record_as: WriteEvent) -> None:
        call = {"verb": "delete", "resource": VOLUMES, "name": name}
        self._inject(call)
        if name not in self.objects[VOLUMES]:
            self._fail(call, NotFound(f'{VOLUMES} "{name}" not found'))
        self._trace(call)
        gone = self.objects[VOLUMES].pop(name)
        self.changes += 1
        if self.watch:
            self.watch(gone, deleted=True)

    def _get(self, resource: str, key: str) -> Any:
        name = key.rpartition("/")[2]
        call = {"verb": "get", "resource": resource, "name": name}
        self._inject(call)
        if key not in self.objects[resource]:
            self._fail(call, NotFound(f'{resource} "{name}" not found'))
        self._trace(call)
        return self.objects[resource][key]

    def _update(self, item: Any, subresource: str) -> Any:
        resource = _resource(item)
        call = {"verb": "update", "resource": resource, "object": pruned(item.raw)}
        if subresource:
            call["subresource"] = subresource
        self._inject(call)
        old = self.objects[resource].get(item.key)
        if old is None:
            self._fail(call, NotFound(f'{resource} "{item.name}" not found'))
        if old.resource_version != item.resource_version:
            self._fail(call, VersionError())
        version = str(int(old.resource_version or 0) + 1)
        return self._stored(call, item.patched({"metadata": {"resourceVersion": version}}))

    def _stored(self, call: Json, item: Any) -> Any:
        self._trace(call)
        self.put(item)
        self.changed.append(item)
        self.changes += 1
        if self.watch:
            self.watch(item)
        return item

    def _inject(self, call: Json) -> None:
        for place, error in enumerate(self.injected):
            verb, resource = error.get("verb", "*"), error.get("resource", "*")
            same_subresource = error.get("subresource", "*") in ("*", call.get("subresource", ""))
            if (
                verb in ("*", call["verb"])
                and resource in ("*", call["resource"])
                and ("subresource" not in error or same_subresource)
            ):
                del self.injected[place]
                text = error["error"]
                made = AlreadyExists(text) if text.endswith("already exists") else ApiError(text)
                self._fail(call, made)

    def _fail(self, call: Json, error: ApiError) -> None:
        self._trace({**call, "error": str(error)})
        raise error

    def _trace(self, call: Json) -> None:
        self.trace.append({"step": "api", **call})


def _resource(item: ApiObject) -> str:
    return VOLUMES if item.kind == "PersistentVolume" else CLAIMS


class FakeListers:
    """Informer caches that hold what the test put there."""

    def __init__(self, case: Json, classes: list[Json], pods: list[Json]) -> None:
        self.classes = {raw["metadata"]["name"]: obj(StorageClass, raw) for raw in classes}
        self.pods = [obj(Pod, raw) for raw in pods]
        self.nodes: dict[str, Node] = {}
        self.known: dict[str, dict[str, Any]] = {VOLUMES: {}, CLAIMS: {}}

    def volume(self, name: str) -> PersistentVolume | None:
        return self.known[VOLUMES].get(name)

    def claim(self, key: str) -> PersistentVolumeClaim | None:
        return self.known[CLAIMS].get(key)

    def volumes(self) -> list[PersistentVolume]:
        return [*self.known[VOLUMES].values()]

    def claims(self) -> list[PersistentVolumeClaim]:
        return [*self.known[CLAIMS].values()]

    def storage_class(self, name: str) -> StorageClass | None:
        return self.classes.get(name)

    def storage_classes(self) -> list[StorageClass]:
        return [*self.classes.values()]

    def node(self, name: str) -> Node | None:
        return self.nodes.get(name)

    def pods_of_claim(self, key: str) -> list[Pod]:
        return sorted(
            (p for p in self.pods if key in {f"{p.namespace}/{name}" for name in p.claim_names}),
            key=lambda pod: pod.name,
        )


class FakeEvents:
    def __init__(self, trace: list[Json]) -> None:
        self.trace = trace
        self.texts: list[str] = []

    def event(
        self,
        obj: ApiObject,
        type: str,
        reason: str,
        message: str,
        retry_at: int | None = None,
        missed: int = 0,
    ) -> None:
        self.texts.append(f"{type} {reason} {message}")
        self.trace.append(
            {
                "step": "event",
                "object": f"{obj.kind.lower()}/{obj.key}",
                "type": type,
                "reason": reason,
                "message": message,
            }
        )


class ListQueue:
    def __init__(self) -> None:
        self.keys: list[str] = []

    def add(self, key: str) -> None:
        self.keys.append(key)

    def forget(self, key: str) -> None:
        pass


class EveryPluginMigrated:
    def __init__(self, driver: str) -> None:
        self.driver = driver

    def is_enabled(self, plugin: str) -> bool:
        return True

    def driver_of(self, plugin: str) -> str | None:
        return self.driver


class MockPlugin:
    """Upstream's mockVolumePlugin: hands out its results in order."""

    supports_mount_options = False
    can = frozenset({"provision", "delete", "recycle"})

    def __init__(self, spec: Json, trace: list[Json]) -> None:
        self.name = spec.get("name") or "kubernetes.io/mock-volume"
        self.trace = trace
        self.provisions: list[Json] = list(spec.get("provisionCalls") or ())
        self.deletes: list[str | None] = list(spec.get("deleteResults") or ())
        self.recycles: list[str | None] = list(spec.get("recycleResults") or ())
        self.has = {
            "provision": bool(self.provisions),
            "delete": bool(self.deletes),
            "recycle": bool(self.recycles),
        }
        self.calls = {"provision": 0, "delete": 0, "recycle": 0}

    def supports(self, volume: PersistentVolume) -> bool:
        return True

    def check_provision(self, options: ProvisionOptions) -> None:
        if not self.has["provision"]:
            raise PluginError("Mock plugin error: no provisionCalls configured")

    def provision_delay(self, options: ProvisionOptions) -> int:
        return 0

    def provision(
        self, options: ProvisionOptions, node: Node | None, topologies: list[Json]
    ) -> Json:
        if not self.provisions:
            raise PluginError(
                f"Mock plugin error: unexpected provisioner call {self._count('provision')}"
            )
        call = self.provisions.pop(0)
        self.calls["provision"] += 1
        step: Json = {
            "step": "pluginProvision",
            "pvName": options.volume_name,
            "parameters": dict(options.parameters),
        }
        if dict(options.parameters) != (call.get("expectedParameters") or {}):
            self.trace.append({**step, "error": "Mock plugin error: invalid provisioner call"})
            raise PluginError("Mock plugin error: invalid provisioner call")
        if call.get("error"):
            self.trace.append({**step, "error": call["error"]})
            raise PluginError(call["error"])
        made = provisioned_manifest(options, {"gcePersistentDisk": {"pdName": ""}})
        made["status"] = {"phase": "Available"}
        self.trace.append({**step, "error": None, "result": pruned(made)})
        return made

    def check_delete(self, volume: PersistentVolume) -> None:
        if not self.has["delete"]:
            raise PluginError("Mock plugin error: no deleteCalls configured")

    def delete_delay(self, volume: PersistentVolume) -> int:
        return 0

    def delete(self, volume: PersistentVolume) -> None:
        self._result("delete", self.deletes, {"step": "pluginDelete"})

    def recycler(self, volume: PersistentVolume) -> Recycler:
        if not self.has["recycle"]:
            raise PluginError("Mock plugin error: no recycleCalls configured")
        self._result("recycle", self.recycles, {"step": "pluginRecycle", "pvName": volume.name})
        return InstantRecycler()

    def _count(self, kind: str) -> int:
        self.calls[kind] += 1
        return self.calls[kind]

    def _result(self, kind: str, results: list[str | None], step: Json) -> None:
        if not results:
            raise PluginError(f"Mock plugin error: unexpected {kind} call {self._count(kind)}")
        self.calls[kind] += 1
        error = results.pop(0)
        self.trace.append({**step, "error": error})
        if error:
            raise PluginError(error)


class InstantRecycler:
    """Scrubs at once."""

    def step(self) -> tuple[int | None, list[tuple[str, str]]]:
        """See Recycler."""
        return None, []


class Harness:
    def __init__(self, case: Json, classes: list[Json], pods: list[Json], *, running: bool) -> None:
        self.case = case
        self.trace: list[Json] = []
        self.loop = EventLoop()
        self.api = FakeApi(case.get("injectedApiErrors") or [], self.trace)
        self.listers = FakeListers(case, classes, pods)
        self.events = FakeEvents(self.trace)
        act = case["act"]
        plugins = [MockPlugin(act["plugin"], self.trace)] if act.get("plugin") else []
        migration: Migration = NO_MIGRATION
        if act.get("csiMigration"):
            migration = EveryPluginMigrated(act["csiMigration"]["csiDriver"])
        self.context = ControllerContext(
            loop=self.loop,
            api=self.api,
            listers=self.listers,
            events=self.events,
            plugins=PluginRegistry(list(plugins)),
            migration=migration,
            rules=VERSIONS["v1.20"].controller,
            dynamic_provisioning=case.get("dynamicProvisioningEnabled", True),
        )
        self.controller = PersistentVolumeController(
            self.context,
            claim_queue=None if running else ListQueue(),
            volume_queue=None if running else ListQueue(),
        )
        self.caches = self.controller.caches
        self._schedule = self.controller.operations.schedule_operation
        self.controller.operations.schedule_operation = self.schedule_operation
        self._before_operation: list[Json] = []
        for raw in case["initialClaims"] or ():
            self._add(obj(PersistentVolumeClaim, raw), running)
        for raw in case["initialVolumes"] or ():
            self._add(obj(PersistentVolume, raw), running)
        before = act.get("injectBeforeEachScheduledOperation")
        if before:
            self._before_operation = before["steps"]

    def schedule_operation(self, name: str, operation: Operation) -> None:
        """Trace that an operation is scheduled, and change what the case wants just before it runs."""
        self.trace.append({"step": "scheduleOperation", "operation": name})
        if self._before_operation:
            self.trace.append({"step": "injectBeforeOperation", "operation": name})
            for step in self._before_operation:
                self.interfere(step)
        self._schedule(name, operation)

    def _add(self, item: Any, running: bool) -> None:
        self.api.put(item)
        if SKIP_LOCAL_STORE in item.annotations:
            return
        if running:
            self.listers.known[_resource(item)][item.key] = item
        elif isinstance(item, PersistentVolume):
            self.caches.volumes.put(item)
        else:
            self.caches.claims[item.key] = item

    # What a test does before an operation runs, told in words

    def interfere(self, step: Json) -> None:
        text = step["do"]
        volumes, claims = self.api.objects[VOLUMES], self.api.objects[CLAIMS]
        if "visible to the controller node lister" in text:
            for name in re.findall(r'"([^"]+)"', text):
                self.listers.nodes[name] = obj(Node, {"metadata": {"name": name}})
        elif text.startswith("delete PV from API only"):
            volumes.pop(step["name"], None)
        elif text.startswith("delete PVC from API only"):
            claims.pop(next(key for key in claims if key.endswith("/" + step["name"])), None)
        elif found := re.match(r"in API only: (\S+) loses claimRef and all annotations", text):
            raw = volumes[found[1]].raw
            spec = {k: v for k, v in raw["spec"].items() if k != "claimRef"}
            metadata = {k: v for k, v in raw["metadata"].items() if k != "annotations"}
            status = {"phase": re.findall(r"phase becomes (\w+)", text)[0]}
            self.api.put(
                PersistentVolume({**raw, "metadata": metadata, "spec": spec, "status": status})
            )
        elif found := re.match(
            r"add PVC (\S+) \((\S+), bound to (\S+), phase (\w+), (\w+)\)", text
        ):
            self._add_bound_claim(*found.groups())
            if "phase of the API copy" in text:
                volume, phase = re.findall(r"API copy of (\S+) to (\w+)", text)[0]
                self.api.put(volumes[volume].patched({"status": {"phase": phase}}))
        elif found := re.match(r"add PV (\S+) \(", text):
            self._add_volume(found[1], bound="bound to" in text)
        elif found := re.match(
            r"if an operation start timestamp exists for (\S+) .*: add PV (\S+) \((.*)\) to controller"
            r" cache and API",
            text,
        ):
            if found[1] in self.caches.operation_starts:
                volume = self._add_volume(found[2], bound="phase Bound" in found[3])
                self.caches.volumes.put(volume)
        else:
            raise AssertionError(f"unknown interference: {text}")

    def _add_bound_claim(self, name: str, uid: str, volume: str, phase: str, size: str) -> None:
        modes = ["ReadWriteOnce", "ReadOnlyMany"]
        claim = obj(
            PersistentVolumeClaim,
            {
                "metadata": {
                    "name": name,
                    "namespace": "default",
                    "uid": uid,
                    "resourceVersion": "1",
                    "selfLink": f"/api/v1/namespaces/default/persistentvolumeclaims/{name}",
                },
                "spec": {
                    "accessModes": modes,
                    "resources": {"requests": {"storage": size}},
                    "volumeName": volume,
                    "volumeMode": "Filesystem",
                },
                "status": {"phase": phase, "accessModes": modes, "capacity": {"storage": size}},
            },
        )
        self.api.put(claim)
        self.caches.claims[claim.key] = claim

    def _add_volume(self, name: str, *, bound: bool) -> PersistentVolume:
        """A volume that someone else has made meanwhile: as it is expected to be in the end."""
        expected = next(v for v in self.case["expectedVolumes"] if v["metadata"]["name"] == name)
        volume = obj(PersistentVolume, expected).patched({"metadata": {"resourceVersion": "1"}})
        if not bound:
            free = {"spec": {"claimRef": None}, "metadata": {"annotations": None}}
            volume = volume.patched(free).patched({"status": {"phase": "Available"}})
        self.api.put(volume)
        return volume

    # Runners

    def settle(self, seconds: int = 100) -> None:
        """Run operations to their end. Nothing but the controller's own resync goes on for ever."""
        self.loop.run(self.loop.now + seconds * SECOND)

    def act(self) -> str | None:
        call = self.case["act"]["call"]
        if call == "custom":
            raise AssertionError("a custom act needs the running runner")
        try:
            if call == "syncClaim":
                self.sync(self.caches.claims[self._first("initialClaims")], None)
            else:
                volume = self.caches.volumes.get(self._first("initialVolumes"))
                assert volume is not None
                self.sync(volume, None)
        except SimError as error:
            if not self.case["act"].get("mustReturnError"):
                return str(error)
            # Upstream's wrapper of the call swallows the error that it asked for.
            self.trace.append({"step": f"{call}Returned", "error": str(error)})
        return None

    def _first(self, which: str) -> str:
        metadata = self.case[which][0]["metadata"]
        namespace = metadata.get("namespace")
        return f"{namespace}/{metadata['name']}" if namespace else metadata["name"]

    def sync(self, item: ApiObject, version: str | None) -> None:
        call = "syncClaim" if item.kind == "PersistentVolumeClaim" else "syncVolume"
        step = {"step": call, "name": item.name}
        self.trace.append(step if version is None else {**step, "resourceVersion": version})
        if isinstance(item, PersistentVolumeClaim):
            self.controller.sync_claim(item)
        else:
            assert isinstance(item, PersistentVolume)
            self.controller.sync_volume(item)

    def run_sync(self) -> str | None:
        error = self.act()
        self.settle()
        return error

    def run_multisync(self) -> str | None:
        error = self.act()
        first_sync = True
        for _ in range(200):
            self.settle()
            if self.api.changed:
                changed = self.api.changed.popleft()
                if isinstance(changed, PersistentVolume):
                    self.caches.volumes.put(changed)
                elif isinstance(changed, PersistentVolumeClaim):
                    self.caches.claims[changed.key] = changed
                with suppress(VersionError):
                    self.sync(changed, changed.resource_version)
            elif first_sync or self.api.changes:
                first_sync = False
                self.trace.append({"step": "periodicSyncOfAll"})
                self.api.changed.extend(self.api.objects[CLAIMS].values())
                self.api.changed.extend(self.api.objects[VOLUMES].values())
                self.api.changes = 0
            else:
                return error
        raise AssertionError("200 rounds and still changes")

    # A running controller, fed by watch events

    def run_running(self) -> None:
        self.api.watch = self.watched
        self.controller.start()
        for claim in self.listers.claims():
            self.controller.claim_queue.add(claim.key)
        for volume in self.listers.volumes():
            self.controller.volume_queue.add(volume.key)
        self.settle(1)
        for clause in re.split(r"; |, then ", self.case["act"]["description"]):
            self.perform(clause)
            self.settle(1)
        self.settle(1)

    def watched(self, item: Any, deleted: bool = False) -> None:
        self.loop.call_after(0, self._deliver, item, deleted)

    def _deliver(self, item: ApiObject, deleted: bool) -> None:
        known = self.listers.known[_resource(item)]
        if deleted:
            known.pop(item.key, None)
        else:
            known[item.key] = item
        if item.kind == "PersistentVolume":
            self.controller.volume_queue.add(item.key)
        else:
            self.controller.claim_queue.add(item.key)

    def perform(self, clause: str) -> None:
        starts = self.caches.operation_starts
        if found := re.search(
            r'deliver an "added" event for a new Pending PVC (\S+) \((\S+), (\w+), no class', clause
        ):
            name, uid, size = found.groups()
            claim = obj(
                PersistentVolumeClaim,
                {
                    "metadata": {
                        "name": name,
                        "namespace": "default",
                        "uid": uid,
                        "resourceVersion": "1",
                        "selfLink": f"/api/v1/namespaces/default/persistentvolumeclaims/{name}",
                    },
                    "spec": {
                        "accessModes": ["ReadWriteOnce", "ReadOnlyMany"],
                        "resources": {"requests": {"storage": size}},
                        "volumeMode": "Filesystem",
                    },
                    "status": {"phase": "Pending"},
                },
            )
            self.api.put(claim)
            self.watched(claim)
        elif "nothing" in clause:
            pass
        elif re.search(r"delete the PVC\b", clause):
            self._delete(CLAIMS)
        elif re.search(r"delete the PV\b", clause):
            self._delete(VOLUMES)
        elif "claim cache is empty" in clause:
            assert not self.caches.claims
        elif found := re.search(r"operation-timestamp cache must not hold (\S+)", clause):
            assert found[1] not in starts
        elif found := re.search(r"operation-timestamp cache holds (?:key )?(\S+)", clause):
            key = found[1].strip(",.")
            known = {*self.api.objects[VOLUMES], *self.api.objects[CLAIMS]}
            assert key in starts or key not in known, starts
        elif "key must be gone" in clause:
            assert not starts
        elif "wait" not in clause:
            raise AssertionError(f"unknown act: {clause}")

    def _delete(self, resource: str) -> None:
        key = next(iter(self.api.objects[resource]))
        self.watched(self.api.objects[resource].pop(key), deleted=True)

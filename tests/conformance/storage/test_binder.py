"""The scheduler's volume binding against upstream's scheduler_binder_test.go.

Which volumes a pod gets is decided by the VolumeBinding plugin; what was decided is assumed, written
and checked by the binder. Both are driven here as a run drives them.
"""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.framework import names
from engine.framework.framework import Code, CycleState
from engine.framework.handle import Handle
from engine.framework.pods.pod_info import PodInfo
from engine.framework.wording import WORDING_1_20
from engine.kernel.errors import SimError
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
from engine.objects.phases import BIND_COMPLETED, SELECTED_NODE, YES
from engine.plugins.volume_binding.plugin import VolumeBinding
from engine.scheduler.configuration.profiles import PROFILES
from engine.storage.binding.assume_cache import ClaimAssumeCache, VolumeAssumeCache
from engine.storage.binding.binder import Binding, PodVolumes, VolumeBinder
from engine.storage.binding.pod_binding import PodBinding
from engine.storage.migration import NO_MIGRATION, MigrationGates
from engine.versions.registry import VERSIONS
from tests.conformance.storage.pv_harness import CLAIMS, VOLUMES, FakeApi
from tests.conformance.vectors import Json, obj, parametrised, pruned, upstream, without_versions

FILE = upstream("scheduling_scheduler_binder_test.json")
GCE_MIGRATED = MigrationGates(frozenset({"CSIMigrationGCE"}))
# With the whole plugin a claim that does not exist is refused in PreFilter, before the binder asks.
NOT_FOUND = {
    'error getting PVC "testns/bound-pvc": could not find v1.PersistentVolumeClaim '
    '"testns/bound-pvc"': 'persistentvolumeclaim "bound-pvc" not found'
}
# Case → why it does not agree; see docs/conformance.md.
DIFFERENT = {
    "TestCheckBindings-provisioning-pvc-selected-node-dropped": (
        "the case has an empty map of annotations, which the API server never returns"
    )
}


class Listers:
    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, Pod] = {}
        self.csi_nodes: dict[str, ApiObject] = {}

    def node(self, name: str) -> Node | None:
        return self.nodes.get(name)

    def pod(self, key: str) -> Pod | None:
        return self.pods.get(key)

    def csi_node(self, name: str) -> ApiObject | None:
        return self.csi_nodes.get(name)


class Env:
    """Upstream's testEnv: caches, API server and listers of one case."""

    def __init__(self, case: Json) -> None:
        self.case = case
        self.trace: list[Json] = []
        self.api = FakeApi([], self.trace)
        self.listers = Listers()
        self.volumes, self.claims = VolumeAssumeCache(), ClaimAssumeCache()
        self.is_migrated = case.get("migrationEnabled", True)
        migration = GCE_MIGRATED if self.is_migrated else NO_MIGRATION
        self.binder = VolumeBinder(
            self.volumes,
            self.claims,
            self.listers,
            self.api,
            rules=VERSIONS["v1.20"].binder,
            migration=migration,
        )
        self.pod = obj(
            Pod, case.get("pod") or {"metadata": {"name": "test-pod", "namespace": "testns"}}
        )
        self.listers.pods[self.pod.key] = self.pod
        for raw in case.get("nodes") or case.get("initNodes") or ():
            self.listers.nodes[raw["metadata"]["name"]] = obj(Node, raw)
        for raw in case.get("initCSINodes") or ():
            self.listers.csi_nodes[raw["metadata"]["name"]] = obj(
                ApiObject, {"kind": "CSINode", **raw}
            )

    def init_volumes(self, cached: Any, api: Any) -> None:
        for raw in cached or ():
            self.volumes.add(obj(PersistentVolume, raw))
        for raw in api or ():
            self.api.put(obj(PersistentVolume, raw))

    def init_claims(self, cached: Any, api: Any) -> None:
        for raw in cached or ():
            self.claims.add(obj(PersistentVolumeClaim, raw))
        for raw in api or ():
            self.api.put(obj(PersistentVolumeClaim, raw))

    def decided(self, bindings: Any, provisions: Any) -> PodVolumes:
        return PodVolumes(
            None if bindings is None else [self.binding(raw) for raw in bindings],
            None if provisions is None else [obj(PersistentVolumeClaim, raw) for raw in provisions],
        )

    def binding(self, raw: Json) -> Binding:
        volume = obj(PersistentVolume, raw["pv"])
        return Binding(volume, obj(PersistentVolumeClaim, raw["pvc"]))

    def assume(self, volumes: PodVolumes) -> None:
        """As upstream's assumeVolumes: put into the caches what is assumed already."""
        for binding in volumes.static_bindings or ():
            self.volumes.assume(binding.volume)
        for claim in volumes.dynamic_provisions or ():
            self.claims.assume(claim)


def group(*names: str) -> list[Any]:
    if FILE is None:
        return parametrised(None)
    params = parametrised(
        (f"{name}-{case['name']}", case) for name in names for case in FILE["groups"].get(name, ())
    )
    return [
        pytest.param(*each.values, id=each.id, marks=pytest.mark.xfail(reason=why, strict=True))
        if (why := DIFFERENT.get(each.id))
        else each
        for each in params
    ]


def attempt(call: Callable[..., Any], *args: Any) -> tuple[Any, str | None]:
    """What *call* returns, and why it failed."""
    try:
        return call(*args), None
    except SimError as error:
        return None, str(error)


def raws(objects: Any) -> list[Json]:
    return sorted((pruned(each.raw) for each in objects), key=_name)


def expected(manifests: Any) -> list[Json]:
    return sorted((pruned(each) for each in manifests or ()), key=_name)


def _name(raw: Json) -> str:
    return raw["metadata"]["name"]


def pairs(bindings: Any) -> list[tuple[Json, Json]]:
    return [(pruned(each.volume.raw), pruned(each.claim.raw)) for each in bindings or ()]


def expected_pairs(bindings: Any) -> list[tuple[Json, Json]]:
    return [(pruned(each["pv"]), pruned(each["pvc"])) for each in bindings or ()]


FIND = (
    "TestFindPodVolumesWithoutProvisioning",
    "TestFindPodVolumesWithProvisioning",
    "TestFindPodVolumesWithCSIMigration",
)


class Search:
    """One attempt of the VolumeBinding plugin, as v1.20 configures it, on one node."""

    def __init__(self, env: Env, node: Node, driver: Json | None) -> None:
        self.handle = handle = Handle()
        handle.listers.adopt(env.volumes.latest, env.volumes.index, env.claims.latest)
        for raw in FILE["storageClasses"]:
            handle.listers.put(obj(StorageClass, raw))
        for csi_node in env.listers.csi_nodes.values():
            handle.listers.put(csi_node)
        if driver is not None:
            handle.listers.put(obj(ApiObject, {"kind": "CSIDriver", **driver}))
        handle.table.add_node(node)
        self.row = handle.table.rows[node.name]
        arguments = PROFILES["v1.20"].arguments[names.VOLUME_BINDING]
        self.plugin = VolumeBinding({**arguments, "translates": env.is_migrated}, handle)
        info = PodInfo(env.pod, VERSIONS["v1.20"].resources)
        self.state = CycleState(info, handle.templates.of(info))

    def run(self) -> tuple[str | None, list[str]]:
        """Why the pod is refused before any node is looked at, and why the node is refused."""
        status = self.plugin.pre_filter(self.state).status
        if status.code is Code.SKIP:
            return None, []
        if status.code is not Code.SUCCESS:
            return status.reasons[0], []
        code = int(self.plugin.filter(self.state, np.array([self.row]))[0])
        if not code:
            return None, []
        detail = self.plugin.detail(self.state, self.row, code)
        assert detail.text, "a refusal without an explanation"
        return None, [*WORDING_1_20.of(self.plugin.explain(self.state, code)).reasons]

    def bound_pairs(self) -> list[tuple[PersistentVolume, PersistentVolumeClaim]]:
        """The volume and the claim of each binding, in the order in which they were found."""
        plan, listers = self.plugin.plan(self.state, self.row), self.handle.listers
        found = [(listers.volume(volume), listers.claim(key)) for key, volume in plan.bind.items()]
        return [(volume, claim) for volume, claim in found if volume is not None and claim]

    def bindings(self) -> list[tuple[Json, Json]]:
        """The manifests of `bound_pairs`."""
        return [(pruned(volume.raw), pruned(claim.raw)) for volume, claim in self.bound_pairs()]

    def provisions(self) -> list[Json]:
        """The claims to provision."""
        plan, listers = self.plugin.plan(self.state, self.row), self.handle.listers
        claims = [listers.claim(key) for key in plan.provision]
        return raws(claim for claim in claims if claim is not None)


@pytest.mark.parametrize("case", group(*FIND))
def test_volumes_of_a_pod_are_found(case: Json) -> None:
    for variant in case.get("capacityVariants") or [{}]:
        check_find(case, variant)


def check_find(case: Json, variant: Json) -> None:
    env = Env(case)
    env.init_volumes(case.get("pvs"), case.get("pvs"))
    env.init_claims(case.get("cachePVCs"), case.get("podPVCs"))
    # Without the feature gate the scheduler does not watch CSIDrivers.
    driver = variant.get("csiDriver") if variant.get("csiStorageCapacityFeature") else None
    search = Search(env, obj(Node, case["node"]), driver)
    error, reasons = search.run()
    wanted = case["actual"]["error"]
    assert (error is not None) == case["shouldFail"]
    assert error == NOT_FOUND.get(wanted, wanted)
    if error is not None:
        return
    reasons_expected = case.get("expectedReasonsEffective", case["reasons"])
    assert sorted(reasons) == sorted(reasons_expected or [])
    assert sorted(reasons) == sorted(case["actual"]["reasons"] or [])
    if reasons:
        # What was found before the refusal is not kept: nothing is decided for such a node.
        return
    actual = case["actual"].get("podVolumes")
    if actual is not None:
        assert search.bindings() == expected_pairs(actual["StaticBindings"])
        assert search.provisions() == expected(actual["DynamicProvisions"])
    if "expectedBindings" in case:
        assert search.bindings() == expected_pairs(case["expectedBindings"])
    if "expectedProvisionsEffective" in case:
        assert search.provisions() == expected(case["expectedProvisionsEffective"])


@pytest.mark.parametrize("case", group("TestCapacity"))
def test_published_capacity_decides_as_upstream(case: Json) -> None:
    env = Env(case)
    env.init_claims(case["pvcs"], case["pvcs"])
    driver = case["csiDriver"] if case["csiStorageCapacityFeature"] else None
    search = Search(env, obj(Node, case["node"]), driver)
    for place, raw in enumerate(case["capacities"] or ()):
        # All of a case have one name; the API server would keep only the last.
        metadata = {**raw["metadata"], "name": f"{raw['metadata']['name']}-{place}"}
        renamed = {**raw, "kind": "CSIStorageCapacity", "metadata": metadata}
        search.handle.listers.put(obj(ApiObject, renamed))
    error, reasons = search.run()
    assert error == case["actual"]["error"]
    assert reasons == (case["actual"]["reasons"] or [])
    if not reasons:
        actual = case["actual"]["podVolumes"]
        assert search.bindings() == expected_pairs(actual["StaticBindings"])
        assert search.provisions() == expected(actual["DynamicProvisions"])


@pytest.mark.parametrize("case", group("TestFindAssumeVolumes"))
def test_an_assumed_volume_is_found_again(case: Json) -> None:
    env = Env(case)
    env.init_volumes(case["pvs"], case["pvs"])
    env.init_claims(case["podPVCs"], case["podPVCs"])
    node = obj(Node, case["node"])
    first = Search(env, node, None)
    assert first.run() == (None, [])
    found = [Binding(volume, claim) for volume, claim in first.bound_pairs()]
    volumes = PodVolumes(found, [])
    env.binder.assume_pod_volumes(env.pod, node.name, volumes)
    assumed = case["actual"]["bindingsAfterAssume"]
    check_assumed(env, volumes, assumed["StaticBindings"], assumed["DynamicProvisions"])
    again = Search(env, node, None)
    assert again.run() == (None, [])
    assert again.bindings() == expected_pairs(assumed["StaticBindings"])


def assume_env(case: Json) -> tuple[Env, PodVolumes]:
    env = Env(case)
    claims = [each["pvc"] for each in case["bindings"] or ()] + (case["provisionedPVCs"] or [])
    env.init_claims(case.get("podPVCs") or claims, case.get("podPVCs") or claims)
    env.init_volumes(case["pvs"], case["pvs"])
    return env, env.decided(case["bindings"] or [], case["provisionedPVCs"] or [])


@pytest.mark.parametrize("case", group("TestAssumePodVolumes"))
def test_volumes_of_a_pod_are_assumed(case: Json) -> None:
    env, volumes = assume_env(case)
    if case["shouldFail"]:
        for raw in case["actual"]["apiClaims"]:
            env.claims.add(obj(PersistentVolumeClaim, raw))
        for raw in case["actual"]["apiVolumes"]:
            env.volumes.add(obj(PersistentVolume, raw))
    node = case.get("nodeName") or "node1"
    all_bound, error = attempt(env.binder.assume_pod_volumes, env.pod, node, volumes)
    assert (error is not None) == case["shouldFail"]
    if error is not None:
        check_caches_hold_what_the_api_has(env)
        return
    assert all_bound == case["expectedAllBound"]
    check_assumed(env, volumes, case["expectedBindings"], case["expectedProvisionings"])


def check_assumed(env: Env, volumes: PodVolumes, bindings: Any, provisions: Any) -> None:
    assert pairs(volumes.static_bindings) == expected_pairs(bindings)
    assert raws(volumes.dynamic_provisions) == expected(provisions)
    for binding in volumes.static_bindings or ():
        assert env.volumes.get(binding.volume.name).raw == binding.volume.raw
    for claim in volumes.dynamic_provisions or ():
        assert env.claims.get(claim.key).raw == claim.raw


def check_caches_hold_what_the_api_has(env: Env) -> None:
    for cache in (env.volumes, env.claims):
        for key, latest in cache.latest.items():
            assert latest is cache.get_api(key)


@pytest.mark.parametrize("case", group("TestRevertAssumedPodVolumes"))
def test_revert_assumed_pod_volumes(case: Json) -> None:
    env, volumes = assume_env(case)
    assert not env.binder.assume_pod_volumes(env.pod, "node1", volumes)
    after = case["expectedBindingsAfterAssume"], case["expectedProvisioningsAfterAssume"]
    check_assumed(env, volumes, *after)
    env.binder.revert_assumed_pod_volumes(volumes)
    check_caches_hold_what_the_api_has(env)


@pytest.mark.parametrize("case", group("TestBindAPIUpdate"))
def test_bindings_are_written_as_upstream(case: Json) -> None:
    env = Env(case)
    api_volumes = case["cachedPVs"] if case["apiPVs"] is None else case["apiPVs"]
    api_claims = case["cachedPVCs"] if case["apiPVCs"] is None else case["apiPVCs"]
    env.init_volumes(case["cachedPVs"], api_volumes)
    env.init_claims(case["cachedPVCs"], api_claims)
    volumes = env.decided(case["bindings"], case["provisionedPVCs"])
    env.assume(volumes)
    _, error = attempt(env.binder.bind_api_update, env.pod, volumes)
    assert (error is not None) == case["shouldFail"]
    # Upstream's test calls it with the bare name, BindPodVolumes() with namespace and name.
    named = error and error.replace(f'pod "{env.pod.key}"', f'pod "{env.pod.name}"')
    assert named == case["actual"]["error"]
    final = [
        (raws(env.volumes.latest.values()), "expectedPVs"),
        (raws(env.claims.latest.values()), "expectedPVCs"),
        (raws(env.api.objects[VOLUMES].values()), "expectedAPIPVs"),
        (raws(env.api.objects[CLAIMS].values()), "expectedAPIPVCs"),
    ]
    for found, which in final:
        wanted = case[which]
        if wanted is None and which == "expectedAPIPVs":
            wanted = case["expectedPVs"]
        if wanted is None and which == "expectedAPIPVCs":
            wanted = case["expectedPVCs"]
        assert [without_versions(r) for r in found] == [
            without_versions(r) for r in expected(wanted)
        ], which
    calls = [pruned({**s, "error": s.get("error")}) for s in case["actual"].get("apiTrace") or ()]
    assert [pruned({**s, "error": s.get("error")}) for s in env.trace] == calls


CHECK = ("TestCheckBindings", "TestCheckBindingsWithCSIMigration")


@pytest.mark.parametrize("case", group(*CHECK))
def test_bindings_are_checked_as_upstream(case: Json) -> None:
    env = Env(case)
    env.init_volumes(case["initPVs"], case["initPVs"])
    env.init_claims(case["initPVCs"], case["initPVCs"])
    volumes = env.decided(case["bindings"], case["provisionedPVCs"])
    env.assume(volumes)
    for raw in case.get("apiPVs") or ():
        env.volumes.add(_updated(obj(PersistentVolume, raw)))
    for raw in case.get("apiPVCs") or ():
        env.claims.add(_updated(obj(PersistentVolumeClaim, raw)))
    if case.get("deletePVs"):
        for raw in case["initPVs"]:
            env.volumes.delete(obj(PersistentVolume, raw))
    if case.get("deletePVCs"):
        for raw in case["initPVCs"]:
            env.claims.delete(obj(PersistentVolumeClaim, raw))
    bound, error = attempt(env.binder.check_bindings, env.pod, env.pod.node_name, volumes)
    assert (error is not None) == case["shouldFail"]
    assert error == case["actual"]["error"]
    if error is None:
        assert bound == case["expectedBound"]


def _updated(item: Any) -> Any:
    """The object as it comes back from an update through the API: one version on."""
    version = int(item.resource_version or 0) + 1
    return item.patched({"metadata": {"resourceVersion": str(version)}})


class Waiter:
    """Feeds the caches from the fake API and keeps how the binding ended."""

    def __init__(self, env: Env) -> None:
        self.env = env
        self.ended: list[str | None] = []

    def done(self, error: str | None) -> None:
        self.ended.append(error)

    def watched(self, item: ApiObject, deleted: bool = False) -> None:
        if isinstance(item, PersistentVolume):
            self.env.volumes.add(item)
        elif isinstance(item, PersistentVolumeClaim):
            self.env.claims.add(item)

    def act(self, text: str) -> None:
        """Do the delayed action, which the case gives in words."""
        env = self.env
        claim: PersistentVolumeClaim = next(iter(env.api.objects[CLAIMS].values()), None)
        if "pod is deleted" in text:
            env.listers.pods.clear()
            return
        if re.search(r"delete the PVC|PVC is deleted", text):
            env.claims.delete(claim)
            return
        if "selected-node" in text and "remove" in text:
            self._update(claim, {"metadata": {"annotations": {SELECTED_NODE: None}}})
            return
        name = ""
        if found := re.search(r'create PV "([^"]+)"', text):
            name = found[1]
            self._create_volume(name, claim)
        elif found := re.search(r"spec.volumeName=([^\s,;]+)", text):
            name = found[1]
        elif "spec.volumeName" in text:
            name = next(iter(env.api.objects[VOLUMES]))
        assert name, f"unknown action: {text}"
        self._update(
            claim,
            {
                "metadata": {"annotations": {BIND_COMPLETED: YES}},
                "spec": {"volumeName": name},
            },
        )

    def _create_volume(self, name: str, claim: PersistentVolumeClaim) -> None:
        term = {"matchExpressions": [{"key": "nodeKey", "operator": "In", "values": ["node1"]}]}
        made = obj(
            PersistentVolume,
            {
                "metadata": {"name": name, "resourceVersion": "1"},
                "spec": {
                    "capacity": {"storage": "1G"},
                    "storageClassName": "waitClass",
                    "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
                    "claimRef": {
                        "name": claim.name,
                        "namespace": claim.namespace,
                        "uid": claim.uid,
                    },
                },
            },
        )
        self.env.api.put(made)
        self.watched(made)

    def _update(self, claim: PersistentVolumeClaim, patch: Json) -> None:
        newest: PersistentVolumeClaim = self.env.api.objects[CLAIMS][claim.key]
        version = str(int(newest.resource_version) + 1)
        updated = newest.patched(patch).patched({"metadata": {"resourceVersion": version}})
        self.env.api.put(updated)
        self.watched(updated)


@pytest.mark.parametrize("case", group("TestBindPodVolumes"))
def test_volumes_of_a_pod_are_bound(case: Json) -> None:
    env = Env(case)
    waiter = Waiter(env)
    env.api.watch = waiter.watched
    volumes = PodVolumes([], [])
    if case.get("bindingsNil"):
        # The harness sets nothing up, not even the node.
        env.listers.nodes.clear()
    else:
        env.init_volumes(case.get("initPVs"), case.get("initPVs"))
        env.init_claims(case.get("initPVCs"), case.get("initPVCs"))
        bindings = [case["binding"]] if case.get("binding") else []
        claims = [case["claimToProvision"]] if case.get("claimToProvision") else []
        volumes = env.decided(bindings, claims)
        env.assume(volumes)
        for which, kind in (("apiPV", PersistentVolume), ("apiPVC", PersistentVolumeClaim)):
            if case.get(which):
                changed = obj(kind, case[which])
                version = str(int(changed.resource_version) + 1)
                env.api.put(changed.patched({"metadata": {"resourceVersion": version}}))
    loop = EventLoop()
    if case.get("delayedAction"):
        loop.call_after(case["delayFuncAfterSeconds"] * SECOND, waiter.act, case["delayedAction"])
    timeout = case["bindTimeoutSeconds"] * SECOND
    node = env.pod.node_name or "node1"
    PodBinding(loop, env.binder, env.pod, node, volumes).start(waiter.done, timeout)
    loop.run(timeout + SECOND)
    assert len(waiter.ended) == 1
    assert (waiter.ended[0] is not None) == case["shouldFail"]
    if case["shouldFail"] and "deleted" not in case["name"]:
        # An implementation whose pods are really deleted fails earlier, with another text.
        wanted = case["actual"]["error"]
        assert waiter.ended[0] == wanted or "timed out" in wanted
    assert SELECTED_NODE not in (env.pod.annotations or {})

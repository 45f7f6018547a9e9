"""The pods of a node are found without a look at all pods, however they came there."""

import pickle

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.api_server.store.store import ObjectStore
from engine.kernel.loop import EventLoop
from engine.kernel.recorder import Recorder
from engine.objects.objects import Pod, from_manifest

NODES = ("", "n1", "n2")
MOVES = st.tuples(
    st.sampled_from(("create", "bind", "update", "delete", "end")),
    st.integers(0, 5),
    st.sampled_from(NODES),
)


def _store() -> ObjectStore:
    loop = EventLoop()
    return ObjectStore(loop, Recorder(loop))


def _do(store: ObjectStore, what: str, key: str, node: str) -> None:
    pod = store.find(Pod.KIND, key)
    if not isinstance(pod, Pod):
        metadata = {"name": key.partition("/")[2], "finalizers": ["kscope.dev/held"]}
        spec = {"nodeName": node} if node else {}
        manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        store.create(from_manifest(manifest), by="user")
    elif what == "bind" and node:
        store.bind(pod, node, dict(pod.status), by="scheduler")
    elif what == "update":
        store.patch(Pod.KIND, key, {"spec": {"nodeName": node or None}}, by="user")
    elif what == "delete":
        store.delete(Pod.KIND, key, grace_seconds=3, by="user")
    elif what == "end":
        store.patch(Pod.KIND, key, {"metadata": {"finalizers": None}}, by="user")
        if store.find(Pod.KIND, key) is not None:
            store.delete(Pod.KIND, key, by="user")


def _keys(store: ObjectStore, node: str) -> list[str]:
    return [pod.key for pod in store.pods_on(node)]


@settings(max_examples=200, deadline=None)
@given(before=st.lists(MOVES, max_size=12), after=st.lists(MOVES, max_size=12))
def test_pods_of_node_are_those_naming_it(
    before: list[tuple[str, int, str]], after: list[tuple[str, int, str]]
) -> None:
    store = _store()
    for place, (what, number, node) in enumerate((*before, *after)):
        if place == len(before):
            store.pods_on("n1")  # from now on they are kept
        _do(store, what, f"default/p{number}", node)
    for node in NODES:
        named = [each for each in store.objects(Pod.KIND) if isinstance(each, Pod)]
        assert store.pods_on(node) == [pod for pod in named if pod.node_name == node]


def test_stored_cluster_has_no_index_of_nodes() -> None:
    store = _store()
    _do(store, "create", "default/p1", "n1")
    blob = pickle.dumps(store)
    assert _keys(store, "n1") == ["default/p1"]
    assert pickle.dumps(store) == blob
    assert _keys(pickle.loads(blob), "n1") == ["default/p1"]

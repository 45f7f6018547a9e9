"""Extenders over HTTP, against a real server on the loopback address."""

import contextlib
import json
import pickle
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.scheduler.configuration.extenders import ExtenderError
from kscope.runs.drive.beginning.extender_client import HttpTransport
from tests.builders import Manifest, node, node_of, played, pod, scene

Reply = Callable[[dict[str, Any]], Any]


class Extender:
    """A server that answers each verb with a function of the request, and notes what was asked."""

    def __init__(self) -> None:
        self.replies: dict[str, Reply] = {}
        self.asked: list[tuple[str, dict[str, Any]]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                verb = self.path.rpartition("/")[2]
                outer.asked.append((verb, body))
                reply = outer.replies.get(verb)
                if reply is None:
                    self.send_error(500)
                    return
                answer = json.dumps(reply(body)).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                # A scheduler that has waited long enough hears no answer.
                with contextlib.suppress(BrokenPipeError):
                    self.wfile.write(answer)

            def log_message(self, format: str, *args: Any) -> None:
                """Quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.place = f"127.0.0.1:{self._server.server_address[1]}"
        self.url = f"http://{self.place}/scheduler"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def extender() -> Iterator[Extender]:
    server = Extender()
    yield server
    server.close()


def _configured(extender: Extender, **fields: Any) -> Manifest:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": [{"urlPrefix": extender.url, **fields}],
    }


def _cluster(extender: Extender, *objects: Manifest, **fields: Any) -> Cluster:
    cluster = Cluster.create(
        scene(*objects, configuration=_configured(extender, **fields)), tie_break="name"
    )
    cluster.extender_calls.transport = HttpTransport([extender.place])
    return cluster


def _message(cluster: Cluster, name: str = "p") -> str:
    return cluster.store.get("Pod", f"default/{name}").status["conditions"][0]["message"]


def _only(*names: str, **failed: str) -> Reply:
    def reply(body: dict[str, Any]) -> Any:
        items = [one for one in body["Nodes"]["items"] if one["metadata"]["name"] in names]
        return {"Nodes": {"items": items}, "FailedNodes": failed}

    return reply


def test_a_filter_leaves_nodes_out_and_says_why(extender: Extender) -> None:
    extender.replies["filter"] = _only("b", a="no licence")
    cluster = played(_cluster(extender, node("a"), node("b"), pod("p"), filterVerb="filter"))
    assert node_of(cluster, "p") == "b"
    verb, body = extender.asked[0]
    assert verb == "filter"
    assert body["Pod"]["metadata"]["name"] == "p"
    assert body["NodeNames"] is None
    evidence = cluster.take().attempts[0].evidence
    assert evidence is not None
    assert evidence["verdicts"]["a"]["reasons"] == ["no licence"]


@pytest.mark.parametrize(("names_only", "fit"), [(False, 86), (True, 60)])
def test_nodes_from_extenders_are_scored_without_their_pods(
    extender: Extender, names_only: bool, fit: int
) -> None:
    extender.replies["filter"] = (
        (lambda body: {"NodeNames": body["NodeNames"]}) if names_only else _only("a", "b")
    )
    objects = node("a"), node("b"), pod("big", cpu="2", nodeName="a"), pod("p")
    fields = {"filterVerb": "filter", "nodeCacheCapable": names_only}
    cluster = played(_cluster(extender, *objects, **fields))
    evidence = cluster.take().attempts[0].evidence
    assert evidence is not None
    assert evidence["scores"]["a"]["plugins"]["NodeResourcesFit"][0] == fit


def test_reasons_of_an_extender_are_in_the_message(extender: Extender) -> None:
    extender.replies["filter"] = lambda body: {
        "NodeNames": [],
        "FailedNodes": {"a": "no licence"},
        "FailedAndUnresolvableNodes": {"b": "wrong rack"},
    }
    fields = {"filterVerb": "filter", "nodeCacheCapable": True}
    cluster = played(_cluster(extender, node("a"), node("b"), pod("p"), **fields), 1)
    assert _message(cluster).startswith("0/2 nodes are available: 1 no licence, 1 wrong rack.")
    assert extender.asked[0][1]["NodeNames"] == ["a", "b"]
    assert extender.asked[0][1]["Nodes"] is None


def test_scores_are_weighted_and_scaled_to_a_hundred(extender: Extender) -> None:
    extender.replies["prioritize"] = lambda body: [
        {"Host": "a", "Score": 0},
        {"Host": "b", "Score": 10},
    ]
    fields = {"prioritizeVerb": "prioritize", "weight": 3}
    cluster = played(_cluster(extender, node("a"), node("b"), pod("p"), **fields))
    assert node_of(cluster, "p") == "b"
    evidence = cluster.take().attempts[0].evidence
    assert evidence is not None
    assert evidence["scores"]["b"]["plugins"][extender.url] == [10, 100, 300]


def test_failing_extender_fails_the_attempt_unless_ignorable(
    extender: Extender,
) -> None:
    for ignorable, expected in ((False, ""), (True, "a")):
        fields = {"filterVerb": "broken", "ignorable": ignorable}
        cluster = played(_cluster(extender, node("a"), pod("p"), **fields), 1)
        assert node_of(cluster, "p") == expected
        if not ignorable:
            assert _message(cluster) == (
                f"failed broken with extender at URL {extender.url}/broken, code 500"
            )


def test_extenders_that_may_be_ignored_are_asked_last(extender: Extender) -> None:
    """Upstream: scheduler.go buildExtenders()."""
    for verb in ("first", "second"):
        extender.replies[verb] = _only("a")
    configuration = _configured(extender, filterVerb="first", ignorable=True)
    configuration["extenders"].append({"urlPrefix": extender.url, "filterVerb": "second"})
    cluster = Cluster.create(scene(node("a"), pod("p"), configuration=configuration))
    cluster.extender_calls.transport = HttpTransport([extender.place])
    played(cluster, 1)
    assert [verb for verb, _ in extender.asked] == ["second", "first"]


def test_only_pods_with_managed_resources_are_shown(extender: Extender) -> None:
    extender.replies["filter"] = _only("a")
    managed = [{"name": "example.com/fpga", "ignoredByScheduler": True}]
    fields = {"filterVerb": "filter", "managedResources": managed}
    requests = {"requests": {"example.com/fpga": "1"}, "limits": {"example.com/fpga": "1"}}
    fpga = pod("fpga", containers=[{"name": "main", "image": "x", "resources": requests}])
    cluster = played(_cluster(extender, node("a"), pod("plain"), fpga, **fields))
    asked = [body["Pod"]["metadata"]["name"] for _, body in extender.asked]
    assert asked == ["fpga"]
    # No node has any, but that is the extender's business.
    assert node_of(cluster, "fpga") == "a"


def test_an_extender_may_spare_a_node_from_preemption(extender: Extender) -> None:
    extender.replies["preempt"] = lambda body: {
        "NodeNameToMetaVictims": {
            name: victims for name, victims in body["NodeNameToMetaVictims"].items() if name == "b"
        }
    }
    objects = (
        node("a", cpu="1"),
        node("b", cpu="1"),
        pod("on-a", nodeName="a", terminationGracePeriodSeconds=0),
        pod("on-b", nodeName="b", priority=1, terminationGracePeriodSeconds=0),
        pod("p", priority=10),
    )
    fields = {"preemptVerb": "preempt", "nodeCacheCapable": True}
    cluster = played(_cluster(extender, *objects, **fields))
    assert node_of(cluster, "p") == "b"
    assert cluster.store.find("Pod", "default/on-a") is not None
    assert cluster.store.find("Pod", "default/on-b") is None


def test_an_extender_that_binds_is_asked_instead(extender: Extender) -> None:
    extender.replies["bind"] = lambda body: {"Error": ""}
    cluster = played(_cluster(extender, node("a"), pod("p"), bindVerb="bind"))
    assert node_of(cluster, "p") == "a"
    uid = cluster.store.get("Pod", "default/p").uid
    expected = {"PodName": "p", "PodNamespace": "default", "PodUID": uid, "Node": "a"}
    assert extender.asked == [("bind", expected)]


def test_binding_refused_by_an_extender_requeues_the_pod(
    extender: Extender,
) -> None:
    extender.replies["bind"] = lambda body: {"Error": "not today"}
    cluster = played(_cluster(extender, node("a"), pod("p"), bindVerb="bind"), 5)
    assert node_of(cluster, "p") == ""
    assert _message(cluster) == "not today"
    assert len(extender.asked) > 1


def test_binding_refused_by_ignorable_extenders_goes_to_others(
    extender: Extender,
) -> None:
    """Not before v1.31, though. Upstream: schedule_one.go extendersBinding()."""
    extender.replies["bind"] = lambda body: {"Error": "not today"}
    fields = {"bindVerb": "bind", "ignorable": True}
    cluster = played(_cluster(extender, node("a"), pod("p"), **fields), 5)
    assert node_of(cluster, "p") == "a"


def test_answer_that_takes_too_long_is_an_error(extender: Extender) -> None:
    def slow(body: dict[str, Any]) -> Any:
        time.sleep(0.5)
        return {}

    extender.replies["filter"] = slow
    fields = {"filterVerb": "filter", "httpTimeout": "50ms"}
    cluster = _cluster(extender, node("a"), pod("p"), **fields)
    cluster.advance(10**8)
    assert _message(cluster) == f"Post {extender.url}/filter: timeout after 0.05s"


def test_time_of_an_answer_is_outside_the_run(extender: Extender) -> None:
    """What was answered is on the record; a replay is told the same and asks nobody."""
    extender.replies["filter"] = _only("b")
    first = played(_cluster(extender, node("a"), node("b"), pod("p"), filterVerb="filter"))
    events = first.take().events
    asked = len(extender.asked)
    again = _cluster(extender, node("a"), node("b"), pod("p"), filterVerb="filter")
    again.extender_calls.transport = None
    for event in events:
        if event.kind == "ExtenderCalled" and event.data is not None:
            again.extender_calls.remember(event.data)
    played(again)
    again.take()
    assert again.digest() == first.digest()
    assert len(extender.asked) == asked == 1


def test_a_checkpoint_holds_neither_transport_nor_answers(extender: Extender) -> None:
    cluster = _cluster(extender, node("a"), filterVerb="filter")
    calls = pickle.loads(pickle.dumps(cluster.extender_calls))
    assert calls.transport is None
    assert calls.answers == {}


@pytest.mark.parametrize(
    ("allowed", "url", "expected"),
    [
        ([], "http://127.0.0.1:80/x/filter", False),
        (["127.0.0.1:80"], "http://127.0.0.1:80/x/filter", True),
        (["127.0.0.1:80"], "http://127.0.0.1/x/filter", True),
        (["127.0.0.1:80"], "http://127.0.0.1:81/x/filter", False),
        (["http://h:1/a"], "http://h:1/a/filter", True),
        (["http://h:1/a"], "http://h:1/ab/filter", False),
        (["http://h:1/a"], "http://h:1/a/../b", False),
        (["h:1"], "http://h:1@evil:80/x", False),
        (["h:1"], "file:///etc/passwd", False),
    ],
)
def test_only_allowed_addresses_are_called(allowed: list[str], url: str, expected: bool) -> None:
    assert HttpTransport(allowed).allows(url) is expected


def test_the_setting_allows_nothing_by_default(
    extender: Extender, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KSCOPE_EXTENDERS", raising=False)
    with pytest.raises(ExtenderError, match="not among KSCOPE_EXTENDERS"):
        HttpTransport.from_environment().post(f"{extender.url}/filter", b"{}", 10**9)
    monkeypatch.setenv("KSCOPE_EXTENDERS", extender.place)
    extender.replies["filter"] = lambda body: body
    assert HttpTransport.from_environment().post(f"{extender.url}/filter", b"{}", 10**9) == b"{}"
    assert extender.asked == [("filter", {})]

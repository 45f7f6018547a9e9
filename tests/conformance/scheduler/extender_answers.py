"""The extender with which the vectors of `decisions-v1.36-extenders` were made.

What it answers follows from a checksum over its name, the pod and the node. Its path says which it
is: a refuses, b refuses some for good, c leaves out without a word.
"""

import json
import zlib
from typing import Any

from engine.scheduler.configuration.extenders import ExtenderError


class Answers:
    """Answers calls as a transport to extenders does."""

    def post(self, url: str, body: bytes, timeout: int) -> bytes:
        """See ExtenderTransport."""
        _, tag, verb = url.split("://")[1].split("/")
        given = json.loads(body)
        pod = _any_case(given, "pod")["metadata"]
        key = f"{pod['namespace']}/{pod['name']}"
        if verb == "broken":
            raise ExtenderError("failed with code 500")
        if verb == "preempt":
            return json.dumps(_preempt(tag, key, given)).encode()
        nodes = (_any_case(given, "nodes") or {}).get("items")
        names = (
            _any_case(given, "nodenames") or []
            if nodes is None
            else [node["metadata"]["name"] for node in nodes]
        )
        if verb == "prioritize":
            scores = [{"Host": name, "Score": _sum(tag, key, name, "s") % 11} for name in names]
            return json.dumps(scores).encode()
        return json.dumps(_filter(tag, key, names, nodes)).encode()


def _filter(tag: str, pod: str, names: list[str], nodes: list[Any] | None) -> dict[str, Any]:
    kept: list[str] = []
    failed: dict[str, str] = {}
    unresolvable: dict[str, str] = {}
    for name in names:
        place = _sum(tag, pod, name) % 8
        if tag[0] == "a" and place < 3:
            failed[name] = f"extender {tag} refuses"
        elif tag[0] == "b" and place < 2:
            unresolvable[name] = f"extender {tag} never"
        elif tag[0] == "b" and place < 4:
            failed[name] = f"extender {tag} not now"
        elif tag[0] != "c" or place >= 3:
            kept.append(name)
    answer: dict[str, Any] = {
        "FailedNodes": failed,
        "FailedAndUnresolvableNodes": unresolvable,
        "Error": "",
    }
    if nodes is None:
        return {**answer, "NodeNames": kept}
    items = [node for node in nodes if node["metadata"]["name"] in kept]
    return {**answer, "Nodes": {"kind": "NodeList", "apiVersion": "v1", "items": items}}


def _preempt(tag: str, pod: str, given: dict[str, Any]) -> dict[str, Any]:
    whole = _any_case(given, "nodeNameToVictims")
    offered = whole or _any_case(given, "nodeNameToMetaVictims") or {}
    left: dict[str, Any] = {}
    for node, victims in offered.items():
        if _sum(tag, pod, node, "p") % 4 == 0:
            continue
        pods = _any_case(victims, "pods") or []
        uids = [_any_case(one["metadata"] if whole else one, "uid") for one in pods]
        if tag[0] == "c" and len(uids) > 1:
            uids.pop()
        violations = _any_case(victims, "numPDBViolations") or 0
        left[node] = {"Pods": [{"UID": uid} for uid in uids], "NumPDBViolations": violations}
    return {"NodeNameToMetaVictims": left}


def _any_case(mapping: dict[str, Any], name: str) -> Any:
    return next((value for key, value in mapping.items() if key.lower() == name.lower()), None)


def _sum(*words: str) -> int:
    return zlib.crc32("|".join(words).encode())

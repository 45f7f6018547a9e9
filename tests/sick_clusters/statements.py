"""Sentences of triage and of answers, read again and held against the objects that they name."""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from engine.diagnosis.observed.evidence import Evidence, key_of
from engine.objects.values.quantity import milli_value

Manifest = dict[str, Any]

# The names that objects of these clusters have, with or without a namespace.
_NAME: Final = re.compile(
    r"(?<![\w./-])((?:default|shop)/)?((?:pv-c|csi-pv-c|n|p|c|s)\d)(?![\w.-])"
)
_KINDS: Final = {
    "pv-c": "PersistentVolume",
    "csi-pv-c": "VolumeAttachment",
    "n": "Node",
    "p": "Pod",
    "c": "PersistentVolumeClaim",
    "s": "VolumeSnapshot",
}
# How a sentence says that what it names is not there.
_ABSENT: Final = re.compile(
    r"not found|[Cc]ould not find|^Create |do(?:es)? not exist|(?:is|are) not in the files|is gone"
)


def untrue(evidence: Evidence, text: str) -> list[str]:
    """What a text says and the files do not; quotations of Events and conditions are left out."""
    quoted = list(_quoted(evidence))
    said = text
    for each in sorted(quoted, key=len, reverse=True):
        said = said.replace(each, "…")
    found = [each for each in _strangers(evidence, said) if each not in " ".join(quoted)]
    for pattern, holds in _STATEMENTS:
        for match in pattern.finditer(said):
            if not holds(evidence, match):
                found.append(match[0])
    return found


def _quoted(evidence: Evidence) -> Iterator[str]:
    for each in evidence.everything():
        for event in evidence.events(each):
            yield event.message.rstrip(".")
        for condition in (each.get("status") or {}).get("conditions") or ():
            if message := condition.get("message"):
                yield message.rstrip(".")


def _strangers(evidence: Evidence, text: str) -> Iterator[str]:
    """Names of objects that the files do not have, where nothing says that they are missing."""
    for match in _NAME.finditer(text):
        kind = _KINDS[match[2].rstrip("0123456789")]
        keys = [match[2]] if kind in ("Node", "PersistentVolume", "VolumeAttachment") else []
        keys = keys or [f"{match[1]}{match[2]}"] if match[1] else keys or _everywhere(match[2])
        if any(evidence.find(kind, key) for key in keys):
            continue
        if _ABSENT.search(text) is None:
            yield match[0]


def _everywhere(name: str) -> list[str]:
    return [f"default/{name}", f"shop/{name}"]


# -- what single sentences say ---------------------------------------------------------------------


def _names(text: str) -> list[str]:
    """The names of a list, as far as it goes: "a, b and 2 more"."""
    found = re.split(r", | and ", text)
    return [each for each in found if not each.endswith(" more")]


def _has_users(evidence: Evidence, match: re.Match[str]) -> bool:
    """Pods that use a claim have a node, and the claim."""
    pods = [evidence.find("Pod", name) for name in _names(match[1])]
    return all(
        pod is not None
        and pod["spec"].get("nodeName")
        and any("persistentVolumeClaim" in each for each in pod["spec"].get("volumes") or ())
        for pod in pods
    )


def _are_awaited(evidence: Evidence, match: re.Match[str]) -> bool:
    """Pods for which a scheduler has yet to choose a node."""
    pods = [evidence.find("Pod", name) for name in _names(match[1])]
    return all(pod is not None and not pod["spec"].get("nodeName") for pod in pods)


def _has_no_volumes(evidence: Evidence, match: re.Match[str]) -> bool:
    return all(evidence.find("PersistentVolume", name) is None for name in _names(match[1]))


def _is_ready(evidence: Evidence, match: re.Match[str]) -> bool:
    nodes = [evidence.find("Node", name) for name in _names(match[1])]
    return all(
        node is not None
        and any(
            (each["type"], each["status"], each["reason"]) == ("Ready", match[2], match[3])
            for each in node["status"]["conditions"]
        )
        for node in nodes
    )


def _has_taint(evidence: Evidence, match: re.Match[str]) -> bool:
    node = evidence.find("Node", match[1])
    taints = [] if node is None else node["spec"].get("taints") or []
    told = {f"{each['key']}{_value(each)}:{each['effect']}" for each in taints}
    return match[2] in told


def _value(taint: Manifest) -> str:
    return f"={taint['value']}" if taint.get("value") else ""


def _holds_cpu(evidence: Evidence, match: re.Match[str]) -> bool:
    """ "On n0 3 pods hold 2100m of 2 cpu: default/p4 1500m, …"."""
    name, number, held, has = match[1], int(match[2]), match[3], match[4]
    node = evidence.find("Node", name)
    ahead = re.findall(rf"((?:default|shop)/p\d) on {name}\b", match.string)
    pods = [pod for pod in evidence.all("Pod") if _holds(pod, name) or key_of(pod) in ahead]
    return (
        node is not None
        and milli_value(node["status"]["allocatable"]["cpu"]) == milli_value(has)
        and len([pod for pod in pods if _cpu(pod)]) == number
        and sum(map(_cpu, pods)) == milli_value(held)
    )


def _asks_cpu(evidence: Evidence, match: re.Match[str]) -> bool:
    """ "default/p4 1500m"."""
    pod = evidence.find("Pod", match[1])
    return pod is not None and _cpu(pod) == milli_value(match[2])


def _holds(pod: Manifest, node: str) -> bool:
    ended = pod["status"].get("phase") in ("Succeeded", "Failed")
    return pod["spec"].get("nodeName") == node and not ended


def _cpu(pod: Manifest) -> int:
    containers = pod["spec"]["containers"]
    return sum(milli_value(each["resources"]["requests"]["cpu"]) for each in containers)


def _is_missing(evidence: Evidence, match: re.Match[str]) -> bool:
    return evidence.find(match[1], match[2]) is None


def _is_not_registered(evidence: Evidence, match: re.Match[str]) -> bool:
    found = [evidence.find("CSINode", name) for name in _names(match[2])]
    return all(
        each is None or match[1] not in [one["name"] for one in each["spec"]["drivers"]]
        for each in found
    )


def _lacks_driver(evidence: Evidence, match: re.Match[str]) -> bool:
    found = evidence.find("CSINode", match[1])
    known = [] if found is None else [each["name"] for each in found["spec"]["drivers"]]
    return found is not None and match[2] not in known


def _keeps(evidence: Evidence, match: re.Match[str]) -> bool:
    """ "PersistentVolumeClaim default/c0 cannot go: it keeps the finalizer F."."""
    objects = [evidence.find(match[1], name) for name in _names(match[2])]
    return all(each is not None and match[3] in _finalizers(each) for each in objects)


def _finalizers(manifest: Manifest) -> list[str]:
    own = manifest["spec"] if manifest["kind"] == "Namespace" else manifest["metadata"]
    return own.get("finalizers") or []


def _attaches(evidence: Evidence, match: re.Match[str]) -> bool:
    """ "The external-attacher of driver D"."""
    drivers = [each["spec"]["attacher"] for each in evidence.all("VolumeAttachment")]
    return match[1] in drivers


def _is_gated(evidence: Evidence, match: re.Match[str]) -> bool:
    pod = evidence.find("Pod", match[1])
    gates = [] if pod is None else pod["spec"].get("schedulingGates") or []
    return match[2] in [each["name"] for each in gates]


def _is_deleted(evidence: Evidence, match: re.Match[str]) -> bool:
    claims = [evidence.find("PersistentVolumeClaim", key) for key in _everywhere(match[1])]
    return any(claim and claim["metadata"].get("deletionTimestamp") for claim in claims)


def _ties(evidence: Evidence, match: re.Match[str]) -> bool:
    found = evidence.find("VolumeAttachment", match[1])
    spec = {} if found is None else found["spec"]
    return spec.get("source") == {"persistentVolumeName": match[2]} and spec["nodeName"] == match[3]


def _asks_for(evidence: Evidence, match: re.Match[str]) -> bool:
    claim = evidence.find("PersistentVolumeClaim", match[1])
    if claim is None:
        return False
    has = (claim["status"].get("capacity") or {}).get("storage")
    return (claim["spec"]["resources"]["requests"]["storage"], has) == (match[2], match[3])


def _restores(evidence: Evidence, match: re.Match[str]) -> bool:
    snapshot = evidence.find("VolumeSnapshot", match[1])
    status = {} if snapshot is None else snapshot["status"]
    is_ready = "ready" if status.get("readyToUse") else "not ready"
    return (is_ready, status.get("restoreSize")) == (match[2], match[3])


def _replicas(evidence: Evidence, match: re.Match[str]) -> bool:
    """ "3 pods of deployment shop/web are refused before they exist"."""
    found = evidence.find("Deployment", match[2])
    return found is not None and found["spec"]["replicas"] == int(match[1])


_LIST: Final = r"([\w/-]+(?:, [\w/-]+)*(?: and (?:[\w/-]+|\d+ more))?)"
_Holds = Callable[[Evidence, re.Match[str]], bool]
_STATEMENTS: Final[tuple[tuple[re.Pattern[str], _Holds], ...]] = (
    (re.compile(rf"Pods? {_LIST} uses? (?:it|them)\b"), _has_users),
    (re.compile(rf"chosen a node for (?:one of the )?pods? {_LIST}"), _are_awaited),
    (re.compile(rf"volumes? {_LIST} do(?:es)? not exist any more"), _has_no_volumes),
    (re.compile(rf"Nodes? {_LIST} (?:is|are) not ready \(Ready=(\w+), (\w+)\)"), _is_ready),
    (re.compile(r"\b(n\d) has ([\w./-]+(?:=\w+)?:No\w+)"), _has_taint),
    (re.compile(r"On (n\d) (\d+) pods? holds? (\w+) of (\w+) cpu"), _holds_cpu),
    (re.compile(r"((?:default|shop)/p\d) (\d+m?)(?=,| and|\.)"), _asks_cpu),
    (re.compile(r"(Secret|ConfigMap|ServiceAccount) ([\w/-]+) does not exist"), _is_missing),
    (re.compile(rf"driver ([\w.-]+) is not registered on {_LIST}"), _is_not_registered),
    (re.compile(r"CSINode (n\d) does not contain driver ([\w.]+\w)"), _lacks_driver),
    (re.compile(rf"(\w+?)s? {_LIST} cannot go: (?:it|they) keeps? the finalizer (\S+\w)"), _keeps),
    (re.compile(r"external-attacher of driver (\S+)"), _attaches),
    (re.compile(r"The pod (\S+) is held by the scheduling gate (\S+\w)"), _is_gated),
    (re.compile(r'PersistentVolumeClaim "(\S+)" is being deleted'), _is_deleted),
    (re.compile(r"VolumeAttachment (\S+) still ties volume (\S+) to (\S+\w)"), _ties),
    (re.compile(r"Claim (\S+) asks for (\S+) and has (\S+\w)"), _asks_for),
    (re.compile(r"Snapshot (\S+) is (ready|not ready) and has restoreSize (\S+);"), _restores),
    (re.compile(r"(\d) pods? of deployment (\S+) (?:is|are) refused before"), _replicas),
)
